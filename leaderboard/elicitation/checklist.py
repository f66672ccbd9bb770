"""The posterior as a checklist: Essential, Important and Optional lines, each with the evidence for it.

Criteria overlap, so the posterior spreads one taste over several of them. The checklist is a short list that
says the same of a benchmark's responses. As in orthogonal matching pursuit (Pati et al. 1993) criteria are
taken up one by one, each with the sign of its posterior mean, and all weights are fitted again; but what
counts is the list as it will be used, with grades for weights: of the most promising criteria that one is
taken which brings the graded list's utilities nearest to the posterior mean's, as long as this gains
``MIN_GAIN`` of correlation. Of criteria that do this about as well, one that the person probably follows by
itself is preferred (``NAMING_BONUS``), as lines are read, too. A criterion against which most choices speak
is no line, unless there is no other. Grades follow P-CHECK's cumulative weights: the top 40 % Essential, to
90 % Important, the rest Optional.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crm.criteria import CriteriaSet, Criterion, Polarity, Weight
from crm.protocol import Floats
from leaderboard.elicitation.interview import INDIFFERENCE, InterviewReply, ObservedReply
from leaderboard.elicitation.library import LibraryCriterion
from leaderboard.elicitation.margins import CriterionMargins
from leaderboard.elicitation.posterior import PreferencePosterior

MIN_GAIN = 0.001
MAX_LINES = 8
ESSENTIAL_SHARE = 0.4
IMPORTANT_SHARE = 0.9
"""Cumulative weight up to which lines are Essential, and up to which Important (P-CHECK, section 4)."""
CLEAR_DIFFERENCE = 1.0
"""Standard deviations between two responses that differ clearly in a criterion."""
SMALLEST_SPREAD = 0.05
"""Log-odds by which a benchmark's responses have to differ under a criterion for a line to say it of them:
where none has code, wishes for code are a hair that could go with anything."""
NAMING_BONUS = 0.2
"""Correlation that a line may cost for a criterion that the person certainly follows, and less for others."""
_MAX_TRIED = 12
"""Criteria that are tried for the next line."""

Floats64 = NDArray[np.float64]


@dataclass(frozen=True)
class ReplySupport:
    """An option taken in the interview that goes with a criterion; ``named`` if it asks for this very one."""

    text: str
    named: bool


@dataclass(frozen=True)
class Evidence:
    """What a person did that speaks for or against a criterion with its polarity.

    Attributes:
        with_it: Choices that took the response that meets the criterion better, of the clear ones.
        clear: Choices between two responses that differ clearly in the criterion.
        replies: Options taken in the interview that go with it, closest first.
    """

    with_it: int
    clear: int
    replies: tuple[ReplySupport, ...] = ()

    @property
    def contrary(self) -> bool:
        """Whether most of the clear choices went against the criterion."""
        return 2 * self.with_it < self.clear

    @property
    def supporting(self) -> bool:
        """Whether most of the clear choices went with the criterion."""
        return 2 * self.with_it > self.clear


@dataclass(frozen=True)
class ChecklistLine:
    """One criterion that the person seems to follow; an edit makes another line.

    Attributes:
        index: Of the criterion in the library.
        share: Of the list's weight.
        followed: Posterior probability that the person follows this very criterion.
    """

    index: int
    label: str
    criterion: Criterion
    share: float
    followed: float
    evidence: Evidence

    @classmethod
    def of(
        cls,
        index: int,
        polarity: Polarity,
        weight: Weight,
        share: float,
        evidence: Evidence,
        *,
        library: Sequence[LibraryCriterion],
        posterior: PreferencePosterior,
    ) -> ChecklistLine:
        """Return the line for a criterion of the library."""
        item = library[index]
        criterion = Criterion(item.criterion.text, weight, polarity)
        return cls(index, item.label, criterion, share, float(posterior.followed[index]), evidence)


def checklist(
    posterior: PreferencePosterior,
    margins: CriterionMargins,
    library: Sequence[LibraryCriterion],
    sides: tuple[Floats64, Floats64],
) -> tuple[ChecklistLine, ...]:
    """Return what is known of the person, the weightiest line first; none if no preference was stated yet.

    Args:
        margins: Of a benchmark's responses, of which the lines are to say what the posterior says.
        sides: Margins of chosen and rejected responses, as of ``chosen_and_rejected``: the evidence.
    """
    if all(isinstance(item, ObservedReply) and item.indifferent for item in posterior.observed):
        return ()
    polarity = [polarity_of(mean) for mean in posterior.mean]
    everything = range(len(polarity))
    evidence = count_evidence(everything, polarity, sides, margins.spread)
    alike = margins.spread < SMALLEST_SPREAD
    against = np.array([item.contrary for item in evidence]) | alike
    bonus = np.where(against, -np.inf, NAMING_BONUS * posterior.followed)
    chosen, weight = _select_criteria(posterior.mean, margins.gram, bonus)
    if not chosen:
        chosen, weight = _select_criteria(posterior.mean, margins.gram, np.where(alike, -np.inf, 0.0))
    share = weight / weight.sum() if len(weight) else weight
    return tuple(
        ChecklistLine.of(
            index, polarity[index], grade, float(part), evidence[index], library=library, posterior=posterior
        )
        for index, part, grade in zip(chosen, share, grade_shares(share), strict=True)
    )


def criteria_of(lines: Sequence[ChecklistLine]) -> CriteriaSet:
    """Return the checklist as what a view carries to the leaderboard."""
    return CriteriaSet(tuple(line.criterion for line in lines))


def coefficients_of(lines: Sequence[ChecklistLine], n_criteria: int) -> Floats64:
    """Return the factors of margins in the utility under a checklist with a line or more ``[K + 1]``."""
    weights = np.zeros(n_criteria)
    for line in lines:
        weights[line.index] = line.criterion.signed_weight
    return np.append(weights / np.linalg.norm(weights), 1)


def polarity_of(sign: float) -> Polarity:
    """Return whether a signed weight wants or avoids its criterion."""
    return Polarity.WANT if sign > 0 else Polarity.AVOID


def grade_shares(share: NDArray[np.floating]) -> tuple[Weight, ...]:
    """Return the grades of lines with these shares of the weight, which fall and sum to 1.

    A line belongs where the weight before it ends, so the first is always Essential.
    """
    before = np.cumsum(share) - share
    return tuple(
        Weight.ESSENTIAL
        if start < ESSENTIAL_SHARE
        else Weight.IMPORTANT
        if start < IMPORTANT_SHARE
        else Weight.OPTIONAL
        for start in before
    )


def count_evidence(
    indices: Sequence[int],
    polarity: Sequence[Polarity],
    sides: tuple[Floats64, Floats64],
    spread: NDArray[np.floating],
) -> list[Evidence]:
    """Return how many choices go with each of J criteria where the two responses differ clearly in it.

    Args:
        indices: Of the criteria in the library ``[J]``.
        polarity: Theirs ``[J]``.
        sides: Margins of chosen and rejected responses, as of ``chosen_and_rejected``.
        spread: Standard deviation of a benchmark's responses under each criterion ``[K]``.
    """
    chosen, rejected = sides
    columns = list(indices)
    ahead = (chosen - rejected)[:, columns] * np.array([each.sign for each in polarity])
    clear = np.abs(ahead) > CLEAR_DIFFERENCE * spread[columns]
    with_it = clear & (ahead > 0)
    return [Evidence(int(some), int(all_)) for some, all_ in zip(with_it.sum(0), clear.sum(0), strict=True)]


def supporting_replies(
    index: int, polarity: Polarity, margins: CriterionMargins, replies: Sequence[InterviewReply]
) -> tuple[ReplySupport, ...]:
    """Return the options taken that go with a criterion, those that ask for it first, then the closest.

    An option goes with it where the utility of its criteria correlates with that of the criterion, over the
    benchmark's responses, by more than ``INDIFFERENCE``: beyond that, the interview's model takes it for a
    wish.
    """
    found: list[tuple[float, ReplySupport]] = []
    for reply in replies:
        weights = reply.question.weights[reply.option] * polarity.sign
        named = bool(weights[index] > 0)
        correlation = _correlation(weights, index, margins)
        if named or correlation > INDIFFERENCE:
            found.append((correlation, ReplySupport(reply.text, named)))
    return tuple(support for _, support in sorted(found, key=lambda item: (not item[1].named, -item[0])))


def _correlation(weights: Floats, index: int, margins: CriterionMargins) -> float:
    """Return the correlation of the utilities under some weights and under one criterion; 0 under none."""
    product = weights @ margins.gram
    length = (product @ weights) * margins.gram[index, index]
    return float(product[index] / np.sqrt(length)) if length > 0 else 0.0


def _select_criteria(mean: Floats64, gram: Floats64, bonus: Floats64) -> tuple[list[int], Floats64]:
    """Return indices of criteria and their positive weights, falling; a ``bonus`` of −∞ rules one out."""
    sign = np.where(mean < 0, -1.0, 1.0)
    signed = gram * np.outer(sign, sign)
    target = signed @ np.abs(mean)
    target /= max(float(np.abs(mean) @ target) ** 0.5, np.finfo(float).tiny)
    chosen, weight, best = list[int](), np.zeros(0), 0.0
    for _ in range(min(MAX_LINES, int((mean != 0).sum()))):
        tried = {
            index: _fit_falling([*chosen, index], signed, target)
            for index in _promising(chosen, weight, signed, target, bonus > -np.inf)
        }
        if not tried:
            break
        correlation = {index: _graded_correlation(*fit, signed, target) for index, fit in tried.items()}
        index = max(tried, key=lambda index: correlation[index] + bonus[index])
        if correlation[index] < best + MIN_GAIN:
            break
        (chosen, weight), best = tried[index], correlation[index]
    return chosen, weight


def _graded_correlation(chosen: list[int], weight: Floats64, gram: Floats64, target: Floats64) -> float:
    """Return the correlation of the graded list's utilities with the target's, which have unit variance."""
    value = np.array([grade.value_in_sum for grade in grade_shares(weight / weight.sum())])
    product = value @ target[chosen]
    length = np.sqrt(value @ gram[np.ix_(chosen, chosen)] @ value)
    return float(product / length)


def _fit_falling(chosen: list[int], gram: Floats64, target: Floats64) -> tuple[list[int], Floats64]:
    """Return the criteria with the weights that fit the target best, falling, those without any left out."""
    weight = fit_weights(gram[np.ix_(chosen, chosen)], target[chosen])
    order = [place for place in np.argsort(-weight, kind="stable") if weight[place] > 0]
    return [chosen[place] for place in order], weight[order]


def _promising(
    chosen: list[int], weight: Floats64, gram: Floats64, target: Floats64, allowed: NDArray[np.bool_]
) -> list[int]:
    """Return the criteria that go best with what the chosen ones leave of the target."""
    left = target - gram[:, chosen] @ weight
    gain = left / np.sqrt(np.maximum(np.diag(gram), np.finfo(float).tiny))
    left_over = allowed & (gain > 0)
    left_over[chosen] = False
    return [int(index) for index in np.argsort(-gain) if left_over[index]][:_MAX_TRIED]


def fit_weights(gram: Floats64, target: Floats64) -> Floats64:
    """Return the weights, none negative, whose utilities are nearest a target's.

    Args:
        gram: Mean products of the margins of the criteria, each with its sign ``[n, n]``.
        target: Mean products of these margins with the target's utilities ``[n]``.
    """
    from scipy.optimize import nnls  # noqa: PLC0415 - a sixth of a command's start

    ridge = gram + 1e-6 * np.trace(gram) * np.eye(len(gram))
    root = np.linalg.cholesky(ridge)
    weight, _ = nnls(root.T, np.linalg.solve(root, target))
    return np.asarray(weight, dtype=np.float64)
