"""What criteria are about and hardly any response of a benchmark has: it cannot show who does that well.

“Uses code blocks” asks for what can be counted; “comments its code” is judged otherwise, but where no
response has code it is judged by nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crm.embedded.countable import SURE, CountedWish
from crm.embedded.counts import count_names

HARDLY = 0.01
"""Less than this share of responses is hardly any."""
_ABOUT = (
    (
        re.compile(
            r"\b(?:(?<!dress )(?<!moral )(?<!zip )(?<!post )(?<!penal )code|coding|docstrings?|unit tests?"
            r"|pseudo-?code|python|javascript|typescript|sql|c\+\+|shell scripts?|syntax highlighting)(?!\w)",
            re.IGNORECASE,
        ),
        "code",
        "code_blocks",
    ),
)
"""What wordings are about, what it is called, and the count that shows it."""


def things_asked_for(criterion: str, wishes: Sequence[CountedWish]) -> dict[int, str]:
    """Return by count what responses must have some of for the criterion to tell one from another.

    Args:
        criterion: Its text.
        wishes: Its counted parts, of which less may be asked: that is kept by having none.
    """
    found = {}
    for wish in wishes:
        some = wish.weight > 0 if wish.limit is None else bool(wish.limit.low)
        seen = not (wish.countable.is_measure or wish.countable.is_soft)
        if some and seen and abs(wish.weight) >= SURE:
            found[wish.column] = wish.countable.unit
    unwanted = any(wish.weight < 0 for wish in wishes)
    for pattern, what, name in _ABOUT:
        column = count_names().index(name)
        if not unwanted and column not in found and pattern.search(criterion):
            found[column] = what
    return found


def share_with(
    column: int, counts: NDArray[Any], present: NDArray[np.bool_], weights: NDArray[np.floating]
) -> float:
    """Return the share of responses with some of what is counted.

    Args:
        column: Of the count.
        counts: Of the responses ``[R, Q, C]``.
        present: Where there is a response ``[R, Q]``.
        weights: How much each query counts ``[Q]``.

    Returns:
        From 0 to 1; NaN where no response counts.
    """
    weighed = present * weights
    total = float(weighed.sum())
    return float((weighed * (counts[..., column] > 0)).sum()) / total if total else float("nan")


def absence_in_words(what: str, share: float) -> str:
    """Return “No answer to these questions has code to judge it by.”"""
    return f"{'Hardly any' if share else 'No'} answer to these questions has {what} to judge it by."
