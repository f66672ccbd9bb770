"""Is a plain habit recognised: is the first line of the checklist what a person simply goes by?

    python -m benchmarks.plain_habits [--benchmark SLUG] [--choices N] [--output FILE.md]

Every person goes by one thing alone, or by two alike, and never errs: of two answers they take the one with
more of something that can be counted, or the one with less (where there is no difference, both or neither),
or the one with more of a criterion of the library, by the judge. They choose on pairs that the page would
show, or have chosen before on random pairs; and then they name those of the offered wishes that they went by.
What is counted is counted in the texts by ``benchmarks._counts``, which shares no code with the judge. A line
names a habit where the judge reads it as a wish for that, with the right sign.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray

from benchmarks._counts import COUNTERS
from benchmarks._report import Report
from benchmarks.history_checklists import margins_of_taken
from crm.cli_runner import run_cli
from crm.criteria import Criterion, Polarity
from crm.embedded.concepts import concept_classifier
from crm.errors import CRMError
from crm.protocol import Floats
from crm.report_table import describe_machine
from db import DatabaseError
from leaderboard.elicitation.acquisition import CandidatePairs
from leaderboard.elicitation.checklist import ChecklistLine
from leaderboard.elicitation.choice_model import ChoiceOutcome, ResponsePair
from leaderboard.elicitation.clarifying import ClarifyingReply, clarifying_question
from leaderboard.elicitation.history.learn import HistoryMargins, weighted_lines
from leaderboard.elicitation.library import criterion_library
from leaderboard.elicitation.margins import CriterionMargins
from leaderboard.elicitation.posterior import PreferencePosterior, posterior_given
from leaderboard.elicitation.session import ElicitationSession, candidate_pairs, session_checklist
from leaderboard.errors import LeaderboardError
from leaderboard.service import Service

app = typer.Typer(add_completion=False)

_APART = 0.25
"""Share of pairs that have to differ in a count for anybody to go by it."""
_SURE = 0.4
_SHOWN = 3
_ALSO = {
    "numbered": ("numbered", "step_by_step"),
    "asks_back": ("asks_back", "clarifying"),
    "quotes": ("quotations",),
    "sentences": ("sentences", "words"),
}
"""Concepts by which a line names a count: of more sentences nobody can tell that it is not more words."""


@dataclass(frozen=True, eq=False)
class Habit:
    """What one person goes by: more of the amount ``[R, Q]`` is better; a line ``names`` it or does not."""

    name: str
    amount: Floats
    names: Callable[[Criterion], bool]

    def answer(self, pair: ResponsePair) -> ChoiceOutcome:
        """Return which of two answers the person takes."""
        here = self.amount[:, pair.query]
        first, second = here[pair.first], here[pair.second]
        if first != second:
            return ChoiceOutcome.FIRST if first > second else ChoiceOutcome.SECOND
        return ChoiceOutcome.BOTH if first >= np.nanmean(here) else ChoiceOutcome.NEITHER


def concepts_of(criterion: Criterion) -> frozenset[tuple[str, int]]:
    """Return what a criterion is surely read as asking for, with the sign, polarity included."""
    classifier = concept_classifier()
    wanted = classifier.read([criterion]).wanted[0] * criterion.polarity.sign
    sure = np.flatnonzero(np.abs(wanted) >= _SURE)
    return frozenset((classifier.names[concept], int(np.sign(wanted[concept]))) for concept in sure)


def counted_habits(texts: Sequence[Sequence[str | None]], names: Iterable[str] = COUNTERS) -> Iterator[Habit]:
    """Yield more and less of what can be counted, by its names, where enough answers differ."""
    for name in names:
        count = COUNTERS[name]
        amount = np.array([[np.nan if text is None else count(text) for text in row] for row in texts])
        if _share_apart(amount) >= _APART:
            for sign, what in ((1, "more"), (-1, "less")):
                yield Habit(f"{what} {name}", sign * amount, _asks_for(frozenset({(name, sign)})))


def style_habits(margins: CriterionMargins) -> Iterator[Habit]:
    """Yield more of each criterion of the library, by the judge, where enough answers differ clearly."""
    for index, item in enumerate(criterion_library()):
        amount = np.where(margins.present, np.round(margins.values[..., index], 1), np.nan)
        if _share_apart(amount) >= _APART:
            yield Habit(item.label, amount, _asks_for(concepts_of(item.criterion)))


def mixed(one: Habit, other: Habit) -> Habit:
    """Return going by two things alike, each in its standard deviations; a line may name either."""
    amount = one.amount / np.nanstd(one.amount) + other.amount / np.nanstd(other.amount)
    name = f"{one.name} + {other.name}"
    return Habit(name, amount, lambda criterion: one.names(criterion) or other.names(criterion))


def _asks_for(concepts: frozenset[tuple[str, int]]) -> Callable[[Criterion], bool]:
    same = frozenset((twin, sign) for name, sign in concepts for twin in _ALSO.get(name, (name,)))
    return lambda criterion: bool(concepts_of(criterion) & same)


def _share_apart(amount: Floats) -> float:
    """Return the share of pairs of answers to one query that differ in the amount ``[R, Q]``."""
    first, second = np.triu_indices(len(amount), 1)
    both = ~np.isnan(amount[first]) & ~np.isnan(amount[second])
    return float((both & (amount[first] != amount[second])).sum() / max(both.sum(), 1))


def asked_which(
    posterior: PreferencePosterior,
    sides: tuple[NDArray[np.float64], NDArray[np.float64]],
    spread: NDArray[np.floating],
    names: Callable[[Criterion], bool],
) -> PreferencePosterior:
    """Return what is known after the page has asked which of some wishes it was.

    Args:
        sides: As of ``clarifying_question``, like ``spread``.
        names: Whether a criterion is what the person goes by.
    """
    while question := clarifying_question(posterior, sides, spread):
        named = frozenset(each for each in question.offered if names(each.of(criterion_library())))
        posterior = posterior.after(ClarifyingReply(question, named))
    return posterior


@dataclass(frozen=True, eq=False)
class Field:
    """Where people choose, and how often."""

    candidates: CandidatePairs
    choices: int

    def chosen(self, habit: Habit) -> tuple[ChecklistLine, ...]:
        """Return the checklist after so many choices on the pairs that the page shows."""
        return session_checklist(self._session(habit), criterion_library())

    def clarified(self, habit: Habit) -> tuple[ChecklistLine, ...]:
        """Return the checklist after these choices and what the page then asks, answered by the habit."""
        session, library = self._session(habit), criterion_library()
        while question := session.to_clarify:
            session = session.clarify(each for each in question.offered if habit.names(each.of(library)))
        return session_checklist(session, library)

    def _session(self, habit: Habit) -> ElicitationSession:
        session = ElicitationSession.start(self.candidates)
        for _ in range(self.choices):
            session = session.chosen(habit.answer(session.pair))
        return session

    def remembered(self, habit: Habit) -> tuple[ChecklistLine, ...]:
        """Return the checklist from twice as many decided choices between random answers, made before."""
        past, posterior = self._remembered(habit)
        return weighted_lines(posterior, past)

    def recognised(self, habit: Habit) -> tuple[ChecklistLine, ...]:
        """Return the checklist from these choices and what the page then asks, answered by the habit."""
        past, posterior = self._remembered(habit)
        known = asked_which(posterior, past.sides(), past.benchmark.spread, habit.names)
        return weighted_lines(known, past)

    def _remembered(self, habit: Habit) -> tuple[HistoryMargins, PreferencePosterior]:
        past = margins_of_taken([*self._taken(habit)], self.candidates.margins)
        return past, posterior_given(past.choices, past.margins)

    def _taken(self, habit: Habit) -> Iterator[ResponsePair]:
        """Yield pairs of which the first response was taken, each on a query of its own."""
        random = np.random.default_rng(0)
        present, left = self.candidates.margins.present, 2 * self.choices
        for query in random.permutation(present.shape[1]).tolist():
            rows = random.permutation(np.flatnonzero(present[:, query]))[:2].tolist()
            rows.sort(key=lambda row: -habit.amount[row, query])
            if left and len(rows) > 1 and habit.amount[rows[0], query] > habit.amount[rows[1], query]:
                left -= 1
                yield ResponsePair(query, rows[0], rows[1])


def _said(lines: Sequence[ChecklistLine]) -> str:
    """Return the first lines with their evidence, in a few words."""
    return "; ".join(
        f"{'no ' if line.criterion.polarity is Polarity.AVOID else ''}{line.label}, "
        f"{line.evidence.with_it} of {line.evidence.clear}"
        for line in lines[:_SHOWN]
    )


def _people(
    texts: Sequence[Sequence[str | None]], margins: CriterionMargins, mixtures: int
) -> dict[str, list[Habit]]:
    """Return people by what they go by."""
    counted, styles = [*counted_habits(texts)], [*style_habits(margins)]
    random = np.random.default_rng(0)
    drawn = [(random.integers(len(counted)), random.integers(len(styles))) for _ in range(mixtures)]
    two = [mixed(counted[one], styles[other]) for one, other in drawn]
    return {"what can be counted": counted, "a criterion of the library": styles, "two things": two}


@app.command()
def measure(
    benchmark: Annotated[str, typer.Option(help="Slug of a benchmark with texts.")] = "dailybench",
    choices: Annotated[int, typer.Option(min=1, help="How often a person chooses.")] = 12,
    mixtures: Annotated[int, typer.Option(min=0, help="Persons who go by two things.")] = 30,
    output: Annotated[Path | None, typer.Option(help="Markdown file for the table.")] = None,
) -> None:
    """Print the table, and every failure."""
    service = Service.open()
    loaded = service.benchmark(benchmark)
    field = Field(candidate_pairs(service, benchmark, ()), choices)
    texts = [[loaded.text_at(llm, query) for query in range(loaded.n_queries)] for llm in loaded.respondents]
    rows, failures = [], list[str]()
    for kind, habits in _people(texts, field.candidates.margins, mixtures).items():
        for way, learn in (
            ("choices", field.chosen),
            ("choices, and which of these it was", field.clarified),
            ("history", field.remembered),
            ("history, and which of these it was", field.recognised),
        ):
            learnt = {habit.name: (habit, learn(habit)) for habit in habits}
            missed = [
                f"{name} ({way}: {_said(lines)})"
                for name, (habit, lines) in learnt.items()
                if not (lines and habit.names(lines[0].criterion))
            ]
            share = 1 - len(missed) / max(len(learnt), 1)
            rows.append((kind, way, f"{len(learnt)}", f"{100 * share:.0f} %"))
            failures += missed
    Report(
        f"Plain habits recognised on {benchmark}",
        ("people go by", "learnt from", "people", "first line names it"),
        tuple(rows),
        f"{choices} choices, or {2 * choices} made before. Not named: {'. '.join(failures) or 'none'}. "
        f"{describe_machine()}.",
    ).finish(output)


if __name__ == "__main__":
    run_cli(app, CRMError, LeaderboardError, DatabaseError)
