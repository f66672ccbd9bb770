"""Concepts: what people mean when they say what they like in an answer, whatever words they use.

“Funny”, “makes me laugh” and “cracks jokes” are one wish. A classifier on the sentence encoder, adapted to
wishes, says which of 238 concepts a criterion asks for or wants less of, and how sure that is: 69 can be
counted in a response (``crm.embedded.counts``), the others are styles and kinds of content. It was trained on
14,000 wishes written for this project (``crm/training/wishes``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from crm.embedded.counts import count_names, countables
from crm.embedded.encoder import DIMENSIONS, LowRank, RowCache, SentenceEncoder, adapted_encoder
from crm.embedded.representation import load_arrays
from crm.errors import UnavailableError
from crm.paths import CONCEPTS_FILE
from crm.protocol import Floats

_MAX_CACHED = 2048
_SPREAD = np.float32(DIMENSIONS**0.5)
_CAUTION = 2
"""Power of the probability that a criterion asks for known concepts: specific wishes name one in passing."""
_CLEAR = ((5, 0.6, 0.7, 0.75), (9, 0.75, np.inf, np.inf), (np.inf, 0.9, np.inf, np.inf))
"""Up to so many words, a wish is clear from these probabilities on: of counts, of soft ones, of styles."""
_FAR_BEHIND = 0.4
_NEGLIGIBLE = 0.06
"""Probability below which a concept is not taken into account."""


_TURNS = (
    r"\b(?:no|not|never|none|without|n't|cannot|nothing|zero|nor|neither|free of|-free)\b|n't\b",
    (
        r"\b(?:avoid|skip|stop|drop|cut|omit|ban|remove|leav(?:e|es|ing) out|refrain|spare me|ditch|lose"
        r"|minus|exclude|forget|steer clear|ke(?:ep|eps|pt) away|do without)\w*"
    ),
    r"\b(?:hate|dislike|can't stand|allergic|tired of|sick of|annoy|fed up|put off|bother)\w*",
    (
        r"\b(?:less|fewer|little|few|hardly|barely|minimal|minimum|rarely|seldom|reduce|limit|sparing"
        r"|light on|low)\w*"
    ),
    r"\b(?:more|lots|many|plenty|full|much|always|every|often|love|want|heavy|rich|tons|loads)\b",
    r"\b(?:instead of|rather than|over|than|but not|and not|anything but)\b",
)
_TURNS_OF_LESS = 4
"""The first so many of them ask for less."""
_COMPILED_TURNS = tuple(re.compile(turn, re.IGNORECASE) for turn in _TURNS)
_TURN_SIZE = np.float32(3.0)
N_TURNS = len(_TURNS)


def turns(criteria: Sequence[str]) -> NDArray[np.float32]:
    """Return which turns of less and more N criteria have ``[N, N_TURNS]``.

    The mean over a criterion's words, which the embedding is, blurs a “no”.
    """
    plain = [criterion.replace("’", "'") for criterion in criteria]
    found = [[turn.search(criterion) is not None for turn in _COMPILED_TURNS] for criterion in plain]
    return np.array(found, dtype=np.float32).reshape(len(plain), N_TURNS) * _TURN_SIZE


class ConceptClassifier:
    """Reads criteria; may be shared between threads.

    Attributes:
        names: Identifiers of the K concepts; those that can be counted come first, in their counts' order.
    """

    def __init__(
        self,
        names: Sequence[str],
        weight: Floats,
        bias: Floats,
        adapters: Mapping[str, LowRank],
        *,
        sharpness: float = 1.0,
    ) -> None:
        """Join the fitted parts.

        Args:
            weight: ``[384 + N_TURNS, 1 + 2 K]`` on adapted embedding and turns:
                no concept, then more and less of each.
            bias: ``[1 + 2 K]``.
            adapters: Of the encoder.
            sharpness: Factor on the logits, by which the probabilities are calibrated.
        """
        self.names = tuple(names)
        self._weight, self._bias, self._sharpness = weight, bias, np.float32(sharpness)
        self._adapters = adapters
        self._encoder: SentenceEncoder | None = None
        self._known = RowCache(_MAX_CACHED)

    @property
    def countable(self) -> int:
        """How many of the concepts can be counted."""
        return len(count_names())

    def read(self, criteria: Sequence[str]) -> Reading:
        """Return what N criteria ask for."""
        return Reading(self._known.rows(criteria, 2 * len(self.names), self._computed), _n_words(criteria))

    def read_many(self, criteria: Sequence[str]) -> Reading:
        """Return what so many criteria ask for as only a training has; none is remembered."""
        return Reading(self._probabilities(criteria, self.logits(criteria)), _n_words(criteria))

    def logits(self, criteria: Sequence[str]) -> Floats:
        """Return the logits of many criteria, before sharpening ``[N, 1 + 2 K]``."""
        return self._logits(criteria, self._adapted().encode(criteria, bulk=True).embedding)

    def sharpened(self, sharpness: float) -> ConceptClassifier:
        """Return the classifier with another sharpness."""
        return ConceptClassifier(self.names, self._weight, self._bias, self._adapters, sharpness=sharpness)

    def _computed(self, criteria: list[str]) -> Floats:
        return self._probabilities(criteria, self._logits(criteria, self._adapted().embed(criteria)))

    def _logits(self, criteria: Sequence[str], embedding: Floats) -> Floats:
        inputs = np.concatenate([embedding * _SPREAD, turns(criteria)], axis=1)
        logits: Floats = inputs @ self._weight + self._bias
        return logits

    def _probabilities(self, criteria: Sequence[str], logits: Floats) -> Floats:
        prob = softmax(logits * self._sharpness, axis=1)[:, 1:]
        prob[prob < _NEGLIGIBLE] = 0.0
        # “Overconfident” names what some people want less of, yet asks for nothing less itself.
        asks_for_less = turns(criteria)[:, :_TURNS_OF_LESS].any(axis=1)
        prob[~asks_for_less, 2 * self.countable + 1 :: 2] = 0.0
        return np.asarray(prob, dtype=np.float32)

    def _adapted(self) -> SentenceEncoder:
        if self._encoder is None:
            self._encoder = adapted_encoder(self._adapters)
        return self._encoder

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what its file stores."""
        arrays: dict[str, NDArray[Any]] = {
            "names": np.array(self.names),
            "weight": self._weight.astype(np.float16),
            "bias": self._bias.astype(np.float32),
            "sharpness": np.array(self._sharpness),
            "layers": np.array(list(self._adapters)),
        }
        for number, (left, right) in enumerate(self._adapters.values()):
            arrays[f"left_{number}"], arrays[f"right_{number}"] = (
                each.astype(np.float16) for each in (left, right)
            )
        return arrays

    @classmethod
    def load(cls, path: Path) -> ConceptClassifier:
        """Read the fitted classifier.

        Raises:
            UnavailableError: The file is absent, damaged or made for other counts.
        """
        arrays = load_arrays(path, "names", "weight", "bias", "sharpness", "layers")
        names = tuple(arrays["names"].tolist())
        if names[: len(count_names())] != count_names():
            raise UnavailableError(f"{path.name} was fitted for other counts: fit it again.")
        adapters = {
            layer: (arrays[f"left_{number}"], arrays[f"right_{number}"])
            for number, layer in enumerate(arrays["layers"].tolist())
        }
        weight = arrays["weight"].astype(np.float32)
        return cls(names, weight, arrays["bias"], adapters, sharpness=float(arrays["sharpness"]))


@dataclass(frozen=True)
class Reading:
    """What N criteria ask for.

    Attributes:
        prob: Of more and of less of each of K concepts, in turn ``[N, 2 K]``.
        n_words: Of each criterion ``[N]``.
    """

    prob: Floats
    n_words: NDArray[np.int64]

    @cached_property
    def wanted(self) -> Floats:
        """More of a concept less less of it, from −1 to 1 ``[N, K]``.

        Scaled so that a criterion which names several concepts is folded like several criteria.
        """
        both = np.where(self._is_clear[:, None, None], self._nearest, self._both)
        signed = both[..., 0] - both[..., 1]
        length = np.sqrt((both.sum(axis=2) ** 2).sum(axis=1, keepdims=True))
        scaled: Floats = signed * (self.certainty[:, None] / np.maximum(length, 1e-6))
        return scaled

    @cached_property
    def certainty(self) -> Floats:
        """How sure it is that the concepts say what is meant, from 0 to 1 ``[N]``.

        A clear wish is nothing but its concepts: any rest would decide wherever their counts are equal.
        """
        certainty: Floats = np.where(self._is_clear, np.float32(1.0), self.prob.sum(axis=1) ** _CAUTION)
        return certainty

    @property
    def _both(self) -> Floats:
        return self.prob.reshape(len(self.prob), -1, 2)

    @cached_property
    def _nearest(self) -> Floats:
        """Probabilities ``[N, K, 2]`` of the concepts that are not far behind the first."""
        of_concept = self._both.sum(axis=2)
        near = of_concept >= _FAR_BEHIND * of_concept.max(axis=1, keepdims=True, initial=0.0)
        nearest: Floats = self._both * near[..., None]
        return nearest

    @cached_property
    def _is_clear(self) -> NDArray[np.bool_]:
        """Which wishes are their concepts and nothing else ``[N]``: a longer one must be surer."""
        of_concept = self._nearest.sum(axis=2)
        total = of_concept.sum(axis=1)
        exact = of_concept[:, _exact_columns()].sum(axis=1) > total / 2
        counted = of_concept[:, : len(count_names())].sum(axis=1) > total / 2
        needed = np.full(len(total), np.inf)
        for most_words, for_counts, for_soft, for_styles in reversed(_CLEAR):
            here = self.n_words <= most_words
            needed[here] = np.where(exact, for_counts, np.where(counted, for_soft, for_styles))[here]
        clear: NDArray[np.bool_] = total >= needed
        return clear


@cache
def _exact_columns() -> tuple[int, ...]:
    return tuple(column for column, countable in enumerate(countables()) if not countable.is_soft)


def _n_words(criteria: Sequence[str]) -> NDArray[np.int64]:
    return np.array([len(criterion.split()) for criterion in criteria], dtype=np.int64)


@cache
def concept_classifier() -> ConceptClassifier:
    """Return the bundled classifier."""
    return ConceptClassifier.load(CONCEPTS_FILE)
