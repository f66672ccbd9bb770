"""What a person simply goes by is the first line of their checklist; its evidence is true of the texts."""

from collections.abc import Callable

import numpy as np
import pytest

from benchmarks._counts import COUNTERS
from benchmarks.plain_habits import Field, Habit, counted_habits
from leaderboard.benchmark import LoadedBenchmark
from leaderboard.elicitation.checklist import CLEAR_DIFFERENCE
from leaderboard.elicitation.choice_model import ChoiceOutcome
from leaderboard.elicitation.library import criterion_library
from leaderboard.elicitation.session import ElicitationSession, candidate_pairs, session_checklist
from leaderboard.service import Service

HABITS = ("less words", "more words", "less bold", "more asks_back", "less sentence_length")
NAMES = ("words", "bold", "asks_back", "sentence_length", "questions")
COUNTED = {"Short answers": ("words", -1), "Bold terms": ("bold", 1), "Questions": ("questions", 1)}
"""Lines whose evidence is counted, with the count and whether more of it meets them better."""


@pytest.fixture(scope="module")
def dailybench(service: Service) -> LoadedBenchmark:
    return service.benchmark("dailybench")


@pytest.fixture(scope="module")
def field(service: Service) -> Field:
    return Field(candidate_pairs(service, "dailybench", ()), 12)


@pytest.fixture(scope="module")
def habits(dailybench: LoadedBenchmark) -> dict[str, Habit]:
    queries = range(dailybench.n_queries)
    texts = [[dailybench.text_at(llm, query) for query in queries] for llm in dailybench.respondents]
    return {habit.name: habit for habit in counted_habits(texts, NAMES)}


def ways(name: str, learn: Callable[[Field, Habit], tuple]) -> object:
    longest = name == "more words" and learn == Field.chosen
    known = pytest.mark.xfail(reason="twelve longer answers all explain more: length is the second line")
    return pytest.param(name, learn, marks=known if longest else ())


@pytest.mark.parametrize(
    ("name", "learn"), [ways(name, learn) for name in HABITS for learn in (Field.chosen, Field.remembered)]
)
def test_the_first_line_names_a_plain_habit(
    field: Field, habits: dict[str, Habit], name: str, learn: Callable[[Field, Habit], tuple]
) -> None:
    lines = learn(field, habits[name])

    assert habits[name].names(lines[0].criterion), [line.label for line in lines]
    assert lines[0].evidence.with_it == lines[0].evidence.clear > 0


@pytest.mark.parametrize("label", COUNTED)
def test_the_evidence_of_a_counted_line_is_true_of_the_texts(
    dailybench: LoadedBenchmark, field: Field, habits: dict[str, Habit], label: str
) -> None:
    count, sign = COUNTED[label]
    habit = habits[f"{'more' if sign > 0 else 'less'} {count}"]
    session = ElicitationSession.start(field.candidates)
    for _ in range(field.choices):
        session = session.chosen(habit.answer(session.pair))
    [line] = [each for each in session_checklist(session, criterion_library()) if each.label == label]

    margins, index = field.candidates.margins, line.index
    ahead = 0
    for choice in session.choices:
        pair = choice.pair
        values = margins.values[[pair.first, pair.second], pair.query, index]
        if choice.outcome.decided and abs(np.diff(values)[0]) > CLEAR_DIFFERENCE * margins.spread[index]:
            first, second = (
                COUNTERS[count](dailybench.text_at(dailybench.respondents[row], pair.query) or "")
                for row in (pair.first, pair.second)
            )
            taken, left = (first, second) if choice.outcome is ChoiceOutcome.FIRST else (second, first)
            ahead += sign * (taken - left) > 0
    assert ahead == line.evidence.with_it > 0
