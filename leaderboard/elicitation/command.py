"""``python -m leaderboard criteria-from``: a checklist from past choices, on the command line."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from crm.criteria import Polarity
from leaderboard.elicitation.checklist import ChecklistLine, criteria_of
from leaderboard.elicitation.history.choices import ChoiceHistory
from leaderboard.elicitation.history.learn import HistoryChecklist, learn_from_history
from leaderboard.elicitation.history.read import MAX_MEGABYTES, read_history
from leaderboard.elicitation.library import criterion_library
from leaderboard.elicitation.text import (
    evidence_sentence,
    prediction_sentence,
    reading_sentence,
    summary_sentence,
)
from leaderboard.errors import LeaderboardError, UploadError
from leaderboard.print_format import PrintFormat
from leaderboard.scoring_jobs.progress import status_line
from leaderboard.sentences import listed
from leaderboard.service import Service
from leaderboard.user_data.profiles import Profile
from leaderboard.view import DEFAULT_BENCHMARK, View


def criteria_from(
    file: Annotated[
        Path,
        typer.Argument(help="Past choices: .csv, .jsonl, .json, .parquet, or ChatGPT's export (.zip)."),
    ],
    *,
    benchmark: Annotated[str, typer.Option(help="Slug of the benchmark to rank.")] = DEFAULT_BENCHMARK,
    person: Annotated[
        str, typer.Option(metavar="ID", help="Whose choices, of a file with those of several people.")
    ] = "",
    went_by: Annotated[
        list[str] | None,
        typer.Option(
            metavar="WISH", help="Of the wishes that the choices do not tell apart; may be repeated."
        ),
    ] = None,
    profile: Annotated[
        Path | None, typer.Option(help="Write the checklist as a profile, for “rank --profile”.")
    ] = None,
    format: Annotated[PrintFormat, typer.Option(help="table or json.")] = PrintFormat.TABLE,
) -> None:
    """Learn a checklist from your past choices between answers.

    The texts are read in memory and not stored.
    """
    history = read_history(uploaded(file), file.name, person)
    with status_line() as write:
        learnt = learn_from_history(
            history,
            Service.open(),
            benchmark,
            lambda what, done, total: write(f"{what}: {done:,} of {total:,}"),
        )
    if went_by:
        learnt = _clarified(learnt, went_by)
    if profile is not None:
        view = View(benchmark, criteria=criteria_of(learnt.lines))
        try:
            profile.write_text(Profile.of(view).to_text(), encoding="utf-8")
        except OSError as error:
            raise UploadError(str(profile), f"it cannot be written ({error.strerror}).") from None
    if format is PrintFormat.JSON:
        typer.echo(checklist_json(history, learnt))
    else:
        _print_checklist(history, learnt)


def _clarified(learnt: HistoryChecklist, went_by: Sequence[str]) -> HistoryChecklist:
    """Return what is known with wishes named; a LeaderboardError if one of them was not offered."""
    if learnt.to_clarify is None:
        raise LeaderboardError("These choices leave no wishes to tell apart: leave --went-by out.")
    offered = {each.label(criterion_library()).casefold(): each for each in learnt.to_clarify.offered}
    if unknown := next((name for name in went_by if name.casefold() not in offered), None):
        raise LeaderboardError(
            f"“{unknown}” is none of the wishes that these choices do not tell apart, which are "
            f"{listed(_quoted(learnt), 'and')}."
        )
    return learnt.clarify(offered[name.casefold()] for name in went_by)


def _offered(learnt: HistoryChecklist) -> list[str]:
    """Return the wishes that the choices do not tell apart."""
    question = learnt.to_clarify
    return [each.label(criterion_library()) for each in question.offered] if question else []


def _quoted(learnt: HistoryChecklist) -> list[str]:
    return [f"“{label}”" for label in _offered(learnt)]


def checklist_json(history: ChoiceHistory, learnt: HistoryChecklist) -> str:
    """Return what was learnt as a JSON object."""
    predicted = learnt.predicted
    return json.dumps(
        {
            "form": history.form,
            "choices": learnt.n_choices,
            "left_out": dict(history.left_out),
            "foretold": predicted.correct,
            "foretold_of": predicted.decided,
            "p_by_guessing": predicted.p_value,
            "telling": predicted.significant,
            "summary": summary_sentence(learnt),
            "checklist": [_line_json(line) for line in learnt.lines],
            "not_told_apart": _offered(learnt),
        },
        ensure_ascii=False,
        indent=2,
    )


def _line_json(line: ChecklistLine) -> dict[str, object]:
    return {
        **line.criterion.to_json(),
        "share": line.share,
        "chosen_with_it": line.evidence.with_it,
        "clear_choices": line.evidence.clear,
        "evidence": evidence_sentence(line),
    }


def uploaded(file: Path) -> bytes:
    """Return what is in a file of choices; an UploadError if it is too large or cannot be read."""
    try:
        if file.stat().st_size > MAX_MEGABYTES * 2**20:
            raise UploadError(str(file), f"it is larger than {MAX_MEGABYTES} MB; bring a part of it.")
        return file.read_bytes()
    except OSError as error:
        raise UploadError(str(file), f"it cannot be read ({error.strerror}).") from None


def _print_checklist(history: ChoiceHistory, learnt: HistoryChecklist) -> None:
    table = Table(box=None, pad_edge=False)
    for heading in ("weight", "", "criterion", "evidence"):
        table.add_column(heading)
    for line in learnt.lines:
        avoid = "avoid" if line.criterion.polarity is Polarity.AVOID else ""
        table.add_row(
            line.criterion.weight.value, avoid, Text(line.criterion.text), Text(evidence_sentence(line))
        )
    console = Console(soft_wrap=True, highlight=False, markup=False)
    console.print(reading_sentence(history))
    console.print(summary_sentence(learnt))
    console.print(prediction_sentence(learnt))
    console.print()
    console.print(table)
    if offered := _quoted(learnt):
        console.print()
        console.print(
            f"Your choices do not tell these apart: {listed(offered, 'and')}. "
            "Name those that you went by with --went-by."
        )
