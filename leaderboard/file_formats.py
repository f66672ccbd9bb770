"""A leaderboard as a file in each of the formats that are offered, with what it is a ranking of."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from crm.criteria import Criterion, Weight
from leaderboard.every_eval_ever import evaluation_records
from leaderboard.export import ranking_csv, ranking_rows
from leaderboard.llm_facts.catalogue import LLMFacts
from leaderboard.llm_facts.columns import fact_cells, fact_values, sourced_facts
from leaderboard.result import Leaderboard
from leaderboard.view import Against

NO_CRITERIA = "none: what people prefer on average"
NO_TOPICS = "all"


class FileFormat(StrEnum):
    """The formats, by the names they have on the command line."""

    CSV = "csv"
    CSV_FULL = "csv-full"
    JSON = "json"
    PARQUET = "parquet"
    EVERY_EVAL_EVER = "every-eval-ever"


def file_of(
    leaderboard: Leaderboard,
    kind: FileFormat,
    made: datetime | None = None,
    facts: Mapping[str, LLMFacts] | None = None,
) -> bytes:
    """Return the leaderboard as a file.

    Args:
        made: when the file is made, which all but plain CSV and JSON say; default now.
        facts: what is known of the LLMs, by name, which all but plain CSV say; default nothing.
    """
    made = datetime.now(UTC) if made is None else made
    columns, misses = leaderboard.shown_categories, leaderboard.misses if leaderboard.musts else None
    ranking, amounts = leaderboard.ranking, leaderboard.amounts
    coverage, not_compared = leaderboard.coverage, leaderboard.not_compared
    match kind:
        case FileFormat.CSV:
            return ranking_csv(
                ranking,
                columns,
                misses=misses,
                amounts=amounts,
                coverage=coverage,
                not_compared=not_compared,
            ).encode()
        case FileFormat.CSV_FULL:
            return ranking_csv(
                ranking,
                columns,
                misses=misses,
                amounts=amounts,
                coverage=coverage,
                not_compared=not_compared,
                titles=leaderboard.titles,
                facts=None if facts is None else {llm: fact_cells(known) for llm, known in facts.items()},
                about=describe(leaderboard, made),
            ).encode()
        case FileFormat.JSON:
            rows = rows_of(leaderboard, facts)
            return f"{json.dumps(rows, ensure_ascii=False, indent=2)}\n".encode()
        case FileFormat.PARQUET:
            return _parquet(leaderboard, describe(leaderboard, made), facts)
        case FileFormat.EVERY_EVAL_EVER:
            records = evaluation_records(leaderboard, describe(leaderboard, made), made, facts)
            return f"{json.dumps(records, ensure_ascii=False, indent=2)}\n".encode()


def rows_of(leaderboard: Leaderboard, facts: Mapping[str, LLMFacts] | None = None) -> list[dict[str, Any]]:
    """Return the ``ranking_rows`` of a leaderboard, each with ``facts`` of its LLM if they are given."""
    rows = ranking_rows(
        leaderboard.ranking,
        leaderboard.shown_categories,
        misses=leaderboard.misses if leaderboard.musts else None,
        amounts=leaderboard.amounts,
        coverage=leaderboard.coverage,
        not_compared=leaderboard.not_compared,
    )
    if facts is None:
        return rows
    return [row | {"facts": sourced_facts(facts[row["llm"]])} for row in rows]


def describe(leaderboard: Leaderboard, made: datetime) -> dict[str, str]:
    """Return what a file says about the ranking in it, by column.

    ``benchmark`` is the slug, ``view`` the end of the link that reproduces the ranking, ``date`` the day on
    which the file was made, and ``note`` what one should know before one relies on it.
    """
    info, view = leaderboard.benchmark.info, leaderboard.view
    return {
        "benchmark": info.slug,
        "benchmark_title": info.title,
        "benchmark_version": info.version,
        "baseline": (leaderboard.benchmark.baseline or "") if leaderboard.against is Against.BASELINE else "",
        "against": leaderboard.against.value,
        "judge": leaderboard.judge,
        "judge_version": leaderboard.crm_version,
        "default_judge": leaderboard.default_crm,
        "criteria": "; ".join(map(_weighted, leaderboard.criteria)) or NO_CRITERIA,
        "topics": ", ".join(view.topics) or NO_TOPICS,
        "view": view.to_link(),
        "date": f"{made:%Y-%m-%d}",
        "note": "; ".join(leaderboard.caveats),
    }


def _weighted(criterion: Criterion) -> str:
    weight = "" if criterion.weight is Weight.ESSENTIAL else f" ({criterion.weight.value})"
    return f"{criterion}{weight}"


def _parquet(
    leaderboard: Leaderboard, about: Mapping[str, str], facts: Mapping[str, LLMFacts] | None
) -> bytes:
    """Return the rows of the JSON as a table, and in every row the title and what is said about the ranking.

    A category's column is named ``win_rate: Cooking``, an amount's ``amount: emojis an answer``.
    """
    import pyarrow as pa  # noqa: PLC0415  # takes long to import
    import pyarrow.parquet as pq  # noqa: PLC0415

    flat = [
        _flat(row)
        | {"title": leaderboard.titles[row["llm"]]}
        | ({} if facts is None else fact_values(facts[row["llm"]]))
        | dict(about)
        for row in rows_of(leaderboard)
    ]
    whole = {"rank", "n_queries", "rank_low", "rank_high", "rank_without_floor", "context_tokens"}
    texts = {"llm", "title", "not_compared", "organisation", "released", "licence", *about}

    def kind(column: str) -> pa.DataType:
        if column in whole:
            return pa.int64()
        if column in texts:
            return pa.string()
        others = {"under_floor": pa.bool_(), "open_weights": pa.bool_(), "misses": pa.list_(pa.string())}
        return others.get(column, pa.float64())

    columns = list(flat[0]) if flat else []
    table = pa.Table.from_pylist(flat, schema=pa.schema([(column, kind(column)) for column in columns]))
    file = io.BytesIO()
    pq.write_table(table, file)
    return file.getvalue()


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    found = {key: value for key, value in row.items() if key not in ("categories", "amounts")}
    found |= {f"win_rate: {name}": value for name, value in row["categories"].items()}
    return found | {f"amount: {unit}": amount["mean"] for unit, amount in row.get("amounts", {}).items()}
