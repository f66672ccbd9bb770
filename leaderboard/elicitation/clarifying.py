"""Asking which of several wishes a person chose by, where their choices go with all of them.

A dozen choices seldom tell a wish for fewer words from one for plainer ones: the answers that have the one
have the other. Instead of guessing, the criteria that the posterior thinks most likely are offered, and the
person names those that they went by, several or none. Each of them is named with probability ``NAMED`` if
the person follows it, and with ``NAMED_BY_MISTAKE`` if they do not, independently of the others.

What a person states outright belongs on their checklist, whatever else could describe a benchmark's responses
as well. The posterior knows only which responses an answer goes with, so a checklist made from it alone would
tell somebody who asked for numbered steps that they like checklists or thoroughness. With something stated
the lines are therefore what was stated, and those lines of the posterior's checklist that the choices support
and that were not denied. Weights are fitted to the posterior as there, so that they still say how much each
matters; a wish that the fit can do without comes last.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from crm.criteria import Criterion, Polarity, Weight
from crm.protocol import Floats
from leaderboard.elicitation.acquisition import standardised
from leaderboard.elicitation.checklist import (
    ChecklistLine,
    Evidence,
    Floats64,
    ReplySupport,
    count_evidence,
    fit_weights,
    grade_shares,
    polarity_of,
)
from leaderboard.elicitation.library import LibraryCriterion
from leaderboard.elicitation.margins import CriterionMargins
from leaderboard.elicitation.posterior import Draws, PreferencePosterior

MOST_OFFERED = 8
MAX_CLARIFYING = 2
"""Questions of this kind to one person: the second offers what the first did not."""
FEWEST_CHOICES = 6
"""Decided choices before anything is asked: of fewer nearly every wish is as likely as the next."""
CERTAIN = 0.95
"""Probability of one criterion from which on nothing is asked."""
LEAST_LIKELY = 0.01
"""Probability below which a criterion is not offered."""
LEAST_CLEAR = 2
"""Choices between answers that clearly differ in a criterion, before it is said that the choices fit it."""
NAMED, NAMED_BY_MISTAKE = 0.9, 0.02
_MIN_WEIGHT = 1e-3
"""Of the fit's largest weight: what a wish counts that the fit can do without."""


@dataclass(frozen=True)
class SignedCriterion:
    """A criterion of the library by its place there, wanted or avoided."""

    index: int
    polarity: Polarity

    def of(self, library: Sequence[LibraryCriterion]) -> Criterion:
        """Return it as a criterion of its own."""
        return Criterion(library[self.index].criterion.text, Weight.ESSENTIAL, self.polarity)

    def label(self, library: Sequence[LibraryCriterion]) -> str:
        """Return it in a few words: “Short answers”, “Not: Metaphors”."""
        label = library[self.index].label
        return label if self.polarity is Polarity.WANT else f"Not: {label}"


@dataclass(frozen=True)
class ClarifyingQuestion:
    """Criteria of which a person may have gone by one or several, the likeliest first."""

    offered: tuple[SignedCriterion, ...]


@dataclass(frozen=True)
class ClarifyingReply:
    """Those of the offered criteria that the person went by, as they say; none for none of them."""

    question: ClarifyingQuestion
    named: frozenset[SignedCriterion]

    @property
    def denied(self) -> frozenset[SignedCriterion]:
        """Those that were offered and not named."""
        return frozenset(self.question.offered) - self.named

    def log_likelihood(self, draws: Draws) -> NDArray[np.float64]:
        """Return the log probability of the reply under each person ``[N]``."""
        offered = self.question.offered
        prob = np.where(_follows(draws, offered), NAMED, NAMED_BY_MISTAKE)
        named = np.array([each in self.named for each in offered])
        return np.asarray(np.log(np.where(named, prob, 1 - prob)).sum(axis=1), dtype=np.float64)


def clarifying_question(
    posterior: PreferencePosterior, sides: tuple[Floats64, Floats64], spread: NDArray[np.floating]
) -> ClarifyingQuestion | None:
    """Return which criteria to ask about; None where one is certain, or fewer than two are left to ask about.

    None, too, after fewer than ``FEWEST_CHOICES`` decided choices.

    Args:
        sides: Margins of chosen and rejected responses, as of ``chosen_and_rejected``: a criterion for which
            most choices do not speak, of ``LEAST_CLEAR`` or more, is not offered.
        spread: Standard deviation of a benchmark's responses under each criterion ``[K]``.
    """
    asked = clarified_in(posterior)
    if len(asked) >= MAX_CLARIFYING or any(item.named for item in asked) or len(sides[0]) < FEWEST_CHOICES:
        return None
    weights = posterior.draws.weights
    likely = np.stack([posterior.probability @ (weights > 0), posterior.probability @ (weights < 0)])
    if likely.max() >= CERTAIN:
        return None
    before = {each for item in asked for each in item.question.offered}
    places = np.argsort(-likely, axis=None, kind="stable")[: np.count_nonzero(likely >= LEAST_LIKELY)]
    rows, columns = np.unravel_index(places, likely.shape)
    criteria = [
        SignedCriterion(int(index), polarity_of(1 - 2 * row))
        for row, index in zip(rows, columns, strict=True)
    ]
    evidence = count_evidence(columns.tolist(), [each.polarity for each in criteria], sides, spread)
    fitting = [
        criterion
        for criterion, counts in zip(criteria, evidence, strict=True)
        if criterion not in before and counts.supporting and counts.clear >= LEAST_CLEAR
    ]
    return ClarifyingQuestion(tuple(fitting[:MOST_OFFERED])) if len(fitting) > 1 else None


def followed_of(draws: Draws, criteria: Sequence[SignedCriterion]) -> Floats:
    """Return which of J criteria each person follows, centred, with a total variance of 1 ``[N, J]``."""
    return standardised(_follows(draws, criteria).astype(np.float32))


def _follows(draws: Draws, criteria: Sequence[SignedCriterion]) -> NDArray[np.bool_]:
    """Return which of J criteria each person follows ``[N, J]``."""
    sign = np.array([each.polarity.sign for each in criteria])
    return np.asarray(draws.weights[:, [each.index for each in criteria]] * sign > 0)


def clarified_in(posterior: PreferencePosterior) -> tuple[ClarifyingReply, ...]:
    """Return what was said to questions of this kind."""
    return tuple(item for item in posterior.observed if isinstance(item, ClarifyingReply))


def with_stated(
    learnt: tuple[ChecklistLine, ...],
    posterior: PreferencePosterior,
    margins: CriterionMargins,
    library: Sequence[LibraryCriterion],
    sides: tuple[Floats64, Floats64],
    *,
    clarified: Sequence[ClarifyingReply],
    wishes: Sequence[Mapping[int, float]] = (),
) -> tuple[ChecklistLine, ...]:
    """Return a checklist with what the person stated outright; as it is where they stated nothing.

    Args:
        learnt: The posterior's checklist on responses with these margins.
        sides: Margins of chosen and rejected responses, as of ``chosen_and_rejected``.
        wishes: Further ones, each with its criteria by index and 1 for wanted or −1 for avoided.
    """
    said = {each.index: each for reply in clarified for each in reply.named}
    denied = {(each.index, each.polarity) for reply in clarified for each in reply.denied}
    stated = [*wishes, *({index: float(each.polarity.sign)} for index, each in said.items())]
    signs = {
        line.index: float(line.criterion.polarity.sign)
        for line in learnt
        if line.evidence.supporting and (line.index, line.criterion.polarity) not in denied
    }
    if not stated and not (denied and signs):
        return learnt
    for wish in stated:
        signs |= wish
    indices, sign = np.array(list(signs)), np.array(list(signs.values()))
    among = margins.gram[np.ix_(indices, indices)] * np.outer(sign, sign)
    fitted = fit_weights(among, sign * (margins.gram[indices] @ posterior.mean))
    weight = _with_minimum(indices, fitted, stated)
    order = [place for place in np.argsort(-weight, kind="stable") if weight[place] > 0]
    share = weight[order] / weight.sum()
    chosen = [int(index) for index in indices[order]]
    polarity = [polarity_of(signs[index]) for index in chosen]
    evidence = count_evidence(chosen, polarity, sides, margins.spread)
    return tuple(
        ChecklistLine.of(
            *(index, each, grade, part, _with_reply(counts, said.get(index), library)),
            library=library,
            posterior=posterior,
        )
        for index, each, grade, part, counts in zip(
            chosen, polarity, grade_shares(share), share.tolist(), evidence, strict=True
        )
    )


def _with_reply(
    counts: Evidence, said: SignedCriterion | None, library: Sequence[LibraryCriterion]
) -> Evidence:
    """Return the evidence with what was picked, in the words that stood there."""
    return replace(counts, replies=(ReplySupport(said.label(library), named=True),)) if said else counts


def _with_minimum(
    indices: NDArray[np.intp], weight: NDArray[np.float64], wishes: Sequence[Mapping[int, float]]
) -> NDArray[np.float64]:
    """Return the weights, with a little for the first criterion of every wish that has none."""
    kept = weight.copy()
    least = _MIN_WEIGHT * (float(weight.max()) or 1.0)
    for wish in wishes:
        rows = np.flatnonzero(np.isin(indices, list(wish)))
        if not (kept[rows] > 0).any():
            kept[rows[0]] = least
    return kept
