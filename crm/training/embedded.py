"""Fit the embedded CRM: its representation, and an ensemble of small networks on preferences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from crm.data.pairs import Directions
from crm.embedded.encoder import DIMENSIONS, ProgressCallback, sentence_encoder
from crm.embedded.model import CRITERION_SCALE, Member, QueryResponse, query_responses
from crm.embedded.representation import NAME, Representation
from crm.embedded.style import style_sheet
from crm.protocol import Floats, Pair
from crm.training.tones import ToneContrast

COMPONENTS = 64
_SHRINKAGE = 0.1


def fit_representation(
    states: NDArray[np.float32],
    style_counts: NDArray[np.float32],
    related: NDArray[np.float32],
    contrasts: Sequence[ToneContrast],
) -> Representation:
    """Fit axes of wording and the scale of style and relevance features.

    Args:
        states: Early encoder states of N responses ``[N, 384]``.
        style_counts: Their raw style counts ``[N, S]``.
        related: Their relevance to the queries ``[N, R]``.
    """
    sheet = style_sheet()
    mean = states.mean(axis=0)
    centred = states - mean
    tones = _tone_directions(centred, contrasts)
    style = sheet.transform(style_counts)
    return Representation(
        name=NAME,
        sheet=sheet,
        state_mean=mean,
        projection=np.concatenate([_main_axes(centred, tones), tones], axis=1).astype(np.float32),
        tones=tuple(contrast.tone for contrast in contrasts),
        style_mean=style.mean(axis=0),
        style_spread=np.maximum(style.std(axis=0), 1e-3),
        relevance_mean=related.mean(axis=0),
        relevance_spread=np.maximum(related.std(axis=0), 1e-3),
    )


def _tone_directions(centred: NDArray[np.float32], contrasts: Sequence[ToneContrast]) -> NDArray[np.float64]:
    """Fisher's linear discriminants of the tones ``[384, T]``, of unit spread over real responses.

    The difference of means is divided by the covariance of real responses, shrunk towards its
    diagonal (Ledoit & Wolf 2004), so that a tone is not mistaken for what it usually comes with.
    """
    covariance = np.cov(centred, rowvar=False)
    covariance += _SHRINKAGE * np.diag(np.diag(covariance))
    differences = np.stack([contrast.direction() for contrast in contrasts])
    directions = np.linalg.solve(covariance, differences.T).astype(np.float64)
    return _unit_spread(centred, directions)


def _main_axes(centred: NDArray[np.float32], tones: NDArray[np.float64]) -> NDArray[np.float64]:
    """Main axes of variation that the tones leave ``[384, COMPONENTS]``, of unit spread."""
    along = centred @ tones
    coefficients = np.linalg.lstsq(along, centred, rcond=None)[0]
    _, _, axes = np.linalg.svd(centred - along @ coefficients, full_matrices=False)
    left = np.eye(centred.shape[1]) - tones @ coefficients
    return _unit_spread(centred, left @ axes[:COMPONENTS].T)


def _unit_spread(centred: NDArray[np.float32], directions: NDArray[np.float64]) -> NDArray[np.float64]:
    scaled: NDArray[np.float64] = directions / (centred @ directions).std(axis=0)
    return scaled


_STYLE_GAIN = 2.0
"""Counted style features enter training enlarged, so that weight decay holds them back less."""


@dataclass(frozen=True)
class NetworkOptions:
    """Hyperparameters, chosen by cross-validation over instructions of the train split."""

    members: int = 5
    epochs: int = 20
    batch_pairs: int = 128
    hidden: int = 512
    rank: int = 128
    dropout: float = 0.5
    learning_rate: float = 1e-3
    weight_decay: float = 0.3
    seed: int = 0


@dataclass(frozen=True)
class TrainingSet:
    """P pairs and N judged criteria of them, as arrays.

    Attributes:
        difference: φ(A) − φ(B) of every pair ``[P, D]``.
        embedding: Distinct criteria, embedded ``[C, 384]``.
        criterion: Which criterion ``[N]``.
        pair: On which pair ``[N]``, ascending.
        sign: +1 where the criterion prefers A, −1 where B; polarity included ``[N]``.
        list_index: Number of the criteria list it stands in ``[N]``, −1 for single criteria.
        list_sign: +1 or −1 for every list.
    """

    difference: Floats
    embedding: Floats
    criterion: NDArray[np.int64]
    pair: NDArray[np.int64]
    sign: Floats
    list_index: NDArray[np.int64]
    list_sign: Floats


def training_set(
    pairs: Sequence[Directions], features: Representation, progress: ProgressCallback | None = None
) -> TrainingSet:
    """Encode the pairs' responses and criteria."""
    difference = feature_differences([item.pair for item, _ in pairs], features, progress)
    judged = [
        (criterion.text, number, item.label * criterion.polarity.sign, 2 * number + side if listed else -1)
        for number, directions in enumerate(pairs)
        for side, item in enumerate(directions)
        for listed, group in ((True, tuple(item.criteria)), (False, item.extra))
        for criterion in group
    ]
    texts, pair, sign, list_index = zip(*judged, strict=True)
    distinct = list(dict.fromkeys(texts))
    number_of = {text: index for index, text in enumerate(distinct)}
    return TrainingSet(
        difference=difference,
        embedding=sentence_encoder().encode(distinct, bulk=True).embedding,
        criterion=np.array([number_of[text] for text in texts]),
        pair=np.array(pair),
        sign=np.array(sign, dtype=np.float32),
        list_index=np.array(list_index),
        list_sign=np.tile(np.array([1.0, -1.0], dtype=np.float32), len(pairs)),
    )


def encoded_features(
    answers: Sequence[QueryResponse], features: Representation, progress: ProgressCallback | None = None
) -> Floats:
    """φ of N responses, each with the query it answers ``[N, D]``, as a stored one has it."""
    encoded = features.encode([text for text, _ in answers], [query for _, query in answers], progress)
    return np.asarray(encoded["features"] * np.float32(features.step), dtype=np.float32)


def feature_differences(
    pairs: Sequence[Pair], features: Representation, progress: ProgressCallback | None = None
) -> Floats:
    """φ(A) − φ(B) of every pair ``[P, D]``; each distinct response to a query is encoded once."""
    answers = list(dict.fromkeys(answer for pair in pairs for answer in query_responses(pair)))
    encoded = encoded_features(answers, features, progress)
    row = {answer: index for index, answer in enumerate(answers)}
    first, second = zip(*map(query_responses, pairs), strict=True)
    difference: Floats = encoded[[row[answer] for answer in first]]
    difference -= encoded[[row[answer] for answer in second]]
    return difference


def fit_members(
    data: TrainingSet,
    features: Representation,
    options: NetworkOptions,
    report: Callable[[int, float], None] = lambda member, loss: None,
) -> list[Member]:
    """Fit the ensemble; the same data, options and machine give the same weights."""
    gain = np.ones(features.size, dtype=np.float32)
    gain[features.style] = _STYLE_GAIN
    members = []
    for index in range(options.members):
        network, loss = _fit(data, gain, options, options.seed + index)
        report(index + 1, loss)
        members.append(network.to_member(gain))
    return members


class _Network(nn.Module):
    """``u(c)ᵀ V Δφ`` plus a weighted similarity of criterion and content, with dropout on Δφ."""

    def __init__(self, size: int, options: NetworkOptions) -> None:
        super().__init__()
        self.hidden = nn.Linear(DIMENSIONS, options.hidden)
        self.output = nn.Linear(options.hidden, options.rank)
        self.features = nn.Linear(size, options.rank, bias=False)
        nn.init.normal_(self.features.weight, std=0.02)
        self.cosine = nn.Parameter(torch.tensor(0.3))
        self.dropout = nn.Dropout(options.dropout)

    def forward(self, criteria: Tensor, difference: Tensor) -> Tensor:
        """Log-odds for A of N criteria ``[N, 384]`` on N differences ``[N, D]``."""
        hidden = self.dropout(functional.gelu(self.hidden(criteria)))
        bilinear = (self.output(hidden) * self.features(self.dropout(difference))).sum(dim=1)
        similarity = (criteria * difference[:, :DIMENSIONS]).sum(dim=1) / float(CRITERION_SCALE)
        result: Tensor = bilinear + self.cosine * similarity
        return result

    def to_member(self, gain: Floats) -> Member:
        """Return the weights as arrays, the gain on style features folded in."""
        return Member(
            cosine=self.cosine.item(),
            hidden_weight=_array(self.hidden.weight.T),
            hidden_bias=_array(self.hidden.bias),
            output_weight=_array(self.output.weight.T),
            output_bias=_array(self.output.bias),
            feature_weight=_array(self.features.weight) * gain,
        )


def _fit(data: TrainingSet, gain: Floats, options: NetworkOptions, seed: int) -> tuple[_Network, float]:
    torch.manual_seed(seed)
    shuffle = np.random.default_rng(seed)
    network = _Network(len(gain), options)
    difference = torch.from_numpy(data.difference * gain)
    embedding = torch.from_numpy(data.embedding * CRITERION_SCALE)
    batches = max(1, len(difference) // options.batch_pairs)
    optimizer = torch.optim.AdamW(
        network.parameters(), lr=options.learning_rate, weight_decay=options.weight_decay
    )
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, options.learning_rate, total_steps=options.epochs * batches, pct_start=0.1
    )
    first = np.searchsorted(data.pair, np.arange(len(difference) + 1))
    rows_of = [np.arange(start, stop) for start, stop in pairwise(first)]
    loss_sum = 0.0
    network.train()
    for _ in range(options.epochs):
        loss_sum = 0.0
        order = shuffle.permutation(len(difference))
        for batch in np.array_split(order, batches):
            rows = np.concatenate([rows_of[pair] for pair in batch])
            margins = network(embedding[data.criterion[rows]], difference[data.pair[rows]])
            loss = _loss(margins, data, rows)
            optimizer.zero_grad()
            torch.autograd.backward(loss)
            optimizer.step()
            schedule.step()
            loss_sum += loss.item()
    network.eval()
    return network, loss_sum / batches


def _loss(margins: Tensor, data: TrainingSet, rows: NDArray[np.int64]) -> Tensor:
    """Cross-entropy of single criteria plus that of whole lists, a list's margin being Σz/√K."""
    single = functional.softplus(-margins * torch.from_numpy(data.sign[rows])).mean()
    listed = data.list_index[rows] >= 0
    numbers, member_of, counts = np.unique(
        data.list_index[rows][listed], return_inverse=True, return_counts=True
    )
    sums = torch.zeros(len(numbers)).index_add(
        0, torch.from_numpy(member_of), margins[torch.from_numpy(listed)]
    )
    folded = sums / torch.from_numpy(np.sqrt(counts).astype(np.float32))
    return single + functional.softplus(-folded * torch.from_numpy(data.list_sign[numbers])).mean()


def _array(tensor: Tensor) -> Floats:
    array: Floats = tensor.detach().numpy().astype(np.float32).copy()
    return array
