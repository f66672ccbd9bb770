"""LLMs that are asked for something, as ``llms.toml`` describes them, and what judges share with them.

- `settings`: the file and the keys of its tables; `prompt`: templates, kept within a window
- `chat_model`: what one is asked and replies; `structured`: replies that hold JSON, asked for again if not
- `client`: the HTTP client; `endpoint`: an OpenAI-compatible server, asked for many replies at a time
- `loading`: models that transformers loads; `local`: one that writes; `vllm`: one run by vLLM in this process
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from crm.llm.chat_model import ChatModel
from crm.llm.settings import ConfiguredLLM, EndpointLLMSettings, TransformersLLMSettings, VLLMLLMSettings

if TYPE_CHECKING:
    from crm.llm.endpoint import RateLimit


def make_chat_models(llms: Iterable[ConfiguredLLM], *, keep: bool = False) -> dict[str, ChatModel]:
    """Return what answers for each LLM, by name; LLMs of one address share the smallest of their limits.

    Args:
        llms: The LLMs.
        keep: Whether a model in this process stays loaded when it has been asked.

    Raises:
        ConfigError: An API key is not there.
    """
    from crm.llm.endpoint import RateLimit  # noqa: PLC0415  # loads the client

    chosen = tuple(llms)
    rate_limits = {url: RateLimit(*limits) for url, limits in address_limits(chosen).items()}
    return {llm.name: _chat_model(llm, rate_limits, keep=keep) for llm in chosen}


def address_limits(llms: Iterable[ConfiguredLLM]) -> dict[str, tuple[int, float | None]]:
    """Requests at a time, and a minute or None, of every address: the smallest of its LLMs' limits."""
    by_url: dict[str, list[EndpointLLMSettings]] = {}
    for llm in llms:
        if isinstance(llm.settings, EndpointLLMSettings):
            by_url.setdefault(llm.settings.url, []).append(llm.settings)
    return {
        url: (
            min(settings.concurrency for settings in sharing),
            min((rate for settings in sharing if (rate := settings.requests_per_minute)), default=None),
        )
        for url, sharing in by_url.items()
    }


def _chat_model(llm: ConfiguredLLM, rate_limits: Mapping[str, RateLimit], *, keep: bool) -> ChatModel:
    match llm.settings:
        case EndpointLLMSettings() as settings:
            from crm.llm.endpoint import EndpointChatModel  # noqa: PLC0415  # loads the client

            return EndpointChatModel(llm.name, settings, rate_limits[settings.url])
        case TransformersLLMSettings() as settings:
            from crm.llm.local import TransformersChatModel  # noqa: PLC0415  # loads PyTorch

            return TransformersChatModel(settings, keep=keep)
        case VLLMLLMSettings() as settings:
            from crm.llm.vllm import VLLMChatModel  # noqa: PLC0415  # loads PyTorch

            return VLLMChatModel(settings, keep=keep)
    raise AssertionError(llm.settings)
