"""How robust a view's ranking is: which places are significant, and what its top depends on."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from crm.criteria import CriteriaSet, Criterion
from leaderboard.request import MAX_MUSTS
from leaderboard.scored import Scored
from leaderboard.service import Service
from leaderboard.statistics.ranking import Rated
from leaderboard.statistics.significance import PairwiseSignificance, pairwise_significance
from leaderboard.statistics.win_rate import Mask
from leaderboard.view import Against, View

TOP = 3


@dataclass(frozen=True)
class WithoutOne:
    """The top of the ranking without one criterion or one category.

    Attributes:
        is_criterion: Whether that is a criterion; else it is a category.
        before: The LLMs on top with everything, best first.
    """

    left_out: str
    is_criterion: bool
    before: tuple[str, ...]
    after: tuple[str, ...]

    @property
    def changes(self) -> bool:
        """Whether the top is another one, or in another order."""
        return self.before != self.after

    @property
    def entered(self) -> tuple[str, ...]:
        """Who is only there without it."""
        return tuple(llm for llm in self.after if llm not in self.before)

    @property
    def left(self) -> tuple[str, ...]:
        """Who is only there with it."""
        return tuple(llm for llm in self.before if llm not in self.after)


def views_without_one_criterion(view: View) -> Iterator[tuple[Criterion, View]]:
    """Yield the view without each of its criteria in turn; the last one alone leaves ∅."""
    criteria = view.criteria.criteria
    for place, criterion in enumerate(criteria):
        rest = CriteriaSet((*criteria[:place], *criteria[place + 1 :]))
        yield criterion, replace(view, criteria=rest)


MAX_CRITERIA = 20
"""So many are left out in turn; each costs a ranking."""


@dataclass(frozen=True)
class Robustness:
    """What is certain of a ranking.

    Attributes:
        without_one: The top without each criterion and each category in turn. A judge that reads texts is not
            asked for criteria that nobody chose, so it has categories alone.
    """

    significance: PairwiseSignificance
    without_one: tuple[WithoutOne, ...]
    criteria_tried: bool


def assess_robustness(service: Service, view: View) -> Robustness | None:
    """Return what is certain of a ranking, None if nobody is ranked; raises as ``Service.leaderboard``."""
    scored = service.scored(view)
    if not scored.answered.any():
        return None
    found = scored.rated()
    if np.isnan(found.win_rate).all():
        return None
    significance = pairwise_significance(found, scored.request.llms, without_a_chance(scored, found))
    return Robustness(significance, _leave_one_out(service, scored), scored.request.is_instant)


def significance_among(service: Service, view: View, among: Collection[str]) -> PairwiseSignificance | None:
    """Return what is certain of some LLMs of a ranking, as if there were no others; None if none is ranked.

    Raises as ``Service.leaderboard``.
    """
    scored = service.scored(view)
    llms, found = scored.request.llms, scored.rated()
    left_out = np.array([llm not in among for llm in llms]) | np.isnan(found.win_rate)
    return None if left_out.all() else pairwise_significance(found, llms, left_out)


def leave_one_out(service: Service, view: View, among: Collection[str]) -> tuple[WithoutOne, ...]:
    """Return the top of some LLMs without each criterion and each category in turn, as far as that is quick.

    A judge that reads texts is not asked for criteria that nobody chose, and LLMs that are ranked against
    each other are not ranked anew for each category. The only criterion is not left out: that is the default
    ranking. Nothing where nobody is ranked; raises as ``Service.leaderboard``.
    """
    scored = service.scored(view)
    if not scored.answered.any():
        return ()
    request = scored.request
    return _leave_one_out(
        *(service, scored, among),
        criteria=len(request.criteria) > 1,
        categories=request.against is Against.BASELINE,
    )


def _leave_one_out(
    service: Service,
    scored: Scored,
    among: Collection[str] | None = None,
    *,
    criteria: bool = True,
    categories: bool = True,
) -> tuple[WithoutOne, ...]:
    llms = scored.request.llms
    left_out = np.array([among is not None and llm not in among for llm in llms])
    if scored.under_floor is not None:
        left_out |= scored.under_floor
    top = _top(scored, scored.counted, left_out)
    by_category = _without_a_category(scored, top, left_out) if categories else ()
    if not (criteria and scored.request.is_instant):
        return tuple(by_category)
    return (*_without_a_criterion(service, scored, top, left_out), *by_category)


def without_a_chance(scored: Scored, found: Rated) -> Mask:
    """Return which LLMs ``[L]`` cannot lead: unranked, under the floor, or missing more musts than others."""
    out = np.isnan(found.win_rate)
    if scored.under_floor is not None:
        out |= scored.under_floor
    fewest = scored.missed[~out].min(initial=MAX_MUSTS)
    return np.asarray(out | (scored.missed > fewest))


def _without_a_criterion(
    service: Service, scored: Scored, top: tuple[str, ...], left_out: Mask
) -> Iterator[WithoutOne]:
    ranked = replace(scored.request.view, criteria=scored.request.criteria)
    for criterion, rest in islice(views_without_one_criterion(ranked), MAX_CRITERIA):
        after = _top(service.scored(rest), scored.counted, left_out, top)
        yield WithoutOne(str(criterion), True, top, after)


def _without_a_category(scored: Scored, top: tuple[str, ...], left_out: Mask) -> Iterator[WithoutOne]:
    """Nothing where all queries are of one category."""
    benchmark = scored.request.benchmark
    present = np.unique(benchmark.category_index[scored.counted])
    for category in present if len(present) > 1 else ():
        rest = scored.counted & (benchmark.category_index != category)
        if after := _top(scored, rest, left_out, top):  # else nothing connects the LLMs without it
            yield WithoutOne(benchmark.category_names[category], False, top, after)


def _top(scored: Scored, counted: Mask, left_out: Mask, before: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Return the first of the ranking on the counted queries; who is left out and musts stay as they are.

    Who was on top before stays there before those with the same win rate: no change can be read off a tie.
    """
    llms = scored.request.llms
    found = scored.rated(counted)
    out = np.isnan(found.win_rate) | left_out
    place = [before.index(llm) if llm in before else len(before) for llm in llms]
    best = [row for row in found.best_first(llms, scored.missed) if not out[row]]
    best.sort(key=lambda row: (scored.missed[row], -found.win_rate[row], place[row]))
    return tuple(llms[row] for row in best[:TOP])
