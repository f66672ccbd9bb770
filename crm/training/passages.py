"""Fit the space in which criteria are held against passages of responses, and mix it with an embedded CRM.

The space in which passages are stored begins as the one that loses least of the similarities between criteria
and passages (a reduced-rank regression), and is fitted, with a small network on the criterion's side, so that
the nearest passages tell which response annotators preferred. The members of the CRM have seen the same
annotations, so how much each of the two counts is fitted to pairs that neither has seen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from torch import Tensor, nn
from torch.nn import functional

from crm.data.pairs import Directions
from crm.embedded.encoder import DIMENSIONS, sentence_encoder
from crm.embedded.model import members_of
from crm.embedded.passages import MAX_PASSAGES, SHARPNESS, PassageSpace, passages_in_turn
from crm.embedded.representation import load_arrays, text_digest
from crm.protocol import Floats, Pair

_CHUNK = 4096
_LEARNING_RATE_OF_WEIGHTS = 0.02
_LIKENESS_SPREAD = np.float32(10.0)
"""Likenesses differ by about a tenth between two responses."""


@dataclass(frozen=True)
class PassageOptions:
    """Hyperparameters, chosen by single criteria of the split dev of LLMs of 2023-24.

    Attributes:
        size: Axes of the space.
        hidden: Width of the network on the criterion's side.
    """

    size: int = 64
    hidden: int = 256
    dropout: float = 0.5
    epochs: int = 2
    batch: int = 512
    learning_rate: float = 3e-4
    weight_decay: float = 0.1
    seed: int = 0


class PassageEmbeddings:
    """Embeds the passages of responses, each once; what ``kept`` holds is not embedded again."""

    def __init__(self, kept: Path | None = None) -> None:
        """Embed into memory, and into a file if one is named."""
        self._kept = kept
        self._of: dict[int, NDArray[np.float16]] = {}
        if kept is not None and kept.is_file():
            arrays = load_arrays(kept, "key", "embedding")
            self._of = dict(zip(arrays["key"].tolist(), arrays["embedding"], strict=True))

    def __call__(
        self, texts: Sequence[str], progress: Callable[[int, int], None] | None = None
    ) -> tuple[NDArray[np.float16], NDArray[np.int64]]:
        """Return embeddings of all passages ``[M, 384]``, and which of them each text has, in turn
        ``[N, MAX_PASSAGES]``."""
        distinct, places = passages_in_turn(texts)
        key_of = {passage: int(text_digest(passage)) for passage in distinct}
        unknown = [passage for passage, key in key_of.items() if key not in self._of]
        for start in range(0, len(unknown), _CHUNK):
            chunk = unknown[start : start + _CHUNK]
            embedding = sentence_encoder().encode(chunk, bulk=True).embedding.astype(np.float16)
            self._of |= dict(zip((key_of[passage] for passage in chunk), embedding, strict=True))
            if progress is not None:
                progress(start + len(chunk), len(unknown))
        if unknown and self._kept is not None:
            unfinished = self._kept.with_suffix(".part.npz")
            np.savez(
                unfinished,
                key=np.array(list(self._of), dtype=np.uint64),
                embedding=np.stack([*self._of.values()]),
            )
            unfinished.replace(self._kept)
        return np.stack([self._of[key] for key in key_of.values()]), places.astype(np.int64)


@dataclass(frozen=True)
class PassageData:
    """N judged criteria on P pairs.

    Attributes:
        embedding: Passages ``[M, 384]``.
        sides: Which of them the responses of each pair have ``[P, 2, MAX_PASSAGES]``.
        criteria: Distinct criteria, embedded ``[E, 384]``.
        criterion: Which criterion ``[N]``.
        pair: On which pair ``[N]``.
        sign: +1 where it prefers A, −1 where B; polarity included ``[N]``.
    """

    embedding: NDArray[np.float16]
    sides: NDArray[np.int64]
    criteria: Floats
    criterion: NDArray[np.int64]
    pair: NDArray[np.int64]
    sign: Floats

    @classmethod
    def of(
        cls,
        pairs: Sequence[Directions],
        embed: PassageEmbeddings,
        progress: Callable[[int, int], None] | None = None,
    ) -> PassageData:
        """Embed the pairs' passages and criteria; the order of the criteria is that of ``training_set``."""
        responses: list[Pair] = [item.pair for item, _ in pairs]
        texts = list(dict.fromkeys(text for pair in responses for text in (pair.response_a, pair.response_b)))
        embedding, rows = embed(texts, progress)
        row = {text: number for number, text in enumerate(texts)}
        judged = [
            (criterion.text, number, item.label * criterion.polarity.sign)
            for number, directions in enumerate(pairs)
            for item in directions
            for group in (tuple(item.criteria), item.extra)
            for criterion in group
        ]
        asked, pair, sign = zip(*judged, strict=True)
        distinct = {text: number for number, text in enumerate(dict.fromkeys(asked))}
        return cls(
            embedding,
            rows[[[row[pair.response_a], row[pair.response_b]] for pair in responses]],
            sentence_encoder().encode(list(distinct), bulk=True).embedding,
            np.array([distinct[text] for text in asked]),
            np.array(pair),
            np.array(sign, dtype=np.float32),
        )

    def likeness(self, space: PassageSpace) -> Floats:
        """Return by how much A's likenesses exceed B's, of every judged criterion ``[N, 3]``."""
        stored = space.quantise(self.embedding.astype(np.float32))[self.sides]
        asked = space.asked(self.criteria)
        found = np.empty((len(self.criterion), 3), dtype=np.float32)
        for number in range(len(self.sides)):
            rows = np.flatnonzero(self.pair == number)
            likeness = space.likenesses(stored[number], asked[self.criterion[rows]])
            found[rows] = np.moveaxis(likeness[:, 0] - likeness[:, 1], 0, -1)
        return found


class _Space(nn.Module):
    def __init__(self, queries: Floats, projection: Floats, mean: Floats, options: PassageOptions) -> None:
        super().__init__()
        self.mean = torch.tensor(mean)
        self.projection = nn.Parameter(torch.tensor(projection))
        self.queries = nn.Parameter(torch.tensor(queries))
        self.hidden = nn.Linear(DIMENSIONS, options.hidden)
        self.output = nn.Linear(options.hidden, options.size)
        nn.init.zeros_(self.output.weight)
        nn.init.zeros_(self.output.bias)
        self.weights = nn.Parameter(torch.tensor([6.0, 12.0, -2.0]))
        self.dropout = nn.Dropout(options.dropout)

    def forward(self, criteria: Tensor, one: Tensor, other: Tensor) -> Tensor:
        """Log-odds for A of N criteria ``[N, 384]`` by both sides' passages ``[N, MAX_PASSAGES, 384]``."""
        hidden = functional.gelu(self.hidden(criteria * DIMENSIONS**0.5))
        asked = criteria @ self.queries + self.output(self.dropout(hidden))
        likeness = [
            _likenesses(torch.einsum("nd,npd->np", asked, (side - self.mean) @ self.projection))
            for side in (one, other)
        ]
        margins: Tensor = (likeness[0] - likeness[1]) @ self.weights
        return margins

    def fitted(self) -> PassageSpace:
        """Return what was fitted."""
        return PassageSpace(
            self.mean.numpy(),
            _array(self.projection),
            _array(self.queries),
            _array(self.hidden.weight.T),
            _array(self.hidden.bias),
            _array(self.output.weight.T),
            _array(self.output.bias),
        )


def _likenesses(similarity: Tensor) -> Tensor:
    softly = torch.logsumexp(SHARPNESS * similarity, dim=1) / SHARPNESS - np.log(MAX_PASSAGES) / SHARPNESS
    return torch.stack([similarity.max(dim=1).values, softly, similarity.mean(dim=1)], dim=1)


def fit_space(
    data: PassageData,
    options: PassageOptions | None = None,
    report: Callable[[int, int], None] = lambda done, total: None,
) -> PassageSpace:
    """Fit a space; the same data, options and machine give the same."""
    chosen = options or PassageOptions()
    torch.manual_seed(chosen.seed)
    draw = np.random.default_rng(chosen.seed)
    mean = data.embedding.astype(np.float32).mean(axis=0)
    network = _Space(*_reduced_rank(data, mean, chosen.size), mean, chosen)
    criteria, embedding = torch.from_numpy(data.criteria), torch.from_numpy(data.embedding)
    sides, sign = torch.from_numpy(data.sides), torch.from_numpy(data.sign)
    in_networks = [*network.hidden.parameters(), *network.output.parameters()]
    groups: list[dict[str, Any]] = [
        {"params": [network.projection, network.queries], "weight_decay": 0.0},
        {"params": [network.weights], "lr": _LEARNING_RATE_OF_WEIGHTS, "weight_decay": 0.0},
        {"params": in_networks},
    ]
    optimizer = torch.optim.AdamW(groups, lr=chosen.learning_rate, weight_decay=chosen.weight_decay)
    batches = -(-len(data.sign) // chosen.batch)
    steps = chosen.epochs * batches
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1.0 - step / steps)
    network.train()
    for epoch in range(chosen.epochs):
        for step, rows in enumerate(np.array_split(draw.permutation(len(data.sign)), batches)):
            one, other = (embedding[sides[data.pair[rows], side]].float() for side in (0, 1))
            asked = data.criterion[rows]
            margins = network(criteria[asked], one, other)
            loss = functional.softplus(-margins * sign[rows]).mean()
            optimizer.zero_grad()
            torch.autograd.backward(loss)
            optimizer.step()
            schedule.step()
            report(epoch * batches + step + 1, steps)
    network.eval()
    return network.fitted().of_unit_spread(data.embedding.astype(np.float32))


def _reduced_rank(data: PassageData, mean: Floats, size: int) -> tuple[Floats, Floats]:
    """Return the maps of criteria and of centred passages ``[384, size]`` whose products are nearest to the
    similarities in the full space."""
    values, vectors = np.linalg.eigh(data.criteria.T @ data.criteria / len(data.criteria))
    root = np.sqrt(np.maximum(values, 1e-9))
    forth, back = (vectors * root) @ vectors.T, (vectors / root) @ vectors.T
    centred = data.embedding.astype(np.float32) - mean
    _, axes = np.linalg.eigh(forth @ (centred.T @ centred / len(centred)) @ forth)
    kept = axes[:, ::-1][:, :size]
    return (back @ kept).astype(np.float32), (forth @ kept).astype(np.float32)


def mixed(read: Floats, by_members: Floats, likeness: Floats, sign: Floats) -> tuple[float, Floats]:
    """Return how much the members are to count, and the weights of likenesses ``[3]`` that go with it.

    What was read keeps its scale, by which its limits and ties are chosen.

    Args:
        read: Log-odds of judged criteria by what was read ``[N]``.
        by_members: Log-odds that members give what is unread ``[N]``.
        likeness: As of ``PassageData.likeness``, of what is unread ``[N, 3]``.
        sign: +1 where A is preferred, −1 where B is ``[N]``.
    """
    inputs = np.column_stack([read, by_members, _LIKENESS_SPREAD * likeness])
    [fitted] = LogisticRegression(fit_intercept=False).fit(inputs, sign).coef_
    share, *weights = (fitted[1:] / fitted[0]).tolist()
    return share, _LIKENESS_SPREAD * np.array(weights, dtype=np.float32)


def weights_with(
    arrays: Mapping[str, NDArray[Any]], share: float, passages: Floats
) -> dict[str, NDArray[Any]]:
    """Return a weights file's arrays with members that count ``share``, and passages' weights ``[3]``."""
    scaled = [member.scaled(share) for member in members_of(arrays)]
    return {
        **arrays,
        **{f"feature_weight_{index}": member.feature_weight for index, member in enumerate(scaled)},
        **{f"cosine_{index}": np.array(member.cosine) for index, member in enumerate(scaled)},
        "counterweight": np.array(share * float(arrays["counterweight"])),
        "passage_weights": passages,
    }


def _array(tensor: Tensor) -> Floats:
    array: Floats = tensor.detach().numpy().astype(np.float32).copy()
    return array
