"""Keys that LLMs in ``llms.toml`` share, and those of an LLM behind an endpoint."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from crm.settings import Count, Price, Seconds, Settings, Url, Variable
from crm.version import version_of

_SHOWN_ONLY = ("title", "note", "requests_per_minute")
_PER = 1_000_000
"""Tokens that a configured price is for."""


class LLMSettings(Settings):
    """Keys of every LLM.

    Attributes:
        title: The name it is shown by; without it the table's.
        note: A free note, shown beside it.
        system: System prompt; without it none is sent.
        temperature: Of sampling; without it what the server or the model is set to.
        max_tokens: Longest answer, reasoning included.
        seed: Of sampling, where it can be chosen.
        price_prompt: Money for a million tokens read.
        price_completion: Money for a million tokens written.
    """

    title: str | None = None
    note: str | None = None
    system: str | None = None
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    max_tokens: Count | None = None
    seed: int | None = None
    price_prompt: Price = 0.0
    price_completion: Price = 0.0

    @property
    def digest(self) -> str:
        """Changes with whatever can change an answer: not with prices, address, pace or title."""
        shown = {key: value for key, value in self.identity().items() if key not in _SHOWN_ONLY}
        # A key that is not given leaves no trace, so that later versions may have more of them.
        return version_of({key: value for key, value in shown.items() if value not in (None, "", {})})

    def messages(self, query: str) -> list[dict[str, str]]:
        """The conversation that asks for a response."""
        system = [{"role": "system", "content": self.system}] if self.system else []
        return [*system, {"role": "user", "content": query}]

    def cost(self, prompt_tokens: int, completion_tokens: int) -> float:
        """Money for so many tokens."""
        return (prompt_tokens * self.price_prompt + completion_tokens * self.price_completion) / _PER


class EndpointLLMSettings(LLMSettings):
    """Keys with ``provider = "openai"``: a server that speaks the protocol of OpenAI's chat completions.

    Attributes:
        model: The model's name there.
        url: The endpoint's base address, with ``/v1`` where it has one.
        api_key_env: Environment variable with the API key.
        max_tokens_key: How the endpoint calls the limit.
        extra_body: Further fields of a request.
        timeout: Seconds that one request may take.
        retries: How often a request that failed for the moment is sent again.
        concurrency: Requests under way at a time.
        requests_per_minute: Requests begun in a minute at most.
    """

    provider: Literal["openai"] = "openai"
    model: str
    url: Url = "https://api.openai.com/v1"
    api_key_env: Variable | None = None
    max_tokens_key: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    extra_body: dict[str, Any] = Field(default_factory=dict)
    timeout: Seconds = 120.0
    retries: Annotated[int, Field(ge=0, le=20)] = 6
    concurrency: Annotated[int, Field(ge=1, le=1024)] = 8
    requests_per_minute: Annotated[float, Field(gt=0)] | None = None

    def identity(self) -> dict[str, Any]:
        """What answers depend on; the model is a name at the endpoint, never a folder here."""
        return super().identity() | {"model": self.model}
