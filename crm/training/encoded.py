"""Encoded responses, kept in a file between trainings:
encoding is nine tenths of the time that a training takes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from crm.embedded.encoder import ProgressCallback
from crm.embedded.model import QueryResponse
from crm.embedded.representation import Representation, load_arrays, text_digest
from crm.protocol import Floats

_CHUNK = 512


class ResponseEncoder:
    """Encodes responses as a benchmark stores them, each once."""

    def __init__(self, features: Representation, kept: Path | None = None) -> None:
        """Encode with a representation; what ``kept`` holds is not encoded again,
        and what is new goes there."""
        self.features = features
        self._kept = kept
        self._rows: dict[int, tuple[NDArray[np.int8], NDArray[np.float16]]] = {}
        if kept is not None and kept.is_file():
            arrays = load_arrays(kept, "key", "features", "counts", "representation")
            if str(arrays["representation"]) == features.digest:
                self._rows = dict(
                    zip(
                        arrays["key"].tolist(),
                        zip(arrays["features"], arrays["counts"], strict=True),
                        strict=True,
                    )
                )

    def __call__(
        self, answers: Sequence[QueryResponse], progress: ProgressCallback | None = None
    ) -> tuple[Floats, NDArray[np.float16]]:
        """Return φ ``[N, D]`` and exact counts ``[N, C]`` of N responses, each with the query it answers."""
        keys = [_key(answer) for answer in answers]
        unknown = list(
            {key: answer for key, answer in zip(keys, answers, strict=True) if key not in self._rows}.items()
        )
        for start in range(0, len(unknown), _CHUNK):
            chunk = unknown[start : start + _CHUNK]
            texts, queries = zip(*(answer for _, answer in chunk), strict=True)
            stored = self.features.encode(texts, queries)
            for place, (key, _) in enumerate(chunk):
                self._rows[key] = (stored["features"][place], stored["counts"][place])
            self._save()
            if progress is not None:
                progress(start + len(chunk), len(unknown))
        features = np.stack([self._rows[key][0] for key in keys]).astype(np.float32)
        return features * np.float32(self.features.step), np.stack([self._rows[key][1] for key in keys])

    def _save(self) -> None:
        if self._kept is None:
            return
        features, counts = zip(*self._rows.values(), strict=True)
        unfinished = self._kept.with_suffix(".part.npz")
        np.savez(
            unfinished,
            key=np.array(list(self._rows), dtype=np.uint64),
            features=np.stack(features),
            counts=np.stack(counts),
            representation=np.array(self.features.digest),
        )
        unfinished.replace(self._kept)


def _key(answer: QueryResponse) -> int:
    return int(text_digest("\0".join(answer)))
