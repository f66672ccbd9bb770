"""What a ranking can be controlled for: the length of responses, or their length and Markdown.

Win rates at equal length or style: what an LLM would win if its responses were like the baseline's.

A logistic regression of the outcomes with one term for each LLM and effects that all LLMs share,

    P(LLM l wins on query q) = σ(θ_l + Σ_p φ_p x_lqp),

whose controlled win rate is σ(θ_l): the terms x, such as the difference in length, are set to 0. It is the
"minimal" model of Dubois et al. 2024 (Length-Controlled AlpacaEval, section 3), but that the effects are
shared, as in the style control of LMArena: an LLM whose responses are all shorter than the baseline's says
nothing of what length is worth, and the others do. Outcomes may be ties or probabilities (fractional logit,
Papke & Wooldridge 1996)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from leaderboard.errors import LeaderboardError
from leaderboard.statistics.bootstrap import RESAMPLES, bootstrap_plan
from leaderboard.statistics.win_rate import checked_weights, win_rates


class Control(StrEnum):
    """What is removed from the win rates."""

    NONE = "none"
    LENGTH = "length"
    STYLE = "style"

    @classmethod
    def named(cls, name: str) -> Control:
        """Return the control of a link or a command line; a LeaderboardError if none has this name."""
        try:
            return cls(name)
        except ValueError:
            known = ", ".join(cls)
            raise LeaderboardError(f"There is no control {name!r}: choose one of {known}.") from None


@dataclass(frozen=True)
class Term:
    """One property that is controlled for.

    Attributes:
        name: What differs between responses.
        more: Describes, of two responses, the one whose term is ``example``.
        less: Describes the other one.
        example: A value of the term that is easily imagined.
    """

    name: str
    more: str
    less: str
    example: float


# One standard deviation longer; twice as many, which is (2 − 1) / (2 + 1).
LENGTH = Term("length", "the clearly longer one", "the clearly shorter one", float(np.tanh(1.0)))
LISTS = Term("lists", "twice as many list items", "half as many list items", 1 / 3)
HEADINGS = Term("headings", "twice as many headings", "half as many headings", 1 / 3)
BOLD = Term("bold", "twice as many bold passages", "half as many bold passages", 1 / 3)

TERMS: Mapping[Control, tuple[Term, ...]] = {
    Control.NONE: (),
    Control.LENGTH: (LENGTH,),
    Control.STYLE: (LENGTH, LISTS, HEADINGS, BOLD),
}
"""The terms of each control, in the order of its effects."""


@dataclass(frozen=True, eq=False)
class StyleCounts:
    """What was counted in the responses of L LLMs and, in the last row, of the baseline; [L + 1, Q] each.

    Attributes:
        length: Words or characters.
        lists: List items, numbered or not.
        present: Whether there is a response.
    """

    length: NDArray[np.float64]
    lists: NDArray[np.float64]
    headings: NDArray[np.float64]
    bold: NDArray[np.float64]
    present: NDArray[np.bool_]


def control_terms(counts: StyleCounts, control: Control) -> NDArray[np.float64]:
    """The terms [L, Q, P] of a control; 0 where LLM and baseline are alike, positive where the LLM has more.

    Length enters as tanh(Δ / σ), Δ being the difference and σ its standard deviation over the LLM's queries
    (Dubois et al. 2024), everything else as (a − b) / (a + b), as LMArena has it.
    """
    both = counts.present[:-1] & counts.present[-1]
    columns = {
        LENGTH: _length_term(counts.length, both),
        LISTS: _relative_difference(counts.lists),
        HEADINGS: _relative_difference(counts.headings),
        BOLD: _relative_difference(counts.bold),
    }
    terms = [np.where(both, columns[term], 0.0) for term in TERMS[control]]
    return np.stack(terms, axis=-1) if terms else np.empty((*both.shape, 0))


def _length_term(length: NDArray[np.float64], both: NDArray[np.bool_]) -> NDArray[np.float64]:
    """tanh(Δ / σ) [L, Q]; where an LLM's Δ never varies the limit, which is the sign of Δ."""
    difference = np.where(both, length[:-1] - length[-1], 0.0)
    n = np.maximum(both.sum(axis=1, keepdims=True), 1)
    centred = np.where(both, difference - difference.sum(axis=1, keepdims=True) / n, 0.0)
    spread = np.sqrt(np.sum(centred**2, axis=1, keepdims=True) / n)
    varies = spread > 0
    return np.asarray(
        np.where(varies, np.tanh(difference / np.where(varies, spread, 1.0)), np.sign(difference))
    )


def _relative_difference(count: NDArray[np.float64]) -> NDArray[np.float64]:
    """(a − b) / (a + b) [L, Q] in [−1, 1], 0 where neither has any."""
    own, baseline = count[:-1], count[-1]
    total = own + baseline
    return np.asarray(np.where(total > 0, (own - baseline) / np.where(total > 0, total, 1.0), 0.0))


# Precision of a normal prior on every coefficient. A hundredth of what one even query tells, it is only felt
# where the outcomes leave a coefficient open: an LLM that wins every query, or a judge that asks for nothing
# but length.
_RIDGE = 0.01

_MAX_STEPS = 60
_SMALL_STEP = 1e-7
_MAX_HALVINGS = 20

_Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ControlledFit:
    """The regression of L LLMs with P terms.

    Attributes:
        strength: [L], θ: log-odds of winning at equal style; NaN for an LLM without responses.
        effects: [P], φ: log-odds that one unit of each term adds.
    """

    strength: NDArray[np.float64]
    effects: NDArray[np.float64]

    @property
    def win_rate(self) -> NDArray[np.float64]:
        """[L], win rates with all terms set to 0; NaN for an LLM without responses."""
        return np.asarray(expit(self.strength))


@dataclass(frozen=True, eq=False)
class _Data:
    """What the regression reads: no NaN, and weight 0 where there is no outcome."""

    outcome: _Array  # [L, Q]
    terms: _Array  # [L, Q, P]
    weight: _Array  # [L, Q]

    @classmethod
    def of(cls, outcomes: NDArray[np.floating], terms: NDArray[np.floating], weights: _Array) -> _Data:
        present = ~np.isnan(outcomes)
        known = np.where(present[..., np.newaxis], terms, 0.0)
        return cls(np.where(present, outcomes, 0.0), known, present * weights)


def fit_controlled(
    outcomes: NDArray[np.floating], terms: NDArray[np.floating], weights: NDArray[np.floating] | None = None
) -> ControlledFit:
    """Fit the regression by Newton's method with halved steps; the objective is convex.

    Args:
        outcomes: [L, Q], in [0, 1], NaN where missing.
        terms: [L, Q, P], 0 where LLM and baseline are alike; read only where there is an outcome.
        weights: [Q], how much each query counts, on any scale.

    Raises:
        LeaderboardError: if ``terms`` does not match the outcomes; as in ``win_rates``.
    """
    if terms.shape[:2] != outcomes.shape:
        raise LeaderboardError(f"Give the terms of {outcomes.shape} responses, not of {terms.shape[:2]}.")
    data = _Data.of(outcomes, terms, checked_weights(weights, outcomes.shape[1]))
    plain = win_rates(outcomes, weights)
    strength = logit(np.clip(np.nan_to_num(plain, nan=0.5), 0.01, 0.99))
    effects = np.zeros(terms.shape[2])
    loss = _loss(data, strength, effects)
    for _ in range(_MAX_STEPS):
        step, effect_step = _newton_step(data, strength, effects)
        scale = 1.0
        for _ in range(_MAX_HALVINGS):
            tried = strength + scale * step, effects + scale * effect_step
            tried_loss = _loss(data, *tried)
            if tried_loss <= loss:
                break
            scale /= 2
        else:
            break  # no step that rounding would let improve
        (strength, effects), loss = tried, tried_loss
        if max(np.abs(step).max(initial=0), np.abs(effect_step).max(initial=0)) < _SMALL_STEP:
            break
    return ControlledFit(np.where(np.isnan(plain), np.nan, strength), effects)


def bootstrap_controlled(
    fit: ControlledFit,
    outcomes: NDArray[np.floating],
    terms: NDArray[np.floating],
    strata: NDArray[np.integer],
    *,
    weights: NDArray[np.floating] | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> NDArray[np.float32]:
    """Controlled win rates [B, L], in the resamples of the plain ones (see ``bootstrap_win_rates``).

    Each resample takes one Newton step from the fit on all queries (k-step bootstrap, Andrews 2002), with
    the resample's own gradient and Hessian; both are sums over queries, so all resamples together are one
    matrix product. The step is taken on the scale of win rates, on which it is exact without effects.

    NaN where a resample draws no query the LLM has a response to. Raises as ``bootstrap_plan``.

    Args:
        fit: of ``outcomes`` [L, Q], ``terms`` [L, Q, P] and ``weights`` [Q], which are all positive.
    """
    n_llms, n_queries, n_terms = terms.shape
    data = _Data.of(outcomes, terms, checked_weights(weights, n_queries))
    strength = np.nan_to_num(fit.strength)
    residual, spread = _residual_and_spread(data, strength, fit.effects)
    spread_terms = spread[..., np.newaxis] * data.terms
    per_query = np.concatenate(
        [
            data.weight.T,
            residual.T,
            spread.T,
            spread_terms.transpose(1, 0, 2).reshape(n_queries, -1),
            np.einsum("lq,lqp->qp", residual, data.terms),
            np.einsum("lqp,lqr->qpr", spread_terms, data.terms).reshape(n_queries, -1),
        ],
        axis=1,
    ).astype(np.float32)
    counts = bootstrap_plan(strata, resamples=resamples, seed=seed).counts
    sizes = (n_llms, n_llms, n_llms, n_llms * n_terms, n_terms)
    total, gradient, curvature, cross, effect_gradient, effect_curvature = np.split(
        (counts.astype(np.float32) @ per_query).astype(np.float64), np.cumsum(sizes), axis=1
    )
    step, _ = _solve(
        gradient - _RIDGE * strength,
        curvature,
        cross.reshape(resamples, n_llms, n_terms),
        effect_gradient - _RIDGE * fit.effects,
        effect_curvature.reshape(resamples, n_terms, n_terms),
    )
    rate = expit(strength)
    samples = np.clip(rate + rate * (1 - rate) * step, 0.0, 1.0)
    return np.where(total > 0, samples, np.nan).astype(np.float32)


def controlled_within(
    fit: ControlledFit,
    outcomes: NDArray[np.floating],
    terms: NDArray[np.floating],
    weights: NDArray[np.floating] | None = None,
) -> NDArray[np.float64]:
    """Controlled win rates [L] on part of the queries, by the effects of all; NaN if none is answered."""
    data = _Data.of(outcomes, terms, checked_weights(weights, outcomes.shape[1]))
    plain = win_rates(outcomes, weights)
    strength = np.nan_to_num(fit.strength)
    for _ in range(_MAX_STEPS):
        residual, spread = _residual_and_spread(data, strength, fit.effects)
        gradient = residual.sum(axis=1) - _RIDGE * strength
        # Newton overshoots where the curve is flat: two units of log-odds a step are safe and soon enough.
        step = np.clip(gradient / (spread.sum(axis=1) + _RIDGE), -2.0, 2.0)
        strength = strength + step
        if np.abs(step).max(initial=0) < _SMALL_STEP:
            break
    return np.where(np.isnan(plain), np.nan, expit(strength))


def _loss(data: _Data, strength: _Array, effects: _Array) -> float:
    """Negative log-likelihood and half the ridge."""
    log_odds = strength[:, np.newaxis] + data.terms @ effects
    per_response = np.logaddexp(0.0, log_odds) - data.outcome * log_odds
    return float(np.sum(data.weight * per_response) + _RIDGE / 2 * (strength @ strength + effects @ effects))


def _residual_and_spread(data: _Data, strength: _Array, effects: _Array) -> tuple[_Array, _Array]:
    """Weighted outcome less its expectation, and the weighted variance p(1 − p), [L, Q] each."""
    expected = expit(strength[:, np.newaxis] + data.terms @ effects)
    return data.weight * (data.outcome - expected), data.weight * expected * (1 - expected)


def _newton_step(data: _Data, strength: _Array, effects: _Array) -> tuple[_Array, _Array]:
    residual, spread = _residual_and_spread(data, strength, effects)
    spread_terms = spread[..., np.newaxis] * data.terms
    return _solve(
        residual.sum(axis=1) - _RIDGE * strength,
        spread.sum(axis=1),
        spread_terms.sum(axis=1),
        np.einsum("lq,lqp->p", residual, data.terms) - _RIDGE * effects,
        np.einsum("lqp,lqr->pr", spread_terms, data.terms),
    )


def _solve(
    gradient: _Array, curvature: _Array, cross: _Array, effect_gradient: _Array, effect_curvature: _Array
) -> tuple[_Array, _Array]:
    """Solve the Newton equations, whose Hessian is an arrow: diagonal in θ [..., L], dense in φ [..., P]."""
    diagonal = curvature + _RIDGE
    share = cross / diagonal[..., np.newaxis]
    ridge = _RIDGE * np.eye(cross.shape[-1])
    reduced = effect_curvature + ridge - np.swapaxes(share, -1, -2) @ cross
    right = effect_gradient - (gradient[..., np.newaxis, :] @ share)[..., 0, :]
    effect_step = np.asarray(np.linalg.solve(reduced, right[..., np.newaxis])[..., 0], dtype=np.float64)
    step = gradient / diagonal - (share @ effect_step[..., np.newaxis])[..., 0]
    return step, effect_step
