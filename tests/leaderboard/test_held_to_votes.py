"""The default ranking where people's votes are known of most LLMs: the bundled benchmark of current LLMs."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import spearmanr

from crm.criteria import CriteriaSet
from leaderboard.benchmark import response_features
from leaderboard.llm_facts.catalogue import OVERALL
from leaderboard.llm_facts.files import known_catalogue
from leaderboard.llm_facts.votes import CREATIVE, kind_of, ratings_of
from leaderboard.request import measuring
from leaderboard.result import Leaderboard
from leaderboard.sentences import preferred_on_average
from leaderboard.service import Service
from leaderboard.statistics.bradley_terry import bradley_terry
from leaderboard.statistics.duels import Margins, coverage
from leaderboard.statistics.foretelling import with_foretold
from leaderboard.statistics.style_control import Control
from leaderboard.view import Against, View

CURRENT = View("modern")


@pytest.fixture(scope="module")
def shown(service: Service) -> Leaderboard:
    """Without criteria."""
    return service.leaderboard(CURRENT)


def test_llms_stand_as_people_rate_them(shown: Leaderboard) -> None:
    rating = ratings_of(shown.ranking.llms, known_catalogue(), "modern")
    rated = np.isfinite(rating)

    assert shown.n_by_votes == rated.sum() >= 45
    assert spearmanr(shown.ranking.win_rate[rated], rating[rated])[0] > 0.95


def test_on_creative_topics_they_stand_by_the_votes_on_creative_writing(service: Service) -> None:
    scored = service.scored(CURRENT)
    benchmark, margins = scored.request.benchmark, scored.judged
    assert isinstance(margins, Margins)
    creative = np.array([kind_of(query.category) == CREATIVE for query in benchmark.record.queries])
    compared = coverage(
        margins.asked, benchmark.category_index, len(benchmark.category_names), used=creative
    ).comparable
    strength = bradley_terry(
        *(margins, benchmark.topic_index, benchmark.category_index), used=creative, compared=compared
    ).strength
    by_kind = {
        kind: ratings_of(benchmark.respondents, known_catalogue(), "modern", kind)
        for kind in (CREATIVE, OVERALL)
    }
    known = np.isfinite([strength, *by_kind.values()]).all(axis=0)
    agreement = {kind: spearmanr(strength[known], rating[known])[0] for kind, rating in by_kind.items()}

    assert known.sum() >= 35
    assert agreement[CREATIVE] > max(0.95, agreement[OVERALL])


def test_who_is_not_rated_is_less_sure_than_who_is(shown: Leaderboard) -> None:
    rated = np.isfinite(ratings_of(shown.ranking.llms, known_catalogue(), "modern"))
    width = shown.ranking.ci_high - shown.ranking.ci_low

    assert np.median(width[~rated]) > 1.2 * np.median(width[rated])


def test_rankings_under_criteria_are_the_judges_alone(service: Service) -> None:
    wish = CriteriaSet.of(["Concise and direct"])
    scored = service.scored(View("modern", criteria=wish))
    by_judge = service.margins(service.benchmark("modern"), scored.request.crm, wish)

    assert scored.judged is by_judge


def test_a_pair_without_criteria_names_the_votes(service: Service, shown: Leaderboard) -> None:
    first = shown.ranking.llms[0]
    query = service.query_scores(CURRENT, first)[0].query
    report = service.pair_report(CURRENT, first, query)
    [verdict] = report.verdicts

    assert verdict.prob == pytest.approx(report.prob, abs=1e-3)
    assert "that people rate" in verdict.reasons[0].text


def test_a_pair_with_an_llm_that_nobody_rated_says_so(service: Service, shown: Leaderboard) -> None:
    rated = np.isfinite(ratings_of(shown.ranking.llms, known_catalogue(), "modern"))
    llm = shown.ranking.llms[int(np.flatnonzero(~rated)[0])]
    query = service.query_scores(CURRENT, llm)[0].query
    [verdict] = service.pair_report(CURRENT, llm, query).verdicts

    assert any("that people would probably rate" in reason.text for reason in verdict.reasons)


def test_where_nobody_is_rated_nothing_is_held(service: Service) -> None:
    assert service.leaderboard(View("dailybench", against=Against.ALL)).n_by_votes == 0
    assert service.leaderboard(View("dailybench")).n_by_votes == 0


def test_against_a_rated_baseline_llms_stand_as_people_rate_them(service: Service) -> None:
    board = service.leaderboard(View("alpaca-eval"))
    rating = ratings_of(board.ranking.llms, known_catalogue(), "alpaca-eval")
    rated = np.isfinite(rating)

    assert board.n_by_votes == rated.sum() >= 30
    assert spearmanr(board.ranking.win_rate[rated], rating[rated])[0] > 0.95


def test_against_a_baseline_a_pair_without_criteria_names_the_votes(service: Service) -> None:
    view = View("alpaca-eval")
    llm = service.leaderboard(view).ranking.llms[-1]
    query = service.query_scores(view, llm)[0].query
    report = service.pair_report(view, llm, query)
    [verdict] = report.verdicts

    assert verdict.prob == pytest.approx(report.prob, abs=1e-3)
    assert "rate" in verdict.reasons[0].text


def test_where_length_is_taken_out_the_judge_alone_ranks(service: Service) -> None:
    assert service.leaderboard(View("alpaca-eval", control=Control.LENGTH)).n_by_votes == 0


@pytest.mark.parametrize(("slug", "least"), [("alpaca-eval", 0.9), ("modern", 0.8)])
def test_what_is_known_of_llms_helps_where_a_rating_is_taken_for_unknown(
    service: Service, slug: str, least: float
) -> None:
    benchmark = service.benchmark(slug)
    request = service.scored(View(slug, against=Against.ALL)).request
    margins = service.margins(benchmark, measuring(request.crm), CriteriaSet())
    queries, rating = max(request.ratings_by_kind, key=lambda kind: int(kind[0].sum()))
    features = response_features(benchmark)
    assert features is not None
    rated = np.flatnonzero(np.isfinite(rating))

    def foretold(known: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.array(
            [
                with_foretold(
                    np.where(np.arange(len(rating)) == llm, np.nan, rating),
                    *(features, margins, queries, known),
                )[llm]
                for llm in rated
            ]
        )

    by_answers = foretold(np.full_like(request.known, np.nan))
    by_both = foretold(request.known)

    missed = by_both - rating[rated], by_answers - rating[rated]

    assert spearmanr(by_both, rating[rated], nan_policy="omit")[0] > least
    assert np.nanmean(np.square(missed[0])) < 0.8 * np.nanmean(np.square(missed[1]))


def test_it_is_said_how_many_stand_by_votes() -> None:
    assert preferred_on_average(0, 8) == "This is the judge’s guess at what people prefer on average."
    assert "(49 of 64; the others as their answers and what is known of them" in preferred_on_average(49, 64)
    assert "LMArena, and" in preferred_on_average(64, 64)
