"""A view with everything it names looked up: what a judge is asked, and how the answer becomes a ranking."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from crm.criteria import CriteriaSet
from crm.protocol import CRM, Doubt, Doubts
from leaderboard.contest import StoredContest
from leaderboard.recent import Recent
from leaderboard.result import Judging, Leaderboard
from leaderboard.statistics.correlation import correlate
from leaderboard.statistics.estimate import Estimate, estimate
from leaderboard.statistics.matrix import Mask
from leaderboard.statistics.ranking import Ranking, rank_changes, rank_llms
from leaderboard.view import View
from leaderboard.weighting import Weighting
from leaderboard.wording.interpretation import interpret

_DOUBTS: Recent[tuple[Doubt, ...]] = Recent(256)
"""Asked for several times as a page is drawn."""


@dataclass(frozen=True, eq=False)
class Request:
    """What a view asks for.

    Attributes:
        view: What a person chose.
        contest: The benchmark.
        crm: The judge.
        selected: The queries of the view's topics ``[Q]``.
        terms: What the view controls for ``[L, Q, P]``; None if nothing.
        weighting: How much each query counts.
    """

    view: View
    contest: StoredContest
    crm: CRM
    selected: Mask
    terms: NDArray[np.float64] | None = None
    weighting: Weighting = field(default_factory=Weighting)

    @property
    def is_instant(self) -> bool:
        """Whether the judge fills a score matrix quicker than it could be read from the database."""
        return self.crm.representation is not None

    @property
    def contest_key(self) -> Hashable:
        """What changes with the benchmark, its contents or the judge."""
        return self.contest.identity, self.crm.name, self.crm.version

    @property
    def scoring(self) -> Hashable:
        """How a score matrix becomes win rates; rankings of one matrix differ by this alone."""
        return self.view.soft, self.view.control, self.view.topic_weights, self.view.interests

    def rank(self, prob: NDArray[np.float32], counted: Mask) -> Ranking:
        """The ranking on the counted queries ``[Q]`` of a score matrix ``[L, Q]``.

        Raises:
            NoQueriesError: No query is counted.
        """
        return rank_llms(
            self.contest.llms,
            prob,
            self.contest.topic_index,
            self.contest.category_index,
            self.contest.category_names,
            selected=counted,
            weights=self.weighting.weights,
            soft=self.view.soft,
            terms=self.terms,
        )

    def estimate(self, prob: NDArray[np.float32], counted: Mask) -> Estimate:
        """The win rates behind ``rank``, with what their intervals are made from.

        Raises:
            NoQueriesError: No query is counted.
        """
        strata = self.contest.topic_index
        return estimate(
            prob,
            strata,
            used=counted,
            weights=self.weighting.weights,
            soft=self.view.soft,
            terms=self.terms,
        )

    def leaderboard(
        self,
        ranking: Ranking,
        default: Ranking | None,
        *,
        n_judged: int | None = None,
        judging: Judging | None = None,
    ) -> Leaderboard:
        """What is shown of a ranking and of the one under ∅.

        Args:
            ranking: Under the view's criteria.
            default: Under ∅, as far as it is known.
            n_judged: On how many queries they rest; by default on all that are selected.
            judging: How far a slow judge is.
        """
        n_queries = int(self.selected.sum())
        rests_on = n_queries if n_judged is None else n_judged
        correlations = None if default is None else correlate(ranking.ranks, default.ranks)
        unknown = np.full(len(ranking.llms), np.nan)
        return Leaderboard(
            view=self.view,
            benchmark=self.contest.record,
            crm_version=self.crm.version,
            ranking=ranking,
            default=default,
            changes=unknown if default is None else rank_changes(ranking, default),
            correlations=correlations,
            summary="" if correlations is None else interpret(correlations, queries=rests_on),
            n_queries=n_queries,
            n_judged=rests_on,
            judging=judging,
            doubts=doubts_of(self.crm, self.view.criteria),
            distant=self.weighting.distant,
        )


def doubts_of(crm: CRM, criteria: CriteriaSet) -> tuple[Doubt, ...]:
    """What the judge says against trusting a ranking under the criteria; nothing if it cannot tell."""
    if not criteria or not isinstance(crm, Doubts):
        return ()
    judge = crm
    return _DOUBTS.get((crm.name, crm.version, criteria.criteria), lambda: judge.doubts(criteria))
