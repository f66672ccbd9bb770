"""One thing asked of an LLM while somebody waits: its reply is checked, and asked for again if of no use."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from crm.llm.chat_model import ReplyStatus
from crm.llm.endpoint import InteractiveLLM
from crm.llm.structured import TRIES, UnusableReplyError, Usable, ask_until_usable
from leaderboard.errors import LeaderboardError
from leaderboard.limits import ask_llm_once_more


@contextmanager
def place_at(llm: InteractiveLLM) -> Iterator[None]:
    """Take one of an LLM's places while it is asked. Raises LeaderboardError: None is free."""
    with llm.place() as free:
        if not free:
            raise LeaderboardError(f"{llm.name} is busy: try again in a moment.")
        yield


def asked_now(
    llm: InteractiveLLM, what: str, prompt: Callable[[str], str], read: Callable[[str], Usable]
) -> Usable:
    """Return what an LLM replies; every request counts towards the limit of all.

    Args:
        what: What it is to write, in a word.
        prompt: The question; given what was wrong with the last reply, empty at first.
        read: Returns what is in a reply, or raises ``UnusableReplyError``.

    Raises:
        LeaderboardError: No reply can be used, it was cut or withheld, or the LLM is asked too often.
        UnavailableError: The endpoint is down, slow, refuses, or answers nonsense.
        ConfigError: The API key is not there.
    """
    try:
        return ask_until_usable(lambda problem: _reply(llm, prompt(problem)), read)
    except UnusableReplyError as error:
        raise LeaderboardError(
            f"{llm.name} was asked {TRIES} times and wrote no {what} that can be used. {error} "
            "Try again, or use an LLM that follows instructions better."
        ) from error


def _reply(llm: InteractiveLLM, prompt: str) -> str:
    ask_llm_once_more()
    reply = llm.ask(prompt)
    if reply.status == ReplyStatus.TRUNCATED:
        raise LeaderboardError(f"The reply of {llm.name} was cut: raise 'max_tokens' in its table.")
    if reply.status == ReplyStatus.REFUSED:
        raise LeaderboardError(f"{llm.name} refuses to write about this: choose something else.")
    return reply.text or ""
