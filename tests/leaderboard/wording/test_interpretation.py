from dataclasses import replace
from pathlib import Path

import pytest

from leaderboard.export import read_ranking_csv
from leaderboard.statistics.correlation import Correlations, correlate
from leaderboard.wording.interpretation import interpret

GOLDEN = Path(__file__).parents[1] / "golden"

TWELVE = list("abcdefghijkl")

PARTLY = Correlations(tau=0.3, p_value=0.01, ndcg=0.8, rbo=0.5, weighted_tau=0.3, spearman=0.4, n=12)


def sentence(order: str, crowd: list[str] = TWELVE) -> str:
    return interpret(correlate(list(order), crowd))


@pytest.mark.parametrize(
    ("order", "relation"),
    [
        ("abcdefghijkl", "is the same as the crowd's"),
        ("bacdefghijkl", "hardly differs from the crowd's"),
        ("lkjihgfedcba", "is the exact reverse of the crowd's"),
        ("lkjihgfedcab", "is nearly the reverse of the crowd's"),
        ("abclkjihgfed", "keeps the crowd's favourites near the top but reorders the rest"),
        ("bcdefghijkla", "puts other LLMs first but largely follows the crowd's after that"),
        ("gahbicjdkelf", "shows no clear relation to the crowd's: with 12 LLMs, this could be chance"),
        ("alkjihgfedcb", "leans the opposite way to the crowd's"),
    ],
)
def test_a_sentence_for_each_way_two_rankings_relate(order: str, relation: str) -> None:
    assert sentence(order) == f"Your ranking {relation}."


@pytest.mark.parametrize(
    ("criterion", "relation"),
    [
        ("c1", "keeps the crowd's favourites near the top but reorders the rest"),
        ("c2", "leans the opposite way to the crowd's"),
    ],
)
def test_the_criteria_of_usl_table_4(criterion: str, relation: str) -> None:
    mine, crowd = (read_ranking_csv(GOLDEN / f"usl_table4_{name}.csv") for name in (criterion, "default"))

    assert interpret(correlate(mine, crowd)) == f"Your ranking {relation}."


@pytest.mark.parametrize(
    ("tau", "relation"),
    [
        (0.8 - 1e-12, "hardly differs from the crowd's"),
        (0.79, "largely agrees with the crowd's, with some LLMs changing places"),
        (0.5, "largely agrees with the crowd's, with some LLMs changing places"),
        (0.49, "partly agrees with the crowd's"),
        (0.2, "partly agrees with the crowd's"),
        (0.19, "has little to do with the crowd's"),
        (-0.19, "has little to do with the crowd's"),
        (-0.2, "leans the opposite way to the crowd's"),
        (-0.79, "leans the opposite way to the crowd's"),
        (-0.8, "is nearly the reverse of the crowd's"),
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
        == "Only one LLM is ranked, so there is nothing to compare with the crowd's ranking."
    )
    assert sentence("abcd", list("abcd")) == (
        "Your ranking is the same as the crowd's, but with only 4 LLMs that could well be chance."
    )
    assert sentence("ba", list("ab")) == (
        "Your ranking differs from the crowd's, but with only 2 LLMs that could well be chance."
    )
    assert sentence("abcde", list("abcde")) == "Your ranking is the same as the crowd's."


def test_few_queries_are_a_caution() -> None:
    assert (
        interpret(PARTLY, queries=1)
        == "Judging by only 1 query, your ranking partly agrees with the crowd's."
    )
    assert interpret(PARTLY, queries=24).startswith("Judging by only 24 queries, your ranking")
    assert interpret(PARTLY, queries=25) == "Your ranking partly agrees with the crowd's."
