"""Arrays of a stored representation: held in memory, or the largest passed on an LLM at a time."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from threading import Lock, RLock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crm.protocol import UseOfLLM

Arrays = Mapping[str, NDArray[Any]]
Take = Callable[[int, Arrays | None], None]
"""Is given the place of an LLM and its arrays, None where it has none; of several at once."""

DIGEST = "digest"
"""The array that says which responses there are, and changes with them."""
_PASSED_ON = frozenset(("features", "passages"))
"""Nine tenths of a representation's bytes."""


class StackedArrays(Mapping[str, NDArray[Any]]):
    """Arrays of a representation by name, some of which are read when they are first asked for."""

    def __init__(
        self,
        names: Sequence[str],
        known: Arrays,
        read: Callable[[str], NDArray[Any]],
        *,
        keep_large: bool = True,
    ) -> None:
        """Hold what is known already.

        Args:
            keep_large: Keep the largest, too, where they are read; else they are read whenever asked for.
        """
        self._names, self._read, self._known = tuple(names), read, dict(known)
        self._passing = frozenset[str]() if keep_large else _PASSED_ON
        self._lock = RLock()

    def __getitem__(self, name: str) -> NDArray[Any]:
        """Return an array, which is read if it is not there yet."""
        if name in self._passing and name in self._names:
            return self._read(name)
        with self._lock:
            if name not in self._known and name in self._names:
                self._known[name] = self._read(name)
            return self._known[name]

    def __iter__(self) -> Iterator[str]:
        """Return the names, also of what is not read."""
        return iter(self._names)

    def __len__(self) -> int:
        """Return the number of arrays."""
        return len(self._names)

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays that are read so far."""
        return sum(array.nbytes for array in [*self._known.values()])


class PassedOnArrays(StackedArrays):
    """The same for a process that ranks once: what is largest is not kept, unless it is asked for whole.

    Implements ``crm.protocol.ReadByLLM``.

    Attributes:
        shape: R respondents and Q queries, the leading axes of every array.
    """

    def __init__(
        self,
        names: Sequence[str],
        shape: tuple[int, int],
        read: Callable[[str], NDArray[Any]],
        read_each: Callable[[frozenset[str], Take], None],
    ) -> None:
        """Know nothing yet; ``read_each`` reads some arrays of all respondents."""
        super().__init__(names, {}, read)
        self.shape = shape
        self._read_each = read_each

    def each(self, names: Collection[str], use: UseOfLLM) -> None:
        """Pass on arrays of each LLM that has them; see ``crm.protocol.ReadByLLM``."""
        with self._lock:
            wanted = frozenset(names) | {DIGEST}
            known = {name: self._known[name] for name in wanted & self._known.keys()}
            if known.keys() == wanted:
                for row in range(self.shape[0]):
                    use(row, {name: array[row] for name, array in known.items()})
                return
            kept = Stack(self.shape)

            def take(row: int, arrays: Arrays | None) -> None:
                if arrays is None:
                    return
                changed = None
                if DIGEST in known:
                    digest = _with_length(arrays[DIGEST], self.shape[1])
                    changed = digest != known[DIGEST][row]
                fresh = {
                    name: _with_length(array, self.shape[1], changed)
                    for name, array in arrays.items()
                    if name not in known
                }
                kept.put(row, {name: array for name, array in fresh.items() if name not in _PASSED_ON})
                use(row, {name: array[row] for name, array in known.items()} | fresh)

            self._read_each((wanted - known.keys()) | {DIGEST}, take)
            self._known |= kept.arrays


class Stack:
    """Arrays ``[R, Q, …]`` that are filled by several threads, 0 where there is nothing."""

    def __init__(self, shape: tuple[int, int]) -> None:
        """Begin with no array; ``shape`` is R, Q."""
        self.arrays: dict[str, NDArray[Any]] = {}
        self._shape = shape
        self._lock = Lock()

    def put(self, row: int, arrays: Arrays) -> None:
        """Copy the arrays of one LLM into its row; one that is too short leaves the last queries 0."""
        for name, array in arrays.items():
            with self._lock:
                if name not in self.arrays:
                    self.arrays[name] = np.zeros((*self._shape, *array.shape[1:]), array.dtype)
            self.arrays[name][row, : len(array)] = array


def _with_length(
    array: NDArray[Any], n_queries: int, without: NDArray[np.bool_] | None = None
) -> NDArray[Any]:
    """Return an LLM's array with so many rows, 0 beyond its own and where it is to be left out ``[Q]``."""
    if len(array) == n_queries and (without is None or not without.any()):
        return array
    whole = np.zeros((n_queries, *array.shape[1:]), array.dtype)
    whole[: len(array)] = array
    if without is not None:
        whole[without] = 0
    return whole
