"""Known concepts: what the embedded CRM does with what a criterion was read as asking for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crm.criteria import CriteriaSet, Criterion
from crm.embedded.absence import things_asked_for
from crm.embedded.beside_limits import limits_and_rest
from crm.embedded.concept_words import in_words
from crm.embedded.concepts import ConceptClassifier, Reading, concept_classifier, concept_names
from crm.embedded.countable import (
    SURE,
    UNCOUNTED,
    CountedWish,
    counted_by_column,
    counted_margins,
    counted_wishes,
)
from crm.embedded.validity import ScopeClassifier
from crm.errors import UnavailableError
from crm.protocol import Floats, Reason

_MAX_CACHED = 2048
_NEGLIGIBLE = 0.02
_OPPOSED = -0.15
"""Correlation of what is left unread with what is counted from which on the former is left out whole."""
_COUNTED_AT_ALL = 0.4
"""From this certainty on."""
_MOST_SAID = 2
"""Of what a criterion is read as asking for, so many parts are put into words."""
_LIKELY = 0.3
"""Weight in a mixture from which a concept is worth saying."""
_MOSTLY_UNSAID = 0.5
"""Where more of a wish is in no concept, those that are would mislead."""


@dataclass(frozen=True)
class KnownConcepts:
    """The classifier of concepts, and what is known of each.

    Attributes:
        load: Returns the classifier, when a criterion is first read: the ranking without any does without.
        gains: Log-odds per unit of log(1 + amount) of what can be counted ``[C]``.
        directions: Of the other concepts, in feature space ``[S, D]``.
        scope: Tells what cannot be judged of what a criterion asks for beside a limit.
    """

    load: Callable[[], ConceptClassifier]
    gains: Floats
    directions: Floats
    scope: ScopeClassifier | None = None

    @cached_property
    def classifier(self) -> ConceptClassifier:
        """The classifier."""
        return self.load()

    def read(self, criteria: Sequence[Criterion]) -> Reading:
        """Return what the texts of N criteria ask for that can be judged."""
        return self.classifier.read([self._judged(criterion) for criterion in criteria])

    @cached_property
    def _judged(self) -> Callable[[Criterion], Criterion]:
        return lru_cache(_MAX_CACHED)(self._without_unjudgeable)

    def _without_unjudgeable(self, criterion: Criterion) -> Criterion:
        """Return the limits of a criterion alone where nothing can be judged of what else it asks for, such
        as “cheap to run, under 100 words”, else the criterion."""
        parts = limits_and_rest(criterion.text)
        if parts is None or not parts.rest or self.scope is None:
            return criterion
        rest = Criterion(parts.rest, polarity=criterion.polarity)
        [reason] = self.scope.reasons([parts.rest], self.classifier.read([rest]).plainness)
        return criterion if reason is None else replace(criterion, text=", ".join(parts.limits))

    def mixed_in(self, criteria: Sequence[Criterion], unread: Floats) -> Floats:
        """Return the directions of the texts of N criteria ``[N, D]``.

        Args:
            unread: Their directions as the networks give them, for what concepts do not say ``[N, D]``.
        """
        reading = self.read(criteria)
        directions: Floats = self._styles(reading) + reading.unread[:, None] * unread
        return directions

    def not_opposed(
        self, criteria: Sequence[Criterion], unread: Floats, differences: Floats, counts: Floats
    ) -> Floats:
        """Return how much of the networks' directions of N criteria stays, from 0 to 1 ``[N]``.

        A sentence embedding hardly hears a “not”: “more paragraphs, not one wall of text” is near a wall of
        text. Where a wish was read as one for what can be counted, what is left to the networks must not
        speak against it, as seen on ordinary pairs of responses.

        Args:
            criteria: N criteria.
            unread: Their directions as the networks give them ``[N, D]``.
            differences: φ(A) − φ(B) of the pairs ``[P, D]``.
            counts: Exact counts of A and of B ``[2, P, C]``.
        """
        reading = self.read(criteria)
        asked = self._styles(reading) @ differences.T
        left = unread @ differences.T
        stays = np.ones(len(criteria), dtype=np.float32)
        is_counted = np.abs(reading.wanted).argmax(axis=1) < self.classifier.countable
        for row in np.flatnonzero(is_counted & (reading.certainty >= _COUNTED_AT_ALL)).tolist():
            wishes = [*counted_wishes(criteria[row].text, reading.wanted[row])]
            one, other = (counted_margins(wishes, side, self.gains) for side in counts)
            counted = asked[row] + one - other
            length = float(np.linalg.norm(counted) * np.linalg.norm(left[row]))
            if length > 0.0:
                stays[row] = np.clip(1.0 - float(counted @ left[row]) / length / _OPPOSED, 0.0, 1.0)
        return stays

    def margins_of_concepts(self, differences: Floats, counts: Floats) -> Floats:
        """Return what more of each concept prefers of P pairs, in log-odds ``[P, K]``.

        Args:
            differences: φ(A) − φ(B) of the pairs ``[P, D]``.
            counts: Exact counts of A and of B ``[2, P, C]``.
        """
        counted = np.zeros((differences.shape[0], len(self.gains)), dtype=np.float32)
        for column, gain in enumerate(self.gains.tolist()):
            one, other = (CountedWish(column, 1.0).margins(side, gain) for side in counts)
            counted[:, column] = one - other
        return np.concatenate([counted, differences @ self.directions.T], axis=1)

    def _styles(self, reading: Reading) -> Floats:
        """Return the directions of what is asked and cannot be counted ``[N, D]``."""
        directions: Floats = reading.wanted[:, self.classifier.countable :] @ self.directions
        return directions

    def unread(self, criteria: Sequence[Criterion]) -> Floats:
        """How much of each of N criteria concepts do not say, from 0 to 1 ``[N]``."""
        return self.read(criteria).unread

    def certainty(self, criteria: Sequence[Criterion]) -> Floats:
        """How sure it is that concepts which can be judged say what each of N criteria means ``[N]``."""
        reading = self.read(criteria)
        return np.where(self._is_unjudgeable(reading), np.float32(0.0), reading.certainty)

    def plainness(self, criteria: Sequence[Criterion]) -> Floats:
        """How plainly each of N criteria names a concept that can be judged ``[N]``."""
        reading = self.read(criteria)
        return np.where(self._is_unjudgeable(reading), np.float32(0.0), reading.plainness)

    def _is_unjudgeable(self, reading: Reading) -> NDArray[np.bool_]:
        """Return which criteria ask for more of what can only be counted as less ``[N]``."""
        uncounted = [self.classifier.names.index(name) for name in UNCOUNTED]
        return np.asarray((reading.named[:, uncounted] > 0).any(axis=1), dtype=np.bool_)

    def margins_each(self, criteria: CriteriaSet, counts: NDArray[Any]) -> Floats:
        """What responses with counts ``[..., C]`` gain under each of K criteria,
        polarity included ``[..., K]``."""
        margins = np.zeros((*counts.shape[:-1], len(criteria)), dtype=np.float32)
        for number, (sign, wishes) in enumerate(self._wishes(criteria)):
            if wishes:
                margins[..., number] = sign * counted_margins(wishes, counts, self.gains)
        return margins

    def add_margins(
        self, criteria: CriteriaSet, shares: Floats, counts: NDArray[Any], margins: Floats
    ) -> None:
        """Add to ``margins`` ``[...]`` what responses with counts ``[..., C]`` gain, by shares ``[K]``."""
        for share, (sign, wishes) in zip(shares.tolist(), self._wishes(criteria), strict=True):
            if wishes:
                margins += share * sign * counted_margins(wishes, counts, self.gains)

    def reasons(
        self, criteria: CriteriaSet, shares: Floats, counts_a: NDArray[Any], counts_b: NDArray[Any]
    ) -> list[Reason]:
        """What of a verdict was counted, as said of response A with counts ``[C]``:
        “7 emojis against none”."""
        moved: dict[str, float] = {}
        for share, (sign, wishes) in zip(shares.tolist(), self._wishes(criteria), strict=True):
            for wish in wishes:
                gain = float(self.gains[wish.column])
                ahead = float(wish.margins(counts_a, gain) - wish.margins(counts_b, gain))
                if abs(ahead) > _NEGLIGIBLE:
                    phrase = _counted_phrase(wish, counts_a, counts_b)
                    moved[phrase] = moved.get(phrase, 0.0) + share * sign * ahead
        return [Reason(phrase, ahead) for phrase, ahead in moved.items()]

    def in_words(self, criterion: Criterion) -> str:
        """What a criterion is read as asking for, polarity included: “fewer emojis”, “less formal”."""
        reading = self.read([criterion])
        wanted = reading.wanted[0]
        surely = np.maximum(np.abs(wanted), np.abs(reading.named[0])) >= SURE
        most = _MOST_SAID + int((reading.beside[0] >= 0).sum())
        first, *others = np.argsort(-np.abs(wanted), kind="stable")[:most].tolist()
        return self._said(criterion, wanted, [first, *(other for other in others if surely[other])])

    def likely_in_words(self, criterion: Criterion) -> str:
        """What a criterion that names nothing for sure is probably about, “realistic and less formal”; empty
        where it cannot be said."""
        reading = self.read([criterion])
        mixture, unsaid = reading.mixture[0, :-1], float(reading.mixture[0, -1])
        if not reading.is_mixed[0] or unsaid > _MOSTLY_UNSAID:
            return ""
        first = np.argsort(-np.abs(mixture), kind="stable")[:_MOST_SAID]
        likely = self._said(criterion, mixture, first[np.abs(mixture[first]) >= _LIKELY].tolist())
        beside = [column for column in reading.beside[0].tolist() if column >= 0]
        if not beside or not likely:
            return likely
        return f"{likely} and {self._said(criterion, reading.wanted[0], beside)}"

    def _said(self, criterion: Criterion, wanted: Floats, which: Sequence[int]) -> str:
        """Put some of the concepts that are wanted ``[K]`` into words."""
        sign, counted = criterion.polarity.sign, counted_by_column(criterion.text, wanted)

        def said(concept: int) -> str:
            if concept in counted:
                return counted[concept].in_words(sign)
            return in_words(self.classifier.names[concept], more=sign * wanted[concept] > 0)

        *others, last = map(said, which) if len(which) else [""]
        return f"{', '.join(others)} and {last}" if others else last

    def counted(self, criteria: CriteriaSet) -> dict[int, int]:
        """Return which counts the criteria surely ask for, and whether more is wished: 1, less: −1, or
        neither, as an amount is named or criteria disagree: 0.

        Those of the weightiest criteria come first, else in the order of the criteria.
        """
        weights: dict[int, float] = {}
        wishes_of: dict[int, set[int]] = {}
        for criterion, (sign, wishes) in zip(criteria, self._wishes(criteria), strict=True):
            for wish in sorted(wishes, key=lambda each: -abs(each.weight)):
                if abs(wish.weight) >= SURE:
                    weights[wish.column] = weights.get(wish.column, 0.0) + criterion.weight.value_in_sum
                    more = 0 if wish.limit is not None else int(np.sign(sign * wish.weight))
                    wishes_of.setdefault(wish.column, set()).add(more)
        heaviest = sorted(weights, key=lambda column: -weights[column])
        return {column: wishes_of[column].pop() if len(wishes_of[column]) == 1 else 0 for column in heaviest}

    def things_asked_for(self, criteria: CriteriaSet) -> Iterator[tuple[Criterion, int, str]]:
        """Yield what responses must have for a criterion to tell them apart: its count, and in words."""
        for criterion, (sign, wishes) in zip(criteria, self._wishes(criteria), strict=True):
            if sign > 0:
                for column, what in things_asked_for(criterion.text, wishes).items():
                    yield criterion, column, what

    def limited(self, criteria: CriteriaSet) -> dict[int, CountedWish]:
        """Return by count the wish that names an amount, where one criterion surely does and no other asks
        for more, less or another amount of the same."""
        found: dict[int, list[CountedWish | None]] = {}
        for sign, wishes in self._wishes(criteria):
            for wish in wishes:
                if abs(wish.weight) >= SURE:
                    named = wish if wish.limit is not None and sign > 0 else None
                    found.setdefault(wish.column, []).append(named)
        return {column: one for column, (one, *others) in found.items() if one is not None and not others}

    def _wishes(self, criteria: CriteriaSet) -> Iterator[tuple[float, list[CountedWish]]]:
        wanted = self.read(criteria.criteria).wanted
        for row, criterion in zip(wanted, criteria, strict=True):
            yield criterion.polarity.sign, [*counted_wishes(criterion.text, row)]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what a weights file stores."""
        return {
            "concept_names": np.array(self.classifier.names),
            "concept_gains": self.gains,
            "concept_directions": self.directions.astype(np.float16),
        }

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, NDArray[Any]], scope: ScopeClassifier | None = None
    ) -> KnownConcepts | None:
        """Return the concepts of a weights file; None in one that was written without.

        Raises:
            UnavailableError: The weights were trained with other concepts.
        """
        if "concept_names" not in arrays:
            return None
        if tuple(arrays["concept_names"].tolist()) != concept_names():
            raise UnavailableError(
                "The weights were trained with other concepts: "
                "train them again with “python -m crm train embedded”."
            )
        directions = arrays["concept_directions"].astype(np.float32)
        return cls(concept_classifier, arrays["concept_gains"], directions, scope)


def _counted_phrase(wish: CountedWish, counts_a: NDArray[Any], counts_b: NDArray[Any]) -> str:
    """“7 emojis against none”, “shorter by 96 words”; where a limit is named, with the limit."""
    one, other = (round(float(counts[wish.column]), 1) for counts in (counts_a, counts_b))
    unit = wish.countable.unit
    if wish.limit is not None:
        return f"{one:g} {unit} against {other:g}, {wish.limit} wished"
    if wish.countable.name == "words":
        return f"{'longer' if one > other else 'shorter'} by {abs(one - other):.0f} words"
    if one == 0:
        return f"no {unit} against {other:g}"
    return f"{one:g} {wish.countable.unit_of(one)} against {f'{other:g}' if other else 'none'}"
