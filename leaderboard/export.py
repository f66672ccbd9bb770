"""Rankings and comparisons as CSV and JSON, and CSV back to ranks; safe to open in a spreadsheet."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import product
from pathlib import Path
from typing import Any

from crm.criteria import CriteriaSet, Criterion
from db.records import StoredScores, WinRateRecord
from leaderboard.amounts import MeanAmount
from leaderboard.compare import SideBySide
from leaderboard.errors import LeaderboardError
from leaderboard.statistics.bootstrap import UNRANKED
from leaderboard.statistics.columns import STATISTIC_COLUMNS
from leaderboard.statistics.correlation import Correlations, Measure
from leaderboard.statistics.ranking import Ranking
from parsing.files import read_bytes
from parsing.tables import RowError, csv_rows

WIN_RATE_COLUMNS = (
    *("crm", "crm_version", "criteria_key", "criteria", "category", "llm"),
    *("win_rate", "soft_win_rate", "ci_low", "ci_high", "n_queries"),
)

COLUMNS = ("rank", "llm", "win_rate", "ci_low", "ci_high", "n_queries")

FLOOR_COLUMNS = ("under_floor", "rank_without_floor")

DECIMALS = 4

# A cell that starts with one of these is run as a formula by spreadsheets (OWASP, CSV injection).
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def ranking_csv(
    ranking: Ranking,
    categories: Sequence[str] = (),
    *,
    misses: Mapping[str, Sequence[Criterion]] | None = None,
    amounts: Sequence[MeanAmount] = (),
    coverage: Mapping[str, float] | None = None,
    not_compared: Mapping[str, str] | None = None,
    titles: Mapping[str, str] | None = None,
    facts: Mapping[str, Mapping[str, str]] | None = None,
    about: Mapping[str, str] | None = None,
    note: str = "",
) -> str:
    """Return the ranking as CSV: ``COLUMNS``, then one column of win rates for each of ``categories``.

    LLMs under a floor follow without a rank, and ``FLOOR_COLUMNS`` say so: yes or no, and the rank among all.
    Where criteria are a must, a column ``misses`` names those that an LLM misses. Each of ``amounts`` has a
    column under its unit, e.g. ``emojis an answer``. A column ``answered`` has the share of the queries that
    each LLM answered, a column ``not_compared`` why one is not ranked, if that is given. Given titles stand
    in a column ``title``, facts, by LLM and column, in columns after it. What is said ``about`` the ranking,
    by column, and a note in a last column ``note`` stand in every row, so that no row is read without them.
    Names that a spreadsheet would run as a formula get an apostrophe in front; ``read_ranking_csv`` drops it.

    Raises:
        LeaderboardError: if the ranking has no such category.
    """
    columns = [_column(ranking, name) for name in categories]
    same = {
        name: text_cell(text) for name, text in {**(about or {}), **({"note": note} if note else {})}.items()
    }
    heading = [*(FLOOR_COLUMNS if ranking.without_floor else ()), *(["misses"] if misses is not None else [])]
    heading += [
        *(text_cell(amount.unit) for amount in amounts),
        *(["answered"] if coverage else []),
        *(["not_compared"] if not_compared else []),
        *([] if titles is None else ["title"]),
        *next(iter((facts or {}).values()), {}),
        *same,
    ]
    lines = [csv_line([*COLUMNS, *(text_cell(name) for name in categories), *heading])]
    for source, row in _all_rows(ranking):
        cells = [
            "" if source is not ranking else _rank_cell(source.rank[row]),
            text_cell(source.llms[row]),
            number_cell(source.win_rate[row]),
            number_cell(source.ci_low[row]),
            number_cell(source.ci_high[row]),
            str(source.n_queries[row]),
            *(number_cell(source.category_win_rate[row, column]) for column in columns),
            *_floor_cells(ranking, source.llms[row]),
            *([] if misses is None else [text_cell("; ".join(map(str, misses.get(source.llms[row], ()))))]),
            *(number_cell(amount.by_llm[source.llms[row]]) for amount in amounts),
            *([number_cell(coverage[source.llms[row]])] if coverage else []),
            *([text_cell(not_compared.get(source.llms[row], ""))] if not_compared else []),
            *([] if titles is None else [text_cell(titles[source.llms[row]])]),
            *([] if not facts else map(text_cell, facts[source.llms[row]].values())),
            *same.values(),
        ]
        lines.append(csv_line(cells))
    return "".join(lines)


def _all_rows(ranking: Ranking) -> Iterator[tuple[Ranking, int]]:
    """Yield where the numbers of every LLM stand, those under the floor last: a ranking and a row of it."""
    for row in range(len(ranking.llms)):
        yield ranking, row
    if ranking.without_floor is not None:
        for llm in ranking.under_floor:
            yield ranking.without_floor, ranking.without_floor.llms.index(llm)


def _floor_cells(ranking: Ranking, llm: str) -> list[str]:
    """Return the cells of ``FLOOR_COLUMNS``; none where nobody is under a floor."""
    if ranking.without_floor is None:
        return []
    under_floor = "no" if llm in ranking.llms else "yes"
    return [under_floor, _rank_cell(ranking.without_floor.ranks.get(llm, UNRANKED))]


def ranking_json(
    ranking: Ranking,
    categories: Sequence[str] = (),
    *,
    misses: Mapping[str, Sequence[Criterion]] | None = None,
    amounts: Sequence[MeanAmount] = (),
    coverage: Mapping[str, float] | None = None,
    not_compared: Mapping[str, str] | None = None,
) -> str:
    """Return the ``ranking_rows`` as JSON. Raises LeaderboardError: the ranking has no such category."""
    rows = ranking_rows(
        ranking, categories, misses=misses, amounts=amounts, coverage=coverage, not_compared=not_compared
    )
    return json.dumps(rows, ensure_ascii=False, indent=2)


def ranking_rows(
    ranking: Ranking,
    categories: Sequence[str] = (),
    *,
    misses: Mapping[str, Sequence[Criterion]] | None = None,
    amounts: Sequence[MeanAmount] = (),
    coverage: Mapping[str, float] | None = None,
    not_compared: Mapping[str, str] | None = None,
) -> list[dict[str, Any]]:
    """Return what is known of each LLM, best first; None where something is unknown.

    Each has the keys of ``COLUMNS`` and ``STATISTIC_COLUMNS``, ``rank_low`` and ``rank_high``, and under
    ``categories`` the win rate within each of ``categories``; where something is controlled for, also
    ``plain_win_rate``, that without. LLMs under a floor follow without ranks, and all have ``FLOOR_COLUMNS``;
    where criteria are a must, ``misses`` lists those that an LLM misses. Under ``amounts``, if there are any,
    each unit has the LLM's ``mean`` and that of the ``baseline``, and where an amount is wished, that
    ``limit`` and the share of answers that ``kept`` to it. Where that is given, ``answered`` is the share of
    the queries that an LLM answered, and ``not_compared`` why one is not ranked, else None.

    Raises:
        LeaderboardError: if the ranking has no such category.
    """
    columns = {name: _column(ranking, name) for name in categories}
    rows = []
    for source, row in _all_rows(ranking):
        item = _json_row(source, row, columns)
        if everyone := ranking.without_floor:
            under_floor = source is not ranking
            item |= dict.fromkeys(("rank", "rank_low", "rank_high")) if under_floor else {}
            place = everyone.ranks.get(source.llms[row])
            item |= dict(zip(FLOOR_COLUMNS, (under_floor, place), strict=True))
        if misses is not None:
            item["misses"] = [str(criterion) for criterion in misses.get(source.llms[row], ())]
        if coverage:
            item["answered"] = _rounded_or_none(coverage[source.llms[row]])
        if not_compared:
            item["not_compared"] = not_compared.get(source.llms[row])
        if amounts:
            item["amounts"] = {
                amount.unit: {
                    "mean": _rounded_or_none(amount.by_llm[source.llms[row]]),
                    "baseline": _rounded_or_none(amount.baseline),
                    **_kept_cell(amount, source.llms[row]),
                }
                for amount in amounts
            }
        rows.append(item)
    return rows


def _kept_cell(amount: MeanAmount, llm: str) -> dict[str, Any]:
    """Return the share of answers that keep to an amount; nothing where none is wished."""
    if not amount.kept:
        return {}
    return {"limit": amount.limit, "kept": _rounded_or_none(amount.kept.get(llm, float("nan")))}


def _json_row(ranking: Ranking, row: int, columns: Mapping[str, int]) -> dict[str, Any]:
    """Return what is known of one LLM; ``columns`` are those of categories."""
    removed = ranking.removed
    return {
        "rank": _rank_or_none(ranking.rank[row]),
        "llm": ranking.llms[row],
        "win_rate": _rounded_or_none(ranking.win_rate[row]),
        "ci_low": _rounded_or_none(ranking.ci_low[row]),
        "ci_high": _rounded_or_none(ranking.ci_high[row]),
        "n_queries": int(ranking.n_queries[row]),
        **{
            column.key: _rounded_or_none(ranking.columns[column.key][row], column.decimals)
            for column in STATISTIC_COLUMNS
        },
        "rank_low": _rank_or_none(ranking.rank_low[row]),
        "rank_high": _rank_or_none(ranking.rank_high[row]),
        "categories": {
            name: _rounded_or_none(ranking.category_win_rate[row, column]) for name, column in columns.items()
        },
    } | ({} if removed is None else {"plain_win_rate": _rounded_or_none(removed.plain_win_rate[row])})


def win_rates_csv(stored: StoredScores, rates: Sequence[WinRateRecord], *, header: bool = True) -> str:
    """Return the win rates under one CRM and criteria set as CSV with the columns ``WIN_RATE_COLUMNS``.

    The cell of the category is empty where all queries count, that of the criteria ∅ where there are none.
    """
    key = stored.key
    criteria = str(CriteriaSet.from_json(list(stored.criteria)))
    lines = [csv_line(WIN_RATE_COLUMNS)] if header else []
    for rate in rates:
        texts = (key.crm, key.crm_version, key.criteria, criteria, rate.category, rate.llm)
        numbers = (rate.hard, rate.soft, rate.ci_low, rate.ci_high)
        lines.append(csv_line([*map(text_cell, texts), *map(number_cell, numbers), str(rate.n_queries)]))
    return "".join(lines)


def correlations_json(correlations: Correlations) -> str:
    """Return the correlations as a JSON object with their full precision."""
    return json.dumps(asdict(correlations), indent=2)


def read_ranking_csv(source: Path | str) -> dict[str, float]:
    """Rank by LLM, in the order of the rows, from a CSV file (``Path``) or CSV text (``str``).

    Needs the columns ``rank`` and ``llm``; others are ignored. Ranks are numbers from 1 up, 2.5 among them. A
    row with an empty rank is an LLM without responses and is left out.

    Raises:
        LeaderboardError: if the source cannot be read, a column is missing, a row is malformed, an LLM occurs
            twice, or no LLM has a rank. Rows are counted as lines of a spreadsheet: the header is row 1.
    """
    rows = read_csv_rows(source, "ranking")
    header = [name.strip() for name in rows[0]] if rows else []
    for name in ("rank", "llm"):
        if name not in header:
            raise LeaderboardError(f"Row 1 has no column “{name}”: a ranking needs the columns rank and llm.")
    rank_column, llm_column = header.index("rank"), header.index("llm")
    ranks: dict[str, float] = {}
    seen: set[str] = set()
    for number, row in enumerate(rows[1:], start=2):
        if not row:
            continue
        if len(row) <= max(rank_column, llm_column):
            raise LeaderboardError(f"Row {number} ends before its rank or llm: fill in both.")
        llm = text_of_cell(row[llm_column])
        if not llm:
            raise LeaderboardError(f"Row {number} names no LLM: fill in the column llm.")
        if llm in seen:
            raise LeaderboardError(f"Row {number} lists “{llm}” a second time: keep one row for each LLM.")
        seen.add(llm)
        if row[rank_column].strip():
            ranks[llm] = _as_rank(row[rank_column], number)
    if not ranks:
        raise LeaderboardError("The ranking has no row with a rank: give at least one LLM its rank.")
    return ranks


def read_csv_rows(source: Path | str, what: str) -> list[list[str]]:
    """Return all rows of a CSV file or text; a byte order mark, which spreadsheets write, is dropped.

    Raises:
        LeaderboardError: It cannot be read, or is not valid CSV in UTF-8; ``what`` it should be is named.
    """
    try:
        text = read_bytes(source).decode("utf-8") if isinstance(source, Path) else source
        return list(csv_rows(io.StringIO(text.removeprefix("\ufeff"), newline="")))
    except OSError as error:
        raise LeaderboardError(f"{source} cannot be read ({error.strerror}): check the path.") from error
    except UnicodeDecodeError as error:
        raise LeaderboardError(f"{source} is not UTF-8 text: save it as CSV in UTF-8.") from error
    except RowError as error:
        raise LeaderboardError(f"The {what} is not valid CSV ({error}): save it as CSV again.") from error


def _as_rank(cell: str, row: int) -> float:
    try:
        rank = float(cell)
    except ValueError:
        rank = math.nan
    if not (math.isfinite(rank) and rank >= 1):
        raise LeaderboardError(f"Row {row} has the rank “{cell.strip()}”: a rank is a number from 1 up.")
    return rank


def _column(ranking: Ranking, category: str) -> int:
    if category not in ranking.category_names:
        known = ", ".join(ranking.category_names) or "none"
        raise LeaderboardError(f"There is no category “{category}”: choose among {known}.")
    return ranking.category_names.index(category)


def csv_line(cells: Sequence[str]) -> str:
    """Return one line of CSV; written with CR LF, without which Python leaves a carriage return unquoted."""
    line = io.StringIO()
    csv.writer(line, lineterminator="\r\n").writerow(cells)
    return line.getvalue().removesuffix("\r\n") + "\n"


def text_cell(text: str) -> str:
    """Text with an apostrophe before what a spreadsheet would run, or what would read back as such a cell."""
    return f"'{text}" if text.lstrip("'").startswith(_FORMULA_STARTS) else text


def text_of_cell(cell: str) -> str:
    """Return the text that ``text_cell`` made the cell from."""
    escaped = cell.startswith("'") and cell.lstrip("'").startswith(_FORMULA_STARTS)
    return cell[1:] if escaped else cell


def number_cell(value: float) -> str:
    """Return a fraction with four decimals; empty where unknown."""
    return "" if math.isnan(value) else f"{value:.{DECIMALS}f}"


def _rank_cell(rank: int) -> str:
    return "" if rank == UNRANKED else str(rank)


def _rounded_or_none(value: float, decimals: int = DECIMALS) -> float | None:
    return None if math.isnan(value) else round(float(value), decimals)


def _rank_or_none(rank: int) -> int | None:
    return None if rank == UNRANKED else int(rank)


def ranks_csv(compared: SideBySide) -> str:
    """Return the column ``llm``, then for each view its rank and its win rate, headed by letter and words.

    Empty cells where a view does not rank an LLM.
    """
    heading = ["llm"]
    for column in compared.columns:
        heading += [f"rank {column.letter}: {column.words}", f"win_rate {column.letter}"]
    lines = [csv_line(heading)]
    for llm in compared.llms:
        cells = [text_cell(llm)]
        for column in compared.columns:
            ranking = column.leaderboard.ranking
            rank = column.ranks.get(llm)
            win_rate = math.nan if rank is None else float(ranking.win_rate[ranking.llms.index(llm)])
            cells += ["" if rank is None else str(rank), number_cell(win_rate)]
        lines.append(csv_line(cells))
    return "".join(lines)


def rank_agreement_csv(compared: SideBySide) -> str:
    """Return one row for each ordered pair of views: LLMs in common, then all five measures and p-values."""
    views = [f"{column.letter}: {column.words}" for column in compared.columns]
    measured = [(measure, compared.likeness(measure), compared.p_values(measure)) for measure in Measure]
    heading = ["predicted", "reference", "llms"]
    for measure in Measure:
        heading += [measure.column, f"{measure.column}_p"]
    lines = [csv_line(heading)]
    for row, column in product(range(len(views)), repeat=2):
        if row != column:
            cells = [views[row], views[column], str(compared.n_common(row, column))]
            for _, values, p_values in measured:
                cells += [number_cell(values[row, column]), number_cell(p_values[row, column])]
            lines.append(csv_line([text_cell(cell) for cell in cells[:2]] + cells[2:]))
    return "".join(lines)
