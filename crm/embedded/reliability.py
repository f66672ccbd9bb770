"""Reliability: how often verdicts under a criterion are right, as measured on pairs that nothing else was
fitted to.

A criterion is counted where every sure part of it is counted, known where it is read as a known style, and
else judged by its wording alone. For each kind stands how often single verdicts agreed with annotators' on
held-out instructions, and by how much win rates miss a careful reader's beyond what the draw of queries
explains. How often verdicts are right under a single criterion is foretold by what can be seen of it: how
plainly it is read, how much of it no known concept says, how far it moves ordinary pairs of responses, and
how far the networks agree on them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from crm.embedded.concepts import Reading
from crm.protocol import Floats, ReadAs, Reliability

COUNTED, KNOWN, WORDING, GENERAL = range(4)
"""Kinds of criteria; the last stands for none."""
_READ_AS = (ReadAs.COUNTED, ReadAs.STYLE, ReadAs.WORDING)
_SURE = 0.5
_MOSTLY = 0.7
_LEAST_SPREAD = 1e-3
_FORETOLD = "reliability_foretold_"
"""Before the names of its arrays in a file."""
SIGNS = ("plainness", "words", "named", "unsaid", "avoided", "spread", "agreement", "likeness")
"""What can be seen of a criterion, see ``signs``."""


@dataclass(frozen=True)
class ForetoldReliability:
    """Logistic regression of right verdicts on the S signs of their criterion.

    Attributes:
        middle: Of each sign ``[S]``.
        scale: Of each sign ``[S]``.
        weight: Log-odds for one scale more of each sign, and for a criterion in the middle ``[S + 1]``.
    """

    middle: Floats
    scale: Floats
    weight: Floats

    def right(self, seen: Floats) -> Floats:
        """Return how often verdicts under N criteria are right ``[N]``, by their signs ``[N, S]``."""
        right: Floats = expit((seen - self.middle) / self.scale @ self.weight[:-1] + self.weight[-1])
        return right


@dataclass(frozen=True)
class KindsOfReliability:
    """What was measured, by kind, and of single criteria.

    Attributes:
        right: Share of right verdicts ``[3]``; NaN where it was not measured.
        error: Standard deviation of a win rate's error, in log-odds ``[4]``.
        foretold: What foretells the share of right verdicts of a single criterion; None where that was not
            fitted.
    """

    right: Floats
    error: Floats
    foretold: ForetoldReliability | None = None

    def of(self, kind: int, reading: str, seen: Floats | None = None) -> Reliability:
        """Return the reliability of a criterion of one kind, read as ``reading``, by its signs ``[S]``."""
        right = float(self.right[kind])
        if self.foretold is not None and seen is not None:
            right = float(self.foretold.right(seen[None])[0])
        return Reliability(_READ_AS[kind], reading, right)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what a weights file stores."""
        arrays = {"reliability_right": self.right, "reliability_error": self.error}
        if (found := self.foretold) is not None:
            arrays |= {
                f"{_FORETOLD}middle": found.middle,
                f"{_FORETOLD}scale": found.scale,
                f"{_FORETOLD}weight": found.weight,
            }
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> KindsOfReliability | None:
        """Return what a weights file stores; None in one that was written without."""
        if "reliability_right" not in arrays:
            return None
        foretold = None
        if f"{_FORETOLD}weight" in arrays:
            foretold = ForetoldReliability(
                *(arrays[f"{_FORETOLD}{part}"] for part in ("middle", "scale", "weight"))
            )
        return cls(arrays["reliability_right"], arrays["reliability_error"], foretold)


def kind_of(wanted: Floats, certainty: float, countable: int) -> int:
    """Return the kind of a criterion that asks for concepts ``[K]``,
    of which the first ``countable`` are counted."""
    if certainty < _SURE:
        return WORDING
    asked = np.abs(wanted)
    return COUNTED if asked[:countable].sum() >= _MOSTLY * asked.sum() else KNOWN


def signs(reading: Reading, avoided: NDArray[np.bool_], margins: Floats, by_member: Floats) -> Floats:
    """Return what can be seen of N criteria ``[N, S]``.

    These are how plainly it names concepts; the logarithm of its number of words; how probable the likeliest
    concept is; how much of it the mixture of concepts leaves unsaid; whether it is to be avoided; how far it
    moves ordinary pairs of responses, as a logarithm; how alike the networks' margins on them are; and how
    alike those are to what is judged by.

    Args:
        reading: Of the criteria's texts.
        avoided: Which of them are to be avoided ``[N]``.
        margins: On P ordinary pairs of responses ``[P, N]``.
        by_member: Margins of M networks on them, of the wishes as they stand ``[M, P, N]``.
    """
    unit = by_member / np.maximum(np.linalg.norm(by_member, axis=1, keepdims=True), _LEAST_SPREAD)
    n_members = len(unit)
    together = unit.sum(axis=0)
    agreement = (np.square(together).sum(axis=0) - n_members) / max(1, n_members * (n_members - 1))
    lengths = np.linalg.norm(together, axis=0) * np.linalg.norm(margins, axis=0)
    likeness = (together * margins).sum(axis=0) / np.maximum(lengths, _LEAST_SPREAD)
    of_concept = reading.prob.reshape(len(reading.prob), -1, 2).sum(axis=2)
    return np.stack(
        [
            reading.plainness,
            np.log1p(reading.n_words),
            of_concept.max(axis=1, initial=0.0),
            reading.mixture[:, -1],
            avoided,
            np.log(np.abs(margins).mean(axis=0) + _LEAST_SPREAD),
            agreement,
            np.where(avoided, -likeness, likeness),
        ],
        axis=1,
    ).astype(np.float32)
