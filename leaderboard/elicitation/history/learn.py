"""From a person's past choices to their checklist, after P-CHECK: general preference, weighted lines.

The general preference is the posterior of the person's weights. Its checklist on a benchmark's responses
gives the lines. A few criteria may predict all that a person chose, and that checklist stops there; a person
who reads it wants to recognise their taste. So its lines are filled up to ``MAX_LINES`` with the criteria
that separate chosen from rejected responses most, that do so surely, and that do not repeat a line.

The posterior's lines stand first, with its weights: where saliency ordered them, the first line named a
plain habit in one history of seven (benchmarks/plain_habits.py). Lines that the list is filled up with share
a tenth of the weight by their saliency in the history: how much a criterion separates what a person chose
from what they did not. For one choice with the chosen response y⁺ and negatives Y⁻ (Seo and Lee, P-CHECK,
section 3.3):

    saliency(k) = [Σ_{j≠k} f_j(Y⁻)] / [Σ_{j≠k} f_j(y⁺) + ε] − [Σ_j f_j(Y⁻)] / [Σ_j f_j(y⁺) + ε]

with f_j(Y⁻) the mean over the negatives. Of a whole history it is the mean over its choices; then ReLU, and
normalised to sum 1. P-CHECK asks an LLM for f_j, from 1 to 10. Here f_j = 1 + 9 p_j, where p_j is the
probability that the CRM states that the response meets criterion j, polarity included, better than the
average response to its query: P-CHECK's scale, and no sum is ever near 0. The negatives of a choice are its
rejected response, which alone was seen and not taken, and for more contrast those rejected elsewhere in the
history: one half each.

How far the checklist can be trusted is measured by cross-validation: each choice is predicted by a checklist
learnt from choices on other queries. Texts are read in memory, and nothing is stored.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtrc

from crm import registry
from crm.criteria import Weight
from crm.embedded.encoder import ProgressCallback, sentence_encoder
from crm.protocol import Pair, probabilities
from leaderboard.elicitation.checklist import (
    MAX_LINES,
    ChecklistLine,
    Evidence,
    Floats64,
    checklist,
    coefficients_of,
    count_evidence,
    grade_shares,
    polarity_of,
)
from leaderboard.elicitation.choice_model import Choice, ResponsePair, chosen_and_rejected
from leaderboard.elicitation.clarifying import (
    ClarifyingQuestion,
    ClarifyingReply,
    SignedCriterion,
    clarified_in,
    clarifying_question,
    with_stated,
)
from leaderboard.elicitation.history.choices import ChoiceHistory, PastChoice
from leaderboard.elicitation.library import LibraryCriterion, criterion_library
from leaderboard.elicitation.margins import CriterionMargins, benchmark_margins, pair_margins
from leaderboard.elicitation.per_category import Categorised, CategoryChecklist, nearest_categories
from leaderboard.elicitation.posterior import ELSEWHERE, PreferencePosterior, posterior_given
from leaderboard.service import Service

OnProgress = Callable[[str, int, int], None]
"""Called with what is done, how much of it is done, and how much there is."""

READING, LEARNING = "Reading the answers", "Learning"
EPSILON = 1e-6
LOWEST, HIGHEST = 1.0, 10.0
"""Of the scale of f."""
REDUNDANT = 0.8
"""Correlation, over the benchmark's responses, from which on one criterion says what another says."""
MIN_STANDARD_ERRORS = 2.0
"""Standard errors by which a criterion must separate chosen and rejected responses to fill a line."""
_MIN_CHOICES = 2
"""Choices from which a standard error can be computed."""
FILLED_SHARE = 0.1
"""Of the weight for the lines that a checklist is filled up with: what is beyond Important."""
MAX_FOLDS = 5
SIGNIFICANCE = 0.05
"""Probability of predicting so many choices by guessing above which they are not significant."""
_FOLD_DRAWS = 1000


@dataclass(frozen=True)
class PredictionScore:
    """How well choices are predicted by a checklist learnt from others.

    Attributes:
        correct: Choices predicted; half a choice where the checklist does not prefer either response.
        decided: Choices of one response, the others being ties.
    """

    correct: float
    decided: int

    @property
    def p_value(self) -> float:
        """Probability that guessing predicts at least so many."""
        if not self.decided:
            return 1.0
        least = int(self.correct)
        return float(bdtrc(least - 1, self.decided, 0.5)) if least else 1.0

    @property
    def significant(self) -> bool:
        """Whether more choices are predicted than guesses would."""
        return self.p_value <= SIGNIFICANCE


@dataclass(frozen=True, eq=False)
class HistoryMargins:
    """A history ready to be learnt from.

    Attributes:
        margins: How the responses of the history stand under the library; any number of rows.
        benchmark: The same of the benchmark on whose responses the lines are chosen.
    """

    choices: tuple[Choice, ...]
    margins: CriterionMargins
    benchmark: CriterionMargins
    library: Sequence[LibraryCriterion]

    @classmethod
    def of(
        cls,
        choices: Sequence[PastChoice],
        margins: CriterionMargins,
        benchmark: CriterionMargins,
        library: Sequence[LibraryCriterion],
    ) -> HistoryMargins:
        """Return past choices with the margins of their texts."""
        rows = tuple(Choice(ResponsePair(row, 0, 1), choice.outcome) for row, choice in enumerate(choices))
        return cls(rows, margins, benchmark, library)

    def only(self, mask: NDArray[np.bool_]) -> HistoryMargins:
        """Return some of the choices ``[C]``."""
        kept = tuple(choice for choice, wanted in zip(self.choices, mask, strict=True) if wanted)
        return replace(self, choices=kept)

    def sides(self) -> tuple[Floats64, Floats64]:
        """Return margins of the chosen and of the rejected response of each decided choice ``[D, K + 1]``."""
        return chosen_and_rejected(self.choices, self.margins)

    def ahead(self) -> Floats64:
        """Return margins of the chosen over the rejected response of each decided choice ``[D, K + 1]``."""
        chosen, rejected = self.sides()
        return chosen - rejected

    def scores(self, indices: Sequence[int], signs: Floats64) -> tuple[Floats64, Floats64]:
        """Return f of chosen and of rejected responses under signed criteria, each ``[D, J]``."""
        chosen, rejected = self.sides()
        return criterion_scores(chosen[:, indices] * signs), criterion_scores(rejected[:, indices] * signs)


@dataclass(frozen=True, eq=False)
class HistoryChecklist:
    """What is learnt from a history.

    Attributes:
        posterior: The general preference: the posterior given all choices.
        lines: One list for everything.
        past: The choices and how their responses stand.
        by_category: The lists where some categories call for their own, that of all others first; else none.
    """

    posterior: PreferencePosterior
    lines: tuple[ChecklistLine, ...]
    predicted: PredictionScore
    past: HistoryMargins
    by_category: tuple[CategoryChecklist, ...] = ()

    @property
    def n_choices(self) -> int:
        """Number of choices, ties included."""
        return len(self.past.choices)

    @cached_property
    def to_clarify(self) -> ClarifyingQuestion | None:
        """Which wishes to ask about that the choices do not tell apart; None where there is nothing to ask.

        Nothing is asked of lists by category, as a person may go by each wish somewhere.
        """
        if self.by_category:
            return None
        return clarifying_question(self.posterior, self.past.sides(), self.past.benchmark.spread)

    def clarify(self, named: Iterable[SignedCriterion]) -> HistoryChecklist:
        """Return what is known after the person said which they went by; a ValueError if not asked."""
        if self.to_clarify is None:
            raise ValueError("There is nothing to clarify.")
        return self._knowing(self.posterior.after(ClarifyingReply(self.to_clarify, frozenset(named))))

    def without_last_reply(self) -> HistoryChecklist:
        """Return what was known before the last reply to such a question."""
        posterior = posterior_given(self.past.choices, self.past.margins)
        for reply in self.clarified[:-1]:
            posterior = posterior.after(reply)
        return self._knowing(posterior)

    def _knowing(self, posterior: PreferencePosterior) -> HistoryChecklist:
        return replace(self, posterior=posterior, lines=weighted_lines(posterior, self.past))

    @property
    def clarified(self) -> tuple[ClarifyingReply, ...]:
        """What was said of which wishes the choices were made by."""
        return clarified_in(self.posterior)

    @property
    def checklists(self) -> tuple[CategoryChecklist, ...]:
        """The lists to rank by: those by category where there are some."""
        return self.by_category or (CategoryChecklist((), self.lines),)


def learn_from_history(
    history: ChoiceHistory,
    service: Service,
    slug: str,
    on_progress: OnProgress | None = None,
    on_place: Callable[[int], None] = lambda _: None,
) -> HistoryChecklist:
    """Return what the choices say, in lines that say it of a benchmark's responses.

    Args:
        on_place: Told where one stands among those whose texts are read, as long as one waits.

    Raises as ``Service.benchmark`` and ``benchmark_margins``.
    """
    library = criterion_library()
    crm = registry.get_crm(registry.DEFAULT)
    benchmark = benchmark_margins(service.benchmark(slug), crm)
    reading, learning = (on_progress and partial(on_progress, step) for step in (READING, LEARNING))
    pairs = [Pair(choice.query, choice.first, choice.second) for choice in history.choices]
    margins = pair_margins(pairs, crm, tuple(item.criterion for item in library), reading, on_place)
    past = HistoryMargins.of(history.choices, margins, benchmark, library)
    queries = [choice.query for choice in history.choices]
    learnt = learn_checklist(past, queries, learning)
    categories = nearest_categories(sentence_encoder().embed(queries), service.benchmark(slug))
    return replace(learnt, by_category=lists_by_category(past, learnt.posterior, categories))


def lists_by_category(
    past: HistoryMargins, general: PreferencePosterior, categories: Sequence[str]
) -> tuple[CategoryChecklist, ...]:
    """Return the lists of a history whose choices are in these categories ``[C]``; none for one taste."""
    found = Categorised.of(past.choices, past.margins, past.benchmark.gram, categories, noise=ELSEWHERE)
    if found is None or len(found.groups) < 2:  # noqa: PLR2004
        return ()
    return tuple(
        CategoryChecklist(
            () if place == 0 else group,
            weighted_lines(found.posterior_in(group, general), past.only(found.within(group))),
        )
        for place, group in enumerate(found.groups)
    )


def learn_checklist(
    past: HistoryMargins, groups: Sequence[object] | None = None, on_progress: ProgressCallback | None = None
) -> HistoryChecklist:
    """Return the person's general preference, their checklist, and how far it can be trusted.

    Args:
        groups: What each choice was about; choices on the same are predicted together ``[C]``; by default
            their query in the margins.
    """
    folds = _folds(past, groups)
    n_parts = len(folds) + 1
    posterior = posterior_given(past.choices, past.margins)
    lines = weighted_lines(posterior, past)
    correct = 0.0
    for done, held_out in enumerate(folds, start=1):
        if on_progress is not None:
            on_progress(done, n_parts)
        others = past.only(~held_out)
        general = posterior_given(others.choices, past.margins, n_draws=_FOLD_DRAWS)
        correct += n_predicted(weighted_lines(general, others), past.only(held_out))
    if on_progress is not None:
        on_progress(n_parts, n_parts)
    decided = sum(choice.outcome.decided for choice in past.choices)
    return HistoryChecklist(posterior, lines, PredictionScore(correct, decided), past)


def _folds(past: HistoryMargins, groups: Sequence[object] | None) -> list[NDArray[np.bool_]]:
    """Return masks of choices ``[C]``, held out one after the other; none where there is one group only."""
    names = [choice.pair.query for choice in past.choices] if groups is None else list(groups)
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    order = np.random.default_rng([0, 3]).permutation(len(numbers))
    fold = order[[numbers[name] for name in names]] % MAX_FOLDS
    return [fold == number for number in np.unique(fold)] if len(numbers) > 1 else []


def n_predicted(lines: Sequence[ChecklistLine], past: HistoryMargins) -> float:
    """Return how many of the decided choices a checklist predicts; half of one that it leaves open."""
    ahead = past.ahead()
    if not lines:
        return len(ahead) / 2
    margin = ahead @ coefficients_of(lines, past.margins.n_criteria)
    return float((margin > 0).sum() + (margin == 0).sum() / 2)


def weighted_lines(posterior: PreferencePosterior, past: HistoryMargins) -> tuple[ChecklistLine, ...]:
    """Return the person's checklist, the weightiest line first; none if nothing was chosen.

    The posterior's lines come first, with its weights; what they are filled up with shares ``FILLED_SHARE``
    by saliency, or alike where nothing of it is salient; none of it weighs more than the posterior's lines.
    """
    sides = past.sides()
    clarified = clarified_in(posterior)
    known = with_stated(
        checklist(posterior, past.benchmark, past.library, sides),
        *(posterior, past.benchmark, past.library, sides),
        clarified=clarified,
    )
    denied = {each.index for reply in clarified for each in reply.denied}
    lines = _fill_lines(known, posterior, past, denied)
    if not lines or not len(sides[0]):
        return lines
    indices, polarity = [line.index for line in lines], [line.criterion.polarity for line in lines]
    weight = np.array([line.share for line in lines])
    if filled := len(lines) - len(known):
        chosen, rejected = past.scores(indices, np.array([each.sign for each in polarity]))
        salient = saliency_weights(saliency(chosen, with_contrast(rejected))[-filled:])
        weight[:-filled] *= 1 - FILLED_SHARE
        weight[-filled:] = FILLED_SHARE * (salient if salient.any() else 1 / filled)
        # None of them weighs more than what the choices say outright.
        weight[-filled:] = np.minimum(weight[-filled:], weight[:-filled].min())
        weight /= weight.sum()
    # The sort is stable: lines of no saliency stay in their order.
    order = [*range(len(known)), *(len(known) + np.argsort(-weight[len(known) :], kind="stable"))]
    # What differs clearly is measured on the benchmark, as in choices made there.
    evidence = count_evidence(indices, polarity, sides, past.benchmark.spread)
    grades = (*grade_shares(weight[: len(known)]), *[Weight.OPTIONAL] * (len(lines) - len(known)))
    return tuple(
        replace(
            lines[place],
            criterion=replace(lines[place].criterion, weight=grade),
            share=float(weight[place]),
            evidence=replace(evidence[place], replies=lines[place].evidence.replies),
        )
        for place, grade in zip(order, grades, strict=True)
    )


def _fill_lines(
    lines: tuple[ChecklistLine, ...],
    posterior: PreferencePosterior,
    past: HistoryMargins,
    denied: Collection[int],
) -> tuple[ChecklistLine, ...]:
    """Return the lines, and more of no weight in the posterior, as far as there is room and reason.

    Args:
        denied: Criteria that the person said not to go by.
    """
    n_criteria = past.margins.n_criteria
    chosen, rejected = past.scores(range(n_criteria), np.ones(n_criteria))
    if len(chosen) < _MIN_CHOICES or not lines:
        return lines
    apart = chosen - rejected
    mean, error = apart.mean(axis=0), apart.std(axis=0, ddof=1) / np.sqrt(len(apart))
    length = np.sqrt(np.maximum(np.diag(past.benchmark.gram), np.finfo(float).tiny))
    correlation = past.benchmark.gram / np.outer(length, length)
    signed = {line.index: line.criterion.polarity.sign for line in lines}
    filled = list(lines)
    for index in map(int, np.argsort(-np.abs(mean), kind="stable")):
        if len(filled) >= MAX_LINES:
            break
        sign = float(np.sign(mean[index]))
        sure = abs(mean[index]) > MIN_STANDARD_ERRORS * error[index]
        redundant = any(correlation[index, other] * sign * own > REDUNDANT for other, own in signed.items())
        if sure and not redundant and index not in signed and index not in denied:
            line = (index, polarity_of(sign), Weight.OPTIONAL, 0.0, Evidence(0, 0))
            filled.append(ChecklistLine.of(*line, library=past.library, posterior=posterior))
            signed[index] = sign
    return tuple(filled)


def criterion_scores(relative: NDArray[np.floating]) -> Floats64:
    """Return f of responses, by their margins over the average response to their query; any shape."""
    return LOWEST + (HIGHEST - LOWEST) * np.asarray(probabilities(relative), dtype=np.float64)


def with_contrast(rejected: Floats64) -> Floats64:
    """Return f(Y⁻) of each choice, from f of the rejected responses ``[C, J]``."""
    return np.asarray((rejected + rejected.mean(axis=0)) / 2, dtype=np.float64)


def saliency(chosen: Floats64, negative: Floats64) -> Floats64:
    """Return the mean saliency of J criteria over C choices ``[J]``, not yet rectified.

    Args:
        chosen: f of the chosen responses ``[C, J]``.
        negative: f of their negatives, the mean where there are several ``[C, J]``.
    """
    positives, negatives = (each.sum(axis=1, keepdims=True) for each in (chosen, negative))
    without = (negatives - negative) / (positives - chosen + EPSILON)
    return np.asarray((without - negatives / (positives + EPSILON)).mean(axis=0), dtype=np.float64)


def saliency_weights(found: Floats64) -> Floats64:
    """Return weights ``[J]`` that sum to 1; all zero where no criterion is salient."""
    positive = np.maximum(found, 0)
    total = float(positive.sum())
    return positive / total if total > 0 else positive
