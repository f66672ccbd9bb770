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

from crm.criteria import Criterion
from crm.data.pairs import Directions
from crm.embedded.concepts import ConceptClassifier
from crm.embedded.countable import counted_margins, counted_wishes
from crm.embedded.counts import amounts, count_names
from crm.embedded.encoder import DIMENSIONS, ProgressCallback, sentence_encoder
from crm.embedded.model import CRITERION_SCALE, Member, distinct_answers
from crm.embedded.reliability import COUNTED, KNOWN, WORDING, kind_of
from crm.embedded.representation import NAME, Representation
from crm.embedded.style import style_sheet
from crm.protocol import Floats, Pair
from crm.training.concepts import Wish
from crm.training.encoded import ResponseEncoder
from crm.training.tones import ToneContrast

COMPONENTS = 64
_SHRINKAGE = 0.1


def fit_representation(
    states: NDArray[np.float32],
    style_counts: NDArray[np.float32],
    related: NDArray[np.float32],
    contrasts: Sequence[ToneContrast],
    kept: Representation,
) -> Representation:
    """Fit axes of wording and the scale of style and relevance features.

    Args:
        states: Early encoder states of N responses ``[N, 384]``.
        style_counts: Their raw style counts ``[N, S]``.
        related: Their relevance to the queries ``[N, R]``.
        kept: A representation whose axes of tokens and passages stay as they are.
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
        token_axes=kept.token_axes,
        passages=kept.passages,
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
_LEAST_GAIN, _MOST_GAIN = 1.5, 12.0
_LENGTH_GAIN = 2.0


@dataclass(frozen=True)
class NetworkOptions:
    """Hyperparameters, chosen by cross-validation over instructions of the train split.

    Attributes:
        alike: Weight of the loss that holds wordings of one concept together.
        wishes: Of such wordings looked at in one step.
    """

    members: int = 5
    epochs: int = 16
    batch_pairs: int = 128
    hidden: int = 512
    rank: int = 128
    dropout: float = 0.5
    learning_rate: float = 1e-3
    weight_decay: float = 0.3
    alike: float = 0.3
    wishes: int = 256
    seed: int = 0


@dataclass(frozen=True)
class WordingSet:
    """W wordings of S styles, by which the networks learn what is the same wish.

    Attributes:
        embedding: Embedded ``[W, 384]``.
        style: Which style ``[W]``.
        sign: +1 for more of it, −1 for less ``[W]``.
    """

    embedding: Floats
    style: NDArray[np.int64]
    sign: Floats


@dataclass(frozen=True)
class TrainingSet:
    """P pairs and N judged criteria of them, as arrays.

    Attributes:
        difference: φ(A) − φ(B) of every pair ``[P, D]``.
        counts: Exact counts of A and of B ``[P, 2, C]``.
        embedding: Distinct criteria, embedded ``[E, 384]``.
        styles: More or less of each style that they ask for ``[E, S]``.
        left: How much of them concepts do not say ``[E]``.
        counted: What A gains over B by what is counted, in log-odds ``[N]``.
        criterion: Which criterion ``[N]``.
        pair: On which pair ``[N]``, ascending.
        sign: +1 where the criterion prefers A, −1 where B; polarity included ``[N]``.
        list_index: Number of the criteria list it stands in ``[N]``, −1 for single criteria.
        list_sign: +1 or −1 for every list.
        gains: Log-odds per unit of log(1 + amount) of what is counted ``[C]``.
        kind: Kind of each criterion, as in ``crm.embedded.reliability`` ``[E]``.
    """

    difference: Floats
    counts: NDArray[np.float16]
    embedding: Floats
    styles: Floats
    left: Floats
    counted: Floats
    criterion: NDArray[np.int64]
    pair: NDArray[np.int64]
    sign: Floats
    list_index: NDArray[np.int64]
    list_sign: Floats
    gains: Floats
    kind: NDArray[np.int64]

    def margins(self, members: Sequence[Member], styles: Floats) -> Floats:
        """Return the log-odds for A of every judged criterion ``[N]``.

        Args:
            styles: Directions of the styles ``[S, D]``.
        """
        margins: Floats = self.margins_read(styles) + self.margins_unread(members)
        return margins

    @property
    def unread(self) -> Floats:
        """How much of every judged criterion concepts do not say ``[N]``."""
        unread: Floats = self.left[self.criterion]
        return unread

    def margins_read(self, styles: Floats) -> Floats:
        """Return the part of it that comes from what criteria were read as ``[N]``."""
        margins: Floats = self.counted + self._along(self.styles @ styles)
        return margins

    def margins_unread(self, members: Sequence[Member]) -> Floats:
        """Return the part that networks give what was left unread ``[N]``."""
        unread = np.mean([member.directions(self.embedding) for member in members], axis=0)
        return self._along(self.left[:, None] * unread)

    def _along(self, directions: Floats) -> Floats:
        margins: Floats = np.einsum("nd,nd->n", directions[self.criterion], self.difference[self.pair])
        return margins


def training_set(
    pairs: Sequence[Directions],
    encode: ResponseEncoder,
    concepts: ConceptClassifier,
    progress: ProgressCallback | None = None,
) -> TrainingSet:
    """Encode the pairs' responses and criteria."""
    difference, counts = encoded_pairs([item.pair for item, _ in pairs], encode, progress)
    judged = [
        (criterion.wording, number, item.label * criterion.polarity.sign, 2 * number + side if listed else -1)
        for number, directions in enumerate(pairs)
        for side, item in enumerate(directions)
        for listed, group in ((True, tuple(item.criteria)), (False, item.extra))
        for criterion in group
    ]
    wordings, pair, sign, list_index = zip(*judged, strict=True)
    number_of = {wording: index for index, wording in enumerate(dict.fromkeys(wordings))}
    distinct = [text for text, _ in number_of]
    reading = concepts.read_many([Criterion(text, polarity=polarity) for text, polarity in number_of])
    gains = count_gains(counts.reshape(-1, counts.shape[-1]))
    wishes = [[*counted_wishes(text, row)] for text, row in zip(distinct, reading.wanted, strict=True)]
    criterion = np.array([number_of[wording] for wording in wordings])
    counted = np.zeros(len(wordings), dtype=np.float32)
    for row, (asked, of) in enumerate(zip(criterion.tolist(), pair, strict=True)):
        if wishes[asked]:
            one, other = counted_margins(wishes[asked], counts[of], gains)
            counted[row] = one - other
    return TrainingSet(
        difference=difference,
        counts=counts,
        embedding=sentence_encoder().encode(distinct, bulk=True).embedding,
        styles=reading.wanted[:, concepts.countable :],
        left=reading.unread,
        counted=counted,
        criterion=criterion,
        pair=np.array(pair),
        sign=np.array(sign, dtype=np.float32),
        list_index=np.array(list_index),
        list_sign=np.tile(np.array([1.0, -1.0], dtype=np.float32), len(pairs)),
        gains=gains,
        kind=np.array(
            [
                kind_of(wanted, float(certainty), concepts.countable)
                for wanted, certainty in zip(reading.wanted, reading.certainty, strict=True)
            ]
        ),
    )


def right_by_kind(data: TrainingSet, margins: Floats) -> Floats:
    """Return how often single verdicts of margins ``[N]`` agree with the annotators',
    by kind of criterion ``[3]``."""
    agrees = margins * data.sign > 0
    kind = data.kind[data.criterion]
    return np.array([agrees[kind == each].mean() for each in (COUNTED, KNOWN, WORDING)], dtype=np.float32)


def wording_set(wishes: Sequence[Wish], concepts: ConceptClassifier) -> WordingSet:
    """Embed the English wordings of styles; the networks read no other language."""
    styles = {name: number for number, name in enumerate(concepts.names[concepts.countable :])}
    known = [wish for wish in wishes if wish.concept in styles and not wish.foreign]
    return WordingSet(
        embedding=sentence_encoder().encode([wish.text for wish in known], bulk=True).embedding,
        style=np.array([styles[str(wish.concept)] for wish in known]),
        sign=np.array([1.0 if wish.more else -1.0 for wish in known], dtype=np.float32),
    )


def count_gains(counts: NDArray[np.floating]) -> Floats:
    """Return log-odds per unit of log(1 + amount),
    by how much responses with counts ``[N, C]`` differ ``[C]``."""
    spread = np.log1p(amounts(counts)).std(axis=0)
    gains = np.clip(1.0 / np.maximum(spread, 1e-3), _LEAST_GAIN, _MOST_GAIN)
    gains[count_names().index("words")] = _LENGTH_GAIN
    return np.asarray(gains, dtype=np.float32)


def encoded_pairs(
    pairs: Sequence[Pair], encode: ResponseEncoder, progress: ProgressCallback | None = None
) -> tuple[Floats, NDArray[np.float16]]:
    """φ(A) − φ(B) of every pair ``[P, D]`` and the counts of both ``[P, 2, C]``."""
    answers, rows = distinct_answers(pairs)
    features, counts = encode(answers, progress)
    first, second = rows.T
    difference: Floats = features[first]
    difference -= features[second]
    return difference, np.stack([counts[first], counts[second]], axis=1)


def fit_members(
    data: TrainingSet,
    wordings: WordingSet,
    features: Representation,
    options: NetworkOptions,
    report: Callable[[int, float], None] = lambda member, loss: None,
) -> tuple[list[Member], Floats]:
    """Fit the ensemble, and the directions of the styles ``[S, D]``.

    The same data, options and machine give the same weights.
    """
    gain = np.ones(features.size, dtype=np.float32)
    gain[features.style] = _STYLE_GAIN
    members, directions = [], []
    for index in range(options.members):
        network, loss = _fit(data, wordings, gain, options, options.seed + index)
        report(index + 1, loss)
        members.append(network.to_member(gain))
        directions.append(network.style_directions(gain))
    mean: Floats = np.mean(directions, axis=0)
    return members, mean


def concept_directions(members: Sequence[Member], styles: Floats, wordings: WordingSet) -> Floats:
    """Return one direction a style ``[S, D]``, the same for all its wordings.

    To what was fitted for a style comes what the networks make of wordings that ask for more of it, less
    what they make of those of any style: styles that few annotators named are known from their words alone.

    Args:
        styles: Fitted directions ``[S, D]``.
    """
    more = wordings.sign > 0
    worded = np.mean([member.directions(wordings.embedding[more]) for member in members], axis=0)
    mean = np.zeros_like(styles)
    np.add.at(mean, wordings.style[more], worded)
    mean /= np.bincount(wordings.style[more], minlength=len(styles))[:, None]
    directions: Floats = styles + mean - mean.mean(axis=0)
    return directions


class _Network(nn.Module):
    """``u(c)ᵀ V Δφ`` plus a weighted similarity of criterion and content, with dropout on Δφ."""

    def __init__(self, size: int, styles: int, options: NetworkOptions) -> None:
        super().__init__()
        self.styles = nn.Parameter(torch.zeros(styles, options.rank))
        self.hidden = nn.Linear(DIMENSIONS, options.hidden)
        self.output = nn.Linear(options.hidden, options.rank)
        self.features = nn.Linear(size, options.rank, bias=False)
        nn.init.normal_(self.features.weight, std=0.02)
        self.cosine = nn.Parameter(torch.tensor(0.3))
        self.dropout = nn.Dropout(options.dropout)

    def forward(self, criteria: Tensor, styles: Tensor, unread: Tensor, difference: Tensor) -> Tensor:
        """Log-odds for A of N criteria ``[N, 384]`` on N differences ``[N, D]``.

        Args:
            styles: What of known styles they ask for ``[N, S]``.
            unread: What of them no concept says, from 0 to 1 ``[N]``.
        """
        similarity = (criteria * difference[:, :DIMENSIONS]).sum(dim=1) / float(CRITERION_SCALE)
        asked = unread[:, None] * self.wish(criteria) + styles @ self.styles
        bilinear = (asked * self.features(self.dropout(difference))).sum(dim=1)
        result: Tensor = bilinear + unread * self.cosine * similarity
        return result

    def wish(self, criteria: Tensor) -> Tensor:
        """What N criteria ``[N, 384]`` ask for, ``[N, R]``."""
        wish: Tensor = self.output(self.dropout(functional.gelu(self.hidden(criteria))))
        return wish

    def style_directions(self, gain: Floats) -> Floats:
        """Directions of the styles in feature space ``[S, D]``."""
        directions: Floats = _array(self.styles) @ (_array(self.features.weight) * gain)
        return directions

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


def _fit(
    data: TrainingSet, wordings: WordingSet, gain: Floats, options: NetworkOptions, seed: int
) -> tuple[_Network, float]:
    torch.manual_seed(seed)
    shuffle = np.random.default_rng(seed)
    network = _Network(len(gain), data.styles.shape[1], options)
    styles, unread = torch.from_numpy(data.styles), torch.from_numpy(data.left)
    counted = torch.from_numpy(data.counted)
    worded = torch.from_numpy(wordings.embedding * CRITERION_SCALE)
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
            asked = data.criterion[rows]
            margins = network(embedding[asked], styles[asked], unread[asked], difference[data.pair[rows]])
            loss = _loss(margins + counted[rows], data, rows)
            drawn = shuffle.integers(len(worded), size=options.wishes)
            same = network.styles[wordings.style[drawn]] * torch.from_numpy(wordings.sign[drawn])[:, None]
            loss = loss + options.alike * functional.mse_loss(network.wish(worded[drawn]), same)
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
