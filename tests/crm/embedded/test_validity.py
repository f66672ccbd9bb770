"""Wishes that the embedded judge cannot judge, and wishes at odds, are flagged; fair ones are not.

The texts that a detector of criteria which cannot be judged is trained on."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

import crm.training
from crm.criteria import CriteriaSet
from crm.embedded.model import embedded_crm
from crm.protocol import ChecksCriteria


def warned_of(*wishes: str, avoid: tuple[str, ...] = ()) -> list[str]:
    """Texts of the criteria warned of; “list” for a warning about the whole list."""
    found = embedded_crm().warnings(CriteriaSet.of(wishes, avoid))
    assert all(warning.reason.endswith(".") for warning in found)
    return [warning.criterion.text if warning.criterion else "list" for warning in found]


def test_the_embedded_judge_has_doubts() -> None:
    assert isinstance(embedded_crm(), ChecksCriteria)
    assert embedded_crm().warnings(CriteriaSet()) == ()


@pytest.mark.parametrize(
    "wish",
    ["written before 1990", "in Finnish", "xqzt wvkj plmr", "auf Deutsch bitte", "printed on blue paper"],
)
def test_what_cannot_be_judged_is_flagged(wish: str) -> None:
    assert warned_of(wish) == [wish]


@pytest.mark.parametrize(
    "wish",
    [
        "funny",
        "concise and easy to read",
        "warm, personal tone",
        "step-by-step structure",
        "explains the historical background",
        "no bullet points",
        "detailed analysis with examples",
        "A creative and inspiring narrative tone",
        "short answers, no fluff",
    ],
)
def test_fair_wishes_are_not(wish: str) -> None:
    assert warned_of(wish) == []


@pytest.mark.parametrize(
    "wish",
    [
        *(
            "keine Emojis",
            "bitte keine Aufzählungen",
            "avec des listes à puces",
            "que termine con una pregunta",
        ),
        *("ohne Emojis", "sans emojis", "sin emojis", "sans jargon"),
    ],
)
def test_plain_wishes_in_languages_of_the_training_are_not(wish: str) -> None:
    assert warned_of(wish) == []


@pytest.mark.parametrize(
    "wish",
    [
        *("doesn't sell my data", "code that actually compiles", "faster!! i wait 20 sec every time"),
        *("remembers what i told it last week", "uses too much electricity"),
        *("not made by google or that billionaire", "the citations really exist"),
    ],
)
def test_what_no_text_shows_is_flagged_though_it_sounds_like_a_style(wish: str) -> None:
    """“Doesn't sell my data” is no wish for less selling."""
    assert warned_of(wish) == [wish]


@pytest.mark.parametrize(
    "wish", ["best", "great", "wonderful answers", "of the highest quality", "make it good"]
)
def test_that_an_answer_be_good_is_no_criterion(wish: str) -> None:
    assert warned_of(wish) == [wish]


@pytest.mark.parametrize(
    "wish",
    [
        *("quick to read", "sounds like a human", "mentions prices", "names its sources", "no sales pitch"),
        *("admits when unsure", "says when something happened", "warns about privacy risks"),
        *("set in Paris", "the main character is a cat", "the best option named"),
    ],
)
def test_what_only_sounds_like_it_is_not(wish: str) -> None:
    assert warned_of(wish) == []


@pytest.mark.parametrize("wish", ["inga emojis tack", "sem listas", "senza emoji per favore", "回答要简短"])
def test_wishes_in_other_languages_are_flagged_however_plain_they_look(wish: str) -> None:
    assert warned_of(wish) == [wish]


@pytest.mark.parametrize("wish", ["antworte mir auf Deutsch", "Wie spät ist es?", "vor 1990 geschrieben"])
def test_foreign_words_that_name_nothing_known_are_flagged(wish: str) -> None:
    assert warned_of(wish) == [wish]


def test_only_the_wish_in_question_is_flagged() -> None:
    assert warned_of("concise", "written in Finnish") == ["written in Finnish"]


def test_a_contradictory_list_is_flagged_as_a_whole() -> None:
    assert warned_of("as short as possible", "very long and detailed") == ["list"]
    assert warned_of("concise", avoid=("conciseness",)) == ["list"]


def test_a_contradiction_between_a_style_and_a_count_is_flagged() -> None:
    assert warned_of("concise", avoid=("brevity",)) == ["list"]


def test_wishes_that_go_together_are_not() -> None:
    assert warned_of("concise", "straight to the point") == []
    assert warned_of("concise", avoid=("rambling",)) == []


FILE = Path(crm.training.__file__).with_name("scope.json")
KINDS = {
    "origin",
    "language",
    "truth",
    "process",
    "perception",
    "identity",
    "world",
    "unrelated",
    "gibberish",
    "other_language_text",
    "hidden",
    "competence",
    "vague",
}


@pytest.fixture(scope="module")
def classes() -> Mapping[str, Sequence[str]]:
    """Texts by class: each kind that cannot be judged, and “judgeable”."""
    content = json.loads(FILE.read_text(encoding="utf-8"))
    assert set(content) == {"unjudgeable", "judgeable"}
    return {**content["unjudgeable"], "judgeable": content["judgeable"]}


def as_typed(text: str) -> str:
    """What remains of a text when case and spacing are no difference."""
    return " ".join(text.casefold().split())


def test_every_class_has_enough_texts(classes: Mapping[str, Sequence[str]]) -> None:
    assert set(classes) == KINDS | {"judgeable"}
    assert {name: len(texts) for name, texts in classes.items() if len(texts) < 45} == {}
    assert len(classes["judgeable"]) >= 300


def test_no_text_stands_twice_nor_in_two_classes(classes: Mapping[str, Sequence[str]]) -> None:
    times = Counter(as_typed(text) for texts in classes.values() for text in texts)

    assert [text for text, count in times.items() if count > 1] == []


def test_texts_are_single_lines_that_a_person_could_type(classes: Mapping[str, Sequence[str]]) -> None:
    texts = [text for texts in classes.values() for text in texts]

    assert [text for text in texts if not isinstance(text, str) or not text.strip()] == []
    assert [text for text in texts if text != text.strip() or "\n" in text or len(text) > 200] == []


def test_gibberish_is_three_to_forty_characters_long(classes: Mapping[str, Sequence[str]]) -> None:
    assert [text for text in classes["gibberish"] if not 3 <= len(text) <= 40] == []


def test_fair_wishes_come_in_many_forms(classes: Mapping[str, Sequence[str]]) -> None:
    """A detector that has seen only tidy phrases would flag one word, capitals, slang or an emoji."""
    fair = classes["judgeable"]

    assert sum(" " not in text for text in fair) >= 50
    assert sum(len(text.split()) >= 15 for text in fair) >= 8
    assert sum(text.isupper() for text in fair) >= 5
    assert sum(text.istitle() and " " in text for text in fair) >= 5
    assert sum(any(ord(character) >= 0x2600 for character in text) for text in fair) >= 5
    assert (
        sum(text.casefold().startswith(("no ", "not ", "never ", "don't ", "avoid ")) for text in fair) >= 15
    )
