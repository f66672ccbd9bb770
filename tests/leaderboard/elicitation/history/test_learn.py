"""What is learnt from a whole history: saliency, weighted lines, and how far to trust them."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from benchmarks.history_checklists import STYLES, always, margins_of_taken, says_style
from crm.criteria import Weight
from crm.embedded.model import embedded_crm
from crm.protocol import Pair
from leaderboard.elicitation.choice_model import Choice, ChoiceOutcome, ResponsePair
from leaderboard.elicitation.history.choices import PastChoice
from leaderboard.elicitation.history.learn import (
    HistoryMargins,
    PredictionScore,
    criterion_scores,
    learn_checklist,
    n_predicted,
    saliency,
    saliency_weights,
    weighted_lines,
    with_contrast,
)
from leaderboard.elicitation.library import criterion_library
from leaderboard.elicitation.margins import CriterionMargins, benchmark_margins, pair_margins
from leaderboard.elicitation.posterior import ObservedChoices, PreferencePosterior, posterior_given
from leaderboard.service import Service


@pytest.fixture(scope="module")
def dailybench(service: Service) -> CriterionMargins:
    return benchmark_margins(service.benchmark("dailybench"), embedded_crm())


def history_of(
    service: Service, dailybench: CriterionMargins, llm: str, size: int, seed: int = 0
) -> HistoryMargins:
    taken = always(service.benchmark("dailybench"), llm, np.random.default_rng(seed))
    return margins_of_taken(taken[:size], dailybench)


@pytest.mark.parametrize("llm", STYLES)
def test_always_choosing_one_assistant_yields_its_style(
    service: Service, dailybench: CriterionMargins, llm: str
) -> None:
    learnt = learn_checklist(history_of(service, dailybench, llm, 40))
    assert any(says_style(line, llm) for line in learnt.lines[:3])
    assert learnt.lines[0].criterion.weight is Weight.ESSENTIAL
    assert learnt.predicted.significant
    assert learnt.predicted.correct >= 36


def test_a_checklist_predicts_choices_on_other_queries(
    service: Service, dailybench: CriterionMargins
) -> None:
    taken = always(service.benchmark("dailybench"), "brevia", np.random.default_rng(0))
    before, after = (margins_of_taken(part, dailybench) for part in (taken[:20], taken[100:200]))
    lines = weighted_lines(posterior_given(before.choices, before.margins), before)
    assert n_predicted(lines, after) >= 90
    assert n_predicted((), after) == 50


def test_evidence_is_counted_over_the_decided_choices(service: Service, dailybench: CriterionMargins) -> None:
    steady = history_of(service, dailybench, "brevia", 12)
    changed = (
        *steady.choices[:9],
        *(Choice(choice.pair, ChoiceOutcome.SECOND) for choice in steady.choices[9:11]),
    )
    past = replace(steady, choices=(*changed, Choice(steady.choices[11].pair, ChoiceOutcome.NEITHER)))
    lines = weighted_lines(posterior_given(past.choices, past.margins), past)
    assert any(0 < line.evidence.with_it < line.evidence.clear for line in lines)
    assert max(line.evidence.clear for line in lines) <= 11
    for line in lines:
        assert criterion_library()[line.index].label == line.label
        differences = past.ahead()[:, line.index] * line.criterion.polarity.sign
        clear = np.abs(differences) > dailybench.spread[line.index]
        assert (line.evidence.with_it, line.evidence.clear) == (
            (clear & (differences > 0)).sum(),
            clear.sum(),
        )
    assert sum(line.share for line in lines) == pytest.approx(1)
    assert [line.share for line in lines] == sorted((line.share for line in lines), reverse=True)


def test_contradictory_choices_do_not_tell(service: Service, dailybench: CriterionMargins) -> None:
    past = history_of(service, dailybench, "brevia", 40)
    coin = np.random.default_rng(3).random(40) < 0.5
    tossed = tuple(
        Choice(choice.pair, ChoiceOutcome.SECOND if tails else ChoiceOutcome.FIRST)
        for choice, tails in zip(past.choices, coin, strict=True)
    )
    learnt = learn_checklist(HistoryMargins(tossed, past.margins, past.benchmark, past.library))
    assert not learnt.predicted.significant


def test_few_choices_never_tell(service: Service, dailybench: CriterionMargins) -> None:
    learnt = learn_checklist(history_of(service, dailybench, "brevia", 4))
    assert learnt.predicted.decided == 4
    assert not learnt.predicted.significant


def test_so_many_must_be_predicted_that_guessing_rarely_does() -> None:
    significant = [PredictionScore(correct, 20).significant for correct in (14, 14.5, 15, 20)]
    assert significant == [False, False, True, True]
    assert not PredictionScore(0, 0).significant


def test_ties_alone_tell_nothing(service: Service, dailybench: CriterionMargins) -> None:
    past = history_of(service, dailybench, "brevia", 6)
    ties = tuple(Choice(choice.pair, ChoiceOutcome.BOTH) for choice in past.choices)
    learnt = learn_checklist(HistoryMargins(ties, past.margins, past.benchmark, past.library))
    assert (learnt.predicted.decided, learnt.n_choices) == (0, 6)
    assert not learnt.predicted.significant


def test_choices_about_one_query_are_predicted_together(
    service: Service, dailybench: CriterionMargins
) -> None:
    past = history_of(service, dailybench, "brevia", 6)
    steps: list[tuple[int, int]] = []
    learn_checklist(past, ["a", "a", "a", "b", "b", "b"], lambda done, total: steps.append((done, total)))
    assert steps == [(1, 3), (2, 3), (3, 3)]


def test_many_choices_at_once_are_as_likely_as_one_after_the_other(
    service: Service, dailybench: CriterionMargins
) -> None:
    past = history_of(service, dailybench, "jester", 5)
    draws = PreferencePosterior.prior(dailybench.n_criteria, n_draws=50).draws
    answers = np.array([0, 1, 2, 3, 0])
    margins = past.margins.relative
    many = ObservedChoices(margins[0, :5], margins[1, :5], answers)
    each = [
        ObservedChoices(margins[0, [q]], margins[1, [q]], np.array([answer]))
        for q, answer in enumerate(answers)
    ]
    expected = sum(one.log_likelihood(draws) for one in each)
    np.testing.assert_allclose(many.log_likelihood(draws), expected, rtol=1e-5)


def test_texts_become_margins_relative_to_the_mean_of_the_two() -> None:
    choices = [
        PastChoice(
            "Which soup?", "Tomato.", "Oh, there are so many soups to be discovered!", ChoiceOutcome.SECOND
        ),
        PastChoice("Which soup?", "Leek.", "Tomato.", ChoiceOutcome.FIRST),
    ]
    read: list[int] = []
    criteria = tuple(item.criterion for item in criterion_library())
    pairs = [Pair(choice.query, choice.first, choice.second) for choice in choices]
    found = pair_margins(pairs, embedded_crm(), criteria, lambda done, _: read.append(done))
    assert found.values.shape == (2, 2, len(criteria) + 1)
    np.testing.assert_allclose(found.relative[0], -found.relative[1], atol=1e-5)
    np.testing.assert_allclose(found.values[0, 0], found.values[1, 1], atol=1e-4)
    # Three distinct answers are read.
    assert read[-1] == 3
    past = HistoryMargins.of(choices, found, found, criterion_library())
    assert past.choices[0] == Choice(ResponsePair(0, 0, 1), ChoiceOutcome.SECOND)
    concise = [item.label for item in criterion_library()].index("Concise")
    assert past.ahead()[0, concise] < 0


def test_the_formula_by_hand() -> None:
    # Chosen: 8, 4, 6, of 18. Negative: 2, 4, 6, of 12; 12 / 18 = 2 / 3.
    found = saliency(np.array([[8.0, 4.0, 6.0]]), np.array([[2.0, 4.0, 6.0]]))
    assert found == pytest.approx([10 / 10 - 2 / 3, 8 / 14 - 2 / 3, 6 / 12 - 2 / 3], abs=1e-6)
    assert saliency_weights(found) == pytest.approx([1, 0, 0])


def test_two_choices_count_alike() -> None:
    chosen, negative = np.array([[8.0, 4.0], [5.0, 9.0]]), np.array([[2.0, 4.0], [5.0, 3.0]])
    each = [saliency(chosen[[row]], negative[[row]]) for row in (0, 1)]
    assert saliency(chosen, negative) == pytest.approx((each[0] + each[1]) / 2)


def test_f_is_on_the_scale_from_1_to_10_and_5_and_a_half_where_nothing_differs() -> None:
    assert criterion_scores(np.array([-99.0, 0.0, 99.0])) == pytest.approx([1, 5.5, 10])


def test_a_negative_is_half_the_rejected_and_half_all_that_were_rejected() -> None:
    assert with_contrast(np.array([[2.0], [6.0]])) == pytest.approx(np.array([[3.0], [5.0]]))


def test_one_line_alone_has_no_saliency() -> None:
    assert saliency_weights(saliency(np.array([[9.0]]), np.array([[2.0]]))) == pytest.approx([0])


scores = arrays(np.float64, (4, 3), elements=st.floats(1, 10))


@given(scores, scores)
def test_weights_are_shares_and_go_with_the_order_of_lines(chosen: np.ndarray, negative: np.ndarray) -> None:
    weight = saliency_weights(saliency(chosen, negative))
    assert (weight >= 0).all()
    assert weight.sum() == pytest.approx(1) or not weight.any()
    turned = saliency_weights(saliency(chosen[:, ::-1], negative[:, ::-1]))
    assert turned[::-1] == pytest.approx(weight, abs=1e-9)


@given(scores)
def test_what_keeps_nothing_apart_is_not_salient(scores: np.ndarray) -> None:
    assert np.abs(saliency(scores, scores)).max() < 1e-5
