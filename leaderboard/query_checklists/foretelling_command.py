"""``python -m leaderboard foretell-choices``: whether checklists of each query foretell choices."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from leaderboard.elicitation.history.choices import ChoiceHistory, earlier_and_later, in_time
from leaderboard.elicitation.history.learn import learn_from_history
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
from leaderboard.query_checklists.foretelling import LATER, LearntLists, foretell
from leaderboard.query_checklists.general import decided_choices
from leaderboard.query_checklists.writer import EXAMPLES
from leaderboard.scoring_jobs.progress import status_line
from leaderboard.service import Service
from leaderboard.view import DEFAULT_BENCHMARK, DEFAULT_CRM
from parsing.messages import quantity

_REQUESTS = 3
"""A later choice takes: its checklist, and scores of both answers."""


def foretell_choices(
    file: Annotated[Path, FILE_ARGUMENT],
    *,
    llm: Annotated[str, LLM_OPTION],
    writer: Annotated[str | None, WRITER_OPTION] = None,
    person: Annotated[str, PERSON_OPTION] = "",
    benchmark: Annotated[
        str, typer.Option(help="On whose answers the one checklist for all is learnt.")
    ] = DEFAULT_BENCHMARK,
    examples: Annotated[int, EXAMPLES_OPTION] = EXAMPLES,
    crm: Annotated[str, typer.Option(help="The judge that compares answers by a checklist.")] = DEFAULT_CRM,
    kept: Annotated[Path, KEPT_OPTION] = KEPT,
    format: Annotated[PrintFormat, typer.Option(help="table or json.")] = PrintFormat.TABLE,
) -> None:
    """Learn from your earlier choices, and see which checklists foretell the later third of them."""
    learner = Learner.of(llm, writer, kept, examples)
    history, others = choices_of(file, person)
    earlier, later = earlier_and_later(in_time(history.choices), LATER)
    to_tell = decided_choices(later)
    if not to_tell:
        raise LeaderboardError(
            f"Of these {quantity(len(history.choices), 'choice')} none is left to foretell: bring more, on "
            "different queries."
        )
    learner.announce(_REQUESTS * len(to_tell), others)
    service = Service.open()
    with status_line() as write:
        lists = learn_from_history(ChoiceHistory(history.form, earlier), service, benchmark, told(write))
        learnt = learner.writer(decided_choices(earlier), others, told(write))
        found = foretell(
            *(learnt, learner.llm, to_tell),
            crm=crm,
            learnt=LearntLists.of(lists, service.benchmark(benchmark)),
            on_progress=told(write),
        )
    if format is PrintFormat.JSON:
        share = {way: round(float(np.mean(each)), 4) for way, each in found.right.items()}
        answer = {"choices": found.n_choices, "foretold": share, "failed": dict(found.failed)}
        typer.echo(json.dumps(answer, ensure_ascii=False, indent=2))
        return
    found.table(f"Learnt from {quantity(len(earlier), 'earlier choice')} with {learner.llm.name}").print()
    for query, why in found.failed.items():
        typer.echo(f"Left out: {query[:60]!r}, because: {why}", err=True)
