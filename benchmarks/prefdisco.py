"""How well an interview discovers a person whose preferences depend on the context, after PrefDisco (2025).

    python -m benchmarks.prefdisco [--people N] [--interviewer NAME --passive NAME] [--grader NAME]

People have a profile in each category of the benchmark (``_contexts``) and answer questions as passive users.
What is measured, person by person and context by context, is PrefAlign of the LLM that is put first there:

- *baseline*: by the default ranking, the same for everybody;
- *oracle*: by the person's own profile in the context;
- *interview in each context*: by the checklist of the page's interview, held about each context by itself;
- *one interview*: the same held once for all contexts, answered by what the person wants on the whole, the
  mean of their profiles, or by their common part alone;
- *questions by an LLM*: up to five of its own about each context, answered by an LLM that plays the passive
  user, after which it writes criteria.

Queries are halved within each category: interviews choose their questions by the responses to one half; on
the other half LLMs are ranked and PrefAlign is taken, by the judge's grades from 0 to 5, and with
``--grader`` on a few of these queries also by an LLM's under rubrics (``leaderboard.rubrics``). NormAlign
puts the baseline at 0 and the oracle at 100 (``_norm_align``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from benchmarks._contexts import Attributes, Person
from benchmarks._discovery import (
    BASELINE,
    ORACLE,
    Condition,
    Field,
    Floats,
    chosen_align,
    ends,
    fixed_interviews,
    free_interviews,
    graded_by_llm,
)
from benchmarks._norm_align import COLUMNS, SMALLEST_ROOM, norm_align
from benchmarks._report import Report
from crm.cli_runner import run_cli
from crm.embedded.model import embedded_crm
from crm.errors import CRMError
from crm.llm.settings import llms_file, read_llms
from crm.llm.tasks import AskedLLM, KeptReplies
from crm.paths import HOME
from crm.report_table import describe_machine
from db import DatabaseError
from leaderboard.benchmark import missing_texts_message
from leaderboard.elicitation.interview import MAX_QUESTIONS
from leaderboard.errors import LeaderboardError
from leaderboard.scoring_jobs.progress import status_line
from leaderboard.service import Service

app = typer.Typer(add_completion=False)

KEPT = HOME / "data" / "prefdisco"
"""Where replies of LLMs are kept by default."""
_NORMAL = 1.96
_WORDINGS = 600
"""Held-out wordings that are drawn and read; all of them take minutes."""


def _mean(values: Floats) -> str:
    """Return the mean over people and contexts with its interval over people, of values ``[P, X]``."""
    some = values[np.isfinite(values).any(axis=1)]
    if not len(some):
        return "–"
    of_person = np.nanmean(some, axis=1)
    if len(some) == 1:
        return f"{of_person[0]:.2f}"
    return f"{of_person.mean():.2f} ± {_NORMAL * of_person.std(ddof=1) / np.sqrt(len(of_person)):.2f}"


def rows_of(conditions: Sequence[Condition], align: Floats) -> list[tuple[str, ...]]:
    """Return PrefAlign and the columns of NormAlign of each condition, baseline and oracle among them."""
    of = {each.name: chosen_align(align, each) for each in conditions}
    rows = []
    for each in conditions:
        cells: tuple[str, ...] = ("", "", "")
        if each.name not in (BASELINE, ORACLE):
            cells = norm_align(of[each.name], of[BASELINE], of[ORACLE]).cells
        rows.append((_mean(of[each.name]), *cells))
    return rows


def report(
    field: Field,
    conditions: Sequence[Condition],
    align: Floats,
    under_rubrics: Floats | None,
    n_relevant: str,
    *,
    remarks: Sequence[str],
) -> Report:
    """Return the table, a row a condition.

    Args:
        align: PrefAlign of every LLM by the judge's grades ``[P, X, L]``.
        under_rubrics: By an LLM's, NaN of LLMs that no condition puts first ``[P, X, L]``; None without one.
        n_relevant: How many attributes matter in a context.
        remarks: Further sentences below the table.
    """
    n_people = len(conditions[0].first)
    by_judge = rows_of(conditions, align)
    by_grader = None if under_rubrics is None else rows_of(conditions, under_rubrics)
    rows = []
    for place, each in enumerate(conditions):
        questions = "" if each.questions is None else _mean(each.questions.astype(float))
        graded_cells = by_grader[place] if by_grader else ()
        named = "" if each.named is None else f"{100 * each.named.mean():.0f} %"
        rows.append((each.name, questions, named, *by_judge[place], *graded_cells))
    further = tuple(f"{name}, under rubrics" for name in ("PrefAlign", *COLUMNS)) if by_grader else ()
    ends_of = [chosen_align(align, each) for each in conditions if each.name in (BASELINE, ORACLE)]
    room = norm_align(ends_of[0], *ends_of)
    return Report(
        f"Discovering people whose preferences depend on the context: {field.benchmark.record.info.slug}",
        ("condition", "questions", "named", "PrefAlign", *COLUMNS, *further),
        tuple(rows),
        f"{n_people} people with held-out wordings in {len(field.contexts)} contexts of "
        f"{len(field.benchmark.llms)} LLMs, passive when asked; of the attributes that have a wording "
        f"{n_relevant} matter in a context. Questions are of one interview; named is the share of a "
        "profile's weight on wishes that the options taken name, whatever the checklist infers beyond. "
        "Means with 95 % intervals over people. Mean of ratios and share below 0 without "
        f"{room.left_out} contexts of people, in which the oracle is ahead of the baseline by less than "
        f"{SMALLEST_ROOM:g} of 5. " + "".join(f"{remark} " for remark in remarks) + f"{describe_machine()}.",
    )


def unstated(condition: Condition, baseline: Condition) -> str:
    """Say how often an interview changes nothing at the top."""
    same = np.mean(condition.first == baseline.first)
    return f"The {condition.name} puts the baseline's LLM first in {100 * same:.0f} % of contexts."


@app.command()
def measure(
    *,
    people: Annotated[int, typer.Option(min=2, help="How many are simulated.")] = 100,
    benchmark: Annotated[str, typer.Option(help="Slug of the benchmark.")] = "dailybench",
    context: Annotated[list[str] | None, typer.Option(help="Only this category; repeatable.")] = None,
    wordings: Annotated[int, typer.Option(min=100, help="Held-out wordings that are tried.")] = _WORDINGS,
    interviewer: Annotated[str, typer.Option(help="An LLM of llms.toml that asks and writes criteria.")] = "",
    passive: Annotated[str, typer.Option(help="An LLM of llms.toml that plays the passive user.")] = "",
    grader: Annotated[str, typer.Option(help="An LLM of llms.toml that grades under rubrics.")] = "",
    queries: Annotated[int, typer.Option(min=1, max=50, help="That it grades in a context.")] = 2,
    kept: Annotated[
        Path, typer.Option(help="Folder of replies that are not asked for again.", show_default=False)
    ] = KEPT,
    output: Annotated[Path | None, typer.Option(help="Markdown file for the table.")] = None,
) -> None:
    """Print how near interviews come to a person's own ranking, context by context."""
    if bool(interviewer) != bool(passive):
        raise LeaderboardError("An interview by an LLM needs both: name --interviewer and --passive.")
    asked = _asked({"interviewer": interviewer, "passive": passive, "grader": grader}, kept)
    service, crm = Service.open(), embedded_crm()
    field = Field.of(service.benchmark(benchmark), crm, context or ())
    if grader and not field.benchmark.readable.any():
        raise LeaderboardError(missing_texts_message(field.benchmark.record))
    attributes = Attributes.of(field.benchmark, crm, field.margins, field.contexts, wordings)
    drawn = [attributes.person(np.random.default_rng([23, seed])) for seed in range(people)]
    _announce(field, drawn, interviewer=interviewer, passive=passive, grader=grader, n_queries=queries)
    with status_line() as show:
        lowest, highest, align = ends(field, drawn, show)
        conditions = [lowest, *fixed_interviews(field, drawn, show)]
        remarks = [unstated(conditions[1], lowest)]
        if interviewer:
            free, problems = free_interviews(field, drawn, asked["interviewer"], asked["passive"], show)
            conditions.append(free)
            remarks += _failures(problems, interviewer, passive)
        conditions.append(highest)
        under_rubrics = None
        if grader:
            under_rubrics, failed = graded_by_llm(
                field, drawn, conditions, grader=asked["grader"], n_queries=queries, show=show
            )
            remarks.append(f"Under rubrics: {grader}, {queries} queries a context, {failed} without a grade.")
    n_relevant = [len(attributes.relevant[name]) for name in field.contexts]
    spread = f"{min(n_relevant)} to {max(n_relevant)} of {len(attributes.wordings)}"
    report(field, conditions, align, under_rubrics, spread, remarks=remarks).finish(output)
    service.close()


def _asked(names: Mapping[str, str], kept: Path) -> dict[str, AskedLLM]:
    """Return the LLMs that are asked, by what they do; a ConfigError if there is no such LLM."""
    wanted = {what: name for what, name in names.items() if name}
    if not wanted:
        return {}
    llms = {llm.name: llm for llm in read_llms(llms_file(), list(dict.fromkeys(wanted.values())))}
    return {what: AskedLLM(llms[name], KeptReplies(kept)) for what, name in wanted.items()}


def _announce(
    field: Field, people: Sequence[Person], *, interviewer: str, passive: str, grader: str, n_queries: int
) -> None:
    """Say how many requests are sent to whom, before they are."""
    n_talks = len(people) * len(field.contexts)
    if interviewer:
        typer.echo(
            f"At most {(MAX_QUESTIONS + 1) * n_talks:,} requests to {interviewer} as interviewer and "
            f"{MAX_QUESTIONS * n_talks:,} to {passive} as passive user, or a few more.",
            err=True,
        )
    if grader:
        wishes = sum(len(person.profiles[name].wishes) for person in people for name in field.contexts)
        n_rubrics, conditions = wishes * n_queries, 6 if interviewer else 5
        n_grades = n_rubrics * min(len(field.benchmark.llms), conditions)
        typer.echo(
            f"At most {n_rubrics:,} requests to {grader} for rubrics and {n_grades:,} for grades, or a few "
            "more.",
            err=True,
        )


def _failures(problems: Sequence[str], interviewer: str, passive: str) -> list[str]:
    asked = f"{interviewer} asked and {passive} answered."
    if not problems:
        return [asked]
    return [asked, f"{len(problems):,} of their interviews failed, the last because: {problems[-1]}"]


if __name__ == "__main__":
    run_cli(app, CRMError, LeaderboardError, DatabaseError)
