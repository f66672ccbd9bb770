"""What a judge said of a benchmark's responses, under one list of criteria or several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from leaderboard.statistics.duels import Margins
from leaderboard.statistics.win_rate import Mask

Judged: TypeAlias = NDArray[np.float32] | Margins
"""What a ranking is made from: a score matrix against the baseline, or the margins of all responses."""


def by_lists(parts: Sequence[tuple[Judged, Mask]]) -> Judged:
    """Return what is judged under several lists as one, each on its queries ``[Q]``."""
    (merged, _), *others = parts
    for judged, queries in others:
        if isinstance(judged, Margins) and isinstance(merged, Margins):
            taken_off = np.where(queries, judged.taken_off, merged.taken_off)
            asked = np.where(queries, judged.asked, merged.asked)
            # How near two responses tie, and what surely decides, are the judge's own.
            merged = replace(merged, asked=asked, penalty=taken_off)
        elif not isinstance(judged, Margins) and not isinstance(merged, Margins):
            merged = np.where(queries, judged, merged)
    return merged
