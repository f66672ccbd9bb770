"""From ratings of several answers to one query to choices between them.

What is rated higher was chosen over what is rated lower: liked over not rated, and both over disliked.
Answers that are rated alike tell nothing of each other, and a rating without a second answer nothing at
all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from leaderboard.elicitation.choice_model import ChoiceOutcome
from leaderboard.elicitation.history.choices import LeftOut, PastChoice

LIKED, UNRATED, DISLIKED = 1, 0, -1
ALONE = "a rating without a second answer to the same query"
ALIKE = "two answers rated alike"


@dataclass(frozen=True)
class RatedAnswer:
    """One of several answers to a query.

    Attributes:
        rating: LIKED, UNRATED or DISLIKED.
        llm: Whose answer it is; empty where that is not known.
    """

    text: str
    rating: int = UNRATED
    llm: str = ""


@dataclass(frozen=True)
class RatedQuery:
    """What answers were given to, by whom they were rated and when.

    Attributes:
        turns: Turns of the person in the conversation up to the query.
        moment: In seconds; None where it is not known.
    """

    text: str
    turns: int = 1
    person: str = ""
    moment: float | None = None


def rated_choices(
    query: RatedQuery, answers: Sequence[RatedAnswer], left_out: LeftOut
) -> Iterator[PastChoice]:
    """Yield the choices between answers of which some are rated; count what tells nothing."""
    rated = sum(answer.rating != UNRATED for answer in answers)
    if len(answers) < 2:  # noqa: PLR2004
        left_out[ALONE] += rated
        return
    for first, second in combinations(answers, 2):
        if first.rating == second.rating:
            left_out[ALIKE] += first.rating != UNRATED
            continue
        better, worse = (first, second) if first.rating > second.rating else (second, first)
        yield PastChoice(
            query.text,
            better.text,
            worse.text,
            ChoiceOutcome.FIRST,
            query.turns,
            query.person,
            (better.llm, worse.llm),
            query.moment,
        )
