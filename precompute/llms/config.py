"""Reads ``llms.toml``: LLMs by name, one table each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from crm.errors import ConfigError
from crm.llms_file import LLMS, llms_file
from crm.toml_tables import read_settings, read_tables, table_error
from precompute.errors import UnknownLLMError
from precompute.llms.settings import PROVIDERS, LLMSettings

__all__ = ["ConfiguredLLM", "llms_file", "read_llms"]


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
    """The named LLMs of a file in the file's order; no names mean all. Other tables are not looked at.

    Raises:
        ConfigError: The file cannot be read, or a key is wrong.
        UnknownLLMError: The file has no such LLM.
    """
    tables = read_tables(file, LLMS)
    for name in names:
        if name not in tables:
            raise UnknownLLMError(name, file.name, tables)
    if not tables:
        raise ConfigError(f"{file.name} holds no LLM: write a table for each, as llms.example.toml shows.")
    return tuple(_configured(name, tables[name], file) for name in tables if not names or name in names)


def _configured(name: str, values: object, file: Path) -> ConfiguredLLM:
    assert isinstance(values, dict)
    provider = values.get("provider", "openai")
    if not isinstance(provider, str) or provider not in PROVIDERS:
        problem = f"the key 'provider' must be one of {', '.join(PROVIDERS)}"
        raise table_error(problem, name=name, file=file, kind=LLMS)
    settings = read_settings(PROVIDERS[provider], values, name=name, file=file, kind=LLMS)
    return ConfiguredLLM(name, settings)
