"""An LRU cache of results, shared by the threads of a process."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, fields, is_dataclass
from itertools import islice
from threading import Event, Lock
from typing import Any, Generic, TypeVar

import numpy as np

Value = TypeVar("Value")

_STILL_GROWING = 8
"""Of results that grow, so many that were used last are measured when another one comes: to measure all of
them took as long as to compute it."""


@dataclass(frozen=True)
class CacheFigures:
    """What a cache has done.

    Attributes:
        hits: Results that were there.
        misses: Results that were computed.
        kept: How many are kept.
        size: Of those together, in bytes where the cache is bounded in bytes.
    """

    hits: int
    misses: int
    kept: int
    size: int


class SharedCache(Generic[Value]):
    """The results used last. Who asks for one that another thread computes waits for it."""

    def __init__(
        self,
        maxsize: int,
        size_of: Callable[[Value], int] = lambda _: 1,
        *,
        least: int = 0,
        grows: bool = False,
    ) -> None:
        """Keep so many results or, where ``size_of`` tells the size of one, so much of them in all.

        Args:
            least: So many are kept however large they are. Without any, a result that is larger than all
                that may be kept is computed whenever it is asked for.
            grows: Results grow while they are used, so that each is measured anew whenever it is asked for.
        """
        self._maxsize, self._size_of, self._grows = maxsize, size_of, grows
        self._counted_as = maxsize // least if least else None
        self._kept: OrderedDict[Hashable, Value] = OrderedDict()
        self._sizes: dict[Hashable, int] = {}
        self._computed: dict[Hashable, Event] = {}
        self._lock = Lock()
        self._hits = self._misses = 0

    def figures(self) -> CacheFigures:
        """Return what it has done so far."""
        with self._lock:
            size = sum(map(self._size_of, self._kept.values()))
            return CacheFigures(self._hits, self._misses, len(self._kept), size)

    def __contains__(self, key: Hashable) -> bool:
        with self._lock:
            return key in self._kept

    def items(self) -> list[tuple[Hashable, Value]]:
        """Return what is kept, each with its key, what was used last at the end."""
        with self._lock:
            return [*self._kept.items()]

    def get(self, key: Hashable, compute: Callable[[], Value]) -> Value:
        """Return the result kept under the key, else compute it now; raises what computing it raises."""
        while True:
            with self._lock:
                if key in self._kept:
                    self._hits += 1
                    return self._used(key)
                at_work = self._computed.get(key)
                if at_work is None:
                    self._misses += 1
                    mine = self._computed[key] = Event()
                    break
            at_work.wait()
        try:
            value = compute()
            with self._lock:
                self._keep(key, value)
            return value
        finally:
            with self._lock:
                del self._computed[key]
            mine.set()

    def _used(self, key: Hashable) -> Value:
        """Return a result that is kept, and make room for what it has grown by."""
        value = self._kept[key]
        self._kept.move_to_end(key)
        if self._grows:
            self._measure(key)
            self._make_room()
        return value

    def _keep(self, key: Hashable, value: Value) -> None:
        self._kept[key] = value
        for each in [*islice(reversed(self._kept), _STILL_GROWING)] if self._grows else [key]:
            self._measure(each)
        self._make_room()

    def _measure(self, key: Hashable) -> None:
        """Note what a result counts as; it goes if that is more than may be kept."""
        size = self._size_of(self._kept[key])
        self._sizes[key] = size if self._counted_as is None else min(size, self._counted_as)
        if self._sizes[key] > self._maxsize:
            self._drop(key)

    def _make_room(self) -> None:
        """Drop what was used longest ago as long as there is too much."""
        while sum(self._sizes.values()) > self._maxsize:
            self._drop(next(iter(self._kept)))

    def _drop(self, key: Hashable) -> None:
        del self._kept[key], self._sizes[key]


def bytes_of(value: Any) -> int:
    """Return the bytes of the arrays in a value, in dataclasses, mappings, lists and tuples as well.

    What a dataclass has worked out of its fields and keeps counts too.
    """
    if isinstance(value, np.ndarray):
        return value.nbytes
    if is_dataclass(value) and not isinstance(value, type):
        if hasattr(value, "__dict__"):
            return sum(map(bytes_of, [*vars(value).values()]))
        return sum(bytes_of(getattr(value, field.name)) for field in fields(value))
    if isinstance(value, dict):
        return sum(map(bytes_of, [*value.values()]))  # a list at once, as other threads may add to it
    if isinstance(value, list | tuple):
        return sum(map(bytes_of, value))
    return 0
