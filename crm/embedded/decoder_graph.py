"""SmolLM2's lower layers as a graph for ONNX Runtime, with their weights in the four bits of their file.

Its kernels unpack four bits as they multiply, in two thirds of the time that NumPy takes, and the whole graph
is one call in which Python's other threads go on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import onnxruntime

from crm.embedded.functions import LowRank
from crm.embedded.onnx_graph import KERNELS, Dimensions, Graph, session_of
from parsing.gguf import GROUP, GGUFFile, Quantised

WIDTH = 576
N_HEADS, N_SHARED, OF_HEAD = 9, 3, 64
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
_INTERLEAVED = {"self_attn.q_proj": N_HEADS, "self_attn.k_proj": N_SHARED}
"""Heads of layers whose halves are interleaved in the file, for another form of rotation."""
_MIDDLE = 8
"""Of the numbers from 0 to 15, which the kernel takes for zero."""
_IN_FULL = 1
"""The kernel's accuracy: it multiplies in 32 bits. In eight it takes half as long, and readings change."""

STATES, COSINES, SINES, VISIBLE = "states", "cosines", "sines", "visible"
PAST_KEYS, PAST_VALUES = "past_keys", "past_values"
LAST, KEYS, VALUES = "last", "keys", "values"


def decoder_session(
    file: GGUFFile, n_layers: int, adapters: Mapping[str, LowRank]
) -> onnxruntime.InferenceSession:
    """Return the lower layers, adapted, ready to run; may be shared between threads.

    It reads T tokens after P others: ``STATES`` ``[1, T, 576]``; ``COSINES`` and ``SINES`` of their places
    ``[1, T, 32]``; ``VISIBLE``, whether a token sees those before and among them, ``[T, P + T]``; and
    ``PAST_KEYS`` and ``PAST_VALUES``, which the former offer to each of L layers, ``[L, 1, 3, P, 64]``. It
    returns ``LAST``, the states after all layers ``[1, T, 576]``, and as ``KEYS`` and ``VALUES`` what all
    tokens offer to those that follow.

    Args:
        file: The model's weights.
        n_layers: From the lowest on, one at least.
        adapters: Low-rank matrices ``[out, R]`` and ``[R, in]`` that are added to linear layers, by their
            names in Transformers, ``layers.0.mlp.up_proj``.

    Raises:
        ParseError: The layers are stored in another format than four bits.
        UnavailableError: The folder of temporary files takes no more.
    """
    of_past: Dimensions = [n_layers, 1, N_SHARED, "past", OF_HEAD]
    of_places: Dimensions = [1, "tokens", OF_HEAD // 2]
    inputs: dict[str, Dimensions] = {
        STATES: [1, "tokens", WIDTH],
        COSINES: of_places,
        SINES: of_places,
        VISIBLE: ["tokens", "seen"],
        PAST_KEYS: of_past,
        PAST_VALUES: of_past,
    }

    def put_together(graph: Graph) -> bytes:
        _add_layers(graph, file, n_layers, adapters)
        return graph.model(inputs, [LAST, KEYS, VALUES], of_bool=[VISIBLE])

    return session_of(put_together)


def _add_layers(graph: Graph, file: GGUFFile, n_layers: int, adapters: Mapping[str, LowRank]) -> None:
    epsilon = float(file.metadata["llama.attention.layer_norm_rms_epsilon"])
    states, keys, values = STATES, [], []
    for number in range(n_layers):
        layer = _Layer(graph, file, number, adapters, epsilon)
        between, of_keys, of_values = layer.attended(states)
        states = layer.passed(between)
        keys.append(of_keys)
        values.append(of_values)
    graph.add("Identity", states, outputs=[LAST])
    for name, each in ((KEYS, keys), (VALUES, values)):
        graph.add("Concat", *(graph.unsqueezed(one) for one in each), outputs=[name], axis=0)


@dataclass(frozen=True)
class _Layer:
    """One layer's nodes."""

    graph: Graph
    file: GGUFFile
    number: int
    adapters: Mapping[str, LowRank]
    epsilon: float

    def attended(self, states: str) -> tuple[str, str, str]:
        """Return the states after attention, and the keys and values of all tokens up to the last."""
        graph = self.graph
        inputs = _Inputs.of(graph, self._normalised(states, "attn"), WIDTH)
        asked, keys, value = (self._linear(f"self_attn.{part}_proj", inputs) for part in "qkv")
        asked, keys = (
            graph.add("RotaryEmbedding", rows, COSINES, SINES, num_heads=number)
            for rows, number in ((asked, N_HEADS), (keys, N_SHARED))
        )
        layer = graph.constant(np.array(self.number))
        past = [graph.add("Gather", each, layer, axis=0) for each in (PAST_KEYS, PAST_VALUES)]
        outputs = graph.several(3)
        taken = graph.add(
            *("Attention", asked, keys, value, VISIBLE, *past),
            outputs=outputs,
            q_num_heads=N_HEADS,
            kv_num_heads=N_SHARED,
        )
        attended = self._linear("self_attn.o_proj", _Inputs.of(graph, taken, WIDTH))
        return graph.add("Add", states, attended), outputs[1], outputs[2]

    def passed(self, between: str) -> str:
        """Return the states after the layer's network."""
        graph = self.graph
        inputs = _Inputs.of(graph, self._normalised(between, "ffn"), WIDTH)
        gate, up = (self._linear(f"mlp.{part}_proj", inputs) for part in ("gate", "up"))
        gated = graph.add("Mul", graph.add("Mul", gate, graph.add("Sigmoid", gate)), up)
        width = self.file.weights[f"blk.{self.number}.ffn_down.weight"].shape[1]
        return graph.add("Add", between, self._linear("mlp.down_proj", _Inputs.of(graph, gated, width)))

    def _normalised(self, states: str, norm: str) -> str:
        """Root mean square normalization (Zhang & Sennrich 2019)."""
        weight = self.graph.constant(self.file.weights[f"blk.{self.number}.{norm}_norm.weight"].rows())
        return self.graph.add("RMSNormalization", states, weight, epsilon=self.epsilon, axis=-1)

    def _linear(self, name: str, inputs: _Inputs) -> str:
        """Return the product with a linear layer's weight, what is added to it included."""
        graph, weight = self.graph, self._weight(name)
        n_outputs, n_inputs = weight.numbers.shape
        in_pairs = weight.numbers.reshape(n_outputs, n_inputs // GROUP, GROUP // 2, 2)
        product = graph.add(
            "MatMulNBits",
            inputs.rows,
            graph.constant(in_pairs[..., 0] | in_pairs[..., 1] << 4),
            graph.constant(weight.scale.ravel()),
            domain=KERNELS,
            K=n_inputs,
            N=n_outputs,
            bits=4,
            block_size=GROUP,
            accuracy_level=_IN_FULL,
        )
        factors, added = inputs.of_groups, [(weight.least + _MIDDLE * weight.scale).T]
        if (adapter := self.adapters.get(f"layers.{self.number}.{name}")) is not None:
            left, right = (each.T.astype(np.float32) for each in adapter)
            low = graph.add("MatMul", inputs.rows, graph.constant(right))
            factors, added = graph.add("Concat", factors, low, axis=-1), [*added, left]
        return graph.add("Add", product, graph.add("MatMul", factors, graph.constant(np.concatenate(added))))

    def _weight(self, name: str) -> Quantised:
        weight = self.file.weights[f"blk.{self.number}.{_LINEAR[name]}.weight"].quantised()
        if heads := _INTERLEAVED.get(name):
            rows = np.arange(len(weight.numbers)).reshape(heads, OF_HEAD // 2, 2).swapaxes(1, 2).ravel()
            weight = Quantised(weight.numbers[rows], weight.scale[rows], weight.least[rows])
        return weight


@dataclass(frozen=True)
class _Inputs:
    """What goes into linear layers.

    Attributes:
        rows: ``[1, T, in]``
        of_groups: Their sums over the groups of weights that share a least one ``[1, T, in / GROUP]``.
    """

    rows: str
    of_groups: str

    @classmethod
    def of(cls, graph: Graph, rows: str, width: int) -> _Inputs:
        """Sum up rows of so many numbers."""
        grouped = graph.reshaped(rows, 1, -1, width // GROUP, GROUP)
        sums = graph.add("ReduceSum", grouped, graph.constant(np.array([3])), keepdims=0)
        return cls(rows, sums)
