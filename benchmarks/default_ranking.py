"""How well the default ranking ∅ foretells how people rate LLMs whose ratings it was not fitted on.

    python -m benchmarks.default_ranking [--corpora DIR] [--encoded FILE.npz] [--output FILE.md]

Every rated LLM in turn is taken for unrated; what the direction fitted on the others says of it is compared
with LMArena's rating. Beside it: AlpacaEval's official win rates, the direction fitted without them, and of
current LLMs the direction fitted without their ratings.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray

from benchmarks._report import Report
from crm.cli_runner import run_cli
from crm.data.pairs import MODERN_ANNOTATIONS
from crm.embedded.representation import representation
from crm.errors import CRMError
from crm.paths import CORPORA
from crm.training.embedded import encoded_pairs
from crm.training.encoded import ResponseEncoder
from crm.training.general import (
    Verdicts,
    fit_general,
    general_data,
    general_llms,
    leave_duels_out,
    leave_ratings_out,
    read_general_pairs,
    read_human_ratings,
    read_rated_responses,
    read_typical_verdicts,
)
from leaderboard.statistics.correlation import correlate

app = typer.Typer(add_completion=False)


@app.command()
def measure(
    corpora: Annotated[Path, typer.Option(help="Folder with alpaca_eval/.")] = CORPORA,
    instructions: Annotated[int, typer.Option(help="Instructions drawn, as in training.")] = 300,
    prompts: Annotated[int, typer.Option(help="Prompts drawn of each source of current LLMs.")] = 60,
    encoded: Annotated[Path | None, typer.Option(help="Encoded responses, as kept by a training.")] = None,
    output: Annotated[Path | None, typer.Option(help="Markdown file for the table.")] = None,
) -> None:
    """Print the table."""
    encode = ResponseEncoder(representation(), encoded)
    pairs = read_general_pairs(corpora, instructions, seed=0)
    difference = encoded_pairs([item.pair for item in pairs], encode)[0]
    typical, prob = read_typical_verdicts(MODERN_ANNOTATIONS, corpora, "train")
    verdicts = Verdicts(encoded_pairs(typical, encode)[0], prob)
    llms = general_llms(pairs)
    ratings = read_human_ratings(corpora, llms)
    rated = read_rated_responses(corpora, prompts, seed=0)
    duels = rated.duels(encode(rated.answers)[0])
    data = general_data(pairs, difference, ratings, verdicts, duels)
    unknown = replace(ratings, official=np.full_like(ratings.official, np.nan))
    untaught = fit_general(replace(data, duels=None))
    of_alpaca = ("AlpacaEval", llms, ratings.rating)
    overall = rated.rating[:, 0]
    of_current = ("current LLMs", rated.llms, overall)
    rows = (
        _row(
            *of_alpaca,
            "fitted, with the LLM's own official win rates",
            leave_ratings_out(data, ratings),
        ),
        _row(*of_alpaca, "fitted without official win rates", leave_ratings_out(data, unknown)),
        _row(*of_alpaca, "official length-controlled win rate", ratings.official[:, 0]),
        _row(*of_alpaca, "official win rate", ratings.official[:, 1]),
        _row(*of_current, "fitted", leave_duels_out(data, overall)),
        _row(
            *of_current,
            "fitted without ratings of current LLMs",
            np.array([duels.foretold(untaught, llm, overall) for llm in range(len(overall))]),
        ),
    )
    Report(
        title="The default ranking ∅ and people's votes",
        columns=("LLMs of", "ranking by", "LLMs", "Spearman", "Kendall", "NDCG"),
        rows=rows,
        note=f"Against LMArena's ratings, each LLM's left out in turn. AlpacaEval: mean probability over "
        f"{instructions} instructions. Current LLMs: the rating that fits an LLM's duels with the others "
        f"best, on up to {prompts} prompts of each of six sources.",
    ).finish(output)


def _row(
    corpus: str, llms: tuple[str, ...], rating: NDArray[np.float64], name: str, predicted: NDArray[np.float64]
) -> tuple[str, ...]:
    known = np.isfinite(rating) & np.isfinite(predicted)
    names = [llm for llm, is_known in zip(llms, known, strict=True) if is_known]
    ours = dict(zip(names, (-predicted[known]).tolist(), strict=True))
    human = dict(zip(names, (-rating[known]).tolist(), strict=True))
    found = correlate(ours, human)
    return corpus, name, f"{len(names)}", f"{found.spearman:.3f}", f"{found.tau:.3f}", f"{found.ndcg:.3f}"


if __name__ == "__main__":
    run_cli(app, CRMError)
