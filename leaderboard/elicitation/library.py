"""The library of criteria that a person's choices are explained by."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from crm.criteria import Criterion
from crm.errors import CriterionError
from crm.paths import BUNDLED
from parsing.documents import read_toml

LIBRARY_FILE = BUNDLED.parent / "criteria" / "library.toml"
_KEYS = {"label", "text", "theme"}


@dataclass(frozen=True)
class LibraryCriterion:
    """One criterion of the library, its label short for narrow places and its theme as a heading."""

    label: str
    criterion: Criterion
    theme: str


@cache
def criterion_library() -> tuple[LibraryCriterion, ...]:
    """Return the bundled library."""
    return read_library(LIBRARY_FILE)


def read_library(path: Path) -> tuple[LibraryCriterion, ...]:
    """Read a library's criteria in their order; a CriterionError if one is malformed or there twice."""
    try:
        tables = read_toml(path.read_bytes())
    except (OSError, ValueError) as error:
        raise CriterionError(f"The library {path} cannot be read: {error}.") from error
    entries = tables.get("criterion")
    if not isinstance(entries, list) or not entries:
        raise CriterionError(f"{path} lists no criteria: write [[criterion]] above each.")
    library = tuple(_entry(path, number, entry) for number, entry in enumerate(entries, start=1))
    for what, values in (
        ("label", [item.label for item in library]),
        ("text", [item.criterion.text for item in library]),
    ):
        if twice := next((value for value in values if values.count(value) > 1), None):
            raise CriterionError(f"{path}: the {what} {twice!r} occurs twice; change one.")
    return library


def _entry(path: Path, number: int, entry: object) -> LibraryCriterion:
    place = f"{path}, criterion {number}"
    if not isinstance(entry, dict) or entry.keys() != _KEYS:
        raise CriterionError(f"{place}: give it a label, a text and a theme, and nothing else.")
    if not all(isinstance(value, str) and value.strip() for value in entry.values()):
        raise CriterionError(f"{place}: label, text and theme are texts and not empty.")
    try:
        return LibraryCriterion(entry["label"], Criterion(entry["text"]), entry["theme"])
    except CriterionError as error:
        raise CriterionError(f"{place}: {error}") from error
