"""Several views side by side: ranks in one table, and how far every two of them agree."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from urllib.parse import parse_qs, urlencode

import numpy as np
from numpy.typing import NDArray

from leaderboard.result import Leaderboard
from leaderboard.sentences import AGAINST_IN_WORDS, CONTROL_NAMES, floor_in_words
from leaderboard.statistics.correlation import Measure, Ranks, p_value, rank_agreement
from leaderboard.statistics.style_control import Control
from leaderboard.view import DEFAULT_CRM, View

MAX_VIEWS = 8
LETTERS = "ABCDEFGH"
NO_CRITERIA = "without criteria"
_MIN_LLMS = 2


@dataclass(frozen=True, eq=False)
class Column:
    """One view of a comparison; its leaderboard is complete, or as far as a slow judge is."""

    letter: str
    words: str
    leaderboard: Leaderboard

    @cached_property
    def ranks(self) -> dict[str, int]:
        """Rank by LLM."""
        return self.leaderboard.ranking.ranks


@dataclass(frozen=True, eq=False)
class SideBySide:
    """V views and all the L LLMs that any of them ranks.

    Attributes:
        llms: Names, in the order of the first view; those that it does not rank follow.
        ranks: [L, V], NaN where a view does not rank an LLM.
    """

    columns: tuple[Column, ...]
    llms: tuple[str, ...]
    ranks: NDArray[np.float64]
    titles: Mapping[str, str]

    def n_common(self, predicted: int, reference: int) -> int:
        """Return how many LLMs both of two columns rank."""
        return int(self._common(predicted, reference).sum())

    def likeness(self, measure: Measure) -> NDArray[np.float64]:
        """[V, V], the column of each row as prediction, that of each column as reference.

        NaN where two views share fewer than two LLMs.
        """
        return self._of_pairs(lambda first, second: rank_agreement(measure, first, second))

    def p_values(self, measure: Measure) -> NDArray[np.float64]:
        """[V, V], how often chance makes two rankings at least so alike; NaN likewise."""
        return self._of_pairs(lambda first, second: p_value(measure, first, second))

    def _common(self, predicted: int, reference: int) -> NDArray[np.bool_]:
        return np.asarray(np.isfinite(self.ranks[:, predicted]) & np.isfinite(self.ranks[:, reference]))

    def _of_pairs(self, compare: Callable[[Ranks, Ranks], float]) -> NDArray[np.float64]:
        """Something [V, V] of the ranks of the LLMs that two views share."""
        n = len(self.columns)
        found = np.full((n, n), np.nan)
        for predicted, reference in product(range(n), repeat=2):
            common = self._common(predicted, reference)
            if common.sum() >= _MIN_LLMS:
                found[predicted, reference] = compare(
                    self.ranks[common, predicted], self.ranks[common, reference]
                )
        return found


def side_by_side(columns: Sequence[Column]) -> SideBySide:
    """Put leaderboards beside each other; they may be of different benchmarks."""
    llms = tuple(dict.fromkeys(llm for column in columns for llm in column.ranks))
    ranks = [[column.ranks.get(llm, np.nan) for column in columns] for llm in llms]
    titles = {llm: title for column in columns for llm, title in column.leaderboard.titles.items()}
    return SideBySide(
        tuple(columns), llms, np.array(ranks, dtype=np.float64).reshape(len(llms), len(columns)), titles
    )


def in_words(view: View, benchmark_title: str) -> str:
    """Return what a view is: its criteria, topics and benchmark, then whatever is not the default."""
    parts = [str(view.criteria) if view.criteria else NO_CRITERIA]
    parts.append(", ".join(view.topics) or "all topics")
    if view.topic_weights:
        parts.append(f"weights {', '.join(map(str, view.topic_weights))}")
    if view.interests:
        parts.append(f"interests {', '.join(view.interests)}")
    parts.append(benchmark_title)
    if view.crm != DEFAULT_CRM:
        parts.append(f"judged by {view.crm}")
    if view.default_crm is not None:
        parts.append(f"compared with the default ranking of {view.default_crm}")
    if view.soft:
        parts.append("average confidence")
    if view.control is not Control.NONE:
        parts.append(f"adjusted for {CONTROL_NAMES[view.control].lower()}")
    if view.floor is not None:
        parts.append(f"only {floor_in_words(view.floor)} without criteria")
    if view.must_have:
        parts.append("Essential criteria are a must")
    if view.against is not None:
        parts.append(AGAINST_IN_WORDS[view.against])
    if view.keep_partial:
        parts.append("with LLMs that answered only a part")
    if view.keep_unjudged:
        parts.append("with what the judge cannot judge")
    return " · ".join(parts)


def written(view: View) -> str:
    """Return a view as one parameter of a link; ``read`` reads it back."""
    return urlencode(view.to_query())


def read(text: str) -> View:
    """Return the view that ``written`` wrote; raises as ``View.from_query``."""
    return View.from_query(parse_qs(text, keep_blank_values=True))
