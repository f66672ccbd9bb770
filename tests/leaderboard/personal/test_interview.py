import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leaderboard.personal.checklist import checklist
from leaderboard.personal.interview import (
    MOST_QUESTIONS,
    Said,
    next_question,
    option_probabilities,
    top_changed,
)
from leaderboard.personal.person import Person
from leaderboard.personal.questions import NO_PREFERENCE, Question, interview_questions
from tests.leaderboard.personal.samples import CRITERIA, LIBRARY, small_shown

SHOWN = small_shown()
GRAM = SHOWN.material.gram


def question(*wanted: int) -> Question:
    """A question with an option for each of some criteria."""
    weights = np.zeros((len(wanted) + 1, CRITERIA), dtype=np.float32)
    weights[np.arange(len(wanted)), wanted] = 1
    return Question("Which?", (*(LIBRARY[index].label for index in wanted), NO_PREFERENCE), weights)


QUESTIONS = tuple(question(index, (index + 1) % CRITERIA) for index in range(CRITERIA))
UNKNOWN = Person.unknown(CRITERIA)


def interview(answers: list[int]) -> tuple[Person, list[Question]]:
    """Asks until it ends; the last answer is given again and again. The person, and what was asked."""
    person, asked = UNKNOWN, list[Question]()
    while (following := next_question(person, SHOWN, QUESTIONS)) is not None:
        option = answers[min(len(asked), len(answers) - 1)] % len(following.options)
        asked.append(following)
        person = person.after(Said(following, option, GRAM))
    return person, asked


class TestInterview:
    @settings(max_examples=20)
    @given(st.lists(st.integers(0, 2), min_size=1, max_size=6))
    def test_ends_after_at_most_five_different_questions(self, answers: list[int]) -> None:
        _, asked = interview(answers)

        assert 1 <= len(asked) <= MOST_QUESTIONS
        assert len({id(item) for item in asked}) == len(asked)

    def test_ends_where_there_is_nothing_left_to_ask(self) -> None:
        assert next_question(UNKNOWN, SHOWN, ()) is None
        asked = UNKNOWN.after(Said(QUESTIONS[0], 0, GRAM))
        assert next_question(asked, SHOWN, QUESTIONS[:1]) is None

    def test_asks_not_what_cannot_change_the_first_three(self) -> None:
        idle = Question("Which?", ("this", NO_PREFERENCE), np.zeros((2, CRITERIA), dtype=np.float32))

        assert next_question(UNKNOWN, SHOWN, [idle]) is None

    def test_without_any_preference_the_ranking_stays_the_default_one(self) -> None:
        indifferent, _ = interview([2])
        keen, _ = interview([0])

        assert checklist(indifferent, SHOWN.material, LIBRARY, ()) == ()
        assert checklist(keen, SHOWN.material, LIBRARY, ()) != ()
        assert np.abs(keen.mean).max() > 2 * np.abs(indifferent.mean).max()


class TestAnswer:
    @pytest.mark.parametrize("option", [0, 1])
    def test_moves_the_criterion_it_names_most(self, option: int) -> None:
        asked = question(2, 5)
        change = UNKNOWN.after(Said(asked, option, GRAM)).mean - UNKNOWN.mean

        assert change.argmax() == (2, 5)[option]
        assert change.max() > 0.05

    def test_probabilities_of_the_options_sum_to_one(self) -> None:
        prob = option_probabilities(UNKNOWN.sample(100), question(0, 1, 2), GRAM)

        assert prob.shape == (4, 100)
        np.testing.assert_allclose(prob.sum(axis=0), 1, rtol=1e-5)

    def test_one_who_follows_a_criterion_says_so(self) -> None:
        draws = UNKNOWN.draws
        only = (draws.weights[:, 2] > 0) & ((draws.weights != 0).sum(axis=1) == 1)

        prob = option_probabilities(draws.at(np.flatnonzero(only)), question(2, 5), GRAM)

        assert (prob.argmax(axis=0) == 0).all()

    def test_an_answer_known_before_changes_nothing(self) -> None:
        prob = np.array([[1.0] * 50, [0.0] * 50], dtype=np.float32)

        assert top_changed(prob, SHOWN.scores(UNKNOWN.sample(50))) == 0


class TestBundledQuestions:
    def test_each_has_options_and_ends_with_no_preference(self) -> None:
        for item in interview_questions():
            assert item.options[-1] == NO_PREFERENCE
            assert not item.weights[-1].any()
            assert item.weights[:-1].any(axis=1).all()

    def test_there_are_more_than_are_asked(self) -> None:
        assert len(interview_questions()) > MOST_QUESTIONS
