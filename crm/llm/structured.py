"""Replies that hold JSON: found, validated, and asked for again with the reason where they are of no use."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from crm.criteria import Criterion, normalise
from crm.errors import CriterionError, CRMError, UnavailableError
from crm.llm.chat_model import ChatModel, FailureKind, LLMFailure, LLMReply, Outcome, Prompt
from parsing.documents import read_json
from parsing.limits import ParseError

Content = TypeVar("Content", bound=BaseModel)
Usable = TypeVar("Usable")

_JSON = re.compile(r"\{.*\}", re.DOTALL)
CUT = "It was cut off at the limit of tokens."
"""What is wrong with half a reply: it ends too early, whatever is missing in it."""
TRIES = 3
"""How often one thing is asked for at most."""
MAX_UNUSABLE = 25
"""First replies in a row that cannot be used before an LLM is given up: it does not understand the task."""


class UnusableReplyError(CRMError):
    """A reply of no use; the message says why in one sentence about “it”, also to the LLM."""


def parse_json(
    reply: str,
    content: type[Content],
    explain: Callable[[ErrorDetails], str],
    context: object = None,
    *,
    half_characters: bool = False,
) -> Content:
    """Return the JSON object in a reply, validated; words around it, such as a code fence, are ignored.

    Args:
        explain: Says what the first error means, in a sentence about “it”, the reply.
        half_characters: Whether texts may hold halves of surrogate pairs, for content that cleans them.

    Raises:
        UnusableReplyError: There is no such object.
    """
    found = _JSON.search(reply)
    if found is None:
        raise UnusableReplyError("It is no JSON object.")
    try:
        if half_characters:  # which pydantic's own parser refuses
            return content.model_validate(read_json(found[0], keep_halves=True), context=context)
        return content.model_validate_json(found[0], context=context)
    except ParseError:
        raise UnusableReplyError("It is no valid JSON.") from None
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        invalid = first["type"] == "json_invalid"
        raise UnusableReplyError("It is no valid JSON." if invalid else explain(first)) from None


def of_field(name: str, otherwise: str = "is not of the kind asked for") -> Callable[[ErrorDetails], str]:
    """Return what says what is wrong with a reply of one field, for ``parse_json``.

    Args:
        otherwise: What is said of a value that is not even checked.
    """

    def explain(error: ErrorDetails) -> str:
        if error["type"] == "missing":
            return f"It has no “{name}”."
        if error["type"] == "value_error":
            return f"Its “{name}” {error.get('ctx', {})['error']}."
        return f"Its “{name}” {otherwise}."

    return explain


def line_of_text(value: object, most: int) -> str:
    """Return a text on one line; a ValueError says in what way it is none, or none of so many characters."""
    if not isinstance(value, str) or not any(letter.isalpha() for letter in normalise(value)):
        raise ValueError("is no text")
    text = normalise(value)
    if len(text) > most:
        raise ValueError(f"has {len(text)} characters, where {most} are the most")
    return text


def stated_criterion(value: object) -> Criterion:
    """Return a criterion in a reply; a ValueError says what is wrong with it, after “Criterion 1”."""
    if not isinstance(value, str):
        raise ValueError("is not a text")
    try:
        return Criterion.parse(value)
    except CriterionError as error:
        raise ValueError(f"cannot be used ({str(error).rstrip('.')})") from None


def ask_until_usable(ask: Callable[[str], str], read: Callable[[str], Usable]) -> Usable:
    """Ask until a reply can be used, ``TRIES`` times at most.

    Args:
        ask: Returns a reply; given what was wrong with the last one, empty at first.
        read: Returns what is in a reply, or raises ``UnusableReplyError``.

    Raises:
        UnusableReplyError: The last reply cannot be used either.
    """
    problem = ""
    for left in reversed(range(TRIES)):
        try:
            return read(ask(problem))
        except UnusableReplyError as error:
            if not left:
                raise
            problem = str(error)
    raise AssertionError


Check = Callable[[Prompt, LLMReply], str | None]
"""What is wrong with a reply, in one sentence; None if it can be used."""
Rephrase = Callable[[Prompt, str], Prompt]
"""The same question again, with what was wrong."""


@dataclass(frozen=True)
class StructuredChatModel:
    """A chat model whose replies have been checked; implements ``ChatModel``.

    Replies that cannot be used are collected, and asked for again when everything has been asked for once.

    Attributes:
        check: What is wrong with a reply.
        rephrase: How it is asked for again.
    """

    model: ChatModel
    check: Check
    rephrase: Rephrase

    async def ask(self, prompts: Sequence[Prompt], on_outcome: Callable[[Outcome], None]) -> None:
        """Ask for a reply to every prompt; the outcomes of all attempts are passed on together.

        Raises:
            UnavailableError: The LLM cannot be asked any more, or does not understand the task.
            CRMError: Its model cannot be loaded.
        """
        unusable: dict[str, tuple[Outcome, str]] = {}
        asked = list(prompts)
        for left in reversed(range(TRIES)):
            this_round = _Round(self.check, on_outcome, unusable, patient=left < TRIES - 1)
            try:
                await self.model.ask(asked, this_round.take)
            except UnavailableError:
                _give_up(unusable, on_outcome)
                raise
            if not unusable:
                return
            asked = [self.rephrase(outcome.prompt, why) for outcome, why in unusable.values()]
        _give_up(unusable, on_outcome)


@dataclass
class _Round:
    """One time of asking; what cannot be used goes to ``unusable``, with what earlier rounds took."""

    check: Check
    on_outcome: Callable[[Outcome], None]
    unusable: dict[str, tuple[Outcome, str]]
    patient: bool
    in_a_row: int = 0

    def take(self, outcome: Outcome) -> None:
        earlier = self.unusable.pop(outcome.prompt.external_id, None)
        if earlier is not None:
            outcome = _together(earlier[0], outcome)
        why = self.check(outcome.prompt, outcome.result) if isinstance(outcome.result, LLMReply) else None
        if why is None:
            self.in_a_row = 0
            self.on_outcome(outcome)
            return
        self.unusable[outcome.prompt.external_id] = (outcome, why)
        self.in_a_row += 1
        if self.in_a_row >= MAX_UNUSABLE and not self.patient:
            raise UnavailableError(
                f"{MAX_UNUSABLE} replies one after another could not be used, the last because: {why} "
                "Choose an LLM that follows instructions better."
            )


def _together(earlier: Outcome, later: Outcome) -> Outcome:
    """Return two attempts at the same thing as one."""
    return replace(
        later,
        prompt=earlier.prompt,
        tokens=earlier.tokens + later.tokens,
        retried=(*earlier.retried, FailureKind.UNUSABLE, *later.retried),
    )


def _give_up(unusable: dict[str, tuple[Outcome, str]], on_outcome: Callable[[Outcome], None]) -> None:
    for outcome, why in unusable.values():
        failure = LLMFailure(FailureKind.UNUSABLE, f"The reply could not be used: {why[0].lower()}{why[1:]}")
        on_outcome(replace(outcome, result=failure))
    unusable.clear()
