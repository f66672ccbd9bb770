"""A ranking as a picture to be shared: who it is, what was asked for, and the first ten with their ranges."""

from __future__ import annotations

from collections.abc import Collection
from datetime import date

from leaderboard.answer import Answer
from leaderboard.render.canvas import OMITTED, Canvas, Weight, drawable, fitted, width_of, wrapped
from leaderboard.render.chart_style import LIGHT
from leaderboard.result import Leaderboard
from leaderboard.sentences import wins_in_words
from leaderboard.statistics.bootstrap import UNRANKED

SIZE = 1200, 630
"""Pixels; what previews of links are made for."""
TOP = 10
"""So many LLMs are drawn."""
_BACKGROUND, _PANEL, _LINE = "#fcfbf8", "#ffffff", "#ddd9ce"
_INK, _FAINT, _DOUBT = "#20242c", "#5d6068", "#b3651c"
_BAR, _BAR_ALIKE, _RANGE = "#d9dfd8", "#a3cabf", "#5d6068"
_LEFT, _CARD_WIDTH = 52, 444
_RIGHT = SIZE[0] - _LEFT
_HEAD, _FLOOR = 64, 560
"""Baseline of the heading; where the card and the rows end."""
_ROWS, _ROW = 142, 40
_RANK_END, _NAME, _NAME_WIDTH = 562, 578, 272
_TRACK, _TRACK_END = 866, 1068
_TITLE_SIZES = 44, 36, 30
_LEAST_OF_CRITERIA = 170
"""Height that is kept for them: a heading and four lines."""


def ranking_picture(
    leaderboard: Leaderboard, answer: Answer, alike: Collection[str] = (), *, made: date
) -> bytes:
    """Return the picture of what is listed of a ranking, as a PNG file of ``SIZE``.

    Texts that are too long are shortened, and what is written in letters that cannot be drawn is marked.

    Args:
        leaderboard: The LLMs that are listed, in any order.
        answer: What the card says.
        alike: LLMs that cannot be told apart from the first, itself included; empty where that is unknown.
        made: The day that is written on it.
    """
    canvas = Canvas(*SIZE, _BACKGROUND)
    alike = alike if len(alike) > 1 else ()
    written = [
        _head(canvas, leaderboard, made),
        _card(canvas, leaderboard, answer),
        _top(canvas, leaderboard, alike),
        *map(drawable, leaderboard.caveats),
    ]
    _foot(canvas, leaderboard, tied=bool(alike), omitted=OMITTED in " ".join(written))
    return canvas.to_png()


def _head(canvas: Canvas, leaderboard: Leaderboard, made: date) -> str:
    info = leaderboard.benchmark.info
    title = drawable(f"{info.title}, version {info.version}" if info.version else info.title)
    canvas.bar((0, 0, SIZE[0], 10), LIGHT.accent)
    wide = canvas.text(_LEFT, _HEAD, "Which LLM suits you?", 24, colour=_INK, weight=Weight.BOLD)
    day = canvas.text(_RIGHT, _HEAD, f"{made.day} {made:%B %Y}", 20, colour=_FAINT, right=True)
    room = _RIGHT - day - 2 * 24 - (start := _LEFT + wide + 20)
    canvas.text(start, _HEAD, title, 22, colour=_FAINT, width=room)
    canvas.bar((_LEFT, _HEAD + 20, _RIGHT, _HEAD + 21), _LINE)
    return title


def _card(canvas: Canvas, leaderboard: Leaderboard, answer: Answer) -> str:
    """Draw the answer, what speaks against it, and as many of the criteria as there is room for."""
    y = _ROWS - 14.0
    title, tail = drawable(answer.title), drawable(answer.tail.removeprefix(", ").removeprefix("; "))
    if answer.lead:
        canvas.text(_LEFT, y, answer.lead, 22, colour=LIGHT.accent, weight=Weight.SEMIBOLD, width=_CARD_WIDTH)
        y += 50
    size = next((size for size in _TITLE_SIZES if _fits(title, size)), _TITLE_SIZES[-1])
    lines = wrapped(title, size, _CARD_WIDTH, 2, Weight.BOLD)
    y = canvas.lines(_LEFT, y, lines, size, colour=_INK, leading=size + 6, weight=Weight.BOLD) - (size - 30)
    if tail:
        y = canvas.lines(
            _LEFT, y + 6, wrapped(_capital(tail), 22, _CARD_WIDTH, 3), 22, colour=_INK, leading=29
        )
    doubts = [drawable(doubt) for doubt in answer.against[:1]]
    for doubt in doubts:
        lines = wrapped(doubt, 19, _CARD_WIDTH - 16, 3)
        canvas.bar((_LEFT, y - 8, _LEFT + 3, y + 12 + 25 * (len(lines) - 1) + 4), _DOUBT)
        y = canvas.lines(_LEFT + 16, y + 8, lines, 19, colour=_INK, leading=25) + 6
    why = drawable(answer.why)
    most = int((_FLOOR - y - _LEAST_OF_CRITERIA * bool(leaderboard.criteria)) // 26)
    if why and most > 0:
        y = canvas.lines(
            _LEFT, y + 8, wrapped(why, 19, _CARD_WIDTH, min(most, 4)), 19, colour=_FAINT, leading=26
        )
    return " ".join([title, tail, *doubts, why, _criteria(canvas, leaderboard, y + 22)])


def _fits(title: str, size: int) -> bool:
    """Return whether a title can be read whole in two lines of the card."""
    return " ".join(wrapped(title, size, _CARD_WIDTH, 2, Weight.BOLD)) == title


def _criteria(canvas: Canvas, leaderboard: Leaderboard, y: float) -> str:
    asked = [drawable(str(criterion)) for criterion in leaderboard.criteria]
    if not asked:
        return ""
    canvas.text(_LEFT, y, "What was asked for", 18, colour=_FAINT)
    room = max(1, int((_FLOOR - y) // 29))
    shown = asked if len(asked) <= room else asked[: max(1, room - 1)]
    lines = [f"“{fitted(text, 21, _CARD_WIDTH - 24)}”" for text in shown]
    y = canvas.lines(_LEFT, y + 30, lines, 21, colour=_INK, leading=29)
    if left := len(asked) - len(shown):
        canvas.text(_LEFT, y, f"and {left} more", 19, colour=_FAINT)
    return " ".join(shown)


def _top(canvas: Canvas, leaderboard: Leaderboard, alike: Collection[str]) -> str:
    """Draw the first LLMs with their scores and ranges, those like the first in another colour."""
    ranking = leaderboard.ranking
    known = [row for row, rank in enumerate(ranking.rank.tolist()) if rank != UNRANKED]
    rows = sorted(known, key=lambda row: int(ranking.rank[row]))[:TOP]
    middle = (_TRACK + _TRACK_END) / 2
    heading = wins_in_words(leaderboard.against, leaderboard.opponent)
    canvas.text(middle + width_of(heading, 15) / 2, _ROWS - 22, heading, 15, colour=_FAINT, right=True)
    names = []
    for place, row in enumerate(rows):
        y = _ROWS + place * _ROW + 16
        llm = ranking.llms[row]
        colour, mark = (_BAR_ALIKE, LIGHT.accent) if llm in alike else (_BAR, _RANGE)
        names.append(drawable(leaderboard.titles[llm]))
        at_top = llm in alike or ranking.rank[row] == ranking.rank[rows[0]]
        weight = Weight.SEMIBOLD if at_top else Weight.REGULAR
        canvas.text(_RANK_END, y, str(ranking.rank[row]), 20, colour=_FAINT, weight=weight, right=True)
        canvas.text(_NAME, y, names[-1], 20, colour=_INK, weight=weight, width=_NAME_WIDTH)
        score = f"{100 * ranking.win_rate[row]:.1f} %"
        canvas.text(_RIGHT, y, score, 20, colour=_INK, weight=weight, right=True)
        ends = ranking.win_rate[row], ranking.ci_low[row], ranking.ci_high[row]
        score_at, low, high = (_TRACK + float(end) * (_TRACK_END - _TRACK) for end in ends)
        canvas.bar((_TRACK, y - 14, score_at, y + 1), colour, radius=4)
        canvas.bar((middle, y - 24, middle + 1, y + 12), _LINE)
        canvas.bar((low, y - 8, high, y - 5), mark)
        canvas.dot(score_at, y - 6.5, 5, mark)
    return " ".join(names)


def _foot(canvas: Canvas, leaderboard: Leaderboard, *, tied: bool, omitted: bool) -> None:
    wide = _RIGHT - _LEFT
    ranked = sum(rank != UNRANKED for rank in leaderboard.ranking.rank.tolist())
    about = [
        f"{leaderboard.n_judged} questions",
        f"{ranked} LLMs ranked" if ranked != 1 else "1 LLM ranked",
        f"judge {leaderboard.view.crm} {leaderboard.crm_version}",
        "lines are 95 % likely ranges",
        "green: cannot be told apart from the first" if tied else "",
    ]
    notes = [*leaderboard.caveats, *([f"{OMITTED}: letters that cannot be drawn here"] if omitted else [])]
    canvas.bar((_LEFT, _FLOOR + 6, _RIGHT, _FLOOR + 7), _LINE)
    canvas.text(_LEFT, _FLOOR + 31, drawable(" · ".join(filter(None, about))), 16, colour=_FAINT, width=wide)
    canvas.text(_LEFT, _FLOOR + 54, drawable(" · ".join(notes)), 16, colour=_DOUBT, width=wide)


def _capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"
