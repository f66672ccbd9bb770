"""Are two tastes found in one person: rankings per category by lists per category, against one list for all.

    python -m benchmarks.per_category [--people N] [--categories G] [--output FILE.md]

A person with two tastes goes by one thing in one half of the categories, drawn at random, and by another in
the other half; one with one taste goes by one thing everywhere. What they go by is counted in the texts by
``benchmarks._counts``, which shares no code with the judge: more or less of it is better, and nobody errs.
They choose between pairs that the page would show, of one half of the queries. On the other half the LLMs
are ranked within each category by the share of other answers that theirs beat, by the person's own count and
by what was learnt, and Kendall's τ is taken, mean over the person's categories.

*Halves known* are two lists, each learnt from the choices of one half of the categories alone, by somebody
who knew the halves: what pooling cannot know.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray
from scipy.stats import kendalltau

from benchmarks._report import Report
from benchmarks.plain_habits import Habit, counted_habits
from crm.cli_runner import run_cli
from crm.criteria import CriteriaSet
from crm.embedded.model import embedded_crm
from crm.errors import CRMError
from crm.report_table import describe_machine
from db import DatabaseError
from leaderboard.elicitation.acquisition import CandidatePairs
from leaderboard.elicitation.checking import DuelTarget
from leaderboard.elicitation.checklist import ChecklistLine, criteria_of
from leaderboard.elicitation.library import criterion_library
from leaderboard.elicitation.per_category import CategoryChecklist, session_checklists
from leaderboard.elicitation.posterior import ObservedChoices, PreferencePosterior
from leaderboard.elicitation.session import ElicitationSession, candidate_pairs, session_checklist
from leaderboard.errors import LeaderboardError
from leaderboard.service import Service, measured
from leaderboard.statistics.duels import Margins

app = typer.Typer(add_completion=False)

CHOICES = (12, 24, 48)
WAYS = ("one list", "lists per category", "halves known")
_SAME = 1e-9

Lines = tuple[ChecklistLine, ...]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Person:
    """Somebody who chooses in some categories.

    Attributes:
        habit: What they go by, in its standard deviations where they have two tastes.
        second: The categories in which they go by the second thing.
    """

    habit: Habit
    categories: tuple[str, ...]
    second: frozenset[str]


@dataclass(frozen=True, eq=False)
class Field:
    """Where people choose and are ranked for.

    Attributes:
        category: Of each query ``[Q]``.
        asked: The queries that are chosen on ``[Q]``; LLMs are ranked on the others.
        judged: How responses stand under criteria on the page.
    """

    candidates: CandidatePairs
    category: NDArray[np.str_]
    asked: Mask
    judged: Callable[[CriteriaSet], Margins]

    def drawn(self, habits: Sequence[Habit], n_categories: int, tastes: int, seed: int) -> Person:
        """Return a person with one taste or two, the same for the same seed."""
        random = np.random.default_rng([17, n_categories, tastes, seed])
        names = random.permutation(np.unique(self.category))[:n_categories].tolist()
        second = frozenset(names[: n_categories // 2] if tastes > 1 else [])
        one, two = (habits[place] for place in random.permutation(len(habits))[:2])
        amount = [each.amount / np.nanstd(each.amount) for each in (one, two)]
        own = np.where(np.isin(self.category, sorted(second)), amount[1], amount[0])
        name = f"{one.name} / {two.name}" if second else one.name
        return Person(Habit(name, own, lambda _: True), tuple(sorted(names)), second)

    def sessions(self, person: Person) -> Mapping[int, ElicitationSession]:
        """Return the person's session after so many choices."""
        here = self.asked & np.isin(self.category, person.categories)
        pairs = replace(self.candidates, allowed=self.candidates.allowed & here, ranked=here)
        session, found = ElicitationSession.start(pairs), {}
        for n_choices in range(1, CHOICES[-1] + 1):
            session = session.chosen(person.habit.answer(session.pair))
            if n_choices in CHOICES:
                found[n_choices] = session
        return found

    def tau(self, person: Person, lists: Mapping[str, Lines]) -> float:
        """Return the mean τ over the person's categories, each ranked by its list."""
        return float(np.mean([self._tau_in(person, name, lists[name]) for name in person.categories]))

    def _tau_in(self, person: Person, name: str, lines: Lines) -> float:
        if not lines:
            return 0.0
        queries = (self.category == name) & ~self.asked
        true, learnt = Margins(person.habit.amount, alike=_SAME), self.judged(criteria_of(lines))
        here = DuelTarget(self.candidates.margins.present & queries, np.ones(len(queries)))
        found = kendalltau(here.shares(true), here.shares(learnt)).statistic
        return 0.0 if np.isnan(found) else float(found)


def by_category(person: Person, checklists: Sequence[CategoryChecklist]) -> dict[str, Lines]:
    """Return the lines that hold in each of the person's categories."""
    own = {name: each.lines for each in checklists for name in each.categories}
    return {name: own.get(name, checklists[0].lines) for name in person.categories}


def halves_known(person: Person, session: ElicitationSession, categories: Sequence[str]) -> dict[str, Lines]:
    """Return the lists of somebody who knows which categories share a taste."""
    margins, found = session.candidates.margins, dict[str, Lines]()
    for half in (person.second, frozenset(person.categories) - person.second):
        steps = tuple(choice for choice in session.choices if categories[choice.pair.query] in half)
        posterior = PreferencePosterior.prior(margins.n_criteria)
        for step in steps:
            posterior = posterior.after(ObservedChoices.of([step], margins))
        known = replace(session, posterior=posterior, steps=steps)
        lines = session_checklist(known if steps else session, criterion_library())
        found |= dict.fromkeys(half, lines)
    return found


def _results(field: Field, person: Person) -> dict[int, tuple[list[float], bool]]:
    """Return τ of each way after so many choices, and whether the categories were parted as they are."""
    library, categories = criterion_library(), field.category.tolist()
    results = {}
    for n_choices, session in field.sessions(person).items():
        one = session_checklist(session, library)
        checklists = session_checklists(session, library, categories)
        ways = (
            dict.fromkeys(person.categories, one),
            by_category(person, checklists),
            halves_known(person, session, categories),
        )
        own = {frozenset(each.categories) for each in checklists[1:]}
        rest = frozenset(person.categories) - person.second
        right = own in ({person.second}, {rest}) if person.second else not own
        results[n_choices] = ([field.tau(person, way) for way in ways], right)
    return results


def _row(kind: str, n_choices: int, found: Sequence[tuple[list[float], bool]]) -> tuple[str, ...]:
    tau = np.array([each for each, _ in found])
    gain = tau[:, 1] - tau[:, 0]
    half_width = 1.96 * gain.std(ddof=1) / len(gain) ** 0.5
    right = np.mean([each for _, each in found])
    means = (f"{value:.2f}" for value in tau.mean(axis=0))
    return (kind, str(n_choices), *means, f"{gain.mean():+.2f} ± {half_width:.2f}", f"{100 * right:.0f} %")


@app.command()
def measure(
    people: Annotated[int, typer.Option(min=2, help="Of each kind.")] = 40,
    categories: Annotated[int, typer.Option(min=2, help="In which each of them chooses.")] = 4,
    output: Annotated[Path | None, typer.Option(help="Markdown file for the table.")] = None,
) -> None:
    """Print τ within categories for people with two tastes and with one."""
    service = Service.open()
    loaded = service.benchmark("dailybench")
    candidates = candidate_pairs(service, "dailybench", ())
    texts = [[loaded.text_at(llm, query) for query in range(loaded.n_queries)] for llm in loaded.respondents]
    habits = [*counted_habits(texts)]
    names = np.array([query.category for query in loaded.record.queries])
    crm, asked = embedded_crm(), np.random.default_rng(1).random(loaded.n_queries) < 0.5
    field = Field(candidates, names, asked, lambda criteria: measured(loaded, crm, criteria))
    rows = []
    for tastes, kind in ((2, "two tastes"), (1, "one taste")):
        drawn = [field.drawn(habits, categories, tastes, seed) for seed in range(people)]
        found = [_results(field, person) for person in drawn]
        rows += [_row(kind, n_choices, [each[n_choices] for each in found]) for n_choices in CHOICES]
    Report(
        f"One list or lists per category, {categories} categories of DailyBench",
        ("people with", "choices", *WAYS, "gain by lists", "parted rightly"),
        tuple(rows),
        f"Kendall τ within categories, mean over {people} people of each kind; gain with its 95 % interval "
        f"over people. {describe_machine()}.",
    ).finish(output)


if __name__ == "__main__":
    run_cli(app, CRMError, LeaderboardError, DatabaseError)
