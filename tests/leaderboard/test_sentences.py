"""Words about a ranking: its relation to the crowd's, and what a control removed."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from crm.criteria import CriteriaSet
from leaderboard.export import read_ranking_csv
from leaderboard.result import Leaderboard
from leaderboard.sentences import (
    control_effect_sentences,
    control_preference_sentence,
    interpret,
    not_compared_in_brief,
    not_compared_in_words,
)
from leaderboard.service import Service
from leaderboard.statistics.correlation import Correlations, correlate
from leaderboard.statistics.ranking import ControlEffect
from leaderboard.statistics.style_control import Control
from leaderboard.view import View
from tests.judges import SlowCRM, register

GOLDEN = Path(__file__).parent / "golden"

TWELVE = list("abcdefghijkl")

PARTLY = Correlations(tau=0.3, p_value=0.01, ndcg=0.8, rbo=0.5, weighted_tau=0.3, spearman=0.4, n=12)


def sentence(order: str, crowd: list[str] = TWELVE) -> str:
    return interpret(correlate(list(order), crowd))


@pytest.mark.parametrize(
    ("order", "relation"),
    [
        ("abcdefghijkl", "is the same as the average ranking"),
        ("bacdefghijkl", "hardly differs from the average ranking"),
        ("lkjihgfedcba", "is the exact reverse of the average ranking"),
        ("lkjihgfedcab", "is nearly the reverse of the average ranking"),
        ("abclkjihgfed", "keeps the average ranking's favourites near the top but reorders the rest"),
        ("bcdefghijkla", "puts other LLMs first but largely follows the average ranking after that"),
        (
            "gahbicjdkelf",
            "shows no clear relation to the average ranking: with 12 LLMs, any likeness could be chance",
        ),
        ("alkjihgfedcb", "leans the opposite way to the average ranking"),
    ],
)
def test_a_sentence_for_each_way_two_rankings_relate(order: str, relation: str) -> None:
    assert sentence(order) == f"Your ranking {relation}."


@pytest.mark.parametrize(
    ("criterion", "relation"),
    [
        ("c1", "keeps the average ranking's favourites near the top but reorders the rest"),
        ("c2", "leans the opposite way to the average ranking"),
    ],
)
def test_the_criteria_of_usl_table_4(criterion: str, relation: str) -> None:
    mine, crowd = (read_ranking_csv(GOLDEN / f"usl_table4_{name}.csv") for name in (criterion, "default"))

    assert interpret(correlate(mine, crowd)) == f"Your ranking {relation}."


@pytest.mark.parametrize(
    ("tau", "relation"),
    [
        (0.8 - 1e-12, "hardly differs from the average ranking"),
        (0.79, "largely agrees with the average ranking, with some LLMs changing places"),
        (0.5, "largely agrees with the average ranking, with some LLMs changing places"),
        (0.49, "partly agrees with the average ranking"),
        (0.2, "partly agrees with the average ranking"),
        (0.19, "has little to do with the average ranking"),
        (-0.19, "has little to do with the average ranking"),
        (-0.2, "leans the opposite way to the average ranking"),
        (-0.79, "leans the opposite way to the average ranking"),
        (-0.8, "is nearly the reverse of the average ranking"),
    ],
)
def test_where_one_description_ends_and_the_next_begins(tau: float, relation: str) -> None:
    assert interpret(replace(PARTLY, tau=tau)) == f"Your ranking {relation}."


def test_chance_is_named_from_five_percent_on() -> None:
    assert "could be chance" in interpret(replace(PARTLY, p_value=0.05))
    assert "could be chance" not in interpret(replace(PARTLY, p_value=0.0499))


def test_a_changed_top_is_named_only_where_the_rest_surely_follows() -> None:
    changed = replace(PARTLY, tau=0.6, ndcg=0.7)

    assert "puts other LLMs first" in interpret(changed)
    assert "puts other LLMs first" not in interpret(replace(changed, ndcg=0.75))
    assert "puts other LLMs first" not in interpret(replace(changed, p_value=0.2))


def test_few_llms_settle_nothing() -> None:
    assert (
        sentence("a", ["a"])
        == "Only one LLM is ranked, so there is nothing to compare with the average ranking."
    )
    assert sentence("abcd", list("abcd")) == (
        "Your ranking is the same as the average ranking, but with only 4 LLMs that could well be chance."
    )
    assert sentence("ba", list("ab")) == (
        "Your ranking differs from the average ranking, but with only 2 LLMs that could well be chance."
    )
    assert sentence("abcde", list("abcde")) == "Your ranking is the same as the average ranking."


def test_few_queries_are_a_caution() -> None:
    assert (
        interpret(PARTLY, queries=1)
        == "Judging by only 1 question, your ranking partly agrees with the average ranking."
    )
    assert interpret(PARTLY, queries=24).startswith("Judging by only 24 questions, your ranking")
    assert interpret(PARTLY, queries=25) == "Your ranking partly agrees with the average ranking."


CONCISE = CriteriaSet.of(["Concise and direct"])


@pytest.fixture(scope="module")
def controlled(service: Service) -> Leaderboard:
    return service.leaderboard(View("alpaca-eval", criteria=CONCISE, control=Control.LENGTH))


def test_a_wish_for_short_answers_loses_its_main_effect(service: Service, controlled: Leaderboard) -> None:
    plain = service.leaderboard(View("alpaca-eval", criteria=CONCISE)).ranking
    ranking, removed = controlled.ranking, controlled.ranking.removed
    assert removed is not None
    without = dict(zip(ranking.llms, removed.plain_win_rate.tolist(), strict=True))

    assert without == pytest.approx(dict(zip(plain.llms, plain.win_rate.tolist(), strict=True)))
    assert dict(zip(ranking.llms, removed.plain_rank.tolist(), strict=True)) == plain.ranks
    assert removed.effects[0] < -1
    verbose = ranking.llms.index("gpt4_1106_preview_verbose")
    assert ranking.win_rate[verbose] > removed.plain_win_rate[verbose] + 0.1
    assert np.all(ranking.ci_low <= ranking.win_rate)
    assert np.all(ranking.win_rate <= ranking.ci_high)


def test_it_is_compared_with_a_crowd_that_is_controlled_too(
    service: Service, controlled: Leaderboard
) -> None:
    crowd = service.leaderboard(View("alpaca-eval", control=Control.LENGTH)).ranking

    assert controlled.default is not None
    assert controlled.default.ranks == crowd.ranks
    assert crowd.ranks != service.leaderboard(View("alpaca-eval")).ranking.ranks


def test_a_category_column_is_controlled_as_well(controlled: Leaderboard) -> None:
    """Their mean, weighted by size, is close to the whole, which has one strength for all of them."""
    ranking = controlled.ranking
    sizes = np.array([category.n_queries for category in controlled.benchmark.categories])
    mean = np.nansum(ranking.category_win_rate * sizes, axis=1) / sizes.sum()

    np.testing.assert_allclose(mean, ranking.win_rate, atol=0.05)


def test_what_was_removed_is_said_in_words(controlled: Leaderboard) -> None:
    effect, preference = controlled.removed
    assert effect.startswith("Adjusted for length. Win rates move by ")
    assert preference.startswith(
        "Of two otherwise equal responses, the judge prefers the clearly shorter one ("
    )
    assert "Adjusted for length" in controlled.caveats


def test_what_does_not_matter_is_said_not_to(controlled: Leaderboard) -> None:
    plain = replace(
        controlled.ranking,
        removed=ControlEffect(np.zeros(1), controlled.ranking.win_rate, controlled.ranking.rank),
        n_queries=np.full(47, 3),
    )

    assert control_effect_sentences(plain, Control.LENGTH, controlled.titles) == (
        "Adjusted for length. Win rates hardly move, by 0.0 points on average, and none of 47 LLMs changes "
        "rank. With only 3 queries this is a rough guess."
    )
    assert control_preference_sentence(plain, Control.LENGTH) == (
        "Of two otherwise equal responses, length hardly matters to the judge."
    )


def test_style_names_every_term(service: Service) -> None:
    effect, preference = service.leaderboard(
        View("alpaca-eval", criteria=CONCISE, control=Control.STYLE)
    ).removed

    assert effect.startswith("Adjusted for length, lists, headings and bold.")
    for term in ("list", "headings", "bold"):  # With its share, or among those that hardly matter.
        assert term in preference


def test_without_a_control_there_is_nothing_to_say(service: Service) -> None:
    plain = service.leaderboard(View("dailybench"))

    assert plain.removed == ()
    assert plain.caveats == ()


def test_narrow_topics_and_soft_scores_are_controlled_too(service: Service) -> None:
    view = View("dailybench", ("Short fiction",), CONCISE, soft=True, control=Control.STYLE)
    ranking = service.leaderboard(view).ranking

    assert np.all((ranking.ci_low <= ranking.win_rate) & (ranking.win_rate <= ranking.ci_high))
    assert set(ranking.n_queries.tolist()) == {6}


def test_a_slow_judge_is_controlled_from_its_first_block_to_its_last(
    own_service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    crm = SlowCRM()
    register(monkeypatch, crm)
    view = View("dailybench", ("Arts & Culture",), crm=crm.name, control=Control.LENGTH)
    nothing_yet = own_service.leaderboard(view, subscriber=None)
    assert nothing_yet.ranking.ranks == {}
    assert nothing_yet.removed == ()

    own_service.judge(view)
    judged = own_service.leaderboard(view, subscriber=None)
    assert judged.ranking.removed is not None
    assert judged.ranking.removed.effects[0] > 2
    assert "the judge prefers the clearly longer one (" in judged.removed[1]


def test_why_an_llm_is_not_compared() -> None:
    assert not_compared_in_words(["Poetry", "Mail"]) == "answered nothing on “Poetry” and “Mail”"
    assert not_compared_in_words([]) == "answered no question that a ranked LLM answered"
    assert [not_compared_in_brief(n) for n in range(3)] == [
        "",
        "1 LLM is not compared",
        "2 LLMs are not compared",
    ]
