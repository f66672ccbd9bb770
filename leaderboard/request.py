"""A view with everything it names looked up: what a judge is asked, and how the answer becomes a ranking."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from crm.criteria import CriteriaSet, Criterion, Weight
from crm.embedded.encoder import sentence_encoder
from crm.protocol import CRM, ChecksCriteria, CriterionWarning, win_rate_error
from leaderboard.amounts import mean_amounts
from leaderboard.benchmark import LoadedBenchmark
from leaderboard.cache import SharedCache
from leaderboard.result import Judging, Leaderboard
from leaderboard.selection import topic_weights_with
from leaderboard.sentences import interpret
from leaderboard.statistics.correlation import correlate
from leaderboard.statistics.ranking import Estimate, Ranking, estimate, rank_changes, rank_llms
from leaderboard.statistics.requirements import under_floor
from leaderboard.statistics.win_rate import CLOSE, Mask, interest_weights
from leaderboard.view import View


@dataclass(frozen=True, eq=False)
class Weighting:
    """How much each query counts.

    Attributes:
        weights: Of the queries ``[Q]``, not negative; None where all count alike.
        distant: The interests that no selected query fits.
    """

    weights: NDArray[np.float64] | None = None
    distant: tuple[str, ...] = ()


def weighting(benchmark: LoadedBenchmark, view: View, selected: Mask) -> Weighting:
    """Return the weights of a view, of which only the selected queries ``[Q]`` count.

    Raises:
        LeaderboardError: The benchmark lacks a topic that has a weight; there are interests, and the
            queries have no stored embeddings.
    """
    if not view.topic_weights and not view.interests:
        return Weighting()
    weights = topic_weights_with(benchmark.record, view.topic_weights)
    if not view.interests:
        return Weighting(weights)
    closeness = sentence_encoder().embed(view.interests) @ benchmark.query_embedding.T  # [K, Q]
    nearest = np.max(closeness, axis=1, where=selected, initial=-1.0)
    distant = tuple(text for text, near in zip(view.interests, nearest, strict=True) if near < CLOSE)
    return Weighting(weights * interest_weights(closeness), distant)


@dataclass(frozen=True)
class CheckedCriteria:
    """The criteria of a view, as far as its judge can judge them.

    Attributes:
        ranked: What the ranking is made by.
        left_out: Why others are not among them.
        warnings: What the judge says against trusting a ranking under those that are.
    """

    ranked: CriteriaSet
    left_out: tuple[CriterionWarning, ...] = ()
    warnings: tuple[CriterionWarning, ...] = ()


def check_criteria(crm: CRM, view: View) -> CheckedCriteria:
    """Leave out what the judge cannot judge, unless the view keeps it."""
    warnings = criterion_warnings(crm, view.criteria)
    left_out = tuple(item for item in warnings if item.criterion is not None and not view.keep_unjudged)
    if not left_out:
        return CheckedCriteria(view.criteria, (), warnings)
    unjudged = {item.criterion for item in left_out}
    ranked = CriteriaSet(tuple(item for item in view.criteria if item not in unjudged))
    return CheckedCriteria(ranked, left_out, criterion_warnings(crm, ranked))


MAX_MUSTS = 20
"""So many criteria can be a must; each costs a score matrix."""


def essential(criteria: CriteriaSet) -> tuple[Criterion, ...]:
    """Return the criteria that can be made a must."""
    return tuple(criterion for criterion in criteria if criterion.weight is Weight.ESSENTIAL)


_WARNINGS: SharedCache[tuple[CriterionWarning, ...]] = SharedCache(256)
"""Asked for several times as a page is drawn."""


@dataclass(frozen=True, eq=False)
class Request:
    """What a view asks for.

    Attributes:
        selected: The queries of the view's topics ``[Q]``.
        checked: The view's criteria, without what the judge cannot judge.
        terms: What the view controls for ``[L, Q, P]``; None if nothing.
    """

    view: View
    benchmark: LoadedBenchmark
    crm: CRM
    selected: Mask
    checked: CheckedCriteria
    terms: NDArray[np.float64] | None = None
    weighting: Weighting = field(default_factory=Weighting)

    @property
    def is_instant(self) -> bool:
        """Whether the judge fills a score matrix quicker than it could be read from the database."""
        return self.crm.representation is not None

    @property
    def criteria(self) -> CriteriaSet:
        """What the ranking is made by."""
        return self.checked.ranked

    @property
    def benchmark_key(self) -> Hashable:
        """What changes with the benchmark, its contents or the judge."""
        return self.benchmark.identity, self.crm.name, self.crm.version

    @property
    def scoring(self) -> Hashable:
        """How a score matrix becomes win rates; rankings of one matrix differ by this alone."""
        return self.view.soft, self.view.control, self.view.topic_weights, self.view.interests

    @property
    def musts(self) -> tuple[Criterion, ...]:
        """The K criteria that are a must: Essential ones, if asked for, of a judge that needs no time."""
        return essential(self.criteria)[:MAX_MUSTS] if self.view.must_have and self.is_instant else ()

    def under_floor(self, default: Ranking | None) -> Mask | None:
        """Return which LLMs ``[L]`` are under the view's floor; None without one or while ∅ is not judged."""
        if self.view.floor is None or not self.criteria or default is None:
            return None
        return under_floor(default, self.benchmark.llms, self.view.floor)

    def rank(
        self,
        prob: NDArray[np.float32],
        counted: Mask,
        under_floor: Mask | None = None,
        missed: NDArray[np.int64] | None = None,
        criteria: CriteriaSet | None = None,
    ) -> Ranking:
        """Rank on the counted queries ``[Q]`` of a score matrix ``[L, Q]``; a LeaderboardError if none is.

        Args:
            criteria: What the matrix was judged by; by default what the view's ranking is made by.
            under_floor: The LLMs ``[L]`` that are left out.
            missed: How many musts each LLM misses ``[L]``.
        """
        return rank_llms(
            self.benchmark.llms,
            prob,
            self.benchmark.topic_index,
            self.benchmark.category_index,
            self.benchmark.category_names,
            selected=counted,
            weights=self.weighting.weights,
            soft=self.view.soft,
            terms=self.terms,
            under_floor=under_floor,
            missed=missed,
            judge_error=win_rate_error(self.crm, self.criteria if criteria is None else criteria),
        )

    def estimate(self, prob: NDArray[np.float32], counted: Mask) -> Estimate:
        """Return the win rates behind ``rank``, with what intervals are made from; raises as ``rank``."""
        return estimate(
            prob,
            self.benchmark.topic_index,
            used=counted,
            weights=self.weighting.weights,
            soft=self.view.soft,
            terms=self.terms,
            judge_error=win_rate_error(self.crm, self.criteria),
        )

    def leaderboard(
        self,
        ranking: Ranking,
        default: Ranking | None,
        *,
        n_judged: int | None = None,
        judging: Judging | None = None,
        misses: Mask | None = None,
    ) -> Leaderboard:
        """Return what is shown of a ranking and of that under ∅, resting on ``n_judged`` or all queries.

        Args:
            misses: Which LLM misses which must ``[L, K]``.
        """
        missed = () if misses is None else zip(self.benchmark.llms, misses, strict=True)
        n_queries = int(self.selected.sum())
        rests_on = n_queries if n_judged is None else n_judged
        correlations = None if default is None else correlate(ranking.ranks, default.ranks)
        unknown = np.full(len(ranking.llms), np.nan)
        weights = self.weighting.weights
        counts = self.selected.astype(np.float64) * (1.0 if weights is None else weights)
        return Leaderboard(
            view=self.view,
            criteria=self.criteria,
            benchmark=self.benchmark.record,
            crm_version=self.crm.version,
            ranking=ranking,
            default=default,
            changes=unknown if default is None else rank_changes(ranking, default),
            correlations=correlations,
            summary="" if correlations is None else interpret(correlations, queries=rests_on),
            n_queries=n_queries,
            n_judged=rests_on,
            judging=judging,
            warnings=self.checked.warnings,
            left_out=self.checked.left_out,
            distant=self.weighting.distant,
            amounts=mean_amounts(self.crm, self.criteria, self.benchmark, counts),
            musts=self.musts,
            misses={llm: tuple(compress(self.musts, row)) for llm, row in missed if row.any()},
        )


def criterion_warnings(crm: CRM, criteria: CriteriaSet) -> tuple[CriterionWarning, ...]:
    """Return what the judge says against trusting a ranking under the criteria; nothing if it cannot tell."""
    if not criteria or not isinstance(crm, ChecksCriteria):
        return ()
    judge = crm
    return _WARNINGS.get((crm.name, crm.version, criteria.criteria), lambda: judge.warnings(criteria))
