"""An LRU cache of results, shared by the threads of a process."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from threading import Lock
from typing import Generic, TypeVar

from cachetools import LRUCache

Value = TypeVar("Value")


@dataclass(frozen=True)
class CacheFigures:
    """What a cache has done: results that were there, results that were computed, and how many are kept."""

    hits: int
    misses: int
    kept: int


class SharedCache(Generic[Value]):
    """The ``maxsize`` results used last; two threads may compute the same one at the same time."""

    def __init__(self, maxsize: int) -> None:
        self._kept: LRUCache[Hashable, Value] = LRUCache(maxsize)
        self._lock = Lock()
        self._hits = self._misses = 0

    def figures(self) -> CacheFigures:
        """Return what it has done so far."""
        with self._lock:
            return CacheFigures(self._hits, self._misses, len(self._kept))

    def get(self, key: Hashable, compute: Callable[[], Value]) -> Value:
        """Return the result kept under the key, else compute it now."""
        with self._lock:
            if key in self._kept:
                self._hits += 1
                return self._kept[key]
            self._misses += 1
        value = compute()
        with self._lock:
            self._kept[key] = value
        return value
