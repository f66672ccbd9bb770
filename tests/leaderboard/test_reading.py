import math

import pytest

from crm.criteria import CriteriaSet, Criterion
from crm.embedded.model import embedded_crm
from crm.protocol import ReadAs, Reliability
from leaderboard.reading import Badge, CriterionReading, reading_of
from leaderboard.request import check_criteria
from leaderboard.sentences import reading_sentence
from leaderboard.view import View
from tests.judges import SlowCRM

FINNISH = Criterion("Written in Finnish")


def reading(criterion: Criterion, *, keep_unjudged: bool = False) -> CriterionReading | None:
    view = View(criteria=CriteriaSet((criterion, FINNISH)), keep_unjudged=keep_unjudged)
    return reading_of(embedded_crm(), check_criteria(embedded_crm(), view), criterion)


@pytest.mark.parametrize(
    ("criterion", "badge", "begin"),
    [
        (
            "Avoid: emojis",
            Badge.COUNTED,
            "Read as fewer emojis. Counted in every answer; a reader would agree ",
        ),
        (
            "funny",
            Badge.STYLE,
            "Read as funny. Judged as a style that this judge knows; a reader would agree ",
        ),
        (
            "the hero is a lighthouse keeper",
            Badge.WORDING,
            "Judged by its wording alone; a reader would agree ",
        ),
    ],
)
def test_a_criterion_has_a_badge_and_a_sentence(criterion: str, badge: Badge, begin: str) -> None:
    found = reading(Criterion.parse(criterion))

    assert found is not None
    assert found.badge is badge
    assert found.sentence.startswith(begin)
    assert found.sentence.endswith(" times in 100.")


def test_of_a_line_with_several_wishes_those_are_named_that_are_not_judged() -> None:
    found = reading(Criterion("never makes things up, sounds like a colleague"))
    both = reading(Criterion("warm, sounds like a colleague"))

    assert found is not None
    assert found.sentence.endswith(
        " times in 100. “never makes things up” in it is not judged. It asks whether the answer is true: "
        "this judge does not check facts."
    )
    assert both is not None
    assert both.sentence.endswith(" times in 100.")


def test_what_cannot_be_judged_is_left_out_or_doubtful_and_the_warning_says_why() -> None:
    assert reading(FINNISH) == CriterionReading(Badge.LEFT_OUT)
    assert reading(FINNISH, keep_unjudged=True) == CriterionReading(Badge.DOUBTFUL)


def test_a_judge_that_does_not_know_its_error_says_nothing() -> None:
    view = View(criteria=CriteriaSet((FINNISH,)))

    assert reading_of(SlowCRM(), check_criteria(SlowCRM(), view), FINNISH) is None


def test_what_was_not_measured_is_not_claimed() -> None:
    measured = Reliability(ReadAs.COUNTED, "at most 2 sentences", 0.764)

    assert reading_sentence(measured) == (
        "Read as at most 2 sentences. Counted in every answer; a reader would agree 76 times in 100."
    )
    assert reading_sentence(Reliability(ReadAs.WORDING, "", math.nan)) == "Judged by its wording alone."


def test_of_what_names_nothing_it_is_said_what_it_is_probably_about() -> None:
    assert reading_sentence(Reliability(ReadAs.WORDING, "realistic and blunt", 0.76)) == (
        "Probably about realistic and blunt. Judged by that and by its wording; "
        "a reader would agree 76 times in 100."
    )
