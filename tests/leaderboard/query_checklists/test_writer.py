"""From choices to checklists, by an LLM behind a real server."""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from crm.criteria import Criterion, Weight
from crm.llm.tasks import AskedLLM
from leaderboard.elicitation.choice_model import ChoiceOutcome
from leaderboard.elicitation.history.choices import PastChoice
from leaderboard.errors import LeaderboardError
from leaderboard.query_checklists.checklist import ChecklistExample, QueryChecklist, QueryCriterion
from leaderboard.query_checklists.contrast import most_distant, weighed
from leaderboard.query_checklists.general import DecidedChoice, decided_choices
from leaderboard.query_checklists.writer import NOT_APART, Annotator, ChecklistWriter, nearest_examples
from tests.crm.backends.scripted_server import ScriptedServer
from tests.leaderboard.critique_samples import CHAT, says
from tests.leaderboard.query_checklists.scripted_llm import (
    GENERAL,
    LONG,
    PLAIN,
    QUERIES,
    SHORT,
    WHOLE,
    at_length,
    parts,
    reply,
)


def chosen(taste: str, queries: Sequence[str] = QUERIES) -> tuple[DecidedChoice, ...]:
    short, long = "Yes, quite.", "It is a matter of many things. " * 10
    taken, left = (short, long) if taste == SHORT else (long, short)
    return tuple(
        DecidedChoice(query, taken, left, len(queries) - place)
        for place, query in enumerate(queries, start=1)
    )


def checklist(*texts: str, query: str = "q") -> QueryChecklist:
    return QueryChecklist(query, tuple(QueryCriterion(Criterion(text), "e") for text in texts))


def test_choices_are_put_in_the_order_of_time_where_all_have_one() -> None:
    first, second = ChoiceOutcome.FIRST, ChoiceOutcome.SECOND
    late = PastChoice("late", "a", "b", second, moment=9.0)
    tie = PastChoice("tie", "a", "b", ChoiceOutcome.BOTH, moment=5.0)
    early = PastChoice("early", "a", "b", first, moment=1.0)

    assert decided_choices([late, tie, early]) == (
        DecidedChoice("early", "a", "b", age=1),
        DecidedChoice("late", "b", "a", age=0),
    )
    untimed = PastChoice("untimed", "a", "b", first)
    assert [each.query for each in decided_choices([late, untimed, early])] == ["late", "untimed", "early"]


def test_lines_are_weighed_by_how_much_they_keep_other_answers_apart() -> None:
    """Equation 5, by hand: chosen (10, 6, 6), the mean of the others (2, 6, 7)."""
    taken, others = np.array([10.0, 6.0, 6.0]), np.array([[1.0, 6.0, 8.0], [3.0, 6.0, 6.0]])
    found = weighed(checklist("a", "b", "c"), taken, others)

    whole = 15 / 22
    saliency = np.array([13 / 12 - whole, 9 / 16 - whole, 8 / 16 - whole])
    assert (saliency > 0).tolist() == [True, False, False]
    assert found is not None
    assert [(each.criterion.text, each.criterion.weight) for each in found.lines] == [
        ("a", Weight.ESSENTIAL),
        ("b", Weight.OPTIONAL),
        ("c", Weight.OPTIONAL),
    ]


def test_grades_follow_the_share_of_saliency() -> None:
    """0.61 and 0.39 of it; what keeps answers apart less than the list as a whole has none."""
    taken, others = np.array([9.0, 9.0, 9.0, 6.0]), np.array([[1.0, 2.0, 5.0, 6.0]])
    found = weighed(checklist("a", "b", "c", "d"), taken, others)

    assert found is not None
    grades = [each.criterion.weight for each in found.lines]
    assert grades == [Weight.ESSENTIAL, Weight.IMPORTANT, Weight.OPTIONAL, Weight.OPTIONAL]


def test_a_checklist_that_does_not_tell_the_answers_apart_is_none() -> None:
    alike = np.array([5.0, 5.0, 5.0])
    assert weighed(checklist("a", "b", "c"), alike, alike[np.newaxis]) is None
    # It tells answers for others apart, but not the one that was left.
    assert weighed(checklist("a", "b"), np.array([8.0, 5.0]), np.array([[9.0, 5.0], [1.0, 5.0]])) is None


def test_the_most_distant_people_are_those_of_another_taste() -> None:
    own = "Likes short, factual answers with numbers and no small talk."
    alike = "Wants brief factual answers with figures and without chatter."
    other = "Loves fairy tales, metaphors, emotional stories and long poems."

    assert most_distant(own, [alike, other, alike], "Why is the sky blue?", 1) == [1]
    assert most_distant(own, [], "Why is the sky blue?", 1) == []


def test_examples_on_like_queries_and_of_late_are_shown() -> None:
    def example(query: str, age: int) -> ChecklistExample:
        return ChecklistExample(checklist("a", query=query), age)

    bread, cake = example("How do I bake bread?", 5), example("How do I bake a cake?", 5)
    law, old = example("What does this contract say?", 0), example("How do I bake bread at home?", 500)

    found = nearest_examples([law, bread, cake, old], "How long do I bake bread?", 2)
    assert found == (cake, bread)  # the best last; the old one is nearer, and too old
    assert nearest_examples([], "q") == ()


def test_a_checklist_is_learnt_from_choices_and_written_for_a_new_query(
    llm: AskedLLM, prompts: list[str]
) -> None:
    mine = chosen(SHORT)
    annotator = Annotator(llm, examples=3)
    general, theirs = annotator.general_preferences(mine, {"long": chosen(LONG), "nobody": ()})
    examples = annotator.annotated(mine, general, theirs)

    assert general == GENERAL.format(taste=SHORT)
    assert theirs == [GENERAL.format(taste=LONG)]
    assert [each.checklist.query for each in examples] == QUERIES[:-4:-1]  # the latest
    for each in examples:
        lines = [(line.criterion.text, line.criterion.weight) for line in each.checklist.lines]
        assert lines[0] == (SHORT, Weight.ESSENTIAL)  # written last, weighed first
        assert sorted(text for text, _ in lines[1:]) == sorted((PLAIN, WHOLE))
        assert {weight for _, weight in lines[1:]} == {Weight.OPTIONAL}
    # Each choice was held against the answer that was left, and one for the other person.
    scored = [parts(each, "answer")[0] for each in prompts if each.startswith("You check an answer")]
    assert scored.count(at_length("it")) == 3
    assert len(scored) == 9

    answers = ChecklistWriter(llm, general, examples).write(["What is good about cheese?"])
    found = answers.found["What is good about cheese?"]
    assert found.lines[0].criterion == Criterion(SHORT)
    last = list(prompts)[-1]
    assert all(query in last for query in QUERIES[-3:]) and '"Essential"' in last


def test_without_others_choices_are_held_against_an_answer_for_anybody(
    llm: AskedLLM, prompts: list[str]
) -> None:
    annotator = Annotator(llm, examples=2)
    annotator.annotated(chosen(SHORT), GENERAL.format(taste=SHORT), [])

    asked = [each for each in prompts if each.startswith("Answer the message")]
    assert len(asked) == 2
    assert all("as you would for anybody" in each and "known" not in each for each in asked)


def test_a_checklist_that_tells_nothing_apart_is_written_once_more_and_then_dropped(
    server: ScriptedServer, llm: AskedLLM, prompts: list[str]
) -> None:
    def sees_no_difference(asked: Any) -> Any:
        prompt = asked["messages"][-1]["content"]
        if prompt.startswith("You check an answer") and parts(prompt, "message")[0] == QUERIES[-1]:
            return says({"results": [{"index": n, "score": 5} for n in (1, 2, 3)]})
        return says(reply(prompt))

    server.on(CHAT, sees_no_difference)
    examples = Annotator(llm, examples=2).annotated(chosen(SHORT), GENERAL.format(taste=SHORT), [])

    assert [each.checklist.query for each in examples] == [QUERIES[-2]]
    again = [each for each in prompts if NOT_APART in each]
    assert len(again) == 1
    assert QUERIES[-1] in again[0]


def test_nobody_else_is_asked_about_where_no_examples_are_wanted(llm: AskedLLM, prompts: list[str]) -> None:
    annotator = Annotator(llm, examples=0)
    general, theirs = annotator.general_preferences(chosen(SHORT), {"long": chosen(LONG)})

    assert (theirs, annotator.annotated(chosen(SHORT), general, theirs)) == ([], ())
    assert len(prompts) == 1


def test_without_a_decided_choice_there_is_nothing_to_learn(llm: AskedLLM, prompts: list[str]) -> None:
    with pytest.raises(LeaderboardError, match="None of these choices prefers one answer"):
        Annotator(llm).general_preferences((), {"long": chosen(LONG)})
    assert len(prompts) == 0


def test_without_a_general_preference_nothing_goes_on(server: ScriptedServer, llm: AskedLLM) -> None:
    server.on(CHAT, says(json.dumps({"general_preference": "Short."})))
    with pytest.raises(LeaderboardError, match=r"No general preference came .* has 1 words, where 40"):
        Annotator(llm).general_preferences(chosen(SHORT), {})
