"""Asks an OpenAI-compatible chat endpoint one thing at a time; what goes wrong is one sentence."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import openai
from openai.types.chat import ChatCompletion

from crm.errors import EndpointError
from crm.messages import one_line
from crm.settings import api_key

_SERVER_ERROR = 500
_SHORTEST_SECRET = 8
_PLACEHOLDER_KEY = "none"
"""Sent to servers that ask for no API key; the client insists on having one."""


@dataclass(frozen=True)
class EndpointAddress:
    """Where an endpoint is, and who asks.

    Attributes:
        owner: What asks, in the words of its messages: “judge” or “LLM”.
        name: The name of its table.
        file: The file with its table.
        model: The model's name at the endpoint.
        url: Base address.
        api_key_env: Environment variable with the API key.
        timeout: Seconds that one request may take.
        retries: How often a request that failed for the moment is sent again.
    """

    owner: str
    name: str
    file: str
    model: str
    url: str
    api_key_env: str | None
    timeout: float
    retries: int


class ChatClient:
    """A client of one model behind one endpoint; may be shared between threads."""

    def __init__(self, address: EndpointAddress) -> None:
        """Describe a client; nothing is sent before ``complete``."""
        self._address = address
        self.where = urlsplit(address.url).netloc
        self._lock = threading.Lock()
        self._client: openai.OpenAI | None = None

    def connect(self) -> openai.OpenAI:
        """Make the client ready to ask.

        Raises:
            ConfigError: The API key is not there.
        """
        address = self._address
        with self._lock:
            if self._client is None:
                self._client = openai.OpenAI(
                    base_url=address.url,
                    api_key=api_key(address.api_key_env, address.name, address.owner) or _PLACEHOLDER_KEY,
                    timeout=address.timeout,
                    max_retries=address.retries,
                    # A redirect could carry the texts to somebody who is not configured.
                    http_client=openai.DefaultHttpxClient(follow_redirects=False),
                )
            return self._client

    def complete(
        self, messages: Sequence[Mapping[str, str]], extra_body: Mapping[str, Any], **options: Any
    ) -> ChatCompletion:
        """What the model answers to a conversation; there is at least one choice.

        Args:
            messages: With role and content each.
            extra_body: Fields of the request that the protocol does not know.
            options: Fields of the request, such as ``temperature``.

        Raises:
            ConfigError: The API key is not there.
            EndpointError: The endpoint is down, slow, refuses, or answers nonsense.
        """
        client = self.connect()
        try:
            completion = client.chat.completions.create(
                model=self._address.model,
                messages=list(messages),  # type: ignore[arg-type]  # plain dicts
                extra_body=extra_body,
                **options,
            )
        except openai.APIError as error:
            raise self._explained(error) from None  # the original may quote the request with its key
        except ValueError as error:
            raise self._nonsense("no JSON") from error
        if not isinstance(completion, ChatCompletion) or not completion.choices:
            raise self._nonsense("no reply")
        return completion

    def without_key(self, said: str) -> str:
        """What an endpoint said, without the API key if it should quote it.

        A short key is a word like “none” or “EMPTY”, which texts may well contain.
        """
        key = "" if self._client is None else self._client.api_key
        return said.replace(key, "…") if len(key) >= _SHORTEST_SECRET else said

    def _nonsense(self, what: str) -> EndpointError:
        return EndpointError(
            f"The endpoint {self.where} answers nonsense ({what}): "
            f"check the {self._address.owner}'s 'url' in {self._address.file}."
        )

    def _explained(self, error: openai.APIError) -> EndpointError:
        """One sentence for an error of the client, without the API key."""
        where, model, file = self.where, self._address.model, self._address.file
        match error:
            case openai.APITimeoutError():
                said = (
                    f"The endpoint {where} did not answer within {self._address.timeout:g} seconds: "
                    f"try again later, or raise 'timeout' in {file}."
                )
            case openai.APIConnectionError():
                said = f"The endpoint {where} cannot be reached: start it, or mend its 'url' in {file}."
            case openai.AuthenticationError() | openai.PermissionDeniedError():
                said = (
                    f"The endpoint {where} refuses the API key: "
                    f"check the environment variable that the {self._address.owner}'s api_key_env names."
                )
            case openai.NotFoundError():
                said = f"The endpoint {where} has no model {model}: mend 'model' or 'url' in {file}."
            case openai.RateLimitError():
                said = (
                    f"The endpoint {where} limits the rate or the budget is spent: try again later, "
                    f"or lower 'concurrency' in {file}."
                )
            case openai.APIResponseValidationError():
                return self._nonsense("no reply")
            case openai.APIStatusError(status_code=code) if code >= _SERVER_ERROR:
                said = f"The endpoint {where} fails (status {code}): try again later."
            case openai.APIStatusError(status_code=code):
                reason = one_line(self.without_key(error.message))
                said = f"The endpoint {where} refuses the request (status {code}, “{reason}”)."
            case _:
                return self._nonsense("an error in place of a reply")
        return EndpointError(said)
