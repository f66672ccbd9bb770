"""``python -m leaderboard checklist-training``: what a model is trained on to write checklists by itself.

P-CHECK's D̃, each line one example: the prompt is what a writer without examples is asked, (GP, q), the
completion the checklist with its weights in words. Training minimises −Σ log p(checklist | GP, q), eq. 6,
over the tokens of the completion, as programs for supervised fine-tuning do with such lines.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from crm.llm.tasks import AskedLLM
from leaderboard.elicitation.command import uploaded
from leaderboard.elicitation.history.choices import PastChoice
from leaderboard.elicitation.history.read import people_in
from leaderboard.errors import LeaderboardError
from leaderboard.query_checklists.asking import (
    EXAMPLES_OPTION,
    FILE_ARGUMENT,
    KEPT,
    KEPT_OPTION,
    LLM_OPTION,
    Others,
    most_requests,
    told,
)
from leaderboard.query_checklists.checklist import ChecklistExample, checklist_prompt
from leaderboard.query_checklists.general import DecidedChoice, decided_choices
from leaderboard.query_checklists.writer import EXAMPLES, Annotator, OnProgress
from leaderboard.scoring_jobs.progress import status_line
from parsing.messages import quantity


def checklist_training(
    file: Annotated[Path, FILE_ARGUMENT],
    output: Annotated[Path, typer.Argument(help="The file to write, one example a line (.jsonl).")],
    *,
    llm: Annotated[str, LLM_OPTION],
    people: Annotated[int, typer.Option(min=1, help="Those who chose most.")] = 100,
    examples: Annotated[int, EXAMPLES_OPTION] = EXAMPLES,
    kept: Annotated[Path, KEPT_OPTION] = KEPT,
) -> None:
    """Write what a model is trained on to write checklists: weighed checklists of many people's choices."""
    asked = AskedLLM.configured(llm, kept)
    chosen = _who_chose_most(people_in(uploaded(file), file.name), people)
    most = len(chosen) * most_requests(examples, len(chosen) - 1)
    who = quantity(len(chosen), "person", "people")
    typer.echo(f"{who}: at most {quantity(most, 'request')} to {llm}, or a few more.", err=True)
    lines: list[str] = []
    with status_line() as write:
        for place, name in enumerate(chosen, start=1):
            tell = told(write, f"Person {place:,} of {len(chosen):,}. ")
            lines += _of_person(name, chosen, asked, examples, tell)
    if not lines:
        raise LeaderboardError("No checklist tells what people chose from what they left.")
    try:
        output.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    except OSError as error:
        raise LeaderboardError(f"{output} cannot be written ({error.strerror}).") from None
    typer.echo(f"{quantity(len(lines), 'checklist')} in {output}.", err=True)


def _who_chose_most(found: Mapping[str, Sequence[PastChoice]], most: int) -> Others:
    """Return the choices of those who preferred one answer most often."""
    decided = {name: decided_choices(some) for name, some in found.items()}
    names = sorted(decided, key=lambda name: len(decided[name]), reverse=True)[:most]
    return {name: decided[name] for name in names if decided[name]}


def _of_person(name: str, chosen: Others, llm: AskedLLM, examples: int, on_progress: OnProgress) -> list[str]:
    annotator = Annotator(llm, examples, on_progress)
    others: dict[str, Sequence[DecidedChoice]] = {each: chosen[each] for each in chosen if each != name}
    general, theirs = annotator.general_preferences(chosen[name], others)
    return training_lines(general, annotator.annotated(chosen[name], general, theirs))


def training_lines(general: str, examples: Iterable[ChecklistExample]) -> list[str]:
    """Return one person's checklists as lines of JSON: ``prompt`` and ``completion``, a turn each."""
    lines = []
    for each in examples:
        asked = {"role": "user", "content": checklist_prompt(general, each.checklist.query)}
        replied = {"role": "assistant", "content": each.checklist.to_reply()}
        lines.append(json.dumps({"prompt": [asked], "completion": [replied]}, ensure_ascii=False))
    return lines
