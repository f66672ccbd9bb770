"""LMArena's human preference data: Parquet files of one vote a row, larger than memory perhaps.

Both schemas are read: that of the set of 100,000 votes, and the later one of 140,000, which writes languages
as codes and each message as a list of parts. One file is of one schema; files may differ.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from db.records import StepCount
from db.source_records import Message, PreferenceRecord, Winner
from parsing.documents import read_json
from parsing.limits import ParseError
from parsing.parquet import open_parquet
from precompute.errors import file_error
from precompute.importers import base
from precompute.importers.base import ASSISTANT, conversation_of

Progress = Callable[[int, int], None]

BOTH_BAD = ("tie (bothbad)", "both_bad")
CRITERIA_TAGS = "criteria_v0.1"
ROWS_AT_A_TIME = 64

_WINNERS = {"model_a": Winner.A, "model_b": Winner.B, "tie": Winner.TIE} | dict.fromkeys(BOTH_BAD, Winner.TIE)


def count_preferences(
    paths: Sequence[Path], chosen: PreferenceFilter, progress: Progress | None = None
) -> tuple[StepCount, ...]:
    """Read and checks the files whole, and returns how many rows each step of the filter left.

    Of a row that the filter drops only what the filter looks at is checked.

    Raises:
        PrecomputeError: a file or row is malformed, or a kept row has the id of one before.
    """
    counter = StepCounter(chosen)
    seen: set[str] = set()
    for row in _kept_rows(paths, chosen, counter, progress):
        record = row.preference()
        if record.external_id in seen:
            reason = f"the {id_column(row.cells)} {record.external_id!r} occurs before."
            raise file_error(row.path, reason, row.number)
        seen.add(record.external_id)
    return counter.counts


def read_preferences(
    paths: Sequence[Path], chosen: PreferenceFilter, *, start: int = 0, progress: Progress | None = None
) -> Iterator[PreferenceRecord]:
    """Yield the preferences that the filter keeps, whole conversations, holding few rows at a time.

    Args:
        start: how many of the kept rows to pass over.

    Raises:
        PrecomputeError: a file or row is malformed.
    """
    kept = _kept_rows(paths, chosen, StepCounter(chosen), progress)
    return (row.preference() for place, row in enumerate(kept) if place >= start)


@dataclass(frozen=True, slots=True)
class _Row:
    """A row whose conversations are not read yet, and what the filter looks at in it."""

    path: Path
    number: int
    cells: Mapping[str, Any]
    judgement: FilteredFields
    winner: Winner

    def preference(self) -> PreferenceRecord:
        """Return the whole row. Raises PrecomputeError: a name or conversation is malformed."""
        names = (id_column(self.cells), MODEL_A, MODEL_B)
        texts = _values(self.path, self.number, self.cells, (*names, *CONVERSATIONS))
        external_id, llm_a, llm_b = (base.name_of(self.path, self.number, texts, column) for column in names)
        conversation_a, conversation_b = (self._conversation(texts, side) for side in CONVERSATIONS)
        return PreferenceRecord(
            external_id=external_id,
            conversation_a=conversation_a,
            conversation_b=conversation_b,
            llm_a=llm_a,
            llm_b=llm_b,
            winner=self.winner,
            language=self.judgement.language,
            tags={**self.judgement.tags, "both_bad": self.judgement.both_bad},
        )

    def _conversation(self, texts: Mapping[str, Any], column: str) -> tuple[Message, ...]:
        conversation = conversation_of(self.path, self.number, texts, column)
        if conversation[-1].role != ASSISTANT:
            raise file_error(self.path, f"{column!r} does not end with a response.", self.number)
        return conversation


def _kept_rows(
    paths: Sequence[Path], chosen: PreferenceFilter, counter: StepCounter, progress: Progress | None
) -> Iterator[_Row]:
    with_criteria = not chosen.all_criteria
    n_rows, n_read = check_schemas(paths, with_criteria=with_criteria), 0
    for path in paths:
        for number, cells in _rows(path):
            row = _judged(path, number, cells, with_criteria)
            if counter.keeps(row.judgement):
                yield row
            n_read += 1
            if progress is not None and (n_read % ROWS_AT_A_TIME == 0 or n_read == n_rows):
                progress(n_read, n_rows)


def _rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the number of each row, from 1, and its cells, not yet made into Python values."""
    number = 0
    try:
        with open_parquet(path) as table:
            names = columns_read(table.names)
            for batch in table.batches(names, ROWS_AT_A_TIME):
                for cells in zip(*(batch.column(name) for name in names), strict=True):
                    number += 1
                    yield number, dict(zip(names, cells, strict=True))
    except (ParseError, OSError) as error:
        raise file_error(path, f"it cannot be read on after row {number} ({error}).") from error


def _values(path: Path, number: int, cells: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    try:
        return {name: cells[name].as_py() for name in names if name in cells}
    except UnicodeDecodeError:
        raise file_error(path, "these bytes are not UTF-8.", number) from None


def _judged(path: Path, number: int, cells: Mapping[str, Any], with_criteria: bool) -> _Row:
    names = (WINNER, LANGUAGE, CATEGORY_TAG, IS_CODE)
    values = _values(path, number, cells, names)
    winner = base.text_of(path, number, values, WINNER)
    if winner not in _WINNERS:
        known = ", ".join(map(repr, _WINNERS))
        raise file_error(path, f"'{WINNER}' is {winner!r}, not one of {known}.", number)
    judgement = FilteredFields(
        language=language_name(base.name_of(path, number, values, LANGUAGE)),
        both_bad=winner in BOTH_BAD,
        tags=_tags(path, number, values, with_criteria),
    )
    return _Row(path, number, cells, judgement, _WINNERS[winner])


def _tags(path: Path, number: int, values: Mapping[str, Any], with_criteria: bool) -> dict[str, bool]:
    groups = values.get(CATEGORY_TAG)
    if isinstance(groups, str):
        try:
            groups = read_json(groups)
        except ParseError as error:
            reason = f"'{CATEGORY_TAG}' is not valid JSON ({error})."
            raise file_error(path, reason, number) from error
    given = groups.get(CRITERIA_TAGS) if isinstance(groups, dict) else None
    given = given if isinstance(given, dict) else {}
    tags = {name: value for name, value in given.items() if isinstance(value, bool)}
    lacking = next((name for name in CRITERIA if name not in tags), None)
    if with_criteria and lacking is not None:
        where = f"'{CATEGORY_TAG}.{CRITERIA_TAGS}'"
        raise file_error(path, f"{where} does not say whether {lacking!r} is true or false.", number)
    if isinstance(is_code := values.get(IS_CODE), bool):
        tags[IS_CODE] = is_code
    return tags


TEXTS = ("model_a", "model_b", "winner", "language")
MODEL_A, MODEL_B, WINNER, LANGUAGE = TEXTS
QUESTION_ID, LATER_ID = IDS = ("question_id", "id")
CONVERSATION_A, CONVERSATION_B = CONVERSATIONS = ("conversation_a", "conversation_b")
CATEGORY_TAG, IS_CODE = "category_tag", "is_code"


def check_schemas(paths: Iterable[Path], *, with_criteria: bool) -> int:
    """Check the columns of every file, and returns how many rows they have together.

    Args:
        with_criteria: whether the rows must say what their queries ask for.

    Raises:
        PrecomputeError: a file is not readable, or a column is missing, twice there or of another type.
    """
    return sum(_check_schema(path, with_criteria) for path in paths)


def columns_read(names: Sequence[str]) -> list[str]:
    """Return those of a file's columns that the importer reads."""
    read = {id_column(names), *TEXTS, *CONVERSATIONS, CATEGORY_TAG, IS_CODE}
    return [name for name in names if name in read]


def id_column(names: Container[str]) -> str:
    """Return the column with the id of a vote, of the two that there may be."""
    return LATER_ID if LATER_ID in names and QUESTION_ID not in names else QUESTION_ID


def _check_schema(path: Path, with_criteria: bool) -> int:
    try:
        with open_parquet(path) as table:
            schema, n_rows = table.schema, table.n_rows
    except FileNotFoundError:
        raise file_error(path, "there is no such file.") from None
    except (ParseError, OSError) as error:
        raise file_error(path, f"this is not a readable Parquet file ({error}).") from error
    texts = (id_column(schema.names), *TEXTS)
    required = [*texts, *CONVERSATIONS, *([CATEGORY_TAG] if with_criteria else [])]
    missing = [name for name in required if name not in schema.names]
    if missing:
        raise file_error(path, f"the column {missing[0]!r} is missing; there are {_listed(schema)}.")
    twice = next((name for name, count in Counter(schema.names).items() if count > 1), None)
    if twice is not None:
        raise file_error(path, f"the column {twice!r} occurs twice.")
    for name in texts:
        _check_type(path, schema, name, _is_text, "texts")
    for name in CONVERSATIONS:
        _check_type(path, schema, name, _is_conversation, "lists of {role, content}")
    if CATEGORY_TAG in schema.names:
        _check_type(path, schema, CATEGORY_TAG, _is_structured, "tags by version")
    return n_rows


def _check_type(
    path: Path, schema: pa.Schema, name: str, fits: Callable[[pa.DataType], bool], wanted: str
) -> None:
    kind = schema.field(name).type
    if not fits(kind):
        raise file_error(path, f"the column {name!r} holds {kind}, not {wanted}.")


def _is_text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _is_structured(kind: pa.DataType) -> bool:
    # Some copies of the data hold their nested columns as JSON.
    return bool(pa.types.is_struct(kind)) or _is_text(kind)


def _is_conversation(kind: pa.DataType) -> bool:
    listed = pa.types.is_list(kind) or pa.types.is_large_list(kind)
    return bool(listed and pa.types.is_struct(kind.value_type)) or _is_text(kind)


def _listed(schema: pa.Schema) -> str:
    return ", ".join(map(repr, schema.names)) or "none"


ENGLISH = "English"

_LANGUAGES = {
    "ar": "Arabic",
    "bg": "Bulgarian",
    "ca": "Catalan",
    "cs": "Czech",
    "da": "Danish",
    "de": "German",
    "el": "Greek",
    "en": ENGLISH,
    "es": "Spanish",
    "et": "Estonian",
    "fa": "Persian",
    "fi": "Finnish",
    "fr": "French",
    "he": "Hebrew",
    "hi": "Hindi",
    "hr": "Croatian",
    "hu": "Hungarian",
    "id": "Indonesian",
    "it": "Italian",
    "ja": "Japanese",
    "ko": "Korean",
    "lt": "Lithuanian",
    "nl": "Dutch",
    "no": "Norwegian",
    "pl": "Polish",
    "pt": "Portuguese",
    "ro": "Romanian",
    "ru": "Russian",
    "sk": "Slovak",
    "sl": "Slovenian",
    "sr": "Serbian",
    "sv": "Swedish",
    "th": "Thai",
    "tr": "Turkish",
    "uk": "Ukrainian",
    "und": "unknown",
    "vi": "Vietnamese",
    "zh": "Chinese",
}
"""What the earlier set calls the languages of which the later one has the code."""


def language_name(language: str) -> str:
    """Return the name of a language that is given as a code; any other text is kept as it is."""
    return _LANGUAGES.get(language.casefold(), language)


@dataclass(frozen=True, slots=True)
class FilteredFields:
    """What the filter looks at in a row.

    `tags` is empty where the file has none; the criteria step needs `CRITERIA`.
    """

    language: str
    both_bad: bool
    tags: Mapping[str, bool]


CREATIVITY, REAL_WORLD, TECHNICAL_ACCURACY = CRITERIA = ("creativity", "real_world", "technical_accuracy")


@dataclass(frozen=True, slots=True)
class PreferenceFilter:
    """The filter of Jia et al. 2025 (arXiv 2508.09463, section 3), each step of which may be switched.

    Attributes:
        language: Rows of this language are kept, a name in any case or a code; None: of every language.
        keep_both_bad: Whether rows are kept whose user found both responses bad.
        all_criteria: Whether rows are kept whatever their queries ask for; by default only those that ask for
            creativity or are real-world, and do not ask for technical accuracy.
    """

    language: str | None = ENGLISH
    keep_both_bad: bool = False
    all_criteria: bool = False

    def settings(self) -> dict[str, object]:
        """Return what is stored beside the rows that the filter kept."""
        return asdict(self)

    def steps(self) -> dict[str, Callable[[FilteredFields], bool]]:
        """Return the steps that are on, by what they keep, in order."""
        steps: dict[str, Callable[[FilteredFields], bool]] = {}
        if (language := self.language) is not None:
            wanted = language_name(language).casefold()
            steps[f"language is {language}"] = lambda row: row.language.casefold() == wanted
        if not self.keep_both_bad:
            steps["not “tie (bothbad)”"] = lambda row: not row.both_bad
        if not self.all_criteria:
            steps["creativity or real-world, without technical accuracy"] = _subjective
        return steps


class StepCounter:
    """Applies a filter to one row after another, and counts what each step left."""

    def __init__(self, chosen: PreferenceFilter) -> None:
        self._steps = chosen.steps()
        self._kept = dict.fromkeys(("rows", *self._steps), 0)

    @property
    def counts(self) -> tuple[StepCount, ...]:
        """How many rows there were, and how many each step left."""
        return tuple(StepCount(step, kept) for step, kept in self._kept.items())

    def keeps(self, row: FilteredFields) -> bool:
        """Return whether the filter keeps the row; the first step that does not ends its way."""
        self._kept["rows"] += 1
        for step, keeps in self._steps.items():
            if not keeps(row):
                return False
            self._kept[step] += 1
        return True


def _subjective(row: FilteredFields) -> bool:
    return (row.tags[CREATIVITY] or row.tags[REAL_WORLD]) and not row.tags[TECHNICAL_ACCURACY]
