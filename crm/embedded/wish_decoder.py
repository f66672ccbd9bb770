"""A language model that reads wishes: SmolLM2's lower layers, adapted to them."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from crm.batches import batches
from crm.embedded.decoder_graph import WIDTH
from crm.embedded.functions import LowRank, Rows
from crm.embedded.minilm import read_adapters, stored_adapters
from crm.embedded.smollm2 import SmolLM2, read_smollm2
from crm.protocol import Floats

BEGINNING, ENDING = 'A user wants answers like this: "', '", that is:'
"""What stands around a wish; the model says at the end what it stands for."""
MAX_TOKENS = 60
"""Of a wish."""
_AT_ONCE = 512
"""Tokens that are read together: each is held against each other."""
_EPSILON = np.float32(1e-5)


class WishDecoder:
    """Says which of C classes a wish is of; may be shared between threads.

    Its weights, some 100 MB, are loaded when it is first asked.
    """

    def __init__(
        self,
        weight: Floats,
        bias: Floats,
        adapters: Mapping[str, LowRank],
        *,
        n_layers: int,
        sharpness: float = 1.0,
    ) -> None:
        """Join the fitted parts.

        Args:
            weight: ``[2 · 576, C]``, on the state at the end and the mean state of the wish.
            bias: ``[C]``.
            adapters: Of the model's linear layers.
            n_layers: How many of its layers are used.
            sharpness: Factor on the logits, by which the probabilities are calibrated.
        """
        self._weight, self._bias, self._adapters = weight, bias, adapters
        self._n_layers, self._sharpness = n_layers, np.float32(sharpness)
        self._loading = threading.Lock()
        self._loaded: SmolLM2 | None = None

    def load(self) -> SmolLM2:
        """Return the adapted model, loaded at the first call.

        Raises:
            UnavailableError: Its weights are not installed.
        """
        with self._loading:
            if self._loaded is None:
                self._loaded = SmolLM2(read_smollm2(), self._n_layers, self._adapters, BEGINNING)
            return self._loaded

    @property
    def width(self) -> int:
        """How many numbers ``vectors`` gives of a wish."""
        return 2 * WIDTH

    def vectors(self, wishes: Sequence[str]) -> Floats:
        """Return the state at the end of each of N wishes and its mean state, normalised ``[N, 2 · 576]``.

        As many are read at once as fit: a few take hardly more time than one. What is read beside a wish
        moves probabilities by a few millionths.
        """
        pooled = np.zeros((len(wishes), 2 * WIDTH), np.float32)
        model = self.load()
        *of_wishes, ending = model.tokens([*wishes, ENDING])
        cut = [tokens[:MAX_TOKENS] for tokens in of_wishes]
        for rows in batches([len(tokens) + len(ending) for tokens in cut], _AT_ONCE):
            states = model.states([cut[row] + ending for row in rows])
            pooled[rows] = [_pooled(each, len(ending)) for each in states]
        return _layer_normalised(pooled)

    def logits(self, vectors: Floats, *, bulk: bool = False) -> Floats:
        """Return the logits of N wishes, before sharpening ``[N, C]``, by their ``vectors``."""
        if bulk:
            return np.asarray(vectors @ self._weight + self._bias, dtype=np.float32)
        return np.stack([vector @ self._weight + self._bias for vector in vectors])

    def prob(self, vectors: Floats, *, bulk: bool = False) -> Floats:
        """Return the probabilities of the classes ``[N, C]``, by the wishes' ``vectors``."""
        prob: Floats = np.exp(log_softmax(self.logits(vectors, bulk=bulk) * self._sharpness, axis=1))
        return prob

    def sharpened(self, sharpness: float) -> WishDecoder:
        """Return the decoder with another sharpness."""
        return WishDecoder(
            self._weight, self._bias, self._adapters, n_layers=self._n_layers, sharpness=sharpness
        )

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what a file stores."""
        return {
            "weight": self._weight.astype(np.float16),
            "bias": self._bias.astype(np.float32),
            "sharpness": np.array(self._sharpness),
            "n_layers": np.array(self._n_layers),
            **stored_adapters(self._adapters),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> WishDecoder:
        """Make a decoder of what a file stores."""
        return cls(
            arrays["weight"].astype(np.float32),
            arrays["bias"],
            read_adapters(arrays),
            n_layers=int(arrays["n_layers"]),
            sharpness=float(arrays["sharpness"]),
        )


def _pooled(states: Rows, n_ending: int) -> Rows:
    """Return the last state of a text and the mean of those of the wish in it ``[2 · 576]``."""
    normalised = _layer_normalised(states)
    of_wish = normalised[:-n_ending]
    return np.concatenate([normalised[-1], of_wish.sum(axis=0) / np.float32(max(1, len(of_wish)))])


def _layer_normalised(rows: Rows) -> Rows:
    """Layer normalization (Ba et al. 2016) without weights."""
    centred = rows - rows.mean(axis=1, keepdims=True)
    normalised: Rows = centred / np.sqrt(np.square(centred).mean(axis=1, keepdims=True) + _EPSILON)
    return normalised
