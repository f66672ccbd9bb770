"""Fit the classifier of concepts: what a wish asks for, in whatever words.

``wishes/*.tsv`` hold the wishes: concept, sign (``+`` more, ``-`` less, or a limit such as ``<=3``) and text;
``wishes/names/*.tsv`` what the concepts are called, of which the turns of ``wishes/turns/*.tsv`` (“lots of
…”, “go easy on the …”) make wishes. The sentence encoder's upper layers are adapted to them with low-rank
matrices (Hu et al. 2021), beside which queries that look at single words and vectors of hashed words are
learnt; wishes joined by “and” or “but” teach it that one criterion can ask for two things.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from scipy.special import log_softmax
from torch import Tensor, nn
from torch.nn import functional

from crm.criteria import Criterion
from crm.embedded.concepts import ConceptClassifier
from crm.embedded.counts import count_names
from crm.embedded.encoder import DIMENSIONS, Adaptation, encoder_parts, pooled_states
from crm.embedded.spelling import Spelling
from crm.embedded.surface import N_BUCKETS, N_TURNS, turns, word_hashes
from crm.embedded.wish_network import WishNetwork
from crm.errors import CRMError
from crm.protocol import Floats

Kept = TypeVar("Kept")
WISHES = Path(__file__).with_name("wishes")
NONE = "none"
"""Stands in place of a concept where a wish asks for none of them."""
_FOREIGN = frozenset({"other_languages", "everyday_in_other_languages"})
"""Files with German, French and Spanish wishes."""
_LATEST = frozenset({"everyday", "everyday_in_other_languages"})
"""Files with wishes in plain speech, a third of them in turns that are easily read the wrong way round."""
PARTICULAR = "particular"
_LATER = _LATEST | {"colloquial", PARTICULAR}
"""These, and files with idioms and complaints, and with wishes for something particular."""
_LINKS = (", ", " and ", "; ", ". ", " but ", ", ")
_LINKS_OF_NAMES = {True: (" and ", ", ", " & ", " plus "), False: (" or ", " and ", ", ")}
_OPENINGS = ("please ", "I want ", "answers should be: ", "it should have: ")
_SPREAD = DIMENSIONS**0.5
_WORD_SPREAD = 0.05
_QUERY_SPREAD = 0.05


@dataclass(frozen=True)
class Wish:
    """A wording, the concept it asks for (None for no concept) and whether for more or less of it.

    Attributes:
        limit: Comparison and number, where one is named: ``<=3``.
        foreign: Whether it is in another language than English.
        source: Name of the file that it is from, without its ending.
    """

    text: str
    concept: str | None
    more: bool = True
    limit: str | None = None
    foreign: bool = False
    source: str = ""


@dataclass(frozen=True)
class ConceptOptions:
    """Hyperparameters, chosen by wordings kept apart.

    Attributes:
        rank: Of the adaptation.
        layers: How many upper layers are adapted.
        queries: By which single words are looked at.
        rarer: Whether names are put in rarer turns of phrase, too.
        joined: Share of wishes that are joined with another.
        named: Wishes made of names, for every written one.
        paired: Wishes made of two names, for every written one.
        word_size: Of the vectors of words.
        forgotten: Share of the words left out in every step of the training.
        without: Files of wishes that are left out.
    """

    rank: int = 16
    layers: int = 4
    queries: int = 3
    rarer: bool = True
    named: float = 0.7
    paired: float = 0.1
    word_size: int = 64
    forgotten: float = 0.3
    without: frozenset[str] = frozenset()
    epochs: int = 4
    batch: int = 64
    learning_rate: float = 2e-3
    weight_decay: float = 0.1
    joined: float = 0.15
    smoothing: float = 0.04
    seed: int = 0


NETWORKS = (
    ConceptOptions(queries=0, rarer=False, named=0.15, paired=0.05, epochs=5, without=_LATER),
    ConceptOptions(queries=3, rarer=True, named=0.7, paired=0.1, epochs=4, without=_LATER),
    ConceptOptions(queries=0, rarer=False, named=0.15, paired=0.05, seed=2, layers=6, rank=24),
    ConceptOptions(queries=3, rarer=True, named=0.4, paired=0.1, seed=2),
)
"""Of the bundled classifier: of two networks alike, the first has seen the written wishes more often, the
other more turns; two know nothing of idioms, complaints, particular wishes and everyday ones."""


def read_concept_wishes(folder: Path = WISHES) -> list[Wish]:
    """Read all wishes of a folder.

    Raises:
        CRMError: A line that is not as described.
    """
    wishes = []
    for path in sorted(folder.glob("*.tsv")):
        for number, line in enumerate(path.read_text("utf-8").split("\n"), start=1):
            if not line:
                continue
            fields = line.split("\t")
            if len(fields) != 3:  # noqa: PLR2004
                raise CRMError(f"{path.name}, row {number}: write concept, sign and text, with tabs between.")
            concept, sign, text = fields
            limit = sign if sign not in "+-" else None
            named = None if concept == NONE else concept
            foreign = path.stem in _FOREIGN
            wishes.append(Wish(text, named, sign != "-", limit, foreign=foreign, source=path.stem))
    if not wishes:
        raise CRMError(f"{folder} has no wishes: check the path.")
    return wishes


class TurnsOfPhrase:
    """Turns in which names become wishes: “lots of …”, “go easy on the …”."""

    def __init__(self, groups: Sequence[Mapping[tuple[str, bool], Sequence[str]]]) -> None:
        """Join groups of turns, by kind of name (noun, adjective, verb phrase) and whether they ask for it;
        each group is drawn from as often as another."""
        self._groups = groups

    @property
    def commonest(self) -> TurnsOfPhrase:
        """The first group alone."""
        return TurnsOfPhrase(self._groups[:1])

    def one(self, kind: str, draw: random.Random) -> tuple[str, bool]:
        """Return a turn and whether it asks for what is named, as it does half the time."""
        asked = draw.random() < 0.5  # noqa: PLR2004
        return draw.choice(draw.choice(self._groups)[kind, asked]), asked


def read_turns(folder: Path = WISHES / "turns") -> TurnsOfPhrase:
    """Read the turns of a folder, a group from each file: kind, sign and text with {} for the name."""
    groups = []
    for path in sorted(folder.glob("*.tsv")):
        group: dict[tuple[str, bool], list[str]] = {}
        for line in path.read_text("utf-8").splitlines():
            kind, sign, text = line.split("\t")
            group.setdefault((kind, sign == "+"), []).append(text)
        groups.append(group)
    return TurnsOfPhrase(groups)


@dataclass(frozen=True)
class ConceptName:
    """What a concept, or the opposite of it, is called;
    ``kind`` is n, a or v for noun, adjective or verb phrase."""

    concept: str
    kind: str
    more: bool
    text: str

    def wish(self, turns: TurnsOfPhrase, draw: random.Random) -> Wish:
        """Return a wish in one of the turns."""
        turn, asked = turns.one(self.kind, draw)
        return Wish(turn.format(self.text), self.concept, self.more == asked)

    def wish_for_both(
        self, other: ConceptName, turns: TurnsOfPhrase, draw: random.Random
    ) -> tuple[str, list[Wish]]:
        """Return a wish for two names of one kind in one turn, “no emojis or tables”, and what is asked."""
        turn, asked = turns.one(self.kind, draw)
        link = draw.choice(_LINKS_OF_NAMES[asked])
        text = turn.format(self.text + link + other.text)
        return text, [Wish(text, each.concept, each.more == asked) for each in (self, other)]


def read_concept_names(folder: Path = WISHES / "names") -> list[ConceptName]:
    """Read all names of a folder: concept, kind, sign and text."""
    rows = [
        line.split("\t")
        for path in sorted(folder.glob("*.tsv"))
        for line in path.read_text("utf-8").splitlines()
    ]
    return [ConceptName(concept, kind, sign == "+", text) for concept, kind, sign, text in rows]


def concept_names(wishes: Sequence[Wish]) -> tuple[str, ...]:
    """Return the concepts: those that can be counted in the order of their counts, then the others."""
    others = sorted({wish.concept for wish in wishes if wish.concept} - set(count_names()))
    return (*count_names(), *others)


def fit_network(
    wishes: Sequence[Wish],
    named: Sequence[ConceptName],
    turns_of_phrase: TurnsOfPhrase,
    options: ConceptOptions | None = None,
    report: Callable[[int, int], None] = lambda done, total: None,
) -> WishNetwork:
    """Fit one network; the same wishes, options and machine give the same weights."""
    chosen = options or ConceptOptions()
    torch.manual_seed(chosen.seed)
    draw = random.Random(chosen.seed)
    names = concept_names(wishes)
    network = _Network(1 + 2 * len(names), chosen)
    trained = [parameter for parameter in network.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=chosen.learning_rate, weight_decay=chosen.weight_decay)
    used = turns_of_phrase if chosen.rarer else turns_of_phrase.commonest
    seen = [wish for wish in wishes if wish.source not in chosen.without]
    epochs = [epoch_batches(seen, named, used, chosen, draw) for _ in range(chosen.epochs)]
    steps = sum(map(len, epochs))
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, chosen.learning_rate, total_steps=steps, pct_start=0.1
    )
    network.train()
    for step, batch in enumerate(chain.from_iterable(epochs)):
        target = torch.zeros(len(batch), 1 + 2 * len(names))
        for row, (_, asked) in enumerate(batch):
            for wish in asked:
                target[row, label_of(wish, names)] += 1 / len(asked)
        texts = [text for text, _ in batch]
        smoothed = target * (1 - chosen.smoothing) + chosen.smoothing / target.shape[1]
        with torch.autocast("cpu", torch.bfloat16):
            logits = network(texts)
        loss = -(smoothed * functional.log_softmax(logits.float(), dim=1)).sum(dim=1).mean()
        optimizer.zero_grad()
        torch.autograd.backward(loss)
        optimizer.step()
        schedule.step()
        report(step + 1, steps)
    return network.fitted()


def split_wishes(wishes: Sequence[Kept], share: float, seed: int) -> tuple[list[Kept], list[Kept]]:
    """Return a share of the wishes that is kept apart, and the others."""
    mixed = random.Random(seed).sample(wishes, len(wishes))
    kept = round(share * len(mixed))
    return mixed[:kept], mixed[kept:]


def calibrated(network: WishNetwork, kept: Sequence[Wish], names: Sequence[str]) -> WishNetwork:
    """Return the network with the sharpness under which wishes kept apart are likeliest."""
    logits = network.logits([wish.text for wish in kept], bulk=True)
    return network.sharpened(sharpness_of(logits, kept, names))


def sharpness_of(logits: Floats, kept: Sequence[Wish], names: Sequence[str]) -> float:
    """Return the factor on logits ``[N, C]`` under which N wishes kept apart are likeliest."""
    labels = [label_of(wish, names) for wish in kept]
    tried = np.arange(0.5, 3.0, 0.05)
    likely = [log_softmax(logits * each, axis=1)[np.arange(len(kept)), labels].mean() for each in tried]
    return float(tried[int(np.argmax(likely))])


def spelling_of(wishes: Sequence[Wish]) -> Spelling:
    """Return the spelling of wishes, by which slips in others are mended."""
    return Spelling.of(
        [wish.text for wish in wishes if not wish.foreign], [wish.text for wish in wishes if wish.foreign]
    )


def share_read_right(classifier: ConceptClassifier, wishes: Sequence[Wish]) -> float:
    """Return how often concept and direction of wishes are read as they were meant."""
    prob = classifier.read_many([Criterion(wish.text) for wish in wishes]).prob
    read = np.where(prob.sum(axis=1) > 1 / 2, prob.argmax(axis=1) + 1, 0)
    return float(np.mean(read == [label_of(wish, classifier.names) for wish in wishes]))


def label_of(wish: Wish, names: Sequence[str]) -> int:
    """Return the class of a wish: 0 for no concept, then more and less of each in turn."""
    if wish.concept is None:
        return 0
    return 1 + 2 * names.index(wish.concept) + (not wish.more)


Batch = list[tuple[str, list[Wish]]]
"""Texts, and the wishes that each is made of."""
_CHUNK = 16


def epoch_batches(
    wishes: Sequence[Wish],
    named: Sequence[ConceptName],
    turns_of_phrase: TurnsOfPhrase,
    options: ConceptOptions,
    draw: random.Random,
) -> list[Batch]:
    """Return the batches of an epoch: texts of similar length, each with the one or two wishes that it is
    made of.

    Args:
        wishes: As they were written.
        named: From which further ones are made by the turns.
    """
    names = draw.choices(named, k=round(options.named * len(wishes)))
    drawn = [*wishes, *(name.wish(turns_of_phrase, draw) for name in names)]
    examples: Batch = []
    for wish in drawn:
        text, asked = _varied(wish.text, draw), [wish]
        if draw.random() < options.joined:
            other = draw.choice(drawn)
            text, asked = text.rstrip(".") + draw.choice(_LINKS) + _varied(other.text, draw), [wish, other]
        examples.append((text, asked))
    kinds: dict[str, list[ConceptName]] = {}
    for name in named:
        kinds.setdefault(name.kind, []).append(name)
    for name in draw.choices(named, k=round(options.paired * len(wishes))):
        text, asked = name.wish_for_both(draw.choice(kinds[name.kind]), turns_of_phrase, draw)
        examples.append((_varied(text, draw), asked))
    draw.shuffle(examples)
    batches: list[Batch] = []
    for start in range(0, len(examples), _CHUNK * options.batch):
        chunk = sorted(examples[start : start + _CHUNK * options.batch], key=lambda example: len(example[0]))
        batches += [chunk[first : first + options.batch] for first in range(0, len(chunk), options.batch)]
    return draw.sample(batches, len(batches))


def _varied(text: str, draw: random.Random) -> str:
    """Return the text as another person would have typed it: small letters, a slip, another opening."""
    if draw.random() < 0.25:  # noqa: PLR2004
        text = text.lower()
    if draw.random() < 0.15:  # noqa: PLR2004
        text = text.rstrip(".!")
    if draw.random() < 0.06 and len(text) > 8:  # noqa: PLR2004
        place = draw.randrange(1, len(text) - 2)
        swapped = text[:place] + text[place + 1] + text[place] + text[place + 2 :]
        text = draw.choice((text[:place] + text[place + 1 :], swapped))
    if draw.random() < 0.05:  # noqa: PLR2004
        text = draw.choice(_OPENINGS) + text
    return text


class _Adapted(nn.Module):
    """A frozen linear layer plus a trained product of two thin matrices."""

    def __init__(self, layer: nn.Linear, rank: int) -> None:
        super().__init__()
        self.layer = layer
        self.right = nn.Parameter(torch.randn(rank, layer.in_features) / layer.in_features**0.5)
        self.left = nn.Parameter(torch.zeros(layer.out_features, rank))

    def forward(self, inputs: Tensor) -> Tensor:
        result: Tensor = self.layer(inputs) + (inputs @ self.right.T) @ self.left.T * 2
        return result


class _Network(nn.Module):
    """Logits of more and less of a concept share their direction: what a “go easy on” means for one concept
    it means for all.

    The frozen weights are kept in half precision, in which a CPU is half as fast again.
    """

    def __init__(self, classes: int, options: ConceptOptions) -> None:
        super().__init__()
        self.tokenizer, self.encoder = encoder_parts()
        self.encoder.requires_grad_(requires_grad=False)
        for module in self.encoder.modules():
            if isinstance(module, nn.Linear):
                module.to(torch.bfloat16)
        self.adapted: dict[str, _Adapted] = {}
        first = len(self.encoder.encoder.layer) - options.layers
        for name, module in list(self.encoder.named_modules()):
            if isinstance(module, nn.Linear) and int(name.split(".")[2]) >= first:
                parent, _, own = name.rpartition(".")
                self.adapted[name] = _Adapted(module, options.rank)
                setattr(self.encoder.get_submodule(parent), own, self.adapted[name])
        self.words = nn.EmbeddingBag(N_BUCKETS, options.word_size, mode="sum")
        nn.init.normal_(self.words.weight, std=_WORD_SPREAD)
        self.forgotten = options.forgotten
        self.queries = nn.Parameter(torch.randn(options.queries, DIMENSIONS) * _QUERY_SPREAD)
        inputs = (1 + options.queries) * DIMENSIONS + N_TURNS + options.word_size
        self.head = nn.Linear(inputs, classes)
        self.direction = nn.Linear(inputs, 1)
        self.sides = torch.zeros(1, classes)
        self.sides[:, 1::2], self.sides[:, 2::2] = 1, -1

    def forward(self, texts: list[str]) -> Tensor:
        """Logits ``[N, classes]``."""
        tokens: Any = self.tokenizer(texts, padding=True, truncation=True, max_length=48, return_tensors="pt")
        mask = tokens["attention_mask"]
        states = self.encoder(input_ids=tokens["input_ids"], attention_mask=mask).last_hidden_state
        pooled = pooled_states(states, mask, self.queries) * _SPREAD
        inputs = torch.cat([pooled, torch.from_numpy(turns(texts)), self._of_words(texts)], dim=1)
        logits: Tensor = self.head(inputs) + self.direction(inputs) * self.sides
        return logits

    def _of_words(self, texts: Sequence[str]) -> Tensor:
        """Vectors of the texts' words ``[N, E]``; in training some words are forgotten."""
        known = [word_hashes(text) for text in texts]
        n_known = torch.tensor([max(1, len(hashes)) for hashes in known])
        if self.training:
            known = [[each for each in hashes if random.random() >= self.forgotten] for hashes in known]
        starts = torch.tensor([0, *map(len, known[:-1])]).cumsum(0)
        flat = torch.tensor(list(chain.from_iterable(known)), dtype=torch.long)
        vectors: Tensor = self.words(flat, starts) / n_known[:, None].sqrt()
        return vectors

    def fitted(self) -> WishNetwork:
        """Return what was fitted."""
        adapters = {
            name: (2 * adapted.left.detach().numpy(), adapted.right.detach().numpy())
            for name, adapted in self.adapted.items()
        }
        with torch.no_grad():
            weight = self.head.weight + self.sides.T * self.direction.weight
            bias = self.head.bias + self.sides[0] * self.direction.bias
        words, queries = (each.detach().numpy().copy() for each in (self.words.weight, self.queries))
        adaptation = Adaptation(adapters, queries)
        return WishNetwork(np.ascontiguousarray(weight.numpy().T), bias.numpy(), words, adaptation)
