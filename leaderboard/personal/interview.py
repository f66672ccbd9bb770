"""An interview of at most five questions, each the most informative next one (after PrefDisco).

A person takes an option with a probability that grows with how well the option's criteria go with their own,
measured on the benchmark's responses: P(o) ∝ exp(KEENNESS · ρ_o), where ρ_o is the correlation of both
utilities over all responses, and ``MILD`` for no preference. Wishes that mean alike thus support each other.
The next question is the one expected to take away most of the uncertainty about the LLMs' places; the
interview ends when no question is expected to change the first three by more than ``SETTLED``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crm.protocol import Floats
from leaderboard.personal.pairs import Shown, standardised_places, variance_taken
from leaderboard.personal.person import Draws, Person
from leaderboard.personal.questions import Question
from leaderboard.personal.standing import TOP

MOST_QUESTIONS = 5
KEENNESS = 4.0
MILD = 0.35
"""The correlation at which an option is taken as readily as none."""
SETTLED = 0.05
"""Expected share of the first three that an answer must change for a question to be worth asking."""
_LAPSE = 0.05
_DRAWS = 500


@dataclass(frozen=True, eq=False)
class Said:
    """An answer to a question as the model sees it.

    Attributes:
        question: The question.
        option: Index of the option taken.
        gram: Mean products of the library's margins over the responses ``[K, K]``.
    """

    question: Question
    option: int
    gram: NDArray[np.float64]

    @property
    def indifferent(self) -> bool:
        """Whether it was “No preference”."""
        return self.option == len(self.question.options) - 1

    def log_likelihood(self, draws: Draws) -> NDArray[np.float64]:
        """Log probability of the answer under each person ``[N]``."""
        prob = option_probabilities(draws, self.question, self.gram)[self.option]
        return np.asarray(np.log(prob), dtype=np.float64)


def option_probabilities(draws: Draws, question: Question, gram: NDArray[np.float64]) -> Floats:
    """Probability that each person takes each option ``[O, N]``."""
    weights = draws.folded[:, :-1]
    products = question.weights @ gram
    length = np.sqrt(np.maximum((products * question.weights).sum(axis=1), np.finfo(float).tiny))
    own = np.sqrt(np.maximum(((weights @ gram) * weights).sum(axis=1), np.finfo(float).tiny))
    likeness = (products @ weights.T) / length[:, None] / own
    return softened(likeness)


def softened(likeness: NDArray[np.floating]) -> Floats:
    """Probabilities of options by their correlation with a person's utility ``[O, …]``; the last is none."""
    likeness = np.concatenate([likeness[:-1], np.full_like(likeness[:1], MILD)])
    odds = np.exp(KEENNESS * likeness)
    each = odds / odds.sum(axis=0)
    return np.asarray((1 - _LAPSE) * each + _LAPSE / len(each), dtype=np.float32)


def next_question(person: Person, shown: Shown, questions: Sequence[Question]) -> Question | None:
    """The question to ask next; None when the interview is over.

    Args:
        person: What is known of the person, the answers so far included.
        shown: The benchmark whose LLMs are to be ranked.
        questions: Those to choose from.
    """
    asked = {id(item.question) for item in person.observed if isinstance(item, Said)}
    left = [question for question in questions if id(question) not in asked]
    if len(asked) >= MOST_QUESTIONS or not left:
        return None
    draws = person.sample(_DRAWS)
    places = standardised_places(draws, shown)
    score = shown.scores(draws)
    worth: list[tuple[float, Question]] = []
    for question in left:
        prob = option_probabilities(draws, question, shown.material.gram)
        if top_changed(prob, score) > SETTLED:
            worth.append((float(variance_taken(prob[..., None], places)[0]), question))
    return max(worth, key=lambda item: item[0])[1] if worth else None


def top_changed(prob: Floats, score: Floats) -> float:
    """Expected share of the first three LLMs that the answer to a question replaces.

    Args:
        prob: Probability of each option for each of N equally weighted draws ``[O, N]``.
        score: What each draw gives the LLMs ``[N, L]``.
    """
    places = score.argsort(axis=1).argsort(axis=1)
    size = min(TOP, score.shape[1])
    before = set(np.argsort(-places.mean(axis=0))[:size].tolist())
    changed = 0.0
    for option in prob:
        after = set(np.argsort(-(option @ places))[:size].tolist())
        changed += float(option.mean()) * len(before - after) / size
    return changed
