"""Rankings and verdicts against those of a careful reader, on LLMs of 2023-24 and on current ones.

    python -m benchmarks.gold_rankings [--crm NAME] [--gold FOLDER] [--corpora DIR] [--output FILE.md]

The gold verdicts were given pair by pair by a strong LLM that read both texts without knowing the LLMs: 10
LLMs on 32 queries of AlpacaEval, and 10 current LLMs on 18 opinion queries; without a criterion they say
which a typical person would prefer. Nothing is trained on them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
import typer
from scipy.stats import kendalltau, spearmanr

from benchmarks._report import Report
from crm.cli_runner import run_cli
from crm.criteria import CriteriaSet
from crm.data.corpora import CorporaTexts
from crm.errors import CRMError
from crm.paths import CORPORA
from crm.protocol import Pair, Question, win_rate_error
from crm.registry import get_crm
from leaderboard.statistics.ranking import rank_llms

app = typer.Typer(add_completion=False)

FILES: Mapping[str, tuple[str, str, str]] = {
    "LLMs of 2023-24": ("ranking_gold.csv", "alpaca_eval", "instruction_index"),
    "current LLMs": ("ranking_gold_modern.csv", "syco_bench", "prompt_id"),
}
_UNDECIDED = 0.5


def error_beyond_the_draw(prob: pd.DataFrame, true: pd.DataFrame) -> float:
    """Return by how much win rates miss the true ones beyond what the draw of queries explains.

    Args:
        prob: Verdicts ``[L, Q]``, of which the judge counts which side is ahead.
        true: The reader's, from 0 to 1 ``[L, Q]``.

    Returns:
        Standard deviation in log-odds: the mean squared difference less its squared standard error over
        queries, by the squared slope of a win rate in log-odds.
    """
    ahead = (np.sign(prob.to_numpy() - _UNDECIDED) + 1) / 2
    missed = ahead - true.to_numpy()
    by_draw = missed.var(axis=1, ddof=1) / missed.shape[1]
    slope = ahead.mean(axis=1) * (1 - ahead.mean(axis=1))
    beyond = float((missed.mean(axis=1) ** 2 - by_draw).mean() / (slope**2).mean())
    return float(np.sqrt(max(0.0, beyond)))


def kendall_of_random_errors(true: pd.DataFrame, right: float, draws: int = 200) -> float:
    """Return the mean Kendall correlation of one whose verdicts are right so often, and else wrong by chance.

    Where the reader is undecided, so is the coin: verdicts for either side count as often.

    Args:
        true: The reader's verdicts, from 0 to 1 ``[L, Q]``.
        right: Share of verdicts.
        draws: Of errors.
    """
    random, given = np.random.default_rng(0), true.to_numpy()
    found = []
    for _ in range(draws):
        verdicts = np.where(given == _UNDECIDED, random.integers(0, 2, given.shape), given)
        said = np.where(random.random(given.shape) < right, verdicts, 1 - verdicts)
        found.append(float(kendalltau(said.mean(axis=1), given.mean(axis=1)).statistic))
    return float(np.mean(found))


@app.command()
def measure(
    crm: Annotated[str, typer.Option(help="Judge, by its name.")] = "embedded",
    gold: Annotated[Path, typer.Option(help="Folder of the gold verdicts.")] = CORPORA.parent / "preferences",
    corpora: Annotated[Path, typer.Option(help="Folder with alpaca_eval/ and modern_llms/.")] = CORPORA,
    output: Annotated[Path | None, typer.Option(help="Markdown file for the table.")] = None,
) -> None:
    """Print the table."""
    judge, texts = get_crm(crm), CorporaTexts(corpora)
    rows: list[tuple[str, ...]] = []
    for title, (name, source, key) in FILES.items():
        path = gold / name
        if not path.is_file():
            raise CRMError(f"There is no file {path}: check the folder of the gold verdicts.")
        table = pd.read_csv(path, keep_default_na=False)
        taus, at_random, right, covered = [], [], [], []
        for criterion, judged in table.groupby("criterion"):
            criteria = CriteriaSet.of([str(criterion)]) if criterion else CriteriaSet()
            questions = []
            for index, llm, baseline in zip(
                judged[key].tolist(), judged["llm"], judged["baseline"], strict=True
            ):
                query, response = texts.response(source, index, llm)
                questions.append(
                    Question(criteria, Pair(query, response, texts.response(source, index, baseline)[1]))
                )
            part = judged.assign(
                prob=[verdict.prob_a for verdict in judge.judge(questions)],
                words=[len(question.pair.response_a.split()) for question in questions],
            )
            true, prob, words = (
                part.pivot(index="llm", columns=key, values=value)  # noqa: PD010
                for value in ("verdict", "prob", "words")
            )
            one = np.zeros(prob.shape[1], dtype=int)
            error = win_rate_error(judge, criteria)
            ranking = rank_llms(list(prob.index), prob.to_numpy(), one, one, ["all"], judge_error=error)
            truth = true.mean(axis=1)[list(ranking.llms)].to_numpy()
            tau = float(kendalltau(ranking.win_rate, truth).statistic)
            decided = part[part["verdict"] != _UNDECIDED]
            agrees = (decided["prob"] > _UNDECIDED) == (decided["verdict"] > _UNDECIDED)
            within = (ranking.ci_low <= truth) & (truth <= ranking.ci_high)
            length = words.mean(axis=1)[list(ranking.llms)].to_numpy()
            by_length = (
                f"{float(np.asarray(spearmanr(rate, length).statistic)):.2f}"
                for rate in (truth, ranking.win_rate)
            )
            beyond = f"{error_beyond_the_draw(prob, true):.2f}"
            by_chance = kendall_of_random_errors(true, float(agrees.mean()))
            figures = f"{tau:.2f}", f"{by_chance:.2f}", f"{agrees.mean():.3f}", f"{within.mean():.2f}"
            rows.append((title, str(criterion) or "∅", *figures, beyond, *by_length))
            if criterion:
                taus.append(tau)
                at_random.append(by_chance)
                right += agrees.tolist()
                covered += within.tolist()
        rows.append(
            (
                *(title, "all wishes", f"{np.mean(taus):.2f}", f"{np.mean(at_random):.2f}"),
                *(f"{np.mean(right):.3f}", f"{np.mean(covered):.2f}", "", "", ""),
            )
        )
    Report(
        title="Rankings against a careful reader's",
        columns=(
            *("LLMs", "criterion", "Kendall", "by random errors", "verdicts right", "intervals that cover"),
            "judge's error",
            *("reader's with length", "judge's with length"),
        ),
        rows=tuple(rows),
        note=f"Judge: {crm}. Kendall between the rankings of 10 LLMs by win rate, and that of one who is "
        "right as often but errs at random; verdicts but for those that are undecided; how often the 95 % "
        "interval of a win rate holds the reader's; by what win rates miss the reader's beyond the draw of "
        "queries, as a standard deviation in log-odds; Spearman of the reader's and of the judge's win rates "
        "with the mean number of words.",
    ).finish(output)


if __name__ == "__main__":
    run_cli(app, CRMError)
