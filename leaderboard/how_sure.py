"""How sure a view's ranking is, and what its top hangs on; computed when somebody asks for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from leaderboard.sensitivity import TOP, WithoutOne, views_without_one_criterion
from leaderboard.service import Scored, Service
from leaderboard.statistics.certainty import Certainty, certainty
from leaderboard.statistics.matrix import Mask
from leaderboard.view import View

MOST_CRITERIA = 20
"""So many are left out in turn; each costs a ranking."""


@dataclass(frozen=True)
class HowSure:
    """What is certain of a ranking.

    Attributes:
        certainty: Who can be told apart from whom.
        without_one: The top without each criterion and each category in turn. A judge that reads texts is not
            asked for criteria that nobody chose, so it has categories alone.
        criteria_tried: Whether criteria were left out in turn.
    """

    certainty: Certainty
    without_one: tuple[WithoutOne, ...]
    criteria_tried: bool


def how_sure(service: Service, view: View) -> HowSure | None:
    """What is certain of the view's ranking; None while nothing is judged.

    Raises:
        LeaderboardError, CRMError, DatabaseError: As ``Service.leaderboard``.
    """
    scored = service.scored(view)
    if not scored.counted.any() or np.isnan(scored.prob[:, scored.counted]).all():
        return None
    instant = scored.request.is_instant
    top = _top(scored, scored.counted)
    changes = [*_without_a_category(scored, top)]
    if instant:
        changes = [*_without_a_criterion(service, view, scored.counted, top), *changes]
    found = scored.request.estimate(scored.prob, scored.counted)
    return HowSure(certainty(found, scored.request.contest.llms), tuple(changes), instant)


def _without_a_criterion(
    service: Service, view: View, counted: Mask, top: tuple[str, ...]
) -> Iterator[WithoutOne]:
    for place, (criterion, rest) in enumerate(views_without_one_criterion(view)):
        if place == MOST_CRITERIA:
            return
        yield WithoutOne(str(criterion), True, top, _top(service.scored(rest), counted))


def _without_a_category(scored: Scored, top: tuple[str, ...]) -> Iterator[WithoutOne]:
    """Nothing where all queries are of one category."""
    contest = scored.request.contest
    present = np.unique(contest.category_index[scored.counted])
    for category in present if len(present) > 1 else ():
        rest = scored.counted & (contest.category_index != category)
        yield WithoutOne(contest.category_names[category], False, top, _top(scored, rest))


def _top(scored: Scored, counted: Mask) -> tuple[str, ...]:
    """The best few LLMs on the counted queries."""
    llms = scored.request.contest.llms
    found = scored.request.estimate(scored.prob, counted)
    best = [row for row in found.best_first(llms)[:TOP] if not np.isnan(found.win_rate[row])]
    return tuple(llms[row] for row in best)
