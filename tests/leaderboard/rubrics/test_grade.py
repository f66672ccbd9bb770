import json

import pytest

from crm.criteria import Criterion, Polarity
from crm.llm.structured import UnusableReplyError
from leaderboard.rubrics.grade import grade_prompt, read_grade
from leaderboard.rubrics.rubric import Rubric
from tests.leaderboard.rubrics.samples import LEVELS

RUBRIC = Rubric("How do I boil an egg?", Criterion("jokes", polarity=Polarity.AVOID), LEVELS)
GOOD = {"justification": "It tells none.", "grade": 5}


def test_a_whole_grade_with_its_reason_is_read() -> None:
    grade = read_grade(f"Sure. {json.dumps(GOOD)}")

    assert (grade.grade, grade.justification) == (5, "It tells none.")


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        (GOOD | {"grade": 0}, "Its “grade” is no whole number from 1 to 5."),
        (GOOD | {"grade": 6}, "Its “grade” is no whole number from 1 to 5."),
        (GOOD | {"grade": 4.5}, "Its “grade” is no whole number from 1 to 5."),
        (GOOD | {"grade": "4"}, "Its “grade” is no whole number from 1 to 5."),
        (GOOD | {"justification": ""}, "Its “justification” is no text."),
        (
            GOOD | {"justification": "x" * 801},
            "Its “justification” has 801 characters, where 800 are the most.",
        ),
        ({"grade": 3}, "It has no “justification”."),
        ({"justification": "Good."}, "It has no “grade”."),
    ],
)
def test_other_replies_are_refused_in_a_sentence(reply: object, problem: str) -> None:
    with pytest.raises(UnusableReplyError) as refused:
        read_grade(json.dumps(reply))
    assert str(refused.value) == problem


def test_one_response_is_shown_under_one_rubric_and_nothing_of_other_criteria() -> None:
    prompt = grade_prompt(RUBRIC, "Six minutes.")

    assert "<answer>\nSix minutes.\n</answer>" in prompt
    assert "<matter>\nAvoid: jokes\n</matter>" in prompt
    assert all(f"{number}: {text}" in prompt for number, text in enumerate(LEVELS, start=1))
