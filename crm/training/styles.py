"""Fit the directions of known styles to comparisons: of two responses, which has clearly more of each style.

A training of the whole judge sees a comparison as one wish among many, in words and through a space that
all criteria share. Here every style's direction is fitted to the comparisons in which it was named. It
becomes the judge's direction, a part in few axes that all styles share, and a part of its own, both held
back by penalties. A style that nobody named stays as it was.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from crm.protocol import Floats

_LEAST_SPREAD = 0.7
"""Of the median, so much is taken for the spread of a feature that hardly varies: answers that are written
to please a judge have what ordinary ones hardly have, and must not gain by it."""


@dataclass(frozen=True)
class StyleOptions:
    """Hyperparameters, chosen by comparisons and annotated pairs of unseen instructions.

    Attributes:
        axes: That all styles share.
        shared: Penalty of the squared parts in them.
        own: Penalty of the squared part that each style has of its own.
        held: Of the mean square by which the margins of attacks change.
        fits: From different seeds, which are averaged.
    """

    axes: int = 16
    shared: float = 200.0
    own: float = 300.0
    held: float = 4.0
    steps: int = 1200
    batch: int = 512
    learning_rate: float = 2e-3
    fits: int = 3
    seed: int = 0


@dataclass(frozen=True)
class StyleComparisons:
    """P pairs of responses and what readers said of S styles.

    Attributes:
        difference: φ(A) − φ(B) ``[P, D]``.
        said: 1 where A clearly has more of a style, −1 where B has, 0 where nobody said so ``[P, S]``.
        attacks: φ of G responses that are written to please a judge, less the mean φ of ordinary ones: what
            they gain by a style is held to what it was ``[G, D]``.
    """

    difference: Floats
    said: NDArray[np.int8]
    attacks: Floats | None = None

    def right(self, directions: Floats) -> float:
        """Return the share of what was said that directions ``[S, D]`` say, too."""
        named = self.said != 0
        return float((np.sign(self.difference @ directions.T) == self.said)[named].mean())


def fit_styles(
    directions: Floats,
    data: StyleComparisons,
    options: StyleOptions | None = None,
    report: Callable[[int, int], None] = lambda done, total: None,
) -> Floats:
    """Return the directions of the styles ``[S, D]``; the same data, options and machine give the same ones.

    Args:
        directions: Where to start, and what a penalty holds them to ``[S, D]``.
    """
    chosen = options or StyleOptions()
    spread = feature_spread(data.difference)
    start = torch.from_numpy((directions * spread).astype(np.float32))
    difference = torch.from_numpy((data.difference / spread).astype(np.float32))
    said = torch.from_numpy(data.said.astype(np.float32))
    attacks = difference[:0] if data.attacks is None else torch.from_numpy(data.attacks / spread)
    fitted = np.zeros_like(directions, dtype=np.float64)
    for number in range(chosen.fits):
        fitted += _fit(start, (difference, said, attacks), chosen, chosen.seed + number)
        report(number + 1, chosen.fits)
    return np.asarray(fitted / chosen.fits / spread, dtype=np.float32)


def feature_spread(difference: Floats) -> Floats:
    """Return by how much features differ in pairs ``[D]``, of the differences of P ``[P, D]``."""
    varies = difference.std(axis=0)
    spread: Floats = np.maximum(varies, _LEAST_SPREAD * np.median(varies))
    return spread


def widening(fitted: Floats, before: Floats, difference: Floats) -> float:
    """Return how many times as wide margins on differences ``[P, D]`` are on the whole by fitted directions.

    Comparisons say which answer has more of a style, not how much styles weigh beside what is counted: whose
    margins become wider by as much keeps its weight.

    Args:
        fitted: Directions ``[S, D]``.
        before: What they were ``[S, D]``.
    """
    wide, was = (np.std(difference @ each.T, axis=0).mean() for each in (fitted, before))
    return float(wide / was)


def _fit(
    start: Tensor,
    data: tuple[Tensor, Tensor, Tensor],
    options: StyleOptions,
    seed: int,
) -> NDArray[np.float64]:
    difference, said, attacks = data
    draw = torch.Generator().manual_seed(seed)
    turned = TurnedDirections(start, options, draw)
    optimizer = torch.optim.Adam(turned.parameters, lr=options.learning_rate)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, options.learning_rate, total_steps=options.steps
    )
    for _ in range(options.steps):
        rows = torch.randint(len(difference), (options.batch,), generator=draw)
        change = turned.change()
        margins = difference[rows] @ (start + change).T
        missed = (functional.softplus(-margins * said[rows]) * said[rows].abs()).sum()
        penalty = turned.penalty()
        if len(attacks):
            penalty = penalty + options.held * (attacks @ change.T).square().sum() / len(attacks)
        loss = missed / options.batch + penalty / 2 / len(difference)
        optimizer.zero_grad()
        torch.autograd.backward(loss)
        optimizer.step()
        schedule.step()
    fitted: NDArray[np.float64] = turned.directions().detach().numpy().astype(np.float64)
    return fitted


class TurnedDirections:
    """Directions of S styles on the way: what is added to where they start, a part in few axes that all share
    and a part that each has of its own."""

    def __init__(self, start: Tensor, options: StyleOptions, draw: torch.Generator | None = None) -> None:
        """Add nothing yet to the directions ``[S, D]``; the axes are drawn."""
        self._start, self._options = start, options
        self._axes = (torch.randn(options.axes, start.shape[1], generator=draw) * 0.01).requires_grad_()
        self._along = torch.zeros(len(start), options.axes, requires_grad=True)
        self._own = torch.zeros_like(start, requires_grad=True)

    @property
    def parameters(self) -> list[Tensor]:
        """What is fitted."""
        return [self._axes, self._along, self._own]

    def change(self) -> Tensor:
        """What is added ``[S, D]``."""
        return self._along @ self._axes + self._own

    def directions(self) -> Tensor:
        """Where they are ``[S, D]``."""
        return self._start + self.change()

    def penalty(self) -> Tensor:
        """Both parts squared, each by its weight."""
        penalty = self._options.own * self._own.square().sum()
        return penalty + self._options.shared * (self._along.square().sum() + self._axes.square().sum())
