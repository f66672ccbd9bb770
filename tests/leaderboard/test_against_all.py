"""Every LLM against every other, from the view to what is shown; with a baseline and without one."""

import json
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import spearmanr
from sqlalchemy import delete, select

from crm.criteria import CriteriaSet
from crm.embedded.representation import MISSING, NAME
from db.models import LLM, Query, Response
from db.repositories import benchmarks, representations
from leaderboard.alignment import alignment
from leaderboard.compare import in_words
from leaderboard.elicitation.acquisition import expected_agreement
from leaderboard.elicitation.session import ElicitationSession, candidate_pairs, pair_texts
from leaderboard.errors import LeaderboardError
from leaderboard.file_formats import FileFormat, file_of
from leaderboard.render.tables import not_compared_table, ranking_table
from leaderboard.robustness import assess_robustness
from leaderboard.service import Service
from leaderboard.statistics.bootstrap import UNRANKED
from leaderboard.statistics.style_control import Control
from leaderboard.user_data.session_benchmark import SessionService
from leaderboard.user_data.session_data import added_llms
from leaderboard.user_data.uploads import UploadedResponse
from leaderboard.view import Against, View

CONCISE = CriteriaSet.of(["Concise and direct"])
PUZZLES = "Puzzles & Logic"
SPARSE = View("dailybench", criteria=CONCISE)
MADE = datetime(2026, 1, 2, tzinfo=UTC)
ASSISTANTS = ("brevia", "scholia", "stepwise", "lumen", "fabula", "verity", "jester", "atlas")


def take_answers(service: Service, lacking: dict[str, NDArray[np.bool_]]) -> None:
    """Remove what LLMs answered to some queries ``[Q]``, and the baseline's part."""
    with service.database.session() as session:
        stored = benchmarks.find_benchmark(session, "dailybench")
        for llm, missing in lacking.items():
            arrays = representations.get_representation(session, stored, llm, NAME)
            assert arrays is not None
            arrays["digest"] = np.where(missing, MISSING, arrays["digest"]).astype(np.uint64)
            representations.put_representation(session, stored, llm, NAME, arrays)
            of_llm = select(LLM.id).where(LLM.benchmark_id == stored.id, LLM.name == llm).scalar_subquery()
            gone = select(Query.id).where(
                Query.benchmark_id == stored.id, Query.position.in_(np.flatnonzero(missing).tolist())
            )
            session.execute(delete(Response).where(Response.llm_id == of_llm, Response.query_id.in_(gone)))
        benchmarks.set_baseline(session, stored, None)


def queries_of(service: Service, category: str) -> NDArray[np.bool_]:
    return np.array([query.category == category for query in service.benchmark("dailybench").record.queries])


@pytest.fixture
def sparse(own_service: Service) -> Service:
    """DailyBench without a baseline, where jester answered no puzzles and verity every second query."""
    puzzles = queries_of(own_service, PUZZLES)
    take_answers(own_service, {"jester": puzzles, "verity": np.arange(len(puzzles)) % 2 == 0})
    return own_service


def places(service: Service, view: View) -> dict[str, int]:
    return service.leaderboard(view).ranking.ranks


@pytest.mark.parametrize(
    "view",
    [View("dailybench"), View("dailybench", criteria=CONCISE), View("alpaca-eval", criteria=CONCISE)],
)
def test_where_everybody_answered_the_order_is_nearly_that_against_the_baseline(
    service: Service, view: View
) -> None:
    against_baseline = service.leaderboard(view)
    against_all = service.leaderboard(replace(view, against=Against.ALL))
    ranks = against_all.ranking.ranks
    common = against_baseline.ranking.ranks

    assert against_all.benchmark.baseline in ranks
    assert len(ranks) == len(common) + 1
    assert spearmanr(list(common.values()), [ranks[llm] for llm in common])[0] > 0.95
    assert against_all.default is not None
    assert against_all.default.ranks == places(service, View(view.benchmark, against=Against.ALL))
    assert (against_all.not_compared, against_all.coverage) == ({}, {})
    assert sum(against_all.ranking.win_rate) == pytest.approx(len(ranks) / 2, abs=1e-3)


class TestWithoutABaseline:
    def test_all_are_contenders_ranked_against_each_other(self, sparse: Service) -> None:
        benchmark = sparse.benchmark("dailybench")
        shown = sparse.leaderboard(SPARSE)

        assert set(benchmark.llms) == set(benchmark.respondents) == set(ASSISTANTS)
        assert benchmark.default_against is Against.ALL
        assert (shown.against, shown.opponent) == (Against.ALL, "each other")
        assert set(shown.ranking.ranks) == set(ASSISTANTS)
        assert next(iter(shown.ranking.ranks)) == "brevia"
        assert shown.changes[shown.ranking.llms.index("brevia")] > 0
        n_queries = dict(zip(shown.ranking.llms, shown.ranking.n_queries.tolist(), strict=True))
        assert (n_queries["atlas"], n_queries["verity"]) == (522, 261)

    def test_how_much_each_answered_is_said(self, sparse: Service) -> None:
        shown = sparse.leaderboard(SPARSE)
        rows = json.loads(file_of(shown, FileFormat.JSON))

        assert shown.coverage["verity"] == 0.5
        assert {row["llm"]: row["answered"] for row in rows} == pytest.approx(shown.coverage, abs=1e-4)
        assert ">Answered<" in ranking_table(shown, (), str, "#000")
        assert "Wins against the others" in ranking_table(shown, (), str, "#000")
        whole = sparse.leaderboard(replace(SPARSE, topics=("Short fiction",), topic_weights=()))
        assert whole.coverage["jester"] == 1

    def test_who_lacks_a_chosen_topic_is_listed_apart(self, sparse: Service) -> None:
        shown = sparse.leaderboard(replace(SPARSE, topics=(PUZZLES, "Short fiction")))
        header, *rows = file_of(shown, FileFormat.CSV).decode().splitlines()

        assert shown.not_compared == {"jester": f"answered nothing on “{PUZZLES}”"}
        assert shown.ranking.rank[shown.ranking.llms.index("jester")] == UNRANKED
        assert len(shown.ranking.ranks) == 7
        assert header.endswith(",answered,not_compared")
        assert rows[-1].startswith(",jester,,,,0,")
        assert rows[-1].endswith(f"answered nothing on “{PUZZLES}”")
        assert "1 LLM is not compared" in shown.caveats
        assert 'data-llm="jester"' not in ranking_table(shown, (), str, "#000")
        assert 'data-llm="jester"' in not_compared_table(shown, str, "#000")
        assert not_compared_table(sparse.leaderboard(SPARSE), str, "#000") == ""

    def test_where_everybody_lacks_a_chosen_topic_nobody_is_ranked(self, own_service: Service) -> None:
        categories = PUZZLES, "Arts & Culture"
        lacking = [queries_of(own_service, category) for category in categories]
        take_answers(own_service, {llm: lacking[place % 2] for place, llm in enumerate(ASSISTANTS)})
        view = replace(SPARSE, topics=categories)
        shown = own_service.leaderboard(view)

        assert shown.ranking.ranks == {}
        assert set(shown.not_compared) == set(ASSISTANTS)
        assert shown.correlations is None
        assert assess_robustness(own_service, view) is None

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"against": Against.BASELINE}, "has no baseline to compare with: rank every LLM"),
            ({"crm": "longer"}, "'longer' compares one pair at a time.*choose the judge 'embedded'"),
            ({"control": Control.LENGTH}, "only where LLMs are ranked against a baseline"),
        ],
    )
    def test_what_needs_a_baseline_is_refused(
        self, sparse: Service, change: dict[str, object], message: str
    ) -> None:
        with pytest.raises(LeaderboardError, match=message):
            sparse.leaderboard(replace(SPARSE, **change))  # type: ignore[arg-type]

    def test_a_score_matrix_is_refused(self, sparse: Service) -> None:
        benchmark = sparse.benchmark("dailybench")
        for ask in (lambda: benchmark.judgeable(NAME), lambda: benchmark.pairs("atlas")):
            with pytest.raises(LeaderboardError, match="no baseline"):
                ask()

    def test_floor_and_musts_carry_over(self, sparse: Service) -> None:
        alone = sparse.leaderboard(replace(SPARSE, floor=0.5))
        crowd = places(sparse, View("dailybench"))
        shown = sparse.leaderboard(replace(SPARSE, must_have=True))

        assert set(alone.ranking.under_floor) == {llm for llm, rank in crowd.items() if rank > 4}
        assert 0 < len(shown.misses) < 8
        assert "brevia" not in shown.misses
        n_missed = [len(shown.misses.get(llm, ())) for llm in shown.ranking.llms]
        assert n_missed == sorted(n_missed)

    def test_grades_and_certainty_are_over_all_others(self, sparse: Service) -> None:
        found = alignment(sparse, SPARSE)
        certain = assess_robustness(sparse, SPARSE)

        assert found is not None
        assert certain is not None
        by_llm = dict(zip(found.llms, found.grades[:, 0], strict=True))
        assert max(by_llm, key=by_llm.__getitem__) == "brevia"
        assert np.mean(list(by_llm.values())) == pytest.approx(2.5, abs=0.01)
        assert certain.significance.llms == tuple(places(sparse, SPARSE))
        assert certain.significance.apart[0, -1]

    def test_inside_an_llm_its_answers_stand_against_the_others(self, sparse: Service) -> None:
        scores = sparse.query_scores(SPARSE, "verity")
        report = sparse.pair_report(SPARSE, "verity", scores[0].query)
        by_topic = sparse.topic_scores(SPARSE, "jester")

        assert len(scores) == 261
        assert scores[0].prob > 0.5 > scores[-1].prob
        assert report.opponent in set(ASSISTANTS) - {"verity"}
        assert report.opponent_response
        assert report.verdicts[0].prob == pytest.approx(report.prob, abs=1e-3)
        assert all(score.n_queries == 0 for score in by_topic if score.category == PUZZLES)
        assert any(score.n_queries for score in by_topic)

    def test_criteria_are_learnt_from_pairs_of_any_two(self, sparse: Service) -> None:
        session = ElicitationSession.start(candidate_pairs(sparse, "dailybench", ()))
        benchmark = sparse.benchmark("dailybench")

        assert pair_texts(benchmark, session.pair).first == benchmark.text_at(
            benchmark.respondents[session.pair.first], session.pair.query
        )
        assert session.candidates.scores(session.posterior.sample(5)).shape == (5, 8)
        assert 0.4 < expected_agreement(session.posterior, session.candidates) < 0.7

    def test_a_persons_llm_is_ranked_among_the_others(self, sparse: Service) -> None:
        record = sparse.benchmark("dailybench").record
        rows = [
            UploadedResponse(row, "Yes.", id=query.external_id)
            for row, query in enumerate(record.queries[:40], 1)
        ]
        own = SessionService(sparse, (added_llms(rows, record, "mine", "mine.csv"),))
        alone, shown = (service.leaderboard(SPARSE).ranking.ranks for service in (sparse, own))

        assert set(shown) == {*alone, "mine"}
        assert [llm for llm in shown if llm != "mine"][:2] == list(alone)[:2]
        assert own.leaderboard(SPARSE).coverage["mine"] == pytest.approx(40 / 522)

    def test_files_say_what_the_score_is(self, sparse: Service) -> None:
        shown = sparse.leaderboard(SPARSE)
        [first, *_] = json.loads(file_of(shown, FileFormat.EVERY_EVAL_EVER, MADE))
        metric = first["evaluation_results"][0]["metric_config"]
        header, row, *_ = file_of(shown, FileFormat.CSV_FULL, MADE).decode().splitlines()

        assert metric["metric_id"] == "usl.expected_win_rate"
        assert "the other LLMs' responses" in metric["evaluation_description"]
        assert metric["metric_parameters"]["against"] == "all"
        assert metric["metric_parameters"]["baseline"] is None
        assert ",against," in header
        assert ",all," in row


def test_the_choice_changes_what_is_ranked_not_what_is_kept(service: Service) -> None:
    view = View("dailybench", criteria=CONCISE)
    before = service.leaderboard(view)
    against_all = service.leaderboard(replace(view, against=Against.ALL))

    assert service.leaderboard(view).ranking.llms == before.ranking.llms
    assert "atlas" in against_all.ranking.llms
    assert "atlas" not in before.ranking.llms
    assert service.leaderboard(replace(view, against=Against.BASELINE)).ranking.llms == before.ranking.llms
    assert in_words(against_all.view, "DailyBench").endswith("against every other")
