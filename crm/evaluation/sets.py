"""The evaluation sets of the USL paper: topic and criterion generalization, with and without noise.

Every annotated pair has two directions: the criteria of either side. “+” is the direction whose preferred
side people chose, or where nobody was asked, a general preference model favours; “−” the other one: a judge
that follows the crowd instead of the criteria is found out there. The noised sets are made from “−”, as in
the paper.

- *Topic generalization*: both directions of every pair of the split ``dev``, whose instructions, or whole
  topics (``crm.data.topics``), no judge was trained on.
- *Criterion generalization*: lists of at least two criteria of held-out clusters, from ``dev`` first, then
  from ``train``. It says something of a judge only if that was trained without these criteria.

On disk a set is JSON Lines in the format of CRM training data, beside a manifest that describes all of them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import numpy as np

from crm.criteria import CriteriaSet, Criterion
from crm.data.noise import NOISES, Noiser, Strength
from crm.data.pairs import Directions, LabelledPair, favoured_labels, read_labelled_pairs
from crm.data.taxonomy import CriterionClusters
from crm.embedded.encoder import ProgressCallback
from crm.errors import CRMError
from crm.protocol import CRM, Turn
from parsing.documents import read_json
from parsing.files import read_bytes

Generalization = Literal["topic", "criterion"]

MIN_HELD_OUT = 2
"""Criteria in a list for criterion generalization: fewer can be neither removed nor added to."""


class Subset(StrEnum):
    """An evaluation set; the value is the name of its file."""

    TOPIC_PLUS = "topic_plus"
    TOPIC_MINUS = "topic_minus"
    TOPIC_REMOVE = "topic_minus_remove"
    TOPIC_ADD = "topic_minus_add"
    TOPIC_REPLACE = "topic_minus_replace"
    CRITERION_PLUS = "criterion_plus"
    CRITERION_MINUS = "criterion_minus"
    CRITERION_REMOVE = "criterion_minus_remove"
    CRITERION_ADD = "criterion_minus_add"
    CRITERION_REPLACE = "criterion_minus_replace"
    SINGLE = "single"
    """Single criteria: those of the dev lists, and annotated keywords and avoids of held-out clusters."""

    @property
    def label(self) -> str:
        """How tables name it, e.g. “T−” or “C− add”."""
        kind, _, rest = self.value.partition("_")
        if self is Subset.SINGLE:
            return "single criteria"
        sign, _, noise = rest.partition("_")
        return f"{kind[0].upper()}{'+' if sign == 'plus' else '−'} {noise}".rstrip()


TABLE: Mapping[Generalization, tuple[Subset, ...]] = {
    "topic": tuple(subset for subset in Subset if subset.startswith("topic")),
    "criterion": tuple(subset for subset in Subset if subset.startswith("criterion")),
}
"""The five sets of each kind in the order of the paper's Table 2."""

NOISED: Mapping[Subset, Subset] = {noised: minus for _, minus, *others in TABLE.values() for noised in others}
"""The set that each noised one was made from."""


def build_sets(
    pairs: Sequence[Directions],
    general: CRM | None,
    clusters: CriterionClusters,
    seed: int = 0,
    progress: ProgressCallback = lambda done, total: None,
    *,
    strength: Strength = Strength.STRICT_MAJORITY,
) -> dict[Subset, list[LabelledPair]]:
    """Return all evaluation sets; the same pairs, judge, clusters and seed give the same sets.

    Responses change places by chance so that the side the general judge favours is A in half of the pairs.

    Args:
        pairs: All annotated pairs, both directions of each, both splits.
        general: The judge whose verdict without criteria decides between “+” and “−”; None: what people
            chose, and pairs of which that is not known are left out.
        seed: Of the noises and of the order of responses.
        strength: Of the noises.

    Raises:
        CRMError: No pair is in the split ``dev``, or of none people's choice is known.
    """
    if general is None:
        pairs = [directions for directions in pairs if directions[0].chosen]
        if not pairs:
            raise CRMError("Of no pair it is known which response people chose: name a judge as --general.")
    numbered = [
        (replace(one, id=index), replace(other, id=index)) for index, (one, other) in enumerate(pairs)
    ]
    unseen = [item for directions in numbered for item in directions if item.split == "dev"]
    if not unseen:
        raise CRMError("The annotations have no pair in the split dev: topics are generalized to there.")
    numbers = _cluster_numbers(numbered, clusters)
    withheld = {text for text, number in numbers.items() if clusters.clusters[number].held_out}
    held_out = sorted(_held_out(numbered, withheld), key=lambda item: item.split != "dev")
    used = sorted({item.id for item in (*unseen, *held_out)})
    asked = [pairs[index][0] for index in used]
    favoured = (
        [item.chosen for item in asked]
        if general is None
        else favoured_labels([item.pair for item in asked], general, progress)
    )
    orders = _Orders(numbered, dict(zip(used, favoured, strict=True)), seed)
    sets: dict[Subset, list[LabelledPair]] = {}
    for offset, (names, directions) in enumerate(zip(TABLE.values(), (unseen, held_out), strict=True)):
        pool = [criterion for item in directions for criterion in item.criteria]
        rng = np.random.default_rng([seed, offset])
        noiser = Noiser(numbers, pool, strength)
        sets |= dict(zip(names, _five_sets(directions, orders, noiser, rng), strict=True))
    sets[Subset.SINGLE] = [orders.ordered(single) for single in _singles(numbered, withheld)]
    return sets


def _held_out(pairs: Sequence[Directions], withheld: set[str]) -> Iterator[LabelledPair]:
    """Directions with enough criteria of held-out clusters, all others left out of their lists."""
    for directions in pairs:
        whole = [CriteriaSet((*item.criteria, *item.extra)) for item in directions]
        for item, own, other in zip(directions, whole, reversed(whole), strict=True):
            left = tuple(criterion for criterion in own if criterion.text in withheld)
            if len(left) >= MIN_HELD_OUT:
                yield replace(item, criteria=CriteriaSet(left), opposite=other)


def _singles(pairs: Sequence[Directions], withheld: set[str]) -> Iterator[LabelledPair]:
    for item in chain.from_iterable(pairs):
        if item.split == "dev":
            yield from map(item.alone, (*item.criteria, *item.extra))
        else:
            yield from (item.alone(one) for one in item.extra if one.text in withheld)


def _five_sets(
    directions: Sequence[LabelledPair], orders: _Orders, noiser: Noiser, rng: np.random.Generator
) -> Iterator[list[LabelledPair]]:
    """“+”, “−”, and of “−” what each noise makes of the lists that are long enough for it."""
    minus = [item for item in directions if not orders.favours(item)]
    yield [orders.ordered(item) for item in directions if orders.favours(item)]
    yield [orders.ordered(item) for item in minus]
    for noise in NOISES:
        noised = [(item, noiser.noised(item.criteria, item.opposite, noise, rng)) for item in minus]
        yield [
            orders.ordered(replace(item, criteria=criteria))
            for item, criteria in noised
            if criteria != item.criteria
        ]


class _Orders:
    """Which side the general judge favours, and, by chance for half of a split's pairs, is shown first."""

    def __init__(self, pairs: Sequence[Directions], favoured: Mapping[int, float], seed: int) -> None:
        self._favoured = favoured
        self._turned: set[int] = set()
        rng = np.random.default_rng(seed)
        for split in sorted({pairs[index][0].split for index in favoured}):
            drawn = rng.permutation([index for index in favoured if pairs[index][0].split == split])
            for place, index in enumerate(drawn.tolist()):
                if (favoured[index] > 0) == (place % 2 == 1):
                    self._turned.add(index)

    def favours(self, item: LabelledPair) -> bool:
        """Return whether the side that an item prefers is favoured without criteria, too."""
        return self._favoured[item.id] == item.label

    def ordered(self, item: LabelledPair) -> LabelledPair:
        """Return the item as it is asked, its responses in their order."""
        shown = item.swapped() if item.id in self._turned else item
        return replace(shown, opposite=CriteriaSet(), extra=())


def _cluster_numbers(pairs: Sequence[Directions], clusters: CriterionClusters) -> dict[str, int]:
    occurring: Iterable[Criterion] = (
        one for item in chain.from_iterable(pairs) for one in (*item.criteria, *item.extra)
    )
    texts = list(dict.fromkeys(one.text for one in occurring))
    return dict(zip(texts, clusters.assigned(texts), strict=True))


MANIFEST = "manifest.json"
TRAIN_FILE = "train.jsonl"
"""Beside the sets, where topics are held out: the pairs of all other topics, as training data."""
_MANIFEST_FORMAT = 1
_REMAKE = "make the sets again with “python -m crm evaluation-sets”"


@dataclass(frozen=True)
class SetStatistics:
    """What the paper's Table 5 says of a set.

    Attributes:
        turns: Mean number of messages in a conversation, the query included.
        criteria: Mean number of criteria.
        label_a: Questions whose answer is A.
        label_b: Questions whose answer is B.
        from_dev: Questions on pairs of the split ``dev``; the others are on pairs of ``train``.
    """

    subset: str
    samples: int
    turns: float
    criteria: float
    label_a: int
    label_b: int
    from_dev: int


@dataclass(frozen=True)
class Manifest:
    """How a folder of sets was made, and what is in it.

    Attributes:
        seed: Of all random choices.
        general: Name and version of the judge that told “+” from “−”.
        statistics: One entry a set.
        digests: SHA-256 of every set's file, in hex.
        strength: Of the noises.
    """

    seed: int
    general: str
    statistics: tuple[SetStatistics, ...]
    digests: Mapping[str, str]
    strength: Strength = Strength.STRICT_MAJORITY

    def left_out(self, subset: Subset) -> int | None:
        """Return how many lists a noise could not be applied to; None for a set without noise."""
        if subset not in NOISED:
            return None
        samples = {entry.subset: entry.samples for entry in self.statistics}
        return samples[NOISED[subset]] - samples[subset]

    @property
    def digest(self) -> str:
        """Identifies all sets together: equal questions and answers have equal digests."""
        return hashlib.sha256(json.dumps(sorted(self.digests.items())).encode()).hexdigest()


@dataclass(frozen=True)
class EvaluationSets:
    """A folder of sets, read: how they were made, and the questions with their answers by set."""

    manifest: Manifest
    sets: Mapping[Subset, Sequence[LabelledPair]]


def write_sets(
    folder: Path,
    sets: Mapping[Subset, Sequence[LabelledPair]],
    seed: int,
    general: str,
    strength: Strength = Strength.STRICT_MAJORITY,
) -> Manifest:
    """Write every set as ``NAME.jsonl``; the manifest comes last, so that a folder with one is whole.

    Raises:
        CRMError: The folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / MANIFEST).unlink(missing_ok=True)
        digests = {}
        for subset, samples in sets.items():
            content = "".join(f"{json.dumps(_line(sample), ensure_ascii=False)}\n" for sample in samples)
            (folder / f"{subset}.jsonl").write_bytes(_utf8(content))
            digests[subset.value] = hashlib.sha256(_utf8(content)).hexdigest()
        statistics = tuple(_statistics(subset, samples) for subset, samples in sets.items())
        manifest = Manifest(seed, general, statistics, digests, strength)
        described = {"format": _MANIFEST_FORMAT, **asdict(manifest)}
        (folder / MANIFEST).write_text(json.dumps(described, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise CRMError(f"{folder} cannot be written ({error.strerror}).") from error
    return manifest


def read_sets(folder: Path) -> EvaluationSets:
    """Read what ``write_sets`` wrote.

    Raises:
        CRMError: There is no such folder, or its files are not as they were written.
    """
    manifest = read_manifest(folder)
    sets: dict[Subset, Sequence[LabelledPair]] = {}
    for subset in Subset:
        path = folder / f"{subset}.jsonl"
        written = manifest.digests.get(subset)
        if not path.is_file() or hashlib.sha256(path.read_bytes()).hexdigest() != written:
            raise CRMError(f"{path} is not as it was written: {_REMAKE}.")
        sets[subset] = read_labelled_pairs(path, folder, None) if path.stat().st_size else []
    return EvaluationSets(manifest, sets)


def read_manifest(folder: Path) -> Manifest:
    """Read only the description of a folder of sets. Raises CRMError: There is none, or it cannot be read."""
    path = folder / MANIFEST
    if not path.is_file():
        raise CRMError(
            f"There are no evaluation sets in {folder}: make them with “python -m crm evaluation-sets”."
        )
    try:
        described: dict[str, Any] = read_json(read_bytes(path))
        return Manifest(
            described["seed"],
            described["general"],
            tuple(SetStatistics(**entry) for entry in described["statistics"]),
            described["digests"],
            Strength(described.get("strength", Strength.STRICT_MAJORITY)),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise CRMError(f"{path} cannot be read: {_REMAKE}.") from error


def _line(sample: LabelledPair) -> dict[str, Any]:
    pair = sample.pair
    first, second = ([Turn("user", pair.query), *turns] for turns in pair.conversations)
    line = {
        "idx": sample.id,
        "prompt": pair.query,
        "model_a": list(map(asdict, first)),
        "model_b": list(map(asdict, second)),
        "criteria": [_criterion(criterion) for criterion in sample.criteria],
        "preference": "model_a" if sample.label > 0 else "model_b",
        "split": sample.split,
    }
    if sample.chosen:
        line["winner"] = "model_a" if sample.chosen > 0 else "model_b"
    if sample.topic:
        line["topic"] = sample.topic
    return line if sample.kind == "list" else {**line, "kind": sample.kind}


def write_training_lines(path: Path, pairs: Iterable[Directions]) -> int:
    """Write both directions of pairs as CRM training data; return how many lines.

    Raises CRMError: The file cannot be written.
    """
    lines = [json.dumps(_line(item), ensure_ascii=False) for item in chain.from_iterable(pairs)]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(_utf8("".join(f"{line}\n" for line in lines)))
    except OSError as error:
        raise CRMError(f"{path} cannot be written ({error.strerror}).") from error
    return len(lines)


def _criterion(criterion: Criterion) -> str | dict[str, str]:
    """As plain text where that says it all."""
    text = str(criterion)
    try:
        return text if Criterion.parse(text) == criterion else criterion.to_json()
    except CRMError:  # “Avoid: …” may be too long to be read back
        return criterion.to_json()


def _statistics(subset: Subset, samples: Sequence[LabelledPair]) -> SetStatistics:
    count = max(1, len(samples))
    lines = [_line(sample) for sample in samples]
    label_a = sum(sample.label > 0 for sample in samples)
    return SetStatistics(
        subset=subset.value,
        samples=len(samples),
        turns=sum(len(line["model_a"]) for line in lines) / count,
        criteria=sum(len(sample.criteria) for sample in samples) / count,
        label_a=label_a,
        label_b=len(samples) - label_a,
        from_dev=sum(sample.split == "dev" for sample in samples),
    )


def _utf8(text: str) -> bytes:
    """Half a surrogate pair, which JSON can carry, cannot be written as it is."""
    return text.encode("utf-8", "replace")
