"""The pairs of a contest that are still to be judged, as a contest of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crm.protocol import Pair, ScoreBlock
from leaderboard.contest import StoredContest


@dataclass(frozen=True, eq=False)
class RemainingContest:
    """Some pairs of a contest; any judge can resume by scoring it. Implements ``crm.protocol.Contest``.

    Attributes:
        contest: The whole.
        todo: The pairs to be judged, at least one ``[L, Q]``; all others are seen as missing.
    """

    contest: StoredContest
    todo: NDArray[np.bool_]

    @cached_property
    def llms(self) -> tuple[str, ...]:
        """Names of the contenders with a pair to be judged."""
        return tuple(self.contest.llms[row] for row in self._rows)

    @property
    def n_queries(self) -> int:
        """Number of queries with a pair to be judged."""
        return len(self._columns)

    @property
    def topic_index(self) -> NDArray[np.intp]:
        """Topic of every query, as an index ``[Q]``."""
        return self.contest.topic_index[self._columns]

    def pairs(self, llm: str) -> Sequence[Pair | None]:
        """The LLM's responses with the baseline's; None where there is nothing to be judged.

        Raises:
            TextsMissingError: The texts have gone in the meantime.
        """
        pairs, todo = self.contest.pairs(llm), self.todo[self.contest.llms.index(llm)]
        return [pairs[query] if todo[query] else None for query in self._columns]

    def representation(self, name: str) -> Mapping[str, NDArray[Any]]:
        """The arrays stored under ``name`` of these LLMs and queries, the baseline in the last row.

        Raises:
            RepresentationMissingError: Nothing is stored under that name.
        """
        stored = self.contest.representation(name)
        if (len(self._rows), len(self._columns)) == self.todo.shape:
            # Copies would take longer than scoring, and judges remember what they know of these arrays.
            return stored
        rows = np.ix_(np.append(self._rows, -1), self._columns)
        return {key: array[rows] for key, array in stored.items()}

    def of_whole(self, block: ScoreBlock) -> ScoreBlock:
        """A block of this contest's score matrix as a block of the whole one."""
        return ScoreBlock(self._rows[block.llms], self._columns[block.queries], block.prob)

    @cached_property
    def _rows(self) -> NDArray[np.intp]:
        return np.flatnonzero(self.todo.any(axis=1))

    @cached_property
    def _columns(self) -> NDArray[np.intp]:
        return np.flatnonzero(self.todo.any(axis=0))
