"""The interview: which questions are asked, when it ends, and how an LLM words them."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leaderboard.elicitation.checklist import checklist
from leaderboard.elicitation.choice_model import chosen_and_rejected
from leaderboard.elicitation.interview import (
    MAX_QUESTIONS,
    NO_PREFERENCE,
    InterviewQuestion,
    ObservedReply,
    QuestionWording,
    expected_top_change,
    interview_questions,
    next_question,
    option_probabilities,
    parse_wording,
    wording_prompt,
)
from leaderboard.elicitation.posterior import PreferencePosterior
from leaderboard.errors import LeaderboardError
from tests.leaderboard.elicitation.samples import CRITERIA, LIBRARY, small_candidates

SHOWN = small_candidates()
GRAM = SHOWN.margins.gram


def question(*wanted: int) -> InterviewQuestion:
    """A question with an option for each of some criteria."""
    weights = np.zeros((len(wanted) + 1, CRITERIA), dtype=np.float32)
    weights[np.arange(len(wanted)), wanted] = 1
    return InterviewQuestion("Which?", (*(LIBRARY[index].label for index in wanted), NO_PREFERENCE), weights)


QUESTIONS = tuple(question(index, (index + 1) % CRITERIA) for index in range(CRITERIA))
UNKNOWN = PreferencePosterior.prior(CRITERIA)


def interview(answers: list[int]) -> tuple[PreferencePosterior, list[InterviewQuestion]]:
    """Asks until it ends; the last answer is given again and again. The person, and what was asked."""
    posterior, asked = UNKNOWN, list[InterviewQuestion]()
    while (following := next_question(posterior, SHOWN, QUESTIONS)) is not None:
        option = answers[min(len(asked), len(answers) - 1)] % len(following.options)
        asked.append(following)
        posterior = posterior.after(ObservedReply(following, option, GRAM))
    return posterior, asked


class TestInterview:
    @settings(max_examples=20)
    @given(st.lists(st.integers(0, 2), min_size=1, max_size=6))
    def test_ends_after_at_most_five_different_questions(self, answers: list[int]) -> None:
        _, asked = interview(answers)

        assert 1 <= len(asked) <= MAX_QUESTIONS
        assert len({id(item) for item in asked}) == len(asked)

    def test_ends_where_there_is_nothing_left_to_ask(self) -> None:
        assert next_question(UNKNOWN, SHOWN, ()) is None
        asked = UNKNOWN.after(ObservedReply(QUESTIONS[0], 0, GRAM))
        assert next_question(asked, SHOWN, QUESTIONS[:1]) is None

    def test_asks_not_what_cannot_change_the_first_three(self) -> None:
        idle = InterviewQuestion("Which?", ("this", NO_PREFERENCE), np.zeros((2, CRITERIA), dtype=np.float32))

        assert next_question(UNKNOWN, SHOWN, [idle]) is None

    def test_without_any_preference_the_ranking_stays_the_default_one(self) -> None:
        indifferent, _ = interview([2])
        keen, _ = interview([0])

        assert checklist(indifferent, SHOWN.margins, LIBRARY, chosen_and_rejected((), SHOWN.margins)) == ()
        assert checklist(keen, SHOWN.margins, LIBRARY, chosen_and_rejected((), SHOWN.margins)) != ()
        assert np.abs(keen.mean).max() > 2 * np.abs(indifferent.mean).max()


class TestAnswer:
    @pytest.mark.parametrize("option", [0, 1])
    def test_moves_the_criterion_it_names_most(self, option: int) -> None:
        asked = question(2, 5)
        change = UNKNOWN.after(ObservedReply(asked, option, GRAM)).mean - UNKNOWN.mean

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

        assert expected_top_change(prob, SHOWN.scores(UNKNOWN.sample(50))) == 0


class TestBundledQuestions:
    def test_each_has_options_and_ends_with_no_preference(self) -> None:
        for item in interview_questions():
            assert item.options[-1] == NO_PREFERENCE
            assert not item.weights[-1].any()
            assert item.weights[:-1].any(axis=1).all()

    def test_there_are_more_than_are_asked(self) -> None:
        assert len(interview_questions()) > MAX_QUESTIONS


QUESTION = next(item for item in interview_questions() if len(item.options) == 3)
GOOD = {"question": "How long may a recipe be?", "options": ["A line or two", "Every detail"]}


def test_the_prompt_names_topics_question_and_options_but_not_no_preference() -> None:
    prompt = wording_prompt(QUESTION, ("Cooking", "Travel"))

    assert "Cooking, Travel" in prompt
    assert QUESTION.text in prompt
    assert f"2. {QUESTION.options[1]}" in prompt
    assert NO_PREFERENCE not in prompt


def test_a_wording_is_found_among_words_and_keeps_the_places() -> None:
    worded = parse_wording(f"Here:\n```json\n{json.dumps(GOOD)}\n```", QUESTION)

    assert worded == QuestionWording(
        "How long may a recipe be?", ("A line or two", "Every detail", NO_PREFERENCE)
    )


@pytest.mark.parametrize(
    "changed",
    [
        {"options": ["Only one"]},
        {"options": ["a", "b", "c"]},
        {"options": ["Same", "same"]},
        {"options": ["a", NO_PREFERENCE.lower()]},
        {"options": ["a", " "]},
        {"options": ["a", "?!"]},
        {"options": ["a", "b" * 91]},
        {"options": ["a", 2]},
        {"options": "ab"},
        {"question": ""},
        {"question": "x" * 201},
        {"question": None},
    ],
)
def test_what_cannot_stand_for_the_question_is_refused(changed: dict[str, object]) -> None:
    with pytest.raises(LeaderboardError, match=r"^The reply (has|is no)"):
        parse_wording(json.dumps(GOOD | changed), QUESTION)


@pytest.mark.parametrize("reply", ["", "Sure!", "{", '{"question": "x"}', "[1]", '{"a": "\\ud800"}'])
def test_so_is_what_is_no_wording(reply: str) -> None:
    with pytest.raises(LeaderboardError, match=r"^The reply (has|is no)"):
        parse_wording(reply, QUESTION)
