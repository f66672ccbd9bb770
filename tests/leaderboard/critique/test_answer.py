import json
from typing import Any

import pytest

from leaderboard.critique.answer import UnusableCritiqueError, read_critique
from tests.leaderboard.critique.samples import EDITED, GOOD

ORIGINAL = "Hello! Boil the egg."


def test_a_critique_is_found_among_words_and_fences() -> None:
    critique = read_critique(f"Here it is:\n```json\n{json.dumps(GOOD)}\n```", ORIGINAL)

    assert (critique.helpfulness, critique.personalization, critique.naturalness) == (2, -3, 0)
    assert critique.suggestions == ["Name the minutes.", "Leave the greeting out."]
    assert critique.edited == EDITED


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"helpfulness": 6}, "Its score for helpfulness is no whole number from -5 to 5."),
        ({"naturalness": "3"}, "Its score for naturalness is no whole number"),
        ({"personalization": 1.5}, "Its score for personalization is no whole number"),
        ({"personalization": True}, "Its score for personalization is no whole number"),
        ({"suggestions": ["one"]}, "It has 1 suggestions, not 2 to 3."),
        ({"suggestions": ["a", "b", "c", "d"]}, "It has 4 suggestions, not 2 to 3."),
        ({"suggestions": ["a", " "]}, "Suggestion 2 is no text."),
        ({"suggestions": ["a", "A"]}, "Its “suggestions” say the same twice."),
        ({"suggestions": ["a", "x" * 401]}, "Suggestion 2 has 401 characters"),
        ({"suggestions": "a"}, "Its “suggestions” is not of the kind asked for."),
        ({"edited": "\x00 "}, "Its “edited” is blank."),
        ({"edited": 7}, "Its “edited” is not of the kind asked for."),
        ({"edited": "x" * 40_001}, "Its “edited” has 40001 characters"),
        ({"edited": " Hello!  Boil the egg.\n"}, "Its edited response is the original, unchanged."),
    ],
)
def test_what_is_no_critique_is_refused_with_the_reason(changed: dict[str, Any], reason: str) -> None:
    with pytest.raises(UnusableCritiqueError) as refused:
        read_critique(json.dumps(GOOD | changed), ORIGINAL)

    assert str(refused.value).startswith(reason)


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("", "It is no JSON object."),
        ("I would rather not.", "It is no JSON object."),
        ('{"helpfulness": 1,}', "It is no valid JSON."),
        ('{"helpfulness": 1}', "It has no “suggestions”."),
        ('{"a": {"b": "\\ud800"}}', "It is no valid JSON."),
    ],
)
def test_so_is_what_is_no_json(reply: str, reason: str) -> None:
    with pytest.raises(UnusableCritiqueError) as refused:
        read_critique(reply, ORIGINAL)

    assert str(refused.value) == reason


def test_an_edit_is_text_that_a_page_can_show() -> None:
    critique = read_critique(json.dumps(GOOD | {"edited": "a\u0007\tb\n\u0000c<script>"}), ORIGINAL)

    assert critique.edited == "a\tb\nc<script>"
