"""Several views as CSV, safe to open in a spreadsheet."""

from __future__ import annotations

import math
from itertools import product

from leaderboard.compare import SideBySide
from leaderboard.export import csv_line, number_cell, text_cell
from leaderboard.statistics.permutation import Measure


def ranks_csv(compared: SideBySide) -> str:
    """The column ``llm``, then for each view its rank and its win rate, headed by letter and words.

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


def likeness_csv(compared: SideBySide) -> str:
    """One row for each ordered pair of views: LLMs in common, then all five measures and p-values."""
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
