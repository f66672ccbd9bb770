"""An LLM's wording of a question counts only if it can stand for the fixed one."""

import json

import pytest

from leaderboard.personal.question_wording import (
    QuestionWording,
    UnusableWordingError,
    read_wording,
    wording_prompt,
)
from leaderboard.personal.questions import NO_PREFERENCE, interview_questions

QUESTION = next(item for item in interview_questions() if len(item.options) == 3)
GOOD = {"question": "How long may a recipe be?", "options": ["A line or two", "Every detail"]}


def test_the_prompt_names_topics_question_and_options_but_not_no_preference() -> None:
    prompt = wording_prompt(QUESTION, ("Cooking", "Travel"))

    assert "Cooking, Travel" in prompt
    assert QUESTION.text in prompt
    assert f"2. {QUESTION.options[1]}" in prompt
    assert NO_PREFERENCE not in prompt


def test_a_wording_is_found_among_words_and_keeps_the_places() -> None:
    worded = read_wording(f"Here:\n```json\n{json.dumps(GOOD)}\n```", QUESTION)

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
    with pytest.raises(UnusableWordingError):
        read_wording(json.dumps(GOOD | changed), QUESTION)


@pytest.mark.parametrize("reply", ["", "Sure!", "{", '{"question": "x"}', "[1]", '{"a": "\\ud800"}'])
def test_so_is_what_is_no_wording(reply: str) -> None:
    with pytest.raises(UnusableWordingError):
        read_wording(reply, QUESTION)
