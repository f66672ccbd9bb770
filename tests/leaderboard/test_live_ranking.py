"""Leaderboards of slow judges: what there is so far, first the criteria, then the comparison."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from crm.criteria import CriteriaSet
from crm.errors import CriterionError, CRMError
from leaderboard.result import Leaderboard
from leaderboard.scoring_jobs.progress import State
from leaderboard.service import Service
from leaderboard.statistics.bootstrap import UNRANKED
from leaderboard.view import View
from tests.judges import GatedCRM, SlowCRM, WarningCRM, register, wait_until

CONCISE = CriteriaSet.of(["concise and direct"])
VIEW = View("dailybench", criteria=CONCISE, crm="slow")
N_PAIRS = 522 * 7


@pytest.fixture
def judge(own_service: Service, monkeypatch: pytest.MonkeyPatch) -> Iterator[GatedCRM]:
    gated = GatedCRM()
    register(monkeypatch, gated)
    yield gated
    gated.let(10_000)
    own_service.close()


def after(service: Service, judge: GatedCRM, blocks: int, pairs: int, view: View = VIEW) -> Leaderboard:
    """The leaderboard after so many blocks more, when so many pairs are judged."""
    judge.let(blocks)
    wait_until(lambda: _judged(service, view) == pairs)
    return service.leaderboard(view)


def _judged(service: Service, view: View) -> int:
    judging = service.leaderboard(view).judging
    assert judging is not None
    return judging.own.pairs_done


def test_before_the_first_block_all_are_unranked(own_service: Service, judge: GatedCRM) -> None:
    shown = own_service.leaderboard(VIEW)

    assert (shown.n_judged, shown.n_queries) == (0, 522)
    assert set(shown.ranking.rank) == {UNRANKED}
    assert len(shown.ranking.llms) == 7
    assert (shown.default, shown.correlations, shown.summary) == (None, None, "")
    assert shown.judging is not None
    assert shown.judging.current.active
    assert str(shown.judging.current) == "0 of 3,654 pairs"


def test_intervals_tighten_as_more_is_judged(own_service: Service, judge: GatedCRM) -> None:
    own_service.leaderboard(VIEW)
    first = after(own_service, judge, 1, 7)
    later = after(own_service, judge, 10, 7 * (1 + 2 + 4 + 8) + 70 * 7)
    judge.let(10_000)
    own_service.judge(VIEW)
    last = own_service.leaderboard(VIEW)

    widths = [(shown.ranking.ci_high - shown.ranking.ci_low).mean() for shown in (first, later, last)]
    assert widths[0] == 1
    assert widths[0] > widths[1] > widths[2] > 0
    assert first.n_judged == 1
    assert set(first.ranking.n_queries) == {1}
    assert last.n_judged == 522


def test_a_finished_ranking_is_that_of_a_judge_who_never_paused(
    own_service: Service, judge: GatedCRM
) -> None:
    own_service.leaderboard(VIEW)
    judge.let(10_000)
    own_service.judge(VIEW)
    shown = own_service.leaderboard(VIEW)
    view = View("dailybench", criteria=CONCISE, crm="longer")
    own_service.judge(view)
    longer = own_service.leaderboard(view)

    assert shown.ranking.llms == longer.ranking.llms
    np.testing.assert_array_equal(shown.ranking.ci_low, longer.ranking.ci_low)
    assert shown.summary == longer.summary != ""


def test_the_criteria_are_judged_first_and_the_comparison_is_shown_when_it_is_complete(
    own_service: Service, judge: GatedCRM
) -> None:
    own_service.leaderboard(VIEW)
    n_blocks = 4 + -(-(N_PAIRS - 105) // 70)
    own = after(own_service, judge, n_blocks, N_PAIRS)
    assert own.judging is not None
    assert own.judging.own.state is State.FINISHED
    assert own.judging.of_comparison
    assert own.default is None
    assert np.isnan(own.changes).all()
    assert {len(question.criteria) for question in judge.asked} == {1}

    own_service.leaderboard(VIEW)  # asking again starts what is next
    judge.let(3)
    wait_until(lambda: len(judge.asked) > N_PAIRS + 40)
    assert own_service.leaderboard(VIEW).default is None
    judge.let(10_000)
    wait_until(lambda: own_service.leaderboard(VIEW).default is not None)
    compared = own_service.leaderboard(VIEW)
    assert compared.judging is not None
    assert compared.judging.current.state is State.FINISHED
    assert compared.changes.tolist() == [0] * 7  # this judge does not mind criteria
    assert compared.summary == "Your ranking is the same as the average ranking."


def test_other_criteria_are_compared_while_they_are_judged(own_service: Service, judge: GatedCRM) -> None:
    crowd = View("dailybench", crm="slow")
    own_service.leaderboard(crowd)
    judge.let(4 + -(-(N_PAIRS - 105) // 70))
    own_service.leaderboard(crowd, patience=60)
    own_service.leaderboard(VIEW)
    shown = after(own_service, judge, 3, 49)

    assert shown.n_judged == 7
    assert shown.default is not None
    assert shown.default.n_queries.tolist() == [7] * 7  # the same queries
    assert shown.changes.tolist() == [0] * 7
    assert shown.summary.startswith("Judging by only 7 questions, your ranking is the same")


def test_a_comparison_that_fails_costs_nothing_else(
    own_service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = []

    class Choosy(SlowCRM):
        def judge(self, questions):  # type: ignore[no-untyped-def]
            if not questions[0].criteria:
                refused.append(questions)
                raise CriterionError("This judge needs criteria.")
            return super().judge(questions)

    register(monkeypatch, Choosy())
    shown = own_service.leaderboard(VIEW, subscriber="page", patience=60)
    for _ in range(3):  # a page that is drawn again does not begin it anew
        shown = own_service.leaderboard(VIEW, subscriber="page", patience=60)

    assert shown.judging is not None
    assert (shown.judging.own.state, shown.judging.current.state) == (State.FINISHED, State.FAILED)
    assert shown.judging.current.message == "This judge needs criteria."
    assert shown.ranking.llms[0] == "scholia"
    assert len(refused) == 1


def test_only_the_selected_topics_are_judged(own_service: Service, judge: GatedCRM) -> None:
    view = View("dailybench", ("Puzzles & Logic",), CONCISE, "slow")
    own_service.leaderboard(view)
    judge.let(10_000)
    shown = own_service.leaderboard(view, patience=60)

    assert shown.n_judged == shown.n_queries < 50
    assert len(judge.asked) == 2 * 7 * shown.n_queries
    assert {question.pair.query for question in judge.asked} <= set(own_service.query_texts("dailybench"))


def test_who_only_looks_starts_nothing(own_service: Service, judge: GatedCRM) -> None:
    shown = own_service.leaderboard(VIEW, subscriber=None)

    assert shown.judging is not None
    assert shown.judging.current.state is State.STOPPED
    assert not own_service._live._scheduler._running


def test_a_stop_and_its_end(own_service: Service, judge: GatedCRM) -> None:
    own_service.leaderboard(VIEW, subscriber="page")
    judge.let(2)
    wait_until(lambda: len(judge.asked) == 21)
    own_service.stop(VIEW, "page")
    shown = own_service.leaderboard(VIEW, subscriber="page")
    assert shown.judging is not None
    assert shown.judging.current.state is State.STOPPED
    judge.let(10_000)
    own_service.resume(VIEW, "page")
    finished = own_service.leaderboard(VIEW, subscriber="page", patience=60)

    assert finished.n_judged == 522
    assert len(judge.asked) == 2 * N_PAIRS


def test_behind_a_rank_is_what_is_judged_so_far(own_service: Service, judge: GatedCRM) -> None:
    own_service.leaderboard(VIEW)
    after(own_service, judge, 3, 49)
    found = own_service.query_scores(VIEW, "scholia")

    assert len(found) == 7
    assert sum(score.n_queries for score in own_service.topic_scores(VIEW, "scholia")) == 7
    assert own_service.pair_report(VIEW, "scholia", found[0].query).prob == found[0].prob


def test_missing_texts_are_said_at_once(own_service: Service, judge: GatedCRM) -> None:
    with pytest.raises(CRMError, match="--benchmark alpaca-eval"):
        own_service.leaderboard(View("alpaca-eval", crm="slow"))


def test_doubts_come_with_the_leaderboard(own_service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch, WarningCRM())
    criteria = CriteriaSet.of(["warm", "written before 1990"])
    shown = own_service.leaderboard(View("dailybench", criteria=criteria, crm="slow"), subscriber=None)

    [left_out] = shown.left_out
    assert left_out.criterion == tuple(criteria)[1]
    assert (shown.criteria, shown.warnings) == (CriteriaSet.of(["warm"]), ())
    assert shown.judging is not None
    kept = own_service.leaderboard(replace(shown.view, keep_unjudged=True), subscriber=None)
    assert (kept.criteria, kept.warnings, kept.left_out) == (criteria, (left_out,), ())
    without = own_service.leaderboard(View("dailybench", crm="slow"), subscriber=None)
    assert (without.warnings, without.left_out) == ((), ())
