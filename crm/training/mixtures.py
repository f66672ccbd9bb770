"""Fit what reads mixtures off wishes: what ``crm.embedded.mixtures`` reads with.

``wishes/mixtures/*.tsv`` hold what careful readers said that wishes ask for: the wish, how much of it no
concept says (0 nothing to 3 all; 9 where no text shows it), and concepts with weights from −3 to 3. A mixture
is right as far as it prefers, among ordinary pairs of responses, what its reader's weights prefer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from crm.criteria import Criterion
from crm.embedded.concepts import ConceptClassifier
from crm.embedded.mixtures import MixtureHead
from crm.errors import CRMError
from crm.protocol import Floats
from crm.training.concepts import WISHES, Wish, read_concept_wishes

MIXTURES = WISHES / "mixtures"
_ALL = 3
"""What readers write where all of a wish is unsaid; more where no text shows it either."""
_LINE = re.compile(r"([^\t]+)\t([01239])\t((?:[a-z_]+:-?[123])(?: [a-z_]+:-?[123])*|-)")
_OF_ONE_ANSWER = "criteria"
_LEAST = 1e-6
_OF_LENGTH = 0.05
"""Weight of the loss by which mixtures are of unit length."""
_AT_FIRST, _LOUDER = 0.7, 5.0
"""What is named enters as it is, before any training fainter; the hidden layer hears it louder."""
_AT_ONCE = 300
_MOST_FOREIGN, _MOST_OF_NONE = 2000, 1500


@dataclass(frozen=True)
class WeighedWish:
    """A wish as a careful reader weighs it.

    Attributes:
        weights: By concept, from −3 to 3.
        unsaid: How much of the wish no concept says, from 0 to 1.
        typed: Whether it is about any answer, and not about one.
    """

    text: str
    weights: tuple[tuple[str, float], ...]
    unsaid: float
    typed: bool


def read_weighed_wishes(folder: Path = MIXTURES) -> list[WeighedWish]:
    """Read all weighed wishes of a folder; those of ``criteria.tsv`` are about one answer each.

    Raises:
        CRMError: A line that is not as described.
    """
    wishes = []
    for path in sorted(folder.glob("*.tsv")):
        for number, line in enumerate(path.read_text("utf-8").removesuffix("\n").split("\n"), start=1):
            if not (fields := _LINE.fullmatch(line)):
                raise CRMError(
                    f"{path.name}, row {number}: write wish, what is unsaid (0 to 3, or 9) and "
                    "concept:weight …, with tabs between."
                )
            named = () if fields[3] == "-" else tuple(each.split(":") for each in fields[3].split())
            weights = tuple((concept, float(weight)) for concept, weight in named)
            unsaid = min(_ALL, int(fields[2])) / _ALL
            wishes.append(WeighedWish(fields[1], weights, unsaid, typed=path.stem != _OF_ONE_ANSWER))
    if not wishes:
        raise CRMError(f"{folder} has no weighed wishes: check the path.")
    return wishes


def plain_wishes(most_foreign: int = _MOST_FOREIGN, most_of_none: int = _MOST_OF_NONE) -> list[WeighedWish]:
    """Return wishes that need no reader to be weighed, evenly out of all there are.

    By those in German, French and Spanish for one concept each the mixture of another one stays what is named
    in it; those for none of the concepts are unsaid.

    Raises:
        CRMError: As ``read_concept_wishes``.
    """
    every = [wish for wish in read_concept_wishes() if not wish.limit]
    foreign = [wish for wish in every if wish.foreign and wish.concept]
    of_none = [wish for wish in every if not wish.foreign and not wish.concept]
    return [
        *(
            WeighedWish(wish.text, ((str(wish.concept), 3.0 if wish.more else -3.0),), 0.0, typed=False)
            for wish in _some_of(foreign, most_foreign)
        ),
        *(WeighedWish(wish.text, (), 1.0, typed=False) for wish in _some_of(of_none, most_of_none)),
    ]


def _some_of(wishes: Sequence[Wish], most: int) -> Sequence[Wish]:
    return wishes[:: max(1, len(wishes) // most)][:most]


@dataclass(frozen=True)
class MixtureOptions:
    """Hyperparameters, chosen by wishes kept apart.

    Attributes:
        members: Heads that are fitted from different seeds and averaged.
        hidden: Size of the hidden layer of each.
        dropped: Share of what is heard that is left out in a step, of the states and of the hidden layer.
        typed: How often a typed wish is seen in an epoch; one about a single answer is seen once.
        by_name: Weight of the loss by which weights must be right concept by concept; the other is by what
            responses they prefer.
        unsaid: Weight of the loss by which what is unsaid must be right.
    """

    members: int = 1
    hidden: int = 1024
    epochs: int = 15
    batch: int = 128
    learning_rate: float = 1e-3
    weight_decay: float = 0.3
    dropped: tuple[float, float] = (0.3, 0.5)
    typed: int = 2
    by_name: float = 1.5
    unsaid: float = 0.5
    seed: int = 0


@dataclass(frozen=True)
class ReadWishes:
    """What is known of N weighed wishes before they are read as mixtures.

    Attributes:
        vectors: The states of all that read them ``[N, D]``.
        named: More or less of each concept that they name ``[N, K]``.
    """

    vectors: Floats
    named: Floats

    @classmethod
    def of(cls, classifier: ConceptClassifier, weighed: Sequence[WeighedWish]) -> ReadWishes:
        """Read wishes with a classifier that has a language model: a quarter of an hour for 10,000."""
        read = [
            classifier.read_many_with_states(
                [Criterion(wish.text) for wish in weighed[start : start + _AT_ONCE]]
            )
            for start in range(0, len(weighed), _AT_ONCE)
        ]
        return cls(
            np.concatenate([states for _, states in read]),
            np.concatenate([reading.named for reading, _ in read]),
        )


def fit_mixtures(
    read: ReadWishes,
    weighed: Sequence[WeighedWish],
    names: Sequence[str],
    likeness: Floats,
    options: MixtureOptions | None = None,
) -> MixtureHead:
    """Return the fitted head; the same wishes and options give the same one.

    Args:
        read: The N weighed wishes as they were read.
        names: Of the K concepts.
        likeness: How alike it is to want one concept and to want another, see ``likeness_of`` ``[K, K]``.

    Raises:
        CRMError: A weighed wish names an unknown concept.
    """
    chosen = options or MixtureOptions()
    target = _targets(weighed, names)
    seeds = range(chosen.seed, chosen.seed + chosen.members)
    return _averaged(
        [_fit_head(read, weighed, target, likeness, replace(chosen, seed=seed)) for seed in seeds]
    )


def _averaged(heads: Sequence[MixtureHead]) -> MixtureHead:
    """Return one head, as wide as all together, that gives the mean of what they give before scaling."""
    share = np.float32(1 / len(heads))
    return MixtureHead(
        np.concatenate([head.hidden_weight for head in heads], axis=1),
        np.concatenate([head.hidden_bias for head in heads]),
        np.concatenate([share * head.output_weight for head in heads]),
        np.sum([share * head.direct_weight for head in heads], axis=0),
        np.sum([share * head.output_bias for head in heads], axis=0),
    )


def _fit_head(
    read: ReadWishes,
    weighed: Sequence[WeighedWish],
    target: _Targets,
    likeness: Floats,
    chosen: MixtureOptions,
) -> MixtureHead:
    torch.manual_seed(chosen.seed)
    head = _Head(read.vectors.shape[1], read.named.shape[1], chosen)
    often = torch.tensor(
        [row for row, wish in enumerate(weighed) for _ in range(chosen.typed if wish.typed else 1)]
    )
    steps = chosen.epochs * -(-len(often) // chosen.batch)
    optimizer = torch.optim.AdamW(
        head.parameters(), lr=chosen.learning_rate, weight_decay=chosen.weight_decay
    )
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, chosen.learning_rate, total_steps=max(2, steps + 1), pct_start=0.1
    )
    vectors, named, alike = (torch.tensor(each) for each in (read.vectors, read.named, likeness))
    head.train()
    for _ in range(chosen.epochs):
        for rows in torch.split(often[torch.randperm(len(often))], chosen.batch):
            found = head(vectors[rows], named[rows])
            of_rows = _Targets(target.weights[rows], target.unsaid[rows])
            loss = _loss(found, of_rows, alike, chosen)
            optimizer.zero_grad()
            torch.autograd.backward(loss)
            optimizer.step()
            schedule.step()
    return head.fitted()


def likeness_of(margins: Floats) -> Floats:
    """Return how alike it is to want one concept and to want another ``[K, K]``.

    Args:
        margins: What each concept prefers of P ordinary pairs, in log-odds ``[P, K]``. Concepts that prefer
            the same responses are alike; a tenth is left to each concept by itself.
    """
    together = margins.T @ margins / len(margins)
    likeness: Floats = together / np.diag(together).mean() + 0.1 * np.eye(len(together), dtype=np.float32)
    return likeness.astype(np.float32)


def agreement(
    found: Floats, weighed: Sequence[WeighedWish], names: Sequence[str], likeness: Floats
) -> Floats:
    """Return the correlation of what mixtures ``[N, K]`` prefer with what N readings prefer ``[N]``;
    NaN where a reader named no concept."""
    weights = weights_of(weighed, names)
    both, one, other = (
        ((left @ likeness) * right).sum(axis=1)
        for left, right in ((found, weights), (found, found), (weights, weights))
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        correlation: Floats = both / np.sqrt(one * other)
    return correlation


def weights_of(weighed: Sequence[WeighedWish], names: Sequence[str]) -> Floats:
    """Return what readers said that N wishes ask for, of unit length, or of zeros ``[N, K]``.

    Raises:
        CRMError: A weighed wish names an unknown concept.
    """
    weights: Floats = _targets(weighed, names).weights.numpy()
    return weights


def preferred_as_asked(prefers: Floats, margins: Floats, weights: Floats) -> Floats:
    """Return the correlation of what a judge prefers of P pairs with what each of N wishes asks for ``[N]``.

    Args:
        prefers: Margins under each wish ``[P, N]``.
        margins: What more of each concept prefers ``[P, K]``.
        weights: More or less of each concept that each wish asks for, of any length ``[N, K]``.
    """
    asked = margins @ weights.T
    lengths = np.linalg.norm(asked, axis=0) * np.linalg.norm(prefers, axis=0)
    correlation: Floats = (asked * prefers).sum(axis=0) / np.maximum(lengths, np.finfo(np.float32).tiny)
    return correlation


@dataclass(frozen=True)
class _Targets:
    """Weights of unit length, or of zeros ``[N, K]``, and what is unsaid ``[N]``."""

    weights: Tensor
    unsaid: Tensor


def _targets(weighed: Sequence[WeighedWish], names: Sequence[str]) -> _Targets:
    column = {name: place for place, name in enumerate(names)}
    weights = torch.zeros(len(weighed), len(names))
    for row, wish in enumerate(weighed):
        for concept, weight in wish.weights:
            if concept not in column:
                raise CRMError(f"“{wish.text}” names the concept {concept}, which there is not.")
            weights[row, column[concept]] = weight
    weights /= weights.norm(dim=1, keepdim=True).clamp(min=_LEAST)
    return _Targets(weights, torch.tensor([wish.unsaid for wish in weighed]))


def _loss(
    found: tuple[Tensor, Tensor], target: _Targets, likeness: Tensor, options: MixtureOptions
) -> Tensor:
    weights, unsaid = found
    says = (target.weights.norm(dim=1) > 0).float()
    cosine = functional.cosine_similarity(weights, target.weights, dim=1)
    one, other = weights @ likeness, target.weights @ likeness
    of_found, of_target = (one * weights).sum(dim=1), (other * target.weights).sum(dim=1)
    lengths = (of_found.clamp(min=_LEAST) * of_target.clamp(min=_LEAST)).sqrt()
    prefers = (one * target.weights).sum(dim=1) / lengths
    off = ((1 - prefers + options.by_name * (1 - cosine)) * says).mean()
    of_length = (weights.norm(dim=1) - 1).square().mean()
    of_unsaid = functional.mse_loss(unsaid, target.unsaid)
    loss: Tensor = off + options.unsaid * of_unsaid + _OF_LENGTH * of_length
    return loss


class _Head(nn.Module):
    """Weights of the concepts, and what is unsaid, of wishes; begins with what is named, a little fainter."""

    def __init__(self, n_states: int, n_concepts: int, options: MixtureOptions) -> None:
        super().__init__()
        self.hidden = nn.Linear(n_states + n_concepts, options.hidden)
        self.output = nn.Linear(options.hidden, n_concepts + 1)
        self.direct = nn.Linear(n_states + n_concepts, n_concepts + 1)
        self.dropped = options.dropped
        for parameter in chain(self.output.parameters(), self.direct.parameters()):
            nn.init.zeros_(parameter)
        with torch.no_grad():
            self.direct.weight[:-1, n_states:] = _AT_FIRST * torch.eye(n_concepts)

    def forward(self, vectors: Tensor, named: Tensor) -> tuple[Tensor, Tensor]:
        """Weights ``[N, K]`` and what is unsaid ``[N]``, of states ``[N, D]`` and of what is named."""
        of_states, of_hidden = self.dropped
        heard, again = (functional.dropout(vectors, of_states, self.training) for _ in range(2))
        hidden = functional.gelu(self.hidden(torch.cat([again, _LOUDER * named], dim=1)))
        found = self.direct(torch.cat([heard, named], dim=1)) + self.output(
            functional.dropout(hidden, of_hidden, self.training)
        )
        return found[:, :-1], found[:, -1]

    @torch.no_grad()
    def fitted(self) -> MixtureHead:
        """Return what was fitted."""
        hidden, output, direct = (
            layer.weight.T.numpy().copy() for layer in (self.hidden, self.output, self.direct)
        )
        n_concepts = self.output.out_features - 1
        hidden[-n_concepts:] *= _LOUDER
        return MixtureHead(
            hidden, self.hidden.bias.numpy(), output, direct, (self.output.bias + self.direct.bias).numpy()
        )
