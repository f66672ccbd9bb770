"""Labelled pairs: criteria annotations, CRM training data, and the lines of ``crm score``."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, TypeAlias

from crm.criteria import CriteriaSet, Criterion, Polarity
from crm.data.conversations import Turns, conversation_pair, read_conversation
from crm.data.corpora import CorporaTexts, LeftOut, TextMissingError, read_json_lines
from crm.embedded.encoder import ProgressCallback
from crm.errors import CRMError
from crm.protocol import CRM, Pair, Question

OWN_ANNOTATIONS = Path(__file__).resolve().parent.parent / "training" / "annotations.jsonl"
"""Further annotations, written for this project in the same way: see annotations.md beside it."""
MODERN_ANNOTATIONS = OWN_ANNOTATIONS.with_name("modern_annotations.jsonl")
"""Annotations of current LLMs' responses, with the response that a typical person would prefer."""
KINDS = ("list", "criterion", "keyword", "avoid")
"""A person's whole list, one of its criteria alone, and the two kinds of extra criteria."""
SINGLE_KINDS = KINDS[1:]

_EVEN = 0.5
_AT_ONCE = 64
_UNKNOWN = float("nan")


@dataclass(frozen=True)
class LabelledPair:
    """Two responses, criteria, and which response is preferred under them.

    A pair that is annotated for either side is two of these, see ``both_directions``.

    Attributes:
        pair: Query and responses.
        criteria: What to judge by; none where a preference is known without its reasons.
        label: +1 where A is preferred, −1 where B, 0 for a tie, in between where opinions are divided; NaN
            where it is not known.
        kind: One of ``KINDS``.
        id: The line's id as given, or the pair's position among others; all that is about one pair shares it.
        opposite: The list under which the other response is preferred; empty where unknown.
        extra: Further single criteria, keywords and things to avoid, that prefer the same response.
        split: ``train`` or ``dev``; empty where there are no splits.
        instruction: What splits and hold-outs go by: equal for equal queries.
        chosen: +1 where people, or an annotator in their place, prefer A without any criteria, −1 where B;
            0 where nobody was asked or it is a tie.
        topic: What the query is about; empty where that is not known.
    """

    pair: Pair
    criteria: CriteriaSet
    label: float = _UNKNOWN
    kind: str = "list"
    id: Any = None
    opposite: CriteriaSet = field(default_factory=CriteriaSet)
    extra: tuple[Criterion, ...] = ()
    split: str = ""
    instruction: str = ""
    chosen: float = 0.0
    topic: str = ""

    @property
    def question(self) -> Question:
        """What a judge is asked."""
        return Question(self.criteria, self.pair)

    def swapped(self) -> LabelledPair:
        """Return the same with the responses in the other order, and so with the other label."""
        return replace(self, pair=self.pair.swapped(), label=-self.label, chosen=-self.chosen)

    def alone(self, criterion: Criterion) -> LabelledPair:
        """Return the same pair under one of the criteria alone, be it of the list or an extra one."""
        kind = "criterion"
        if criterion in self.extra:
            kind = "avoid" if criterion.polarity is Polarity.AVOID else "keyword"
        return replace(self, criteria=CriteriaSet((criterion,)), kind=kind, opposite=CriteriaSet(), extra=())

    def unguided(self) -> LabelledPair:
        """Return the same as a judge of general preference is asked: without any criteria."""
        return replace(self, criteria=CriteriaSet())

    def without_criteria(self, withheld: Container[str]) -> LabelledPair:
        """Return the same less some criteria, by their texts, on either side."""

        def left(criteria: CriteriaSet | tuple[Criterion, ...]) -> tuple[Criterion, ...]:
            return tuple(one for one in criteria if one.text not in withheld)

        return replace(
            self,
            criteria=CriteriaSet(left(self.criteria)),
            opposite=CriteriaSet(left(self.opposite)),
            extra=left(self.extra),
        )


Directions: TypeAlias = tuple[LabelledPair, LabelledPair]
"""One pair under the criteria of either side: first those that prefer A, then those that prefer B."""


class Direction(StrEnum):
    """Which side's criteria are meant, in the signs of the USL paper's evaluation sets."""

    BOTH = "both"
    PLUS = "plus"
    """Those of the side that average preference favours."""
    MINUS = "minus"
    """Those of the other side."""


def both_directions(
    pair: Pair,
    criteria: tuple[CriteriaSet, CriteriaSet],
    extra: tuple[tuple[Criterion, ...], tuple[Criterion, ...]] = ((), ()),
    *,
    split: str = "train",
    instruction: str,
    chosen: float = 0.0,
) -> Directions:
    """Label a pair under the criteria that prefer A, and under those that prefer B."""
    for_a, for_b = (
        LabelledPair(
            pair, criteria[side], label, opposite=criteria[1 - side], extra=extra[side],
            split=split, instruction=instruction, chosen=chosen,
        )
        for side, label in enumerate((1.0, -1.0))
    )  # fmt: skip
    return for_a, for_b


def favoured_labels(
    pairs: Sequence[Pair], general: CRM, progress: ProgressCallback = lambda done, total: None
) -> list[float]:
    """Judge pairs without criteria: +1 where average preference favours A, −1 where B.

    Under criteria that prefer the favoured response, a pair has the direction “plus”, else “minus”.
    """
    favoured: list[float] = []
    for start in range(0, len(pairs), _AT_ONCE):
        verdicts = general.judge([Question(CriteriaSet(), pair) for pair in pairs[start : start + _AT_ONCE]])
        favoured += [1.0 if verdict.prob_a >= _EVEN else -1.0 for verdict in verdicts]
        progress(len(favoured), len(pairs))
    return favoured


def read_annotations(
    path: Path, corpora: Path, split: str | None = None, left_out: LeftOut | None = None
) -> list[Directions]:
    """Read both directions of annotated pairs, and join them with the corpora's responses.

    Args:
        path: ``criteria_annotations.jsonl``.
        corpora: Folder with ``alpaca_eval/`` and ``flask/`` in their upstream layout, and ``modern_llms/``.
        split: Keep only this split.
        left_out: Where pairs are counted whose texts are not there, perhaps all; without it none may lack.

    Raises:
        CRMError: A row that is not as described, or a response that the corpora lack.
    """
    texts = CorporaTexts(corpora)
    pairs = []
    in_split = 0
    for number, row in read_json_lines(path):
        try:
            if split is None or row["split"] == split:
                in_split += 1
                pairs.append(_annotated(row, texts))
        except (LookupError, TypeError, ValueError) as error:
            if left_out is not None and isinstance(error, TextMissingError):
                left_out.count(row["source"])
                continue
            raise CRMError(f"{path.name}, row {number}: {_reason(error)}.") from error
    if not in_split:
        raise CRMError(f"{path.name} has no pairs{f' in the split {split}' if split else ''}.")
    return pairs


def _annotated(row: dict[str, Any], texts: CorporaTexts) -> Directions:
    index = row["prompt_id"] if "prompt_id" in row else row["instruction_index"]
    query, response_a = texts.response(row["source"], index, row["model_a"])
    _, response_b = texts.response(row["source"], index, row["model_b"])
    return both_directions(
        Pair(query, response_a, response_b),
        (CriteriaSet.from_json(row["criteria_a"]), CriteriaSet.from_json(row["criteria_b"])),
        (_extra(row, "a"), _extra(row, "b")),
        split=row["split"],
        instruction=row["instruction_sha256"],
        chosen={"a": 1.0, "b": -1.0}.get(row.get("typical", ""), 0.0),
    )


def _extra(row: dict[str, Any], side: str) -> tuple[Criterion, ...]:
    extra = []
    if keyword := row.get(f"keyword_{side}"):
        extra.append(Criterion(keyword))
    if avoided := row.get(f"avoid_{side}"):
        extra.append(Criterion(avoided, polarity=Polarity.AVOID))
    return tuple(extra)


def _reason(error: Exception) -> str:
    return f"the field {error} is missing" if isinstance(error, KeyError) else str(error).rstrip(".")


Reader = Callable[[Mapping[str, Any]], LabelledPair]


def read_pairs(path: Path, turns: Turns = Turns.ALL) -> list[LabelledPair]:
    """Read lines {"id", "query", "response_a", "response_b", "criteria"}.

    Raises CRMError: Naming row and reason.
    """
    read = partial(pair_from_json, turns=turns)
    return [_checked(path, number, row, read) for number, row in read_json_lines(path)]


def read_labelled_pairs(
    path: Path,
    corpora: Path,
    split: str | None,
    left_out: LeftOut | None = None,
    *,
    turns: Turns = Turns.ALL,
) -> list[LabelledPair]:
    """Read pairs with a known verdict.

    Two formats are told apart by their fields: CRM training data {"idx", "prompt", "model_a", "model_b",
    "criteria", "preference"}, with a "kind" where a line is a single criterion, perhaps with the "winner"
    that people chose before anybody thought of criteria, and a "topic", and with no criteria where
    only the preference is known; and criteria annotations, whose texts are joined from ``corpora``. ``turns``
    says by what conversations of several turns are judged.

    Raises:
        CRMError: Naming row and reason.
    """
    rows = read_json_lines(path)
    head = list(islice(rows, 1))
    if not head:
        raise CRMError(f"{path.name} is empty: nothing can be evaluated on it.")
    if "criteria_a" in head[0][1]:
        annotated = chain.from_iterable(read_annotations(path, corpora, split, left_out))
        return [asked for item in annotated for asked in (item, *map(item.alone, item.extra))]
    return with_opposites(
        [
            _checked(path, number, row, partial(_from_training_line, turns=turns))
            for number, row in chain(head, rows)
        ]
    )


def with_opposites(examples: Sequence[LabelledPair]) -> list[LabelledPair]:
    """Return the examples with the list under which the other response of the same pair is preferred.

    Training data has a line for each direction of a pair; noise must know both. They share their texts, in
    whatever order of the responses, and not always their id: ``extract-criteria`` used to number either side.
    Several lists for one side are joined.
    """
    in_favour: dict[tuple[str, ...], dict[str, dict[Criterion, None]]] = {}

    def prefers_one(item: LabelledPair) -> bool:
        return item.kind == "list" and math.isfinite(item.label) and item.label != 0

    for item in examples:
        if prefers_one(item):
            lists = in_favour.setdefault(_identity(item), {})
            lists.setdefault(_responses(item)[0], {}).update(dict.fromkeys(item.criteria))

    def opposite(item: LabelledPair) -> CriteriaSet:
        if not prefers_one(item):
            return item.opposite
        other = in_favour.get(_identity(item), {}).get(_responses(item)[1], {})
        return CriteriaSet(tuple(other)) or item.opposite

    return [replace(item, opposite=opposite(item)) for item in examples]


def joined_directions(examples: Sequence[LabelledPair]) -> list[Directions]:
    """Return pairs that have criteria for either side, both directions of each, in the order of the examples.

    Of several lists for one side the first counts. Pairs with criteria for one side only are left out.
    """
    found: dict[tuple[str, ...], dict[float, LabelledPair]] = {}
    for item in examples:
        if item.kind == "list" and item.criteria and abs(item.label) == 1:
            sides = found.setdefault(_identity(item), {})
            first = next(iter(sides.values()), item)
            shown = item if item.pair == first.pair else item.swapped()
            sides.setdefault(shown.label, shown)
    return [
        (
            replace(sides[1.0], opposite=sides[-1.0].criteria),
            replace(sides[-1.0], opposite=sides[1.0].criteria),
        )
        for sides in found.values()
        if len(sides) == 2  # noqa: PLR2004
    ]


def _identity(item: LabelledPair) -> tuple[str, ...]:
    return item.pair.query, *sorted((item.pair.response_a, item.pair.response_b))


def _responses(item: LabelledPair) -> tuple[str, str]:
    """Return the preferred response, then the other."""
    pair = item.pair if item.label > 0 else item.pair.swapped()
    return pair.response_a, pair.response_b


def _checked(path: Path, number: int, row: Mapping[str, Any], read: Reader) -> LabelledPair:
    try:
        pair = read(row)
    except KeyError as error:
        raise CRMError(f"{path.name}, row {number}: the field {error} is missing.") from error
    except (CRMError, TypeError, ValueError) as error:
        raise CRMError(f"{path.name}, row {number}: {str(error).rstrip('.')}.") from error
    return pair


def pair_from_json(row: Mapping[str, Any], turns: Turns = Turns.ALL) -> LabelledPair:
    """Return the pair of an object {"id", "query", "response_a", "response_b", "criteria"}.

    A response is a text, or a conversation: a list of {role, content}.

    Raises:
        KeyError, TypeError, CRMError: A field is missing or none of its kind.
    """
    pair = _pair(row, "query", "response_a", "response_b", turns)
    return LabelledPair(pair, CriteriaSet.from_json(row["criteria"]), id=row["id"])


def _pair(row: Mapping[str, Any], query: str, first: str, second: str, turns: Turns) -> Pair:
    asked = _text(row, query)
    side_a, side_b = (read_conversation(row[field], field) for field in (first, second))
    return conversation_pair(asked, side_a, side_b, turns)


def _from_training_line(row: Mapping[str, Any], turns: Turns = Turns.ALL) -> LabelledPair:
    labels = {"model_a": 1.0, "model_b": -1.0, "tie": 0.0}
    winner = row.get("winner", "tie")
    for name, value in (("preference", row["preference"]), ("winner", winner)):
        if value not in tuple(labels):
            raise ValueError(f"the {name} {value!r} is none of {', '.join(labels)}")
    pair = _pair(row, "prompt", "model_a", "model_b", turns)
    criteria = CriteriaSet.from_json(row.get("criteria", []))
    kind = _text(row, "kind") if "kind" in row else "list"
    return LabelledPair(
        pair,
        criteria,
        labels[row["preference"]],
        kind,
        id=row["idx"],
        instruction=pair.query,
        chosen=labels[winner],
        topic=_text(row, "topic") if "topic" in row else "",
    )


def _text(row: Mapping[str, Any], field: str) -> str:
    if not isinstance(row[field], str):
        raise TypeError(f"the field {field!r} is not a text")
    return str(row[field])
