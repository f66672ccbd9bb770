"""What a person says outright is on their checklist, beside what their choices tell."""

import numpy as np
import pytest

from crm.criteria import Polarity
from leaderboard.personal.checklist import checklist
from leaderboard.personal.choice import Answer
from leaderboard.personal.course import Course
from leaderboard.personal.course_checklist import course_checklist
from leaderboard.personal.library import criterion_library
from leaderboard.personal.source import shown_of
from leaderboard.service import Service


@pytest.fixture(scope="module")
def course(service: Service) -> Course:
    return Course.start(shown_of(service, "dailybench", ()))


def interviewed(course: Course, option: int) -> Course:
    while course.question is not None:
        course = course.replied(option)
    return course


def wishes(course: Course) -> list[np.ndarray]:
    """What the options taken stand for."""
    return [np.abs(reply.question.weights[reply.option]) for reply in course.replies]


@pytest.mark.parametrize("option", [0, 1])
def test_every_wish_of_an_interview_is_on_the_list_and_nothing_else(course: Course, option: int) -> None:
    told = interviewed(course, option)
    library = criterion_library()
    wished = [
        {(library[place].label, weight > 0) for place, weight in enumerate(weights) if weight}
        for weights in (reply.question.weights[reply.option] for reply in told.replies)
    ]
    lines = course_checklist(told, library)
    listed = {(line.label, line.criterion.polarity is Polarity.WANT) for line in lines}

    assert all(listed & wish for wish in wished)
    assert listed <= set.union(*wished)
    assert sum(line.share for line in lines) == pytest.approx(1)
    shares = [line.share for line in lines]
    assert shares == sorted(shares, reverse=True)


def test_without_an_interview_it_is_the_checklist_of_the_choices(course: Course) -> None:
    for answer in (Answer.FIRST, Answer.SECOND, Answer.FIRST):
        course = course.chosen(answer)
    library = criterion_library()

    assert course_checklist(course, library) == checklist(
        course.person, course.shown.material, library, course.choices
    )


def test_after_an_interview_choices_add_what_they_speak_for(course: Course) -> None:
    told, library = interviewed(course, 0), criterion_library()
    named = {library[place].label for place in np.flatnonzero(sum(wishes(told)))}
    for _ in range(6):
        told = told.chosen(Answer.FIRST)
    lines = course_checklist(told, library)
    added = [line for line in lines if line.label not in named]

    assert named & {line.label for line in lines}
    assert all(2 * line.evidence.with_it > line.evidence.clear for line in added)


def test_one_without_preference_anywhere_has_no_list(course: Course) -> None:
    assert not course_checklist(course, criterion_library())
