"""The LLM that writes critiques: a table of ``llms.toml``, named by ``USL_CRITIC``."""

from __future__ import annotations

from leaderboard.asked_llm import AskedLLM, llm_named_by
from leaderboard.critique.answer import Critique, UnusableCritiqueError, read_critique
from leaderboard.critique.question import Critiqued
from leaderboard.errors import BusyError, CritiqueError, RefusedReplyError, ReplyError

VARIABLE = "USL_CRITIC"
"""Environment variable that names the LLM. Nothing is ever sent unless it is set."""
TRIES = 3
"""Replies that are asked for before a critique is given up."""


class Critic:
    """An LLM that writes critiques; may be shared between threads."""

    def __init__(self, llm: AskedLLM) -> None:
        """Let an LLM write them."""
        self.name = llm.name
        self._llm = llm

    def critique(self, critiqued: Critiqued) -> Critique:
        """A critique of a response; a reply that is none is asked for again, with the reason.

        Raises:
            CritiqueError: No reply can be used, or too many critiques are being written.
            EndpointError: The endpoint is down, slow, refuses, or answers nonsense.
            ConfigError: The API key is not there.
        """
        try:
            with self._llm:
                return self._insist(critiqued)
        except BusyError as error:
            raise CritiqueError("Too many critiques are being written: try again in a moment.") from error
        except RefusedReplyError as error:
            raise CritiqueError(
                f"{self.name} refuses to write about this response: choose another one."
            ) from error
        except ReplyError as error:
            raise CritiqueError(str(error)) from error

    def _insist(self, critiqued: Critiqued) -> Critique:
        problem = ""
        for _ in range(TRIES):
            reply = self._llm.ask(critiqued.prompt(problem))
            try:
                return read_critique(reply, critiqued.response)
            except UnusableCritiqueError as error:
                problem = str(error)
        raise CritiqueError(
            f"{self.name} was asked {TRIES} times and wrote no critique that can be used. {problem} "
            "Try again, or use an LLM that follows instructions better."
        )


def critic_name() -> str | None:
    """The LLM that ``USL_CRITIC`` names; None where critiques are not set up."""
    return llm_named_by(VARIABLE)


def configured_critic(name: str) -> Critic:
    """The critic of this name in ``llms.toml``.

    Raises:
        ConfigError: There is no such table, or it is none of an LLM behind an endpoint.
    """
    return Critic(AskedLLM.configured(name, VARIABLE))
