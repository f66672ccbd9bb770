"""How the length-controlled win rates agree with AlpacaEval's official ones, from the same preferences.

    python -m benchmarks.length_control [--corpora DIR] [--output FILE.md]

The preferences of AlpacaEval's GPT-4 judge go into the regression of ``length_control``, with
lengths in characters as upstream; the win rates that come out are compared with the official column. Beside
them stands the regression with effects of each LLM's own, and what no control at all would reach.
"""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import pyarrow.parquet as pq
import typer
from numpy.typing import NDArray

from benchmarks._report import Report
from crm.cli_runner import run_cli
from crm.errors import CRMError
from crm.paths import CORPORA
from leaderboard.errors import LeaderboardError
from leaderboard.statistics.correlation import correlate
from leaderboard.statistics.style_control import Control, StyleCounts, control_terms, fit_controlled

app = typer.Typer(add_completion=False)

_PREFERENCES = "preferences_gpt4_turbo.parquet"
_OFFICIAL = "leaderboard_alpaca_eval_2.csv"


@dataclass(frozen=True, eq=False)
class OfficialResults:
    """AlpacaEval's preferences and what upstream makes of them.

    Attributes:
        llms: L names, without the baseline.
        preference: [L, Q], probability that the LLM's response is preferred.
        terms: [L, Q, 1], of the control for length.
        win_rate: [L], official, in percent.
        controlled: [L], official with controlled length, in percent.
    """

    llms: tuple[str, ...]
    preference: NDArray[np.float64]
    terms: NDArray[np.float64]
    win_rate: NDArray[np.float64]
    controlled: NDArray[np.float64]


def read_official_results(corpora: Path) -> OfficialResults:
    """Read the LLMs that have preferences, responses and an official win rate."""
    folder = corpora / "alpaca_eval"
    rows = pq.read_table(folder / _PREFERENCES).to_pylist()
    baseline = next(row["baseline"] for row in rows)
    with (folder / _OFFICIAL).open(newline="", encoding="utf-8") as lines:
        official = {row[""]: row for row in csv.DictReader(lines)}
    instructions, baseline_lengths = _lengths(folder, baseline)
    preferences: dict[str, NDArray[np.float64]] = {}
    for row in rows:
        if row["model"] in official and row["model"] != baseline:
            values = preferences.setdefault(row["model"], np.full(len(instructions), np.nan))
            values[row["instruction_index"]] = row["preference"]
    llms = tuple(preferences)
    lengths = []
    for llm in llms:
        by_instruction = dict(zip(*_lengths(folder, llm), strict=True))
        lengths.append([by_instruction[instruction] for instruction in instructions])
    counts = np.array([*lengths, baseline_lengths], dtype=np.float64)
    nothing = np.zeros_like(counts)
    style = StyleCounts(counts, nothing, nothing, nothing, np.ones_like(counts, dtype=np.bool_))
    return OfficialResults(
        llms,
        np.stack([preferences[llm] for llm in llms]),
        control_terms(style, Control.LENGTH),
        np.array([float(official[llm]["win_rate"]) for llm in llms]),
        np.array([float(official[llm]["length_controlled_winrate"]) for llm in llms]),
    )


def _lengths(folder: Path, llm: str) -> tuple[list[str], list[int]]:
    """Instructions and lengths of the responses, in characters."""
    rows = json.loads((folder / "results" / llm / "model_outputs.json").read_text(encoding="utf-8"))
    return [row["instruction"] for row in rows], [len(row["output"]) for row in rows]


def separately(results: OfficialResults) -> NDArray[np.float64]:
    """Return win rates [L] in percent of regressions in which each LLM has an effect of its own."""
    return np.array(
        [
            100 * float(fit_controlled(results.preference[[row]], results.terms[[row]]).win_rate[0])
            for row in range(len(results.llms))
        ]
    )


@app.command()
def measure(
    corpora: Annotated[Path, typer.Option(help="Folder with alpaca_eval/.")] = CORPORA,
    output: Annotated[Path | None, typer.Option(help="Markdown file for the table.")] = None,
) -> None:
    """Print the table."""
    results = read_official_results(corpora)
    fit = fit_controlled(results.preference, results.terms)
    Report(
        title="Length-controlled win rates against AlpacaEval's official ones",
        columns=("win rates", "Spearman", "Kendall", "mean difference", "correlation of changes"),
        rows=(
            ("no control", *_agreement(results, results.win_rate)),
            ("an effect of length for each LLM", *_agreement(results, separately(results))),
            ("one effect of length for all (what is built in)", *_agreement(results, 100 * fit.win_rate)),
        ),
        note=f"{len(results.llms)} LLMs, {results.preference.shape[1]} instructions. Mean difference: "
        "absolute, in percentage points. Correlation of changes: Pearson, between what the control and what "
        "upstream adds to the win rate of each LLM. Upstream's model has two more terms: a difficulty of "
        "each instruction, and responses made to game it.",
    ).finish(output)


def _agreement(results: OfficialResults, win_rate: NDArray[np.float64]) -> tuple[str, str, str, str]:
    found = correlate(
        dict(zip(results.llms, (-win_rate).tolist(), strict=True)),
        dict(zip(results.llms, (-results.controlled).tolist(), strict=True)),
    )
    moved, official = win_rate - results.win_rate, results.controlled - results.win_rate
    same = "–" if np.allclose(moved, 0) else f"{np.corrcoef(moved, official)[0, 1]:.3f}"
    difference = float(np.mean(np.abs(win_rate - results.controlled)))
    return f"{found.spearman:.3f}", f"{found.tau:.3f}", f"{difference:.1f}", same


if __name__ == "__main__":
    run_cli(app, CRMError, LeaderboardError)
