"""What an LLM is asked about a preference, or one side of it, and its reply checked."""

from __future__ import annotations

import hashlib
import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from itertools import zip_longest
from pathlib import Path
from typing import Annotated, Any, Final

from jinja2 import Template
from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, ValidationInfo
from pydantic_core import ErrorDetails

from crm.llm.chat_model import Prompt
from crm.llm.prompt import read_prompt
from crm.llm.settings import ConfiguredLLM
from crm.llm.structured import parse_json, stated_criterion
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
    forbidden = info.context
    assert isinstance(forbidden, Forbidden)
    text = str(stated_criterion(value))
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


CriteriaList = Annotated[
    list[Statement], Field(min_length=MIN_CRITERIA, max_length=MAX_CRITERIA), AfterValidator(_distinct)
]


class _CriteriaReply(BaseModel):
    criteria: CriteriaList


class _Noted(BaseModel):
    strengths: Annotated[list[str], Field(min_length=1)]
    weaknesses: list[str]


class _PairReply(BaseModel):
    """Strengths and weaknesses are there to be thought of before the criteria; they are not kept."""

    first: _Noted
    second: _Noted
    criteria_first: CriteriaList
    criteria_second: CriteriaList


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
    field = ".".join(str(part) for part in where if isinstance(part, str)) or "criteria"
    is_list = field.startswith("criteria")
    match error["type"]:
        case "missing":
            return (
                f'It has no list "{field}".'
                if where[-1] not in ("first", "second")
                else f'It has no "{field}".'
            )
        case "too_short" | "too_long" if is_list:
            of = "" if field == "criteria" else f' in "{field}"'
            return f"It has {said['actual_length']} criteria{of}, not {MIN_CRITERIA} to {MAX_CRITERIA}."
        case "too_short":
            return f'Its "{field}" is empty.'
        case "value_error" if len(where) > 1:
            of = "" if field == "criteria" else f' of "{field}"'
            return f"Criterion {int(where[1]) + 1}{of} {said['error']}."
        case "value_error":
            return f"It {said['error']}."
    return (
        'Its "criteria" are no list of texts.' if field == "criteria" else f'Its "{field}" is not as asked.'
    )


_SEED = "first shown 1"
"""Changing it deals the places of the answers again."""
_PROMPT = Path(__file__).parent / "prompts" / "criteria.txt"
_PAIR_PROMPT = _PROMPT.with_name("pair.txt")
_template, _pair_template = read_prompt(_PROMPT), read_prompt(_PAIR_PROMPT)
SIDES = (Winner.A, Winner.B)


@dataclass(frozen=True, slots=True)
class Turn:
    """A message of the person and the two answers to it, in the order in which they are shown."""

    message: str
    first: str
    second: str


class Call(StrEnum):
    """How much an LLM is asked at a time."""

    PAIR = "pair"
    """Both sides of a pair in one call, strengths and weaknesses first, as in section 3 of the USL paper."""
    SIDE = "side"
    """One side a call: what speaks for the other is not asked, nor seen in the reply."""


@dataclass(frozen=True)
class ExtractionQuestion(ABC):
    """What an LLM is asked about a preference in one call."""

    preference: PreferenceRecord

    @property
    @abstractmethod
    def sides(self) -> tuple[Winner, ...]:
        """The sides whose criteria are asked for."""

    @property
    @abstractmethod
    def name(self) -> str:
        """A text that tells the question from others of the same set."""

    @abstractmethod
    def prompt(self, problem: str = "") -> Prompt:
        """Return the question as it is put; ``problem`` says what was wrong with an earlier reply."""

    @abstractmethod
    def criteria(self, reply: str) -> dict[Winner, tuple[str, ...]]:
        """The criteria of each side in a reply, normalised. Raises UnusableReplyError: It has none to use."""

    @property
    def keys(self) -> tuple[SideKey, ...]:
        """What the answers are stored by."""
        return tuple(SideKey(self.preference.external_id, side) for side in self.sides)

    @property
    def forbidden(self) -> Forbidden:
        """What criteria must not repeat."""
        turns = self.preference.conversation_a
        messages = "\n\n".join(turn.content for turn in turns if turn.role == "user")
        return Forbidden((self.preference.llm_a, self.preference.llm_b), messages)

    @cached_property
    def first_shown(self) -> Winner:
        """The side that is shown first: dealt by hash, so that place is no cue, and the same in every run."""
        dealt = hashlib.sha256(f"{_SEED}:{self.name}".encode()).digest()
        return Winner.A if dealt[0] % 2 else Winner.B

    def _rendered(self, template: Template, problem: str, **options: str) -> Prompt:
        system = [turn.content for turn in self.preference.conversation_a if turn.role == "system"]
        text = template.render(
            system="\n\n".join(system),
            turns=self._turns(),
            fewest=MIN_CRITERIA,
            most=MAX_CRITERIA,
            problem=problem,
            **options,
        )
        return Prompt(self.name, text)

    def _turns(self) -> list[Turn]:
        shown = [self.preference.conversation_a, self.preference.conversation_b]
        if self.first_shown == Winner.B:
            shown.reverse()
        exchanges = zip_longest(*map(_exchanges, shown), fillvalue=("", ""))
        return [Turn(first[0] or second[0], first[1], second[1]) for first, second in exchanges]


@dataclass(frozen=True)
class SideQuestion(ExtractionQuestion):
    """Why somebody would prefer one side of a preference.

    Attributes:
        side: The side that is preferred in this question, whatever its user preferred.
    """

    side: Winner

    @property
    def sides(self) -> tuple[Winner, ...]:
        """The one side."""
        return (self.side,)

    @property
    def name(self) -> str:
        """Side and preference."""
        return f"{self.side.value}:{self.preference.external_id}"

    def prompt(self, problem: str = "") -> Prompt:
        """Return the question as it is put."""
        preferred, other = ("first", "second") if self.side == self.first_shown else ("second", "first")
        return self._rendered(_template, problem, preferred=preferred, other=other)

    def criteria(self, reply: str) -> dict[Winner, tuple[str, ...]]:
        """The criteria of the side."""
        return {self.side: read_criteria(reply, self.forbidden)}


@dataclass(frozen=True)
class PairQuestion(ExtractionQuestion):
    """Where both sides are strong and weak, and why somebody would prefer either of them."""

    @property
    def sides(self) -> tuple[Winner, ...]:
        """Both, the one that is shown first before the other."""
        return SIDES if self.first_shown == Winner.A else SIDES[::-1]

    @property
    def name(self) -> str:
        """The preference."""
        return f"pair:{self.preference.external_id}"

    def prompt(self, problem: str = "") -> Prompt:
        """Return the question as it is put."""
        return self._rendered(_pair_template, problem)

    def criteria(self, reply: str) -> dict[Winner, tuple[str, ...]]:
        """The criteria of both sides."""
        found = parse_json(reply, _PairReply, _in_words, context=self.forbidden)
        return dict(zip(self.sides, map(tuple, (found.criteria_first, found.criteria_second)), strict=True))


def questions_about(preference: PreferenceRecord, call: Call) -> list[ExtractionQuestion]:
    """Return all that an LLM is asked about a preference."""
    if call is Call.PAIR:
        return [PairQuestion(preference)]
    return [SideQuestion(preference, side) for side in SIDES]


def digest_of(llm: ConfiguredLLM, call: Call) -> str:
    """Changes with whatever can change extracted criteria: the LLM's settings and the prompt."""
    prompt = {Call.PAIR: _PAIR_PROMPT, Call.SIDE: _PROMPT}[call].read_text(encoding="utf-8")
    return version_of(llm.digest, prompt, _SEED, MIN_CRITERIA, MAX_CRITERIA)


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
