"""HTML tables of rankings, comparisons, grades and themes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from crm.data.taxonomy import CriterionThemes
from leaderboard.alignment import BEST_GRADE, Alignment
from leaderboard.compare import Column, SideBySide
from leaderboard.render.chart_style import Palette
from leaderboard.render.fact_tables import FactColumns
from leaderboard.render.html import UNKNOWN, percent, render, with_minus
from leaderboard.result import Leaderboard
from leaderboard.sentences import missed_in_words, wins_in_words
from leaderboard.statistics.bootstrap import UNRANKED
from leaderboard.statistics.columns import STATISTIC_COLUMNS
from leaderboard.statistics.correlation import Measure, highest_rbo
from leaderboard.statistics.significance import PairwiseSignificance
from leaderboard.topics.quality import Figure

_MIN_SHOWN_SHARE = 0.005
_STRONGEST = 48
"""Percentage of the colour behind the best and the worst value; what is even has none."""
_BASELINE_GRADE = BEST_GRADE / 2
_SMALL_P, _SMALLISH_P = 0.001, 0.01


def ranking_table(
    leaderboard: Leaderboard,
    columns: tuple[str, ...],
    link_of: Callable[[str], str],
    accent: str,
    facts: FactColumns | None = None,
) -> str:
    """Return the ranking with a drawn interval in every row, in the order of the ranking's rows.

    Args:
        columns: Categories that get a column.
        link_of: From an LLM's name to the address of its page; an empty one makes no link.
        facts: What stands in columns of facts, and how headings sort; without it none does.
    """
    ranking = leaderboard.ranking
    places = [ranking.category_names.index(name) for name in columns]
    control = ranking.removed
    shown = [column for column in STATISTIC_COLUMNS if column.heading]
    rows = [
        {
            "llm": llm,
            "title": leaderboard.titles[llm],
            "link": link_of(llm),
            "is_ranked": ranking.rank[row] != UNRANKED,
            "rank": ranking.rank[row],
            "rank_low": ranking.rank_low[row],
            "rank_high": ranking.rank_high[row],
            "change": float(leaderboard.changes[row]),
            "is_known": bool(np.isfinite(ranking.win_rate[row])),
            "win_rate": float(ranking.win_rate[row]),
            "low": float(ranking.ci_low[row]),
            "high": float(ranking.ci_high[row]),
            "moved": control and _points(float(ranking.win_rate[row] - control.plain_win_rate[row])),
            "statistics": [
                f"{value:.{column.decimals}f}" if np.isfinite(value) else UNKNOWN
                for column in shown
                for value in [ranking.columns[column.key][row]]
            ],
            "amounts": [amount.written(amount.by_llm[llm]) for amount in leaderboard.amounts],
            "missed": missed_in_words(leaderboard.misses.get(llm, ())),
            "answered": leaderboard.coverage.get(llm),
            "by_category": ranking.category_win_rate[row, places].tolist(),
            "facts": [] if facts is None else facts.cells(llm),
        }
        for row, llm in enumerate(ranking.llms)
        if llm not in leaderboard.not_compared
    ]
    return render(
        "ranking",
        rows=rows,
        categories=columns,
        statistics=shown,
        amounts=[
            (amount.unit, "" if np.isnan(amount.baseline) else amount.written(amount.baseline))
            for amount in leaderboard.amounts
        ],
        answered=bool(leaderboard.coverage),
        beats=wins_in_words(leaderboard.against, leaderboard.opponent),
        compared=bool(leaderboard.criteria) and leaderboard.default is not None,
        controlled=control is not None,
        caveats=leaderboard.caveats,
        criteria_key=leaderboard.view.criteria.key,
        accent=accent,
        sorting=None if facts is None else facts.sorting,
        has_facts=facts is not None and facts.any,
        monthly=facts is not None and facts.monthly,
    )


def under_floor_table(leaderboard: Leaderboard, link_of: Callable[[str], str], accent: str) -> str:
    """Return the LLMs under the floor with the places they would have, best first; empty without any."""
    everyone = leaderboard.ranking.without_floor
    if everyone is None:
        return ""
    rows = [
        {
            "llm": llm,
            "title": leaderboard.titles[llm],
            "link": link_of(llm),
            "missed": missed_in_words(leaderboard.misses.get(llm, ())),
            "rank": everyone.rank[row],
            "win_rate": float(everyone.win_rate[row]),
            "low": float(everyone.ci_low[row]),
            "high": float(everyone.ci_high[row]),
        }
        for llm in leaderboard.ranking.under_floor
        for row in [everyone.llms.index(llm)]
    ]
    return render("under_floor", rows=rows, accent=accent)


def not_compared_table(leaderboard: Leaderboard, link_of: Callable[[str], str], accent: str) -> str:
    """Return the LLMs that cannot be compared with the others, and why; empty without any."""
    if not leaderboard.not_compared:
        return ""
    rows = [
        {
            "llm": llm,
            "title": leaderboard.titles[llm],
            "link": link_of(llm),
            "answered": leaderboard.answered[llm],
            "reason": reason,
        }
        for llm, reason in leaderboard.not_compared.items()
    ]
    return render("not_compared", rows=rows, accent=accent)


def groups_table(leaderboard: Leaderboard, certainty: PairwiseSignificance) -> str:
    """Return the LLMs in groups that cannot be told apart, best first, with a line between groups."""
    ranking = leaderboard.ranking

    def line(llm: str) -> dict[str, object]:
        row = ranking.llms.index(llm)
        first = float(certainty.first[certainty.llms.index(llm)])
        return {
            "llm": llm,
            "title": leaderboard.titles[llm],
            "rank": ranking.rank[row],
            "rank_low": ranking.rank_low[row],
            "rank_high": ranking.rank_high[row],
            "comes_first": f"{100 * first:.0f} %" if first >= _MIN_SHOWN_SHARE else UNKNOWN,
        }

    n_groups = int(certainty.group[-1]) + 1
    return render("groups", groups=[list(map(line, certainty.members(group))) for group in range(n_groups)])


def grades_table(
    found: Alignment, order: Sequence[str], titles: Mapping[str, str], palette: Palette, background: str
) -> str:
    """Return one row an LLM, one column a criterion, PrefAlign first; grades go from 0 to 5.

    Args:
        order: LLMs in the order of the rows; those that have no grades are left out.
        background: CSS colour of the page, behind the names that stay in place.
    """

    def cell(grade: float) -> dict[str, object]:
        if np.isnan(grade):
            return {"tone": "", "tint": 0, "text": UNKNOWN}
        tint = _STRONGEST * abs(grade - _BASELINE_GRADE) / _BASELINE_GRADE
        tone = palette.accent if grade >= _BASELINE_GRADE else palette.down
        return {"tone": tone, "tint": f"{tint:.0f}", "text": f"{grade:.1f}"}

    row_of = {llm: row for row, llm in enumerate(found.llms) if np.isfinite(found.grades[row]).any()}
    rows = [
        {
            "llm": llm,
            "title": titles[llm],
            "cells": [cell(grade) for grade in (found.pref_align[row_of[llm]], *found.grades[row_of[llm]])],
        }
        for llm in order
        if llm in row_of
    ]
    return render("grades", rows=rows, criteria=found.criteria, background=background)


def ranks_table(compared: SideBySide, accent: str, background: str) -> str:
    """Return one row an LLM, one column a view; the better the rank, the stronger its colour.

    Args:
        accent: CSS colour of the best rank; the last has none.
        background: CSS colour of the page, behind the names that stay in place.
    """
    rows = [
        {
            "llm": llm,
            "title": compared.titles[llm],
            "cells": [_rank_cell(column, llm) for column in compared.columns],
        }
        for llm in compared.llms
    ]
    return render("ranks", rows=rows, columns=compared.columns, accent=accent, background=background)


def _rank_cell(column: Column, llm: str) -> dict[str, object]:
    rank = column.ranks.get(llm)
    if rank is None:
        return {"tint": 0, "title": "", "text": UNKNOWN}
    ranking = column.leaderboard.ranking
    row = ranking.llms.index(llm)
    low, high = (percent(float(ends[row]), 0) for ends in (ranking.ci_low, ranking.ci_high))
    score = percent(float(ranking.win_rate[row]))
    tint = _STRONGEST * (1 - (rank - 1) / max(1, len(column.ranks) - 1))
    return {
        "tint": f"{np.clip(tint, 0, _STRONGEST):.0f}",
        "title": f"{column.letter}: score {score} ({low}–{high}), rank {rank} of {len(column.ranks)}",
        "text": rank,
    }


def rank_agreement_table(compared: SideBySide, measure: Measure, palette: Palette) -> str:
    """Return how far every two views agree, p-values below; rows are predictions, columns references.

    The colour of agreement is the accent's, that of opposition the colour of what falls.
    """
    values, p_values = compared.likeness(measure), compared.p_values(measure)
    letters = [column.letter for column in compared.columns]

    def cell(row: int, other: int) -> dict[str, object]:
        value, p_value = float(values[row, other]), float(p_values[row, other])
        if np.isnan(value):
            title = "fewer than two LLMs in common"
            return {"tone": "", "tint": 0, "title": title, "text": UNKNOWN, "p_value": ""}
        n = compared.n_common(row, other)
        highest = highest_rbo(n) if measure is Measure.RBO else 1.0
        pair = f"{letters[row]} with {letters[other]}"
        return {
            "tone": palette.accent if value >= 0 else palette.down,
            "tint": f"{_STRONGEST * min(1.0, abs(value) / highest):.0f}",
            "title": f"{measure} of {pair}: {value:.3f}, p = {p_value:.3g}, {n} LLMs",
            "text": with_minus(f"{value:.2f}"),
            # The letter is left out on a narrow screen.
            "p_sign": "p " if p_value < _SMALL_P else "p = ",
            "p_value": "" if row == other else _p_value(p_value),
        }

    everyone = range(len(compared.columns))
    rows = [
        {"column": column, "cells": [cell(row, other) for other in everyone]}
        for row, column in enumerate(compared.columns)
    ]
    return render("rank_agreement", rows=rows, columns=compared.columns)


def themes_table(themes: CriterionThemes, n_adjectives: int = 30, n_examples: int = 4) -> str:
    """Return the layout of the paper's Table 6, with shares and examples beside the adjectives."""
    return render("themes", themes=themes, n_adjectives=n_adjectives, n_examples=n_examples)


def topic_figures(figures: Sequence[Figure]) -> str:
    """Return figures on the topics of a pool side by side, as many in a row as there is room for."""
    return render("topic_figures", figures=figures)


def _points(fraction: float) -> str:
    """Return the points that a control moved a win rate by; empty for less than a tenth."""
    points = round(100 * fraction, 1)
    return "" if math.isnan(points) or points == 0 else with_minus(f"{points:+.1f}")


def _p_value(value: float) -> str:
    if value < _SMALL_P:
        return "< 0.001"
    return f"{value:.3f}" if value < _SMALLISH_P else f"{value:.2f}"
