"""What a person uses LLMs for, in their own words."""

from __future__ import annotations

from collections.abc import Iterable

from crm.criteria import normalise
from leaderboard.errors import InterestError

MOST_INTERESTS = 10
LONGEST_INTEREST = 300
"""Characters, as of a criterion."""


def read_interests(texts: Iterable[str]) -> tuple[str, ...]:
    """What a person uses LLMs for, one use a line, cleaned; blank and repeated lines are dropped.

    Raises:
        InterestError: A line is too long, or there are too many.
    """
    lines = (normalise(line) for text in texts for line in text.splitlines())
    interests = tuple(dict.fromkeys(filter(None, lines)))
    for interest in interests:
        if len(interest) > LONGEST_INTEREST:
            raise InterestError(
                f"“{interest[:40]}…” has {len(interest)} characters: write one use a line, "
                f"each of at most {LONGEST_INTEREST}."
            )
    if len(interests) > MOST_INTERESTS:
        raise InterestError(
            f"There are {len(interests)} uses: keep the {MOST_INTERESTS} that matter most to you."
        )
    return interests
