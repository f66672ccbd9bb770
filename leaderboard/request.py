"""A view with everything it names looked up: what a judge is asked, and how the answer becomes a ranking."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from crm import registry
from crm.criteria import CriteriaSet, Criterion, Weight
from crm.embedded.encoder import sentence_encoder
from crm.protocol import (
    CRM,
    ChecksCriteria,
    CriterionWarning,
    KnowsWhatIsAbsent,
    MeasuresResponses,
    win_rate_error,
)
from crm.registry import DEFAULT
from leaderboard.amounts import mean_amounts
from leaderboard.benchmark import LoadedBenchmark, embed_command, response_features
from leaderboard.cache import SharedCache
from leaderboard.errors import LeaderboardError
from leaderboard.judged import Judged
from leaderboard.llm_facts.catalogue import Catalogue
from leaderboard.llm_facts.files import known_catalogue
from leaderboard.llm_facts.votes import kind_of, known_of, ratings_of, ratings_on
from leaderboard.result import Judging, Leaderboard
from leaderboard.selection import chosen_parts, lists_of_queries, topic_weights_with
from leaderboard.sentences import (
    interpret,
    not_compared_in_words,
    not_ready_in_words,
    too_few_in_words,
)
from leaderboard.statistics.anchoring import FEWEST, VOTES_ERROR
from leaderboard.statistics.answered import Answered
from leaderboard.statistics.bradley_terry import BradleyTerry, bradley_terry, duels_by_category
from leaderboard.statistics.correlation import correlate
from leaderboard.statistics.duels import Coverage, Margins, coverage
from leaderboard.statistics.foretelling import FORETOLD_ERROR
from leaderboard.statistics.ranking import (
    Estimate,
    JudgeError,
    Ranking,
    estimate,
    rank_changes,
    rank_rated,
    win_rates_by_category,
)
from leaderboard.statistics.requirements import under_floor
from leaderboard.statistics.style_control import Control
from leaderboard.statistics.win_rate import CLOSE, Mask, interest_weights
from leaderboard.view import Against, View

_LEAST_COUNT = 1e-9
"""Of a list that no selected query has."""
_FEWEST_COMPLETE = 2
"""With fewer LLMs that answered all parts of a choice, there is nobody to be compared with."""


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
    warnings = _warnings_by_list(crm, view.criteria)
    left_out = tuple(item for item in warnings if item.criterion is not None and not view.keep_unjudged)
    if not left_out:
        return CheckedCriteria(view.criteria, (), warnings)
    unjudged = {item.criterion for item in left_out}
    ranked = CriteriaSet(tuple(item for item in view.criteria if item not in unjudged))
    return CheckedCriteria(ranked, left_out, _warnings_by_list(crm, ranked))


def _warnings_by_list(crm: CRM, criteria: CriteriaSet) -> tuple[CriterionWarning, ...]:
    """Return what the judge says of each list by itself, of the criteria as they were written."""
    if not criteria.names:
        return criterion_warnings(crm, criteria)
    found = list[CriterionWarning]()
    for listed in (criteria.common, *map(criteria.of_name, criteria.names)):
        written = {criterion.everywhere: criterion for criterion in listed}
        for warning in criterion_warnings(crm, CriteriaSet(tuple(written))):
            asked = warning.criterion
            found.append(warning if asked is None else replace(warning, criterion=written.get(asked, asked)))
    return tuple(dict.fromkeys(found))


MAX_MUSTS = 20
"""So many criteria can be a must; each costs a score matrix."""


def essential(criteria: CriteriaSet) -> tuple[Criterion, ...]:
    """Return the criteria that can be made a must."""
    return tuple(criterion for criterion in criteria if criterion.weight is Weight.ESSENTIAL)


_WARNINGS: SharedCache[tuple[CriterionWarning, ...]] = SharedCache(256)
_ERRORS: SharedCache[float] = SharedCache(256)
"""Asked for several times as a page is drawn."""


def judges_of(view: View, benchmark: LoadedBenchmark) -> tuple[CRM, CRM]:
    """Return the judge of the view's criteria and that of ∅.

    The file of judges cannot want a judge for ∅ that a view's opponents are too many for; a view can, and is
    told so by ``check_opponents``.

    Raises:
        CRMError: There is no such judge, or it cannot be made.
    """
    crm, wanted = registry.get_crm(view.crm), view.default_crm or registry.default_crm_name()
    if wanted is None:
        return crm, crm
    default = registry.get_crm(wanted)
    every_other = (view.against or benchmark.default_against) is Against.ALL
    fits = view.default_crm or not every_other or isinstance(default, MeasuresResponses)
    return crm, default if fits else crm


def check_opponents(view: View, benchmark: LoadedBenchmark, *crms: CRM) -> None:
    """Raise a LeaderboardError unless the judges can rank LLMs against what the view asks for."""
    if (view.against or benchmark.default_against) is Against.BASELINE:
        _ = benchmark.baseline
        return
    for crm in crms:
        measuring(crm)
    if view.control is not Control.NONE:
        raise LeaderboardError(
            "Length and style can be removed only where LLMs are ranked against a baseline: control for "
            "nothing, or rank against one."
        )


def measuring(crm: CRM) -> MeasuresResponses:
    """Return the judge as one that measures responses; a LeaderboardError if it only compares pairs."""
    if not isinstance(crm, MeasuresResponses):
        raise LeaderboardError(
            f"The judge {crm.name!r} compares one pair at a time, which is too slow for ranking every LLM "
            f"against every other: choose the judge {DEFAULT!r}, or rank against a baseline."
        )
    return crm


LEAST_ANSWERED: Mapping[Against, float] = {Against.BASELINE: 1 / 2, Against.ALL: 1 / 20}
"""Share of the queries below which an LLM is listed apart; docs/statistics.md says why so much.

A win rate over a baseline is that of the queries answered, whatever the others would be like; in duels all
are compared on what they share, and intervals say what an LLM's missing categories hide."""


@dataclass(frozen=True, eq=False)
class Request:
    """What a view asks for.

    Attributes:
        crm: The judge of the criteria; where none is left to rank by, that of ∅.
        default_crm: The judge of ∅.
        selected: The queries of the view's topics ``[Q]``.
        checked: The view's criteria, without what the judge cannot judge.
        terms: What the view controls for ``[L, Q, P]``; None if nothing.
    """

    view: View
    benchmark: LoadedBenchmark
    crm: CRM
    default_crm: CRM
    selected: Mask
    checked: CheckedCriteria
    terms: NDArray[np.float64] | None = None
    weighting: Weighting = field(default_factory=Weighting)

    @property
    def is_instant(self) -> bool:
        """Whether the judge fills a score matrix quicker than it could be read from the database."""
        return self.crm.representation is not None

    @cached_property
    def default(self) -> Request:
        """What is asked for without the criteria: ∅, by its judge."""
        return replace(self, crm=self.default_crm, checked=replace(self.checked, ranked=CriteriaSet()))

    @property
    def criteria(self) -> CriteriaSet:
        """What the ranking is made by."""
        return self.checked.ranked

    @cached_property
    def lists(self) -> tuple[tuple[CriteriaSet, Mask], ...]:
        """What the judge is asked by, and on which queries ``[Q]``; one list without any of a category."""
        return lists_of_queries(self.benchmark.record, self.criteria)

    def list_at(self, query: int) -> CriteriaSet:
        """What the judge is asked by on one query."""
        return next(criteria for criteria, queries in self.lists if queries[query])

    def queries_of(self, criterion: Criterion) -> Mask:
        """The queries ``[Q]`` in whose list a criterion of the view stands."""
        asked = criterion.everywhere
        found = [queries for criteria, queries in self.lists if asked in criteria.criteria]
        return np.asarray(np.any([np.zeros_like(self.selected), *found], axis=0))

    def _counts(self, queries: Mask) -> float:
        """Return how much the selected ones of some queries ``[Q]`` count."""
        weights = self.weighting.weights
        within = self.selected & queries
        return float(within.sum() if weights is None else weights[within].sum()) + _LEAST_COUNT

    @property
    def against(self) -> Against:
        """What LLMs are compared with."""
        return self.view.against or self.benchmark.default_against

    @property
    def llms(self) -> tuple[str, ...]:
        """The L LLMs that are ranked: among all others the baseline, too, is one of them."""
        return self.benchmark.respondents if self.against is Against.ALL else self.benchmark.llms

    @property
    def benchmark_key(self) -> Hashable:
        """What changes with the benchmark, its contents or the judge."""
        return self.benchmark.identity, self.crm.name, self.crm.version

    @cached_property
    def ratings(self) -> NDArray[np.float64]:
        """How people rate the LLMs ``[L]``, in Elo points; NaN where they do not."""
        return _ratings(known_catalogue(), self.llms, self.benchmark.record.info.slug)

    @cached_property
    def ratings_by_kind(self) -> tuple[tuple[Mask, NDArray[np.float64]], ...]:
        """By which ratings ``[R]`` all respondents stand on which queries ``[Q]`` under ∅."""
        benchmark = self.benchmark
        rated = known_catalogue(), benchmark.respondents, benchmark.record.info.slug
        kinds = _ratings_by_kind(*rated, tuple(benchmark.category_names))
        index = benchmark.category_index
        return tuple((np.isin(index, categories), rating) for categories, rating in kinds)

    @cached_property
    def known(self) -> NDArray[np.float64]:
        """What ratings of all respondents can be foretold from besides their answers ``[R, F]``."""
        benchmark = self.benchmark
        return _known(known_catalogue(), benchmark.respondents, benchmark.record.info.slug)

    @property
    def ratings_key(self) -> Hashable:
        """What changes with the ratings and with what they are foretold from."""
        by_kind = tuple((queries.tobytes(), rating.tobytes()) for queries, rating in self.ratings_by_kind)
        return by_kind, self.known.tobytes()

    @property
    def is_held_to_votes(self) -> bool:
        """Whether LLMs stand under ∅ as people's votes say.

        They do where a judge measures responses and enough LLMs are rated, against a baseline if it is one of
        them; not where length or style is to be taken out of the judge's verdicts.
        """
        if not isinstance(self.crm, MeasuresResponses) or self.view.control is not Control.NONE:
            return False
        if self.against is Against.BASELINE and not self.are_rated([self.benchmark.baseline]):
            return False
        return int(np.isfinite(self.ratings).sum()) >= FEWEST

    def are_rated(self, llms: Iterable[str]) -> bool:
        """Return whether people rate all of these LLMs, of which one may be the baseline."""
        respondents, slug = self.benchmark.respondents, self.benchmark.record.info.slug
        ratings = _ratings(known_catalogue(), respondents, slug)
        return bool(np.isfinite([ratings[respondents.index(llm)] for llm in llms]).all())

    @property
    def n_by_votes(self) -> int:
        """How many LLMs stand under ∅ as people's votes say."""
        return int(np.isfinite(self.ratings).sum()) if self.is_held_to_votes else 0

    @property
    def scoring(self) -> Hashable:
        """How what is judged becomes win rates, and of whom; rankings of it differ by this alone."""
        view = self.view
        weighed = view.topic_weights, view.interests
        return view.soft, view.control, *weighed, self.against, view.topics, view.keep_partial

    @property
    def musts(self) -> tuple[Criterion, ...]:
        """The K criteria that are a must: Essential ones, if asked for, of a judge that needs no time."""
        if not (self.view.must_have and self.is_instant):
            return ()
        asked = (must for must in essential(self.criteria) if (self.queries_of(must) & self.selected).any())
        return tuple(asked)[:MAX_MUSTS]

    def under_floor(self, default: Ranking | None) -> Mask | None:
        """Return which LLMs ``[L]`` are under the view's floor; None without one or while ∅ is not judged."""
        if self.view.floor is None or not self.criteria or default is None:
            return None
        return under_floor(default, self.llms, self.view.floor)

    def rank(
        self,
        judged: Judged,
        counted: Mask,
        under_floor: Mask | None = None,
        missed: NDArray[np.int64] | None = None,
    ) -> Ranking:
        """Rank on the counted queries ``[Q]`` of what is judged; a LeaderboardError if none is.

        Args:
            under_floor: The LLMs ``[L]`` that are left out.
            missed: How many musts each LLM misses ``[L]``.
        """
        return self.ranked(self.estimate(judged, counted), counted, under_floor, missed)

    def ranked(
        self,
        found: Estimate | BradleyTerry,
        counted: Mask,
        under_floor: Mask | None = None,
        missed: NDArray[np.int64] | None = None,
    ) -> Ranking:
        """Rank by what ``estimate`` found on the counted queries ``[Q]``; the rest is as in ``rank``."""
        names, categories = self.benchmark.category_names, self.benchmark.category_index
        if isinstance(found, Estimate):
            by_category = win_rates_by_category(found, categories[self._used(counted)], len(names))
        else:
            by_category = duels_by_category(found, categories, len(names))
        return rank_rated(self.llms, found, names, by_category, under_floor=under_floor, missed=missed)

    def estimate_key(self, counted: Mask) -> Hashable:
        """What ``estimate`` depends on, for a judge that needs no time, which has judged all."""
        votes = None if self.criteria else self.ratings_key
        return self.benchmark_key, self.criteria.key, self.scoring, counted.tobytes(), votes

    def estimate(self, judged: Judged, counted: Mask) -> Estimate | BradleyTerry:
        """Return the win rates behind ``rank``, with what intervals are made from; raises as ``rank``."""
        judged = self._of_ranked(judged, counted)
        judge_error = self._judge_error()
        if isinstance(judged, Margins):
            return bradley_terry(
                judged,
                self.benchmark.topic_index,
                self.benchmark.category_index,
                used=counted,
                compared=self.coverage(judged, counted).comparable,
                weights=self.weighting.weights,
                soft=self.view.soft,
                judge_error=judge_error,
            )
        return estimate(
            judged,
            self.benchmark.topic_index,
            used=counted,
            weights=self.weighting.weights,
            soft=self.view.soft,
            terms=self.terms,
            judge_error=judge_error,
        )

    def _judge_error(self) -> JudgeError:
        """Return by how much the judge mistakes win rates; of each LLM ``[L]`` where votes hold ∅."""
        errors = [_error(self.crm, criteria) for criteria, _ in self.lists]
        by_judge = float(np.average(errors, weights=[self._counts(queries) for _, queries in self.lists]))
        if self.criteria or not self.n_by_votes:
            return by_judge
        foretold = by_judge if response_features(self.benchmark) is None else min(FORETOLD_ERROR, by_judge)
        return np.where(np.isfinite(self.ratings), min(VOTES_ERROR, by_judge), foretold)

    def coverage(self, margins: Margins, counted: Mask) -> Coverage:
        """Return who answered what of the counted queries, and can be compared with the others."""
        return coverage(
            margins.asked,
            self.benchmark.category_index,
            len(self.benchmark.category_names),
            used=self._used(counted),
            chosen=self._chosen(margins, counted),
        )

    def _answered(self, judged: Judged, counted: Mask) -> Answered:
        """Return how many of the counted queries each LLM has a verdict on."""
        present = judged.present if isinstance(judged, Margins) else ~np.isnan(judged)
        return Answered.of(present, self._used(counted))

    def _used(self, counted: Mask) -> Mask:
        """Return the counted queries ``[Q]`` that have a weight."""
        weights = self.weighting.weights
        return counted if weights is None else counted & (weights > 0)

    def _answered_too_few(self, judged: Judged, counted: Mask) -> Mask:
        """Return which LLMs ``[L]`` answered too few of the counted queries to be ranked.

        An LLM that the person brought never did: whoever uploads a few answers wants to see where they stand.
        """
        own = np.array([llm in self.benchmark.own_llms for llm in self.llms], dtype=np.bool_)
        return self._answered(judged, counted).too_few(self._least_answered) & ~own

    @property
    def _least_answered(self) -> float:
        return 0.0 if self.view.keep_partial else LEAST_ANSWERED[self.against]

    def _of_ranked(self, judged: Judged, counted: Mask) -> Judged:
        """Return what is judged of the LLMs that answered enough to be ranked, NaN of the others."""
        too_few = self._answered_too_few(judged, counted)
        if not too_few.any():
            return judged
        if isinstance(judged, Margins):
            return replace(judged, asked=_without_rows(judged.asked, too_few))
        return _without_rows(judged, too_few)

    def _chosen(self, margins: Margins, counted: Mask) -> Mask:
        """Return the counted queries of each part that an LLM must have answered ``[K, Q]``."""
        masks = [*self._parts(margins, counted).values()]
        return np.array(masks, dtype=np.bool_).reshape(len(masks), len(counted))

    def _parts(self, margins: Margins, counted: Mask) -> dict[str, Mask]:
        """Return the counted queries ``[Q]`` of each part of the choice that an LLM must have answered, by
        its name.

        Nothing is asked for where a person wants LLMs with a part of the answers, and where nobody can be
        compared otherwise.
        """
        if self.view.keep_partial or self._is_too_much(margins, counted):
            return {}
        return self._counted_parts(counted)

    def _counted_parts(self, counted: Mask) -> dict[str, Mask]:
        parts = chosen_parts(self.benchmark.record, self.view.topics)
        return {name: queries & counted for name, queries in parts.items() if (queries & counted).any()}

    def _is_too_much(self, judged: Judged, counted: Mask) -> bool:
        """Return whether less than two LLMs answered something of each of several parts, while most can be
        compared by what they answered."""
        if not isinstance(judged, Margins) or len(parts := self._counted_parts(counted)) <= 1:
            return False
        answered = np.array([judged.present[:, queries].any(axis=1) for queries in parts.values()])
        if int(answered.all(axis=0).sum()) >= _FEWEST_COMPLETE:
            return False
        by_part = coverage(
            judged.asked,
            self.benchmark.category_index,
            len(self.benchmark.category_names),
            used=np.any([*parts.values()], axis=0),
        )
        return 2 * int(by_part.comparable.sum()) > int(answered.any(axis=0).sum())

    def leaderboard(
        self,
        ranking: Ranking,
        default: Ranking | None,
        *,
        counted: Mask | None = None,
        judging: Judging | None = None,
        misses: Mask | None = None,
        judged: Judged | None = None,
    ) -> Leaderboard:
        """Return what is shown of a ranking and of that under ∅.

        Args:
            counted: The queries ``[Q]`` that it rests on; by default all of the view's.
            misses: Which LLM misses which must ``[L, K]``.
            judged: What the ranking is made from; None while nothing is judged.
        """
        missed = () if misses is None else zip(self.llms, misses, strict=True)
        n_queries = int(self.selected.sum())
        counted = self.selected if counted is None else counted
        rests_on = int(counted.sum())
        correlations = None
        if default is not None and default.ranks:
            correlations = correlate(ranking.ranks, default.ranks)
        unknown = np.full(len(ranking.llms), np.nan)
        weights = self.weighting.weights
        counts = self.selected.astype(np.float64) * (1.0 if weights is None else weights)
        shares = [] if judged is None else self._answered(judged, counted).share.tolist()
        return Leaderboard(
            view=self.view,
            criteria=self.criteria,
            benchmark=self.benchmark.record,
            crm_version=self.crm.version,
            default_crm=self.default_crm.name,
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
            absent=self._absent(counts),
            distant=self.weighting.distant,
            amounts=mean_amounts(self.crm, self.lists, self.benchmark, counts, self.llms),
            musts=self.musts,
            misses={llm: tuple(compress(self.musts, row)) for llm, row in missed if row.any()},
            against=self.against,
            n_by_votes=self.n_by_votes,
            answered=dict(zip(self.llms, shares, strict=False)),
            not_compared={} if judged is None else self._not_compared(judged, counted),
            nobody_complete=judged is not None
            and not self.view.keep_partial
            and self._is_too_much(self._of_ranked(judged, counted), counted),
            too_few=() if judged is None else self._too_few(judged, counted),
        )

    def _absent(self, counts: NDArray[np.float64]) -> tuple[CriterionWarning, ...]:
        """Return which criteria are for what hardly any response has, where they count ``[Q]``."""
        crm = self.crm
        if not isinstance(crm, KnowsWhatIsAbsent):
            return ()
        found = (
            warning
            for criteria, queries in self.lists
            if (counts * queries).any()
            for warning in crm.absent(criteria, self.benchmark, counts * queries)
        )
        return tuple(dict.fromkeys(found))

    def _apart(self, judged: Judged, counted: Mask) -> Mask:
        """Return which LLMs ``[L]`` cannot be ranked by what is judged of the counted queries."""
        if isinstance(judged, Margins):
            return ~self.coverage(judged, counted).comparable
        return np.asarray(self._answered(judged, counted).n == 0)

    def _too_few(self, judged: Judged, counted: Mask) -> tuple[str, ...]:
        """Return the LLMs that are not ranked only as they answered too little."""
        apart = self._apart(self._of_ranked(judged, counted), counted)
        if self.view.keep_partial or not apart.any():
            return ()
        with_partial = replace(self, view=replace(self.view, keep_partial=True))
        return tuple(compress(self.llms, apart & ~with_partial._apart(judged, counted)))

    def _not_compared(self, judged: Judged, counted: Mask) -> dict[str, str]:
        """Return why LLMs cannot be compared with the others, by their names."""
        apart = np.flatnonzero(self._apart(self._of_ranked(judged, counted), counted)).tolist()
        if not apart:
            return {}
        lacking: Mapping[int, list[str]] = {}
        if isinstance(judged, Margins):
            parts, lacks = self._parts(judged, counted), self.coverage(judged, counted).lacks
            lacking = {row: list(compress(parts, lacks[row])) for row in apart}
        answered, least = self._answered(judged, counted), self._least_answered
        too_few = self._answered_too_few(judged, counted) | (answered.n == 0)

        def why(row: int) -> str:
            name = self.crm.representation
            if name is not None and self.benchmark.awaits_embedding(self.llms[row], name):
                return not_ready_in_words(embed_command(self.benchmark.record.info.slug))
            if too_few[row] and not lacking.get(row):
                return too_few_in_words(int(answered.n[row]), answered.in_use, least)
            return not_compared_in_words(lacking.get(row, ()))

        return {self.llms[row]: why(row) for row in apart}


def _without_rows(values: NDArray[np.floating], rows: Mask) -> NDArray[np.float32]:
    """Return the values ``[L, Q]``, NaN in these rows ``[L]``."""
    return np.where(rows[:, np.newaxis], np.float32(np.nan), values).astype(np.float32)


@lru_cache(maxsize=16)
def _ratings(catalogue: Catalogue, llms: tuple[str, ...], slug: str) -> NDArray[np.float64]:
    """Return how people rate the LLMs ``[L]``; nobody may write to it."""
    return ratings_of(llms, catalogue, slug)


@lru_cache(maxsize=16)
def _known(catalogue: Catalogue, llms: tuple[str, ...], slug: str) -> NDArray[np.float64]:
    """Return what ratings can be foretold from ``[L, F]``; nobody may write to it."""
    return known_of(llms, catalogue, slug)


@lru_cache(maxsize=16)
def _ratings_by_kind(
    catalogue: Catalogue, llms: tuple[str, ...], slug: str, category_names: tuple[str, ...]
) -> tuple[tuple[NDArray[np.intp], NDArray[np.float64]], ...]:
    """Return by which ratings ``[L]`` the LLMs stand in which categories; nobody may write to them."""
    kinds = np.array([kind_of(category) for category in category_names])
    return tuple(
        (np.flatnonzero(kinds == kind), ratings_on(kind, llms, catalogue, slug))
        for kind in dict.fromkeys(kinds.tolist())
    )


def _error(crm: CRM, criteria: CriteriaSet) -> float:
    """Return by how much the judge mistakes win rates under the criteria."""
    return _ERRORS.get((crm.name, crm.version, criteria.criteria), lambda: win_rate_error(crm, criteria))


def criterion_warnings(crm: CRM, criteria: CriteriaSet) -> tuple[CriterionWarning, ...]:
    """Return what the judge says against trusting a ranking under the criteria; nothing if it cannot tell."""
    if not criteria or not isinstance(crm, ChecksCriteria):
        return ()
    judge = crm
    return _WARNINGS.get((crm.name, crm.version, criteria.criteria), lambda: judge.warnings(criteria))
