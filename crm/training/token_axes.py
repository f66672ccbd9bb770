"""Fit what hears the manner of a response, together with the directions of known styles.

A small network turns every token, in its context, into hidden values, whose mean over a response leads to a
few axes. They are fitted to the verdicts that styles are fitted to (``crm.training.styles``), beside what is
stored of a response already: so the axes are what readers heard and no stored feature says. The directions
fitted with them are given away; ``crm train styles`` fits them anew to the axes as they are stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from crm.embedded.encoder import DIMENSIONS, ProgressCallback, sentence_encoder
from crm.embedded.representation import Representation
from crm.embedded.token_axes import TokenAxes
from crm.protocol import Floats
from crm.training.styles import StyleOptions, TurnedDirections, feature_spread


@dataclass(frozen=True)
class TokenAxesOptions:
    """Hyperparameters, chosen by comparisons of unseen instructions.

    Attributes:
        tokens: That are drawn of a longer response at a step, half from one place and half from another.
        along: Penalty of the squared weights that styles have on the axes.
        styles: Of the directions of styles, which are fitted with them.
    """

    hidden: int = 384
    axes: int = 32
    tokens: int = 128
    epochs: int = 10
    batch: int = 64
    dropout: float = 0.2
    token_dropout: float = 0.1
    learning_rate: float = 1e-3
    weight_decay: float = 0.05
    along: float = 1e-3
    styles: StyleOptions = field(default_factory=StyleOptions)
    seed: int = 0


class TokenStates:
    """Hidden states of the tokens of N responses, in half precision; a thousand responses take 200 MB."""

    def __init__(self, states: Sequence[NDArray[np.float16]]) -> None:
        """Keep the states of each response ``[T, 384]``."""
        self._each = [state if len(state) else np.zeros((1, DIMENSIONS), np.float16) for state in states]

    @classmethod
    def of(
        cls, texts: Sequence[str], max_windows: int | None, progress: ProgressCallback | None = None
    ) -> TokenStates:
        """Read the responses, as far as a representation reads them."""
        return cls(sentence_encoder().token_states(texts, max_windows=max_windows, progress=progress))

    def __len__(self) -> int:
        return len(self._each)

    def whole(self) -> Iterator[NDArray[np.float16]]:
        """Yield the states of each response ``[T, 384]``."""
        yield from self._each

    def drawn(
        self, rows: NDArray[np.intp], most: int, draw: np.random.Generator
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return states of at most so many tokens of N responses ``[N, most, 384]``,
        and 1 where there is a token ``[N, most]``."""
        states = np.zeros((len(rows), most, DIMENSIONS), dtype=np.float32)
        there = np.zeros((len(rows), most), dtype=np.float32)
        half = most // 2
        for place, row in enumerate(rows):
            of_row = self._each[row]
            if len(of_row) > most:
                starts = draw.integers(0, len(of_row) - half + 1, 2)
                of_row = np.concatenate([of_row[start : start + half] for start in starts])
            states[place, : len(of_row)] = of_row
            there[place, : len(of_row)] = 1.0
        return states, there


@dataclass(frozen=True)
class HeardVerdicts:
    """P pairs among N responses, and what readers said of S styles.

    Attributes:
        states: Of the responses' tokens.
        features: φ of the responses without axes of tokens ``[N, D]``.
        pairs: Which two responses ``[P, 2]``.
        said: 1 where the first clearly has more of a style, −1 where the second has, else 0 ``[P, S]``.
    """

    states: TokenStates
    features: Floats
    pairs: NDArray[np.intp]
    said: NDArray[np.int8]


class _Listener(nn.Module):
    """The network, with dropout on states and on what was heard."""

    def __init__(self, options: TokenAxesOptions) -> None:
        super().__init__()
        self.states = nn.LayerNorm(DIMENSIONS)
        self.hidden = nn.Linear(DIMENSIONS, options.hidden)
        self.heard = nn.LayerNorm(options.hidden)
        self.output = nn.Linear(options.hidden, options.axes, bias=False)
        self.token_dropout, self.dropout = nn.Dropout(options.token_dropout), nn.Dropout(options.dropout)

    def forward(self, states: Tensor, there: Tensor) -> Tensor:
        each = functional.gelu(self.hidden(self.token_dropout(self.states(states))))
        heard = (each * there[..., None]).sum(dim=1) / there.sum(dim=1, keepdim=True)
        along: Tensor = self.output(self.dropout(self.heard(heard)))
        return along

    def axes(self) -> TokenAxes:
        """Return the same network, what its norms scale by drawn into its weights."""
        with torch.inference_mode():
            return TokenAxes(
                (self.hidden.weight * self.states.weight).T.numpy().copy(),
                (self.hidden.bias + self.hidden.weight @ self.states.bias).numpy().copy(),
                (self.output.weight * self.heard.weight).T.numpy().copy(),
                (self.output.weight @ self.heard.bias).numpy().copy(),
            )


def fit_token_axes(
    directions: Floats,
    data: HeardVerdicts,
    options: TokenAxesOptions | None = None,
    report: Callable[[int, int], None] = lambda done, total: None,
) -> TokenAxes:
    """Return the fitted network, its axes of unit spread over the responses.

    The same data, options and machine give the same one.

    Args:
        directions: Of the styles, where fitting starts ``[S, D]``.
    """
    chosen = options or TokenAxesOptions()
    torch.manual_seed(chosen.seed)
    draw = np.random.default_rng(chosen.seed)
    spread = feature_spread(data.features[data.pairs[:, 0]] - data.features[data.pairs[:, 1]])
    features = torch.from_numpy((data.features / spread).astype(np.float32))
    said = torch.from_numpy(data.said.astype(np.float32))
    listener = _Listener(chosen)
    turned = TurnedDirections(torch.from_numpy((directions * spread).astype(np.float32)), chosen.styles)
    weight = (torch.randn(len(directions), chosen.axes) * 0.1).requires_grad_()
    steps = chosen.epochs * max(1, len(data.pairs) // chosen.batch)
    rates = [chosen.learning_rate, 3 * chosen.learning_rate, 2 * chosen.learning_rate]
    optimizer = torch.optim.AdamW(
        [
            {"params": listener.parameters(), "weight_decay": chosen.weight_decay},
            {"params": [weight], "weight_decay": 0.0},
            {"params": turned.parameters, "weight_decay": 0.0},
        ],
        lr=chosen.learning_rate,
    )
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rates, total_steps=steps, pct_start=0.15)
    for step, rows in enumerate(_batches(len(data.pairs), chosen.batch, steps, draw), start=1):
        first, second = data.pairs[rows].T
        looked_at = data.states.drawn(np.concatenate([first, second]), chosen.tokens, draw)
        one, other = listener(*map(torch.from_numpy, looked_at)).tensor_split(2)
        margins = (features[first] - features[second]) @ turned.directions().T
        margins = margins + (one - other) @ weight.T
        missed = functional.softplus(-margins * said[rows]) * said[rows].abs()
        loss = missed.sum() / chosen.batch + turned.penalty() / 2 / len(data.pairs)
        loss = loss + chosen.along * weight.square().sum()
        optimizer.zero_grad()
        torch.autograd.backward(loss)
        nn.utils.clip_grad_norm_(listener.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        report(step, steps)
    return of_unit_spread(listener.axes(), data.states)


def _batches(count: int, size: int, steps: int, draw: np.random.Generator) -> Iterator[NDArray[np.intp]]:
    """Yield so many batches of rows, each row once an epoch."""
    while True:
        order = draw.permutation(count)
        for start in range(0, max(1, count - size + 1), size):
            if not steps:
                return
            steps -= 1
            yield order[start : start + size]


def of_unit_spread(axes: TokenAxes, states: TokenStates) -> TokenAxes:
    """Return the same axes with mean 0 and spread 1 over responses."""
    heard = np.stack([axes.heard(state.astype(np.float32)).mean(axis=0) for state in states.whole()])
    along = axes.along(heard)
    spread = np.maximum(along.std(axis=0), 1e-6)
    return TokenAxes(
        axes.hidden_weight,
        axes.hidden_bias,
        np.asarray(axes.output_weight / spread, dtype=np.float32),
        np.asarray((axes.output_bias - along.mean(axis=0)) / spread, dtype=np.float32),
    )


def without_axes(
    arrays: Mapping[str, NDArray[Any]], before: Representation, after: Representation
) -> dict[str, NDArray[Any]]:
    """Return the arrays of weights that another representation changes, which differs in its axes of tokens
    alone: by these nothing goes yet."""
    changed: dict[str, NDArray[Any]] = {
        "representation": np.array(after.name),
        "representation_digest": np.array(after.digest),
    }
    for name, array in arrays.items():
        if before.size in array.shape:
            along = array.shape.index(before.size)
            kept = np.moveaxis(array, along, 0)[: before.manner.start]
            widths = [(0, after.token_axes.size)] + [(0, 0)] * (array.ndim - 1)
            changed[name] = np.moveaxis(np.pad(kept, widths), 0, along)
    return changed
