"""``python -m leaderboard corrected-by``: a ranking corrected by choices that the page wrote as a file."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from crm.criteria import CriteriaSet
from leaderboard.elicitation.checking import FEWEST_CHECKS, CorrectedRanking, corrected_ranking
from leaderboard.elicitation.checklist import criteria_of
from leaderboard.elicitation.choices_file import corrected_csv, corrected_rows, read_choices
from leaderboard.elicitation.library import criterion_library
from leaderboard.elicitation.session import ElicitationSession, candidate_pairs, session_checklist
from leaderboard.elicitation.text import corrected_ranking_sentences, votes_agreement_sentence
from leaderboard.errors import LeaderboardError
from leaderboard.service import Service
from leaderboard.view import DEFAULT_BENCHMARK, View


class CorrectedFormat(StrEnum):
    """How a corrected ranking is printed."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"


def corrected_by(
    file: Annotated[Path, typer.Argument(help="“Your choices (CSV)” of the page “Find my criteria”.")],
    benchmark: Annotated[str, typer.Option(help="Slug of the benchmark.")] = DEFAULT_BENCHMARK,
    topic: Annotated[list[str] | None, typer.Option(help="A topic or category; repeatable.")] = None,
    criterion: Annotated[
        list[str] | None,
        typer.Option(help="What you like in an answer; repeatable. By default what the choices teach."),
    ] = None,
    avoid: Annotated[list[str] | None, typer.Option(help="What an answer should avoid; repeatable.")] = None,
    format: Annotated[CorrectedFormat, typer.Option(help="table, csv or json.")] = CorrectedFormat.TABLE,
) -> None:
    """Correct a ranking by your votes: your choices between answers that were drawn at random."""
    service, topics = Service.open(), tuple(topic or ())
    candidates = candidate_pairs(service, benchmark, topics)
    everything = candidate_pairs(service, benchmark, ()) if topics else candidates
    loaded = service.benchmark(benchmark)
    drawn_from = [each.of_any_length for each in (candidates, everything)]
    session = ElicitationSession.start(candidates).with_choices(read_choices(file, loaded, drawn_from))
    criteria = CriteriaSet.of(criterion or (), avoid or ())
    if not criteria:
        criteria = criteria_of(session_checklist(session, criterion_library()))
    view = View(benchmark, topics, criteria)
    ranking = corrected_ranking(service, view, session.checks, candidates)
    if ranking is None:
        raise LeaderboardError(
            f"{file} has fewer than {FEWEST_CHECKS} votes on these topics, which are choices between answers "
            "drawn at random: make more choices."
        )
    said = votes_agreement_sentence(ranking.n_agreeing, ranking.n_votes)
    if format is CorrectedFormat.CSV:
        typer.echo(corrected_csv(ranking, said), nl=False)
    elif format is CorrectedFormat.JSON:
        typer.echo(_json(ranking, criteria))
    else:
        _print(ranking, criteria, {llm.name: llm.title for llm in loaded.record.llms})


def _json(ranking: CorrectedRanking, criteria: CriteriaSet) -> str:
    return json.dumps(
        {
            "votes": ranking.n_votes,
            "agreeing": ranking.n_agreeing,
            "trust": round(ranking.corrected.trust, 4),
            "criteria": [criterion.to_json() for criterion in criteria],
            "llms": corrected_rows(ranking),
        },
        ensure_ascii=False,
        indent=2,
    )


def _print(ranking: CorrectedRanking, criteria: CriteriaSet, titles: dict[str, str]) -> None:
    table = Table(box=None, pad_edge=False)
    for heading in ("corrected", "judge", "LLM", "by the judge", "corrected score", "95 % interval", "votes"):
        table.add_column(heading, justify="left" if heading == "LLM" else "right")
    found = ranking.corrected
    for row in ranking.best_first:
        table.add_row(
            str(ranking.ranks[row]),
            str(ranking.judged_ranks[row]),
            Text(titles[ranking.llms[row]]),
            f"{ranking.judged[row]:.1%}",
            f"{found.win_rate[row]:.1%}",
            f"{found.low[row]:.0%} to {found.high[row]:.0%}",
            str(found.n_votes[row]),
        )
    console = Console(soft_wrap=True, highlight=False, markup=False)
    console.print(f"Ranked by: {'; '.join(map(str, criteria)) or 'no criteria'}.")
    console.print(votes_agreement_sentence(ranking.n_agreeing, ranking.n_votes))
    console.print(" ".join(corrected_ranking_sentences(ranking)))
    console.print()
    console.print(table)
