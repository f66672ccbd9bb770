"""Plotly figures of the page on judges; colours come from the caller, fonts and background from the theme."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from crm.evaluation.report import JudgeReport
from crm.evaluation.sets import TABLE, Generalization
from leaderboard.judges import Agreement, RankPair
from leaderboard.render.chart_style import Palette, label, lay_out, muted_line
from leaderboard.render.judge_tables import SET_NAMES

_ROW_HEIGHT = 46
_LABELLED = 14
"""LLMs up to which a scatter names each of them; of more, only those that change places most."""
_LABELS_OF_MANY = 8
_MAX_NAME = 26


_SYMBOLS = ("circle", "diamond", "square", "triangle-up", "x")


def accuracy_chart(reports: Sequence[JudgeReport], kind: Generalization, palette: Palette) -> go.Figure:
    """Draw accuracy on the five sets of a kind with 95 % intervals, one colour and one shape a judge."""
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
            name=label(report.judge),
            x=[100 * found.value for _, found in known],
            y=[row + offset for row, _ in known],
            mode="markers",
            marker={"color": palette.of_series(place), "size": 9, "symbol": _SYMBOLS[place % len(_SYMBOLS)]},
            error_x={
                "type": "data",
                "symmetric": False,
                "array": [100 * (found.high - found.value) for _, found in known],
                "arrayminus": [100 * (found.value - found.low) for _, found in known],
                "color": palette.of_series(place),
                "thickness": 1.5,
                "width": 0,
            },
            customdata=[[100 * found.low, 100 * found.high, SET_NAMES[row], found.n] for row, found in known],
            hovertemplate=f"{label(report.judge)}, %{{customdata[2]}}: %{{x:.1f}} % "
            "(%{customdata[0]:.1f} to %{customdata[1]:.1f}, %{customdata[3]} questions)<extra></extra>",
        )
    figure.add_vline(x=50, line=muted_line(palette))
    figure.update_xaxes(range=[0, 100], dtick=25, ticksuffix=" %", fixedrange=True, zeroline=False)
    figure.update_yaxes(
        range=[len(SET_NAMES) - 0.5, -0.5],
        tickvals=list(range(len(SET_NAMES))),
        ticktext=SET_NAMES,
        showgrid=False,
        zeroline=False,
        fixedrange=True,
    )
    return _with_legend(figure, len(SET_NAMES) * _ROW_HEIGHT + 90)


def calibration_chart(reports: Sequence[JudgeReport], palette: Palette) -> go.Figure:
    """Draw a reliability diagram: how often A is right where the judge gives A that probability."""
    figure = go.Figure()
    figure.add_scatter(
        x=[0, 100], y=[0, 100], mode="lines", line=muted_line(palette), hoverinfo="skip", showlegend=False
    )
    for place, report in enumerate(reports):
        total = max(1, sum(item.n for item in report.reliability))
        figure.add_scatter(
            name=label(report.judge),
            x=[100 * item.mean_prob for item in report.reliability],
            y=[100 * item.share for item in report.reliability],
            mode="lines+markers",
            line={"color": palette.of_series(place), "width": 1.5},
            # The area of a marker is the share of verdicts in its bin.
            marker={
                "size": [6 + 26 * (item.n / total) ** 0.5 for item in report.reliability],
                "opacity": 0.75,
            },
            customdata=[[item.n] for item in report.reliability],
            hovertemplate=f"{label(report.judge)}: says %{{x:.0f}} %, right in %{{y:.0f}} % of "
            "%{customdata[0]}<extra></extra>",
        )
    percent = {"dtick": 25, "ticksuffix": " %", "fixedrange": True, "zeroline": False}
    figure.update_xaxes(range=[-2, 102], title="probability given to A", **percent)
    figure.update_yaxes(range=[-4, 104], title="A is right", **percent)
    return _with_legend(figure, 380)


def agreement_chart(compared: Agreement, palette: Palette) -> go.Figure:
    """Draw ranks under the first judge (across) and the second (up), best at the top right.

    Agreement is the dotted diagonal.
    """
    n = max((max(item.first, item.second) for item in compared.llms), default=1)
    figure = go.Figure()
    figure.add_scatter(x=[0, n + 1], y=[0, n + 1], mode="lines", line=muted_line(palette), hoverinfo="skip")
    named = _named(compared.llms)
    figure.add_scatter(
        x=[item.first for item in compared.llms],
        y=[item.second for item in compared.llms],
        mode="markers+text",
        marker={"size": 9, "color": [palette.of_change(item.change) for item in compared.llms]},
        text=[label(item.title, _MAX_NAME) if item in named else "" for item in compared.llms],
        textposition=[_label_place(item, n) for item in compared.llms],
        textfont={"size": 11},
        customdata=[
            [label(item.title), 100 * item.first_win_rate, 100 * item.second_win_rate]
            for item in compared.llms
        ],
        hovertemplate="%{customdata[0]}: rank %{x} (%{customdata[1]:.1f} %) → rank %{y} "
        "(%{customdata[2]:.1f} %)<extra></extra>",
        cliponaxis=False,
    )
    ticks = list(range(1, n + 1)) if n <= _LABELLED else [1, *range(5, n + 1, 5)]
    for update, judge in ((figure.update_xaxes, compared.first), (figure.update_yaxes, compared.second)):
        update(range=[n + 0.6, 0.4], tickvals=ticks, title=f"rank under {label(judge)}")
        update(fixedrange=True, zeroline=False, showgrid=False)
    figure.update_layout(showlegend=False)
    return lay_out(figure, 460, top=12)


def _named(llms: Sequence[RankPair]) -> set[RankPair]:
    if len(llms) <= _LABELLED:
        return set(llms)
    return set(sorted(llms, key=lambda item: -abs(item.change))[:_LABELS_OF_MANY])


def _label_place(item: RankPair, n: int) -> str:
    """Return the side towards the middle of the figure, where there is room."""
    return "middle left" if item.first <= n / 2 else "middle right"


def _with_legend(figure: go.Figure, height: int) -> go.Figure:
    figure.update_layout(
        legend={"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom", "itemsizing": "constant"}
    )
    return lay_out(figure, height, top=44)
