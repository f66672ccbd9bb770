"""What an LLM is asked about one side of a preference, and its reply checked."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, ValidationInfo
from pydantic_core import ErrorDetails

from crm.criteria import Criterion
from crm.errors import CriterionError
from crm.llm.chat_model import Prompt
from crm.llm.prompt import read_prompt
from crm.llm.settings import ConfiguredLLM
from crm.llm.structured import parse_json
from crm.version import version_of
from db.source_records import Message, PreferenceRecord, SideKey, Winner

MIN_CRITERIA: Final = 3
MAX_CRITERIA: Final = 5
"""Criteria in one list."""
_QUOTED = 6
"""So many words in a row that also stand in the query are a quotation."""
_MIN_QUERY_WORDS = 3
"""Words of a query that counts as quoted when it stands whole in a criterion."""
_WORD = re.compile(r"\w+")
_NEXT_SENTENCE = re.compile(r"(?<!\be\.g)(?<!\bi\.e)(?<!\betc)(?<!\bvs)[.!?][\"'”’)]*\s+[\"'“‘(]?[A-Z]")
_PLACE = re.compile(
    r"\b(?i:response|answer|reply|assistant|model|output|side|option)s?\s+[\"'“]?(?:A|B)\b"
    r"|\b(?i:response|assistant|model|output)\s+[12]\b"
    r"|\b(?i:first|second|other|former|latter|preferred|chosen|rejected)\s+(?i:response|answer|reply|assistant)\b"
)


@dataclass(frozen=True)
class Forbidden:
    """What criteria must not repeat.

    Attributes:
        names: Names of the LLMs that answered.
        query: All that the person wrote.
    """

    names: tuple[str, ...]
    query: str


def read_criteria(reply: str, forbidden: Forbidden) -> tuple[str, ...]:
    """The criteria in a reply, normalised; words around the JSON object, such as a code fence, are ignored.

    Raises UnusableReplyError: It holds none that can be used.
    """
    return tuple(parse_json(reply, _CriteriaReply, _in_words, context=forbidden).criteria)


def _statement(value: Any, info: ValidationInfo) -> str:
    if not isinstance(value, str):
        raise ValueError("is not a text")
    forbidden = info.context
    assert isinstance(forbidden, Forbidden)
    try:
        text = str(Criterion.parse(value))
    except CriterionError as error:
        raise ValueError(f"cannot be used ({str(error).rstrip('.')})") from None
    if "\n" in value.strip() or _NEXT_SENTENCE.search(text):
        raise ValueError("is more than one statement")
    if _PLACE.search(text):
        raise ValueError("speaks of one of the two answers")
    for name in forbidden.names:
        if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE):
            raise ValueError("names an LLM")
    if _quotes(text, forbidden.query):
        raise ValueError("quotes the conversation")
    return text


def _distinct(criteria: list[str]) -> list[str]:
    if len({tuple(_words(text)) for text in criteria}) < len(criteria):
        raise ValueError("says the same twice")
    return criteria


Statement = Annotated[str, BeforeValidator(_statement)]


class _CriteriaReply(BaseModel):
    criteria: Annotated[
        list[Statement], Field(min_length=MIN_CRITERIA, max_length=MAX_CRITERIA), AfterValidator(_distinct)
    ]


def _quotes(text: str, query: str) -> bool:
    said, asked = _words(text), _words(query)
    if len(asked) >= _MIN_QUERY_WORDS and tuple(asked) in _runs(said, len(asked)):
        return True
    return not _runs(said, _QUOTED).isdisjoint(_runs(asked, _QUOTED))


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _runs(words: Sequence[str], length: int) -> set[tuple[str, ...]]:
    return {tuple(words[start : start + length]) for start in range(len(words) - length + 1)}


def _in_words(error: ErrorDetails) -> str:
    """Say what is wrong in a sentence about “it”, the reply."""
    where, said = error["loc"], error.get("ctx", {})
    match error["type"]:
        case "missing":
            return 'It has no list "criteria".'
        case "too_short" | "too_long":
            return f"It has {said['actual_length']} criteria, not {MIN_CRITERIA} to {MAX_CRITERIA}."
        case "value_error" if len(where) > 1:
            return f"Criterion {int(where[1]) + 1} {said['error']}."
        case "value_error":
            return f"It {said['error']}."
    return 'Its "criteria" are no list of texts.'


_SEED = "first shown 1"
"""Changing it deals the places of the answers again."""
_PROMPT = Path(__file__).parent / "prompts" / "criteria.txt"
_template = read_prompt(_PROMPT)


@dataclass(frozen=True, slots=True)
class Turn:
    """A message of the person and the two answers to it, in the order in which they are shown."""

    message: str
    first: str
    second: str


@dataclass(frozen=True)
class ExtractionQuestion:
    """Why somebody would prefer one side of a preference.

    Attributes:
        side: The side that is preferred in this question, whatever its user preferred.
    """

    preference: PreferenceRecord
    side: Winner

    @property
    def key(self) -> SideKey:
        """What the answer is stored by."""
        return SideKey(self.preference.external_id, self.side)

    @property
    def name(self) -> str:
        """A text that tells the question from others of the same set."""
        return f"{self.side.value}:{self.preference.external_id}"

    @cached_property
    def first_shown(self) -> Winner:
        """The side that is shown first: dealt by hash, so that place is no cue, and the same in every run."""
        dealt = hashlib.sha256(f"{_SEED}:{self.name}".encode()).digest()
        return Winner.A if dealt[0] % 2 else Winner.B

    @property
    def messages(self) -> str:
        """All that the person wrote."""
        conversation = self.preference.conversation_a
        return "\n\n".join(message.content for message in conversation if message.role == "user")

    def prompt(self, problem: str = "") -> Prompt:
        """Return the question as it is put; ``problem`` says what was wrong with an earlier reply."""
        preferred, other = ("first", "second") if self.side == self.first_shown else ("second", "first")
        system = [turn.content for turn in self.preference.conversation_a if turn.role == "system"]
        text = _template.render(
            system="\n\n".join(system),
            turns=self._turns(),
            preferred=preferred,
            other=other,
            fewest=MIN_CRITERIA,
            most=MAX_CRITERIA,
            problem=problem,
        )
        return Prompt(self.name, text)

    def _turns(self) -> list[Turn]:
        shown = [self.preference.conversation_a, self.preference.conversation_b]
        if self.first_shown == Winner.B:
            shown.reverse()
        exchanges = zip_longest(*map(_exchanges, shown), fillvalue=("", ""))
        return [Turn(first[0] or second[0], first[1], second[1]) for first, second in exchanges]


def digest_of(llm: ConfiguredLLM) -> str:
    """Changes with whatever can change extracted criteria: the LLM's settings and the prompt."""
    return version_of(llm.digest, _PROMPT.read_text(encoding="utf-8"), _SEED, MIN_CRITERIA, MAX_CRITERIA)


def _exchanges(conversation: Sequence[Message]) -> list[tuple[str, str]]:
    """Return each message of the user with what the assistant answered to it."""
    exchanges: list[tuple[str, str]] = []
    for turn in conversation:
        if turn.role == "user":
            exchanges.append((turn.content.strip(), ""))
        elif turn.role == "assistant":
            message, answer = exchanges.pop() if exchanges else ("", "")
            exchanges.append((message, f"{answer}\n\n{turn.content}".strip()))
    return exchanges
