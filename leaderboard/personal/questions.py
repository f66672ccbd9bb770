"""The interview's questions: fixed wording, each option standing for criteria of the library."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from crm.errors import CriteriaListError
from crm.paths import BUNDLED
from crm.protocol import Floats
from leaderboard.personal.library import LibraryCriterion, criterion_library

QUESTIONS_FILE = BUNDLED.parent / "interview.toml"
NO_PREFERENCE = "No preference"
_SIGNS = {"+": 1.0, "-": -1.0}


@dataclass(frozen=True, eq=False)
class Question:
    """A question with its options, the last of which is “No preference”.

    Attributes:
        text: The question.
        options: O texts.
        weights: Signed weights that each option stands for, zeros for no preference ``[O, K]``.
    """

    text: str
    options: tuple[str, ...]
    weights: Floats


@cache
def interview_questions() -> tuple[Question, ...]:
    """The bundled questions."""
    return read_questions(QUESTIONS_FILE, criterion_library())


def read_questions(path: Path, library: Sequence[LibraryCriterion]) -> tuple[Question, ...]:
    """The questions of a file in its order.

    Raises:
        CriteriaListError: The file cannot be read, or a question is malformed or names an unknown criterion.
    """
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CriteriaListError(f"The questions {path} cannot be read: {error}.") from error
    place_of = {item.label: place for place, item in enumerate(library)}
    questions = tables.get("question")
    if not isinstance(questions, list) or not questions:
        raise CriteriaListError(f"{path} has no questions: write [[question]] above each.")
    return tuple(
        _question(f"{path}, question {number}", table, place_of)
        for number, table in enumerate(questions, start=1)
    )


def _question(place: str, table: object, place_of: Mapping[str, int]) -> Question:
    text, options = _named(table, "option")
    if text is None or not options:
        raise CriteriaListError(f"{place}: give it a text and at least one [[question.option]].")
    weights = np.zeros((len(options) + 1, len(place_of)), dtype=np.float32)
    texts = []
    for row, option in enumerate(options):
        wish, names = _named(option, "criteria")
        if wish is None or not names:
            raise CriteriaListError(f"{place}: each option has a text and criteria.")
        texts.append(wish)
        for name in names:
            if not isinstance(name, str) or name[:1] not in _SIGNS or name[1:] not in place_of:
                raise CriteriaListError(f"{place}: {name!r} is no label of the library after “+” or “-”.")
            weights[row, place_of[name[1:]]] = _SIGNS[name[:1]]
    return Question(text, (*texts, NO_PREFERENCE), weights)


def _named(table: object, key: str) -> tuple[str | None, list[object]]:
    """The text of a table and the list under a key; None and an empty list where they are not such."""
    if not isinstance(table, dict):
        return None, []
    text, values = table.get("text"), table.get(key)
    return (text if isinstance(text, str) else None), (values if isinstance(values, list) else [])
