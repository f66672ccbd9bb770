"""A chat model and what it replies to a prompt, or why it does not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, runtime_checkable


class FailureKind(StrEnum):
    """What went wrong with one request, in the words of a summary."""

    TOO_SLOW = "too slow"
    CUT = "connection refused or cut"
    RATE_LIMITED = "rate limited (429)"
    SERVER_ERROR = "server error (5xx)"
    NO_JSON = "no JSON"
    TOO_LARGE = "reply too large"
    EMPTY = "empty reply"
    REFUSED_REQUEST = "request refused (4xx)"
    REFUSED_KEY = "API key refused (401)"
    NOT_FOUND = "no such model (404)"
    SPENT = "budget spent (402)"
    TOO_LONG = "query too long"
    UNUSABLE = "reply of no use"
    BATCH_ENDED = "not answered by its batch"


class ReplyStatus(StrEnum):
    """How a reply ended: whole, declined by the LLM or a filter of its server, or at the limit of tokens."""

    OK = "ok"
    REFUSED = "refused"
    TRUNCATED = "truncated"


@dataclass(frozen=True, slots=True)
class Prompt:
    """A query to be answered: its id in the benchmark, and its text."""

    external_id: str
    text: str


@dataclass(frozen=True, slots=True)
class LLMReply:
    """An answer.

    Attributes:
        status: Whether it is whole, refused or truncated.
        text: The answer without reasoning; None where there is none.
        reasoning: What the LLM wrote for itself before it.
        model: The model's name as the server gives it; None where it gives none.
    """

    status: ReplyStatus
    text: str | None
    reasoning: str | None = None
    model: str | None = None


@dataclass(frozen=True, slots=True)
class LLMFailure:
    """Why there is no answer, in one sentence."""

    kind: FailureKind
    message: str


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens read and written, None where the server does not count them, and money at configured prices.

    Attributes:
        reasoning: Those of the written ones that are reasoning.
    """

    prompt: int | None = None
    completion: int | None = None
    cost: float = 0.0
    reasoning: int | None = None

    def __add__(self, other: Usage) -> Usage:
        prompt, completion = _sum(self.prompt, other.prompt), _sum(self.completion, other.completion)
        reasoning = _sum(self.reasoning, other.reasoning)
        return Usage(prompt, completion, self.cost + other.cost, reasoning)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of asking for one response.

    Attributes:
        result: The answer, or why there is none.
        tokens: Of all attempts.
        seconds: That the last attempt took.
        retried: What went wrong with the attempts before the last.
    """

    prompt: Prompt
    result: LLMReply | LLMFailure
    tokens: Usage = Usage()
    seconds: float = 0.0
    retried: tuple[FailureKind, ...] = ()


class ChatModel(Protocol):
    """Something that answers queries."""

    async def ask(self, prompts: Sequence[Prompt], on_outcome: Callable[[Outcome], None]) -> None:
        """Ask for a response to every prompt; each outcome is passed on as soon as it is known.

        Raises:
            UnavailableError: The LLM cannot be asked any more.
            CRMError: Its model cannot be loaded.
        """


def _sum(one: int | None, other: int | None) -> int | None:
    return other if one is None else one + (other or 0)


OPENING, CLOSING = "<think>", "</think>"


def split_thinking(content: str) -> tuple[str, str | None]:
    """Return the answer, and the reasoning in front of it or None.

    Reasoning stands between ``<think>`` and ``</think>`` at the start. Where a model's chat template
    writes the opening mark itself, only the closing one is found. Reasoning without an end is all there is.
    """
    text = content.lstrip()
    if text.startswith(OPENING):
        reasoning, _, answer = text.removeprefix(OPENING).partition(CLOSING)
        return answer.strip(), reasoning.strip() or None
    before, closed, answer = text.partition(CLOSING)
    if closed and OPENING not in before:
        return answer.strip(), before.strip() or None
    return content, None


@runtime_checkable
class Metered(Protocol):
    """A judge that counts what it uses."""

    def usage(self) -> Usage:
        """Everything used since the judge was made."""
