"""People who go by what the judge does not know are ranked for as on the page."""

import numpy as np
import pytest

from benchmarks.people_by_others import Field, by_amount, learn
from benchmarks.plain_habits import counted_habits
from crm.criteria import CriteriaSet
from crm.embedded.model import embedded_crm
from leaderboard.service import Service
from leaderboard.view import Against, View

SEED = 6


@pytest.fixture(scope="module")
def field(service: Service) -> Field:
    benchmark = service.benchmark("dailybench")
    return Field.of(benchmark, embedded_crm(), range(len(benchmark.respondents)))


def test_responses_are_judged_as_on_the_page_ties_and_all(service: Service, field: Field) -> None:
    bold = CriteriaSet.of(["Key terms in bold"])
    scored = service.scored(View("dailybench", criteria=bold, against=Against.ALL))
    found = field.judged(bold)

    for row in (0, 2):  # one that never writes in bold, and one that does
        ours, theirs = (each.between(row, soft=False) for each in (found, scored.judged))  # type: ignore[union-attr]
        np.testing.assert_array_equal(ours[: len(theirs)], theirs)
    ties = found.between(0, soft=False)[3:] == 0.5
    assert ties.mean() > 0.8


# Seven of the eight hardly write in bold: two of these may change places.
@pytest.mark.parametrize(("name", "least"), [("more bold", 0.85), ("less questions", 0.9)])
def test_who_goes_by_a_count_is_learnt_to_the_ceiling(
    service: Service, field: Field, name: str, least: float
) -> None:
    benchmark = service.benchmark("dailybench")
    texts = [
        [benchmark.text_at(llm, query) for query in range(benchmark.n_queries)]
        for llm in benchmark.respondents
    ]
    [habit] = [each for each in counted_habits(texts, [name.split()[1]]) if each.name == name]
    after_a_dozen = next(learn(by_amount(field, habit.amount, habit.names), SEED))

    assert after_a_dozen.tau >= after_a_dozen.ceiling
    assert after_a_dozen.tau > least
    assert after_a_dozen.right_pairs > 0.9
    assert after_a_dozen.first
