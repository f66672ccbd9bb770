"""Judges judge a benchmark ahead of time."""

import csv
import re
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import text

from crm.criteria import CriteriaSet, popular_criteria
from crm.embedded.model import embedded_crm
from crm.embedded.representation import NAME, representation
from crm.registry import get_crm
from db.database import job_locks
from db.errors import DatabaseError, NotFoundError
from db.records import LLMRecord, ScoreKey, WinRateRecord
from db.repositories import contents, scores
from db.repositories.benchmarks import find_benchmark
from db.repositories.representations import put_representation
from leaderboard.__main__ import main as leaderboard_main
from leaderboard.errors import LeaderboardError
from leaderboard.service import Service
from leaderboard.statistics.ranking import Ranking
from leaderboard.view import View
from precompute.__main__ import main
from precompute.errors import PrecomputeError
from precompute.progress import ScoringProgress
from precompute.score import ScoreSummary, score_benchmark
from tests.conftest import Run
from tests.judges import SlowCRM, register

CONCISE = CriteriaSet.of(["concise and direct"])
WARM = CriteriaSet.of(["warm"])
N_PAIRS = 522 * 7


def scored(service: Service, judge: SlowCRM, *sets: CriteriaSet, **options: object) -> ScoreSummary:
    [summary] = score_benchmark(
        service.database,
        "dailybench",
        [judge],
        sets or [CONCISE],
        **options,  # type: ignore[arg-type]
    )
    return summary


def stored_win_rates(
    service: Service, judge: str, version: str, criteria: CriteriaSet
) -> tuple[WinRateRecord, ...]:
    with service.database.session() as session:
        return scores.get_win_rates(
            session, find_benchmark(session, "dailybench"), ScoreKey(judge, version, criteria.key)
        )


def shown(ranking: Ranking) -> dict[str, tuple[float, float, float, int]]:
    """Win rate, interval and number of queries by LLM."""
    columns = ranking.win_rate, ranking.ci_low, ranking.ci_high, ranking.n_queries
    return dict(zip(ranking.llms, zip(*(column.tolist() for column in columns), strict=True), strict=True))


def test_the_page_then_has_it_at_once(own_service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    judge, told = SlowCRM(), list[ScoringProgress]()
    summary = scored(own_service, judge, on_progress=told.append)
    assert (summary.judged, summary.stored) == (N_PAIRS, 0)
    assert summary.pairs_per_second > 0
    assert [progress.pairs_done for progress in told[:3]] == [0, 7, 21]
    register(monkeypatch, judge)
    board = own_service.leaderboard(View("dailybench", criteria=CONCISE, crm="slow"), subscriber=None)

    assert board.n_judged == 522
    assert len(judge.asked) == N_PAIRS


def test_it_goes_on_where_it_was(own_service: Service) -> None:
    first = scored(own_service, SlowCRM(), topics=("Puzzles & Logic",))
    assert (first.judged, first.stored) == (210, 0)
    assert (first.sets_stored, first.sets_complete) == (1, 0)
    second = scored(own_service, SlowCRM())
    assert (second.judged, second.stored) == (N_PAIRS - 210, 210)
    assert (second.sets_stored, second.sets_complete) == (1, 1)
    third = scored(own_service, judge := SlowCRM())

    assert (third.judged, third.stored, judge.asked) == (0, N_PAIRS, [])


def test_several_lists_are_one_job(own_service: Service) -> None:
    told = list[ScoringProgress]()
    summary = scored(own_service, SlowCRM(), CONCISE, WARM, CONCISE, on_progress=told.append)
    assert (summary.judged, summary.sets_stored, summary.sets_complete) == (2 * N_PAIRS, 2, 2)
    assert {progress.pairs_all for progress in told} == {2 * N_PAIRS}
    assert [progress.pairs_done for progress in told] == sorted(progress.pairs_done for progress in told)
    assert told[-1].pairs_done == 2 * N_PAIRS
    middle = told[len(told) // 2]
    assert middle.pairs_per_second is not None
    assert middle.seconds_left is not None


@pytest.mark.parametrize("judge", ["longer", "embedded"])
def test_the_win_rates_are_those_of_the_page(own_service: Service, judge: str) -> None:
    crm = get_crm(judge)
    score_benchmark(own_service.database, "dailybench", [crm], [CONCISE])
    stored = stored_win_rates(own_service, judge, crm.version, CONCISE)
    benchmark = own_service.benchmark("dailybench")
    assert list(dict.fromkeys(rate.category for rate in stored)) == ["", *benchmark.category_names]
    for category in ("", "Puzzles & Logic"):
        view = View("dailybench", (category,) if category else (), CONCISE, judge)
        rates = {rate.llm: rate for rate in stored if rate.category == category}
        hard = own_service.leaderboard(view).ranking
        soft = own_service.leaderboard(View(view.benchmark, view.topics, CONCISE, judge, soft=True)).ranking
        assert {
            llm: (rate.hard, rate.ci_low, rate.ci_high, rate.n_queries) for llm, rate in rates.items()
        } == shown(hard)
        assert {llm: rate.soft for llm, rate in rates.items()} == pytest.approx(
            dict(zip(soft.llms, soft.win_rate.tolist(), strict=True)), abs=1e-12
        )


def test_the_embedded_judge_stores_the_matrix_that_the_page_computes(own_service: Service) -> None:
    crm = embedded_crm()
    [summary] = score_benchmark(own_service.database, "alpaca-eval", [crm], [CONCISE])
    benchmark = own_service.benchmark("alpaca-eval")
    assert (summary.judged, summary.sets_complete) == (benchmark.judgeable(crm.representation).sum(), 1)
    with own_service.database.session() as session:
        stored = scores.get_scores(
            session, find_benchmark(session, "alpaca-eval"), ScoreKey(crm.name, crm.version, CONCISE.key)
        )
    np.testing.assert_array_equal(
        np.stack([stored[llm].prob for llm in benchmark.llms]),
        own_service.score_matrix(benchmark, crm, CONCISE),
    )


def test_the_page_reads_no_stored_scores_of_the_embedded_judge(
    own_service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    score_benchmark(own_service.database, "dailybench", [embedded_crm()], [CONCISE])
    monkeypatch.delattr(scores, "get_scores")
    assert own_service.leaderboard(View("dailybench", criteria=CONCISE)).n_judged == 522


def test_an_llm_that_comes_later_is_added(own_service: Service) -> None:
    scored(own_service, SlowCRM())
    with own_service.database.session() as session:
        benchmark = find_benchmark(session, "dailybench")
        contents.upsert_llms(session, benchmark, [LLMRecord("late", "Late")])
        query = own_service.benchmark("dailybench").record.queries[0].external_id
        contents.set_responses(session, benchmark, "late", {query: "Better late than never."})
    again = scored(own_service, judge := SlowCRM())
    assert (again.judged, len(judge.asked)) == (1, 1)
    late = [rate for rate in stored_win_rates(own_service, "slow", "1", CONCISE) if rate.llm == "late"]
    assert [rate.n_queries for rate in late] == [1, 1]


def test_two_at_once_are_refused(own_service: Service) -> None:
    with (
        job_locks(own_service.database.engine, ["scoring 'dailybench' with slow"]),
        pytest.raises(DatabaseError, match="Another process is scoring 'dailybench' with slow"),
    ):
        scored(own_service, SlowCRM())


def test_what_cannot_be_scored_is_refused(own_service: Service) -> None:
    with pytest.raises(LeaderboardError, match="did you mean 'Short fiction'"):
        scored(own_service, SlowCRM(), topics=("Short fictions",))
    with pytest.raises(NotFoundError, match="no benchmark 'absent'"):
        score_benchmark(own_service.database, "absent", [SlowCRM()], [CONCISE])


def test_without_representations_the_command_that_computes_them_is_named(own_service: Service) -> None:
    with own_service.database.session() as session:
        blank = representation().blank(522)
        put_representation(session, find_benchmark(session, "dailybench"), "atlas", NAME, blank)

    with pytest.raises(PrecomputeError, match="run “python -m precompute embed --benchmark dailybench”"):
        score_benchmark(own_service.database, "dailybench", [embedded_crm()], [CONCISE])


@pytest.fixture
def own_database(own_service: Service, run_main: Run, monkeypatch: pytest.MonkeyPatch) -> Service:
    """`run_main` works on the copy."""
    url = own_service.database.engine.url.render_as_string(hide_password=False)
    monkeypatch.setenv("USL_DATABASE_URL", url)
    return own_service


def test_the_command_says_what_was_done(
    own_database: Service, run_main: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    register(monkeypatch, SlowCRM())
    arguments = ("score", "--benchmark", "dailybench", "--crm", "slow", "--avoid", "slang")
    code, out, err = run_main(main, *arguments)

    assert (code, err) == (0, "")
    done, stored = out.splitlines()
    assert done.startswith("dailybench: 3,654 pairs judged by slow in ")
    assert done.endswith(" per second), 0 were judged before.")
    assert stored == "dailybench: criteria lists stored: 1 by slow (1 with win rates)."
    assert run_main(main, *arguments)[1].splitlines()[0].endswith(", 3,654 were judged before.")
    assert stored_win_rates(own_database, "slow", "1", CriteriaSet.of(avoided=["slang"]))


def test_a_list_is_scored_with_the_default_ranking(
    own_database: Service, run_main: Run, tmp_path: Path
) -> None:
    file = tmp_path / "mine.jsonl"
    file.write_text('{"label": "Warm", "criteria": ["warm"]}\n')
    arguments = ("score", "--benchmark", "dailybench", "--crm", "embedded", "--crm", "longer")
    code, out, err = run_main(main, *arguments, "--criteria", file)
    assert (code, err) == (0, "")
    assert out.splitlines()[-1] == (
        "dailybench: criteria lists stored: 2 by embedded (2 with win rates), 2 by longer (2 with win rates)."
    )
    for criteria in (CriteriaSet(), WARM):
        assert stored_win_rates(own_database, "longer", "1", criteria)


def test_win_rates_can_be_read_as_csv(own_database: Service, run_main: Run) -> None:
    with own_database.database.session() as session:
        scores.delete_win_rates(session, find_benchmark(session, "dailybench"))  # those that are shipped
    code, out, err = run_main(leaderboard_main, "win-rates", "--benchmark", "dailybench", "--crm", "longer")
    assert (code, out) == (2, "")
    assert "run “python -m precompute score --benchmark dailybench --crm longer”" in err
    score_benchmark(own_database.database, "dailybench", [get_crm("longer")], [CriteriaSet(), WARM])
    code, out, err = run_main(leaderboard_main, "win-rates", "--benchmark", "dailybench", "--crm", "longer")
    assert (code, err) == (0, "")
    rows = list(csv.DictReader(out.splitlines()))
    assert len(rows) == 2 * 7 * 13
    assert {row["criteria"] for row in rows} == {"∅", "warm"}
    ranking = own_database.leaderboard(
        View("dailybench", criteria=WARM, crm="longer"), subscriber=None
    ).ranking
    on_page = dict(zip(ranking.llms, ranking.win_rate, strict=True))
    assert {
        row["llm"]: row["win_rate"] for row in rows if (row["criteria"], row["category"]) == ("warm", "")
    } == {llm: f"{rate:.4f}" for llm, rate in on_page.items()}


def test_the_documented_query_gives_the_default_ranking(own_service: Service) -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "scoring.md").read_text()
    [query] = re.findall(r"^ {4}SELECT .*?;$", page, re.MULTILINE | re.DOTALL)
    score_benchmark(own_service.database, "dailybench", [embedded_crm()], [CriteriaSet(), WARM])
    with own_service.database.session() as session:
        rows = session.execute(text(query)).all()
    ranking = own_service.leaderboard(View("dailybench")).ranking
    assert {row[0]: tuple(row[1:]) for row in rows} == shown(ranking)
    assert [row[1] for row in rows] == sorted(ranking.win_rate, reverse=True)


def test_the_popular_list_is_scored_by_name(own_database: Service, run_main: Run) -> None:
    arguments = ("score", "--benchmark", "dailybench", "--crm", "embedded", "--criteria", "popular")
    code, out, _ = run_main(main, *arguments)
    assert code == 0
    assert "criteria lists stored: 41 by embedded (41 with win rates)" in out
    version = embedded_crm().version
    assert all(
        stored_win_rates(own_database, "embedded", version, item.criteria) for item in popular_criteria()
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--benchmark", "dailybench"], "--crm"),
        (["--benchmark", "dailybench", "--crm", "longer", "--criteria", "absent.toml"], "cannot be read"),
        (
            ["--benchmark", "dailybench", "--crm", "longer", "--criteria", "popular", "--avoid", "slang"],
            "Give either --criteria or --criterion and --avoid",
        ),
        (["--benchmark", "alpaca-eval", "--crm", "longer"], "python -m precompute import alpaca-eval"),
        (["--benchmark", "dailybench", "--crm", "oracle"], "no CRM named 'oracle'"),
        (["--benchmark", "absent", "--crm", "longer"], "no benchmark 'absent'"),
        (["--benchmark", "dailybench", "--crm", "longer", "--criterion", " "], "A criterion is empty"),
        (["--benchmark", "dailybench", "--crm", "longer", "--topic", "Nonsense"], "no topic 'Nonsense'"),
    ],
)
def test_bad_input_is_one_line(run_main: Run, arguments: list[str], message: str) -> None:
    code, out, err = run_main(main, "score", *arguments)

    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert message in err
