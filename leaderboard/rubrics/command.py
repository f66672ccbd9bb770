"""``python -m leaderboard rubric-grades``: LLMs graded by an LLM under rubrics for a person's criteria."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console

from crm.criteria import CriteriaSet
from crm.llm.tasks import AskedLLM
from crm.paths import HOME
from crm.report_table import ReportTable
from leaderboard.errors import LeaderboardError
from leaderboard.many_critiques import drawn_queries
from leaderboard.print_format import PrintFormat
from leaderboard.rubrics.beside_judge import JudgesGrades, judges_grades
from leaderboard.rubrics.grading import RubricGrades, graded, graded_queries
from leaderboard.scoring_jobs.progress import status_line
from leaderboard.service import Service
from leaderboard.view import DEFAULT_BENCHMARK
from parsing.messages import quantity

KEPT = HOME / "data" / "rubric-grades"
"""Where replies are kept by default."""
_DASH = "–"


def rubric_grades(
    llm: Annotated[list[str], typer.Argument(help="Whose responses, by their names in the benchmark.")],
    *,
    grader: Annotated[str, typer.Option(help="The LLM of llms.toml that writes rubrics and grades.")],
    benchmark: Annotated[str, typer.Option(help="Slug of the benchmark.")] = DEFAULT_BENCHMARK,
    topic: Annotated[list[str] | None, typer.Option(help="A topic or category; repeatable.")] = None,
    criterion: Annotated[
        list[str] | None, typer.Option(help="What you like in an answer; repeatable.")
    ] = None,
    avoid: Annotated[list[str] | None, typer.Option(help="What an answer should avoid; repeatable.")] = None,
    queries: Annotated[int, typer.Option(min=1, max=500, help="How many, drawn at random.")] = 10,
    seed: Annotated[int, typer.Option(min=0, help="Of this draw.")] = 0,
    format: Annotated[PrintFormat, typer.Option(help="table or json.")] = PrintFormat.TABLE,
    kept: Annotated[
        Path,
        typer.Option(help="Folder of usable replies, which are not asked for again.", show_default=False),
    ] = KEPT,
) -> None:
    """Have an LLM write rubrics for your criteria and grade responses under them, and compare with the judge.

    It may be stopped at any time: the same command goes on where it was.
    """
    criteria = CriteriaSet.of(criterion or (), avoid or ())
    if not criteria:
        raise LeaderboardError("Grades need criteria: say what you like with --criterion or --avoid.")
    asked = AskedLLM.configured(grader, kept)
    service = Service.open()
    loaded = service.benchmark(benchmark)
    llms = tuple(dict.fromkeys(llm))
    drawn = graded_queries(loaded, llms, drawn_queries(loaded, llms, tuple(topic or ()), queries, seed))
    n_rubrics = len(criteria) * len(drawn)
    typer.echo(
        f"{quantity(n_rubrics, 'request')} to {grader} for rubrics, {len(llms) * n_rubrics:,} for grades, "
        f"or a few more; less what is kept in {kept}.",
        err=True,
    )
    with status_line() as write:
        found = graded(
            asked,
            tuple(criteria),
            drawn,
            lambda what, done, of: write(f"{what}: {done:,} of {of:,}"),
        )
    judge = judges_grades(service, benchmark, llms, criteria, found.queries)
    if format is PrintFormat.JSON:
        typer.echo(grades_json(found, judge, benchmark))
        return
    grades_table(found, judge).print()
    console = Console(soft_wrap=True, highlight=False, markup=False)
    for line in in_words(found, judge):
        console.print(line)


def grades_table(found: RubricGrades, judge: JudgesGrades) -> ReportTable:
    """Return one row an LLM, the best first: grades, PrefAlign with its interval, and the judge's."""
    whole = found.pref_align.mean(axis=1)
    low, high = found.interval()
    rows = [
        (
            found.llms[row],
            *(f"{grade:.2f}" for grade in found.mean_grades[row]),
            f"{whole[row]:.2f}",
            _DASH if np.isnan(low[row]) else f"{low[row]:.2f} to {high[row]:.2f}",
            _DASH if np.isnan(judge.pref_align[row]) else f"{judge.pref_align[row]:.2f}",
        )
        for row in np.argsort(-whole, kind="stable").tolist()
    ]
    headings = ("PrefAlign", "95 % interval", f"PrefAlign by {judge.crm}")
    return ReportTable(
        f"{quantity(len(found.queries), 'query')}, graded by {found.grader}",
        ("LLM", *map(str, found.criteria), *headings),
        tuple(rows),
        f"Grades from 1 to 5 under rubrics that {found.grader} wrote; their interval is over queries. "
        f"Those by {judge.crm} go from 0 to 5, where 2.5 is as good as what LLMs are compared with.",
    )


def in_words(found: RubricGrades, judge: JudgesGrades) -> list[str]:
    """Say how far grader and judge agree, and what is left out and why."""
    lines = [judge.note] if judge.note else []
    tau = judge.tau(found.pref_align.mean(axis=1))
    if tau is not None:
        lines.append(f"The orders by {found.grader} and by {judge.crm} agree with Kendall's τ = {tau:.2f}.")
    if found.failed:
        lines.append(f"Left out: {quantity(len(found.failed), 'query')}.")
        lines += [f"  {name}: {why}" for name, why in found.failed.items()]
    return lines


def grades_json(found: RubricGrades, judge: JudgesGrades, benchmark: str) -> str:
    """Return everything as a JSON object, rubrics and justifications included."""
    whole = found.pref_align
    low, high = found.interval()
    tau = judge.tau(whole.mean(axis=1))
    return json.dumps(
        {
            "benchmark": benchmark,
            "grader": found.grader,
            "criteria": [criterion.to_json() for criterion in found.criteria],
            "llms": [
                {
                    "llm": llm,
                    "grades": [round(grade, 4) for grade in found.mean_grades[row].tolist()],
                    "pref_align": round(float(whole[row].mean()), 4),
                    "ci_low": _number(low[row]),
                    "ci_high": _number(high[row]),
                    "judge_pref_align": _number(judge.pref_align[row]),
                }
                for row, llm in enumerate(found.llms)
            ],
            "judge": {
                "crm": judge.crm,
                "kendall_tau": tau if tau is None else round(tau, 4),
                "note": judge.note,
            },
            "queries": [
                {
                    "query": name,
                    "rubrics": [
                        list(found.rubrics[name, place].levels) for place in range(len(found.criteria))
                    ],
                    "responses": {
                        llm: {
                            "pref_align": round(float(whole[row, column]), 4),
                            "grades": [
                                found.grades[name, place, llm].model_dump()
                                for place in range(len(found.criteria))
                            ],
                        }
                        for row, llm in enumerate(found.llms)
                    },
                }
                for column, name in enumerate(found.queries)
            ],
            "failed": dict(found.failed),
        },
        ensure_ascii=False,
        indent=2,
    )


def _number(value: float) -> float | None:
    return None if np.isnan(value) else round(float(value), 4)
