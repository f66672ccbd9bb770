"""The guard: tells gaming responses from ordinary ones by their representation, and holds them back.

A bilinear judge rewards whatever looks like the wish, also in a text that answers nothing. The guard is a
small network on φ that was trained on attacks written for this project. Below its threshold, where
nearly all ordinary answers lie, it does nothing; above it, a response's margin is lowered under all criteria.
It depends on the stored representation alone, so a benchmark's penalties are computed once.
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crm.embedded.projection import project
from crm.protocol import Floats

_STEEPNESS = 10.0
_MOST = 30.0
"""Log-odds that a response can lose at most."""
_AT_ONCE = 65_536
"""Responses whose hidden values are in memory together."""
_FIELDS = ("hidden_weight", "hidden_bias", "output_weight", "threshold")


@dataclass(frozen=True)
class Guard:
    """``penalty(φ) = min(30, 10 max(0, relu(φ W + b) · v − threshold))``.

    Attributes:
        hidden_weight: W ``[D, H]``.
        hidden_bias: b ``[H]``.
        output_weight: v ``[H]``.
        threshold: What a response may have without being held back.
    """

    hidden_weight: Floats
    hidden_bias: Floats
    output_weight: Floats
    threshold: float
    _known: dict[int, Floats] = field(default_factory=dict, repr=False, compare=False)

    def penalty(self, features: NDArray[np.int8], step: float) -> Floats:
        """What responses with features ``[..., D]``, in units of ``step``, lose in log-odds ``[...]``."""
        rows = features.reshape(-1, features.shape[-1])
        weight = self.hidden_weight * np.float32(step)
        lost = np.empty(len(rows), dtype=np.float32)
        for start in range(0, len(rows), _AT_ONCE):
            hidden = project(rows[start : start + _AT_ONCE], weight) + self.hidden_bias
            suspicion = np.maximum(hidden, 0.0) @ self.output_weight
            lost[start : start + _AT_ONCE] = np.clip(_STEEPNESS * (suspicion - self.threshold), 0.0, _MOST)
        return lost.reshape(features.shape[:-1])

    def penalty_once(self, features: NDArray[np.int8], step: float) -> Floats:
        """Return the same, remembered as long as the array of features lives."""
        key = id(features)
        if key not in self._known:
            penalty = self.penalty(features, step)
            weakref.finalize(features, self._known.pop, key, None)
            self._known[key] = penalty
        return self._known[key]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what a weights file stores."""
        return {f"guard_{name}": np.asarray(getattr(self, name), dtype=np.float32) for name in _FIELDS}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Guard | None:
        """Return the guard of a weights file; None in one that was written without."""
        if "guard_threshold" not in arrays:
            return None
        return cls(
            arrays["guard_hidden_weight"],
            arrays["guard_hidden_bias"],
            arrays["guard_output_weight"],
            float(arrays["guard_threshold"]),
        )
