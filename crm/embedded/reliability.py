"""Reliability: how often verdicts on a kind of criterion were right on pairs that nothing was trained on.

A criterion is counted where every sure part of it is counted, known where it is read as a known style, and
else judged by its wording alone. For each kind stands how often single verdicts agreed with annotators' on
held-out instructions, and by how much win rates miss a careful reader's beyond what the draw of queries
explains.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crm.protocol import Floats, ReadAs, Reliability

COUNTED, KNOWN, WORDING, GENERAL = range(4)
"""Kinds of criteria; the last stands for none."""
_READ_AS = (ReadAs.COUNTED, ReadAs.STYLE, ReadAs.WORDING)
_SURE = 0.5
_MOSTLY = 0.7


@dataclass(frozen=True)
class KindsOfReliability:
    """What was measured, by kind.

    Attributes:
        right: Share of right verdicts ``[3]``; NaN where it was not measured.
        error: Standard deviation of a win rate's error, in log-odds ``[4]``.
    """

    right: Floats
    error: Floats

    def of(self, kind: int, reading: str) -> Reliability:
        """Return the reliability of a criterion of one kind, read as ``reading``."""
        return Reliability(_READ_AS[kind], reading, float(self.right[kind]))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what a weights file stores."""
        return {"reliability_right": self.right, "reliability_error": self.error}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> KindsOfReliability | None:
        """Return what a weights file stores; None in one that was written without."""
        if "reliability_right" not in arrays:
            return None
        return cls(arrays["reliability_right"], arrays["reliability_error"])


def kind_of(wanted: Floats, certainty: float, countable: int) -> int:
    """Return the kind of a criterion that asks for concepts ``[K]``,
    of which the first ``countable`` are counted."""
    if certainty < _SURE:
        return WORDING
    asked = np.abs(wanted)
    return COUNTED if asked[:countable].sum() >= _MOSTLY * asked.sum() else KNOWN
