"""A score matrix that is being filled: what is judged, what waits, and what can be ranked already."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from crm.protocol import ScoreBlock
from db import ScoreRow
from leaderboard.errors import ProbabilityError

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class ScoreMatrix:
    """One state of the score matrix of L LLMs on Q queries; filling it makes another one.

    Attributes:
        prob: Probability that the LLM's response is preferred to the baseline's ``[L, Q]``, NaN where there
            is none.
        judged: The judge has been asked ``[L, Q]``; that it had no answer counts too.
        answered: There are two responses to be judged ``[L, Q]``.
    """

    prob: NDArray[np.float32]
    judged: Mask
    answered: Mask

    @classmethod
    def empty(cls, answered: Mask) -> ScoreMatrix:
        """Nothing is judged yet."""
        return cls(
            np.full(answered.shape, np.nan, dtype=np.float32),
            np.zeros_like(answered, dtype=np.bool_),
            answered,
        )

    def with_rows(self, llms: Sequence[str], rows: Mapping[str, ScoreRow]) -> ScoreMatrix:
        """The matrix with what is judged in the LLMs' stored rows."""
        prob, judged = self.prob.copy(), self.judged.copy()
        for index, llm in enumerate(llms):
            if llm in rows:
                row = rows[llm].onto(ScoreRow(prob[index], judged[index]))
                prob[index], judged[index] = row.prob, row.judged
        return replace(self, prob=prob, judged=judged)

    def rows(self, llms: Sequence[str]) -> dict[str, ScoreRow]:
        """The rows of the LLMs, as they are stored."""
        return {llm: ScoreRow(self.prob[index], self.judged[index]) for index, llm in enumerate(llms)}

    def with_block(self, block: ScoreBlock) -> ScoreMatrix:
        """The matrix with what a judge says of the block's pairs that were still to be judged.

        Raises:
            ProbabilityError: A value lies outside [0, 1].
        """
        if np.any((block.prob < 0) | (block.prob > 1)):
            worst = block.prob.flat[np.nanargmax(np.abs(block.prob - 0.5))]
            raise ProbabilityError(f"The judge gave the probability {worst:g}, which is not between 0 and 1.")
        cells = np.ix_(block.llms, block.queries)
        fresh = self.todo[cells]
        prob, judged = self.prob.copy(), self.judged.copy()
        prob[cells] = np.where(fresh, block.prob, prob[cells])
        judged[cells] |= fresh
        return replace(self, prob=prob, judged=judged)

    @cached_property
    def todo(self) -> Mask:
        """Pairs still to be judged ``[L, Q]``."""
        return self.answered & ~self.judged

    @cached_property
    def n_judged(self) -> int:
        """Number of pairs that have been judged."""
        return int(self.judged.sum())

    def count(self, selected: Mask) -> tuple[int, int]:
        """Numbers of judged pairs and of all pairs on the selected queries ``[Q]``."""
        done = int(self.judged[:, selected].sum())
        return done, done + int(self.todo[:, selected].sum())

    def comparable(self, selected: Mask) -> Mask:
        """The selected queries ``[Q]`` on which every LLM that can be judged has been, and any has."""
        return selected & ~self.todo.any(axis=0) & self.judged.any(axis=0)
