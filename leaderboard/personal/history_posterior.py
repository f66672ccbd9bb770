"""The posterior of a person's weights given a whole history: many choices at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crm.protocol import Floats
from leaderboard.personal.choice import Choice, answer_probabilities
from leaderboard.personal.material import Material
from leaderboard.personal.person import N_DRAWS, Draws, Person

ELSEWHERE = 2.0
"""How many times noisier choices are that were made elsewhere. A person's reasons there are also what no
criterion of the library says, such as which answer was right (docs/history.md)."""
_GROWTH = 0.2
"""Share of the choices taken so far that are taken up next: the posterior moves little at a time."""


@dataclass(frozen=True, eq=False)
class ObservedMany:
    """Several choices as the model sees them, at once.

    Attributes:
        first: Relative margins of the first responses ``[C, K + 1]``.
        second: Those of the second responses ``[C, K + 1]``.
        answer: Indices of the answers ``[C]``.
    """

    first: Floats
    second: Floats
    answer: NDArray[np.intp]

    def log_likelihood(self, draws: Draws) -> NDArray[np.float64]:
        """Log probability of all the answers under each person ``[N]``."""
        first, second = (draws.folded @ margins.T for margins in (self.first, self.second))
        prob = answer_probabilities(first, second, draws.noise, draws.tie)
        taken = prob[self.answer, :, np.arange(len(self.answer))]
        return np.asarray(np.log(taken).sum(axis=0), dtype=np.float64)


def posterior(past: Material, choices: Sequence[Choice], *, n_draws: int = N_DRAWS, seed: int = 0) -> Person:
    """What is known of a person after these choices between responses of the material."""
    person = Person.unknown(past.n_criteria, n_draws=n_draws, seed=seed)
    for some in _portions(choices):
        query, first, second = np.array([(c.pair.query, c.pair.first, c.pair.second) for c in some]).T
        margins = past.relative / np.float32(ELSEWHERE)
        answer = np.array([choice.answer.place for choice in some])
        person = person.after(ObservedMany(margins[first, query], margins[second, query], answer))
    return person


def _portions(choices: Sequence[Choice]) -> Iterator[Sequence[Choice]]:
    """The choices in their order, one by one at first and then more at a time."""
    start = 0
    while start < len(choices):
        stop = start + max(1, int(_GROWTH * start))
        yield choices[start:stop]
        start = stop
