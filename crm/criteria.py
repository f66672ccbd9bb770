"""Criteria: what a person wants of an answer, with weights and polarities, normalised and hashed.

Lists of criteria sets, each under a short label, come from files: the bundled popular ones, and others of
the same form. TOML: one ``[[criteria_set]]`` table a set with ``label`` and ``criteria``. JSON Lines: one
object {"label", "criteria"} a line. A criterion is a text or an object with text, weight and polarity.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache, cached_property
from pathlib import Path
from typing import Any, TypeVar

from crm.errors import CriterionError
from crm.paths import BUNDLED
from parsing.documents import read_json, read_toml
from parsing.files import read_bytes
from parsing.limits import ParseError
from parsing.messages import REORDERING

MAX_LENGTH = 300
"""Characters in one criterion; the sentence encoder reads 256 tokens."""
MAX_CRITERIA = 200
MAX_NAMES, MAX_NAME = 100, 200
"""Categories that one criterion may be for, and characters in the name of one."""

Choice = TypeVar("Choice", bound=StrEnum)

_LIST_MARKER = re.compile(r"^(?:[-*•–]|\d{1,3}[.)])(?:\s+|$)")
_AVOID_PREFIX = re.compile(r"^avoid(?:\s*:\s*|\s+|$)", re.IGNORECASE)


class Weight(StrEnum):
    """How much a criterion counts, in P-CHECK's three grades."""

    ESSENTIAL = "Essential"
    IMPORTANT = "Important"
    OPTIONAL = "Optional"

    @property
    def value_in_sum(self) -> float:
        """The factor of the criterion's margin in the sum over criteria."""
        return {"Essential": 1.0, "Important": 0.7, "Optional": 0.3}[self.value]


class Polarity(StrEnum):
    """Whether the criterion describes what is wanted or what is to be avoided."""

    WANT = "want"
    AVOID = "avoid"

    @property
    def sign(self) -> float:
        """+1 for wanted, -1 for avoided."""
        return 1.0 if self is Polarity.WANT else -1.0


Wording = tuple[str, Polarity]
"""Text and polarity of a criterion."""


@dataclass(frozen=True, order=True)
class Criterion:
    """One preference statement; its text is normalised when it is made.

    Attributes:
        only_for: The categories or topics in whose list it stands, sorted; none means the common list, which
            holds everywhere else. A judge is never asked with any: it gets ``CriteriaSet.for_query``.

    Raises:
        CriterionError: The text is empty or longer than ``MAX_LENGTH`` characters; a category has no name or
            a long one, or there are too many.
    """

    text: str
    weight: Weight = Weight.ESSENTIAL
    polarity: Polarity = Polarity.WANT
    only_for: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        text = normalise(self.text)
        if not any(character.isprintable() for character in text):
            raise CriterionError("A criterion is empty: write what you like in an answer, in a few words.")
        if len(text) > MAX_LENGTH:
            raise CriterionError(
                f"The criterion “{text[:40]}…” has {len(text)} characters: "
                f"shorten it to {MAX_LENGTH} or split it over several lines."
            )
        object.__setattr__(self, "text", text)
        if self.only_for:
            object.__setattr__(self, "only_for", _names(self.only_for, text))

    @property
    def wording(self) -> Wording:
        """Text and polarity: what is asked, however much it counts."""
        return self.text, self.polarity

    @property
    def signed_weight(self) -> float:
        """Weight times polarity, the factor of this criterion's margin in the sum over criteria."""
        return self.weight.value_in_sum * self.polarity.sign

    @property
    def everywhere(self) -> Criterion:
        """The criterion as a judge is asked by it, whatever it is for."""
        return replace(self, only_for=()) if self.only_for else self

    def __str__(self) -> str:
        wish = f"Avoid: {self.text}" if self.polarity is Polarity.AVOID else self.text
        return f"For {', '.join(self.only_for)}: {wish}" if self.only_for else wish

    @classmethod
    def parse(cls, line: str, weight: Weight = Weight.ESSENTIAL) -> Criterion:
        """Read one typed line: a list marker in front is dropped, a leading “avoid” sets the polarity."""
        text = _LIST_MARKER.sub("", normalise(line))
        wish = _AVOID_PREFIX.sub("", text)
        return cls(wish, weight, Polarity.WANT if wish == text else Polarity.AVOID)

    @classmethod
    def from_json(cls, value: str | Mapping[str, object]) -> Criterion:
        """Read a criterion from a text or an object with text, weight, polarity and ``for``, a list of names.

        Raises:
            CriterionError: Neither a text nor such an object, or an unknown weight or polarity.
        """
        if isinstance(value, str):
            return cls.parse(value)
        if not isinstance(value, Mapping) or not isinstance(value.get("text"), str):
            raise CriterionError('A criterion is a text or an object {"text", "weight", "polarity"}.')
        names = value.get("for", [])
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise CriterionError('What a criterion is “for” is a list of categories, as in ["Gaming"].')
        return cls(
            str(value["text"]),
            _member(Weight, value.get("weight", Weight.ESSENTIAL), "weight"),
            _member(Polarity, value.get("polarity", Polarity.WANT), "polarity"),
            tuple(names),
        )

    def to_json(self) -> dict[str, Any]:
        """Return the object that ``from_json`` reads; without ``for`` where it is for everything."""
        found = {"text": self.text, "weight": self.weight.value, "polarity": self.polarity.value}
        return {**found, "for": list(self.only_for)} if self.only_for else found


@dataclass(frozen=True)
class CriteriaSet:
    """The criteria of one person in the order they were written; none means the default ranking ∅.

    A criterion written twice in one list counts once, with the weight it was given last. Those for a category
    are its list, which takes the place of the common one there.

    Raises:
        CriterionError: More than ``MAX_CRITERIA`` criteria.
    """

    criteria: tuple[Criterion, ...] = ()

    def __post_init__(self) -> None:
        unique = {(*criterion.wording, criterion.only_for): criterion for criterion in self.criteria}
        if len(unique) > MAX_CRITERIA:
            raise CriterionError(
                f"There are {len(unique)} criteria: keep the {MAX_CRITERIA} that matter most to you."
            )
        object.__setattr__(self, "criteria", tuple(unique.values()))

    def __iter__(self) -> Iterator[Criterion]:
        return iter(self.criteria)

    def __len__(self) -> int:
        return len(self.criteria)

    def __str__(self) -> str:
        return "; ".join(map(str, self.criteria)) or "∅"

    @cached_property
    def common(self) -> CriteriaSet:
        """The common list: what holds where no list of a category does."""
        if not self.names:
            return self
        return CriteriaSet(tuple(criterion for criterion in self.criteria if not criterion.only_for))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The categories and topics with a list of their own, in the order of its first criterion."""
        return tuple(dict.fromkeys(name for criterion in self.criteria for name in criterion.only_for))

    @cached_property
    def lists(self) -> dict[tuple[str, ...], CriteriaSet]:
        """The criteria by what they are for, the common list first, also where it is empty."""
        by_names: dict[tuple[str, ...], list[Criterion]] = {(): []}
        for criterion in self.criteria:
            by_names.setdefault(criterion.only_for, []).append(criterion)
        return {names: CriteriaSet(tuple(found)) for names, found in by_names.items()}

    def with_list(self, names: tuple[str, ...], criteria: CriteriaSet) -> CriteriaSet:
        """Return the set with other criteria, whatever they are for now, as what is for some categories."""
        lists = self.lists | {names: criteria}
        return CriteriaSet(
            tuple(replace(each, only_for=key) for key, found in lists.items() for each in found)
        )

    def of_name(self, name: str) -> CriteriaSet:
        """Return the list of a category or topic as its criteria were written; none if it has no own one."""
        return CriteriaSet(tuple(criterion for criterion in self.criteria if name in criterion.only_for))

    def for_query(self, topic: str, category: str) -> CriteriaSet:
        """Return what a judge is asked by: the list of the query's topic, else its category's, else the
        common one."""
        name = next((name for name in (topic, category) if name in self.names), None)
        found = self.common if name is None else self.of_name(name)
        return CriteriaSet(tuple(criterion.everywhere for criterion in found))

    @cached_property
    def key(self) -> str:
        """SHA-256, in hex, of the criteria in a canonical order: equal wishes have equal keys."""
        canonical = json.dumps([criterion.to_json() for criterion in sorted(self.criteria)])
        return hashlib.sha256(canonical.encode()).hexdigest()

    @classmethod
    def from_lines(cls, text: str) -> CriteriaSet:
        """Read a text box: one criterion a line; blank lines and bare list markers are skipped."""
        lines = (_LIST_MARKER.sub("", normalise(line)) for line in text.splitlines())
        return cls(tuple(Criterion.parse(line) for line in lines if line))

    @classmethod
    def from_json(cls, values: object) -> CriteriaSet:
        """Read a JSON list of criteria, each a text or an object."""
        if not isinstance(values, list):
            raise CriterionError("The criteria are not a list: give a list of texts or objects.")
        return cls(tuple(Criterion.from_json(value) for value in values))

    @classmethod
    def of(cls, wanted: Iterable[str] = (), avoided: Iterable[str] = ()) -> CriteriaSet:
        """Return the set of essential criteria with these texts."""
        return cls(
            tuple(Criterion.parse(text) for text in wanted)
            + tuple(Criterion(Criterion.parse(text).text, polarity=Polarity.AVOID) for text in avoided)
        )


def _names(names: Iterable[str], text: str) -> tuple[str, ...]:
    """Return the names of categories sorted; a CriterionError if one is empty or long, or there are many."""
    found = tuple(sorted({normalise(name) for name in names}))
    if len(found) > MAX_NAMES or not all(0 < len(name) <= MAX_NAME for name in found):
        raise CriterionError(
            f"“{text[:40]}” is for a category without a name, one with more than {MAX_NAME} characters, or "
            f"more than {MAX_NAMES} of them: name the categories as the list of topics does."
        )
    return found


def normalise(text: str) -> str:
    """Unicode NFC with control characters dropped and runs of white space made one space."""
    printable = "".join(
        " " if character.isspace() else character
        for character in text
        if character.isspace()
        or (unicodedata.category(character) not in ("Cc", "Cs", "Co", "Cn") and character not in REORDERING)
    )
    # Composed last: a dropped character may have stood between a letter and its accent.
    return " ".join(unicodedata.normalize("NFC", printable).split())


def _member(choices: type[Choice], value: object, what: str) -> Choice:
    for choice in choices:
        if isinstance(value, str) and value.casefold() == choice.value.casefold():
            return choice
    names = ", ".join(choice.value for choice in choices)
    raise CriterionError(f"The {what} {value!r} is unknown: choose one of {names}.")


POPULAR_FILE = BUNDLED.parent / "criteria" / "popular.toml"
POPULAR = "popular"
"""The name of the bundled list on command lines."""

_TABLE = "criteria_set"
_KEYS = frozenset({"label", "criteria"})


@dataclass(frozen=True)
class LabelledCriteria:
    """A criteria set, at least one criterion, under a short label."""

    label: str
    criteria: CriteriaSet


@cache
def popular_criteria() -> tuple[LabelledCriteria, ...]:
    """Return the bundled list of popular criteria sets, the most popular first."""
    return read_criteria_list(POPULAR_FILE)


def criteria_list(name: str) -> tuple[LabelledCriteria, ...]:
    """Return the list that a command line names: ``popular``, or the path of a file.

    Raises CriterionError: as ``read_criteria_list``.
    """
    return popular_criteria() if name == POPULAR else read_criteria_list(Path(name))


def read_criteria_list(path: Path) -> tuple[LabelledCriteria, ...]:
    """Return the labelled criteria sets of a file in its order; labels and sets are distinct.

    Raises:
        CriterionError: the file cannot be read, is of another kind, or one of its sets is malformed.
    """
    readers = {".toml": _toml, ".jsonl": _json_lines}
    if path.suffix not in readers:
        raise CriterionError(
            f"{path} is no list of criteria: give “{POPULAR}”, or a file that ends in .toml or .jsonl."
        )
    try:
        text = read_bytes(path).decode()
    except OSError as error:
        raise CriterionError(
            f"The list of criteria {path} cannot be read ({error.strerror}): check its path."
        ) from error
    except UnicodeDecodeError as error:
        raise CriterionError(f"{path} is not UTF-8 text: save it as such.") from error
    found = tuple(_labelled(place, value) for place, value in readers[path.suffix](path, text))
    if not found:
        raise CriterionError(f"{path} lists no criteria: add a set with a label and criteria.")
    _check_distinct(path, found)
    return found


def _toml(path: Path, text: str) -> Iterator[tuple[str, object]]:
    try:
        tables = read_toml(text)
    except ParseError as error:
        raise CriterionError(f"{path} is not valid TOML: {error}.") from error
    values = tables.pop(_TABLE, [])
    if tables or not isinstance(values, list):
        raise CriterionError(f"{path}: write [[{_TABLE}]] above each label with its criteria.")
    for number, value in enumerate(values, start=1):
        yield f"{path}, set {number}", value


def _json_lines(path: Path, text: str) -> Iterator[tuple[str, object]]:
    # Only "\n" ends a line: str.splitlines would also cut inside JSON texts.
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            place = f"{path}, line {number}"
            try:
                yield place, read_json(line)
            except ParseError as error:
                raise CriterionError(f"{place} is not valid JSON: {error}.") from error


def _labelled(place: str, value: object) -> LabelledCriteria:
    if not isinstance(value, Mapping) or value.keys() != _KEYS:
        raise CriterionError(f"{place}: give it a “label” and “criteria”, and nothing else.")
    label = normalise(value["label"]) if isinstance(value["label"], str) else ""
    if not label:
        raise CriterionError(f"{place}: the label is empty or no text.")
    try:
        criteria = CriteriaSet.from_json(value["criteria"])
    except CriterionError as error:
        raise CriterionError(f"{place}: {error}") from error
    if not criteria:
        raise CriterionError(f"{place}: {label!r} has no criterion; add one.")
    return LabelledCriteria(label, criteria)


def _check_distinct(path: Path, found: tuple[LabelledCriteria, ...]) -> None:
    labels: set[str] = set()
    keys: dict[str, str] = {}
    for item in found:
        if item.label in labels:
            raise CriterionError(f"{path}: the label {item.label!r} occurs twice; rename one.")
        if item.criteria.key in keys:
            earlier = keys[item.criteria.key]
            raise CriterionError(f"{path}: {earlier!r} and {item.label!r} are the same criteria; remove one.")
        labels.add(item.label)
        keys[item.criteria.key] = item.label
