"""An LLM that is asked while somebody waits: a table of ``llms.toml`` that a variable names."""

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
from leaderboard.errors import BusyError, RefusedReplyError, ReplyError

_MOST_RETRIES = 1
"""Of a request that failed for the moment: somebody is looking at the page."""


class AskedLLM:
    """An LLM behind an endpoint; may be shared between threads."""

    def __init__(self, name: str, settings: EndpointLLMSettings, file: str) -> None:
        """Describe it; the endpoint is asked when there is something to ask."""
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

    @classmethod
    def configured(cls, name: str, variable: str, *, patience: float | None = None) -> AskedLLM:
        """The LLM of this name in ``llms.toml``.

        Args:
            name: Of its table.
            variable: The environment variable that names it, for messages.
            patience: Seconds that one request may take at most, whatever the table says; it is not sent again
                then. By default the table decides.

        Raises:
            ConfigError: There is no such table, or it is none of an LLM behind an endpoint.
        """
        file = llms_file()
        tables = read_tables(file, LLMS)
        if name not in tables:
            raise ConfigError(
                f"{variable} names an LLM that {file.name} does not have: "
                f"name one of {', '.join(tables) or 'none'}."
            )
        settings = _settings(name, tables[name], file, variable)
        if patience is not None:
            hurried = {"timeout": min(settings.timeout, patience), "retries": 0}
            settings = settings.model_copy(update=hurried)
        return cls(name, settings, file.name)

    def __enter__(self) -> AskedLLM:
        """Take one of the places at the endpoint.

        Raises:
            BusyError: As many as the table's ``concurrency`` are taken.
        """
        if not self._free.acquire(blocking=False):
            raise BusyError(f"{self.name} is busy: try again in a moment.")
        return self

    def __exit__(self, *_: object) -> None:
        """Give the place back."""
        self._free.release()

    def ask(self, prompt: str) -> str:
        """What the LLM replies, without its reasoning.

        Raises:
            ReplyError: The reply was cut or, as ``RefusedReplyError``, withheld.
            EndpointError: The endpoint is down, slow, refuses, or answers nonsense.
            ConfigError: The API key is not there.
        """
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
        """What a choice says; the client does not check what servers send."""
        ended, message = getattr(choice, "finish_reason", None), getattr(choice, "message", None)
        if ended == "length":
            raise ReplyError(f"The reply of {self.name} was cut: raise 'max_tokens' in its table.")
        if ended == "content_filter" or getattr(message, "refusal", None):
            raise RefusedReplyError(f"{self.name} refuses to reply.")
        content = getattr(message, "content", None)
        return split_thinking(self._client.without_key(content))[0] if isinstance(content, str) else ""


def llm_named_by(variable: str) -> str | None:
    """The LLM that an environment variable names; None where it names none."""
    return os.environ.get(variable, "").strip() or None


def _settings(name: str, values: Mapping[str, Any], file: Path, variable: str) -> EndpointLLMSettings:
    if values.get("provider", "openai") != "openai":
        raise ConfigError(
            f'{variable} names {name!r}, which is not behind an endpoint: name one with provider = "openai".'
        )
    return read_settings(EndpointLLMSettings, values, name=name, file=file, kind=LLMS)
