import json

import pytest

from crm.criteria import Criterion, Polarity, Weight
from crm.llm.structured import UnusableReplyError
from leaderboard.rubrics.rubric import read_rubric, rubric_prompt, rubric_task
from tests.leaderboard.rubrics.samples import LEVELS, rubric_reply

SHORT = Criterion("short answers")
NO_JOKES = Criterion("jokes", polarity=Polarity.AVOID)
QUERY = "How do I boil an egg?"


def read(reply: object) -> tuple[str, ...]:
    return read_rubric(json.dumps(reply), QUERY, SHORT).levels


def test_five_levels_are_read_in_their_order() -> None:
    rubric = read_rubric(f"Here it is:\n```json\n{json.dumps(rubric_reply())}\n```", QUERY, SHORT)

    assert rubric.levels == LEVELS
    assert (rubric.query, rubric.criterion) == (QUERY, SHORT)


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        (rubric_reply(LEVELS[:4]), "Its “levels” are not 1, 2, 3, 4, 5 in this order."),
        (rubric_reply((*LEVELS, "Even more.")), "Its “levels” are not 1, 2, 3, 4, 5 in this order."),
        (
            {"levels": rubric_reply()["levels"][::-1]},
            "Its “levels” are not 1, 2, 3, 4, 5 in this order.",
        ),
        (rubric_reply((*LEVELS[:4], LEVELS[0].upper())), "Its “levels” say the same twice."),
        (rubric_reply((*LEVELS[:4], "x" * 401)), "Level 5 has 401 characters, where 400 are the most."),
        (rubric_reply((" ", *LEVELS[1:])), "Level 1 is no text."),
        (
            rubric_reply((*LEVELS[:2], "Unlike response B it is short.", *LEVELS[3:])),
            "Level 3 speaks of “response B”, but has to fit any answer.",
        ),
        (
            rubric_reply((*LEVELS[:1], "This answer rambles.", *LEVELS[2:])),
            "Level 2 speaks of “This answer”, but has to fit any answer.",
        ),
        ({"levels": [{"level": 1}]}, "Level 1 has no “description”."),
        ({"levels": [{"level": "1", "description": "Is."}]}, "Level 1 is not of the kind asked for."),
        ({"scale": []}, "It has no “levels”."),
        ({"levels": "five"}, "Its “levels” are not of the kind asked for."),
    ],
)
def test_what_cannot_be_graded_by_is_refused_in_a_sentence(reply: object, problem: str) -> None:
    with pytest.raises(UnusableReplyError) as refused:
        read(reply)
    assert str(refused.value) == problem


def test_words_that_only_look_like_one_answer_are_let_through() -> None:
    levels = ("Gives the answer a title.", "Answers 3 questions.", *LEVELS[2:])

    assert read(rubric_reply(levels)) == levels


def test_the_prompt_says_which_way_the_criterion_goes() -> None:
    wanted, avoided = rubric_prompt(QUERY, SHORT), rubric_prompt(QUERY, NO_JOKES)

    assert "<wish>\nshort answers\n</wish>" in wanted and "dislike" not in wanted
    assert "<dislike>\njokes\n</dislike>" in avoided and "<wish>" not in avoided
    assert all(QUERY in prompt for prompt in (wanted, avoided))


def test_how_much_a_criterion_weighs_is_not_in_its_rubric() -> None:
    prompts = {rubric_prompt(QUERY, Criterion("short answers", weight)) for weight in Weight}

    assert len(prompts) == 1


def test_what_was_wrong_is_said_when_it_is_asked_for_again() -> None:
    task = rubric_task(QUERY, SHORT)

    assert "could not be used: It is no JSON object." in task.prompt("It is no JSON object.")
    assert "could not be used" not in task.prompt("")
