"""Rankings of current LLMs under wishes nobody trained on, against two readers who graded the LLMs.

    python -m benchmarks.graded_llms [--graded FILE.jsonl] [--crm NAME] [--corpora DIR] [--output FILE.md]

A line of ``benchmarks/wishes/graded_llms.jsonl`` is a wish as people type it, seven LLMs, eight prompts that
all of them answered, of which no training saw an answer, and how well each LLM gives what is wished for, from
0 to 10: two readers, apart from each other and without knowing the LLMs, read all 56 answers of a wish. The
judge ranks the seven by the mean probability to be preferred to another one's answer.

By ``graded_llms_development.jsonl``, 36 other wishes graded likewise, also for LLMs of 2023-24 and for
riddles and essays, the judge's settings may be chosen; the first file only says how good it then is.
``graded_styles.jsonl`` has a reader's grades for 90 single styles: what is read rightly may be misjudged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, permutations
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray
from scipy.stats import kendalltau, spearmanr

from benchmarks._report import Report
from crm.cli_runner import run_cli
from crm.criteria import CriteriaSet
from crm.data.corpora import CorporaTexts, read_json_lines
from crm.errors import CRMError
from crm.paths import CORPORA
from crm.protocol import CRM, Pair, Question
from crm.registry import get_crm

app = typer.Typer(add_completion=False)

GRADED = Path(__file__).with_name("wishes") / "graded_llms.jsonl"
_APART = 1.0
"""Grades by which two LLMs must differ, to both readers in the same direction: so their order is known."""
_SECOND = 2
_DRAWS = 2000


@dataclass(frozen=True)
class GradedWish:
    """A wish and how well L LLMs meet it.

    Attributes:
        prompts: That all LLMs answered, by their ids in the source, or numbers of AlpacaEval.
        grades: From 0 to 10, of each reader ``[R, L]``.
    """

    wish: str
    source: str
    prompts: tuple[str | int, ...]
    llms: tuple[str, ...]
    grades: NDArray[np.float64]

    def known_orders(self) -> list[tuple[int, int]]:
        """Return the pairs of LLMs of which all readers grade the first clearly better."""
        return [
            (one, other)
            for one, other in permutations(range(len(self.llms)), 2)
            if (self.grades[:, one] > self.grades[:, other]).all()
            and (self.grades[:, one] - self.grades[:, other]).mean() >= _APART
        ]


def read_graded_wishes(path: Path) -> list[GradedWish]:
    """Read a file of graded wishes; a CRMError names the first row that is not as described."""
    wishes = []
    for number, row in read_json_lines(path):
        try:
            grades = np.array(row["grades"], dtype=np.float64)
            llms, prompts = tuple(row["llms"]), tuple(row["prompts"])
            if grades.shape[1:] != (len(llms),) or not prompts:
                raise ValueError("there must be a grade of every reader for every LLM, and prompts")
            wishes.append(GradedWish(row["wish"], row["source"], prompts, llms, grades))
        except (KeyError, TypeError, ValueError) as error:
            raise CRMError(f"{path.name}, row {number}: {error}.") from error
    return wishes


def answers_of(wish: GradedWish, texts: CorporaTexts) -> list[list[tuple[str, str]]]:
    """Return the query and the answer of every LLM to each prompt."""
    return [[texts.response(wish.source, prompt, llm) for llm in wish.llms] for prompt in wish.prompts]


def preferred(
    crm: CRM, wish: GradedWish, answers: Sequence[Sequence[tuple[str, str]]]
) -> NDArray[np.float64]:
    """Return the mean probability that an LLM's answer is preferred to another one's ``[L]``."""
    criteria, questions = CriteriaSet.of([wish.wish]), []
    pairs = list(combinations(range(len(wish.llms)), 2))
    for of_prompt in answers:
        for one, other in pairs:
            query, text = of_prompt[one]
            questions.append(Question(criteria, Pair(query, text, of_prompt[other][1])))
    prob = np.array([verdict.prob_a for verdict in crm.judge(questions)]).reshape(-1, len(pairs)).mean(axis=0)
    won = np.zeros(len(wish.llms))
    for (one, other), share in zip(pairs, prob.tolist(), strict=True):
        won[one] += share
        won[other] += 1.0 - share
    return won / (len(wish.llms) - 1)


def _tau(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    return float(kendalltau(one, other).statistic)


def _spearman(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    return float(np.asarray(spearmanr(one, other).statistic))


def measured(crm: CRM, wishes: Sequence[GradedWish], texts: CorporaTexts) -> list[tuple[str, ...]]:
    """Return a row for each wish, and one for all."""
    rows: list[tuple[str, ...]] = []
    found: list[tuple[float, float, int, int, int, float, float]] = []
    for wish in wishes:
        answers = answers_of(wish, texts)
        won, orders, grades = preferred(crm, wish, answers), wish.known_orders(), wish.grades.mean(axis=0)
        length = np.mean([[len(text.split()) for _, text in of_prompt] for of_prompt in answers], axis=0)
        by_length = _spearman(won, length), _spearman(grades, length)
        right = sum(bool(won[one] > won[other]) for one, other in orders)
        agrees_with = [_tau(one, other) for one, other in combinations(wish.grades, 2)]
        agree = float(np.mean(agrees_with)) if agrees_with else np.nan
        tau, place = _tau(won, grades), int((grades > grades[won.argmax()]).sum()) + 1
        found.append((agree, tau, right, len(orders), place, *by_length))
        agreed = (_or_dash(agree), f"{tau:.2f}", f"{right} of {len(orders)}", str(place))
        rows.append((wish.wish, *agreed, *(f"{each:.2f}" for each in by_length)))
    agrees, taus, rights, known, places, judge_by_length, readers_by_length = np.array(found).T
    share = f"{rights.sum():.0f} of {known.sum():.0f} ({rights.sum() / known.sum():.3f})"
    first = f"{(places == 1).sum()} first, {(places <= _SECOND).sum()} first or second"
    lengths = (f"|{np.median(np.abs(each)):.2f}|" for each in (judge_by_length, readers_by_length))
    low, high = _interval(taus)
    tau_of_all = f"{taus.mean():.2f} ({low:.2f} to {high:.2f})"
    return [*rows, ("all", _or_dash(agrees.mean()), tau_of_all, share, first, *lengths)]


def _or_dash(agree: float) -> str:
    """Return how well readers agree; a dash where there is one."""
    return "–" if np.isnan(agree) else f"{agree:.2f}"


def _interval(values: NDArray[np.float64]) -> tuple[float, float]:
    """Return the 95 % interval of a mean over draws of the wishes (percentile bootstrap)."""
    draws = np.random.default_rng(0).choice(values, (_DRAWS, len(values))).mean(axis=1)
    low, high = np.quantile(draws, (0.025, 0.975)).tolist()
    return low, high


@app.command()
def main(
    crm: Annotated[str, typer.Option(help="Judge, by its name.")] = "embedded",
    graded: Annotated[Path, typer.Option(help="Wishes and grades.")] = GRADED,
    corpora: Annotated[Path, typer.Option(help="Folder with modern_llms/.")] = CORPORA,
    output: Annotated[Path | None, typer.Option(help="Also write the table as Markdown.")] = None,
) -> None:
    """Print the table."""
    wishes = read_graded_wishes(graded)
    readers = "one reader" if len(wishes[0].grades) == 1 else "several readers"
    Report(
        title=f"Rankings of LLMs against the grades of {readers}",
        columns=(
            *("wish", "readers with each other", "judge with readers", "orders right"),
            *("readers' place of the judge's first", "judge with length", "readers with length"),
        ),
        rows=tuple(measured(get_crm(crm), wishes, CorporaTexts(corpora))),
        note=f"Judge: {crm}. Kendall's tau-b between grades of seven LLMs, and between the judge's mean "
        "probabilities and mean grades, by eight answers of each; orders of two LLMs that all readers see "
        "alike, a grade or more apart. With length: Spearman with the mean number of words; of all, the "
        "median of its size. In brackets the 95 % interval over draws of wishes. Neither these wishes nor "
        "answers to these prompts were trained on.",
    ).finish(output)


if __name__ == "__main__":
    run_cli(app, CRMError)
