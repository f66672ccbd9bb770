"""Choices and replies of one person, undone and gone on with; and what they say of a checklist."""

import numpy as np
import pytest

from crm.criteria import Polarity
from leaderboard.personal.checklist import checklist
from leaderboard.personal.choice import Answer, Choice
from leaderboard.personal.course import Course
from leaderboard.personal.library import criterion_library
from leaderboard.personal.replies import Reply, support_for
from leaderboard.personal.source import shown_of
from leaderboard.personal.wording import evidence_sentence
from leaderboard.service import Service


@pytest.fixture(scope="module")
def course(service: Service) -> Course:
    return Course.start(shown_of(service, "dailybench", ()))


def place(label: str) -> int:
    return [item.label for item in criterion_library()].index(label)


def answered(course: Course, wanted: str) -> Course:
    """Ask until an option names the criterion, and take it; no preference elsewhere."""
    while course.question is not None:
        names = course.question.weights[:, place(wanted)] > 0
        if names.any():
            return course.replied(int(names.argmax()))
        course = course.replied(len(course.question.options) - 1)
    pytest.skip(f"the interview does not ask for {wanted}")


def test_undoing_a_choice_keeps_the_reply_after_it_and_shows_its_pair_again(course: Course) -> None:
    both = course.chosen(Answer.FIRST).replied(0)
    undone = both.without_last(Choice)

    assert [type(step) for step in both.steps] == [Choice, Reply]
    assert undone.steps == both.steps[1:]
    assert undone.pair == course.pair
    np.testing.assert_array_equal(undone.person.mean, course._after(both.replies[0]).person.mean)


def test_undoing_a_reply_asks_its_question_again(course: Course) -> None:
    undone = course.chosen(Answer.SECOND).replied(1).without_last(Reply)

    assert undone.choices
    assert not undone.replies
    assert undone.question is course.chosen(Answer.SECOND).question
    assert course.without_last(Reply) is course


def test_a_reply_moves_the_choices_that_follow(course: Course) -> None:
    replied = course.replied(0)

    assert replied.person.mean.tolist() != course.person.mean.tolist()
    assert replied.chosen(Answer.FIRST).person.observed[0] is replied.person.observed[0]


def test_no_question_is_asked_twice_and_there_are_five_at_most(course: Course) -> None:
    asked = []
    while course.question is not None:
        asked.append(course.question.text)
        course = course.replied(0)

    assert 1 <= len(asked) == len(set(asked)) <= 5
    with pytest.raises(ValueError, match="no question"):
        course.replied(0)


def test_an_option_that_names_a_criterion_is_its_evidence(course: Course) -> None:
    replied = answered(course, "Humour")
    material = replied.shown.material
    [said] = support_for(place("Humour"), Polarity.WANT, material, replied.replies)

    assert said.named
    assert not support_for(place("Humour"), Polarity.AVOID, material, replied.replies)
    line = next(
        line
        for line in checklist(replied.person, material, criterion_library(), ())
        if support_for(place(line.label), line.criterion.polarity, material, replied.replies)
    )
    support = support_for(place(line.label), line.criterion.polarity, material, replied.replies)
    assert f"“{said.text}”" in evidence_sentence(line, support)


def test_no_preference_speaks_for_nothing(course: Course) -> None:
    assert course.question
    replied = course.replied(len(course.question.options) - 1)
    found = [
        support_for(index, polarity, replied.shown.material, replied.replies)
        for index in range(len(criterion_library()))
        for polarity in Polarity
    ]
    assert not any(found)
