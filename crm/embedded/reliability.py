"""Reliability: how often verdicts under a criterion are right, as measured on pairs that nothing else was
fitted to.

A criterion is counted where every sure part of it is counted, known where it is read as a known style, and
else judged by its wording alone. For each kind stands how often single verdicts agreed with annotators' on
held-out instructions, and by how much win rates miss a careful reader's beyond what the draw of queries
explains. How often verdicts are right under a single criterion is foretold by what can be seen of it: how
plainly it is read, how much of it no known concept says, how far it moves ordinary pairs of responses, and
how far the networks agree on them.

Annotators word plainly what they mean. A person's complaint, likeness or image may be read the wrong way
round, and those annotated criteria do not tell how often: that is foretold by wishes of writers who said what
they meant, and by what speaks for a reading, such as how surely its mixture of concepts was read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from crm.embedded.concepts import Reading
from crm.errors import UnavailableError
from crm.protocol import Floats, ReadAs, Reliability

COUNTED, KNOWN, WORDING, GENERAL = range(4)
"""Kinds of criteria; the last stands for none."""
_READ_AS = (ReadAs.COUNTED, ReadAs.STYLE, ReadAs.WORDING)
_SURE = 0.5
_MOSTLY = 0.7
_LEAST_SPREAD = 1e-3
_FORETOLD = "reliability_foretold_"
"""Before the names of its arrays in a file."""
_MEANT = "reliability_meant_"
_USUALLY_MEANT = "reliability_usually_meant"
SIGNS = (
    "plainness",
    "words",
    "named",
    "unsaid",
    "avoided",
    "spread",
    "agreement",
    "likeness",
    "strength",
    "alone",
    "mixed",
)
"""What can be seen of a criterion, see ``signs``."""
OF_MEANING = tuple(SIGNS.index(sign) for sign in ("spread", "strength", "alone"))
"""What says whether a criterion is read as it was meant."""
_MIXED = SIGNS.index("mixed")
_CHANCE = 0.5


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
        meant: What foretells how often a criterion is read the right way round, by the mixture of concepts
            that is heard in it; None where that was not fitted.
        usually_meant: How often the criteria that the share of right verdicts was measured on are.
    """

    right: Floats
    error: Floats
    foretold: ForetoldReliability | None = None
    meant: ForetoldReliability | None = None
    usually_meant: float = 1.0

    def of(self, kind: int, reading: str, seen: Floats | None = None) -> Reliability:
        """Return the reliability of a criterion of one kind, read as ``reading``, by its signs ``[S]``."""
        right = float(self.right[kind])
        if self.foretold is not None and seen is not None:
            right = float(self.foretold.right(seen[None])[0])
            [meant] = self.as_meant(seen[None]).tolist()
            # The wrong way round, what would be right is wrong.
            kept = (meant - _CHANCE) / (self.usually_meant - _CHANCE)
            right = _CHANCE + min(1.0, max(0.0, kept)) * (right - _CHANCE)
        return Reliability(_READ_AS[kind], reading, right)

    def as_meant(self, seen: Floats) -> Floats:
        """Return how often N criteria are read the right way round ``[N]``, by their signs ``[N, S]``; 1 of
        those that no mixture is a part of, as what they name is plain."""
        if self.meant is None:
            return np.ones(len(seen), dtype=np.float32)
        return np.where(seen[:, _MIXED] > 0, self.meant.right(seen), np.float32(1.0))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what a weights file stores."""
        arrays = {"reliability_right": self.right, "reliability_error": self.error}
        arrays[_USUALLY_MEANT] = np.array(self.usually_meant, dtype=np.float32)
        for prefix, found in ((_FORETOLD, self.foretold), (_MEANT, self.meant)):
            if found is not None:
                arrays |= {f"{prefix}{field.name}": getattr(found, field.name) for field in fields(found)}
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> KindsOfReliability | None:
        """Return what a weights file stores; None in one that was written without.

        Raises:
            UnavailableError: It was fitted by other signs.
        """
        if "reliability_right" not in arrays:
            return None
        foretold, meant = (
            ForetoldReliability(*(arrays[f"{prefix}{field.name}"] for field in fields(ForetoldReliability)))
            if f"{prefix}weight" in arrays
            else None
            for prefix in (_FORETOLD, _MEANT)
        )
        if any(found is not None and len(found.middle) != len(SIGNS) for found in (foretold, meant)):
            raise UnavailableError("These weights foretell reliability by other signs: fit it again.")
        usually = float(arrays.get(_USUALLY_MEANT, np.float32(1.0)))
        return cls(arrays["reliability_right"], arrays["reliability_error"], foretold, meant, usually)


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
    moves ordinary pairs of responses, as a logarithm; how alike the networks' margins on them are; how alike
    those are to what is judged by; how surely the mixture in it was read, 1 where none is heard; how much
    of what is named that does not second; and whether it is judged by that.

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
            np.where(reading.has_mixture, reading.strength, 1.0),
            reading.alone,
            reading.is_mixed,
        ],
        axis=1,
    ).astype(np.float32)
