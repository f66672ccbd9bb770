"""Past choices in an export of ChatGPT's data: where an answer was made anew, and the one gone on with.

A conversation is a tree of messages, ``mapping``, in which each names its parent; ``current_node`` is the end
of the thread that the person saw last. Where a query has several answers, that of this thread was chosen, if
the person wrote on after it; each of the others was rejected. Nothing is known of an answer that was merely
the last: it is shown by default.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from leaderboard.personal.choice import Answer
from leaderboard.personal.history import PastChoice
from leaderboard.personal.history_turns import joined_parts

_USER, _ASSISTANT = "user", "assistant"
_TO_ALL = "all"
_TEXTS = ("text", "multimodal_text")

Node = Mapping[str, Any]


def is_conversation(value: object) -> bool:
    """Whether a JSON value is one conversation of an export."""
    return isinstance(value, dict) and isinstance(value.get("mapping"), dict)


@dataclass(frozen=True)
class Regenerated:
    """The answers to a query that was answered more than once.

    Attributes:
        query: What was asked.
        chosen: The answer gone on with; empty where none was.
        others: The other answers.
        turn: Which of the person's turns it was, from 1.
    """

    query: str
    chosen: str
    others: tuple[str, ...]
    turn: int

    def choices(self) -> Iterator[PastChoice]:
        """The chosen answer against each of the others."""
        for other in self.others:
            yield PastChoice(self.query, self.chosen, other, Answer.FIRST, self.turn)


def regenerated(conversation: Mapping[str, Any]) -> Iterator[Regenerated]:
    """Where in a conversation's last thread an answer was made anew; what is malformed is passed over."""
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
        yield Regenerated(_text(nodes[key]), chosen, others, turn)


def _children(nodes: Mapping[str, Node]) -> dict[str, list[str]]:
    """Keys of the messages below each, in the export's order."""
    found: dict[str, list[str]] = {}
    for key, node in nodes.items():
        if isinstance(parent := node.get("parent"), str):
            found.setdefault(parent, []).append(key)
    return found


def _thread(nodes: Mapping[str, Node], end: object) -> list[str]:
    """Keys from the first message to the end of the thread."""
    thread: dict[str, None] = {}
    while isinstance(end, str) and end in nodes and end not in thread:
        thread[end] = None
        end = nodes[end].get("parent")
    return list(reversed(thread))


def _answer(
    nodes: Mapping[str, Node], children: Mapping[str, list[str]], start: str, followed: set[str]
) -> str:
    """The last text that the assistant shows between a query and the next one.

    Between them may stand what it looked up or thought. Where the branch parts again, the thread is followed,
    else the newest part.
    """
    found, seen, key = "", set[str](), start
    while key not in seen and _role(nodes[key]) != _USER:
        seen.add(key)
        found = _shown(nodes[key]) or found
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


def _shown(node: Node) -> str:
    """The text of an assistant's message to the person; empty for any other message."""
    if _role(node) != _ASSISTANT or _message(node).get("recipient", _TO_ALL) != _TO_ALL:
        return ""
    return _text(node)


def _text(node: Node) -> str:
    content = _message(node).get("content")
    if not isinstance(content, dict) or content.get("content_type", _TEXTS[0]) not in _TEXTS:
        return ""
    parts = content.get("parts")
    return joined_parts(parts) if isinstance(parts, list) else ""
