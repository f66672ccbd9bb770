"""all-MiniLM-L6-v2 in NumPy, for a few short texts.

Reading one criterion takes as long as with PyTorch, whose import with transformers takes seconds and a third
of a gigabyte: a page that embeds what people type needs neither. Many texts are read by
``crm.embedded.encoder`` with both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import safe_open
from scipy.special import softmax

from crm.embedded.blocks import LowRank, Rows, in_blocks, times_blocks

N_LAYERS = 6
_N_HEADS = 12
_EPSILON = np.float32(1e-12)
_FILE = "model.safetensors"
_WORDS = "embeddings.word_embeddings.weight"
_ONE, _HALF, _ROOT_HALF = np.float32(1), np.float32(0.5), np.float32(0.5**0.5)
_AT = np.float32(0.3275911)
_TERMS = tuple(map(np.float32, (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592)))
"""Of the error function, from the highest power down."""


class WordVectors:
    """The vectors of tokens ``[30522, 384]``, read from a file as they are asked for; may be shared.

    All together they are half of the encoder's 90 MB, and those of the words that people use are few.
    """

    def __init__(self, file: Path) -> None:
        """Open a file. Raises OSError, SafetensorError: It cannot be read, or has no such vectors."""
        opened: Any = safe_open(file, framework="numpy")
        self._rows = opened.get_slice(_WORDS)

    def __getitem__(self, tokens: Sequence[int]) -> Rows:
        """Return the vectors of T tokens ``[T, 384]``."""
        each, place = np.unique(tokens, return_inverse=True)
        found: Rows = np.concatenate([self._rows[token : token + 1] for token in each.tolist()])
        return found[place]


@dataclass(frozen=True)
class MiniLM:
    """The encoder's weights, by their names in its file, and what is added to some; may be shared.

    Attributes:
        words: Vectors of tokens.
        weights: Weights of linear layers are stored in blocks (``crm.embedded.blocks``).
        adapters: Of linear layers, by the layer's name.
    """

    words: WordVectors
    weights: Mapping[str, Rows]
    adapters: Mapping[str, LowRank]

    def states(self, windows: Sequence[Sequence[int]]) -> list[Rows]:
        """Return the hidden states of windows of together T tokens, one after the other ``[T, 384]``.

        Args:
            windows: Numbers of tokens, at most 512 in each.

        Returns:
            The embedded tokens, then what each layer makes of them: ``N_LAYERS + 1`` arrays.
        """
        bounds = np.cumsum([0, *map(len, windows)])
        states = [self._embedded(windows)]
        for number in range(N_LAYERS):
            states.append(self._layer(f"encoder.layer.{number}.", states[-1], bounds.tolist()))
        return states

    def _embedded(self, windows: Sequence[Sequence[int]]) -> Rows:
        places, kinds = (
            self.weights[f"embeddings.{kind}_embeddings.weight"] for kind in ("position", "token_type")
        )
        tokens = [token for window in windows for token in window]
        place = [number for window in windows for number in range(len(window))]
        return self._normalised("embeddings.LayerNorm", self.words[tokens] + places[place] + kinds[0])

    def _layer(self, name: str, inputs: Rows, bounds: Sequence[int]) -> Rows:
        """Return what a layer makes of the tokens ``[T, 384]`` of windows between the bounds."""
        asked, offered, value = (
            self._linear(f"{name}attention.self.{part}", inputs) for part in ("query", "key", "value")
        )
        attended = np.empty_like(inputs)
        for start, stop in pairwise(bounds):
            attended[start:stop] = _attend(*(each[start:stop] for each in (asked, offered, value)))
        attended = self._linear(f"{name}attention.output.dense", attended)
        attended = self._normalised(f"{name}attention.output.LayerNorm", inputs + attended)
        inner = gelu(self._linear(f"{name}intermediate.dense", attended))
        outputs = self._linear(f"{name}output.dense", inner)
        return self._normalised(f"{name}output.LayerNorm", attended + outputs)

    def _linear(self, name: str, inputs: Rows) -> Rows:
        outputs = times_blocks(inputs, self.weights[f"{name}.weight"]) + self.weights[f"{name}.bias"]
        self._adapt(name, inputs, outputs)
        return outputs

    def _adapt(self, name: str, inputs: Rows, outputs: Rows) -> None:
        if name in self.adapters:
            left, right = self.adapters[name]
            outputs += (inputs @ right.T) @ left.T

    def _normalised(self, name: str, inputs: Rows) -> Rows:
        scaled: Rows = normalised(inputs, _EPSILON) * self.weights[f"{name}.weight"]
        return scaled + self.weights[f"{name}.bias"]


@dataclass(frozen=True)
class _Several(MiniLM):
    """Encoders that share their weights: each has its part of the tokens, all parts equally long."""

    each: Sequence[MiniLM] = ()

    def _adapt(self, name: str, inputs: Rows, outputs: Rows) -> None:
        parts = (np.split(rows, len(self.each)) for rows in (inputs, outputs))
        for encoder, own_inputs, own_outputs in zip(self.each, *parts, strict=True):
            encoder._adapt(name, own_inputs, own_outputs)


def last_states_of_each(encoders: Sequence[MiniLM], windows: Sequence[Sequence[int]]) -> list[Rows]:
    """Return the last hidden states of windows of together T tokens by each encoder, ``[T, 384]``.

    The encoders share their weights. With a few short texts most of the time goes into reading those from
    memory, so that several encoders take little longer than one; up to the first layer that is adapted in one
    of them, they are one.
    """
    states, sharing = encoders[0]._embedded(windows), [list(range(len(encoders)))]
    for number in range(N_LAYERS):
        name = f"encoder.layer.{number}."
        apart = [_adapted_apart(encoders, some, name) for some in sharing]
        parts = zip(apart, np.split(states, len(sharing)), strict=True)
        states = np.concatenate([part for groups, part in parts for _ in groups])
        sharing = [group for groups in apart for group in groups]
        each = [encoders[group[0]] for group in sharing]
        bounds = np.cumsum([0, *map(len, [*windows] * len(each))]).tolist()
        together = _Several(encoders[0].words, encoders[0].weights, {}, each)
        states = together._layer(name, states, bounds)
    place = {one: number for number, group in enumerate(sharing) for one in group}
    of_groups = np.split(states, len(sharing))
    return [of_groups[place[one]] for one in range(len(encoders))]


def _adapted_apart(encoders: Sequence[MiniLM], some: Sequence[int], layer: str) -> list[list[int]]:
    """Return some of the encoders in groups that are one in a layer: all in which nothing is added there."""
    adapted = [one for one in some if any(name.startswith(layer) for name in encoders[one].adapters)]
    plain = [one for one in some if one not in adapted]
    return [*([plain] if plain else []), *([one] for one in adapted)]


def _attend(asked: Rows, offered: Rows, value: Rows) -> Rows:
    """Return what each of T tokens of one window takes from all of them ``[T, 384]``."""
    by_head = (each.reshape(len(each), _N_HEADS, -1).transpose(1, 0, 2) for each in (asked, offered, value))
    asked, offered, value = by_head
    share = softmax(asked @ offered.transpose(0, 2, 1) / np.float32(asked.shape[2] ** 0.5), axis=2)
    taken: Rows = (share @ value).transpose(1, 0, 2).reshape(value.shape[1], -1)
    return taken


def normalised(rows: Rows, epsilon: np.float32) -> Rows:
    """Return rows with mean 0 and variance 1 each (Ba et al. 2016, https://arxiv.org/abs/1607.06450)."""
    centred = rows - rows.mean(axis=1, keepdims=True)
    variance = np.square(centred).mean(axis=1, keepdims=True)
    scaled: Rows = centred / np.sqrt(variance + epsilon)
    return scaled


def gelu(inputs: Rows) -> Rows:
    """Return the Gaussian error linear unit (Hendrycks & Gimpel 2016) of every number.

    The error function is formula 7.1.26 of Abramowitz & Stegun (1964), whose error is as small as a rounding
    in single precision: SciPy's takes six times as long.
    """
    size = np.abs(inputs)
    root = size * _ROOT_HALF
    inverse: Rows = np.reciprocal(_ONE + _AT * root)
    beyond = inverse * _TERMS[0]
    for term in _TERMS[1:]:
        beyond += term
        beyond *= inverse
    beyond *= np.exp(-np.square(root))
    beyond *= size
    beyond *= _HALF
    gained: Rows = np.maximum(inputs, 0) - beyond
    return gained


@cache
def _words(folder: Path) -> WordVectors:
    return WordVectors(folder / _FILE)


@cache
def _weights(folder: Path) -> Mapping[str, Rows]:
    weights: dict[str, Rows] = {}
    with safe_open(folder / _FILE, framework="numpy") as stored:
        for name in stored.keys():  # noqa: SIM118  # it is no mapping
            if name == _WORDS or name.startswith("pooler."):
                continue
            array: Rows = stored.get_tensor(name)
            is_linear = name.endswith(".weight") and array.ndim == 2 and "embeddings" not in name  # noqa: PLR2004
            weights[name] = in_blocks(array.T) if is_linear else array
    return weights


def load_minilm(folder: Path, adapters: Mapping[str, LowRank] | None = None) -> MiniLM:
    """Return the encoder of a folder; all of one folder share its weights.

    Raises:
        OSError, SafetensorError: Its weights cannot be read.
    """
    in_full = {
        name: (left.astype(np.float32), right.astype(np.float32))
        for name, (left, right) in (adapters or {}).items()
    }
    return MiniLM(_words(folder), _weights(folder), in_full)


def stored_adapters(adapters: Mapping[str, LowRank]) -> dict[str, NDArray[Any]]:
    """Return what a file stores of adapters, in half precision."""
    arrays: dict[str, NDArray[Any]] = {"layers": np.array(list(adapters))}
    for number, (left, right) in enumerate(adapters.values()):
        arrays[f"left_{number}"], arrays[f"right_{number}"] = (
            each.astype(np.float16) for each in (left, right)
        )
    return arrays


def read_adapters(arrays: Mapping[str, NDArray[Any]]) -> dict[str, LowRank]:
    """Return the adapters that a file stores."""
    return {
        layer: (arrays[f"left_{number}"], arrays[f"right_{number}"])
        for number, layer in enumerate(arrays["layers"].tolist())
    }
