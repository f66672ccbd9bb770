"""Writes the figures of the catalogue of LLMs: prices, context windows, human ratings, licences, win rates.

Prices and context windows come with the package genai-prices, human ratings from LMArena's published tables
(``text.json``), and so does what it says of organisation and licence (``models.json``). Which entry there
belongs to which LLM stands in ``bundled/llms/facts.toml``, written by hand; nothing is matched by likeness.
Win rates are those of AlpacaEval's own leaderboard, of the LLMs that are called so in its benchmark.
"""

from __future__ import annotations

import io
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from genai_prices.data import providers
from genai_prices.types import ModelInfo, ModelPrice, Provider, StartDateConstraint, TieredPrices

from leaderboard.llm_facts.catalogue import (
    OVERALL,
    Catalogue,
    Fact,
    HumanRatings,
    LLMFacts,
    Price,
    Rating,
)
from parsing.documents import read_json
from parsing.files import read_bytes
from parsing.limits import ParseError
from parsing.tables import csv_rows
from precompute.errors import PrecomputeError, file_error

PACKAGE = "genai-prices"
RATINGS_FILE = "text.json"
MODELS_FILE = "models.json"
ALPACA_EVAL = "alpaca-eval"
"""Slug of the benchmark whose names of LLMs AlpacaEval's leaderboard has."""
_WIN_RATE = "length_controlled_winrate"
ARENA = "LMArena"
CLOSED = "Proprietary"
_LICENCES = {
    "Propretary": CLOSED,
    "Gemma license": "Gemma",
    "Llama 4": "Llama 4 Community",
    "DeepSeek": "DeepSeek License",
    "Qwen": "Qwen License",
}
"""Spellings in LMArena's file, and what the catalogue writes."""
_ORGANISATIONS = {"Moonshot": "Moonshot AI", "01 AI": "01.AI"}
_SHOWN = {
    "organisation": "organisation",
    "released": "release date",
    "licence": "licence",
    "parameters": "parameters of those with open weights",
    "context": "context window",
    "price": "price",
    "ratings": "human rating",
    "alpaca_eval": "win rate at AlpacaEval",
}


@dataclass(frozen=True)
class ArenaTables:
    """LMArena's published tables.

    Attributes:
        ratings: By category and name: rating and the ends of its 95 % interval.
        models: Entries of ``models.json`` by name.
        date: As of when.
    """

    ratings: Mapping[str, Mapping[str, Rating]]
    models: Mapping[str, Mapping[str, str]]
    date: str


def read_arena_tables(folder: Path, as_of: str) -> ArenaTables:
    """Read ``text.json`` and ``models.json`` of a folder.

    Raises:
        PrecomputeError: A file is missing or is not what LMArena publishes.
    """
    ratings = _json(folder / RATINGS_FILE)
    models = _json(folder / MODELS_FILE)
    try:
        by_category = {
            category: {
                llm: Rating(float(row["rating"]), float(row["rating_q025"]), float(row["rating_q975"]))
                for llm, row in rows.items()
            }
            for category, rows in ratings.items()
        }
    except (AttributeError, KeyError, TypeError, ValueError):
        reason = "it must hold {category: {llm: {rating, rating_q025, rating_q975}}}, as LMArena publishes it"
        raise file_error(folder / RATINGS_FILE, reason) from None
    if OVERALL not in by_category:
        raise file_error(folder / RATINGS_FILE, f"it lacks the category {OVERALL!r}, which is of all votes")
    if not isinstance(models, list) or not all(isinstance(row, dict) for row in models):
        raise file_error(folder / MODELS_FILE, "it must hold a list of models, as LMArena publishes it")
    return ArenaTables(by_category, {row.get("model_api_name", ""): row for row in models}, as_of)


def _json(path: Path) -> Any:
    if not path.is_file():
        raise file_error(path, f"there is no such file: name the folder that holds {RATINGS_FILE}")
    try:
        return read_json(read_bytes(path))
    except ParseError:
        raise file_error(path, "it is not valid JSON: download it again") from None


@dataclass(frozen=True)
class OfficialWinRates:
    """AlpacaEval's published leaderboard.

    Attributes:
        percent: Length-controlled win rates by LLM.
        date: As of when.
    """

    percent: Mapping[str, float]
    date: str


def read_alpaca_eval(file: Path, as_of: str) -> OfficialWinRates:
    """Read ``leaderboard_alpaca_eval_2.csv`` as AlpacaEval publishes it: names in its first column.

    Raises:
        PrecomputeError: The file is missing or is not what AlpacaEval publishes.
    """
    try:
        rows = list(csv_rows(io.StringIO(read_bytes(file).decode("utf-8"), newline="")))
        column = rows[0].index(_WIN_RATE)
        return OfficialWinRates({row[0]: float(row[column]) for row in rows[1:] if row}, as_of)
    except OSError:
        raise file_error(file, "it cannot be read: check the path") from None
    except (IndexError, ValueError, ParseError):
        reason = f"it must hold LLMs in the first column and a column {_WIN_RATE}, as AlpacaEval publishes it"
        raise file_error(file, reason) from None


def refreshed(
    by_hand: Catalogue,
    arena: ArenaTables | None,
    before: Catalogue,
    today: date | None = None,
    official: OfficialWinRates | None = None,
) -> list[LLMFacts]:
    """Return the figures of every LLM that there are any of, in the order of the hand-kept catalogue.

    Args:
        by_hand: Which LLMs there are, and what they are called elsewhere.
        arena: Where ratings and licences come from; None keeps those of ``before``.
        before: The figures so far.
        today: Prices that are announced for later are left out.
        official: Where win rates come from; None keeps those of ``before``.

    Raises:
        PrecomputeError: An LLM has a name at genai-prices that is not there.
    """
    now = today or datetime.now(UTC).date()
    as_of = prices_date(now)
    win_rates = _by_llm(by_hand, official)
    rows = []
    for llm in by_hand:
        facts: dict[str, Any] = {}
        if llm.priced_as and not llm.variant_of:
            facts |= _price_facts(llm, as_of)
        old = before.llms.get(llm.name)
        if arena is not None:
            facts |= _arena_facts(llm, arena)
        elif old is not None:
            kept = ("organisation", "open_weights", "licence", "ratings")
            facts |= {key: getattr(old, key) for key in kept if not (llm.variant_of and key != "ratings")}
        if official is not None:
            facts["alpaca_eval"] = win_rates.get(llm.name)
        elif old is not None:
            facts["alpaca_eval"] = old.alpaca_eval
        found = {key: value for key, value in facts.items() if value is not None}
        if found:
            rows.append(LLMFacts(llm.name, llm.name, **found))
    return rows


def _by_llm(by_hand: Catalogue, official: OfficialWinRates | None) -> dict[str, Fact[float]]:
    """Return the win rates of the catalogue's LLMs by their names there."""
    if official is None:
        return {}
    source = "AlpacaEval 2, length-controlled"
    named = ((by_hand.find(name, ALPACA_EVAL), percent) for name, percent in official.percent.items())
    return {
        llm.name: Fact(round(percent, 1), source, official.date) for llm, percent in named if llm is not None
    }


def prices_source(today: date | None = None) -> str:
    """“genai-prices 0.2.3 as of 2026-11-09”."""
    return f"{PACKAGE} {version(PACKAGE)} as of {prices_date(today or datetime.now(UTC).date())}"


def prices_date(today: date) -> date:
    """Return the day of the newest price of the package that is not announced for later."""
    starts = [
        conditional.constraint.start_date
        for provider in providers
        for model in provider.models
        if isinstance(model.prices, list)
        for conditional in model.prices
        if isinstance(conditional.constraint, StartDateConstraint)
    ]
    return max(start for start in starts if start <= today)


def _price_facts(llm: LLMFacts, as_of: date) -> dict[str, Any]:
    provider, model = _priced_model(llm)
    source, day = f"{PACKAGE} {version(PACKAGE)}, {provider.name}", as_of.isoformat()
    prices = model.get_prices(datetime(as_of.year, as_of.month, as_of.day, 12, tzinfo=UTC))
    context = model.context_window
    price = _price(prices, deprecated=bool(model.deprecated))
    return {
        "price": None if price is None else Fact(price, source, day),
        "context": None if context is None else Fact(context, source, day),
    }


def _priced_model(llm: LLMFacts) -> tuple[Provider, ModelInfo]:
    provider_id, _, model_id = llm.priced_as.partition(":")
    provider = next((each for each in providers if each.id == provider_id), None)
    models = () if provider is None else provider.models
    model = next((each for each in models if each.id == model_id), None)
    if provider is None or model is None:
        missing = f"model {model_id!r} of {provider_id!r}" if provider else f"provider {provider_id!r}"
        raise PrecomputeError(
            f"{PACKAGE} {version(PACKAGE)} has no {missing}, which the LLM {llm.name!r} is priced as: "
            "correct its 'priced_as' or take it out."
        )
    return provider, model


def _price(prices: ModelPrice, *, deprecated: bool) -> Price | None:
    """What is given away for nothing for the moment has no price here."""
    tiers = [each.tiers for each in (prices.input_mtok, prices.output_mtok) if isinstance(each, TieredPrices)]
    read, written = (
        each.base if isinstance(each, TieredPrices) else each
        for each in (prices.input_mtok, prices.output_mtok)
    )
    if not read or not written:
        return None
    up_to = min((steps[0].start for steps in tiers if steps), default=None)
    return Price(float(read), float(written), up_to, deprecated)


def _arena_facts(llm: LLMFacts, arena: ArenaTables) -> dict[str, Any]:
    rated = {
        category: _rounded(rows[llm.arena]) for category, rows in arena.ratings.items() if llm.arena in rows
    }
    ratings = HumanRatings(llm.arena, llm.arena_differs, rated) if OVERALL in rated else None
    facts: dict[str, Any] = {"ratings": Fact(ratings, ARENA, arena.date) if ratings else None}
    entry = arena.models.get(llm.arena)
    if entry is None or llm.variant_of:
        return facts
    source = f"{ARENA}, {MODELS_FILE}"
    organisation = entry.get("organization", "")
    licence = _licence_of(entry)
    if organisation:
        facts["organisation"] = Fact(_ORGANISATIONS.get(organisation, organisation), source, arena.date)
    if licence:
        facts["licence"] = Fact(licence, source, arena.date)
        facts["open_weights"] = Fact(licence != CLOSED, source, arena.date)
    return facts


def _licence_of(entry: Mapping[str, str]) -> str:
    given = entry.get("license", "")
    return _LICENCES.get(given, given)


def _rounded(rating: Rating) -> Rating:
    return Rating(round(rating.rating, 1), round(rating.low, 1), round(rating.high, 1))


_HEAD = """\
# Figures of LLMs, written by “python -m precompute llm-facts”. To correct them, write into facts.toml.
# Prices are US dollars for a million tokens, ratings Elo points with the ends of their 95 % interval.
"""


def figures_text(rows: Iterable[LLMFacts]) -> str:
    """Return the figures in the form of the catalogue's files."""
    return _HEAD + "".join(f"\n{_table(row)}" for row in rows)


def _table(row: LLMFacts) -> str:
    lines = [f"[{json.dumps(row.name)}]"]
    for key in ("organisation", "open_weights", "licence", "context"):
        fact = getattr(row, key)
        if fact is not None:
            lines.append(f"{key} = {{ value = {_scalar(fact.value)}, {_origin(fact)} }}")
    if row.price is not None:
        price = row.price.value
        parts = [f"input = {_scalar(price.input)}", f"output = {_scalar(price.output)}"]
        parts += [] if price.up_to is None else [f"up_to = {price.up_to}"]
        parts += ["deprecated = true"] if price.deprecated else []
        lines.append(f"price = {{ {', '.join(parts)}, {_origin(row.price)} }}")
    if row.alpaca_eval is not None:
        figure = row.alpaca_eval
        lines.append(f"alpaca_eval = {{ value = {_scalar(figure.value)}, {_origin(figure)} }}")
    if row.ratings is not None:
        rated = row.ratings.value
        lines += [f"[{json.dumps(row.name)}.ratings]", f"rated_as = {_scalar(rated.rated_as)}"]
        lines += [f"differs = {_scalar(rated.differs)}"] if rated.differs else []
        lines += [f"source = {_scalar(row.ratings.source)}", f"date = {_scalar(row.ratings.date)}"]
        lines.append(f"[{json.dumps(row.name)}.ratings.by_category]")
        lines += [
            f"{category} = [{value.rating}, {value.low}, {value.high}]"
            for category, value in sorted(rated.by_category.items())
        ]
    return "\n".join(lines) + "\n"


def _origin(fact: Fact[Any]) -> str:
    return f"source = {_scalar(fact.source)}, date = {_scalar(fact.date)}"


def _scalar(value: str | float | bool) -> str:
    """JSON writes texts, numbers and truth values as TOML does."""
    if isinstance(value, float) and not math.isfinite(value):
        raise PrecomputeError(f"A figure is {value}, which is no number: correct it where it comes from.")
    return json.dumps(value, ensure_ascii=False)


def missing_lines(catalogue: Catalogue, names: Sequence[str], benchmark: str = "") -> list[str]:
    """Return in a line each how many of the LLMs that a benchmark names have a fact, and which lack it."""
    llms = {name: catalogue.facts(name, benchmark) for name in names}
    unknown = [name for name in names if catalogue.find(name, benchmark) is None]
    lines = [f"in the catalogue: {len(names) - len(unknown)} of {len(names)}{_but('not', unknown)}"]
    for key, words in _SHOWN.items():
        asked = {name: llm for name, llm in llms.items() if key != "parameters" or _is_open(llm)}
        lacking = [name for name, llm in asked.items() if getattr(llm, key) is None]
        lines.append(f"{words}: {len(asked) - len(lacking)} of {len(asked)}{_but('unknown', lacking)}")
    of_another = [name for name, llm in llms.items() if llm.ratings is not None and llm.ratings.value.differs]
    if of_another:
        lines.append(f"rated under other conditions: {', '.join(of_another)}")
    return lines


def _but(word: str, names: Sequence[str]) -> str:
    return f"; {word}: {', '.join(names)}" if names else ""


def _is_open(llm: LLMFacts) -> bool:
    return llm.open_weights is not None and llm.open_weights.value


def disagreements(by_hand: Catalogue, arena: ArenaTables) -> list[str]:
    """Return in a line each where LMArena's tables and the hand-kept facts do not go together."""
    lines = []
    for llm in by_hand:
        if llm.arena and llm.arena not in arena.ratings[OVERALL]:
            where = f"only {MODELS_FILE} knows" if llm.arena in arena.models else "nothing there knows"
            lines.append(f"{llm.name}: no rating at LMArena, where {where} {llm.arena!r}")
        entry = arena.models.get(llm.arena) if llm.arena and not llm.variant_of else None
        if entry is None:
            continue
        organisation = _ORGANISATIONS.get(entry.get("organization", ""), entry.get("organization", ""))
        said = {"organisation": organisation, "licence": _licence_of(entry)}
        for key, theirs in said.items():
            ours: Fact[str] | None = getattr(llm, key)
            if ours is not None and theirs and ours.value != theirs:
                lines.append(f"{llm.name}: {key} {ours.value!r} here, {theirs!r} in LMArena's {MODELS_FILE}")
    return lines
