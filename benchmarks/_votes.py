"""What votes alone say of LLMs: compar:IA's score by one person's, and Bradley-Terry strengths.

compar:IA scores an LLM in one person's ranking by (points + 2m) / (battles + 2): a win is a point, “both
good” half a point for each, “both bad” nothing for either, and m is the person's mean (betagouv/ComparIA).
Strengths by everybody's votes are those of the leaderboard's own Bradley-Terry, which an LLM that never won
does not put out of joint; one person's few votes have a stronger prior.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from benchmarks._simulated import strengths
from leaderboard.elicitation.choice_model import Choice, ChoiceOutcome, ResponsePair
from leaderboard.elicitation.history.choices import PastChoice
from leaderboard.statistics.bradley_terry import fit_bradley_terry

_POINTS = {
    ChoiceOutcome.FIRST: (1.0, 0.0),
    ChoiceOutcome.SECOND: (0.0, 1.0),
    ChoiceOutcome.BOTH: (0.5, 0.5),
    ChoiceOutcome.NEITHER: (0.0, 0.0),
}
_WON = _POINTS | {ChoiceOutcome.NEITHER: (0.5, 0.5)}
"""For Bradley-Terry, to which two bad answers are a tie like another."""


def comparia_scores(choices: Sequence[PastChoice]) -> tuple[dict[str, float], float]:
    """Return (points + 2m) / (battles + 2) of each LLM met, and m, which is that of any other."""
    points, battles = defaultdict[str, float](float), defaultdict[str, int](int)
    for choice in choices:
        for llm, gained in zip(choice.llms, _POINTS[choice.outcome], strict=True):
            points[llm] += gained
            battles[llm] += 1
    mean = sum(points.values()) / max(1, sum(battles.values()))
    return {llm: (points[llm] + 2 * mean) / (battles[llm] + 2) for llm in battles}, mean


@dataclass(frozen=True, eq=False)
class Crowd:
    """Everybody's votes.

    Attributes:
        place: Of each LLM in the arrays, by its name.
        won: Duels of each person that the LLM of the row won over that of the column, ties half ``[L, L]``.
    """

    place: Mapping[str, int]
    won: Mapping[str, NDArray[np.float64]]

    @classmethod
    def of(cls, choices: Mapping[str, Sequence[PastChoice]]) -> Crowd:
        """Count all choices of all people between two LLMs that are named."""
        names = {llm for some in choices.values() for choice in some for llm in choice.llms if llm}
        place = {llm: index for index, llm in enumerate(sorted(names))}
        return cls(place, {person: _duels(some, place) for person, some in choices.items()})

    @cached_property
    def total(self) -> NDArray[np.float64]:
        """The duels of all people ``[L, L]``."""
        return np.asarray(sum(self.won.values()))

    def strengths_without(self, person: str) -> NDArray[np.float64]:
        """Return strengths by everybody else's votes, in log-odds around 0 ``[L]``; NaN without a vote."""
        won = self.total - self.won[person]
        pairs = won + won.T
        strength = fit_bradley_terry(won.sum(axis=1), pairs)
        strength[~pairs.any(axis=1)] = np.nan
        return strength

    def personal(
        self, choices: Sequence[PastChoice], around: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        """Return strengths by these choices ``[L]``, where nothing is known those expected at first."""
        votes = [
            Choice(ResponsePair(0, *(self.place[llm] for llm in choice.llms)), choice.outcome)
            for choice in choices
            if all(choice.llms) and choice.llms[0] != choice.llms[1]
        ]
        return strengths(votes, len(self.place), around)


def _duels(choices: Sequence[PastChoice], place: Mapping[str, int]) -> NDArray[np.float64]:
    won = np.zeros((len(place), len(place)))
    for choice in choices:
        if all(choice.llms) and choice.llms[0] != choice.llms[1]:
            first, second = (place[llm] for llm in choice.llms)
            won[first, second] += _WON[choice.outcome][0]
            won[second, first] += _WON[choice.outcome][1]
    return won
