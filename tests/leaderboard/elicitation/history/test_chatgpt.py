"""Past choices in exports of ChatGPT's data."""

import io
import json
import zipfile
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaderboard.elicitation.history.chatgpt import (
    CHATGPT_EXPORT,
    NOT_CONTINUED,
    is_conversation,
    regenerated_answers,
)
from leaderboard.elicitation.history.read import read_history
from leaderboard.errors import UploadError

Nodes = dict[str, dict[str, Any]]


def node(parent: str | None, role: str | None, text: object = "", **message: object) -> dict[str, Any]:
    content = {"content_type": "text", "parts": [text]}
    written = {"author": {"role": role}, "content": content, "recipient": "all"} | message
    return {"parent": parent, "message": written if role else None}


def conversation(current: str = "thanks") -> dict[str, Any]:
    """A query with three answers, the second of which was gone on with."""
    nodes = {
        "root": node(None, None),
        "system": node("root", "system"),
        "soup": node("system", "user", "Which soup?"),
        "first": node("soup", "assistant", "There are many soups."),
        "thought": node("soup", "assistant", "hm", content={"content_type": "thoughts", "thoughts": []}),
        "search": node("thought", "assistant", "search('soup')", recipient="browser"),
        "found": node("search", "tool", "a page on soup"),
        "second": node("found", "assistant", "Tomato."),
        "third": node("soup", "assistant", "Leek, perhaps."),
        "thanks": node("second", "user", "Thanks!"),
        "welcome": node("thanks", "assistant", "You are welcome."),
    }
    return {"title": "Soup", "mapping": nodes, "current_node": current}


def exported(*conversations: object) -> bytes:
    return json.dumps(conversations).encode()


def test_the_answer_that_was_gone_on_with_was_chosen() -> None:
    for current in ("thanks", "welcome"):
        found = read_history(exported(conversation(current)), "conversations.json")
        assert found.form == CHATGPT_EXPORT
        assert [(choice.query, choice.first, choice.second) for choice in found.choices] == [
            ("Which soup?", "Tomato.", "There are many soups."),
            ("Which soup?", "Tomato.", "Leek, perhaps."),
        ]


def test_an_answer_that_was_merely_the_last_tells_nothing() -> None:
    with pytest.raises(UploadError, match="was made again and gone on with"):
        read_history(exported(conversation("third")), "conversations.json")
    found = read_history(exported(conversation("third"), conversation()), "conversations.json")
    assert len(found.choices) == 2
    assert dict(found.left_out) == {NOT_CONTINUED: 2}


def test_the_archive_may_hold_several_files() -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("export/conversations-000.json", exported(conversation()))
        archive.writestr("export/conversations-001.json", exported(conversation("welcome")))
        archive.writestr("__MACOSX/export/._conversations-000.json", b"\0")
        archive.writestr("../conversations.txt", b"\0")
        archive.writestr("message_feedback.json", b"no JSON")
    assert len(read_history(packed.getvalue(), "export.zip").choices) == 4


def test_a_damaged_archive_is_refused_in_a_sentence() -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", exported(conversation()))
    whole = packed.getvalue()
    for damaged in (whole[20:], whole[:30] + whole[60:], whole[:-40]):
        with pytest.raises(UploadError, match="this is no ZIP archive that can be read"):
            read_history(damaged, "export.zip")


def test_a_loop_ends() -> None:
    looped = conversation()
    looped["mapping"]["root"]["parent"] = "thanks"
    looped["mapping"]["thought"]["parent"] = "found"
    assert list(regenerated_answers(looped)) is not None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(
    st.sampled_from(sorted(conversation()["mapping"])),
    st.lists(st.sampled_from(["parent", "message", "author", "content", "parts", "role"]), max_size=4),
    JSON,
)
def test_malformed_messages_are_passed_over(key: str, path: list[str], value: object) -> None:
    broken = conversation()
    place, last = broken["mapping"], key
    for step in path:
        if not isinstance(place[last], dict) or step not in place[last]:
            break
        place, last = place[last], step
    place[last] = value
    assert is_conversation(broken)
    for found in regenerated_answers(broken):
        assert isinstance("".join((found.query, found.chosen, *found.others)), str)
