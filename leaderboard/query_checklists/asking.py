"""What the commands share: whose choices are learnt from, who is asked, and how much of it is announced."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import typer

from crm.llm.tasks import AskedLLM
from crm.paths import HOME
from leaderboard.elicitation.command import uploaded
from leaderboard.elicitation.history.choices import ChoiceHistory
from leaderboard.elicitation.history.read import people_in, read_history
from leaderboard.query_checklists.general import DecidedChoice, decided_choices
from leaderboard.query_checklists.writer import (
    CONTRASTS,
    MAX_OTHERS,
    Annotator,
    ChecklistWriter,
    OnProgress,
)
from parsing.messages import quantity

KEPT: Final = HOME / "data" / "llm-replies"
"""Where replies are kept by default."""
LLM_OPTION = typer.Option(help="Who is asked: a table of llms.toml (docs/query-checklists.md).")
WRITER_OPTION = typer.Option(help="Who writes the checklists, such as a model trained for it; else --llm.")
PERSON_OPTION = typer.Option(metavar="ID", help="Whose choices; answers for others serve as contrast.")
EXAMPLES_OPTION = typer.Option(min=0, max=50, help="Latest choices that checklists are learnt from.")
KEPT_OPTION = typer.Option(help="Folder for the LLM's replies, so that none is asked for twice.")
FILE_ARGUMENT = typer.Argument(help="Past choices, as criteria-from reads them.")

Others = Mapping[str, Sequence[DecidedChoice]]
"""The choices of other people, by name."""


def choices_of(file: Path, person: str) -> tuple[ChoiceHistory, Others]:
    """Return the choices that are learnt from, and where a person is named those of everybody else.

    Raises UploadError: As ``read_history``.
    """
    content = uploaded(file)
    history = read_history(content, file.name, person)
    if not person:
        return history, {}
    everybody = people_in(content, file.name)
    return history, {name: decided_choices(some) for name, some in everybody.items() if name != person}


def told(write: Callable[[str], None], before: str = "") -> OnProgress:
    """Return what writes progress on a status line, after a text."""
    return lambda what, done, total: write(f"{before}{what}: {done:,} of {total:,}")


def most_requests(examples: int, others: int) -> int:
    """Return how many requests learning from a person's choices takes, but for replies of no use."""
    if not examples:
        return 1
    contrasts = min(CONTRASTS, max(others, 1))
    # For each choice answers for contrast; a checklist and scores of all answers, perhaps once more.
    return 1 + min(others, MAX_OTHERS) + examples * (contrasts + 2 * (3 + contrasts))


@dataclass(frozen=True)
class Learner:
    """Learns from choices, and says before how much it will ask.

    Attributes:
        llm: That is asked for general preferences, examples and scores.
        written_by: That writes the checklists of new queries.
        examples: Choices that checklists are learnt from.
    """

    llm: AskedLLM
    written_by: AskedLLM
    examples: int

    @classmethod
    def of(cls, llm: str, writer: str | None, kept: Path, examples: int) -> Learner:
        """Return who learns with LLMs of these names; a ConfigError where there is one of none."""
        asked = AskedLLM.configured(llm, kept)
        return cls(asked, AskedLLM.configured(writer, kept) if writer else asked, examples)

    def announce(self, more: int, others: Others) -> None:
        """Say on stderr how many requests will be sent to whom.

        Args:
            more: Requests beside those that learning takes.
        """
        most = most_requests(self.examples, len(others)) + more
        names = " and ".join(dict.fromkeys((self.llm.name, self.written_by.name)))
        typer.echo(f"At most {quantity(most, 'request')} to {names}, or a few more.", err=True)

    def writer(
        self, choices: Sequence[DecidedChoice], others: Others, on_progress: OnProgress
    ) -> ChecklistWriter:
        """Learn from choices who writes checklists; raises as ``Annotator``."""
        annotator = Annotator(self.llm, self.examples, on_progress)
        general, theirs = annotator.general_preferences(choices, others)
        return ChecklistWriter(self.written_by, general, annotator.annotated(choices, general, theirs))
