"""Plotly figures of the page on judges; colours come from the caller, fonts and background from the theme."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from crm.evaluation_report import JudgeReport
from crm.evaluation_sets import TABLE, Generalization
from leaderboard.judges import Agreement, RankPair
from leaderboard.pictures.charts import Palette
from leaderboard.pictures.judges_html import SET_NAMES
from leaderboard.pictures.labels import plain_label

_ROW_HEIGHT = 46
_LABELLED = 14
"""LLMs up to which a scatter names each of them; of more, only those that change places most."""
_LABELS_OF_MANY = 8
_LONGEST_LABEL = 26


@dataclass(frozen=True)
class JudgeColours:
    """One colour a judge, as CSS, the first for the best."""

    colours: tuple[str, ...]

    def of(self, place: int) -> str:
        """The colour of the judge at this place; beyond the last they begin again."""
        return self.colours[place % len(self.colours)]


LIGHT_JUDGES = JudgeColours(("#1f6f5f", "#b3651c", "#5a6fb0", "#9a4f78", "#7c7a70"))
DARK_JUDGES = JudgeColours(("#5fc0a8", "#e0a35e", "#93a6e6", "#d78cb2", "#a9a69b"))
_SYMBOLS = ("circle", "diamond", "square", "triangle-up", "x")


def accuracy_chart(
    reports: Sequence[JudgeReport], kind: Generalization, colours: JudgeColours, palette: Palette
) -> go.Figure:
    """Accuracy on the five sets of a kind with 95 % intervals, one colour and one shape a judge."""
    figure = go.Figure()
    spread = 0.6 / max(1, len(reports) - 1)
    for place, report in enumerate(reports):
        known = [
            (row, report.accuracies[subset])
            for row, subset in enumerate(TABLE[kind])
            if subset in report.accuracies
        ]
        offset = spread * (place - (len(reports) - 1) / 2)
        figure.add_scatter(
            name=plain_label(report.judge),
            x=[100 * found.value for _, found in known],
            y=[row + offset for row, _ in known],
            mode="markers",
            marker={"color": colours.of(place), "size": 9, "symbol": _SYMBOLS[place % len(_SYMBOLS)]},
            error_x={
                "type": "data",
                "symmetric": False,
                "array": [100 * (found.high - found.value) for _, found in known],
                "arrayminus": [100 * (found.value - found.low) for _, found in known],
                "color": colours.of(place),
                "thickness": 1.5,
                "width": 0,
            },
            customdata=[[100 * found.low, 100 * found.high, SET_NAMES[row], found.n] for row, found in known],
            hovertemplate=f"{plain_label(report.judge)}, %{{customdata[2]}}: %{{x:.1f}} % "
            "(%{customdata[0]:.1f} to %{customdata[1]:.1f}, %{customdata[3]} questions)<extra></extra>",
        )
    figure.add_vline(x=50, line={"color": palette.muted, "dash": "dot", "width": 1})
    figure.update_xaxes(range=[0, 100], dtick=25, ticksuffix=" %", fixedrange=True, zeroline=False)
    figure.update_yaxes(
        range=[len(SET_NAMES) - 0.5, -0.5],
        tickvals=list(range(len(SET_NAMES))),
        ticktext=SET_NAMES,
        showgrid=False,
        zeroline=False,
        fixedrange=True,
    )
    return _finished(figure, len(SET_NAMES) * _ROW_HEIGHT + 90)


def calibration_chart(reports: Sequence[JudgeReport], colours: JudgeColours, palette: Palette) -> go.Figure:
    """A reliability diagram: how often A is right where the judge gives A that probability."""
    figure = go.Figure()
    figure.add_scatter(
        x=[0, 100],
        y=[0, 100],
        mode="lines",
        line={"color": palette.muted, "dash": "dot", "width": 1},
        hoverinfo="skip",
        showlegend=False,
    )
    for place, report in enumerate(reports):
        total = max(1, sum(item.n for item in report.reliability))
        figure.add_scatter(
            name=plain_label(report.judge),
            x=[100 * item.mean_prob for item in report.reliability],
            y=[100 * item.share for item in report.reliability],
            mode="lines+markers",
            line={"color": colours.of(place), "width": 1.5},
            # The area of a marker is the share of verdicts in its bin.
            marker={
                "size": [6 + 26 * (item.n / total) ** 0.5 for item in report.reliability],
                "opacity": 0.75,
            },
            customdata=[[item.n] for item in report.reliability],
            hovertemplate=f"{plain_label(report.judge)}: says %{{x:.0f}} %, right in %{{y:.0f}} % of "
            "%{customdata[0]}<extra></extra>",
        )
    figure.update_xaxes(
        range=[-2, 102],
        dtick=25,
        ticksuffix=" %",
        title="probability given to A",
        fixedrange=True,
        zeroline=False,
    )
    figure.update_yaxes(
        range=[-4, 104], dtick=25, ticksuffix=" %", title="A is right", fixedrange=True, zeroline=False
    )
    return _finished(figure, 380)


def agreement_chart(compared: Agreement, palette: Palette) -> go.Figure:
    """Ranks under the first judge (across) and the second (up), best at the top right.

    Agreement is the dotted diagonal.
    """
    n = max((max(item.first, item.second) for item in compared.llms), default=1)
    figure = go.Figure()
    figure.add_scatter(
        x=[0, n + 1],
        y=[0, n + 1],
        mode="lines",
        line={"color": palette.muted, "dash": "dot", "width": 1},
        hoverinfo="skip",
    )
    named = _named(compared.llms)
    figure.add_scatter(
        x=[item.first for item in compared.llms],
        y=[item.second for item in compared.llms],
        mode="markers+text",
        marker={"size": 9, "color": [_colour(item.change, palette) for item in compared.llms]},
        text=[_short(item.title) if item in named else "" for item in compared.llms],
        textposition=[_label_place(item, n) for item in compared.llms],
        textfont={"size": 11},
        customdata=[
            [plain_label(item.title), 100 * item.first_win_rate, 100 * item.second_win_rate]
            for item in compared.llms
        ],
        hovertemplate="%{customdata[0]}: rank %{x} (%{customdata[1]:.1f} %) → rank %{y} "
        "(%{customdata[2]:.1f} %)<extra></extra>",
        cliponaxis=False,
    )
    ticks = list(range(1, n + 1)) if n <= _LABELLED else [1, *range(5, n + 1, 5)]
    figure.update_xaxes(
        range=[n + 0.6, 0.4],
        tickvals=ticks,
        title=f"rank under {plain_label(compared.first)}",
        fixedrange=True,
        zeroline=False,
        showgrid=False,
    )
    figure.update_yaxes(
        range=[n + 0.6, 0.4],
        tickvals=ticks,
        title=f"rank under {plain_label(compared.second)}",
        fixedrange=True,
        zeroline=False,
        showgrid=False,
    )
    figure.update_layout(showlegend=False)
    return _finished(figure, 460, legend=False)


def _named(llms: Sequence[RankPair]) -> set[RankPair]:
    if len(llms) <= _LABELLED:
        return set(llms)
    return set(sorted(llms, key=lambda item: -abs(item.change))[:_LABELS_OF_MANY])


def _label_place(item: RankPair, n: int) -> str:
    """Towards the middle of the figure, where there is room."""
    return "middle left" if item.first <= n / 2 else "middle right"


def _colour(change: int, palette: Palette) -> str:
    return palette.up if change > 0 else palette.down if change < 0 else palette.muted


def _short(text: str) -> str:
    plain = plain_label(text)
    return plain if len(plain) <= _LONGEST_LABEL else plain[: _LONGEST_LABEL - 1] + "…"


def _finished(figure: go.Figure, height: int, *, legend: bool = True) -> go.Figure:
    figure.update_layout(
        height=height,
        margin={"l": 8, "r": 16, "t": 44 if legend else 12, "b": 8},
        legend={"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom", "itemsizing": "constant"},
    )
    return figure
