"""Is what people type understood? Wishes that can be counted, and wishes worded in several ways.

    python -m benchmarks.everyday_wishes [--wishes FILE.toml] [--crm NAME] [--corpora DIR]

Rankings of alpaca-eval under single wishes. A wish that can be counted is held against the truth, the mean
count in the texts of each LLM (``benchmarks._counts``); wordings of one wish are held against each other. No
judge is trained on the wordings in ``benchmarks/wishes/holdout.toml``, which were written apart from its word
lists; those in ``later_holdout.toml`` beside it were written after version 7 and have been seen by nobody who
worked on it. The countable wishes among those of ``benchmarks.wish_readings``, one wording each, took part in
choosing from when on a wish for a count is clear (version 9).
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray
from scipy.stats import kendalltau, spearmanr

from benchmarks._counts import COUNTERS
from benchmarks._report import Report
from benchmarks.wish_readings import READINGS, read_meant_wishes
from crm.cli_runner import run_cli
from crm.criteria import CriteriaSet, Criterion
from crm.embedded.counts import countables
from crm.errors import CRMError
from crm.paths import CORPORA
from crm.protocol import CRM, KnowsItsError, ReadAs
from crm.registry import get_crm
from crm.report_table import describe_machine
from db import DatabaseError
from leaderboard.errors import LeaderboardError
from leaderboard.service import Service
from leaderboard.view import View

app = typer.Typer(add_completion=False)

_OWN_NAMES = {"quotes": "quotations"}
"""What the judge calls counts that have another name here."""
WISHES = Path(__file__).with_name("wishes") / "holdout.toml"
BENCHMARK = "alpaca-eval"


class Rankings:
    """Win rates of the benchmark's LLMs under single wishes."""

    def __init__(self, service: Service, crm: str) -> None:
        """Rank with a judge."""
        self._service, self._crm = service, crm
        self.llms = service.benchmark(BENCHMARK).llms

    def win_rates(self, wish: str) -> NDArray[np.float64]:
        """Return win rates against the baseline [L], in the order of ``llms``."""
        view = View(BENCHMARK, criteria=CriteriaSet.of([wish]), crm=self._crm, keep_unjudged=True)
        ranking = self._service.leaderboard(view).ranking
        rate = dict(zip(ranking.llms, ranking.win_rate, strict=True))
        return np.array([rate[llm] for llm in self.llms])


def true_counts(corpora: Path, llms: Sequence[str]) -> Mapping[str, list[NDArray[np.float64]]]:
    """Return every count of each LLM's responses, by the name of the count and in the order of the LLMs."""
    found: dict[str, list[NDArray[np.float64]]] = {name: [] for name in COUNTERS}
    for llm in llms:
        path = corpora / "alpaca_eval" / "results" / llm / "model_outputs.json"
        if not path.is_file():
            raise CRMError(f"There is no file {path}: check the path of the corpora.")
        texts = [row["output"] for row in json.loads(path.read_text(encoding="utf-8"))]
        counted = np.array([[count(text) for count in COUNTERS.values()] for text in texts])
        for name, values in zip(COUNTERS, counted.T, strict=True):
            found[name].append(values)
    return found


def _means(counts: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    return np.array([values.mean() for values in counts])


def _shares_within(
    counts: Sequence[NDArray[np.float64]], low: float | None, high: float | None
) -> NDArray[np.float64]:
    """Return the share of each LLM's responses whose count lies within limits."""
    least, most = -np.inf if low is None else low, np.inf if high is None else high
    return np.array([((values >= least) & (values <= most)).mean() for values in counts])


@app.command()
def measure(
    wishes: Annotated[Path, typer.Option(help="Wordings, as in benchmarks/wishes.")] = WISHES,
    readings: Annotated[Path, typer.Option(help="Wishes and what was meant by them.")] = READINGS,
    crm: Annotated[str, typer.Option(help="Judge, by its name.")] = "embedded",
    corpora: Annotated[Path, typer.Option(help="Folder with alpaca_eval/.")] = CORPORA,
    output: Annotated[Path | None, typer.Option(help="Markdown file for the table.")] = None,
) -> None:
    """Print the table."""
    listed: Mapping[str, Sequence[Mapping[str, Any]]] = tomllib.loads(wishes.read_text("utf-8"))
    rankings = Rankings(Service.open(), crm)
    counts = true_counts(corpora, rankings.llms)
    rows = [
        *_countable_rows(listed, rankings, counts),
        *_limit_rows(listed, rankings, counts),
        *_meant_rows(readings, rankings, counts),
    ]
    lengths, alike = [], []
    for wish in listed.get("meaning", ()):
        rates = [rankings.win_rates(text) for text in wish["wordings"]]
        lengths += [abs(_correlation(rate, _means(counts["words"]))) for rate in rates]
        same = _agreement(rates)
        alike += same
        rows.append((wish["wordings"][0], "", "", *_mean_least(same)))
    rows.append(("all other wishes", "", "", *_mean_least(alike)))
    others = [text for wish in listed.get("none", ()) for text in wish["wordings"]]
    mistaken = _taken_for_counted(get_crm(crm), others)
    mistakes = f" Of {len(others)} wishes that only name something countable in another meaning, {mistaken} "
    mistakes += "are taken for countable ones." if mistaken else "none is taken for a countable one."
    low, middle, high = np.quantile(lengths, (0.25, 0.5, 0.75))
    Report(
        title="Wishes as people type them, on alpaca-eval",
        columns=("wish", "Spearman with the counts", "least", "Kendall between wordings", "least"),
        rows=tuple(rows),
        note=f"Judge: {crm}; {len(rankings.llms)} LLMs, wordings of {wishes.name}. |Spearman| with "
        f"mean length over {len(lengths)} wordings of other wishes: median {middle:.2f}, quartiles {low:.2f} "
        f"and {high:.2f}."
        f"{mistakes if others else ''} {describe_machine()}.",
    ).finish(output)


def _taken_for_counted(judge: CRM, wishes: Sequence[str]) -> int:
    """Return under how many wishes a judge that says what it reads would count something."""
    if not isinstance(judge, KnowsItsError):
        return 0
    return sum(judge.reliability(Criterion(wish)).read_as is ReadAs.COUNTED for wish in wishes)


def _countable_rows(
    listed: Mapping[str, Sequence[Mapping[str, Any]]],
    rankings: Rankings,
    counts: Mapping[str, Sequence[NDArray[np.float64]]],
) -> Iterator[tuple[str, ...]]:
    """Yield a row for each countable wish, and one for all of a kind."""
    for kind, language in (("countable", ""), ("foreign", ", other languages")):
        truth: list[float] = []
        alike: list[float] = []
        plainly: list[float] = []
        for wish in listed.get(kind, ()):
            wanted = _means(counts[wish["count"]]) * (1 if wish["more"] else -1)
            plainly.append(_correlation(rankings.win_rates(_plain_wish(wish)), wanted))
            rates = [rankings.win_rates(text) for text in wish["wordings"]]
            right = [_correlation(rate, wanted) for rate in rates]
            same = _agreement(rates)
            truth, alike = truth + right, alike + same
            name = f"{'more' if wish['more'] else 'less'} {wish['count']}{language}"
            yield (name, *_mean_least(right), *_mean_least(same))
        if truth:
            yield (f"all countable{language}", *_mean_least(truth), *_mean_least(alike))
            yield (f"the same{language}, named as the judge does", *_mean_least(plainly), "", "")


def _plain_wish(wish: Mapping[str, Any]) -> str:
    """Return a countable wish in the judge's own words: so a ranking is by a wish that is read right."""
    name = _OWN_NAMES.get(wish["count"], wish["count"])
    unit = next(countable.unit for countable in countables() if countable.name == name)
    return f"{'more' if wish['more'] else 'fewer'} {unit}"


def _limit_rows(
    listed: Mapping[str, Sequence[Mapping[str, Any]]],
    rankings: Rankings,
    counts: Mapping[str, Sequence[NDArray[np.float64]]],
) -> Iterator[tuple[str, ...]]:
    """Yield a row for all wishes that name a limit: with the share of responses that keep it."""
    truth: list[float] = []
    alike: list[float] = []
    for wish in listed.get("limit", ()):
        wanted = _shares_within(counts[wish["count"]], wish.get("low"), wish.get("high"))
        rates = [rankings.win_rates(text) for text in wish["wordings"]]
        truth += [_correlation(rate, wanted) for rate in rates]
        alike += _agreement(rates)
    if truth:
        yield ("all limits", *_mean_least(truth), *_mean_least(alike))


def _meant_rows(
    readings: Path, rankings: Rankings, counts: Mapping[str, Sequence[NDArray[np.float64]]]
) -> Iterator[tuple[str, ...]]:
    """Yield a row for each kind of countable wishes of which what was meant is known."""
    truth: dict[str, list[float]] = {}
    for wish in read_meant_wishes(readings):
        if wish.concept is not None and wish.concept in counts:
            wanted = _means(counts[wish.concept]) * (1 if wish.more else -1)
            truth.setdefault(wish.kind, []).append(_correlation(rankings.win_rates(wish.text), wanted))
    for kind, right in truth.items():
        reversed_share = np.mean(np.array(right) < 0)
        name = f"{len(right)} {kind} wishes, {reversed_share:.0%} the wrong way round"
        yield (name, *_mean_least(right), "", "")


def _agreement(rates: Sequence[NDArray[np.float64]]) -> list[float]:
    """Return Kendall's tau between any two."""
    return [float(np.nan_to_num(kendalltau(*pair).statistic)) for pair in combinations(rates, 2)]


def _correlation(rate: NDArray[np.float64], wanted: NDArray[np.float64]) -> float:
    """Return Spearman's correlation; 0 where all LLMs are alike."""
    return float(np.asarray(spearmanr(rate, wanted).statistic)) if np.ptp(rate) > 0 else 0.0


def _mean_least(values: Sequence[float]) -> tuple[str, str]:
    return f"{np.mean(values):.3f}", f"{min(values):.3f}"


if __name__ == "__main__":
    run_cli(app, CRMError, DatabaseError, LeaderboardError)
