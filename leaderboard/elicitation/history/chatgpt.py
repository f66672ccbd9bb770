"""Past choices in an export of ChatGPT's data: where an answer was regenerated, and the one continued from.

A conversation is a tree of messages, ``mapping``, in which each names its parent; ``current_node`` is the end
of the thread that the person saw last. Where a query has several answers, that of this thread was chosen, if
the person wrote on after it; each of the others was rejected. Nothing is known of an answer that was merely
the last: it is shown by default. A ZIP archive is unpacked
in memory and within limits.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from db.serialization import storable_text
from leaderboard.elicitation.choice_model import ChoiceOutcome
from leaderboard.elicitation.history.choices import ExportForm, LeftOut, PastChoice
from leaderboard.errors import UploadError
from parsing.archives import Archive, opened_archive
from parsing.limits import ParseError

MAX_UNPACKED_MEGABYTES = 100
MAX_RATIO = 100
"""How many times larger than packed a file may be; texts are about ten times."""
MAX_MEMBERS = 50_000

CHATGPT_EXPORT = "an export of ChatGPT’s data"
NOT_CONTINUED = "an answer was made again, but none of them was gone on with"

_CONVERSATIONS = re.compile(r"conversations(-\d+)?\.json", re.IGNORECASE)
_MEMBER = b"PK\x01\x02"

_USER, _ASSISTANT = "user", "assistant"
_TO_ALL = "all"
_TEXTS = ("text", "multimodal_text")

Node = Mapping[str, Any]


def joined_parts(parts: Iterable[object]) -> str:
    """Return the texts among the parts of a message, one below the other; pictures and files are skipped."""
    texts = (part.get("text") if isinstance(part, dict) else part for part in parts)
    return storable_text("\n".join(text for text in texts if isinstance(text, str)))


def is_conversation(value: object) -> bool:
    """Return whether a JSON value is one conversation of an export."""
    return isinstance(value, dict) and isinstance(value.get("mapping"), dict)


@dataclass(frozen=True)
class RegeneratedAnswers:
    """The answers to a query that was answered more than once.

    Attributes:
        chosen: The answer continued from; empty where none was.
        turn: Which of the person's turns it was, from 1.
    """

    query: str
    chosen: str
    others: tuple[str, ...]
    turn: int


def regenerated_answers(conversation: Mapping[str, Any]) -> Iterator[RegeneratedAnswers]:
    """Yield where in a conversation's last thread an answer was regenerated; skip what is malformed."""
    nodes = {key: node for key, node in conversation["mapping"].items() if isinstance(node, dict)}
    children = _children(nodes)
    thread = _thread(nodes, conversation.get("current_node"))
    followed = set(thread)
    asked = [key for key in thread if _role(nodes[key]) == _USER]
    for turn, key in enumerate(asked, start=1):
        branches = ((child, _answer(nodes, children, child, followed)) for child in children.get(key, ()))
        answers = [(child in followed, text) for child, text in branches if text]
        if len(answers) < 2:  # noqa: PLR2004
            continue
        gone_on = turn < len(asked)
        chosen = next((text for on_thread, text in answers if on_thread and gone_on), "")
        others = tuple(text for on_thread, text in answers if not on_thread)
        yield RegeneratedAnswers(_text(nodes[key]), chosen, others, turn)


def is_export(value: object) -> bool:
    """Return whether a JSON value is a list of conversations."""
    return isinstance(value, list) and any(map(is_conversation, value))


def export_choices(value: object, left_out: LeftOut) -> Iterator[PastChoice]:
    """Yield the choices in a list of conversations, and count places where none was made."""
    for conversation in value if isinstance(value, list) else []:
        for place in regenerated_answers(conversation) if is_conversation(conversation) else ():
            if not place.chosen:
                left_out[NOT_CONTINUED] += len(place.others)
                continue
            for other in place.others:
                yield PastChoice(place.query, place.chosen, other, ChoiceOutcome.FIRST, place.turn)


CHATGPT = ExportForm(
    CHATGPT_EXPORT,
    is_export,
    export_choices,
    "no answer in these conversations was made again and gone on with, which is what tells a choice",
)


def _children(nodes: Mapping[str, Node]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for key, node in nodes.items():
        if isinstance(parent := node.get("parent"), str):
            found.setdefault(parent, []).append(key)
    return found


def _thread(nodes: Mapping[str, Node], end: object) -> list[str]:
    """Return keys from the first message to the end of the thread."""
    thread: dict[str, None] = {}
    while isinstance(end, str) and end in nodes and end not in thread:
        thread[end] = None
        end = nodes[end].get("parent")
    return list(reversed(thread))


def _answer(
    nodes: Mapping[str, Node], children: Mapping[str, list[str]], start: str, followed: set[str]
) -> str:
    """Return the last text shown before the next query; where the branch parts, the thread's or newest."""
    found, seen, key = "", set[str](), start
    while key not in seen and _role(nodes[key]) != _USER:
        seen.add(key)
        found = _visible_text(nodes[key]) or found
        below = children.get(key)
        if not below:
            break
        key = next((child for child in below if child in followed), below[-1])
    return found


def _message(node: Node) -> Mapping[str, Any]:
    message = node.get("message")
    return message if isinstance(message, dict) else {}


def _role(node: Node) -> object:
    author = _message(node).get("author")
    return author.get("role") if isinstance(author, dict) else None


def _visible_text(node: Node) -> str:
    """Return the text of an assistant's message to the person; empty for any other message."""
    if _role(node) != _ASSISTANT or _message(node).get("recipient", _TO_ALL) != _TO_ALL:
        return ""
    return _text(node)


def _text(node: Node) -> str:
    content = _message(node).get("content")
    if not isinstance(content, dict) or content.get("content_type", _TEXTS[0]) not in _TEXTS:
        return ""
    parts = content.get("parts")
    return joined_parts(parts) if isinstance(parts, list) else ""


def conversation_files(content: bytes, file: str) -> Iterator[bytes]:
    """Yield each ``conversations.json`` of an archive; of large exports ``conversations-000.json`` etc.

    Nothing else in the archive is unpacked, and nothing is written.

    Raises:
        UploadError: It is no archive, holds no conversations, or unpacks to more than is read.
    """
    if content.count(_MEMBER) > MAX_MEMBERS:
        raise UploadError(file, f"it holds more than {MAX_MEMBERS:,} files; upload conversations.json alone.")
    try:
        with opened_archive(content, whole=False) as archive:
            members = [name for name in archive.names if _is_conversations(name)]
            if not members:
                reason = "there is no conversations.json in it: upload an export of ChatGPT, or a table."
                raise UploadError(file, reason)
            left = MAX_UNPACKED_MEGABYTES * 2**20
            for member in members:
                unpacked = _unpacked(archive, member, left, file)
                left -= len(unpacked)
                yield unpacked
    except ParseError as error:
        raise UploadError(file, f"this is no ZIP archive that can be read ({error}).") from None


def _is_conversations(name: str) -> bool:
    path = PurePosixPath(name)
    return bool(_CONVERSATIONS.fullmatch(path.name)) and "__MACOSX" not in path.parts


def _unpacked(archive: Archive, member: str, most: int, file: str) -> bytes:
    """Return a member's bytes; its size is measured, whatever the archive says of it."""
    if archive.is_locked(member):
        raise UploadError(file, "it is locked with a password: unpack it and upload conversations.json.")
    most = min(most, MAX_RATIO * max(archive.packed_size(member), 1))
    content = archive.read(member, most + 1)
    if len(content) > most:
        reason = f"it unpacks to more than {MAX_UNPACKED_MEGABYTES} MB, or is packed suspiciously well"
        raise UploadError(file, f"{reason}: upload a part of conversations.json.")
    return content
