"""Statistics of each LLM that stand in a column of their own beside win rate and interval."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from leaderboard.statistics.win_rate import effective_number

Statistic: TypeAlias = Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]]
"""From outcomes [L, Q], NaN where missing, and weights of queries [Q] to values [L], perhaps NaN."""


@dataclass(frozen=True)
class StatisticColumn:
    """A statistic and how it is shown.

    Attributes:
        key: Its name in JSON.
        values: What computes it.
        decimals: In JSON and on the page.
        heading: Above the column of the page; empty where the page has none.
        explanation: Shown when the heading is pointed at.
    """

    key: str
    values: Statistic
    decimals: int
    heading: str = ""
    explanation: str = ""


def n_effective(outcome: NDArray[np.float64], weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how many queries of equal weight each win rate is worth [L]; at most those answered."""
    return effective_number(~np.isnan(outcome) * weight)


STATISTIC_COLUMNS: Final = (StatisticColumn("n_effective", n_effective, decimals=1),)
"""In the order in which they are shown."""
