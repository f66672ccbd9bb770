"""An LRU cache of results, shared by the threads of a process."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, fields, is_dataclass
from threading import Event, Lock
from typing import Any, Generic, TypeVar

import numpy as np
from cachetools import LRUCache

Value = TypeVar("Value")


@dataclass(frozen=True)
class CacheFigures:
    """What a cache has done: results that were there, results that were computed, and how many are kept."""

    hits: int
    misses: int
    kept: int


class SharedCache(Generic[Value]):
    """The results used last. Who asks for one that another thread computes waits for it."""

    def __init__(
        self, maxsize: int, size_of: Callable[[Value], int] | None = None, *, least: int = 0
    ) -> None:
        """Keep so many results or, where ``size_of`` tells the size of one, so much of them in all.

        Args:
            least: So many are kept however large they are. Without any, a result that is larger than all
                that may be kept is computed whenever it is asked for.
        """
        counted_as = maxsize // least if least else None

        def size(value: Value) -> int:
            found = 1 if size_of is None else size_of(value)
            return found if counted_as is None else min(found, counted_as)

        self._kept: LRUCache[Hashable, Value] = LRUCache(maxsize, getsizeof=size)
        self._computed: dict[Hashable, Event] = {}
        self._lock = Lock()
        self._hits = self._misses = 0

    def figures(self) -> CacheFigures:
        """Return what it has done so far."""
        with self._lock:
            return CacheFigures(self._hits, self._misses, len(self._kept))

    def __contains__(self, key: Hashable) -> bool:
        with self._lock:
            return key in self._kept

    def items(self) -> list[tuple[Hashable, Value]]:
        """Return what is kept, each with its key, what was computed last at the end."""
        with self._lock:
            return [*self._kept.items()]

    def get(self, key: Hashable, compute: Callable[[], Value]) -> Value:
        """Return the result kept under the key, else compute it now; raises what computing it raises."""
        while True:
            with self._lock:
                if key in self._kept:
                    self._hits += 1
                    return self._kept[key]
                at_work = self._computed.get(key)
                if at_work is None:
                    self._misses += 1
                    mine = self._computed[key] = Event()
                    break
            at_work.wait()
        try:
            value = compute()
            with self._lock:
                if self._kept.getsizeof(value) <= self._kept.maxsize:
                    self._kept[key] = value
            return value
        finally:
            with self._lock:
                del self._computed[key]
            mine.set()


def bytes_of(value: Any) -> int:
    """Return the bytes of the arrays in a value, in dataclasses, mappings, lists and tuples as well."""
    if isinstance(value, np.ndarray):
        return value.nbytes
    if is_dataclass(value) and not isinstance(value, type):
        return sum(bytes_of(getattr(value, field.name)) for field in fields(value))
    if isinstance(value, dict):
        return sum(map(bytes_of, value.values()))
    if isinstance(value, list | tuple):
        return sum(map(bytes_of, value))
    return 0
