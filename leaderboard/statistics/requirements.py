"""What an LLM is asked for besides winning: a floor of general quality."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from leaderboard.statistics.bootstrap import UNRANKED
from leaderboard.statistics.ranking import Ranking

# A share of LLMs that is whole but for rounding is that number: 0.29 of 100 is 29.
_ROUNDING = 1e-9


def under_floor(default: Ranking, llms: Sequence[str], floor: float) -> NDArray[np.bool_]:
    """Return which LLMs [L] are in the lowest share ``floor`` of the default ranking.

    Of n ranked LLMs that is ⌊floor · n⌋, fewer where the last above shares its rank with others; one that the
    default ranking cannot rank is not under the floor.

    Args:
        floor: In [0, 1).
    """
    ranks = default.ranks
    n_above = len(ranks) - int(floor * len(ranks) + _ROUNDING)
    return np.array([ranks.get(llm, UNRANKED) > n_above for llm in llms], dtype=np.bool_)
