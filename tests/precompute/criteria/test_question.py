"""Replies are read, or refused with the reason that the LLM is told.

What an LLM is asked about a pair."""

import json
from dataclasses import replace

import pytest

from crm.criteria import CriteriaSet
from crm.llm.settings import ConfiguredLLM, EndpointLLMSettings
from crm.llm.structured import UnusableReplyError
from db.source_records import Message, Winner
from precompute.criteria.question import Call, Forbidden, SideQuestion, digest_of, read_criteria
from tests.precompute.criteria import samples

QUERY = "Write a birthday speech for my aunt who turns ninety this spring"
FORBIDDEN = Forbidden(("lumen-9b", "verity@1"), QUERY)
GOOD = ["Warm and personal", "gets to the point quickly", "Avoid: marketing language"]


def read(criteria: object) -> tuple[str, ...]:
    return read_criteria(json.dumps({"criteria": criteria}), FORBIDDEN)


def problem(reply: str) -> str:
    with pytest.raises(UnusableReplyError) as caught:
        read_criteria(reply, FORBIDDEN)
    return str(caught.value)


@pytest.mark.parametrize(
    "reply",
    [
        json.dumps({"criteria": GOOD}),
        f"```json\n{json.dumps({'criteria': GOOD})}\n```",
        f"Here they are:\n{json.dumps({'criteria': GOOD, 'why': 'because'}, indent=2)}\nI hope this helps.",
        json.dumps({"criteria": [f"  -  {text} " for text in GOOD]}),
    ],
)
def test_words_around_the_list_are_ignored(reply: str) -> None:
    assert read_criteria(reply, FORBIDDEN) == tuple(GOOD)


def test_what_is_read_is_what_a_person_could_have_typed() -> None:
    assert CriteriaSet.from_lines("\n".join(read(GOOD))) == CriteriaSet.from_json(GOOD)


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("I prefer the warm one.", "It is no JSON object."),
        ('{"criteria": ["a", ', "It is no JSON object."),
        ('{"criteria": ["a" "b"]}', "It is no valid JSON."),
        ('{"wishes": []}', 'It has no list "criteria".'),
        ('{"criteria": "Warm"}', 'Its "criteria" are no list of texts.'),
        ('{"criteria": ["Warm", "Brief"]}', "It has 2 criteria, not 3 to 5."),
        ('{"criteria": ["a", "b", "c", "d", "e", "f"]}', "It has 6 criteria, not 3 to 5."),
    ],
)
def test_a_reply_of_another_form_is_refused(reply: str, reason: str) -> None:
    assert problem(reply) == reason


@pytest.mark.parametrize(
    ("criterion", "reason"),
    [
        (7, "is not a text"),
        (" \n ", "cannot be used"),
        ("very " * 70, "cannot be used"),
        ("Warm\nand brief", "is more than one statement"),
        ("It is warm. It is brief.", "is more than one statement"),
        ("Warmer than Response B", "speaks of one of the two answers"),
        ("warmer than the second answer", "speaks of one of the two answers"),
        ("The preferred response is warm", "speaks of one of the two answers"),
        ("model 2 is right", "speaks of one of the two answers"),
        ("As warm as LUMEN-9B", "names an LLM"),
        ("as exact as verity@1 is", "names an LLM"),
        ("A birthday speech for my aunt, who smiles", "quotes the conversation"),
    ],
)
def test_a_criterion_that_says_too_much_is_refused_by_its_number(criterion: object, reason: str) -> None:
    said = problem(json.dumps({"criteria": ["Warm", criterion, "Kind"]}))
    assert said.startswith(f"Criterion 2 {reason}")
    assert said.endswith(".")


@pytest.mark.parametrize(
    "criterion",
    [
        "An answer a child can follow",
        "Shows the other side of the argument too",
        "Gives examples, e.g. Names and places",
        "Offers option after option",
        "Sounds like a speech for a birthday",
        "ends with an exclamation!",
    ],
)
def test_a_criterion_that_only_looks_like_it_is_taken(criterion: str) -> None:
    assert read([criterion, "Warm", "Kind"])[0] == criterion


def test_a_short_query_may_not_be_a_criterion() -> None:
    with pytest.raises(UnusableReplyError, match="quotes the conversation"):
        read_criteria('{"criteria": ["Tell me about roses", "b", "c"]}', Forbidden((), "tell me about roses"))
    assert read_criteria('{"criteria": ["roses", "b", "c"]}', Forbidden((), "roses"))[0] == "roses"


def test_the_same_twice_is_refused() -> None:
    assert problem('{"criteria": ["Warm tone", "Kind", "warm tone."]}') == "It says the same twice."


SIDES = (Winner.A, Winner.B)


def test_the_prompt_asks_why_this_side_is_preferred_wherever_it_stands() -> None:
    for number in range(20):
        for side, manner in zip(SIDES, samples.MANNERS, strict=True):
            question = SideQuestion(samples.preference(number), side)
            prompt = question.prompt().text
            assert samples.preferred_in(prompt) == manner
            first = prompt.index("In warm words") < prompt.index("In brief words")
            assert question.first_shown == (Winner.A if first else Winner.B)


def test_places_are_dealt_evenly_and_say_nothing_of_the_winner() -> None:
    questions = [SideQuestion(samples.preference(number), side) for number in range(1000) for side in SIDES]
    assert 900 < sum(question.first_shown == Winner.A for question in questions) < 1100
    won = [question for question in questions if question.preference.winner == question.side]
    assert 0.4 < sum(question.first_shown == question.side for question in won) / len(won) < 0.6


def test_the_winner_and_the_names_of_the_llms_are_not_told() -> None:
    preference = samples.preference(0)
    question = SideQuestion(preference, Winner.A)
    other = SideQuestion(replace(preference, winner=Winner.B, llm_a="x", llm_b="y"), Winner.A)
    assert question.prompt() == other.prompt()


def test_a_conversation_shows_every_turn_with_both_answers() -> None:
    prompt = SideQuestion(samples.preference(7, turns=3), Winner.A).prompt().text
    parts = [f"Question 7.{turn}" for turn in range(3)]
    places = [prompt.index(part) for part in parts]
    assert places == sorted(places)
    for turn in range(3):
        for manner in samples.MANNERS:
            assert prompt.count(f"In {manner} words, 7.{turn}") == 1
    assert "prefers the first answers to the second" in prompt or "second answers to the first" in prompt


def test_instructions_and_missing_answers_are_shown_as_they_are() -> None:
    preference = samples.preference(1)
    first = (Message("system", "Be kind."), *preference.conversation_a)
    question = SideQuestion(replace(preference, conversation_a=first, conversation_b=first[:2]), Winner.B)
    prompt = question.prompt().text
    assert "<instructions_to_both>\nBe kind.\n</instructions_to_both>" in prompt
    assert prompt.count("In warm words") == 1
    assert "_answer>\n\n</" in prompt


def test_only_a_repeated_question_names_a_problem() -> None:
    question = SideQuestion(samples.preference(1), Winner.A)
    assert "could not be used" not in question.prompt().text
    assert "An earlier reply could not be used: It is no JSON object." in (
        question.prompt("It is no JSON object.").text
    )


def test_the_digest_changes_with_what_changes_answers() -> None:
    plain = digest_of(ConfiguredLLM("x", EndpointLLMSettings(model="m")), Call.SIDE)
    assert digest_of(ConfiguredLLM("x", EndpointLLMSettings(model="m", price_prompt=1)), Call.SIDE) == plain
    assert digest_of(ConfiguredLLM("x", EndpointLLMSettings(model="m", temperature=0)), Call.SIDE) != plain
