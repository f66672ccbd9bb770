"""Mixtures: what a wish asks for in shares of many concepts at once, as a careful reader would weigh them.

“Like a wise older friend” is no one concept: it is a mentor, warm, plain, some of a friend's manner, and
not formal. A small network says how much of each concept an answer must have more or less of to please, and
how much of the wish no concept says, by what the wish was read as naming (``crm.embedded.concepts``) and by
the states in which the language model (``crm.embedded.wish_decoder``) and the networks
(``crm.embedded.wish_network``) leave it. It was fitted to wishes that
readers had weighed (``crm.training.mixtures``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crm.embedded.functions import gelu
from crm.protocol import Floats

_LEAST_LENGTH = np.float32(1e-6)


@dataclass(frozen=True)
class MixtureHead:
    """The network: ``gelu(x W₁ + b₁) W₂ + x W₃ + b₂``, of K concepts and of what none of them says.

    Attributes:
        hidden_weight: W₁ ``[D + K, H]``, on D numbers of the states and on what is named.
        hidden_bias: b₁ ``[H]``.
        output_weight: W₂ ``[H, K + 1]``.
        direct_weight: W₃ ``[D + K, K + 1]``.
        output_bias: b₂ ``[K + 1]``.
    """

    hidden_weight: Floats
    hidden_bias: Floats
    output_weight: Floats
    direct_weight: Floats
    output_bias: Floats

    @property
    def width(self) -> int:
        """How many numbers it reads, D + K."""
        return len(self.hidden_weight)

    def read(self, vectors: Floats, named: Floats) -> Floats:
        """Return mixtures of unit length, from 0 to 1 how much they leave unsaid, and how surely they were
        read ``[N, K + 2]``.

        The last is their length before that: between the readings that it doubts between, the network gives
        the mean, which is short.

        Args:
            vectors: States of N wishes ``[N, D]``; each is read by itself, whatever is beside it.
            named: More or less of each concept that they name ``[N, K]``.
        """
        return np.stack([self._read(each) for each in np.concatenate([vectors, named], axis=1)])

    def _read(self, wish: Floats) -> Floats:
        hidden = gelu(wish @ self.hidden_weight + self.hidden_bias)
        found: Floats = hidden @ self.output_weight + wish @ self.direct_weight + self.output_bias
        length = np.linalg.norm(found[:-1]).astype(np.float32)
        found[:-1] /= max(length, _LEAST_LENGTH)
        found[-1] = min(max(found[-1], np.float32(0.0)), np.float32(1.0))
        return np.append(found, length)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what a file stores."""
        return {field.name: getattr(self, field.name).astype(np.float16) for field in fields(self)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> MixtureHead:
        """Make one of what a file stores."""
        return cls(**{field.name: arrays[field.name].astype(np.float32) for field in fields(cls)})
