"""Checklists per category: who gets several, what they say, and what a view makes of them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks._counts import COUNTERS
from crm.criteria import Criterion
from crm.embedded.encoder import sentence_encoder
from leaderboard.benchmark import LoadedBenchmark
from leaderboard.elicitation.choice_model import Choice, ChoiceOutcome
from leaderboard.elicitation.history.learn import HistoryMargins, lists_by_category
from leaderboard.elicitation.library import criterion_library
from leaderboard.elicitation.per_category import (
    UNKNOWN,
    CategoryChecklist,
    categories_in,
    criteria_of_checklists,
    nearest_categories,
    session_checklists,
)
from leaderboard.elicitation.posterior import posterior_given
from leaderboard.elicitation.session import ElicitationSession, candidate_pairs, session_checklist
from leaderboard.elicitation.text import list_heading, several_lists_sentence
from leaderboard.service import Service

FIRST, SECOND = "Psychology & Relationships", "Business & Careers"


@pytest.fixture(scope="module")
def benchmark(service: Service) -> LoadedBenchmark:
    return service.benchmark("dailybench")


@pytest.fixture(scope="module")
def categories(benchmark: LoadedBenchmark) -> list[str]:
    return [query.category for query in benchmark.record.queries]


def chosen(
    service: Service, benchmark: LoadedBenchmark, categories: Sequence[str], size: int, *, longer_in: str
) -> ElicitationSession:
    """Somebody who takes the shorter answer, and the longer one in one category."""
    session = ElicitationSession.start(candidate_pairs(service, "dailybench", (FIRST, SECOND)))
    count = COUNTERS["words"]
    for _ in range(size):
        query = session.pair.query
        rows = session.pair.first, session.pair.second
        first, second = (count(benchmark.text_at(benchmark.respondents[row], query) or "") for row in rows)
        longer = categories[query] == longer_in
        session = session.chosen(ChoiceOutcome.FIRST if (first > second) == longer else ChoiceOutcome.SECOND)
    return session


@pytest.fixture(scope="module")
def divided(service: Service, benchmark: LoadedBenchmark, categories: list[str]) -> ElicitationSession:
    return chosen(service, benchmark, categories, 24, longer_in=SECOND)


def likes(checklist: CategoryChecklist, session: ElicitationSession, amounts: NDArray[Any]) -> float:
    """How what a list says of answers to one question goes with an amount in them ``[R, Q]``."""
    values = session.candidates.margins.values
    said = sum(line.criterion.polarity.sign * values[..., line.index] for line in checklist.lines)
    one, other = (each - each.mean(axis=0) for each in (np.asarray(said), amounts))
    return float(np.corrcoef(one.ravel(), other.ravel())[0, 1])


def test_who_chooses_differently_in_a_category_gets_a_list_for_it(
    divided: ElicitationSession, categories: list[str], benchmark: LoadedBenchmark
) -> None:
    common, own = session_checklists(divided, criterion_library(), categories)

    assert common.categories == ()
    assert own.categories in ((FIRST,), (SECOND,))
    shorter, longer = (own, common) if own.categories == (FIRST,) else (common, own)
    lengths = np.array(
        [[len((benchmark.text_at(llm, query) or "").split()) for query in range(benchmark.n_queries)]
         for llm in benchmark.respondents]
    )  # fmt: skip
    assert likes(longer, divided, lengths) > 0.5
    assert likes(shorter, divided, lengths) < -0.3


def test_evidence_is_of_the_choices_on_the_lists_own_topics(
    divided: ElicitationSession, categories: list[str]
) -> None:
    checklists = session_checklists(divided, criterion_library(), categories)
    own = checklists[1].categories
    inside = sum(categories[choice.pair.query] in own for choice in divided.choices)

    assert max(line.evidence.clear for line in checklists[1].lines) <= inside
    assert max(line.evidence.clear for line in checklists[0].lines) <= len(divided.choices) - inside


def test_who_chooses_alike_everywhere_gets_the_one_list_there_was(
    service: Service, benchmark: LoadedBenchmark, categories: list[str]
) -> None:
    session = chosen(service, benchmark, categories, 12, longer_in="")
    [only] = session_checklists(session, criterion_library(), categories)

    assert only == CategoryChecklist((), session_checklist(session, criterion_library()))


def test_a_view_carries_every_list(divided: ElicitationSession, categories: list[str]) -> None:
    checklists = session_checklists(divided, criterion_library(), categories)
    criteria = criteria_of_checklists(checklists)

    assert len(criteria.common) == len(checklists[0].lines)
    assert criteria.names == checklists[1].categories
    own = criteria.for_query("", checklists[1].categories[0])
    assert [item.text for item in own] == [line.criterion.text for line in checklists[1].lines]


def test_a_history_of_two_tastes_has_two_lists(divided: ElicitationSession, categories: list[str]) -> None:
    margins = divided.candidates.margins
    steps = tuple(step for step in divided.steps if isinstance(step, Choice))
    past = HistoryMargins(steps, margins, margins, criterion_library())
    names = [categories[choice.pair.query] for choice in steps]
    general = posterior_given(steps, margins)

    found = lists_by_category(past, general, names)
    assert [len(each.categories) for each in found] == [0, 1]
    assert lists_by_category(past, general, [FIRST] * len(steps)) == ()


def test_queries_find_their_categories(benchmark: LoadedBenchmark, categories: list[str]) -> None:
    every = slice(0, None, 9)
    texts = [text or "" for text in benchmark.query_texts[every]]
    found = nearest_categories(sentence_encoder().embed([*texts, "qwrt zxcv 0x7f"]), benchmark)

    assert np.mean([one == other for one, other in zip(found, categories[every], strict=False)]) > 0.7
    assert found[-1] == UNKNOWN


def test_queries_of_another_benchmark_go_to_its_nearest_categories(
    service: Service, benchmark: LoadedBenchmark
) -> None:
    modern = service.benchmark("modern")
    found = np.array(categories_in(modern, benchmark))
    own = [query.category for query in benchmark.record.queries]
    stories = np.array(own) == "Creative Writing & Literature"

    assert set(found) <= {*modern.category_names, UNKNOWN}
    tells_stories = np.char.startswith(found, "Stor")
    assert tells_stories[stories].mean() > 0.8
    assert tells_stories[~stories].mean() < 0.6
    assert list(categories_in(benchmark, benchmark)) == own


def test_lists_are_named_by_what_they_are_for() -> None:
    common, own = CategoryChecklist((), ()), CategoryChecklist((FIRST, SECOND), ())

    assert list_heading(common.categories) == "Everywhere else"
    assert list_heading(own.categories) == f"For {FIRST} and {SECOND}"
    assert f"On {FIRST} and {SECOND} you chose" in several_lists_sentence((common, own))


def test_a_line_of_several_categories_stands_in_each_ones_list() -> None:
    line = Criterion("Short answers", only_for=(SECOND, FIRST))

    assert line.only_for == (SECOND, FIRST)
    assert replace(line, only_for=(FIRST, SECOND)) == line
