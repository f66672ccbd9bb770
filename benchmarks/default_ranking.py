"""How well the default ranking ∅ predicts the official AlpacaEval 2 win rates of LLMs it was not fitted on.

    python -m benchmarks.default_ranking [--corpora DIR] [--output FILE.md]

Every eighth of the LLMs in turn is left out, verdicts and official win rate alike; what the direction
fitted on the others predicts for them is compared with the official win rates.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from benchmarks._report import Report
from crm.cli_runner import run_cli
from crm.embedded.representation import representation
from crm.errors import CRMError
from crm.paths import CORPORA
from crm.training.embedded import feature_differences
from crm.training.general import (
    GeneralData,
    GeneralOptions,
    general_data,
    leave_llms_out,
    official_win_rates,
    read_general_pairs,
)
from leaderboard.statistics.correlation import correlate

app = typer.Typer(add_completion=False)


@app.command()
def measure(
    corpora: Annotated[Path, typer.Option(help="Folder with alpaca_eval/.")] = CORPORA,
    instructions: Annotated[int, typer.Option(help="Instructions drawn, as in training.")] = 200,
    folds: Annotated[int, typer.Option(help="Parts that the LLMs are left out in.")] = 8,
    output: Annotated[Path | None, typer.Option(help="Markdown file for the table.")] = None,
) -> None:
    """Print the table."""
    pairs = read_general_pairs(corpora, instructions, seed=0)
    difference = feature_differences([item.pair for item in pairs], representation())
    data = general_data(pairs, difference, official_win_rates(corpora))
    judges = (
        ("verdicts and official win rates (what is shipped)", GeneralOptions()),
        ("verdicts alone", GeneralOptions(win_rates=0.0)),
    )
    Report(
        title="The default ranking ∅ on LLMs it was not fitted on",
        columns=("fitted on", "Spearman", "Kendall", "NDCG"),
        rows=tuple(
            (name, *_agreement(data, leave_llms_out(data, folds, options=options)))
            for name, options in judges
        ),
        note=f"Against the official win rates of {int(np.isfinite(data.win_rate).sum())} LLMs, left out in "
        f"{folds} parts; mean probability over {instructions} instructions.",
    ).finish(output)


def _agreement(data: GeneralData, predicted: np.ndarray) -> tuple[str, str, str]:
    known = np.isfinite(data.win_rate) & np.isfinite(predicted)
    names = [llm for llm, is_known in zip(data.llms, known, strict=True) if is_known]
    ours = dict(zip(names, (-predicted[known]).tolist(), strict=True))
    official = dict(zip(names, (-data.win_rate[known]).tolist(), strict=True))
    found = correlate(ours, official)
    return f"{found.spearman:.3f}", f"{found.tau:.3f}", f"{found.ndcg:.3f}"


if __name__ == "__main__":
    run_cli(app, CRMError)
