"""``python -m leaderboard query-checklists``: what suits you in answers to one query, and who gives it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from leaderboard.benchmark import LoadedBenchmark, missing_texts_message
from leaderboard.errors import LeaderboardError
from leaderboard.print_format import PrintFormat
from leaderboard.query_checklists.asking import (
    EXAMPLES_OPTION,
    FILE_ARGUMENT,
    KEPT,
    KEPT_OPTION,
    LLM_OPTION,
    PERSON_OPTION,
    WRITER_OPTION,
    Learner,
    choices_of,
    told,
)
from leaderboard.query_checklists.checklist import QueryChecklist
from leaderboard.query_checklists.general import decided_choices
from leaderboard.query_checklists.ranking import RankedByChecklists, rank_by_checklists
from leaderboard.query_checklists.writer import EXAMPLES, ChecklistWriter
from leaderboard.scoring_jobs.progress import status_line
from leaderboard.selection import queries_with
from leaderboard.service import Service
from leaderboard.view import DEFAULT_BENCHMARK, DEFAULT_CRM
from parsing.messages import quantity

QUERIES = 10


def query_checklists(
    file: Annotated[Path, FILE_ARGUMENT],
    *,
    llm: Annotated[str, LLM_OPTION],
    writer: Annotated[str | None, WRITER_OPTION] = None,
    person: Annotated[str, PERSON_OPTION] = "",
    query: Annotated[
        list[str] | None, typer.Option(help="A query to write a checklist for; repeatable.")
    ] = None,
    benchmark: Annotated[
        str, typer.Option(help="Whose queries are taken, and LLMs ranked, where no query is given.")
    ] = DEFAULT_BENCHMARK,
    topic: Annotated[list[str] | None, typer.Option(help="A topic or category of them; repeatable.")] = None,
    queries: Annotated[int, typer.Option(min=1, max=5000, help="How many of them, at random.")] = QUERIES,
    seed: Annotated[int, typer.Option(min=0, help="Of this draw.")] = 0,
    examples: Annotated[int, EXAMPLES_OPTION] = EXAMPLES,
    crm: Annotated[str, typer.Option(help="The judge by whom LLMs are ranked.")] = DEFAULT_CRM,
    kept: Annotated[Path, KEPT_OPTION] = KEPT,
    format: Annotated[PrintFormat, typer.Option(help="table or json.")] = PrintFormat.TABLE,
) -> None:
    """Have an LLM write what suits you in answers to each query, and rank LLMs by that."""
    learner = Learner.of(llm, writer, kept, examples)
    history, others = choices_of(file, person)
    service = Service.open()
    loaded = None if query else service.benchmark(benchmark)
    drawn = {} if loaded is None else drawn_queries(loaded, tuple(topic or ()), queries, seed)
    texts = [text.strip() for text in query or ()] or list(drawn.values())
    if not all(texts):
        raise LeaderboardError("A query is empty: write what you would ask.")
    learner.announce(len(texts), others)
    with status_line() as write:
        learnt = learner.writer(decided_choices(history.choices), others, told(write))
        answers = learnt.write(texts, told(write))
        written = {place: answers.found[text] for place, text in drawn.items() if text in answers.found}
        ranked = rank_by_checklists(service, loaded, written, crm) if loaded and written else None
    if not answers.found:
        raise LeaderboardError(f"No checklist was written. {next(iter(answers.failed.values()))}")
    in_order = {text: answers.found[text] for text in texts if text in answers.found}
    report = _Report(learnt, in_order, answers.failed, ranked)
    if format is PrintFormat.JSON:
        typer.echo(json.dumps(report.to_json(), ensure_ascii=False, indent=2))
    else:
        report.print()


def drawn_queries(
    benchmark: LoadedBenchmark, topics: Sequence[str], most: int, seed: int = 0
) -> dict[int, str]:
    """Return the texts of so many queries of the topics, drawn at random, by their place.

    Raises:
        LeaderboardError: There is no such topic, or no text is stored.
    """
    texts = benchmark.query_texts
    there = np.array([text is not None for text in texts]) & queries_with(benchmark.record, topics)
    places = np.random.default_rng(seed).permutation(np.flatnonzero(there))[:most]
    found = {place: text for place in sorted(places.tolist()) if (text := texts[place])}
    if not found:
        raise LeaderboardError(missing_texts_message(benchmark.record))
    return found


@dataclass(frozen=True)
class _Report:
    """What is printed."""

    writer: ChecklistWriter
    checklists: Mapping[str, QueryChecklist]
    failed: Mapping[str, str]
    ranked: RankedByChecklists | None

    def print(self) -> None:
        """Show it on the terminal."""
        console = Console(soft_wrap=True, highlight=False, markup=False)
        console.print(self.writer.general)
        console.print(
            f"Written after checklists of {quantity(len(self.writer.examples), 'past choice')}."
            if self.writer.examples
            else "Written from this alone, without a checklist of a past choice."
        )
        for query, checklist in self.checklists.items():
            console.print()
            console.print(Text(query, style="bold"))
            console.print(_checklist_table(checklist))
        if self.ranked is not None:
            console.print()
            self.ranked.table().print()
        if self.failed:
            reason = list(self.failed.values())[-1]
            console.print(
                f"Left out: {quantity(len(self.failed), 'query', 'queries')}, the last because: {reason}"
            )

    def to_json(self) -> dict[str, object]:
        """Return the same as a JSON object."""
        return {
            "general_preference": self.writer.general,
            "examples": len(self.writer.examples),
            "checklists": [
                {"query": query, "checklist": [line.to_json() for line in checklist.lines]}
                for query, checklist in self.checklists.items()
            ],
            "ranking": [
                {"llm": llm, "win_rate": round(rate, 4), "ci_low": round(low, 4), "ci_high": round(high, 4)}
                for llm, rate, low, high in (self.ranked.rows() if self.ranked else ())
            ],
            "failed": dict(self.failed),
        }


def _checklist_table(checklist: QueryChecklist) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    for line in checklist.lines:
        table.add_row(
            line.criterion.weight.value, Text(str(line.criterion)), Text(line.evidence, style="dim")
        )
    return table
