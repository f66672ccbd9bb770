"""Slow judges in the background: shared, stopped, failing, taking turns."""

import logging
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from crm.criteria import CriteriaSet
from crm.errors import UnavailableError
from crm.protocol import CRM
from leaderboard.benchmark import LoadedBenchmark
from leaderboard.errors import BusyError, ClientBusyError, LeaderboardError
from leaderboard.scoring_jobs import scheduler as jobs_module
from leaderboard.scoring_jobs.progress import State
from leaderboard.scoring_jobs.scheduler import (
    ANYBODY,
    JUDGES_VARIABLE,
    ScheduledTask,
    Scheduler,
    subscriber_of,
)
from leaderboard.selection import queries_with
from leaderboard.service import Service
from leaderboard.statistics.win_rate import Mask
from tests.judges import GatedCRM, SlowCRM, wait_until

CONCISE = CriteriaSet.of(["concise and direct"])
N_PAIRS = 522 * 7


@pytest.fixture
def benchmark(own_service: Service) -> LoadedBenchmark:
    return own_service.benchmark("dailybench")


@pytest.fixture
def everything(benchmark: LoadedBenchmark) -> Mask:
    return np.ones(benchmark.n_queries, dtype=np.bool_)


@pytest.fixture
def judge() -> Iterator[GatedCRM]:
    gated = GatedCRM()
    yield gated
    gated.let(10_000)


@pytest.fixture
def jobs(judge: GatedCRM) -> Iterator[Scheduler]:
    started = Scheduler()
    yield started
    judge.let(10_000)
    started.close()


def named(judge: CRM, name: str) -> CRM:
    judge.name = name
    return judge


def state(jobs: Scheduler, job: ScheduledTask, subscriber: str, selected: Mask) -> State:
    return jobs.progress(job, subscriber, selected).state


def test_sessions_that_want_the_same_share_one_job(
    jobs: Scheduler, judge: GatedCRM, benchmark: LoadedBenchmark, everything: Mask
) -> None:
    first, second = (
        jobs.job(benchmark, judge, criteria) for criteria in (CONCISE, CriteriaSet(tuple(CONCISE)))
    )
    assert first is second
    for subscriber in ("one", "two", "two"):
        jobs.subscribe(first, subscriber, everything)
    judge.let(10_000)
    for subscriber in ("one", "two"):
        jobs.wait(first, subscriber, everything, 60)
        assert state(jobs, first, subscriber, everything) is State.FINISHED

    assert len(judge.asked) == N_PAIRS
    assert jobs.job(benchmark, judge, CriteriaSet.of(["warm"])) is not first


def test_results_can_be_read_while_the_judge_works(
    jobs: Scheduler, judge: GatedCRM, benchmark: LoadedBenchmark, everything: Mask
) -> None:
    job = jobs.job(benchmark, judge, CONCISE)
    jobs.subscribe(job, "page", everything)
    assert state(jobs, job, "page", everything) is State.RUNNING
    judge.let(3)
    wait_until(lambda: job.task.matrix.n_judged == 7 * (1 + 2 + 4))
    progress = jobs.progress(job, "page", everything)

    assert (progress.pairs_done, progress.pairs_all) == (49, N_PAIRS)
    assert progress.seconds_left is not None
    assert job.task.matrix.comparable(everything).sum() == 7


def test_a_stop_holds_between_two_blocks_and_can_be_taken_back(
    jobs: Scheduler, judge: GatedCRM, benchmark: LoadedBenchmark, everything: Mask
) -> None:
    job = jobs.job(benchmark, judge, CONCISE)
    jobs.subscribe(job, "page", everything)
    judge.let(2)
    wait_until(lambda: job.task.matrix.n_judged == 21)
    jobs.stop(job, "page")
    assert state(jobs, job, "page", everything) is State.STOPPED
    judge.let(5)
    wait_until(lambda: job not in jobs._running)
    done = job.task.matrix.n_judged
    assert done == 49  # the block that was being judged is not lost

    jobs.subscribe(job, "page", everything)  # the page is drawn again
    assert state(jobs, job, "page", everything) is State.STOPPED
    judge.let(10_000)
    jobs.resume(job, "page")
    jobs.wait(job, "page", everything, 60)
    assert state(jobs, job, "page", everything) is State.FINISHED
    assert len(judge.asked) == N_PAIRS


def test_one_who_stops_takes_nothing_from_the_others(
    jobs: Scheduler, judge: GatedCRM, benchmark: LoadedBenchmark, everything: Mask
) -> None:
    job = jobs.job(benchmark, judge, CONCISE)
    for subscriber in ("one", "two"):
        jobs.subscribe(job, subscriber, everything)
    jobs.stop(job, "one")
    judge.let(10_000)
    jobs.wait(job, "two", everything, 60)

    assert state(jobs, job, "two", everything) is State.FINISHED


def test_a_page_that_turns_to_other_criteria_leaves_its_old_job(
    jobs: Scheduler, judge: GatedCRM, benchmark: LoadedBenchmark, everything: Mask
) -> None:
    old, new = (
        jobs.job(benchmark, judge, CriteriaSet.of([text])) for text in ("concise", "concise and warm")
    )
    jobs.subscribe(old, "page", everything)
    judge.let(1)
    wait_until(lambda: old.task.matrix.n_judged == 7)
    jobs.subscribe(new, "page", everything)
    judge.let(2)
    wait_until(lambda: new.task.matrix.n_judged == 7)

    assert old.task.matrix.n_judged == 21
    assert state(jobs, old, "page", everything) is State.STOPPED
    jobs.subscribe(old, "page", everything)  # and back: it goes on by itself
    judge.let(10_000)
    jobs.wait(old, "page", everything, 60)
    assert state(jobs, old, "page", everything) is State.FINISHED


def test_whoever_waits_knows_their_place_and_only_so_many_may_wait(
    judge: GatedCRM, benchmark: LoadedBenchmark, everything: Mask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("USL_JUDGING_WAITING", "2")
    jobs = Scheduler()
    wanted = [jobs.job(benchmark, judge, CriteriaSet.of([text])) for text in ("a", "b", "c", "d")]
    for number, job in enumerate(wanted[:3]):
        jobs.subscribe(job, f"page {number}", everything)

    places = [jobs.progress(job, f"page {number}", everything).place for number, job in enumerate(wanted[:3])]
    assert places == [None, 1, 2]
    with pytest.raises(BusyError, match="2 rankings wait for slow judges already"):
        jobs.subscribe(wanted[3], "page 3", everything)
    jobs.subscribe(wanted[2], "page 3", everything)  # what waits already may be shared
    jobs.stop(wanted[1], "page 1")
    jobs.subscribe(wanted[3], "page 4", everything)  # what nobody wants any more takes no place
    judge.let(10_000)
    jobs.close()


def test_one_client_takes_no_more_than_its_share(
    judge: GatedCRM, benchmark: LoadedBenchmark, everything: Mask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("USL_JUDGING_OF_CLIENT", "2")
    jobs = Scheduler()
    wanted = [jobs.job(benchmark, judge, CriteriaSet.of([text])) for text in "abcd"]

    def ask(client: str, place: int) -> None:
        jobs.subscribe(wanted[place], subscriber_of(client, str(place)), everything)

    ask("one", 0)
    ask("one", 1)
    ask("one", 0)  # again: it is at work already
    with pytest.raises(ClientBusyError, match="2 rankings that you asked for are at work or wait"):
        ask("one", 2)
    ask("one and a half", 2)
    jobs.subscribe(wanted[3], "page", everything)

    jobs.stop(wanted[1], subscriber_of("one", "1"))
    ask("one", 2)  # what it no longer wants does not count
    with pytest.raises(ClientBusyError):
        jobs.resume(wanted[1], subscriber_of("one", "1"))
    judge.let(10_000)
    jobs.wait(wanted[2], subscriber_of("one", "2"), everything, 60)
    jobs.wait(wanted[0], subscriber_of("one", "0"), everything, 60)
    ask("one", 3)  # nor does what has finished
    jobs.close()


def test_what_a_client_no_longer_asks_for_stops_counting(
    judge: GatedCRM, benchmark: LoadedBenchmark, everything: Mask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("USL_JUDGING_OF_CLIENT", "1")
    jobs = Scheduler()
    old, new = (jobs.job(benchmark, judge, CriteriaSet.of([text])) for text in "ab")
    jobs.subscribe(old, subscriber_of("one", "old"), everything)
    with pytest.raises(ClientBusyError):
        jobs.subscribe(new, subscriber_of("one", "new"), everything)
    monkeypatch.setattr(jobs_module, "_LEASE", -1.0)
    jobs.subscribe(new, subscriber_of("one", "new"), everything)
    judge.let(10_000)
    jobs.close()


def test_a_judge_stops_after_a_while_until_it_is_said_that_it_is_still_wanted(
    jobs: Scheduler,
    judge: GatedCRM,
    benchmark: LoadedBenchmark,
    everything: Mask,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [1_000.0]
    monkeypatch.setattr(jobs_module, "monotonic", lambda: now[0])
    job = jobs.job(benchmark, judge, CONCISE)
    jobs.subscribe(job, "page", everything)
    judge.let(1)
    wait_until(lambda: job.task.matrix.n_judged == 7)
    now[0] += 60 * 120 + 1
    jobs.subscribe(job, "page", everything)  # a page that is left open asks on and on
    judge.let(2)
    wait_until(lambda: job not in jobs._running)

    progress = jobs.progress(job, "page", everything)
    assert progress.state is State.STOPPED
    assert progress.message == "Paused after 120 minutes: is it still wanted?"
    judge.let(10_000)
    jobs.resume(job, "page")
    wait_until(lambda: job.task.matrix.n_judged == N_PAIRS)


def test_a_page_that_is_closed_is_not_judged_for(
    jobs: Scheduler,
    judge: GatedCRM,
    benchmark: LoadedBenchmark,
    everything: Mask,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    job = jobs.job(benchmark, judge, CONCISE)
    jobs.subscribe(job, "page", everything)
    judge.let(1)
    wait_until(lambda: job.task.matrix.n_judged == 7)
    monkeypatch.setattr(jobs_module, "_LEASE", 0.0)
    judge.let(10_000)
    wait_until(lambda: job not in jobs._running)

    assert job.task.matrix.n_judged == 21
    jobs.subscribe(job, ANYBODY, everything)  # whoever does not look at it never leaves
    jobs.wait(job, ANYBODY, everything, 60)
    assert state(jobs, job, ANYBODY, everything) is State.FINISHED


def test_selected_topics_come_first_and_nothing_else_is_judged(
    jobs: Scheduler, judge: GatedCRM, benchmark: LoadedBenchmark, everything: Mask
) -> None:
    puzzles, arts = (queries_with(benchmark.record, [name]) for name in ("Puzzles & Logic", "Arts & Culture"))
    job = jobs.job(benchmark, judge, CONCISE)
    jobs.subscribe(job, "one", puzzles)
    jobs.subscribe(job, "two", arts)
    ahead = jobs.progress(job, "two", arts)
    judge.let(10_000)
    jobs.wait(job, "one", puzzles, 60)
    jobs.wait(job, "two", arts, 60)

    judged = job.task.matrix.judged.all(axis=0)
    assert judged.tolist() == (puzzles | arts).tolist()
    assert ahead.pairs_all == 7 * arts.sum()
    asked = [question.pair for question in judge.asked]
    pairs = benchmark.pairs("verity")
    first = {pair for pair, chosen in zip(pairs, puzzles, strict=True) if chosen}
    assert {pair for pair in asked[: 7 * int(puzzles.sum())] if pair in set(pairs)} == first


def test_a_page_that_narrows_its_topics_gets_these_next(
    jobs: Scheduler, judge: GatedCRM, benchmark: LoadedBenchmark, everything: Mask
) -> None:
    puzzles = queries_with(benchmark.record, ["Puzzles & Logic"])
    job = jobs.job(benchmark, judge, CONCISE)
    jobs.subscribe(job, "page", everything)
    judge.let(1)
    wait_until(lambda: job.task.matrix.n_judged == 7)
    jobs.subscribe(job, "page", puzzles)
    judge.let(10_000)
    jobs.wait(job, "page", puzzles, 60)

    assert state(jobs, job, "page", puzzles) is State.FINISHED
    wait_until(lambda: job not in jobs._running)
    assert job.task.matrix.judged.all(axis=0).sum() <= puzzles.sum() + 3


def test_an_error_is_kept_with_what_was_judged_before(
    jobs: Scheduler, judge: GatedCRM, benchmark: LoadedBenchmark, everything: Mask
) -> None:
    job = jobs.job(benchmark, judge, CONCISE)
    jobs.subscribe(job, "page", everything)
    judge.let(2)
    wait_until(lambda: job.task.matrix.n_judged == 21)
    judge.failure = UnavailableError("The server at http://127.0.0.1:9 is down: start it.")
    judge.let(1)
    jobs.wait(job, "page", everything, 60)
    progress = jobs.progress(job, "page", everything)
    assert (progress.state, progress.pairs_done) == (State.FAILED, 21)
    assert progress.message == "The server at http://127.0.0.1:9 is down: start it."

    judge.failure = None
    judge.let(10_000)
    jobs.subscribe(job, "page", everything)  # the page is drawn again: no hammering on a server that is down
    assert state(jobs, job, "page", everything) is State.FAILED
    jobs.resume(job, "page")
    jobs.wait(job, "page", everything, 60)
    assert state(jobs, job, "page", everything) is State.FINISHED
    assert len(judge.asked) == N_PAIRS


def test_a_newcomer_tries_again_by_coming(
    jobs: Scheduler, judge: GatedCRM, benchmark: LoadedBenchmark, everything: Mask
) -> None:
    job = jobs.job(benchmark, judge, CONCISE)
    judge.failure = UnavailableError("The server is down.")
    judge.let(1)
    jobs.subscribe(job, "page", everything)
    jobs.wait(job, "page", everything, 60)
    assert state(jobs, job, "page", everything) is State.FAILED
    judge.failure = None
    judge.let(10_000)
    jobs.subscribe(job, "newcomer", everything)
    jobs.wait(job, "newcomer", everything, 60)

    assert state(jobs, job, "page", everything) is State.FINISHED


def test_an_unexpected_error_is_one_sentence_and_a_traceback_in_the_log(
    jobs: Scheduler,
    judge: GatedCRM,
    benchmark: LoadedBenchmark,
    everything: Mask,
    caplog: pytest.LogCaptureFixture,
) -> None:
    job = jobs.job(benchmark, judge, CONCISE)
    judge.failure = ZeroDivisionError("secret")
    judge.let(1)
    with caplog.at_level(logging.ERROR):
        jobs.subscribe(job, "page", everything)
        jobs.wait(job, "page", everything, 60)
    message = jobs.progress(job, "page", everything).message

    assert message == (
        "Judging with “slow” failed unexpectedly (ZeroDivisionError): "
        "try again, or see the log of the server."
    )
    assert "Traceback" in caplog.text
    assert "secret" in caplog.text


def test_a_judge_that_answers_nonsense_is_named(
    jobs: Scheduler, benchmark: LoadedBenchmark, everything: Mask
) -> None:
    class Nonsense(SlowCRM):
        def judge(self, questions):  # type: ignore[no-untyped-def]
            return [replace(verdict, prob_a=7.0) for verdict in super().judge(questions)]

    job = jobs.job(benchmark, Nonsense(), CONCISE)
    jobs.subscribe(job, "page", everything)
    jobs.wait(job, "page", everything, 60)
    progress = jobs.progress(job, "page", everything)

    assert progress.state is State.FAILED
    assert progress.message == (
        "“slow” cannot be used. The judge gave the probability 7, which is not between 0 and 1."
    )


def test_a_judge_that_leaves_pairs_out_does_not_work_for_ever(
    jobs: Scheduler, benchmark: LoadedBenchmark, everything: Mask
) -> None:
    class Lazy(SlowCRM):
        def score(self, criteria, benchmark):  # type: ignore[no-untyped-def]
            yield next(super().score(criteria, benchmark))

    job = jobs.job(benchmark, Lazy(), CONCISE)
    jobs.subscribe(job, "page", everything)
    jobs.wait(job, "page", everything, 60)

    assert "leaves some of the pairs out" in str(jobs.progress(job, "page", everything).message)


def test_jobs_of_one_judge_take_turns(
    judge: GatedCRM, benchmark: LoadedBenchmark, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs_module, "_TURN", 0.02)
    puzzles = queries_with(benchmark.record, ["Puzzles & Logic"])
    jobs = Scheduler(5)
    one, two = (jobs.job(benchmark, judge, CriteriaSet.of([text])) for text in ("one", "two"))
    jobs.subscribe(one, "page", puzzles)
    jobs.subscribe(two, "other page", puzzles)
    assert state(jobs, one, "page", puzzles) is State.RUNNING
    assert state(jobs, two, "other page", puzzles) is State.WAITING
    judge.let(4)
    wait_until(lambda: one.task.matrix.n_judged and two.task.matrix.n_judged)
    judge.let(10_000)
    for job, subscriber in ((one, "page"), (two, "other page")):
        jobs.wait(job, subscriber, puzzles, 60)
        assert state(jobs, job, subscriber, puzzles) is State.FINISHED
    assert len(judge.asked) == 2 * 7 * puzzles.sum()
    jobs.close()


def test_a_page_that_is_looked_at_comes_before_one_that_is_not(
    jobs: Scheduler, judge: GatedCRM, benchmark: LoadedBenchmark, everything: Mask
) -> None:
    left, new = (jobs.job(benchmark, judge, CriteriaSet.of([text])) for text in ("left", "new"))
    jobs.subscribe(left, "a closed page", everything)
    judge.let(1)
    wait_until(lambda: left.task.matrix.n_judged == 7)
    left.subscriptions["a closed page"].seen -= 30
    jobs.subscribe(new, "page", everything)
    judge.let(10_000)
    jobs.wait(new, "page", everything, 60)

    assert state(jobs, new, "page", everything) is State.FINISHED
    criteria = [str(question.criteria) for question in judge.asked]
    assert criteria[: 21 + N_PAIRS] == ["left"] * 21 + ["new"] * N_PAIRS
    jobs.wait(left, "a closed page", everything, 60)
    assert state(jobs, left, "a closed page", everything) is State.FINISHED


def test_no_more_judges_work_at_once_than_is_set(benchmark: LoadedBenchmark, everything: Mask) -> None:
    judges = [GatedCRM() for _ in range(3)]
    jobs = Scheduler(2)
    started = [jobs.job(benchmark, named(judge, f"judge {n}"), CONCISE) for n, judge in enumerate(judges)]
    for job in started:
        jobs.subscribe(job, ANYBODY, everything)
    states = [state(jobs, job, ANYBODY, everything) for job in started]
    assert states == [State.RUNNING, State.RUNNING, State.WAITING]
    judges[2].let(10_000)
    judges[0].let(10_000)
    jobs.wait(started[2], ANYBODY, everything, 60)

    assert state(jobs, started[2], ANYBODY, everything) is State.FINISHED
    assert state(jobs, started[1], ANYBODY, everything) is State.RUNNING
    judges[1].let(10_000)
    jobs.close()


def test_the_number_of_judges_at_once_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    for text in ("0", "two", "-1"):
        monkeypatch.setenv(JUDGES_VARIABLE, text)
        with pytest.raises(LeaderboardError, match=f"{JUDGES_VARIABLE} is '{text}': give a whole number"):
            Scheduler()
    monkeypatch.setenv(JUDGES_VARIABLE, "")
    Scheduler().close()


def test_old_jobs_are_forgotten_but_not_what_they_did(
    benchmark: LoadedBenchmark, everything: Mask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs_module, "_KEPT", 2)
    judge, jobs = SlowCRM(), Scheduler()
    for text in ("one", "two", "three"):
        job = jobs.job(benchmark, judge, CriteriaSet.of([text]))
        jobs.subscribe(job, "page", everything)
        jobs.wait(job, "page", everything, 60)
        wait_until(lambda: not jobs._running)
    assert len(jobs._jobs) == 2
    again = jobs.job(benchmark, judge, CriteriaSet.of(["one"]))

    assert state(jobs, again, "page", everything) is State.FINISHED
    assert len(judge.asked) == 3 * N_PAIRS
