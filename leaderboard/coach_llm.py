"""What a broad wish may mean, in an LLM's words, where one is set up: beside what is bundled (``coach``)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import Annotated, Any, Final

from cachetools import LRUCache, cachedmethod
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import ErrorDetails

from crm.llm.endpoint import InteractiveLLM, llm_named_by
from crm.llm.prompt import read_prompt
from crm.llm.structured import UnusableReplyError, parse_json, stated_criterion
from leaderboard.asked_now import asked_now, place_at
from leaderboard.coach import may_mean

VARIABLE = "USL_COACH"
"""Environment variable that names the LLM. Nothing is ever sent unless it is set."""
PATIENCE = 15.0
"""Seconds for which somebody waits, where the LLM's table does not say less."""
FEWEST: Final = 3
MOST: Final = 6
MEANING_WORDS = 12
_MOST_CHARACTERS = 120
_MAX_KEPT = 256
_template = read_prompt(Path(__file__).parent / "prompts" / "meanings.txt")


def _meaning(value: Any) -> str:
    found = stated_criterion(value)
    if len(found.text) > _MOST_CHARACTERS:
        raise ValueError(f"has {len(found.text)} characters, where {_MOST_CHARACTERS} are the most")
    if may_mean(found):
        raise ValueError("is as broad as the wish")
    return found.text


def _distinct(meanings: list[str]) -> list[str]:
    if len({text.casefold() for text in meanings}) < len(meanings):
        raise ValueError("says the same twice")
    return meanings


class _Meanings(BaseModel):
    model_config = ConfigDict(frozen=True, hide_input_in_errors=True)

    meanings: Annotated[
        list[Annotated[str, BeforeValidator(_meaning)]],
        Field(min_length=FEWEST, max_length=MOST),
        AfterValidator(_distinct),
    ]


def read_meanings(reply: str, offered: Sequence[str]) -> tuple[str, ...]:
    """Return the meanings in a reply, without those that are ``offered`` already.

    Raises UnusableReplyError: It holds too few that are testable, or nothing new.
    """
    known = {text.casefold() for text in offered}
    meanings = parse_json(reply, _Meanings, _in_words).meanings
    found = tuple(text for text in meanings if text.casefold() not in known)
    if not found:
        raise UnusableReplyError("It repeats what is offered already.")
    return found


def _in_words(error: ErrorDetails) -> str:
    """Say what is wrong in a sentence about “it”, the reply."""
    said = error.get("ctx", {})
    match error["type"]:
        case "missing":
            return "It has no “meanings”."
        case "too_short" | "too_long":
            return f"It has {said['actual_length']} meanings, not {FEWEST} to {MOST}."
        case "value_error" if len(error["loc"]) > 1:
            return f"Meaning {int(error['loc'][1]) + 1} {said['error']}."
        case "value_error":
            return f"It {said['error']}."
    return "Its “meanings” are no list of texts."


class Coach:
    """An LLM that says what broad wishes may mean; may be shared between threads."""

    def __init__(self, llm: InteractiveLLM) -> None:
        self.name = llm.name
        self._llm = llm
        self._kept: LRUCache[tuple[object, ...], tuple[str, ...]] = LRUCache(_MAX_KEPT)
        self._lock = Lock()

    @cachedmethod(lambda self: self._kept, lock=lambda self: self._lock)
    def meanings(
        self, wish: str, topics: tuple[str, ...], others: tuple[str, ...], offered: tuple[str, ...]
    ) -> tuple[str, ...]:
        """Return what a wish may mean, kept for whoever wishes and asks about the same.

        Args:
            wish: The broad one.
            topics: What the person asks about; none for everything.
            others: Their other wishes.
            offered: Meanings that are offered already.

        Raises:
            LeaderboardError: No reply can be used, or the LLM is asked too much at once.
            UnavailableError: The endpoint is down, slow, refuses, or answers nonsense.
            ConfigError: The API key is not there.
        """
        with place_at(self._llm):
            return asked_now(
                self._llm,
                "meanings",
                lambda problem: _template.render(
                    wish=wish,
                    topics=", ".join(topics),
                    others="; ".join(others),
                    offered="; ".join(offered),
                    fewest=FEWEST,
                    most=MOST,
                    words=MEANING_WORDS,
                    problem=problem,
                ),
                lambda reply: read_meanings(reply, offered),
            )


def coach_name() -> str | None:
    """Return the LLM that ``USL_COACH`` names; None where broad wishes are split by what is bundled alone."""
    return llm_named_by(VARIABLE)


def configured_coach(name: str) -> Coach:
    """Return the coach of this name in ``llms.toml``; a ConfigError if it is behind no endpoint."""
    return Coach(InteractiveLLM.configured(name, VARIABLE, patience=PATIENCE))
