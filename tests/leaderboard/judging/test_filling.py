"""A score matrix that is filled, interrupted and continued, also by another process."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from crm.criteria import CriteriaSet
from db import BenchmarkChangedError, ScoreKey
from db.repositories import scores, texts
from leaderboard.contest import StoredContest
from leaderboard.judging import filling as filling_module
from leaderboard.judging.filling import Filling
from leaderboard.judging.progress import Progress, State
from leaderboard.service import Service
from leaderboard.statistics.matrix import Mask
from tests.judges import SlowCRM

ROOT = Path(__file__).resolve().parents[3]
CONCISE = CriteriaSet.of(["concise and direct"])
N_PAIRS = 522 * 7

# Judges until it is killed, and says so after every block.
WORKER = """
import sys
import numpy as np
from crm.criteria import CriteriaSet
from leaderboard.judging import filling
from leaderboard.service import Service
from tests.judges import SlowCRM

filling._STORE_SECONDS = 0.0
filling._STORING_SHARE = 1.0
contest = Service.open(sys.argv[1]).contest("dailybench")
work = filling.Filling(contest, SlowCRM(0.002), CriteriaSet.of(["concise and direct"]))
everything = np.ones(contest.n_queries, dtype=bool)
work.judge_now(everything, lambda progress: print(progress.pairs_done, flush=True))
"""


@pytest.fixture
def contest(own_service: Service) -> StoredContest:
    return own_service.contest("dailybench")


@pytest.fixture
def everything(contest: StoredContest) -> Mask:
    return np.ones(contest.n_queries, dtype=np.bool_)


class Interrupted(SlowCRM):
    """A judge at which the person loses patience."""

    def judge(self, questions):  # type: ignore[no-untyped-def]
        if len(self.asked) > 100:
            raise KeyboardInterrupt
        return super().judge(questions)


def n_stored(contest: StoredContest) -> int:
    with contest.database.session() as session:
        rows = scores.get_scores(session, "dailybench", ScoreKey("slow", "1", CONCISE.key))
    return sum(int(row.judged.sum()) for row in rows.values())


def test_it_tells_how_far_it_is(contest: StoredContest, everything: Mask) -> None:
    told: list[Progress] = []
    Filling(contest, SlowCRM(), CONCISE).judge_now(everything, told.append)

    assert [progress.pairs_done for progress in told[:4]] == [0, 7, 21, 49]
    assert {progress.pairs_all for progress in told} == {N_PAIRS}
    assert [told[0].state, told[-1].state] == [State.RUNNING, State.FINISHED]
    # The first block takes the longest and says nothing of the others.
    assert [progress.seconds_left is None for progress in told[:3]] == [True, True, False]


def test_what_was_judged_before_an_interruption_is_kept(contest: StoredContest, everything: Mask) -> None:
    with pytest.raises(KeyboardInterrupt):
        Filling(contest, Interrupted(), CONCISE).judge_now(everything)
    assert 100 < n_stored(contest) < N_PAIRS
    before = n_stored(contest)
    judge = SlowCRM()
    again = Filling(contest, judge, CONCISE)
    assert again.matrix.n_judged == before
    again.judge_now(everything)

    assert len(judge.asked) == N_PAIRS - before
    assert n_stored(contest) == N_PAIRS


def test_what_another_process_has_judged_meanwhile_is_not_judged_again(
    contest: StoredContest, everything: Mask
) -> None:
    early = Filling(contest, judge := SlowCRM(), CONCISE)
    Filling(contest, SlowCRM(), CONCISE).judge_now(everything)
    early.judge_now(everything)

    assert judge.asked == []
    assert early.matrix.n_judged == N_PAIRS


def test_a_killed_process_is_continued_by_the_next(
    own_service: Service, contest: StoredContest, everything: Mask
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
    kept = n_stored(contest)
    assert 200 < kept < N_PAIRS
    judge = SlowCRM()
    Filling(contest, judge, CONCISE).judge_now(everything)

    assert len(judge.asked) == N_PAIRS - kept


def test_the_result_does_not_depend_on_the_interruption(contest: StoredContest, everything: Mask) -> None:
    with pytest.raises(KeyboardInterrupt):
        Filling(contest, Interrupted(), CONCISE).judge_now(everything)
    continued = Filling(contest, SlowCRM(), CONCISE)
    continued.judge_now(everything)
    whole = Filling(contest, SlowCRM(), CriteriaSet.of(["longer makes no difference of criteria"]))
    whole.judge_now(everything)

    np.testing.assert_array_equal(continued.matrix.prob, whole.matrix.prob)


def test_scores_of_responses_that_have_changed_are_not_stored(
    own_service: Service, contest: StoredContest, everything: Mask
) -> None:
    class Changing(SlowCRM):
        def judge(self, questions):  # type: ignore[no-untyped-def]
            if not self.asked:
                with contest.database.session() as session:
                    texts.set_responses(session, "dailybench", "brevia", {"01-1": "another answer"})
            return super().judge(questions)

    with pytest.raises(BenchmarkChangedError, match="'dailybench' has changed"):
        Filling(contest, Changing(), CONCISE).judge_now(everything)
    assert n_stored(contest) == 0
    Filling(own_service.contest("dailybench"), SlowCRM(), CONCISE).judge_now(everything)
    assert n_stored(contest) == N_PAIRS


def test_storing_takes_a_small_part_of_the_time(
    contest: StoredContest, everything: Mask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filling_module, "_STORE_SECONDS", 0.0)
    stored: list[int] = []
    put = scores.put_scores
    monkeypatch.setattr(
        filling_module.scores, "put_scores", lambda *args, **kwargs: stored.append(1) or put(*args, **kwargs)
    )
    Filling(contest, SlowCRM(), CONCISE).judge_now(everything)

    assert 1 <= len(stored) < 20  # of more than fifty blocks
