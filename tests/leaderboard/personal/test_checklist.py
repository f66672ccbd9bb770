import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crm.criteria import Polarity, Weight
from leaderboard.personal.checklist import MOST_LINES, checklist, criteria_of, grades
from leaderboard.personal.choice import Answer, Choice, Pair
from leaderboard.personal.person import Observed, Person
from tests.leaderboard.personal.samples import (
    CRITERIA,
    LIBRARY,
    QUERIES,
    RESPONDERS,
    choice_by,
    small_material,
)

MATERIAL = small_material()
SHARES = st.lists(st.floats(0.01, 1), min_size=1, max_size=8).map(
    lambda values: np.sort(np.array(values) / sum(values))[::-1]
)
SOME_PAIRS = [
    Pair(query, query % RESPONDERS, (query + 1 + query % 4) % RESPONDERS) for query in range(QUERIES)
]


def learnt(choices: list[Choice]) -> Person:
    """The person after the choices."""
    person = Person.unknown(CRITERIA, n_draws=1500)
    for choice in choices:
        person = person.after(Observed.of(choice, MATERIAL))
    return person


class TestGrades:
    @given(SHARES)
    def test_fall_and_begin_with_essential(self, share: np.ndarray) -> None:
        values = [grade.value_in_sum for grade in grades(share)]

        assert values == sorted(values, reverse=True)
        assert grades(share)[0] is Weight.ESSENTIAL

    def test_follow_the_cumulative_weight(self) -> None:
        assert grades(np.array([0.5, 0.3, 0.15, 0.05])) == (
            Weight.ESSENTIAL,
            Weight.IMPORTANT,
            Weight.IMPORTANT,
            Weight.OPTIONAL,
        )


class TestChecklist:
    def test_is_empty_before_the_first_choice(self) -> None:
        assert checklist(Person.unknown(CRITERIA), MATERIAL, LIBRARY, ()) == ()

    @pytest.mark.parametrize("criterion", range(CRITERIA))
    def test_names_the_criterion_that_choices_go_by_first(self, criterion: int) -> None:
        choices = [choice_by(MATERIAL, pair, criterion) for pair in SOME_PAIRS[:15]]

        first = checklist(learnt(choices), MATERIAL, LIBRARY, choices)[0]

        assert first.label == LIBRARY[criterion].label
        assert first.criterion.weight is Weight.ESSENTIAL
        assert first.criterion.polarity is Polarity.WANT
        assert first.evidence.with_it == first.evidence.clear > 0

    def test_names_what_is_avoided(self) -> None:
        choices = [choice_by(MATERIAL, Pair(p.query, p.second, p.first), 4) for p in SOME_PAIRS[:15]]
        against = [
            Choice(item.pair, Answer.SECOND if item.answer is Answer.FIRST else Answer.FIRST)
            for item in choices
        ]

        first = checklist(learnt(against), MATERIAL, LIBRARY, against)[0]

        assert (first.label, first.criterion.polarity) == (LIBRARY[4].label, Polarity.AVOID)

    @settings(max_examples=25)
    @given(st.lists(st.sampled_from(Answer), min_size=1, max_size=12))
    def test_names_no_criterion_twice_whatever_is_answered(self, answers: list[Answer]) -> None:
        choices = [Choice(pair, answer) for pair, answer in zip(SOME_PAIRS, answers, strict=False)]
        lines = checklist(learnt(choices), MATERIAL, LIBRARY, choices)

        assert 1 <= len(lines) <= MOST_LINES
        assert len({line.label for line in lines}) == len(lines)
        assert len(criteria_of(lines)) == len(lines)
        shares = [line.share for line in lines]
        assert shares == sorted(shares, reverse=True)
        assert sum(shares) == pytest.approx(1)
        values = [line.criterion.weight.value_in_sum for line in lines]
        assert values == sorted(values, reverse=True)
        assert len(lines) == 1 or not any(line.evidence.contrary for line in lines)
        for line in lines:
            assert 0 <= line.evidence.with_it <= line.evidence.clear <= len(choices)
            assert 0 <= line.followed <= 1

    def test_both_and_neither_are_no_evidence(self) -> None:
        choices = [Choice(pair, Answer.BOTH) for pair in SOME_PAIRS[:6]]

        assert all(
            line.evidence.clear == 0 for line in checklist(learnt(choices), MATERIAL, LIBRARY, choices)
        )
