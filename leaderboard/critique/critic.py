"""The LLM that writes critiques: a table of ``llms.toml``, named by ``USL_CRITIC``."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from threading import BoundedSemaphore
from typing import Any

from crm.chat_client import ChatClient, EndpointAddress
from crm.errors import ConfigError
from crm.llm_settings import EndpointLLMSettings
from crm.llms_file import LLMS, llms_file
from crm.thinking import split_thinking
from crm.toml_tables import read_settings, read_tables
from leaderboard.critique.answer import Critique, UnusableCritiqueError, read_critique
from leaderboard.critique.question import Critiqued
from leaderboard.errors import CritiqueError

VARIABLE = "USL_CRITIC"
"""Environment variable that names the LLM. Nothing is ever sent unless it is set."""
TRIES = 3
"""Replies that are asked for before a critique is given up."""
_MOST_RETRIES = 1
"""Of a request that failed for the moment: somebody is looking at the page."""


class Critic:
    """An LLM that writes critiques; may be shared between threads."""

    def __init__(self, name: str, settings: EndpointLLMSettings, file: str) -> None:
        """Describe a critic; the endpoint is asked when it first writes."""
        self.name = name
        self._settings = settings
        self._free = BoundedSemaphore(settings.concurrency)
        self._client = ChatClient(
            EndpointAddress(
                owner="LLM",
                name=name,
                file=file,
                model=settings.model,
                url=settings.url,
                api_key_env=settings.api_key_env,
                timeout=settings.timeout,
                retries=min(settings.retries, _MOST_RETRIES),
            )
        )

    def critique(self, critiqued: Critiqued) -> Critique:
        """A critique of a response; a reply that is none is asked for again, with the reason.

        Raises:
            CritiqueError: No reply can be used, or too many critiques are being written.
            EndpointError: The endpoint is down, slow, refuses, or answers nonsense.
            ConfigError: The API key is not there.
        """
        if not self._free.acquire(blocking=False):
            raise CritiqueError("Too many critiques are being written: try again in a moment.")
        try:
            return self._insist(critiqued)
        finally:
            self._free.release()

    def _insist(self, critiqued: Critiqued) -> Critique:
        problem = ""
        for _ in range(TRIES):
            reply = self._ask(critiqued.prompt(problem))
            try:
                return read_critique(reply, critiqued.response)
            except UnusableCritiqueError as error:
                problem = str(error)
        raise CritiqueError(
            f"{self.name} was asked {TRIES} times and wrote no critique that can be used. {problem} "
            "Try again, or use an LLM that follows instructions better."
        )

    def _ask(self, prompt: str) -> str:
        settings = self._settings
        options: dict[str, Any] = {
            settings.max_tokens_key: settings.max_tokens,
            "temperature": settings.temperature,
            "seed": settings.seed,
        }
        given = {key: value for key, value in options.items() if value is not None}
        completion = self._client.complete(settings.messages(prompt), settings.extra_body, **given)
        return self._text(completion.choices[0])

    def _text(self, choice: object) -> str:
        """What a choice says without its reasoning; the client does not check what servers send.

        Raises:
            CritiqueError: The reply was cut or withheld.
        """
        ended, message = getattr(choice, "finish_reason", None), getattr(choice, "message", None)
        if ended == "length":
            raise CritiqueError(f"The reply of {self.name} was cut: raise 'max_tokens' in its table.")
        if ended == "content_filter" or getattr(message, "refusal", None):
            raise CritiqueError(f"{self.name} refuses to write about this response: choose another one.")
        content = getattr(message, "content", None)
        return split_thinking(self._client.without_key(content))[0] if isinstance(content, str) else ""


def critic_name() -> str | None:
    """The LLM that ``USL_CRITIC`` names; None where critiques are not set up."""
    return os.environ.get(VARIABLE, "").strip() or None


def configured_critic(name: str) -> Critic:
    """The critic of this name in ``llms.toml``.

    Raises:
        ConfigError: There is no such table, or it is none of an LLM behind an endpoint.
    """
    file = llms_file()
    tables = read_tables(file, LLMS)
    if name not in tables:
        raise ConfigError(
            f"{VARIABLE} names an LLM that {file.name} does not have: "
            f"name one of {', '.join(tables) or 'none'}."
        )
    return Critic(name, _settings(name, tables[name], file), file.name)


def _settings(name: str, values: Mapping[str, Any], file: Path) -> EndpointLLMSettings:
    if values.get("provider", "openai") != "openai":
        raise ConfigError(
            f'{VARIABLE} names {name!r}, which is not behind an endpoint: name one with provider = "openai".'
        )
    return read_settings(EndpointLLMSettings, values, name=name, file=file, kind=LLMS)
