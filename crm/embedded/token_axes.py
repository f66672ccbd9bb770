"""Axes of tokens: how a response speaks, as a small network hears it in each of its tokens.

The mean of an early state forgets how single words stand beside each other; what the network makes of every
token in its context is averaged instead. It was fitted together with the styles to comparisons of responses
(``crm.training.token_axes``), so that its axes are what such comparisons need beside everything counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crm.embedded.functions import gelu, normalised
from crm.protocol import Floats

TOKEN_LAYER = 2
"""Layer of the encoder whose states are read: later ones are about content, and tell styles less well."""
_EPSILON = np.float32(1e-5)
_PREFIX = "tokens_"


@dataclass(frozen=True)
class TokenAxes:
    """``norm(mean over tokens of gelu(norm(h) W₁ + b₁)) W₂ + b₂`` of the states h of a text's tokens.

    Attributes:
        hidden_weight: W₁ ``[384, H]``.
        hidden_bias: b₁ ``[H]``.
        output_weight: W₂ ``[H, K]``.
        output_bias: b₂ ``[K]``.
    """

    hidden_weight: Floats
    hidden_bias: Floats
    output_weight: Floats
    output_bias: Floats

    @property
    def hidden_size(self) -> int:
        """What a token is turned into, H."""
        return len(self.hidden_bias)

    @property
    def size(self) -> int:
        """Number of axes K."""
        return len(self.output_bias)

    def heard(self, states: Floats) -> Floats:
        """Return what the network makes of T tokens ``[T, H]``, by their states ``[T, 384]``."""
        heard: Floats = gelu(normalised(states, _EPSILON) @ self.hidden_weight + self.hidden_bias)
        return heard

    def along(self, heard: Floats) -> Floats:
        """Return where N texts stand along the axes ``[N, K]``, by the mean of their tokens ``[N, H]``."""
        along: Floats = normalised(heard, _EPSILON) @ self.output_weight + self.output_bias
        return along

    def arrays(self) -> dict[str, Floats]:
        """Return what a file stores."""
        return {_PREFIX + each.name: getattr(self, each.name) for each in fields(self)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> TokenAxes:
        """Read what ``arrays`` returned."""
        return cls(**{each.name: arrays[_PREFIX + each.name] for each in fields(cls)})


TOKEN_ARRAYS = tuple(_PREFIX + each.name for each in fields(TokenAxes))
