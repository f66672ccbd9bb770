"""What a classifier is trained on, held out, and reported on: preference pairs, one example a direction.

Examples about criteria alone come first for small encoders: which of two statements describes what a person
asks for? Such an encoder does not know at first that a text can be held against a wish, and as long as it
does not, nothing it sees in long responses helps. Statements teach it that at a tenth of the cost, because
they are short: a criterion is asked for, and of two others, one stands for it and one against it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path

import numpy as np
from numpy.random import Generator

from crm.criteria import CriteriaSet, Criterion, Polarity
from crm.data.conversations import Turns
from crm.data.corpora import LeftOut, read_json_lines
from crm.data.pairs import (
    Direction,
    LabelledPair,
    favoured_labels,
    read_annotations,
    read_labelled_pairs,
)
from crm.data.taxonomy import held_out_criteria
from crm.errors import CRMError
from crm.protocol import CRM, Pair
from crm.training.classifier.options import Options, TrainingText

_MIN_HELD_OUT = 2
_STATEMENTS_PER_PAIR = 3
_BOTH = 2
"""Directions of a pair, and criteria of either side, that statements are drawn from."""


@dataclass(frozen=True)
class TrainingExamples:
    """What a run learns from and is measured by.

    Attributes:
        held_out: Examples of other instructions, which choose the best checkpoint.
        dev: Examples that are only reported on; may be empty.
    """

    train: tuple[LabelledPair, ...]
    held_out: tuple[LabelledPair, ...]
    dev: tuple[LabelledPair, ...] = ()


@dataclass(frozen=True)
class FavouredSides:
    """Which response of each pair is preferred without criteria, and how many pairs go by whom.

    Attributes:
        labels: +1 where that is A, −1 where B, of every pair in either order; without those left out.
        chosen: Pairs that go by what people chose.
        judged: Pairs that nobody chose on, which go by the judge.
        left_out: Pairs that nobody chose on, where no judge is asked.
        judge: Its name and version; empty where none is asked.
    """

    labels: Mapping[Pair, float]
    chosen: int
    judged: int = 0
    left_out: int = 0
    judge: str = ""

    def __str__(self) -> str:
        told = f"plus and minus: {self.chosen:,} pairs go by what people chose"
        if self.judge:
            told += f", {self.judged:,} by {self.judge}"
        if self.left_out:
            told += f"; {self.left_out:,} are left out, as nobody chose: --general names a judge for them"
        return told


def is_annotations(path: Path) -> bool:
    """Return whether a file holds criteria annotations rather than CRM training data.

    Raises:
        CRMError: The file cannot be read or is empty.
    """
    first = next(iter(islice(read_json_lines(path), 1)), None)
    if first is None:
        raise CRMError(f"{path.name} is empty: give pairs to train on.")
    return "criteria_a" in first[1]


def read_examples(
    path: Path,
    corpora: Path,
    split: str = "train",
    left_out: LeftOut | None = None,
    turns: Turns = Turns.ALL,
) -> list[LabelledPair]:
    """Read one split of criteria annotations, or all of a file of CRM training data.

    Ties are left out. Training data may have pairs without criteria, from which average taste is learnt; of
    annotations a side without criteria is left out, as nobody prefers it.

    Args:
        left_out: Where annotated pairs are counted whose texts are not there.
        turns: By what conversations of several turns are judged.

    Raises:
        CRMError: Naming row and reason; or nothing is left.
    """
    if is_annotations(path):
        annotated = chain.from_iterable(read_annotations(path, corpora, split, left_out))
        return [item for item in annotated if item.criteria]
    read = read_labelled_pairs(path, corpora, None, turns=turns)
    examples = [replace(item, kind="list") for item in read if item.label]
    if not examples:
        raise CRMError(f"{path.name} has only ties: nothing can be learnt.")
    return examples


def prepare(
    examples: Sequence[LabelledPair],
    dev: Sequence[LabelledPair],
    options: Options,
    general: CRM | None = None,
    on_favoured: Callable[[FavouredSides], None] = lambda sides: None,
) -> TrainingExamples:
    """Choose what is learnt from.

    Args:
        examples: All examples of the train split.
        options: Direction, limits, and what is held out.
        general: Says, for one direction only, which side is favoured of pairs that nobody chose on; without
            it they are left out.
        on_favoured: Is told, for one direction only, how many pairs go by whom.

    Raises:
        CRMError: Too little is left, or an instruction of dev is among the examples.
    """
    if shared := {item.instruction for item in examples} & {item.instruction for item in dev}:
        raise CRMError(
            f"{len(shared)} queries are both trained and reported on: take them out of one of the two files."
        )
    if options.skip_held_out_criteria:
        examples = without_criteria(examples, held_out_criteria(criterion_texts(examples)))
    if options.direction is not Direction.BOTH:
        divided = dev if options.skip_criteria else ()
        sides = favoured_sides([*examples, *divided], general)
        on_favoured(sides)
        examples = of_direction(examples, options.direction, sides)
        if not examples:
            raise CRMError(f"No example has the direction {options.direction.value}: train on both.")
        dev = of_direction(divided, options.direction, sides) if divided else dev
    if options.skip_criteria:
        examples, dev = bare(examples), bare(dev)
    if options.material is TrainingText.STATEMENTS:
        examples = statement_examples(examples, options.seed)
    train, held_out = hold_out(examples, options.held_out, options.seed)
    return TrainingExamples(
        tuple(limited(train, options.limit, options.seed)),
        tuple(limited(held_out, options.eval_limit, options.seed)),
        tuple(limited(dev, options.eval_limit, options.seed)),
    )


def without_criteria(examples: Sequence[LabelledPair], withheld: frozenset[str]) -> list[LabelledPair]:
    """Return the examples less some criteria; one that has no others left goes, one that never had any stays.

    Raises:
        CRMError: None is left.
    """
    kept = [
        left for item in examples if (left := item.without_criteria(withheld)).criteria or not item.criteria
    ]
    if not kept:
        raise CRMError("Every criterion belongs to a held-out cluster: give more data.")
    return kept


def bare(examples: Sequence[LabelledPair]) -> list[LabelledPair]:
    """Return the preferences alone, without the criteria they were made by: one example a pair.

    This is the paper's implicit setting (Table 1, and the first rows of Table 3).

    Raises:
        CRMError: Of some pairs either response is preferred, each by criteria of its own.
    """
    chosen_first = {
        item.pair if item.label > 0 else item.pair.swapped(): replace(
            item, criteria=CriteriaSet(), opposite=CriteriaSet(), extra=()
        )
        for item in examples
    }
    if divided := sum(pair.swapped() in chosen_first for pair in chosen_first) // 2:
        raise CRMError(
            f"Of {divided:,} pairs either response is preferred, each by criteria of its own: choose "
            "--direction plus, or give every pair with one preference."
        )
    return list(chosen_first.values())


def chosen_labels(examples: Iterable[LabelledPair]) -> dict[Pair, float]:
    """Return what people chose, where that is known: +1 for A, −1 for B, of every pair in either order.

    A preference without criteria is a choice, too. Where choices differ, those of most examples count.
    """
    votes: dict[Pair, float] = defaultdict(float)
    for item in examples:
        choice = item.chosen or (0.0 if item.criteria else item.label)
        votes[item.pair] += choice
        votes[item.pair.swapped()] -= choice
    return {pair: 1.0 if vote > 0 else -1.0 for pair, vote in votes.items() if vote}


def favoured_sides(examples: Sequence[LabelledPair], general: CRM | None = None) -> FavouredSides:
    """Say which response of each pair is preferred without criteria: the one that people chose.

    Args:
        general: Is asked about the pairs that nobody chose on; without it they are left out.
    """
    pairs = _in_one_order(examples)
    labels = chosen_labels(examples)
    open_pairs = [pair for pair in pairs if pair not in labels]
    chosen = len(pairs) - len(open_pairs)
    if general is None:
        return FavouredSides(labels, chosen, left_out=len(open_pairs))
    for pair, label in zip(open_pairs, favoured_labels(open_pairs, general), strict=True):
        labels |= {pair.swapped(): -label, pair: label}
    return FavouredSides(labels, chosen, len(open_pairs), judge=f"{general.name} {general.version}")


def _in_one_order(examples: Iterable[LabelledPair]) -> list[Pair]:
    """Return each pair once, whichever of its responses comes first."""
    pairs: dict[Pair, None] = {}
    for item in examples:
        if item.pair.swapped() not in pairs:
            pairs[item.pair] = None
    return list(pairs)


def of_direction(
    examples: Sequence[LabelledPair], direction: Direction, sides: FavouredSides
) -> list[LabelledPair]:
    """Return the examples of one direction; of both, all. It may be none."""
    if direction is Direction.BOTH:
        return list(examples)
    plus = direction is Direction.PLUS
    return [
        item
        for item in examples
        if item.pair in sides.labels and (item.label == sides.labels[item.pair]) == plus
    ]


def hold_out(
    examples: Sequence[LabelledPair], share: float, seed: int
) -> tuple[list[LabelledPair], list[LabelledPair]]:
    """Split into what is trained on and what is held out; no instruction is in both.

    Raises:
        CRMError: There are too few instructions.
    """
    instructions = sorted({example.instruction for example in examples})
    count = max(_MIN_HELD_OUT, round(share * len(instructions)))
    if len(instructions) < 2 * count:
        raise CRMError(
            f"There are only {len(instructions)} different queries to train on: "
            f"give at least {2 * _MIN_HELD_OUT}, or hold out a smaller share."
        )
    drawn = np.random.default_rng(seed).permutation(len(instructions))[:count]
    held = {instructions[index] for index in drawn}
    return (
        [example for example in examples if example.instruction not in held],
        [example for example in examples if example.instruction in held],
    )


def by_pair(examples: Iterable[LabelledPair]) -> list[tuple[LabelledPair, ...]]:
    """Return the examples of each pair: both directions, where both are there."""
    groups: dict[Pair, list[LabelledPair]] = {}
    for example in examples:
        groups.setdefault(example.pair, []).append(example)
    return list(map(tuple, groups.values()))


def limited(examples: Sequence[LabelledPair], limit: int | None, seed: int) -> list[LabelledPair]:
    """The examples of a random sample of ``limit`` pairs, in their order; all of them without a limit."""
    groups = by_pair(examples)
    if limit is None or limit >= len(groups):
        return list(examples)
    drawn = np.random.default_rng(seed).permutation(len(groups))[:limit]
    return [example for index in sorted(drawn) for example in groups[index]]


def statement_examples(examples: Sequence[LabelledPair], seed: int) -> list[LabelledPair]:
    """Return both directions of pairs of statements, drawn from pairs that have criteria for either side.

    Raises:
        CRMError: No pair has two criteria for either side.
    """
    rng = np.random.default_rng(seed)
    drawn = [
        example
        for directions in by_pair(examples)
        if len(directions) == _BOTH and all(len(_wanted(item)) >= _BOTH for item in directions)
        for _ in range(_STATEMENTS_PER_PAIR)
        for example in _drawn(directions, rng)
    ]
    if not drawn:
        raise CRMError("No pair has two criteria for either response: statements need criteria annotations.")
    return drawn


def _wanted(example: LabelledPair) -> list[Criterion]:
    return [item for item in (*example.criteria, *example.extra) if item.polarity is Polarity.WANT]


def _drawn(directions: Sequence[LabelledPair], rng: Generator) -> list[LabelledPair]:
    """Return one statement and one criterion of each side."""
    chosen = [
        [wanted[index] for index in rng.permutation(len(wanted))[:_BOTH]]
        for wanted in map(_wanted, directions)
    ]
    pair = Pair(directions[0].pair.query, chosen[0][0].text, chosen[1][0].text)
    lists = [CriteriaSet((asked,)) for _, asked in chosen]
    return [
        LabelledPair(pair, asked, label, opposite=lists[1 - side], instruction=directions[side].instruction)
        for side, (asked, label) in enumerate(zip(lists, (1.0, -1.0), strict=True))
    ]


def criterion_texts(examples: Sequence[LabelledPair]) -> list[str]:
    """Return texts of all criteria, repetitions included."""
    return [criterion.text for item in examples for criterion in (*item.criteria, *item.extra)]
