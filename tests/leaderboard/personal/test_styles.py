"""On DailyBench: who always takes one assistant's answer gets a checklist that begins with its style."""

import dataclasses

import numpy as np
import pytest

from crm.criteria import Polarity
from leaderboard.personal.checklist import ChecklistLine, checklist
from leaderboard.personal.choice import Answer
from leaderboard.personal.course import Course
from leaderboard.personal.library import criterion_library
from leaderboard.personal.pairs import Shown
from leaderboard.personal.source import shown_of
from leaderboard.service import Service

STYLES = {
    "brevia": {"Concise", "Punchy"},
    "scholia": {"In depth", "History and culture", "Formal"},
    "stepwise": {"Numbered steps", "Headings", "Practical advice"},
    "lumen": {"Warm", "Feelings first"},
    "fabula": {"Vivid imagery", "Metaphors", "Story"},
    "verity": {"Both sides", "Admits uncertainty", "Warnings", "Asks back", "Clarifies"},
    "jester": {"Humour"},
}
"""Labels for what each was told to be: “careful, weighs both sides, caveats, a question back”, …"""
FIRST_LINES = 3
CHOICES = 12


def shown_with(favourite: int, shown: Shown) -> Shown:
    """Of every query the favourite's response and a random other."""
    random = np.random.default_rng(0)
    allowed = np.zeros_like(shown.allowed)
    for query in np.flatnonzero(shown.allowed[favourite] & (shown.allowed.sum(axis=0) > 1)):
        others = np.setdiff1d(np.flatnonzero(shown.allowed[:, query]), [favourite])
        allowed[[favourite, random.choice(others)], query] = True
    return dataclasses.replace(shown, allowed=allowed)


def learnt(service: Service, llm: str) -> tuple[ChecklistLine, ...]:
    """The checklist of one who always takes the favourite's response."""
    favourite = service.contest("dailybench").llms.index(llm)
    course = Course.start(shown_with(favourite, shown_of(service, "dailybench", ())))
    for _ in range(CHOICES):
        course = course.chosen(Answer.FIRST if course.pair.first == favourite else Answer.SECOND)
    return checklist(course.person, course.shown.material, criterion_library(), course.choices)


@pytest.mark.parametrize("llm", STYLES)
def test_the_first_lines_name_the_favourites_style(service: Service, llm: str) -> None:
    lines = learnt(service, llm)[:FIRST_LINES]

    wanted = {line.label for line in lines if line.criterion.polarity is Polarity.WANT}
    assert wanted & STYLES[llm], wanted
