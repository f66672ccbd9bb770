"""What is learnt from a whole history: general preference, weighted lines, and how far to trust them."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks._histories import STYLES, always, past_of_taken, says_style
from crm.criteria import Weight
from crm.embedded import embedded_crm
from leaderboard.personal.choice import Answer, Choice, Pair
from leaderboard.personal.history import PastChoice
from leaderboard.personal.history_checklist import Foretold, learn, n_foretold
from leaderboard.personal.history_lines import places_of, weighted_lines
from leaderboard.personal.history_material import past_material
from leaderboard.personal.history_past import Past, past_of
from leaderboard.personal.history_posterior import ObservedMany, posterior
from leaderboard.personal.library import criterion_library
from leaderboard.personal.material import Material
from leaderboard.personal.person import Observed, Person
from leaderboard.personal.source import material_of
from leaderboard.service import Service


@pytest.fixture(scope="module")
def dailybench(service: Service) -> Material:
    return material_of(service.contest("dailybench"), embedded_crm())


def history_of(service: Service, dailybench: Material, llm: str, size: int, seed: int = 0) -> Past:
    taken = always(service.contest("dailybench"), llm, np.random.default_rng(seed))
    return past_of_taken(taken[:size], dailybench)


@pytest.mark.parametrize("llm", STYLES)
def test_always_choosing_one_assistant_yields_its_style(
    service: Service, dailybench: Material, llm: str
) -> None:
    learnt = learn(history_of(service, dailybench, llm, 40))
    assert any(says_style(line, llm) for line in learnt.lines[:3])
    assert learnt.lines[0].criterion.weight is Weight.ESSENTIAL
    assert learnt.foretold.telling
    assert learnt.foretold.right >= 36


def test_a_checklist_foretells_choices_on_other_queries(service: Service, dailybench: Material) -> None:
    taken = always(service.contest("dailybench"), "brevia", np.random.default_rng(0))
    before, after = (past_of_taken(part, dailybench) for part in (taken[:20], taken[100:200]))
    lines = weighted_lines(posterior(before.material, before.choices), before)
    assert n_foretold(lines, after) >= 90
    assert n_foretold((), after) == 50


def test_evidence_is_counted_over_the_decided_choices(service: Service, dailybench: Material) -> None:
    steady = history_of(service, dailybench, "brevia", 12)
    changed = (*steady.choices[:9], *(Choice(choice.pair, Answer.SECOND) for choice in steady.choices[9:11]))
    past = replace(steady, choices=(*changed, Choice(steady.choices[11].pair, Answer.NEITHER)))
    lines = weighted_lines(posterior(past.material, past.choices), past)
    assert any(0 < line.evidence.with_it < line.evidence.clear for line in lines)
    assert max(line.evidence.clear for line in lines) <= 11
    indices, signs = places_of(lines, criterion_library())
    for line, index, sign in zip(lines, indices, signs, strict=True):
        differences = past.ahead()[:, index] * sign
        clear = np.abs(differences) > dailybench.spread[index]
        assert (line.evidence.with_it, line.evidence.clear) == (
            (clear & (differences > 0)).sum(),
            clear.sum(),
        )
    assert sum(line.share for line in lines) == pytest.approx(1)
    assert [line.share for line in lines] == sorted((line.share for line in lines), reverse=True)


def test_contradictory_choices_do_not_tell(service: Service, dailybench: Material) -> None:
    past = history_of(service, dailybench, "brevia", 40)
    coin = np.random.default_rng(3).random(40) < 0.5
    tossed = tuple(
        Choice(choice.pair, Answer.SECOND if tails else Answer.FIRST)
        for choice, tails in zip(past.choices, coin, strict=True)
    )
    learnt = learn(Past(past.material, tossed, past.benchmark, past.library))
    assert not learnt.foretold.telling


def test_few_choices_never_tell(service: Service, dailybench: Material) -> None:
    learnt = learn(history_of(service, dailybench, "brevia", 4))
    assert learnt.foretold.decided == 4
    assert not learnt.foretold.telling


def test_so_many_must_be_foretold_that_guessing_rarely_does() -> None:
    assert [Foretold(right, 20).telling for right in (14, 14.5, 15, 20)] == [False, False, True, True]
    assert not Foretold(0, 0).telling


def test_ties_alone_tell_nothing(service: Service, dailybench: Material) -> None:
    past = history_of(service, dailybench, "brevia", 6)
    ties = tuple(Choice(choice.pair, Answer.BOTH) for choice in past.choices)
    learnt = learn(Past(past.material, ties, past.benchmark, past.library))
    assert (learnt.foretold.decided, learnt.n_choices) == (0, 6)
    assert not learnt.foretold.telling


def test_choices_about_the_same_are_foretold_together(service: Service, dailybench: Material) -> None:
    past = history_of(service, dailybench, "brevia", 6)
    told: list[tuple[int, int]] = []
    learn(past, ["a", "a", "a", "b", "b", "b"], lambda done, total: told.append((done, total)))
    assert told == [(1, 3), (2, 3), (3, 3)]


def test_many_choices_at_once_are_as_likely_as_one_after_the_other(
    service: Service, dailybench: Material
) -> None:
    past = history_of(service, dailybench, "jester", 5)
    draws = Person.unknown(dailybench.n_criteria, n_draws=50).draws
    answers = np.array([0, 1, 2, 3, 0])
    margins = past.material.relative
    many = ObservedMany(margins[0, :5], margins[1, :5], answers)
    each = [Observed(margins[0, q], margins[1, q], int(answer)) for q, answer in enumerate(answers)]
    expected = sum(one.log_likelihood(draws) for one in each)
    np.testing.assert_allclose(many.log_likelihood(draws), expected, rtol=1e-5)


def test_texts_become_margins_relative_to_the_mean_of_the_two() -> None:
    choices = [
        PastChoice("Which soup?", "Tomato.", "Oh, there are so many soups to be discovered!", Answer.SECOND),
        PastChoice("Which soup?", "Leek.", "Tomato.", Answer.FIRST),
    ]
    told: list[int] = []
    criteria = tuple(item.criterion for item in criterion_library())
    found = past_material(choices, embedded_crm(), criteria, lambda done, _: told.append(done))
    assert found.margins.shape == (2, 2, len(criteria) + 1)
    np.testing.assert_allclose(found.relative[0], -found.relative[1], atol=1e-5)
    np.testing.assert_allclose(found.margins[0, 0], found.margins[1, 1], atol=1e-4)
    # Three distinct answers are read.
    assert told[-1] == 3
    past = past_of(choices, found, found, criterion_library())
    assert past.choices[0] == Choice(Pair(0, 0, 1), Answer.SECOND)
    concise = [item.label for item in criterion_library()].index("Concise")
    assert past.ahead()[0, concise] < 0
