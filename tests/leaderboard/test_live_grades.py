"""Grades under each criterion by a judge that reads texts: only if asked for, in rounds, and never twice."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pytest

from api.agent_replies import grades as told_to_agents
from crm.criteria import CriteriaSet, Criterion, Weight
from crm.errors import UnavailableError
from crm.protocol import Question, Verdict
from db.records import ScoreKey, ScoreRow
from db.repositories import scores
from db.repositories.benchmarks import find_benchmark
from leaderboard.alignment import Alignment, alignment, grading
from leaderboard.live_grades import LiveGrades
from leaderboard.scoring_jobs.progress import Progress, State
from leaderboard.service import Service
from leaderboard.view import View
from tests.judges import GatedCRM, SlowCRM, register, wait_until

PUZZLES, POETRY = "Puzzles & Logic", "Poetry"
N_LLMS, N_PUZZLES = 7, 30
SHORT, LONG = Criterion("Short answers"), Criterion("Long answers", Weight.OPTIONAL)
VIEW = View("dailybench", (PUZZLES,), CriteriaSet((LONG, SHORT)), crm="slow")
ROUND = 3
"""Blocks of the first round of four queries under one criterion: of one query, two and one."""


class ChoosyCRM(GatedCRM):
    """Prefers the longer response, or under a criterion that says so the shorter one."""

    def judge(self, questions: Sequence[Question]) -> list[Verdict]:
        return [
            replace(verdict, prob_a=1 - verdict.prob_a) if SHORT in question.criteria else verdict
            for question, verdict in zip(questions, super().judge(questions), strict=True)
        ]


@pytest.fixture
def judge(own_service: Service, monkeypatch: pytest.MonkeyPatch) -> Iterator[ChoosyCRM]:
    choosy = ChoosyCRM()
    register(monkeypatch, choosy)
    yield choosy
    choosy.failure = None
    choosy.let(10_000)
    own_service.close()


def work(service: Service, view: View = VIEW) -> LiveGrades:
    found = grading(service, view)
    assert found is not None
    return found


def graded(service: Service, view: View = VIEW) -> Alignment:
    found = alignment(service, view)
    assert found is not None
    return found


def after(service: Service, judge: GatedCRM, blocks: int, pairs: int) -> Alignment:
    """The grades after so many blocks more, when so many pairs are judged."""
    work(service).go_on("page")
    judge.let(blocks)
    wait_until(lambda: work(service).go_on("page").pairs_done == pairs)
    return graded(service)


def mean_prob(service: Service, criterion: Criterion, view: View = VIEW) -> np.ndarray:
    """Five times the mean probability of each LLM in the ranking by one criterion."""
    alone = replace(view, criteria=CriteriaSet((criterion,)), soft=True)
    ranking = service.leaderboard(alone, subscriber=None).ranking
    rate = dict(zip(ranking.llms, ranking.win_rate, strict=True))
    return np.array([5 * rate[llm] for llm in service.benchmark("dailybench").llms])


def test_who_only_looks_has_nothing_judged(own_service: Service, judge: ChoosyCRM) -> None:
    found, progress = graded(own_service), work(own_service).progress()

    assert np.isnan(found.grades).all()
    assert np.isnan(found.pref_align).all()
    assert (found.n_graded, found.n_queries, found.is_whole) == (0, N_PUZZLES, False)
    assert progress == Progress(State.STOPPED, 0, 2 * N_LLMS * N_PUZZLES)
    assert own_service.jobs() == {State.RUNNING: 0, State.WAITING: 0}
    assert not judge.asked


def test_grades_are_five_times_the_mean_probability_under_each_criterion(
    own_service: Service, judge: ChoosyCRM
) -> None:
    judge.let(10_000)
    progress = work(own_service).go_on("page", patience=60)
    found, n_asked = graded(own_service), len(judge.asked)

    assert progress.state is State.FINISHED
    assert found.is_whole
    assert found.criteria == (LONG, SHORT)
    alone = replace(LONG, weight=Weight.ESSENTIAL)
    np.testing.assert_allclose(found.grades[:, 0], mean_prob(own_service, alone), rtol=1e-6)
    np.testing.assert_allclose(found.grades[:, 1], mean_prob(own_service, SHORT), rtol=1e-6)
    assert not np.allclose(found.grades[:, 0], found.grades[:, 1])
    np.testing.assert_allclose(found.pref_align, found.grades @ [0.3 / 1.3, 1 / 1.3], rtol=1e-6)
    assert n_asked == len(judge.asked) == 2 * N_LLMS * N_PUZZLES
    assert {len(question.criteria) for question in judge.asked} == {1}


def test_what_is_stored_is_there_at_once_and_not_judged_again(
    own_service: Service, judge: ChoosyCRM, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge.let(10_000)
    own_service.judge(replace(VIEW, criteria=CriteriaSet((SHORT,))), compare=False)
    assert work(own_service).progress().pairs_done == N_LLMS * N_PUZZLES
    work(own_service).judge_now()
    assert len(judge.asked) == 2 * N_LLMS * N_PUZZLES

    register(monkeypatch, new := ChoosyCRM())
    later = Service(own_service.database)
    np.testing.assert_array_equal(graded(later).grades, graded(own_service).grades)
    assert work(later).go_on("page").state is State.FINISHED
    heavier = CriteriaSet((replace(LONG, weight=Weight.IMPORTANT), SHORT))
    assert graded(later, replace(VIEW, criteria=heavier)).is_whole  # weights are no matter of the judge
    assert not new.asked
    later.close()


def test_while_the_judge_works_llms_and_criteria_are_compared_on_the_same_queries(
    own_service: Service, judge: ChoosyCRM
) -> None:
    first = after(own_service, judge, ROUND, 4 * N_LLMS)
    assert first.n_graded == 0
    assert np.isfinite(first.grades[:, 0]).all()
    assert np.isnan(first.grades[:, 1]).all()
    assert np.isnan(first.pref_align).all()

    # One query under both: only that one counts, though four are judged under the first.
    one = after(own_service, judge, 1, 5 * N_LLMS)
    assert one.n_graded == 1
    np.testing.assert_allclose(one.grades.sum(axis=1), 5, rtol=1e-6)  # long and short are opposites
    assert not np.allclose(one.grades[:, 0], first.grades[:, 0])

    whole_round = after(own_service, judge, ROUND - 1, 8 * N_LLMS)
    assert whole_round.n_graded == 4
    np.testing.assert_allclose(whole_round.grades[:, 0], first.grades[:, 0], rtol=1e-6)
    np.testing.assert_allclose(whole_round.grades.sum(axis=1), 5, rtol=1e-6)
    np.testing.assert_allclose(whole_round.pref_align, whole_round.grades @ [0.3 / 1.3, 1 / 1.3], rtol=1e-6)
    assert told_to_agents(own_service, VIEW) == {}  # who takes them for the last word


def test_every_round_is_as_large_as_all_before_it(own_service: Service, judge: ChoosyCRM) -> None:
    judge.let(10_000)
    work(own_service).judge_now()
    turns = [SHORT in question.criteria for question in judge.asked]
    ends = [place for place in range(1, len(turns)) if turns[place] != turns[place - 1]]

    assert ends == [N_LLMS * n for n in (4, 8, 12, 16, 24, 32, 46)]
    assert not turns[0]


def test_an_llm_that_is_judged_ahead_of_the_others_is_not_compared(
    own_service: Service, judge: ChoosyCRM
) -> None:
    ahead = {"jester": ScoreRow(np.ones(522, dtype=np.float32), np.ones(522, dtype=np.bool_))}
    with own_service.database.session() as session:
        stored = find_benchmark(session, "dailybench")
        for criterion in (SHORT, replace(LONG, weight=Weight.ESSENTIAL)):
            key = ScoreKey("slow", judge.version, CriteriaSet((criterion,)).key)
            scores.put_scores(session, stored, key, [criterion.to_json()], ahead)

    assert work(own_service).progress().pairs_done == 2 * N_PUZZLES
    assert np.isnan(graded(own_service).grades).all()
    judge.let(10_000)
    work(own_service).judge_now()
    found = graded(own_service)
    assert found.grades[found.llms.index("jester")].tolist() == [5, 5]
    assert len(judge.asked) == 2 * (N_LLMS - 1) * N_PUZZLES


def test_a_judge_that_fails_says_so_and_what_it_graded_stays(own_service: Service, judge: ChoosyCRM) -> None:
    before = after(own_service, judge, 2 * ROUND, 8 * N_LLMS)
    judge.failure = UnavailableError("The server is down: start it.")
    judge.let(1)
    wait_until(lambda: not work(own_service).go_on("page").active)
    progress = work(own_service).go_on("page")

    assert (progress.state, progress.message) == (State.FAILED, "The server is down: start it.")
    assert (progress.pairs_done, graded(own_service).n_graded) == (8 * N_LLMS, 4)
    np.testing.assert_array_equal(graded(own_service).grades, before.grades)
    judge.failure = None
    judge.let(10_000)
    work(own_service).resume("page")
    assert work(own_service).go_on("page", patience=60).state is State.FINISHED
    assert len(judge.asked) == 2 * N_LLMS * N_PUZZLES


def test_a_stop_lasts_until_it_is_taken_up_again(own_service: Service, judge: ChoosyCRM) -> None:
    after(own_service, judge, ROUND, 4 * N_LLMS)
    work(own_service).stop("page")
    judge.let(10_000)  # at most the block that was begun comes of it
    wait_until(lambda: own_service.jobs()[State.RUNNING] == 0)
    stopped = work(own_service).go_on("page")
    assert stopped.state is State.STOPPED
    assert stopped.pairs_done in (4 * N_LLMS, 5 * N_LLMS)
    work(own_service).resume("page")

    assert work(own_service).go_on("page", patience=60).state is State.FINISHED


def test_a_ranking_and_its_grades_take_turns(own_service: Service, judge: ChoosyCRM) -> None:
    own_service.leaderboard(VIEW, subscriber="page")
    grades = work(own_service)
    assert grades.go_on("page:grades").state is State.WAITING
    own_service.leaderboard(VIEW, subscriber="page")
    assert grades.progress("page:grades").place == 1
    judge.let(10_000)

    assert grades.go_on("page:grades", patience=60).state is State.FINISHED
    assert own_service.leaderboard(VIEW, subscriber="page", patience=60).n_judged == N_PUZZLES


def test_each_criterion_is_graded_where_it_stands_and_no_further(
    own_service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    register(monkeypatch, judge := SlowCRM())
    own = replace(LONG, only_for=(POETRY,))
    record = own_service.benchmark("dailybench").record
    n_poetry = sum(query.topic == POETRY for query in record.queries)
    apart = replace(VIEW, topics=(PUZZLES, POETRY), criteria=CriteriaSet((SHORT, own)))
    work(own_service, apart).judge_now()
    found = graded(own_service, apart)

    assert len(judge.asked) == N_LLMS * (N_PUZZLES + n_poetry)
    assert found.is_whole
    poetry = replace(apart, topics=(POETRY,))
    alone = replace(LONG, weight=Weight.ESSENTIAL)
    np.testing.assert_allclose(found.grades[:, 1], mean_prob(own_service, alone, poetry), rtol=1e-6)
    share = n_poetry / (N_PUZZLES + n_poetry)
    np.testing.assert_allclose(found.pref_align, found.grades @ [1 - share, share], rtol=1e-6)
    assert graded(own_service, poetry).criteria == (own,)  # no other counts there
    assert graded(own_service, replace(apart, topics=(PUZZLES,))).criteria == (SHORT,)
