"""A network that reads wishes: the sentence encoder, adapted to them, beside their words and turns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from crm.embedded.encoder import (
    DIMENSIONS,
    Adaptation,
    AttentiveEncoder,
    attentive_encoder,
    pool_by_each,
)
from crm.embedded.minilm import read_adapters, stored_adapters
from crm.embedded.surface import turns, word_hashes
from crm.protocol import Floats

_SPREAD = np.float32(DIMENSIONS**0.5)


class WishNetwork:
    """Says which of C classes a wish is of; may be shared between threads."""

    def __init__(
        self,
        weight: Floats,
        bias: Floats,
        words: NDArray[np.floating],
        adaptation: Adaptation,
        *,
        sharpness: float = 1.0,
    ) -> None:
        """Join the fitted parts.

        Args:
            weight: ``[(1 + H) · 384 + N_TURNS + E, C]`` on the adapted encoder's vectors, turns and words.
            bias: ``[C]``.
            words: Vectors of hashed words ``[N_BUCKETS, E]``, in half precision or single.
            adaptation: Of the encoder, with H queries.
            sharpness: Factor on the logits, by which the probabilities are calibrated.
        """
        self._weight, self._bias, self._words, self._adaptation = weight, bias, words, adaptation
        self._sharpness = np.float32(sharpness)
        self._encoder: AttentiveEncoder | None = None

    def logits(self, wishes: Sequence[str], *, bulk: bool = False) -> Floats:
        """Return the logits of N wishes, before sharpening ``[N, C]``; ``bulk`` as the encoder has it."""
        return self._logits(self._adapted().pool(wishes, bulk=bulk), wishes)

    def prob(self, wishes: Sequence[str], *, bulk: bool = False) -> Floats:
        """Return the probabilities of the classes ``[N, C]``."""
        return self._prob(self.logits(wishes, bulk=bulk))

    def _logits(self, pooled: Floats, wishes: Sequence[str]) -> Floats:
        inputs = np.concatenate([pooled * _SPREAD, turns(wishes), self._of_words(wishes)], axis=1)
        logits: Floats = inputs @ self._weight + self._bias
        return logits

    def _prob(self, logits: Floats) -> Floats:
        prob: Floats = np.exp(log_softmax(logits * self._sharpness, axis=1))
        return prob

    def sharpened(self, sharpness: float) -> WishNetwork:
        """Return the network with another sharpness."""
        return WishNetwork(self._weight, self._bias, self._words, self._adaptation, sharpness=sharpness)

    def _of_words(self, wishes: Sequence[str]) -> Floats:
        """Return the sum of the vectors of each wish's words by the root of their number ``[N, E]``."""
        found = np.zeros((len(wishes), self._words.shape[1]), dtype=np.float32)
        for row, wish in enumerate(wishes):
            if hashes := word_hashes(wish):
                found[row] = self._words[hashes].sum(axis=0, dtype=np.float32) / np.sqrt(len(hashes))
        return found

    def _adapted(self) -> AttentiveEncoder:
        if self._encoder is None:
            self._encoder = attentive_encoder(self._adaptation)
        return self._encoder

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what a file stores."""
        return {
            "weight": self._weight.astype(np.float16),
            "bias": self._bias.astype(np.float32),
            "words": self._words.astype(np.float16),
            "queries": self._adaptation.queries.astype(np.float32),
            "sharpness": np.array(self._sharpness),
            **stored_adapters(self._adaptation.adapters),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> WishNetwork:
        """Make a network of what a file stores."""
        weight, words = arrays["weight"].astype(np.float32), arrays["words"]  # of which few are looked at
        adaptation = Adaptation(read_adapters(arrays), arrays["queries"])
        return cls(weight, arrays["bias"], words, adaptation, sharpness=float(arrays["sharpness"]))


def read_by_each(
    networks: Sequence[WishNetwork], wishes: Sequence[str], *, bulk: bool = False
) -> tuple[list[Floats], Floats]:
    """Return what ``prob`` of each of M networks does, and the means by which they read ``[N, 384 M]``.

    Those are of unit spread and side by side. Unless in bulk all are computed together, as is quicker for few
    wishes.
    """
    encoders = [network._adapted() for network in networks]
    pooled = [each.pool(wishes, bulk=True) for each in encoders] if bulk else pool_by_each(encoders, wishes)
    prob = [
        network._prob(network._logits(vectors, wishes))
        for network, vectors in zip(networks, pooled, strict=True)
    ]
    return prob, np.concatenate([vectors[:, :DIMENSIONS] for vectors in pooled], axis=1) * _SPREAD
