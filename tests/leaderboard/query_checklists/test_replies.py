"""Replies are checked, and what is wrong with one is said in a sentence that its writer can follow."""

import json

import pytest

from crm.criteria import Criterion, Polarity, Weight
from crm.llm.structured import UnusableReplyError
from leaderboard.query_checklists.checklist import (
    ChecklistExample,
    QueryChecklist,
    QueryCriterion,
    checklist_task,
    contrast_task,
    read_checklist,
)
from leaderboard.query_checklists.general import (
    DecidedChoice,
    general_preference_task,
    read_general_preference,
)
from leaderboard.query_checklists.reward import read_scores, reward, scoring_task


def line(criterion: object, weight: object = "Important", evidence: object = "from the message") -> object:
    return {"criterion": criterion, "weight": weight, "evidence": evidence}


THREE = [line("Short answers", "Optional"), line("Avoid: jokes"), line("A worked example", "essential")]


def test_a_checklist_is_read_the_weightiest_line_first() -> None:
    reply = f"Here it is:\n```json\n{json.dumps({'checklist': THREE})}\n```"
    found = read_checklist(reply, "Why is the sky blue?")

    assert [str(each.criterion) for each in found.lines] == [
        "A worked example",
        "Avoid: jokes",
        "Short answers",
    ]
    assert [each.criterion.weight for each in found.lines] == [
        Weight.ESSENTIAL,
        Weight.IMPORTANT,
        Weight.OPTIONAL,
    ]
    assert found.lines[1].criterion.polarity is Polarity.AVOID
    assert {each.evidence for each in found.lines} == {"from the message"}
    assert read_checklist(found.to_reply(), found.query) == found


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (THREE[:2], "It has 2 criteria, not 3 to 8."),
        (THREE * 3, "It has 9 criteria, not 3 to 8."),
        ([*THREE, line("short answers")], "It says the same twice."),
        ([*THREE[:2], line("")], "Criterion 3 cannot be used (A criterion is empty"),
        ([*THREE[:2], line(7)], "Criterion 3 is not a text."),
        ([*THREE[:2], line("Better than the rejected answer")], "Criterion 3 speaks of one of the answers."),
        ([*THREE[:2], line("Tables", "High")], "Criterion 3 has a weight that is none of Essential,"),
        ([*THREE[:2], line("Tables", evidence=" ")], "Criterion 3 has no evidence."),
        ([*THREE[:2], {"criterion": "Tables"}], "Criterion 3 has no “evidence”."),
        ([*THREE[:2], line("word " * 100)], "Criterion 3 cannot be used (The criterion"),
    ],
)
def test_what_is_wrong_with_a_checklist_is_said(lines: object, said: str) -> None:
    with pytest.raises(UnusableReplyError) as error:
        read_checklist(json.dumps({"checklist": lines}), "q")

    assert said in str(error.value)


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ("no", "It is no JSON object."),
        ('{"checklist": [', "It is no JSON object."),
        ("{}", "It has no “checklist”."),
        ('{"checklist": 7}', "Its “checklist” is no list."),
    ],
)
def test_no_checklist_at_all(reply: str, said: str) -> None:
    with pytest.raises(UnusableReplyError, match=f"^{said}$"):
        read_checklist(reply, "q")


WORDS = "They take answers that begin with the number and say in at most three sentences how it came about."


def test_a_general_preference_has_a_fitting_length() -> None:
    text = f"{WORDS}  {WORDS}\n{WORDS}"
    assert read_general_preference(json.dumps({"general_preference": text})) == f"{WORDS} {WORDS} {WORDS}"
    for wrong, said in (
        ({"general_preference": "They like it short."}, "has 4 words, where 40 are wanted"),
        ({"general_preference": "long " * 2000}, "where 4000 are the most"),
        ({"general_preference": [WORDS]}, "is no text"),
        ({"preference": WORDS}, "It has no “general_preference”."),
    ):
        with pytest.raises(UnusableReplyError, match=said):
            read_general_preference(json.dumps(wrong))


def scored(*pairs: tuple[object, object]) -> str:
    return json.dumps(
        {"results": [{"index": index, "score": score, "reason": "…"} for index, score in pairs]}
    )


def test_scores_are_one_a_line_by_their_index() -> None:
    assert read_scores(scored((2, 10), (1, 3)), 2) == (3, 10)
    for wrong in (
        scored((1, 3)),
        scored((1, 3), (3, 4)),
        scored((1, 3), (2, 4), (2, 5)),
        scored((1, 3), (2, 11)),
        scored((1, 3), (2, 0)),
        scored((1, 3), (2, 4.5)),
        scored((1, 3), (2, "4")),
        '{"results": 7}',
        "I give it a 7.",
    ):
        with pytest.raises(UnusableReplyError):
            read_scores(wrong, 2)


def checklist(*weights: Weight, query: str = "q") -> QueryChecklist:
    lines = [QueryCriterion(Criterion(f"Wish {place}", weight), "e") for place, weight in enumerate(weights)]
    return QueryChecklist(query, tuple(lines))


def test_the_reward_is_the_weighted_mean_of_the_scores() -> None:
    found = reward(checklist(Weight.ESSENTIAL, Weight.IMPORTANT, Weight.OPTIONAL), (10, 5, 1))
    assert found == pytest.approx((1.0 * 10 + 0.7 * 5 + 0.3 * 1) / 2.0)
    assert reward(checklist(Weight.OPTIONAL), (7,)) == pytest.approx(7)


def test_prompts_show_what_they_are_about_and_what_was_wrong() -> None:
    choice = DecidedChoice("Is tea healthy?", "Yes, in moderation.", "It depends on many things.")
    example = ChecklistExample(checklist(Weight.ESSENTIAL, query="Is coffee healthy?"), 3)
    assert "Is coffee healthy?" not in checklist_task("GP", "Is tea healthy?").prompt("")
    prompt = checklist_task("GP", "Is tea healthy?", (example,)).prompt("It is no JSON object.")
    for text in (
        "GP",
        "Is tea healthy?",
        "Is coffee healthy?",
        "Wish 0",
        "An earlier reply could not be used: It is",
    ):
        assert text in prompt
    prompt = contrast_task("GP", choice, "Not told apart.").prompt("")
    for text in ("GP", choice.query, choice.chosen, choice.rejected, "could not be used: Not told apart."):
        assert text in prompt
    prompt = scoring_task("GP", example.checklist, "An answer.").prompt("")
    assert "1. Wish 0" in prompt and "An answer." in prompt and "Essential" not in prompt


def test_only_the_latest_choices_are_shown_and_long_texts_lose_their_end() -> None:
    many = [DecidedChoice(f"Query {age}?", "y " * 2000, "n", age) for age in range(40)]
    prompt = general_preference_task(many).prompt("")

    assert "Query 23?" in prompt and "Query 24?" not in prompt
    assert prompt.index("Query 23?") < prompt.index("Query 0?")  # the oldest first
    assert len(prompt) < 24 * 1_700 + 3_000
    assert "y …" in prompt
