"""A blind taste test: which pairs, what the ranking expects of them, and what is learnt from the answers."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy.special import expit

from crm.criteria import CriteriaSet
from leaderboard.elicitation.choice_model import ChoiceOutcome, ResponsePair
from leaderboard.elicitation.session import ElicitationSession, candidate_pairs
from leaderboard.elicitation.taste_test import (
    BlindPair,
    Taste,
    TasteTest,
    count_distribution,
    make_taste_test,
    rivals_of,
)
from leaderboard.elicitation.text import (
    fewer_pairs_sentence,
    taste_result_sentence,
    taste_sentence,
    taste_verdict_sentence,
)
from leaderboard.errors import LeaderboardError
from leaderboard.service import Service
from leaderboard.view import View

WARM = View("dailybench", criteria=CriteriaSet.of(["Warm and encouraging"]))


def drawn(service: Service, view: View = WARM, seed: int = 0) -> TasteTest:
    leaderboard = service.leaderboard(view)
    return make_taste_test(service, leaderboard, leaderboard.llms, seed=seed)


def test_the_first_meets_the_next_two_and_the_default_best_twice_each(service: Service) -> None:
    leaderboard, test = service.leaderboard(WARM), drawn(service)
    ranked = list(leaderboard.ranking.ranks)
    assert leaderboard.default is not None
    best_by_default = next(iter(leaderboard.default.ranks))

    assert test.llm == ranked[0]
    assert rivals_of(leaderboard, leaderboard.llms) == (*ranked[:3], best_by_default)
    assert sorted(pair.rival for pair in test.pairs) == sorted(2 * [*ranked[1:3], best_by_default])
    assert len({pair.pair.query for pair in test.pairs}) == 6


def test_sides_are_as_the_rows_say_and_not_always_the_same(service: Service) -> None:
    respondents = service.benchmark("dailybench").respondents
    tests = [drawn(service, seed=seed) for seed in range(4)]

    for test, pair in ((each, pair) for each in tests for pair in each.pairs):
        sides = [respondents[row] for row in (pair.pair.first, pair.pair.second)]
        assert sides == ([test.llm, pair.rival] if pair.tested_first else [pair.rival, test.llm])
    assert {pair.tested_first for test in tests for pair in test.pairs} == {True, False}


def test_a_seed_gives_the_same_test_and_another_one_another(service: Service) -> None:
    assert drawn(service) == drawn(service)
    assert drawn(service).pairs != drawn(service, seed=1).pairs


def test_the_ranking_expects_what_its_judge_says(service: Service) -> None:
    scored = service.scored(WARM)
    for pair in drawn(service).pairs:
        ahead = [
            scored.standing[scored.request.llms.index(llm), pair.pair.query] for llm in ("lumen", pair.rival)
        ]
        assert pair.expected == pytest.approx(float(expit(ahead[0] - ahead[1])))


def test_answers_of_a_pair_are_about_equally_long_where_there_are_such(service: Service) -> None:
    benchmark = service.benchmark("dailybench")
    for pair in drawn(service).pairs:
        texts = [
            benchmark.text_at(benchmark.respondents[row], pair.pair.query)
            for row in (pair.pair.first, pair.pair.second)
        ]
        lengths = sorted(len((text or "").split()) for text in texts)
        assert lengths[1] <= 1.4 * lengths[0]


def test_a_wish_for_short_answers_is_not_hidden_by_equally_long_ones(service: Service) -> None:
    view = replace(WARM, criteria=CriteriaSet.of(["At most 60 words"]))
    benchmark = service.benchmark("dailybench")
    ratios = []
    for pair in drawn(service, view).pairs:
        tested, other = (
            len((benchmark.text_at(llm, pair.pair.query) or "").split()) for llm in ("brevia", pair.rival)
        )
        ratios.append(other / tested)

    assert drawn(service, view).llm == "brevia"
    assert min(ratios) > 1.4


def test_only_questions_of_the_chosen_topics_are_asked(service: Service) -> None:
    queries = service.benchmark("dailybench").record.queries
    test = drawn(service, replace(WARM, topics=("Jokes & puns",)))

    assert {queries[pair.pair.query].topic for pair in test.pairs} == {"Jokes & puns"}


def test_listed_llms_alone_are_tested(service: Service) -> None:
    leaderboard = service.leaderboard(WARM)
    test = make_taste_test(service, leaderboard, ["verity", "jester"])

    assert {test.llm, *(pair.rival for pair in test.pairs)} == {"verity", "jester"}
    assert len(test.pairs) == 6


def test_without_texts_or_rivals_there_is_none(service: Service) -> None:
    leaderboard = service.leaderboard(WARM)
    with pytest.raises(LeaderboardError, match="choose other topics"):
        make_taste_test(service, leaderboard, ["lumen"])
    with pytest.raises(LeaderboardError, match="import"):
        drawn(service, View("alpaca-eval"))


def pairs(*expected: float) -> tuple[BlindPair, ...]:
    """Pairs of which the tested LLM is A in every other one."""
    return tuple(
        BlindPair(ResponsePair(place, place % 2, 1 - place % 2), place % 2 == 0, "rival", prob)
        for place, prob in enumerate(expected)
    )


def taken(*expected: float, mine: int, alike: int = 0) -> TasteTest:
    """A test in which the tested LLM was taken first, then no difference was seen, then the rival taken."""
    test = TasteTest("mine", pairs(*expected))
    for place, pair in enumerate(test.pairs):
        if mine <= place < mine + alike:
            test = test.said(Taste.ALIKE)
        else:
            test = test.said(Taste.FIRST if pair.tested_first == (place < mine) else Taste.SECOND)
    return test


def test_counts_go_by_who_it_was_not_by_the_side() -> None:
    test = taken(0.9, 0.8, 0.7, 0.6, 0.8, 0.8, mine=4, alike=1)

    assert test.is_over
    assert test.won == 4.5
    assert test.n_alike == 1
    assert test.expected == pytest.approx(4.6)
    assert test.without_last().won == 4.5
    assert len(test.without_last().tastes) == 5


def test_no_difference_is_no_choice_to_learn_from() -> None:
    test = taken(0.9, 0.8, 0.7, mine=1, alike=1)

    assert [choice.outcome for choice in test.choices] == [ChoiceOutcome.FIRST, ChoiceOutcome.SECOND]
    assert [choice.pair for choice in test.choices] == [test.pairs[0].pair, test.pairs[2].pair]


def test_the_number_of_successes_is_that_of_all_outcomes_counted() -> None:
    prob = [0.2, 0.5, 0.9]
    by_hand = np.zeros(4)
    for outcome in product((0, 1), repeat=3):
        by_hand[sum(outcome)] += np.prod([p if won else 1 - p for p, won in zip(prob, outcome, strict=True)])

    np.testing.assert_allclose(count_distribution(prob), by_hand)


@pytest.mark.parametrize(
    ("expected", "mine", "surprise"),
    [(0.9, 2, -1), (0.9, 5, 0), (0.9, 6, 0), (0.5, 6, 1), (0.5, 3, 0), (0.5, 0, -1)],
)
def test_a_surprise_is_what_chance_would_rarely_make(expected: float, mine: int, surprise: int) -> None:
    assert taken(*[expected] * 6, mine=mine).surprise == surprise


def test_results_are_said_in_a_sentence() -> None:
    clear, unclear = taken(*[0.7667] * 6, mine=5), taken(*[0.5] * 6, mine=3, alike=1)

    assert taste_result_sentence(clear, "X") == "You chose X 5 of 6 times; the ranking expected 4.6."
    assert taste_result_sentence(unclear, "X") == (
        "You chose X 3 of 6 times and saw no difference once. Counting a half for that it is 3.5; "
        "the ranking expected 3.0."
    )
    assert "no larger than chance" in taste_verdict_sentence(clear)
    assert "does not go by your taste" in taste_verdict_sentence(taken(*[0.9] * 6, mine=1))
    assert "clearer" in taste_verdict_sentence(taken(*[0.5] * 6, mine=6))


def test_a_pair_is_said_with_what_was_expected() -> None:
    sure, even = pairs(0.18, 0.5)

    assert taste_sentence(sure, Taste.FIRST, "X", "Y") == "You took X; the ranking expected Y (82 %)."
    assert taste_sentence(even, Taste.FIRST, "X", "Y") == "You took Y; the ranking expected neither."
    assert taste_sentence(sure, Taste.ALIKE, "X", "Y").startswith("You saw no difference; ")


def test_fewer_pairs_are_said() -> None:
    assert fewer_pairs_sentence(TasteTest("x", pairs(*[0.5] * 6))) == ""
    assert "are only 4 pairs" in fewer_pairs_sentence(TasteTest("x", pairs(*[0.5] * 4)))
    assert "is only 1 pair " in fewer_pairs_sentence(TasteTest("x", pairs(0.5)))


def test_choices_of_a_test_are_learnt_from_once(service: Service) -> None:
    session = ElicitationSession.start(candidate_pairs(service, "dailybench", ()))
    test = drawn(service)
    while not test.is_over:
        test = test.said(Taste.FIRST if test.current.tested_first else Taste.SECOND)
    learnt = session.with_choices(test.choices)

    assert learnt.choices == test.choices
    assert learnt.with_choices(test.choices).choices == test.choices
    assert learnt.posterior.mean.tolist() != session.posterior.mean.tolist()
