"""Noise in criteria that leaves the label alone: what people type rarely fits a pair as annotations do.

The three strategies of section 4.2 of the USL paper, so that the side preferred by the list stays preferred.
In two strengths, as the paper's text and its figures differ: the text keeps the majority of a list, but in
Table 5 removal takes 4.5 criteria to 1.9. Addition is the same in both, 4.5 to 6.4 in the paper. Lists of
three, the usual length of ours, go to two or one by removal, and to four by addition.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from crm.criteria import CriteriaSet, Criterion

_UNKNOWN = -1
_ROUNDING = 1e-9


class Noise(StrEnum):
    """What is done to a criteria list."""

    NONE = "none"
    REMOVE = "remove"
    """Criteria are dropped."""
    ADD = "add"
    """Criteria of other samples join, up to half of the weight, none from the opposite list's clusters."""
    REPLACE = "replace"
    """A minority, less than half of the weight, gives way to criteria of the opposite list."""
    RANDOM = "random"
    """One of the four above, drawn again at every call: what training uses."""


NOISES = (Noise.REMOVE, Noise.ADD, Noise.REPLACE)
"""Those that change a list, each in its own way."""
_DRAWN = (Noise.NONE, *NOISES)


class Strength(StrEnum):
    """How many criteria of a list removal and replacement take away."""

    STRICT_MAJORITY = "strict-majority"
    """By weight, as the paper's text has it: as many as leave more than half of it."""
    PAPER = "paper"
    """By number, as in the paper's experiments: of n criteria removal keeps ⌊n/2⌋ and replacement swaps
    ⌊n/2⌋ − 1, or fewer where these would not weigh less than the others."""


@dataclass(frozen=True)
class NoiseReach:
    """How often noise can be applied to some lists.

    Attributes:
        lists: How many there are.
        one_sided: How many have no opposite list: nothing replaces their criteria, and addition has no
            clusters to shun.
        unchanged: How many each noise leaves as they are.
    """

    strength: Strength
    lists: int
    one_sided: int
    unchanged: Mapping[Noise, int]

    def __str__(self) -> str:
        parts = ", ".join(f"{noise.value} {count:,}" for noise, count in self.unchanged.items())
        told = f"noise ({self.strength.value}) leaves of {self.lists:,} criteria lists as they are: {parts}"
        return f"{told}; {self.one_sided:,} have no list of the other side" if self.one_sided else told


class Noiser:
    """Noises criteria lists; the same generator state gives the same result."""

    def __init__(
        self,
        clusters: Mapping[str, int],
        pool: Iterable[Criterion] | None = None,
        strength: Strength = Strength.STRICT_MAJORITY,
    ) -> None:
        """Take the clusters, what may be added, and how much is taken away.

        Args:
            clusters: Cluster of every criterion's text; a text that is not in it belongs to none.
            pool: Criteria that may be added, each drawn as often as the others. For training these are the
                train split's own. Default: all texts of ``clusters``, as wanted.
        """
        self._clusters = clusters
        self._strength = strength
        self._pool = tuple(map(Criterion, clusters) if pool is None else dict.fromkeys(pool))
        self._pool_cluster = np.array([self._cluster(item) for item in self._pool], dtype=np.int64)

    def noised(
        self, criteria: CriteriaSet, opposite: CriteriaSet, noise: Noise, rng: Generator
    ) -> CriteriaSet:
        """The list with noise in it, in its order; unchanged where the list is too short for the noise.

        A criterion that joins takes over the weight of the one it replaces, or of one drawn for it.

        Args:
            criteria: The list of the preferred side.
            opposite: The list under which the other side of the same pair is preferred.
            noise: What to do. Addition needs two criteria of equal weight, removal three (two in the paper's
                strength) and replacement three (four).
            rng: Source of every random choice.
        """
        match noise:
            case Noise.RANDOM:
                return self.noised(criteria, opposite, _DRAWN[rng.integers(len(_DRAWN))], rng)
            case Noise.REMOVE:
                dropped = self._dropped(criteria, rng)
                return CriteriaSet(tuple(item for item in criteria if item not in dropped))
            case Noise.ADD:
                return self._added(criteria, opposite, rng)
            case Noise.REPLACE:
                return self._replaced(criteria, opposite, rng)
            case _:
                return criteria

    def reach(self, sides: Sequence[tuple[CriteriaSet, CriteriaSet]], noise: Noise) -> NoiseReach:
        """Count the lists that a noise cannot be applied to: for random noise, each that it draws from.

        Args:
            sides: Lists, each with its opposite.
            noise: What is to be done to them.
        """
        rng = np.random.default_rng(0)
        tried = {Noise.RANDOM: NOISES, Noise.NONE: ()}.get(noise, (noise,))
        unchanged = {
            one: sum(self.noised(own, other, one, rng) == own for own, other in sides) for one in tried
        }
        return NoiseReach(self._strength, len(sides), sum(not other for _, other in sides), unchanged)

    def _dropped(self, criteria: CriteriaSet, rng: Generator) -> list[Criterion]:
        if self._strength is Strength.STRICT_MAJORITY:
            return _minority(criteria, rng, strict=True)
        listed = list(criteria)
        kept = max(1, len(listed) // 2)
        return [listed[index] for index in rng.permutation(len(listed))[kept:]]

    def _replaced(self, criteria: CriteriaSet, opposite: CriteriaSet, rng: Generator) -> CriteriaSet:
        given = {item.wording for item in criteria}
        others = [item for item in opposite if item.wording not in given]
        newcomers = [others[index] for index in rng.permutation(len(others))]
        swapped = _minority(criteria, rng, strict=True)
        if self._strength is Strength.PAPER:
            swapped = swapped[: max(0, len(criteria) // 2 - 1)]
        swaps = {old: replace(new, weight=old.weight) for old, new in zip(swapped, newcomers)}  # noqa: B905
        return CriteriaSet(tuple(swaps.get(item, item) for item in criteria))

    def _added(self, criteria: CriteriaSet, opposite: CriteriaSet, rng: Generator) -> CriteriaSet:
        """Return criteria join at random places, so that nothing but their meaning gives them away."""
        listed = list(criteria)
        for model, index in zip(_minority(criteria, rng), self._foreign(criteria, opposite, rng)):  # noqa: B905
            added = replace(self._pool[index], weight=model.weight)
            listed.insert(int(rng.integers(len(listed) + 1)), added)
        return CriteriaSet(tuple(listed))

    def _foreign(self, criteria: CriteriaSet, opposite: CriteriaSet, rng: Generator) -> NDArray[np.intp]:
        """Positions in the pool, in random order, of criteria that speak for neither list: at most K."""
        own = {(item.text, item.polarity) for item in (*criteria, *opposite)}
        shunned = {self._cluster(item) for item in opposite} - {_UNKNOWN}
        allowed = np.flatnonzero(~np.isin(self._pool_cluster, list(shunned)))
        # Drawn with some to spare: those that stand in one of the lists already are passed over.
        drawn = rng.choice(allowed, size=min(len(allowed), len(criteria) + len(own)), replace=False)
        fresh = [i for i in drawn if (self._pool[i].text, self._pool[i].polarity) not in own]
        return np.array(fresh[: len(criteria)], dtype=np.intp)

    def _cluster(self, criterion: Criterion) -> int:
        return self._clusters.get(criterion.text, _UNKNOWN)


def _minority(criteria: CriteriaSet, rng: Generator, *, strict: bool = False) -> list[Criterion]:
    """Criteria drawn at random, as many as go into half of the weight; ``strict``: into less than half."""
    listed = list(criteria)
    room = sum(item.weight.value_in_sum for item in listed) / 2
    chosen = []
    for index in rng.permutation(len(listed)):
        weight = listed[index].weight.value_in_sum
        if weight < room - _ROUNDING or (not strict and weight <= room + _ROUNDING):
            chosen.append(listed[index])
            room -= weight
    return chosen
