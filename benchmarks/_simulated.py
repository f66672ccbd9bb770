"""Simulated users: hidden weighted criteria, answered by the CRM with noise.

A user follows two to five criteria in wordings of the annotations (``crm.data.taxonomy``), of the
clusters that the library is chosen from but never the library's own wording; half of the wordings belong to
users on whom the learner's settings were chosen, the other half to held-out users. Each has a grade, the
first is Essential, and one in five is to be avoided. The utility of a response is the CRM's for that set. Of
two responses the user takes the one that is ahead by more than ``TIE`` after logistic noise on the
difference, which at scale 1 is choosing with the probability that the CRM states; else both or neither, as
the pair is above or below the query's average response. Some answers may be drawn at random (``Noise``).

What votes alone tell: a Bradley-Terry model of the LLMs, without any criteria."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from crm.criteria import CriteriaSet, Criterion, Polarity, Weight
from crm.data.taxonomy import criterion_clusters
from crm.embedded.encoder import sentence_encoder
from crm.embedded.model import EmbeddedCRM
from leaderboard.benchmark import LoadedBenchmark
from leaderboard.elicitation.choice_model import Choice, ChoiceOutcome, ResponsePair
from leaderboard.elicitation.interview import InterviewQuestion, option_softmax
from leaderboard.elicitation.library import criterion_library
from leaderboard.elicitation.margins import CriterionMargins
from leaderboard.service import filled
from leaderboard.statistics.win_rate import outcomes, win_rates

TIE = 0.4
AVOIDED = 0.2
MIN_CRITERIA, MAX_CRITERIA = 2, 5
_WORDS = range(3, 10)

Floats = NDArray[np.floating]


@dataclass(frozen=True)
class Noise:
    """How users depart from what the CRM says of their criteria.

    Attributes:
        scale: Of the logistic noise on a difference of utilities, which are log-odds.
        slip: Share of answers drawn at random from all four.
    """

    scale: float = 1.0
    slip: float = 0.0

    def __str__(self) -> str:
        slips = f", one answer in {1 / self.slip:.0f} at random" if self.slip else ""
        return f"noise {self.scale:g}{slips}"


AS_STATED = Noise()
"""Choosing with the probability that the CRM states."""


@dataclass(frozen=True, eq=False)
class SimulatedUser:
    """One user on one benchmark.

    Attributes:
        criteria: What they follow.
        utility: Of each response, in log-odds ``[R, Q]``; NaN where there is none.
        met: Margin of each response under each of their criteria alone, polarity included ``[R, Q, n]``.
        prob: Probability that each LLM's response is preferred to the baseline's, as the leaderboard has it
            ``[L, Q]``; ½ where the judge calls two responses alike.
    """

    criteria: CriteriaSet
    utility: Floats
    met: Floats
    prob: Floats

    def answer(
        self, pair: ResponsePair, random: np.random.Generator, noise: Noise = AS_STATED
    ) -> ChoiceOutcome:
        """Return what the user says of a pair."""
        if random.random() < noise.slip:
            return tuple(ChoiceOutcome)[random.integers(len(ChoiceOutcome))]
        here = self.utility[:, pair.query]
        ahead = here[pair.first] - here[pair.second] + noise.scale * random.logistic()
        if abs(ahead) > TIE:
            return ChoiceOutcome.FIRST if ahead > 0 else ChoiceOutcome.SECOND
        above = (here[pair.first] + here[pair.second]) / 2 > np.nanmean(here)
        return ChoiceOutcome.BOTH if above else ChoiceOutcome.NEITHER

    def option(
        self, question: InterviewQuestion, margins: CriterionMargins, random: np.random.Generator
    ) -> int:
        """Return which option the user takes, by the correlation of their utility with each option's."""
        relative = margins.relative[margins.present]
        own = (self.utility - np.nanmean(self.utility, axis=0))[margins.present]
        likeness = [float(np.corrcoef(own, relative[:, :-1] @ row)[0, 1]) for row in question.weights[:-1]]
        prob = option_softmax(np.array([*likeness, 0.0])[:, None])[:, 0].astype(np.float64)
        return int(random.choice(len(prob), p=prob / prob.sum()))

    def win_rates(self, queries: NDArray[np.bool_]) -> Floats:
        """Return the user's true win rates of the LLMs on the marked queries ``[L]``."""
        return win_rates(outcomes(self.prob[:, queries]))

    def alignment(self, llm: int, queries: NDArray[np.bool_]) -> float:
        """Return PrefAlign of an LLM's responses: Σ w_j g_j with Σ w_j = 1, mean over the marked queries.

        g_j, from 0 to 5, is five times the probability that the response meets criterion j better than the
        query's average response.
        """
        weight = np.array([criterion.weight.value_in_sum for criterion in self.criteria])
        met = self.met[:, queries]
        grade = 5 * expit(met[llm] - np.nanmean(met, axis=0))
        return float(np.nanmean(grade @ (weight / weight.sum())))


def wordings(crm: EmbeddedCRM, *, held_out: bool, most: int | None = None) -> list[str]:
    """Return one half of the wordings that users may follow, of three to nine words and judgeable.

    Args:
        held_out: Which half.
        most: Only so many are drawn of it and tried.
    """
    clusters = criterion_clusters()
    library = [item.criterion.text for item in criterion_library()]
    texts = [
        text
        for number in sorted(set(clusters.assigned(library)))
        for text in clusters.clusters[number].criteria
        if len(text.split()) in _WORDS and text not in library
    ]
    order = np.random.default_rng(7).permutation(len(texts))
    half = (order[: len(texts) // 2] if held_out else order[len(texts) // 2 :])[:most]
    sentence_encoder().embed([texts[index] for index in half])  # together, for the warnings below
    return [texts[index] for index in half if not crm.warnings(CriteriaSet((Criterion(texts[index]),)))]


def draw_criteria(texts: Sequence[str], random: np.random.Generator) -> CriteriaSet:
    """Draw what one user follows."""
    count = int(random.integers(MIN_CRITERIA, MAX_CRITERIA + 1))
    grades = [Weight.ESSENTIAL, *(tuple(Weight)[place] for place in random.integers(0, 3, count - 1))]
    return CriteriaSet(
        tuple(
            Criterion(texts[index], grade, Polarity.AVOID if random.random() < AVOIDED else Polarity.WANT)
            for index, grade in zip(random.choice(len(texts), count, replace=False), grades, strict=True)
        )
    )


def simulated_user(criteria: CriteriaSet, crm: EmbeddedCRM, benchmark: LoadedBenchmark) -> SimulatedUser:
    """Return the user with these criteria on a benchmark."""
    measured = crm.measure(tuple(criteria), benchmark)
    weight = np.array([criterion.weight.value_in_sum for criterion in criteria], dtype=np.float32)
    utility = measured.margins @ (weight / np.linalg.norm(weight)) - measured.penalty
    absent = ~measured.present
    met = measured.margins.copy()
    met[absent] = np.nan
    prob = filled(benchmark, crm, criteria)
    return SimulatedUser(criteria, np.where(absent, np.nan, utility), met, prob)


_PRIOR_VARIANCE = 1.0
_STEPS = 30
_SCORE = {
    ChoiceOutcome.FIRST: 1.0,
    ChoiceOutcome.SECOND: 0.0,
    ChoiceOutcome.BOTH: 0.5,
    ChoiceOutcome.NEITHER: 0.5,
}


def strengths(
    choices: Sequence[Choice], n_rows: int, around: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Return strengths of R responders by Bradley-Terry with a normal prior, ties as half a win each ``[R]``.

    The prior makes the answer unique where votes are few.

    Args:
        around: What is expected of them before any vote ``[R]``; by default that they are alike.
    """
    design = np.zeros((len(choices), n_rows))
    for row, choice in enumerate(choices):
        design[row, choice.pair.first], design[row, choice.pair.second] = 1, -1
    score = np.array([_SCORE[choice.outcome] for choice in choices])
    expected_of = np.zeros(n_rows) if around is None else around
    strength = expected_of.copy()
    for _ in range(_STEPS):
        expected = expit(design @ strength)
        gradient = design.T @ (score - expected) - (strength - expected_of) / _PRIOR_VARIANCE
        curvature = (design.T * (expected * (1 - expected))) @ design + np.eye(n_rows) / _PRIOR_VARIANCE
        strength += np.linalg.solve(curvature, gradient)
    return strength
