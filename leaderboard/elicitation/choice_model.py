"""What a person answers to a pair of responses, and how likely a person with given weights would.

Of two responses with utilities a and b, in log-odds and relative to the average response to their query:

    P(A) : P(B) : P(tie) = e^(a/T) : e^(b/T) : ν e^((a + b)/2T)        (Davidson 1970)
    P(both | tie) = 1 / (1 + e^(−(a + b)/2T))

T is the person's noise, 1 for one who chooses with the probability that the judge states; ν is how readily
they call a tie. “Both” and “neither” are ties that also say where the pair stands among the responses to its
query. A lapse, an answer at random, has the probability ``LAPSE``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from crm.protocol import Floats
from leaderboard.elicitation.margins import CriterionMargins

LAPSE = 0.03
_EXTREME = 30.0
"""Log-odds beyond which nothing becomes more certain."""


class ChoiceOutcome(StrEnum):
    """Which response a person takes."""

    FIRST = "first"
    SECOND = "second"
    BOTH = "both"
    NEITHER = "neither"

    @property
    def row(self) -> int:
        """The row of ``outcome_probabilities`` that is this outcome's."""
        return list(ChoiceOutcome).index(self)

    @property
    def won(self) -> float:
        """What it gives the first response: 1, 0, or ½ for a tie."""
        return {ChoiceOutcome.FIRST: 1.0, ChoiceOutcome.SECOND: 0.0}.get(self, 0.5)

    @property
    def decided(self) -> bool:
        """Whether one response is preferred; else it is a tie."""
        return self in (ChoiceOutcome.FIRST, ChoiceOutcome.SECOND)


@dataclass(frozen=True)
class ResponsePair:
    """Two responses to a query, by their rows in the margins; ``first`` is shown on the left."""

    query: int
    first: int
    second: int


@dataclass(frozen=True, eq=False)
class Draw:
    """How a pair was drawn at random, whatever the person chose before.

    Attributes:
        probability: Of this pair, whichever side each response is shown on.
        among: Responses of which two to one query could be drawn ``[R, Q]``.
    """

    probability: float
    among: NDArray[np.bool_]


@dataclass(frozen=True)
class Choice:
    """A pair and what the person answered.

    Attributes:
        draw: How the pair was drawn; None for one that was chosen, such as for what it teaches.
    """

    pair: ResponsePair
    outcome: ChoiceOutcome
    draw: Draw | None = None


def chosen_and_rejected(
    choices: Sequence[Choice], margins: CriterionMargins
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the relative margins of the chosen and of the rejected responses, each ``[D, K + 1]``.

    Of the choices D are decided; ties are left out.
    """
    decided = [
        (choice.pair.query, choice.pair.first, choice.pair.second)
        if choice.outcome is ChoiceOutcome.FIRST
        else (choice.pair.query, choice.pair.second, choice.pair.first)
        for choice in choices
        if choice.outcome.decided
    ]
    query, chosen, rejected = np.array(decided, dtype=np.intp).reshape(-1, 3).T
    relative = margins.relative
    return relative[chosen, query].astype(np.float64), relative[rejected, query].astype(np.float64)


def outcome_probabilities(
    first: NDArray[np.floating], second: NDArray[np.floating], noise: Floats, tie: Floats
) -> Floats:
    """Return the probabilities of the four outcomes under the model of this module.

    Args:
        first: Utilities of the first responses of C pairs to N persons ``[N, C]``.
        second: Those of the second responses ``[N, C]``.
        noise: T of each person ``[N]``.
        tie: ν of each person ``[N]``.

    Returns:
        ``[4, N, C]`` in the order of ``ChoiceOutcome``; the four sum to 1.
    """
    ahead = np.exp(np.clip((first - second) / noise[:, None], -_EXTREME, _EXTREME) / 2)
    behind = 1 / ahead
    total = ahead + behind + tie[:, None]
    ties = tie[:, None] / total
    good = expit((first + second) / (2 * noise[:, None]))
    each = np.stack([ahead / total, behind / total, ties * good, ties * (1 - good)])
    return np.asarray((1 - LAPSE) * each + LAPSE / len(ChoiceOutcome), dtype=np.float32)


def observed_probability(
    first: Floats, second: Floats, outcome: NDArray[np.intp], noise: Floats, tie: Floats
) -> Floats:
    """Return the probability of what was answered to each of C pairs ``[N, C]``: one of the four.

    Args:
        outcome: Row of what was answered in ``outcome_probabilities`` ``[C]``; all else is as there.
    """
    ahead = np.exp(np.clip((first - second) / noise[:, None], -_EXTREME, _EXTREME) / 2)
    behind = 1 / ahead
    decided = [outcome == which.row for which in (ChoiceOutcome.FIRST, ChoiceOutcome.SECOND)]
    each = np.select(decided, [ahead, behind], default=tie[:, None]) / (ahead + behind + tie[:, None])
    ties = np.flatnonzero(~np.any(decided, axis=0))
    sign = np.where(outcome[ties] == ChoiceOutcome.BOTH.row, 1, -1).astype(np.float32)
    each[:, ties] *= expit(sign * (first + second)[:, ties] / (2 * noise[:, None]))
    return np.asarray((1 - LAPSE) * each + LAPSE / len(ChoiceOutcome), dtype=np.float32)
