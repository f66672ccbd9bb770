"""Who foretells what people choose: accuracy on each person's later choices, by the number of earlier votes.

    python -m benchmarks.real_people [FILE] [--people N] [--output FILE.md]

FILE holds the votes of many people in any form that ``leaderboard.elicitation.history`` reads and that says
who chose: compar:IA's votes, LMArena's with judges, PRISM, Open WebUI's feedback. Without one, people are
generated (``benchmarks._people``), who say whether all this works, and nothing about real people.

A person's choices are put in the order of time, or of the file where it has no times. The last third, on
queries that did not occur before, is foretold from the first few. Everything is compared on the same people
and choices. Ways to foretell:

- *checklist*: learnt from the earlier choices, as the page learns it from a history;
- *default judgement*: the judge without criteria, ∅;
- *longer answer*: by words;
- *compar:IA's own*: the score of each LLM in its ranking of one person;
- *Bradley-Terry of others*: everybody else's votes;
- *personal Bradley-Terry*: the earlier votes;
- *personal, around others'*: the same, expecting at first what everybody else's votes say.

The last four (``benchmarks._votes``) know which LLM answered; the others read nothing but the texts.
Another way is another function in ``WAYS``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray

from benchmarks._people import comparia_votes, generated_votes
from benchmarks._report import Report
from benchmarks._votes import Crowd, comparia_scores
from benchmarks.history_checklists import interval
from crm import registry
from crm.cli_runner import run_cli
from crm.criteria import CriteriaSet
from crm.errors import CRMError
from crm.protocol import CRM, Pair
from crm.report_table import describe_machine
from db import DatabaseError
from leaderboard.elicitation.choice_model import ChoiceOutcome
from leaderboard.elicitation.history.choices import PastChoice, earlier_and_later
from leaderboard.elicitation.history.learn import HistoryMargins, n_predicted, weighted_lines
from leaderboard.elicitation.history.read import people_in
from leaderboard.elicitation.library import criterion_library
from leaderboard.elicitation.margins import (
    CriterionMargins,
    benchmark_margins,
    criterion_margins,
    read_pairs,
)
from leaderboard.elicitation.posterior import posterior_given
from leaderboard.errors import LeaderboardError, UploadError
from leaderboard.scoring_jobs.progress import status_line
from leaderboard.service import Service

app = typer.Typer(add_completion=False)

COUNTS = (2, 5, 12, 25, 50)
"""Earlier votes from which later choices are foretold."""
LATER = 1 / 3
"""Share of a person's choices that are later ones."""
MOST_LATER = 50
_LEAST = 4
"""Choices of a person from which on some are later than the fewest earlier ones."""
_READ_AT_A_TIME = 500
GENERATED = (
    "These people are generated: nobody real chose here. What they like is counted in the texts of "
    "DailyBench, so the table says that everything runs and learns tastes of this kind, and nothing about "
    "real people. Each assistant of DailyBench was told to answer in one style, so that its name says more "
    "than an LLM's name does. "
)


@dataclass(frozen=True)
class Votes:
    """One person's choices, the earlier ones apart from those that are foretold."""

    earlier: tuple[PastChoice, ...]
    later: tuple[PastChoice, ...]

    @property
    def all(self) -> tuple[PastChoice, ...]:
        """Both, in their order."""
        return self.earlier + self.later


@dataclass(frozen=True, eq=False)
class Person:
    """A person with all that their later choices are foretold from.

    Attributes:
        margins: Of the texts of all their choices, the earlier ones first, under the library.
        default: Probability by the judge without criteria that the first answer is preferred ``[C]``.
    """

    name: str
    votes: Votes
    margins: CriterionMargins
    default: NDArray[np.floating]
    benchmark: CriterionMargins
    crowd: Crowd

    def taken(self, value: Callable[[PastChoice], tuple[float, float]]) -> float:
        """Return how many later choices took the answer of the larger value; NaN is no guess."""
        decided = (choice for choice in self.votes.later if choice.outcome.decided)
        return sum(_right(choice.outcome, *value(choice)) for choice in decided)

    def stronger_taken(self, strength: NDArray[np.floating]) -> float:
        """Return how many later choices took the stronger LLM's answer ``[L]``."""
        of = {llm: float(strength[place]) for llm, place in self.crowd.place.items()}
        return self.taken(lambda choice: (of[choice.llms[0]], of[choice.llms[1]]))

    @property
    def names_llms(self) -> bool:
        """Whether all the choices say who answered."""
        return all(all(choice.llms) for choice in self.votes.all)

    @cached_property
    def by_others(self) -> NDArray[np.float64]:
        """Strengths by everybody else's votes ``[L]``."""
        return self.crowd.strengths_without(self.name)


def _right(outcome: ChoiceOutcome, first: float, second: float) -> float:
    """Return 1 where the answer taken has the larger value, 0 where the other one has, else a half."""
    if first == second or np.isnan(first) or np.isnan(second):
        return 0.5
    return float((first > second) == (outcome is ChoiceOutcome.FIRST))


def by_checklist(person: Person, count: int) -> float:
    """Foretell by the checklist learnt from so many earlier choices."""
    everything = HistoryMargins.of(person.votes.all, person.margins, person.benchmark, criterion_library())
    order = np.arange(len(person.votes.all))
    past = everything.only(order < count)
    lines = weighted_lines(posterior_given(past.choices, past.margins), past)
    return n_predicted(lines, everything.only(order >= len(person.votes.earlier)))


def by_default(person: Person, count: int) -> float:
    """Foretell by the judge without criteria."""
    prob = dict(zip(person.votes.all, person.default.tolist(), strict=True))
    return person.taken(lambda choice: (prob[choice], 1 - prob[choice]))


def by_length(person: Person, count: int) -> float:
    """Foretell the answer with more words."""
    return person.taken(lambda choice: (len(choice.first.split()), len(choice.second.split())))


def by_comparia(person: Person, count: int) -> float:
    """Foretell by compar:IA's personal ranking."""
    scores, mean = comparia_scores(person.votes.earlier[:count])
    return person.taken(lambda choice: (scores.get(choice.llms[0], mean), scores.get(choice.llms[1], mean)))


def by_others(person: Person, count: int) -> float:
    """Foretell by Bradley-Terry of everybody else's votes."""
    return person.stronger_taken(person.by_others)


def by_personal(person: Person, count: int) -> float:
    """Foretell by Bradley-Terry of so many earlier votes."""
    return person.stronger_taken(person.crowd.personal(person.votes.earlier[:count]))


def by_personal_around_others(person: Person, count: int) -> float:
    """Foretell by Bradley-Terry of so many earlier votes, expecting at first what others' say."""
    votes = person.votes.earlier[:count]
    return person.stronger_taken(person.crowd.personal(votes, np.nan_to_num(person.by_others)))


Way = Callable[[Person, int], float]
"""How many later choices of a person are foretold from so many earlier ones, a half where nothing is said."""

WAYS: Mapping[str, Way] = {
    "checklist": by_checklist,
    "default judgement": by_default,
    "longer answer": by_length,
    "compar:IA's own": by_comparia,
    "Bradley-Terry of others": by_others,
    "personal Bradley-Terry": by_personal,
    "personal, around others'": by_personal_around_others,
}
BY_LLM = {by_comparia, by_others, by_personal, by_personal_around_others}
"""Ways that have to know who answered."""


def split(choices: Sequence[PastChoice]) -> Votes:
    """Return the last third, of new queries, apart from as many of the first as are learnt from."""
    earlier, later = earlier_and_later(choices, LATER)
    return Votes(earlier[: max(COUNTS)], later[:MOST_LATER])


def read_people(
    votes: Mapping[str, Votes], crowd: Crowd, crm: CRM, benchmark: CriterionMargins
) -> Iterator[Person]:
    """Yield people as their texts are read, some at a time."""
    library = tuple(item.criterion for item in criterion_library())
    for some in _groups(votes):
        choices = [choice for one in some for choice in votes[one].all]
        read = read_pairs([Pair(each.query, each.first, each.second) for each in choices], crm)
        margins = criterion_margins(read, crm, library)
        prob = np.concatenate([block.prob[0] for block in crm.score(CriteriaSet(), read)])
        start = 0
        for one in some:
            part = slice(start, start := start + len(votes[one].all))
            own = CriterionMargins(margins.values[:, part], margins.present[:, part])
            yield Person(one, votes[one], own, prob[part], benchmark, crowd)


def _groups(votes: Mapping[str, Votes]) -> Iterator[list[str]]:
    """Yield people in their order, together as many as have ``_READ_AT_A_TIME`` choices."""
    group: list[str] = []
    for name in votes:
        group.append(name)
        if sum(len(votes[one].all) for one in group) >= _READ_AT_A_TIME:
            yield group
            group = []
    if group:
        yield group


@dataclass(frozen=True)
class Foretold:
    """Of people with enough earlier votes: choices foretold in each way ``[W, P]``, and of how many."""

    ways: tuple[str, ...]
    right: NDArray[np.float64]
    size: NDArray[np.int64]

    def rows(self, count: int) -> Iterator[tuple[str, ...]]:
        """Yield a row a way: accuracy, and how far the first way is ahead of it, person by person."""
        for way, right in zip(self.ways, self.right, strict=True):
            ahead = "" if way == self.ways[0] else _cell(interval(self.right[0] - right, self.size), "+")
            share = _cell(interval(right, self.size))
            yield str(count), way, f"{len(self.size)}", f"{self.size.sum():,}", share, ahead


def _cell(found: tuple[float, float, float], sign: str = "") -> str:
    share, low, high = (f"{value:{sign}.1f}" for value in found)
    return f"{share} ({low} to {high})"


def foretold(people: Sequence[Person], count: int) -> Foretold | None:
    """Return what is foretold of the people with so many earlier votes; None where there are not two."""
    some = [person for person in people if len(person.votes.earlier) >= count]
    if len(some) < 2:
        return None
    ways = {
        name: way
        for name, way in WAYS.items()
        if way not in BY_LLM or all(person.names_llms for person in some)
    }
    right = np.array([[way(person, count) for person in some] for way in ways.values()])
    size = np.array([sum(choice.outcome.decided for choice in person.votes.later) for person in some])
    return Foretold(tuple(ways), right, size)


@app.command()
def measure(
    file: Annotated[
        Path | None, typer.Argument(help="Votes that say who chose; without it, people are generated.")
    ] = None,
    *,
    people: Annotated[int, typer.Option(min=2, help="People whose choices are foretold, at most.")] = 200,
    benchmark: Annotated[str, typer.Option(help="On whose answers checklists are worded.")] = "dailybench",
    generated: Annotated[int, typer.Option(min=2, help="People that are generated.")] = 40,
    votes: Annotated[int, typer.Option(min=_LEAST, help="Votes of each of them.")] = 45,
    output: Annotated[Path | None, typer.Option(help="Markdown file for the table.")] = None,
) -> None:
    """Print the table."""
    service = Service.open()
    if file is None:
        name, content = "votes.jsonl", _generated(service, generated, votes)
    else:
        name, content = file.name, _content(file)
    choices = people_in(content, name)
    asked = _asked(choices, people, name)
    crm = registry.get_crm(registry.DEFAULT)
    read = []
    with status_line() as write:
        margins = benchmark_margins(service.benchmark(benchmark), crm)
        for person in read_people(asked, Crowd.of(choices), crm, margins):
            read.append(person)
            write(f"People read: {len(read):,} of {len(asked):,}")
    tables = [(count, foretold(read, count)) for count in COUNTS]
    Report(
        "Later choices of people, foretold from their earlier votes"
        + (": generated people" if file is None else f": {name}"),
        ("earlier votes", "foretold by", "people", "choices", "right, %", "checklist ahead by"),
        tuple(row for count, found in tables if found for row in found.rows(count)),
        f"{'' if file else GENERATED}{len(choices):,} people voted in all, {len(asked):,} are foretold. "
        "95 % intervals by bootstrap over people; guessing is right for 50. With more earlier votes fewer "
        f"people may be left: compare within a number of votes. {describe_machine()}.",
    ).finish(output)
    service.close()


def _generated(service: Service, people: int, votes: int) -> bytes:
    return comparia_votes(generated_votes(service.benchmark("dailybench"), people, votes)).encode()


def _content(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise UploadError(str(file), f"it cannot be read ({error.strerror}).") from None


def _asked(choices: Mapping[str, Sequence[PastChoice]], most: int, file: str) -> dict[str, Votes]:
    """Return people whose later choices can be foretold, so many at most, drawn at random."""
    apart = {person: split(some) for person, some in choices.items() if len(some) >= _LEAST}
    able = [
        person for person, votes in apart.items() if any(choice.outcome.decided for choice in votes.later)
    ]
    if len(able) < 2:
        reason = f"fewer than two people made {_LEAST} choices or more and decided one of the last"
        raise UploadError(file, f"{reason}: bring more votes.")
    order = np.random.default_rng(0).permutation(len(able))[:most]
    return {able[place]: apart[able[place]] for place in sorted(order.tolist())}


if __name__ == "__main__":
    run_cli(app, CRMError, DatabaseError, LeaderboardError)
