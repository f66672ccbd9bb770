"""all-MiniLM-L6-v2 for a few short texts, each layer a graph for ONNX Runtime.

A page that embeds what people type needs neither PyTorch nor transformers, whose import takes seconds and a
third of a gigabyte. Many texts are read by ``crm.embedded.encoder`` with both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from safetensors import safe_open

from crm.batches import batches
from crm.embedded.functions import LowRank, Rows, normalised
from crm.embedded.onnx_graph import Dimensions, Graph, session_of

N_LAYERS = 6
_WIDTH, _N_HEADS = 384, 12
_EPSILON = 1e-12
_FILE = "model.safetensors"
_WORDS = "embeddings.word_embeddings.weight"
_AT_ONCE = 128
"""Tokens of several windows that are read together: each is held against each other."""
_ASKED = ("attention.self.query", "attention.self.key", "attention.self.value")
_LINEAR = {
    **dict.fromkeys((*_ASKED, "attention.output.dense"), (_WIDTH, _WIDTH)),
    "intermediate.dense": (_WIDTH, 4 * _WIDTH),
    "output.dense": (4 * _WIDTH, _WIDTH),
}
"""Linear layers of a layer, with how many numbers go in and come out."""

_STATES, _TOGETHER, _NEXT = "states", "together", "next"


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
class _Weights:
    """What encoders of one folder share.

    Attributes:
        words: Vectors of tokens.
        places: Those of places in a window ``[512, 384]``; of the kind of text is in them.
        scale: Of the normalization of embedded tokens ``[384]``.
        shift: The same.
        layers: Take states and give the next ones.
    """

    words: WordVectors
    places: Rows
    scale: Rows
    shift: Rows
    layers: Sequence[onnxruntime.InferenceSession]

    def embedded(self, windows: Sequence[Sequence[int]]) -> Rows:
        """Return the embedded tokens of windows of together T tokens ``[T, 384]``."""
        tokens = [token for window in windows for token in window]
        place = [number for window in windows for number in range(len(window))]
        rows: Rows = normalised(self.words[tokens] + self.places[place], np.float32(_EPSILON))
        return rows * self.scale + self.shift


@dataclass(frozen=True, eq=False)
class MiniLM:
    """The encoder, and what is added to some of its weights; may be shared.

    Attributes:
        weights: Shared by all encoders of a folder.
        adapters: Of linear layers, by the layer's name.
    """

    weights: _Weights
    adapters: Mapping[str, LowRank]

    def states(self, windows: Sequence[Sequence[int]]) -> list[Rows]:
        """Return the hidden states of windows of together T tokens, one after the other ``[T, 384]``.

        Args:
            windows: Numbers of tokens, at most 512 in each.

        Returns:
            The embedded tokens, then what each layer makes of them: ``N_LAYERS + 1`` arrays.
        """
        return [layer[0] for layer in _together((self,)).states(windows)]


@dataclass(frozen=True)
class _Together:
    """Encoders that are read at once, as they share their weights.

    Up to the first layer that is adapted in one of them, they are one.

    Attributes:
        each: At least one.
        groups: Which of them are one, by layer.
        added: What is added to the layers' weights, by layer.
    """

    each: Sequence[MiniLM]
    groups: list[list[list[int]]] = field(init=False, default_factory=list)
    added: list[Mapping[str, Rows]] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        """Find out in which layers they are one."""
        sharing = [list(range(len(self.each)))]
        for number in range(N_LAYERS):
            sharing = [part for group in sharing for part in self._apart(group, _name(number))]
            self.groups.append(sharing)
            adapters = [self.each[group[0]].adapters for group in sharing]
            self.added.append(dict(_stacked(adapters, _name(number))))

    def _apart(self, some: Sequence[int], layer: str) -> list[list[int]]:
        """Return encoders in groups that are one in a layer: all in which nothing is added there."""
        adapted = [one for one in some if any(name.startswith(layer) for name in self.each[one].adapters)]
        plain = [one for one in some if one not in adapted]
        return [*([plain] if plain else []), *([one] for one in adapted)]

    def states(self, windows: Sequence[Sequence[int]]) -> Iterator[list[Rows]]:
        """Yield the states of windows of together T tokens by each encoder ``[T, 384]``, of the embedded
        tokens and then layer by layer."""
        weights, n = self.each[0].weights, len(self.each)
        embedded, starts = weights.embedded(windows), np.cumsum([0, *map(len, windows)])
        yield [embedded] * n
        parts = [
            (slice(starts[rows[0]], starts[rows[-1] + 1]), _within([len(windows[row]) for row in rows]))
            for rows in batches([len(window) for window in windows], _AT_ONCE)
        ]
        states, before = embedded[None], [list(range(n))]
        for layer, groups, added in zip(weights.layers, self.groups, self.added, strict=True):
            source = [next(at for at, old in enumerate(before) if group[0] in old) for group in groups]
            states, before = states[source], groups
            made = np.empty_like(states)
            for tokens, together in parts:
                [made[:, tokens]] = layer.run(
                    [_NEXT], {_STATES: states[:, tokens], _TOGETHER: together, **added}
                )
            states = made
            place = {one: at for at, group in enumerate(groups) for one in group}
            yield [states[place[one]] for one in range(n)]


def last_states_of_each(encoders: Sequence[MiniLM], windows: Sequence[Sequence[int]]) -> list[Rows]:
    """Return the last hidden states of windows of together T tokens by each encoder, ``[T, 384]``.

    The encoders share their weights. With a few short texts most of the time goes into reading those from
    memory, so that several encoders take little longer than one.
    """
    *_, last = _together(tuple(encoders)).states(windows)
    return last


@lru_cache(maxsize=8)
def _together(encoders: tuple[MiniLM, ...]) -> _Together:
    return _Together(encoders)


def _within(lengths: Sequence[int]) -> NDArray[np.bool_]:
    """Return which tokens are in the same window as each ``[T, T]``."""
    window = np.repeat(np.arange(len(lengths)), lengths)
    together: NDArray[np.bool_] = window[:, None] == window
    return together


def _name(layer: int) -> str:
    return f"encoder.layer.{layer}."


def _stacked(adapters: Sequence[Mapping[str, LowRank]], layer: str) -> Iterator[tuple[str, Rows]]:
    """Yield what E encoders add to a layer, as its graph takes it: ``[E, in, R]`` and ``[E, R, out]``."""
    for name, (n_in, n_out) in _LINEAR.items():
        own = [each.get(f"{layer}{name}") for each in adapters]
        rank = max([1, *(len(low[1]) for low in own if low)])
        rights = np.zeros((len(own), n_in, rank), np.float32)
        lefts = np.zeros((len(own), rank, n_out), np.float32)
        for low, right, left in zip(own, rights, lefts, strict=True):
            if low:
                right[:, : len(low[1])], left[: len(low[1])] = low[1].T, low[0].T
        yield from zip(_added_to(name), (rights, lefts), strict=True)


def _added_to(linear: str) -> tuple[str, str]:
    """Return what a layer's graph calls the two factors that are added to a weight."""
    return f"{linear}.right", f"{linear}.left"


@dataclass(frozen=True)
class _Layer:
    """A layer's graph.

    It takes ``_STATES`` of E encoders ``[E, T, 384]``, which tokens are ``_TOGETHER`` in a window ``[T, T]``,
    and what encoders add to the weights of each of ``_LINEAR`` ``[E, in, R]`` and ``[E, R, out]``.
    """

    graph: Graph
    weights: Mapping[str, Rows]

    def put_together(self) -> bytes:
        """Return all of it as it is stored."""
        graph, states = self.graph, _STATES
        asked, offered, value = graph.several(3)
        width = graph.constant(np.array([_WIDTH] * 3))
        graph.add("Split", self._linear(_ASKED, states), width, outputs=[asked, offered, value], axis=-1)
        attended = graph.add(
            *("Attention", asked, offered, value, _TOGETHER), q_num_heads=_N_HEADS, kv_num_heads=_N_HEADS
        )
        between = graph.add("Add", states, self._linear(["attention.output.dense"], attended))
        between = self._normalised(between, "attention.output.LayerNorm")
        inner = graph.add("Gelu", self._linear(["intermediate.dense"], between))
        outputs = graph.add("Add", between, self._linear(["output.dense"], inner))
        self._normalised(outputs, "output.LayerNorm", outputs=[_NEXT])
        of_added: Dimensions = ["encoders", None, None]
        inputs: dict[str, Dimensions] = {
            _STATES: ["encoders", "tokens", _WIDTH],
            _TOGETHER: ["tokens", "tokens"],
            **{name: of_added for linear in _LINEAR for name in _added_to(linear)},
        }
        return graph.model(inputs, [_NEXT], of_bool=[_TOGETHER])

    def _linear(self, names: Sequence[str], inputs: str) -> str:
        """Return the products with linear layers of the same inputs, one beside the other."""
        graph = self.graph
        weight, bias = (
            np.concatenate([self.weights[f"{name}.{part}"] for name in names]) for part in ("weight", "bias")
        )
        product = graph.add("MatMul", inputs, graph.constant(weight.T))
        added = []
        for right, left in map(_added_to, names):
            added.append(graph.add("MatMul", graph.add("MatMul", inputs, right), left))
        beside = graph.add("Concat", *added, axis=-1)
        return graph.add("Add", graph.add("Add", product, graph.constant(bias)), beside)

    def _normalised(self, rows: str, name: str, outputs: list[str] | None = None) -> str:
        """Layer normalization (Ba et al. 2016, https://arxiv.org/abs/1607.06450)."""
        scale, shift = (self.graph.constant(self.weights[f"{name}.{part}"]) for part in ("weight", "bias"))
        return self.graph.add(
            "LayerNormalization", rows, scale, shift, outputs=outputs, axis=-1, epsilon=_EPSILON
        )


@cache
def _weights(folder: Path) -> _Weights:
    with safe_open(folder / _FILE, framework="numpy") as stored:
        embeddings = _of(stored, "embeddings.")
        layers = [_layer(_of(stored, _name(number))) for number in range(N_LAYERS)]
    places, kinds = (embeddings[f"{kind}_embeddings.weight"] for kind in ("position", "token_type"))
    scale, shift = (embeddings[f"LayerNorm.{part}"] for part in ("weight", "bias"))
    return _Weights(WordVectors(folder / _FILE), places + kinds[0], scale, shift, layers)


def _of(stored: Any, beginning: str) -> dict[str, Rows]:
    """Return the weights of a file whose names begin so, by the rest of them; not the vectors of words."""
    names = [name for name in stored.keys() if name.startswith(beginning) and name != _WORDS]  # noqa: SIM118
    return {name.removeprefix(beginning): stored.get_tensor(name) for name in names}


def _layer(weights: Mapping[str, Rows]) -> onnxruntime.InferenceSession:
    return session_of(lambda graph: _Layer(graph, weights).put_together())


def load_minilm(folder: Path, adapters: Mapping[str, LowRank] | None = None) -> MiniLM:
    """Return the encoder of a folder; all of one folder share its weights.

    Raises:
        OSError, SafetensorError: Its weights cannot be read.
        UnavailableError: The folder of temporary files takes no more.
    """
    return MiniLM(_weights(folder), adapters or {})


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
