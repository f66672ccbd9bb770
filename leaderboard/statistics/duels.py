"""Every LLM against every other on the queries that both answered: who is compared, and how much it counts.

A duel is two responses to one query. Where LLMs answered different queries, shares of duels won cannot be
compared: they depend on who else answered. `bradley_terry` makes strengths of them; here duels are counted
so that a category weighs the same for every LLM that answered it, however many others or queries it met.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from leaderboard.errors import LeaderboardError
from leaderboard.statistics.win_rate import TIE_TOLERANCE, Mask, checked_weights

MOST_UPWEIGHTED = 4.0
"""A response counts at most so many times as much as if all queries of its category were answered: with less
than a quarter of a category, an LLM's few answers would otherwise stand for all that it did not say."""

NOBODY = -1
"""Component of an LLM that shares no query with anybody."""

_SLOPE = 0.25
_WIDEST = 80.0
"""Log-odds from the middle of a query's responses beyond which single precision cannot tell any more."""

# Verdicts are found in blocks of so many cells, which stay in the processor's cache.
_BLOCK_CELLS = 160_000
_BALANCING_STEPS = 50
_BALANCED = 1e-9

# Of so many choices of queries is kept who meets whom: that is the same whatever is asked.
_KEPT = 8

_Array = NDArray[np.float64]
_Scalar = TypeVar("_Scalar", bound=np.generic)


@dataclass(frozen=True, eq=False)
class Margins:
    """How L responses to each of Q queries stand by themselves, so that any two can be compared.

    Attributes:
        asked: [L, Q], log-odds: the first of two responses is preferred with probability σ(difference); NaN
            where there is none.
        penalty: [L, Q], what is taken off besides, whatever is asked; nothing by default.
        alike: Two responses tie that differ by less, in what is asked or altogether.
        surely: Difference of penalties from which it decides between responses alike in what is asked.
    """

    asked: NDArray[np.floating]
    penalty: NDArray[np.floating] | None = None
    alike: float = TIE_TOLERANCE / _SLOPE
    surely: float = np.inf

    @property
    def present(self) -> Mask:
        """[L, Q], where there is a response."""
        return np.asarray(~np.isnan(self.asked))

    @property
    def taken_off(self) -> NDArray[np.floating]:
        """[L, Q], the penalty, 0 without any."""
        return np.zeros_like(self.asked) if self.penalty is None else self.penalty

    def on(self, queries: NDArray[np.integer]) -> Margins:
        """The same on some queries alone, by their places."""
        penalty = None if self.penalty is None else self.penalty[:, queries]
        return Margins(self.asked[:, queries], penalty, self.alike, self.surely)

    def between(self, row: int, *, soft: bool) -> _Array:
        """Verdicts [L, Q] on the responses of one row against everybody's; NaN where one is missing."""
        asked, penalty = (
            (values[row] - values).astype(np.float64) for values in (self.asked, self.taken_off)
        )
        return self._verdicts(asked, penalty, soft=soft)

    def share_won(self, row: int, *, soft: bool) -> _Array:
        """[Q], share of the others' responses that those of the LLM of one row beat; NaN without any."""
        verdict = np.delete(self.between(row, soft=soft), row, axis=0)
        fought = np.sum(~np.isnan(verdict), axis=0)
        return np.where(fought > 0, np.nansum(verdict, axis=0) / np.maximum(fought, 1), np.nan)

    def best_other(self, row: int, query: int) -> int | None:
        """Row of the best response to a query besides that of one row; None where there is no other."""
        standing = self.asked[:, query] - self.taken_off[:, query]
        standing = np.where(np.arange(len(standing)) == row, np.nan, standing)
        return None if np.isnan(standing).all() else int(np.nanargmax(standing))

    def over_typical(self) -> _Array:
        """Verdicts [L, Q] on each response against the typical one, the median of all to its query; NaN."""
        answered = self.present.any(axis=0)
        asked, penalty = (
            values[:, answered] - np.nanmedian(np.where(self.present, values, np.nan)[:, answered], axis=0)
            for values in (self.asked, self.taken_off)
        )
        verdict = np.full(self.asked.shape, np.nan)
        verdict[:, answered] = self._verdicts(asked, penalty, soft=False)
        return verdict

    def share_decided(self, used: Mask) -> _Array:
        """[L], share of an LLM's duels on the queries in use that nobody ties; 1 for who fought none."""
        standing = np.ascontiguousarray((self.asked - self.taken_off)[:, used].T)
        present = ~np.isnan(standing)
        fought = present.T @ (present.sum(axis=1) - 1.0)
        tied = _ties(standing, self.alike)
        return np.asarray(1.0 - np.divide(tied, fought, out=np.zeros_like(tied), where=fought > 0))

    def _verdicts(self, asked: _Array, penalty: _Array, *, soft: bool) -> _Array:
        """Verdicts on responses ahead by so much in what is asked, and in penalties, which count against."""
        ahead = asked - penalty
        ties = (np.abs(asked) < self.alike) & (np.abs(penalty) < self.surely) | (np.abs(ahead) < self.alike)
        verdict = expit(ahead) if soft else np.where(np.isnan(ahead), np.nan, ahead > 0)
        return np.asarray(np.where(ties, 0.5, verdict))


@dataclass(frozen=True, eq=False)
class Coverage:
    """What L LLMs answered of the queries in use, and who can be compared.

    Attributes:
        answered: [L, C], number of queries of each category with an answer by the LLM and by another one.
        queries: [C], number of queries in use.
        lacks: [L, K], which of the K chosen topics the LLM has no such answer to.
        component: [L], number of the group of LLMs that chains of shared queries connect, the largest 0;
            ``NOBODY`` for an LLM that lacks a topic or shares no query with anybody who lacks none.
    """

    answered: NDArray[np.int64]
    queries: NDArray[np.int64]
    lacks: Mask
    component: NDArray[np.int64]

    @property
    def n_answered(self) -> NDArray[np.int64]:
        """[L], number of queries in use with such an answer."""
        return np.asarray(self.answered.sum(axis=1))

    @property
    def share(self) -> _Array:
        """[L], share of the queries in use that the LLM answered."""
        return np.asarray(self.n_answered / max(1, int(self.queries.sum())))

    @property
    def comparable(self) -> Mask:
        """[L], who can be ranked: with answers to all chosen topics, in the largest group of such LLMs."""
        return np.asarray(self.component == 0)

    @property
    def components(self) -> tuple[NDArray[np.intp], ...]:
        """Indices of the LLMs of each component, the largest first."""
        return tuple(np.flatnonzero(self.component == number) for number in range(self.component.max() + 1))


def coverage(
    asked: NDArray[np.floating],
    categories: NDArray[np.integer],
    n_categories: int,
    *,
    used: Mask,
    chosen: Mask | None = None,
) -> Coverage:
    """Return who answered what and can be compared; who answered is all that counts, so it is kept.

    Args:
        asked: [L, Q], NaN where an LLM did not answer.
        categories: [Q], from 0 to C − 1, or −1 for a query of no category.
        n_categories: C.
        used: [Q], which queries count.
        chosen: [K, Q], the queries of each topic that a person chose by name; none by default.
    """
    topics = np.zeros((0, len(used)), dtype=np.bool_) if chosen is None else chosen
    arrays = _in_duels(asked, used), topics, np.asarray(categories, dtype=np.int64), used
    return _coverage(*(_Known.of(values) for values in arrays), n_categories)


@lru_cache(maxsize=_KEPT)
def _coverage(
    answers: _Known, chosen: _Known, of_query: _Known, in_use: _Known, n_categories: int
) -> Coverage:
    present, topics, categories, used = (known.values for known in (answers, chosen, of_query, in_use))
    inside = categories == np.arange(n_categories)[:, np.newaxis]  # [C, Q]
    counts = present.astype(np.float32)
    lacks = counts @ topics.T.astype(np.float32) == 0
    complete = counts * ~lacks.any(axis=1, keepdims=True)
    return Coverage(
        answered=_shared(np.rint(counts @ inside.T.astype(np.float32)).astype(np.int64)),
        queries=_shared(np.sum(inside & used, axis=1)),
        lacks=_shared(lacks),
        component=_shared(components(complete @ complete.T)),
    )


@dataclass(frozen=True, eq=False)
class Meetings:
    """Who meets whom on the Q queries in use that at least two of L LLMs answered, and how much that counts.

    That is all of ``Duels`` that does not depend on what is asked, and shared by all of them; nobody may
    write to it.

    Attributes:
        fought: [L, Q], weight of all duels of a response; 0 where there is none.
        pairs: [C, L, L], weight of the duels of each pair in each category; symmetric, 0 on the diagonal.
        category: [Q], from 0 to C − 1.
        share: [C], what each category counts, adding up to 1.
        weight: [Q], what each query counts, the largest at most 1.
        kept: [Q'], which of the queries that were given these are.
        balance: [L, Q], of one response against one other: the product of both.
        of_query: [Q], the factor of all duels of a query.
    """

    fought: _Array
    pairs: _Array
    category: NDArray[np.intp]
    share: _Array
    weight: _Array
    kept: Mask
    balance: _Array
    of_query: _Array

    @cached_property
    def all_pairs(self) -> _Array:
        """[L, L], weight of the duels of each pair."""
        return _shared(self.pairs.sum(axis=0))

    @cached_property
    def connected(self) -> Mask:
        """[L], who is in the largest group that chains of duels connect."""
        return _shared(components(self.all_pairs) == 0)

    @cached_property
    def connected_within(self) -> Mask:
        """[C, L], who is in the largest such group of each category."""
        return _shared(np.array([components(pairs) == 0 for pairs in self.pairs]))

    @cached_property
    def blocks(self) -> tuple[tuple[NDArray[np.intp], NDArray[np.intp]], ...]:
        """Of each category the LLMs that answered any of it, and its queries."""
        inside = [np.flatnonzero(self.category == number) for number in range(len(self.share))]
        return tuple(
            (np.flatnonzero((self.balance[:, queries] > 0).any(axis=1)), queries) for queries in inside
        )


@dataclass(frozen=True, eq=False)
class Duels:
    """The duels of L LLMs on Q queries.

    Attributes:
        won: [L, Q], weight of the duels that each response wins, half of those it ties.
        meetings: Who meets whom.
    """

    won: _Array
    meetings: Meetings

    @property
    def fought(self) -> _Array:
        """[L, Q], weight of all duels of each response."""
        return self.meetings.fought

    @property
    def pairs(self) -> _Array:
        """[C, L, L], weight of the duels of each pair in each category."""
        return self.meetings.pairs

    @property
    def category(self) -> NDArray[np.intp]:
        """[Q], from 0 to C − 1."""
        return self.meetings.category

    @property
    def share(self) -> _Array:
        """[C], what each category counts, adding up to 1."""
        return self.meetings.share

    @property
    def weight(self) -> _Array:
        """[Q], what each query counts, the largest at most 1."""
        return self.meetings.weight

    @property
    def kept(self) -> Mask:
        """[Q'], which of the queries that were given these are."""
        return self.meetings.kept

    @property
    def outcome(self) -> _Array:
        """[L, Q], share of its duels that each response wins; NaN where there is none."""
        present = self.fought > 0
        share = np.clip(self.won / np.where(present, self.fought, 1.0), 0.0, 1.0)
        return np.where(present, share, np.nan)

    def residual(self, expected: _Array) -> _Array:
        """[L, Q], weight that each response wins beyond what its LLM is expected to.

        Args:
            expected: [L, L], probability that the LLM of the row beats that of the column; read as 0 on the
                diagonal.
        """
        balance = self.meetings.balance
        against = expected * ~np.eye(len(expected), dtype=np.bool_)
        return np.asarray(self.won - self.meetings.of_query * balance * (against @ balance))


def duels(
    margins: Margins,
    categories: NDArray[np.integer],
    *,
    used: Mask,
    weights: NDArray[np.floating] | None = None,
    soft: bool = False,
) -> Duels:
    """Compare every response with every other to the same query.

    A duel between i and j on query q of category c counts g_ic g_jc w_q / (n_q − 1), n_q being the number of
    responses. With all g = 1 every response counts w_q, however many others there are to the query. The g
    are found so that category c counts π_c, the weight of its queries, for every LLM that answered any of it
    (symmetric scaling, Knight 2008), but no response more than ``MOST_UPWEIGHTED`` w_q on average. Where
    everybody answered everything all g are 1.

    Args:
        margins: of L LLMs on Q queries.
        categories: [Q], any integers; queries of one are expected to be alike in what they ask of LLMs.
        used: [Q], which queries count.
        weights: [Q], how much each counts, on any scale; all alike by default.
        soft: let the probability itself count instead of a win, tie or loss.

    Raises:
        LeaderboardError: If no query is in use; as ``checked_weights``. No query with two answers leaves an
            LLM without duels, which is no error.
    """
    all_weights = checked_weights(weights, len(categories))
    in_use = used & (all_weights > 0)
    if not in_use.any():
        raise LeaderboardError("No query is selected: choose at least one topic that has queries.")
    arrays = _in_duels(margins.asked, in_use), np.asarray(categories, dtype=np.int64), all_weights
    met = _meetings(*(_Known.of(values) for values in arrays))
    places = np.flatnonzero(met.kept)
    won = np.zeros_like(met.balance)
    for rows, inside in met.blocks:
        cells = np.ix_(rows, inside)
        won[cells] = _won(margins, np.ix_(rows, places[inside]), met.balance[cells], soft=soft)
    return Duels(met.of_query * met.balance * won, met)


@lru_cache(maxsize=_KEPT)
def _meetings(answers: _Known, of_query: _Known, counts: _Known) -> Meetings:
    """Return who meets whom.

    Args:
        answers: [L, Q], responses to queries in use that another LLM answered, too.
        of_query: [Q], categories.
        counts: [Q], weights.
    """
    present, categories, all_weights = (known.values for known in (answers, of_query, counts))
    kept = np.asarray(present.any(axis=0))
    present, weight = present[:, kept], all_weights[kept]
    category = np.unique(categories[kept], return_inverse=True)[1].astype(np.intp)
    of_each = weight / np.maximum(present.sum(axis=0) - 1, 1)
    full = np.bincount(category, weights=weight)
    balance = np.zeros(present.shape)
    pairs = np.zeros((len(full), len(present), len(present)))
    for number, total in enumerate(full):
        inside = np.flatnonzero(category == number)
        rows = np.flatnonzero(present[:, inside].any(axis=1))
        cells = np.ix_(rows, inside)
        here = present[cells].astype(np.float64)
        shared = (here * of_each[inside]) @ here.T
        np.fill_diagonal(shared, 0.0)
        factor = _balanced(shared, np.minimum(total, MOST_UPWEIGHTED * (here @ weight[inside])))
        balance[cells] = factor[:, np.newaxis] * here
        pairs[number][np.ix_(rows, rows)] = factor[:, np.newaxis] * shared * factor
    return Meetings(
        fought=_shared(of_each * balance * (balance.sum(axis=0) - balance)),
        pairs=_shared(pairs),
        category=_shared(category),
        share=_shared(full / max(float(full.sum()), np.finfo(np.float64).tiny)),
        weight=_shared(weight),
        kept=_shared(kept),
        balance=_shared(balance),
        of_query=_shared(of_each),
    )


@dataclass(frozen=True)
class _Known:
    """An array as a key of what is kept.

    Attributes:
        content: Its bytes, those of truth values eight in one.
    """

    content: bytes
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @classmethod
    def of(cls, values: NDArray[Any]) -> _Known:
        """Read an array."""
        kept = np.packbits(values) if values.dtype == np.bool_ else values
        return cls(kept.tobytes(), values.shape, values.dtype)

    @property
    def values(self) -> NDArray[Any]:
        """The array, which nobody may write to."""
        size = math.prod(self.shape)
        if self.dtype != np.bool_:
            return np.frombuffer(self.content, dtype=self.dtype).reshape(self.shape)
        bits = np.unpackbits(np.frombuffer(self.content, dtype=np.uint8), count=size)
        return bits.astype(np.bool_).reshape(self.shape)


def _shared(values: NDArray[_Scalar]) -> NDArray[_Scalar]:
    """Return an array that nobody may write to."""
    values.flags.writeable = False
    return values


def components(shared: NDArray[np.floating]) -> NDArray[np.int64]:
    """Return numbers [L] of the groups that chains of duels connect, the largest 0, equal ones as they come.

    Args:
        shared: [L, L], positive off the diagonal for LLMs with a duel; ``NOBODY`` is who has none.
    """
    linked = shared > 0
    met = np.asarray(linked.any(axis=1))
    if np.any(linked.sum(axis=1) == met.sum() - 1):  # one who met all the others connects them
        return np.where(met, 0, NOBODY)
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415 - dear to import, rarely needed

    _, label = connected_components(linked, directed=False)
    sizes = np.bincount(label)
    order = np.argsort(-sizes, kind="stable")
    number = np.empty(len(sizes), dtype=np.int64)
    number[order] = np.arange(len(sizes))
    return np.where(sizes[label] == 1, NOBODY, number[label])


def _in_duels(asked: NDArray[np.floating], used: Mask) -> Mask:
    """Return the responses ``[L, Q]`` to queries in use that another LLM answered, too."""
    present = ~np.isnan(asked) & used
    return np.asarray(present & (present.sum(axis=0) > 1))


def _balanced(shared: _Array, target: _Array) -> _Array:
    """Factors g [l] with Σ_j g_i g_j shared_ij = target_i, or near it where there are none.

    Symmetric scaling, each step the mean of two of Sinkhorn's, which would otherwise swing to and fro.
    """
    factor = np.ones(len(target))
    for _ in range(_BALANCING_STEPS):
        reached = factor * (shared @ factor)
        ratio = target / reached
        factor *= np.sqrt(ratio)
        if np.abs(ratio - 1).max(initial=0) < _BALANCED:
            break
    return factor


def _won(margins: Margins, among: tuple[NDArray[np.intp], ...], balance: _Array, *, soft: bool) -> _Array:
    """Balance of the others that each response beats, ties half ``[l, q]``; anything where there is none.

    Args:
        among: Which l LLMs and q queries, as an open mesh.
        balance: [l, q], of their responses.
    """
    asked = _by_query(margins.asked[among])
    penalty = None if margins.penalty is None else _by_query(margins.penalty[among])
    standing = asked if penalty is None else asked - penalty
    against = np.ascontiguousarray(balance.T, dtype=np.float32)
    won = np.empty_like(asked)
    step = max(1, _BLOCK_CELLS // asked.shape[1] ** 2)
    for start in range(0, len(asked), step):
        block = slice(start, start + step)
        verdict = (_soft if soft else _hard)(standing[block], margins.alike)
        if penalty is not None:
            alike = _apart(asked[block]) < margins.alike
            if np.ptp(penalty[block]) >= margins.surely:  # else no two penalties are so far apart
                alike &= _apart(penalty[block]) < margins.surely
            np.copyto(verdict, 0.5, where=alike)
        won[block] = np.matmul(verdict, against[block, :, np.newaxis])[..., 0]
    return np.asarray(won.T - 0.5 * balance, dtype=np.float64)  # less what each would win of itself


def _ties(standing: NDArray[np.floating], alike: float) -> _Array:
    """Return how many others the responses of each column are alike with [L], of those to the same query.

    Args:
        standing: [Q, L], NaN where there is none.
    """
    present = ~np.isnan(standing)
    n_present = present.sum(axis=1)
    tied = np.zeros(standing.shape[1])
    for n in np.unique(n_present[n_present > 1]).tolist():
        rows = n_present == n
        place = np.nonzero(present[rows])[1].reshape(-1, n)
        values = np.take_along_axis(standing[rows], place, axis=1)
        order = values.argsort(axis=1)
        ordered, count = np.take_along_axis(values, order, axis=1), np.zeros(values.shape)
        for step in range(1, n):
            near = ordered[:, step:] - ordered[:, :-step] < alike
            if not near.any():  # so nobody is alike with anybody who stands further away
                break
            count[:, step:] += near
            count[:, :-step] += near
        column = np.take_along_axis(place, order, axis=1)
        tied += np.bincount(column.ravel(), weights=count.ravel(), minlength=len(tied))
    return tied


def _by_query(values: NDArray[np.floating]) -> NDArray[np.float32]:
    """[q, l], 0 where there is none."""
    return np.ascontiguousarray(np.nan_to_num(values.T), dtype=np.float32)


def _apart(values: NDArray[np.floating]) -> NDArray[np.floating]:
    """[n, l, l], absolute differences."""
    differences = values[:, :, np.newaxis] - values[:, np.newaxis]
    return np.asarray(np.abs(differences, out=differences))


def _hard(standing: NDArray[np.float32], alike: float) -> NDArray[np.float32]:
    """Verdicts ``[n, l, l]``, 1, 0.5 or 0."""
    ahead = standing[:, :, np.newaxis] - standing[:, np.newaxis]
    points = (ahead >= alike).view(np.uint8)
    points += (ahead > -alike).view(np.uint8)
    return points.astype(np.float32) * np.float32(0.5)


def _soft(standing: NDArray[np.float32], alike: float) -> NDArray[np.float32]:
    """Verdicts ``[n, l, l]``, as quotients of odds: one exponential a response instead of one a pair."""
    middle = (standing.max(axis=1, keepdims=True) + standing.min(axis=1, keepdims=True)) / 2
    odds = np.exp(np.clip(standing - middle, -_WIDEST, _WIDEST))
    verdict = odds[:, :, np.newaxis] + odds[:, np.newaxis]
    np.divide(odds[:, :, np.newaxis], verdict, out=verdict)
    if alike > Margins.alike:  # else the probability of a tie is 0.5 anyway
        np.copyto(verdict, 0.5, where=_apart(standing) < alike)
    return np.asarray(verdict)
