"""The catalogue's files: TOML, a table for each LLM, one file over the other (docs/llm-facts.md).

``bundled/llms/figures.toml`` is written by ``python -m precompute llm-facts``; ``facts.toml`` beside it is
kept by hand and goes before it, and a file of a person's own goes before both. All are of the same form.
"""

from __future__ import annotations

import datetime
import os
import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Generic, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from crm.config import TableKind, read_settings, read_tables, table_error
from crm.errors import ConfigError
from crm.paths import HOME
from leaderboard.errors import LeaderboardError
from leaderboard.llm_facts.catalogue import FACTS, Catalogue, Fact, HumanRatings, LLMFacts, Price, Rating

BUNDLED = Path(__file__).resolve().parents[2] / "bundled" / "llms"
FACTS_FILE = BUNDLED / "facts.toml"
FIGURES_FILE = BUNDLED / "figures.toml"
VARIABLE = "USL_LLM_FACTS"
"""Environment variable that names a person's own file."""
DEFAULT_FILE = HOME / "llm-facts.toml"

_KIND = TableKind("LLM", "facts of LLMs", "", f"fix the path in {VARIABLE} or unset it", frozenset(FACTS))
_DATE = re.compile(r"\d{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01]))?)?")

T = TypeVar("T")


class _Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, hide_input_in_errors=True)


def _date_text(value: object) -> object:
    """TOML has dates, but none without a day."""
    return value.isoformat() if type(value) is datetime.date else value


def checked_date(value: str) -> str:
    """Return a day, month or year as it is written; a ValueError whose message follows what is wrong."""
    if not _DATE.fullmatch(value):
        raise ValueError('is no date: write 2025-04-14, or "2025-04" if the day is not known')
    return value


def _as_table(value: object) -> object:
    """A fact without a source of its own may be written as its value alone."""
    return value if isinstance(value, dict) else {"value": value}


Date = Annotated[str, BeforeValidator(_date_text), AfterValidator(checked_date)]
Billions = Annotated[float, Field(gt=0)]
Dollars = Annotated[float, Field(ge=0)]
Tokens = Annotated[int, Field(ge=1)]
Percent = Annotated[float, Field(gt=0, lt=100)]


class _Sourced(_Table):
    source: str | None = None
    date: Date | None = None


class _Given(_Sourced, Generic[T]):
    value: T


class _PriceTable(_Sourced):
    input: Dollars
    output: Dollars
    up_to: Tokens | None = None
    deprecated: bool = False


class _RatingTable(_Sourced):
    rated_as: str
    differs: str = ""
    by_category: dict[str, Annotated[list[float], Field(min_length=3, max_length=3)]]


_Text = Annotated[_Given[str], BeforeValidator(_as_table)]
_Number = Annotated[_Given[Billions], BeforeValidator(_as_table)]


class LLMTable(_Sourced):
    """Keys of an LLM's table; ``LLMFacts`` explains them.

    Attributes:
        source: Of the facts that name none of their own.
        date: Likewise.
    """

    title: str | None = None
    aliases: tuple[str, ...] = Field(default=(), strict=False)
    note: str = ""
    variant_of: str = ""
    arena: str = ""
    arena_differs: str = ""
    priced_as: str = ""
    organisation: _Text | None = None
    released: Annotated[_Given[Date], BeforeValidator(_as_table)] | None = None
    open_weights: Annotated[_Given[bool], BeforeValidator(_as_table)] | None = None
    licence: _Text | None = None
    parameters: _Number | None = None
    active_parameters: _Number | None = None
    context: Annotated[_Given[Tokens], BeforeValidator(_as_table)] | None = None
    price: _PriceTable | None = None
    ratings: _RatingTable | None = None
    alpaca_eval: Annotated[_Given[Percent], BeforeValidator(_as_table)] | None = None


def load_catalogue(own: Path | None = None) -> Catalogue:
    """Return the bundled catalogue with a person's own facts over it.

    Args:
        own: Their file; by default what ``USL_LLM_FACTS`` names, else ``llm-facts.toml`` beside ``app.py`` if
            it is there.

    Raises:
        ConfigError: A file cannot be read or has a key that is wrong.
        LeaderboardError: Two LLMs have one name, or a variant is one of nothing.
    """
    chosen = own or own_file()
    files = (FIGURES_FILE, FACTS_FILE, *(() if chosen is None else (chosen,)))
    return _loaded(tuple((file, file.stat().st_mtime_ns if file.is_file() else 0) for file in files))


def known_catalogue() -> Catalogue:
    """Return ``load_catalogue``'s, or the bundled one alone where a person's own file is wrong."""
    try:
        return load_catalogue()
    except (ConfigError, LeaderboardError):
        return _loaded(tuple((file, file.stat().st_mtime_ns) for file in (FIGURES_FILE, FACTS_FILE)))


def own_file() -> Path | None:
    """The file of a person's own facts, None if there is none."""
    if named := os.environ.get(VARIABLE):
        return Path(named)
    return DEFAULT_FILE if DEFAULT_FILE.is_file() else None


@lru_cache(maxsize=4)
def _loaded(files: tuple[tuple[Path, int], ...]) -> Catalogue:
    return read_catalogue([file for file, _ in files])


def read_catalogue(files: Sequence[Path]) -> Catalogue:
    """Return the LLMs of several files, later ones over earlier ones; raises as ``load_catalogue``.

    A table adds to the LLM that has its name, be it as an alias.
    """
    llms: dict[str, LLMFacts] = {}
    for file in files:
        names = {name: llm.name for llm in llms.values() for name in (llm.name, *llm.aliases)}
        for name, values in read_tables(file, _KIND).items():
            table = read_settings(LLMTable, values, name=name, file=file, kind=_KIND)
            found = _facts(name, table, file)
            known = names.get(name, name)
            llms[known] = llms[known].with_more(found) if known in llms else found
    return Catalogue.of(llms.values())


def _facts(name: str, table: LLMTable, file: Path) -> LLMFacts:
    facts: dict[str, Any] = {}
    for key in FACTS:
        given: _Sourced | None = getattr(table, key)
        if given is None:
            continue
        source, date = given.source or table.source, given.date or table.date
        if not source or not date:
            missing = "source" if not source else "date"
            raise table_error(
                f"nothing says the {missing} of {key!r}: write '{missing} = …' into the LLM's table",
                name=name,
                file=file,
                kind=_KIND,
            )
        facts[key] = Fact(_value(given), source, date)
    return LLMFacts(
        name,
        table.title or name,
        table.aliases,
        table.note,
        table.variant_of,
        table.arena,
        table.arena_differs,
        table.priced_as,
        **facts,
    )


def _value(given: _Sourced) -> object:
    if isinstance(given, _PriceTable):
        return Price(given.input, given.output, given.up_to, given.deprecated)
    if isinstance(given, _RatingTable):
        ratings = {category: Rating(*numbers) for category, numbers in given.by_category.items()}
        return HumanRatings(given.rated_as, given.differs, ratings)
    assert isinstance(given, _Given)
    return given.value
