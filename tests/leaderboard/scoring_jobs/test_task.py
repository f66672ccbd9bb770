"""A score matrix that is filled, interrupted and continued, also by another process."""

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from crm.criteria import CriteriaSet
from crm.protocol import ScoreBlock
from db.errors import DatabaseError
from db.records import ScoreKey
from db.repositories import contents, scores
from db.repositories.benchmarks import find_benchmark
from db.repositories.bundles import export_bundle, import_bundle
from leaderboard.benchmark import LoadedBenchmark
from leaderboard.errors import LeaderboardError
from leaderboard.scoring_jobs import task as task_module
from leaderboard.scoring_jobs.progress import Progress, State
from leaderboard.scoring_jobs.task import ScoreMatrix, ScoringTask
from leaderboard.service import Service
from leaderboard.statistics.win_rate import Mask
from tests.db.samples import score_row
from tests.judges import SlowCRM

ANSWERED = np.array([[True, True, True, False], [True, False, True, False]])
ALL = np.ones(4, dtype=bool)
NAN = np.nan


def block(queries: list[int], prob: list[list[float]]) -> ScoreBlock:
    return ScoreBlock(np.arange(2), np.array(queries), np.array(prob, dtype=np.float32))


def test_a_missing_response_is_told_from_one_that_waits() -> None:
    empty = ScoreMatrix.empty(ANSWERED)
    matrix = empty.with_block(block([2, 1, 3], [[0.25, 0.5, NAN], [1, NAN, NAN]]))

    np.testing.assert_array_equal(matrix.prob, [[NAN, 0.5, 0.25, NAN], [NAN, NAN, 1, NAN]])
    assert matrix.todo.tolist() == [[True, False, False, False], [True, False, False, False]]
    assert (matrix.count(ALL), empty.count(ALL)) == ((3, 5), (0, 5))
    assert empty.n_judged == 0


def test_an_undecided_judge_is_not_asked_again() -> None:
    matrix = ScoreMatrix.empty(ANSWERED).with_block(block([0], [[NAN], [0.5]]))

    assert not matrix.todo[:, 0].any()
    assert np.isnan(matrix.prob[0, 0])


def test_what_is_judged_stays() -> None:
    first = ScoreMatrix.empty(ANSWERED).with_block(block([0], [[0.25], [0.5]]))
    second = first.with_block(block([0, 2], [[1, 1], [1, 1]]))

    assert second.prob[:, 0].tolist() == [0.25, 0.5]
    assert second.prob[:, 2].tolist() == [1, 1]
    assert np.isnan(first.prob[:, 2]).all()


def test_llms_are_compared_on_queries_judged_for_all_who_answered() -> None:
    matrix = ScoreMatrix.empty(ANSWERED)
    matrix = matrix.with_block(ScoreBlock(np.array([0]), np.array([0, 1]), np.ones((1, 2), np.float32)))
    assert matrix.comparable(ALL).tolist() == [False, True, False, False]
    matrix = matrix.with_block(block([0, 2, 3], [[1, 1, NAN]] * 2))

    assert matrix.comparable(ALL).tolist() == [True, True, True, False]
    assert matrix.comparable(np.arange(4) == 2).tolist() == [False, False, True, False]


def test_stored_rows_are_taken_over_and_given_back() -> None:
    rows = {"b": score_row(0.5, None, 0.25, None)}
    matrix = ScoreMatrix.empty(ANSWERED).with_rows(("a", "b"), rows)

    assert matrix.judged.tolist() == [[False] * 4, [True, False, True, False]]
    back = matrix.rows(("a", "b"))["b"]
    np.testing.assert_array_equal(back.prob, rows["b"].prob)
    np.testing.assert_array_equal(back.judged, rows["b"].judged)


@pytest.mark.parametrize("value", [3.2, -0.1, np.inf])
def test_a_number_that_is_no_probability_is_refused(value: float) -> None:
    with pytest.raises(LeaderboardError, match=r"probability (3\.2|-0\.1|inf), which is not between 0 and 1"):
        ScoreMatrix.empty(ANSWERED).with_block(block([0], [[0.5], [value]]))


ROOT = Path(__file__).resolve().parents[3]
CONCISE = CriteriaSet.of(["concise and direct"])
N_PAIRS = 522 * 7

# Judges until it is killed, and says so after every block.
WORKER = """
import sys
import numpy as np
from crm.criteria import CriteriaSet
from leaderboard.scoring_jobs import task
from leaderboard.service import Service
from tests.judges import SlowCRM

task._STORE_SECONDS = 0.0
task._STORING_SHARE = 1.0
benchmark = Service.open(sys.argv[1]).benchmark("dailybench")
work = task.ScoringTask(benchmark, SlowCRM(0.002), CriteriaSet.of(["concise and direct"]))
everything = np.ones(benchmark.n_queries, dtype=bool)
work.judge_now(everything, lambda progress: print(progress.pairs_done, flush=True))
"""


@pytest.fixture
def benchmark(own_service: Service) -> LoadedBenchmark:
    return own_service.benchmark("dailybench")


@pytest.fixture
def everything(benchmark: LoadedBenchmark) -> Mask:
    return np.ones(benchmark.n_queries, dtype=np.bool_)


class Interrupted(SlowCRM):
    """A judge at which the person loses patience."""

    def judge(self, questions):  # type: ignore[no-untyped-def]
        if len(self.asked) > 100:
            raise KeyboardInterrupt
        return super().judge(questions)


def n_stored(benchmark: LoadedBenchmark) -> int:
    with benchmark.database.session() as session:
        rows = scores.get_scores(
            session, find_benchmark(session, "dailybench"), ScoreKey("slow", "1", CONCISE.key)
        )
    return sum(int(row.judged.sum()) for row in rows.values())


def test_it_tells_how_far_it_is(benchmark: LoadedBenchmark, everything: Mask) -> None:
    told: list[Progress] = []
    ScoringTask(benchmark, SlowCRM(), CONCISE).judge_now(everything, told.append)

    assert [progress.pairs_done for progress in told[:4]] == [0, 7, 21, 49]
    assert {progress.pairs_all for progress in told} == {N_PAIRS}
    assert [told[0].state, told[-1].state] == [State.RUNNING, State.FINISHED]
    # The first block takes the longest and says nothing of the others.
    assert [progress.seconds_left is None for progress in told[:3]] == [True, True, False]


def test_what_was_judged_before_an_interruption_is_kept(benchmark: LoadedBenchmark, everything: Mask) -> None:
    with pytest.raises(KeyboardInterrupt):
        ScoringTask(benchmark, Interrupted(), CONCISE).judge_now(everything)
    assert 100 < n_stored(benchmark) < N_PAIRS
    before = n_stored(benchmark)
    judge = SlowCRM()
    again = ScoringTask(benchmark, judge, CONCISE)
    assert again.matrix.n_judged == before
    again.judge_now(everything)

    assert len(judge.asked) == N_PAIRS - before
    assert n_stored(benchmark) == N_PAIRS


def test_what_another_process_has_judged_meanwhile_is_not_judged_again(
    benchmark: LoadedBenchmark, everything: Mask
) -> None:
    early = ScoringTask(benchmark, judge := SlowCRM(), CONCISE)
    ScoringTask(benchmark, SlowCRM(), CONCISE).judge_now(everything)
    early.judge_now(everything)

    assert judge.asked == []
    assert early.matrix.n_judged == N_PAIRS


def test_verdicts_on_the_same_texts_in_another_benchmark_are_taken_over(
    own_service: Service, benchmark: LoadedBenchmark, everything: Mask
) -> None:
    done = ScoringTask(benchmark, SlowCRM(), CONCISE)
    done.judge_now(everything)
    with own_service.database.session() as session:
        bundle = export_bundle(session, find_benchmark(session, "dailybench"), with_texts=True, crms=())
        import_bundle(session, replace(bundle, info=replace(bundle.info, slug="again")))
        again = find_benchmark(session, "again")
        contents.set_responses(session, again, "brevia", {bundle.queries[3].external_id: "Another answer."})
    judge = SlowCRM()
    task = ScoringTask(own_service.benchmark("again"), judge, CONCISE)
    task.judge_now(everything)

    assert [question.pair.response_a for question in judge.asked] == ["Another answer."]
    same = np.ones_like(task.matrix.prob, dtype=bool)
    same[benchmark.llms.index("brevia"), 3] = False
    np.testing.assert_array_equal(task.matrix.prob[same], done.matrix.prob[same])


def test_a_killed_process_is_continued_by_the_next(
    own_service: Service, benchmark: LoadedBenchmark, everything: Mask
) -> None:
    url = own_service.database.engine.url.render_as_string(hide_password=False)
    with subprocess.Popen(
        [sys.executable, "-c", WORKER, url],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        while int(process.stdout.readline()) < 300:
            pass
        process.send_signal(signal.SIGKILL)
    kept = n_stored(benchmark)
    assert 200 < kept < N_PAIRS
    judge = SlowCRM()
    ScoringTask(benchmark, judge, CONCISE).judge_now(everything)

    assert len(judge.asked) == N_PAIRS - kept


def test_the_result_does_not_depend_on_the_interruption(benchmark: LoadedBenchmark, everything: Mask) -> None:
    with pytest.raises(KeyboardInterrupt):
        ScoringTask(benchmark, Interrupted(), CONCISE).judge_now(everything)
    continued = ScoringTask(benchmark, SlowCRM(), CONCISE)
    continued.judge_now(everything)
    whole = ScoringTask(benchmark, SlowCRM(), CriteriaSet.of(["longer makes no difference of criteria"]))
    whole.judge_now(everything)

    np.testing.assert_array_equal(continued.matrix.prob, whole.matrix.prob)


def test_scores_of_responses_that_have_changed_are_not_stored(
    own_service: Service, benchmark: LoadedBenchmark, everything: Mask
) -> None:
    class Changing(SlowCRM):
        def judge(self, questions):  # type: ignore[no-untyped-def]
            if not self.asked:
                with benchmark.database.session() as session:
                    contents.set_responses(
                        session, find_benchmark(session, "dailybench"), "brevia", {"01-1": "another answer"}
                    )
            return super().judge(questions)

    with pytest.raises(DatabaseError, match="'dailybench' has changed"):
        ScoringTask(benchmark, Changing(), CONCISE).judge_now(everything)
    assert n_stored(benchmark) == 0
    ScoringTask(own_service.benchmark("dailybench"), SlowCRM(), CONCISE).judge_now(everything)
    assert n_stored(benchmark) == N_PAIRS


def test_storing_takes_a_small_part_of_the_time(
    benchmark: LoadedBenchmark, everything: Mask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task_module, "_STORE_SECONDS", 0.0)
    stored: list[int] = []
    put = scores.put_scores
    monkeypatch.setattr(
        task_module.scores, "put_scores", lambda *args, **kwargs: stored.append(1) or put(*args, **kwargs)
    )
    ScoringTask(benchmark, SlowCRM(), CONCISE).judge_now(everything)

    assert 1 <= len(stored) < 20  # of more than fifty blocks
