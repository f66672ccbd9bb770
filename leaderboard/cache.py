"""An LRU cache of results, shared by the threads of a process."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar

from cachetools import LRUCache

Value = TypeVar("Value")


class SharedCache(Generic[Value]):
    """The ``maxsize`` results used last; two threads may compute the same one at the same time."""

    def __init__(self, maxsize: int) -> None:
        self._kept: LRUCache[Hashable, Value] = LRUCache(maxsize)
        self._lock = Lock()

    def get(self, key: Hashable, compute: Callable[[], Value]) -> Value:
        """Return the result kept under the key, else compute it now."""
        with self._lock:
            if key in self._kept:
                return self._kept[key]
        value = compute()
        with self._lock:
            self._kept[key] = value
        return value
