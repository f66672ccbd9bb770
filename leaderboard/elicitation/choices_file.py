"""A person's choices, and their corrected ranking, as CSV; choices can be read back and replayed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np

from leaderboard.benchmark import LoadedBenchmark
from leaderboard.elicitation.checking import CorrectedRanking, pair_probability
from leaderboard.elicitation.choice_model import Choice, ChoiceOutcome, Draw, ResponsePair
from leaderboard.errors import LeaderboardError
from leaderboard.export import csv_line, number_cell, read_csv_rows, text_cell, text_of_cell
from leaderboard.statistics.win_rate import Mask

CHOICE_COLUMNS = ("query", "first", "second", "outcome", "probability")
CORRECTED_COLUMNS = (
    *("rank", "llm", "win_rate", "ci_low", "ci_high", "n_votes"),
    *("judged_rank", "judged_win_rate", "votes_win_rate", "note"),
)
_Value = TypeVar("_Value")
_DIGITS = 12
_SAME = 1e-6


def choices_csv(choices: Sequence[Choice], benchmark: LoadedBenchmark) -> str:
    """Return choices in their order: query, LLMs, what was chosen, and how likely the pair was drawn.

    ``probability`` is empty where the pair was not drawn at random.
    """
    lines = [csv_line(CHOICE_COLUMNS)]
    for choice in choices:
        pair = choice.pair
        cells = [
            benchmark.record.queries[pair.query].external_id,
            *(benchmark.respondents[row] for row in (pair.first, pair.second)),
            choice.outcome.value,
        ]
        drawn = "" if choice.draw is None else f"{choice.draw.probability:.{_DIGITS}g}"
        lines.append(csv_line([*map(text_cell, cells), drawn]))
    return "".join(lines)


def read_choices(source: Path | str, benchmark: LoadedBenchmark, drawn_from: Sequence[Mask]) -> list[Choice]:
    """Return the choices of a file, or text, that ``choices_csv`` wrote of the same benchmark.

    Args:
        drawn_from: Responses ``[R, Q]`` of which pairs may have been drawn, tried in turn: a probability
            that fits none of them is that of a draw among other topics, and the choice only teaches.

    Raises:
        LeaderboardError: The source cannot be read; it lacks a column; a row names a query, an LLM or an
            outcome that there is none of, or has no probability for a number.
    """
    rows = read_csv_rows(source, "file of choices")
    header = [name.strip() for name in rows[0]] if rows else []
    if missing := [name for name in CHOICE_COLUMNS if name not in header]:
        raise LeaderboardError(
            f"Row 1 has no column “{missing[0]}”: choices need the columns {', '.join(CHOICE_COLUMNS)}."
        )
    query_of = {query.external_id: place for place, query in enumerate(benchmark.record.queries)}
    row_of = {llm: row for row, llm in enumerate(benchmark.respondents)}
    probabilities = [(among, pair_probability(among)) for among in drawn_from]
    choices = []
    for number, row in enumerate(rows[1:], start=2):
        if not row:
            continue
        cells = dict(zip(header, [text_of_cell(cell) for cell in row], strict=False))
        pair = ResponsePair(
            _place(query_of, cells.get("query", ""), "query", number),
            *(_place(row_of, cells.get(side, ""), "LLM", number) for side in ("first", "second")),
        )
        outcome = _outcome(cells.get("outcome", ""), number)
        probability = _probability(cells.get("probability", ""), number)
        choices.append(Choice(pair, outcome, _draw(probability, pair, probabilities)))
    return choices


def _place(known: Mapping[str, _Value], name: str, what: str, row: int) -> _Value:
    if name not in known:
        raise LeaderboardError(
            f"Row {row} has the {what} “{name}”, which is not one here: choose the benchmark of the choices."
        )
    return known[name]


def _outcome(cell: str, row: int) -> ChoiceOutcome:
    try:
        return ChoiceOutcome(cell.strip())
    except ValueError:
        known = ", ".join(ChoiceOutcome)
        raise LeaderboardError(f"Row {row} has the outcome “{cell}”: write one of {known}.") from None


def _probability(cell: str, row: int) -> float:
    """Return a cell's number; NaN for an empty one."""
    if not cell.strip():
        return math.nan
    try:
        value = float(cell)
    except ValueError:
        value = -1.0
    if not 0 < value <= 1:
        raise LeaderboardError(
            f"Row {row} has the probability “{cell.strip()}”: write a number from 0 to 1, or leave it empty."
        )
    return value


def _draw(probability: float, pair: ResponsePair, tried: Sequence[tuple[Mask, np.ndarray]]) -> Draw | None:
    for among, single in tried:
        possible = among[[pair.first, pair.second], pair.query].all()
        if possible and math.isclose(probability, float(single[pair.query]), rel_tol=_SAME):
            return Draw(probability, among)
    return None


def corrected_csv(ranking: CorrectedRanking, note: str = "") -> str:
    """Return a corrected ranking, best first, beside the judge's and that of the votes alone.

    Win rates are shares of duels with the other LLMs. A note stands in every row.
    """
    lines = [csv_line(CORRECTED_COLUMNS)]
    for row in corrected_rows(ranking):
        lines.append(
            csv_line(
                [
                    str(row["rank"]),
                    text_cell(str(row["llm"])),
                    *(number_cell(_number(row[name])) for name in ("win_rate", "ci_low", "ci_high")),
                    str(row["n_votes"]),
                    str(row["judged_rank"]),
                    *(number_cell(_number(row[name])) for name in ("judged_win_rate", "votes_win_rate")),
                    text_cell(note),
                ]
            )
        )
    return "".join(lines)


def corrected_rows(ranking: CorrectedRanking) -> list[Mapping[str, str | int | float | None]]:
    """Return what ``corrected_csv`` has of each LLM, best first; None where something is unknown."""
    found, alone = ranking.corrected, ranking.by_votes
    numbers = {
        "win_rate": found.win_rate,
        "ci_low": found.low,
        "ci_high": found.high,
        "judged_win_rate": ranking.judged,
        "votes_win_rate": np.where(alone.n_votes > 0, alone.win_rate, np.nan),
    }
    return [
        {
            "rank": int(ranking.ranks[row]),
            "llm": ranking.llms[row],
            "n_votes": int(found.n_votes[row]),
            "judged_rank": int(ranking.judged_ranks[row]),
            **{
                name: None if math.isnan(values[row]) else round(float(values[row]), 4)
                for name, values in numbers.items()
            },
        }
        for row in ranking.best_first
    ]


def _number(value: str | int | float | None) -> float:
    return math.nan if value is None else float(value)
