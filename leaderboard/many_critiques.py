"""Critiques of many responses of one LLM: what an edit would gain, and whether the judge agrees.

Original answers and the critic's edits are scored apart (Critique-Post-Edit, 2025), and the judge, which
knows only the criteria, compares each edit with its original.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray
from rich.console import Console

from crm.criteria import CriteriaSet
from crm.errors import CRMError
from crm.report_table import ReportTable
from leaderboard.benchmark import LoadedBenchmark, missing_texts_message
from leaderboard.critique import (
    CRITIC_VARIABLE,
    Critic,
    Review,
    configured_critic,
    critic_name,
    review_of,
)
from leaderboard.critique_scores import SCORES, Scores
from leaderboard.errors import LeaderboardError
from leaderboard.print_format import PrintFormat
from leaderboard.scoring_jobs.progress import status_line
from leaderboard.selection import queries_with
from leaderboard.service import Service
from leaderboard.statistics.bootstrap import percentile_interval
from leaderboard.view import DEFAULT_BENCHMARK, DEFAULT_CRM
from parsing.messages import quantity

FINAL = "all three"
_REDRAWN = 2000
_CALLS = 3
_EVEN = 0.5


@dataclass(frozen=True)
class ManyReviews:
    """Reviews of responses of one LLM.

    Attributes:
        llm: Its name.
        reviews: By the external id of the query.
        failed: Why there is none, by the external id of the query.
    """

    llm: str
    reviews: dict[str, Review]
    failed: dict[str, str]

    @property
    def scores(self) -> NDArray[np.float64]:
        """Scores of N originals and edits, S_final last ``[N, 2, 4]``."""
        critiques = [each.critique for each in self.reviews.values()]
        return np.array([[_row(one.scores), _row(one.edited_scores)] for one in critiques])

    @property
    def preferred(self) -> tuple[int, int]:
        """How many edits the judge prefers to their originals, and how many it compared."""
        verdicts = [each.verdict for each in self.reviews.values() if each.verdict is not None]
        return sum(verdict.prob_a > _EVEN for verdict in verdicts), len(verdicts)

    def gain(self, seed: int = 0) -> list[tuple[float, float, float]]:
        """Return by how much edits score higher: a mean with its 95 % interval a score, S_final last."""
        change = self.scores[:, 1] - self.scores[:, 0]
        rows = np.random.default_rng(seed).integers(0, len(change), (_REDRAWN, len(change)))
        low, high = percentile_interval(change[rows].mean(axis=1))
        return list(zip(change.mean(axis=0).tolist(), low.tolist(), high.tolist(), strict=True))

    def faults(self) -> dict[str, tuple[int, int]]:
        """Return how many originals and edits lose points for each reason, the most frequent first."""
        critiques = [each.critique for each in self.reviews.values()]
        before, after = (
            Counter(why for scores in those for why in {each.why for each in scores.deductions})
            for those in ([one.scores for one in critiques], [one.edited_scores for one in critiques])
        )
        return {why: (before[why], after[why]) for why, _ in (before + after).most_common()}


def _row(scores: Scores) -> list[float]:
    return [*(float(getattr(scores, name)) for name in SCORES), scores.final]


def drawn_queries(
    benchmark: LoadedBenchmark, llms: Sequence[str], topics: Sequence[str], most: int, seed: int = 0
) -> list[int]:
    """Return so many queries, drawn at random, that all of the LLMs answered and whose texts are stored.

    Raises:
        LeaderboardError: There is no such LLM or topic, or no text is stored.
    """
    for llm in llms:
        if llm not in benchmark.respondents:
            known = ", ".join(benchmark.respondents)
            raise LeaderboardError(f"{benchmark.record.info.slug} has no LLM {llm!r}: choose among {known}.")
    selected = queries_with(benchmark.record, topics)
    answered = benchmark.readable[[benchmark.respondents.index(llm) for llm in llms]] & selected
    found = np.flatnonzero(answered.all(axis=0))
    if not len(found):
        if len(llms) > 1 and answered.any(axis=1).all():
            raise LeaderboardError(
                f"No query here was answered by all of {', '.join(llms)}: name fewer LLMs."
            )
        raise LeaderboardError(missing_texts_message(benchmark.record))
    drawn = np.random.default_rng(seed).permutation(found)[:most]
    return sorted(drawn.tolist())


def review_many(
    critic: Critic,
    benchmark: LoadedBenchmark,
    llm: str,
    queries: Sequence[int],
    *,
    criteria: CriteriaSet,
    crm: str = DEFAULT_CRM,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
) -> ManyReviews:
    """Critique the LLM's responses to some queries; a critique that fails is left out and named.

    Raises:
        LeaderboardError: There are no criteria, or the first critique of all fails.
        CRMError: It fails because the endpoint cannot be used.
    """
    found = ManyReviews(llm, {}, {})
    for done, query in enumerate(queries):
        on_progress(done, len(queries))
        name = benchmark.record.queries[query].external_id
        try:
            found.reviews[name] = review_of(
                critic, criteria, crm, benchmark.query_texts[query], benchmark.text_at(llm, query)
            )
        except (CRMError, LeaderboardError) as error:
            if not done:
                raise
            found.failed[name] = str(error)
    return found


def critiques(
    llm: Annotated[str, typer.Argument(help="Whose responses, by its name in the benchmark.")],
    *,
    benchmark: Annotated[str, typer.Option(help="Slug of the benchmark.")] = DEFAULT_BENCHMARK,
    topic: Annotated[list[str] | None, typer.Option(help="A topic or category; repeatable.")] = None,
    criterion: Annotated[
        list[str] | None, typer.Option(help="What you like in an answer; repeatable.")
    ] = None,
    avoid: Annotated[list[str] | None, typer.Option(help="What an answer should avoid; repeatable.")] = None,
    responses: Annotated[int, typer.Option(min=1, max=500, help="How many, drawn at random.")] = 20,
    seed: Annotated[int, typer.Option(min=0, help="Of this draw.")] = 0,
    crm: Annotated[str, typer.Option(help="The judge that compares edits with originals.")] = DEFAULT_CRM,
    format: Annotated[PrintFormat, typer.Option(help="table or json.")] = PrintFormat.TABLE,
) -> None:
    """Have responses of an LLM critiqued and edited by USL_CRITIC, and say what the edits gain."""
    name = critic_name()
    if name is None:
        raise LeaderboardError(
            f"No LLM for critiques is set up: {CRITIC_VARIABLE} names one of llms.toml (docs/critique.md)."
        )
    criteria = CriteriaSet.of(criterion or (), avoid or ())
    loaded = Service.open().benchmark(benchmark)
    queries = drawn_queries(loaded, [llm], tuple(topic or ()), responses, seed)
    typer.echo(f"{quantity(_CALLS * len(queries), 'request')} to {name}, or a few more.", err=True)
    with status_line() as write:
        found = review_many(
            configured_critic(name),
            loaded,
            llm,
            queries,
            criteria=criteria,
            crm=crm,
            on_progress=lambda done, total: write(f"Critiques: {done:,} of {total:,}"),
        )
    if format is PrintFormat.JSON:
        typer.echo(reviews_json(found))
        return
    reviews_table(found, name).print()
    console = Console(soft_wrap=True, highlight=False, markup=False)
    for line in reviews_in_words(found, crm):
        console.print(line)


def reviews_table(found: ManyReviews, critic: str) -> ReportTable:
    """Return one row a score: original, edit, and the gain."""
    means = found.scores.mean(axis=0)
    rows = (
        (name, f"{before:+.2f}", f"{after:+.2f}", f"{gain:+.2f} ({low:+.2f} to {high:+.2f})")
        for name, before, after, (gain, low, high) in zip(
            (*SCORES, FINAL), means[0].tolist(), means[1].tolist(), found.gain(), strict=True
        )
    )
    return ReportTable(
        f"{quantity(len(found.reviews), 'response')} of {found.llm}, critiqued by {critic}",
        ("score", "original", "edit", "gain"),
        tuple(rows),
        "From −5 to 5, each text scored by itself, after deductions; all three: 0.35 helpfulness + 0.40 "
        "personalization + 0.25 naturalness. Gain with its 95 % interval over responses.",
    )


def reviews_in_words(found: ManyReviews, crm: str) -> list[str]:
    """Say what the judge prefers, what points are lost for, and what is left out."""
    preferred, compared = found.preferred
    lines = []
    if compared:
        lines.append(f"The judge {crm} prefers the edit in {preferred} of {compared}.")
    lines += [
        f"Points lost, originals {before}, edits {after}: {why}."
        for why, (before, after) in found.faults().items()
    ]
    if found.failed:
        reason = list(found.failed.values())[-1]
        lines.append(f"Left out: {quantity(len(found.failed), 'response')}, the last because: {reason}")
    return lines


def reviews_json(found: ManyReviews) -> str:
    """Return the reviews as a JSON object."""
    preferred, compared = found.preferred
    names = (*SCORES, "final")
    return json.dumps(
        {
            "llm": found.llm,
            "gain": {
                name: {"mean": round(gain, 4), "ci_low": round(low, 4), "ci_high": round(high, 4)}
                for name, (gain, low, high) in zip(names, found.gain(), strict=True)
            },
            "judge": {"prefers_edit": preferred, "compared": compared},
            "responses": [
                {
                    "query": query,
                    "original": dict(zip(names, _row(each.critique.scores), strict=True)),
                    "edit": dict(zip(names, _row(each.critique.edited_scores), strict=True)),
                    "prob_edit": None if each.verdict is None else round(each.verdict.prob_a, 4),
                    "suggestions": list(each.critique.suggestions),
                    "edited": each.critique.edited,
                }
                for query, each in found.reviews.items()
            ],
            "failed": found.failed,
        },
        ensure_ascii=False,
        indent=2,
    )
