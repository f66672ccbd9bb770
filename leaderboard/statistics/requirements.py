"""What an LLM is asked for besides winning: a floor of general quality, and criteria that are a must."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from leaderboard.statistics.bootstrap import UNRANKED
from leaderboard.statistics.duels import Margins
from leaderboard.statistics.ranking import Ranking
from leaderboard.statistics.win_rate import outcomes, win_rates

# A share of LLMs that is whole but for rounding is that number: 0.29 of 100 is 29.
_ROUNDING = 1e-9
_MOST = 0.5


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


def misses(
    judged: NDArray[np.floating] | Margins, weights: NDArray[np.floating] | None = None
) -> NDArray[np.bool_]:
    """Return which LLMs [L] miss a criterion: on most queries the median response meets it better.

    The median is that of all LLMs' responses to the same query, so neither the baseline nor how hard the
    criterion is moves the minimum, and an LLM that is as good as the typical one always meets it.

    Args:
        judged: [L, Q], under the criterion alone, the margins of all responses, or the probability that the
            LLM's response is preferred to the baseline's, NaN where missing. An LLM without responses misses
            nothing.
        weights: [Q], as in ``win_rates``.
    """
    ahead = judged.over_typical() if isinstance(judged, Margins) else _over_typical(judged)
    return np.asarray(win_rates(ahead, weights) < _MOST)


def seldom_kept(shares: NDArray[np.floating]) -> NDArray[np.bool_]:
    """Return which LLMs [L] keep to a limit in fewer than half of their answers, where others do in most.

    Who answered only what takes long answers may be nearest to a limit of all who did, and never keep to it.

    Args:
        shares: [L], of the answers that keep to it; NaN of an LLM without any, which misses nothing.
    """
    some_keep = bool((shares >= _MOST).any())
    return np.asarray(some_keep & (shares < _MOST), dtype=np.bool_)


def _over_typical(prob: NDArray[np.floating]) -> NDArray[np.float64]:
    values = np.asarray(prob, dtype=np.float64)
    typical = np.full(values.shape[1], np.nan)
    answered = ~np.isnan(values).all(axis=0)
    typical[answered] = np.nanmedian(values[:, answered], axis=0)
    return outcomes(0.5 + (values - typical) / 2)
