"""LLMs that are asked for something, as ``llms.toml`` describes them, and what judges share with them.

- `settings`: the file and the keys of its tables; `prompt`: templates, kept within a window;
  `conversation`: prompts as turns in a model's chat template
- `chat_model`: what one is asked and replies; `structured`: replies that hold JSON, asked for again if not
- `tasks`: many such things asked of one LLM, whose replies are kept
- `client`: the HTTP client; `endpoint`: an OpenAI-compatible server, asked for many replies at a time
- `batch`: the same server, handed many requests in a file that it answers within a day
- `running`: asynchronous work that a caller waits for
- `loading`: models that transformers loads; `local`: one that writes; `vllm`: one run by vLLM in this process
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from crm.llm.chat_model import ChatModel
from crm.llm.settings import (
    ConfiguredLLM,
    EndpointLLMSettings,
    Limits,
    TransformersLLMSettings,
    VLLMLLMSettings,
)

if TYPE_CHECKING:
    from crm.llm.endpoint import RateLimit


def make_chat_models(llms: Iterable[ConfiguredLLM], *, keep: bool = False) -> dict[str, ChatModel]:
    """Return what answers for each LLM, by name; those of one provider keep to its limits together.

    Args:
        llms: The LLMs.
        keep: Whether a model in this process stays loaded when it has been asked.

    Raises:
        ConfigError: An API key is not there.
    """
    from crm.llm.endpoint import RateLimit  # noqa: PLC0415  # loads the client

    chosen = tuple(llms)
    rate_limits = {where: RateLimit(limits) for where, limits in shared_limits(chosen).items()}
    return {llm.name: _chat_model(llm, rate_limits, keep=keep) for llm in chosen}


def place_of(llm: ConfiguredLLM) -> str:
    """Return where an LLM behind an endpoint shares limits with others: its provider, else its address."""
    assert isinstance(llm.settings, EndpointLLMSettings)
    return llm.provider or llm.settings.url


def shared_limits(llms: Iterable[ConfiguredLLM]) -> dict[str, Limits]:
    """Return how fast each place may be asked: as its provider's table says, else its LLMs' largest.

    An LLM's own limits hold for that LLM within these.
    """
    by_place: dict[str, list[Limits]] = {}
    for llm in llms:
        if isinstance(llm.settings, EndpointLLMSettings):
            by_place.setdefault(place_of(llm), []).append(llm.shared or llm.settings.limits)
    return {place: Limits.largest(several) for place, several in by_place.items()}


def _chat_model(llm: ConfiguredLLM, rate_limits: Mapping[str, RateLimit], *, keep: bool) -> ChatModel:
    match llm.settings:
        case EndpointLLMSettings() as settings:
            from crm.llm.endpoint import EndpointChatModel, RateLimit  # noqa: PLC0415  # loads the client

            own = RateLimit(settings.limits, within=rate_limits[place_of(llm)])
            return EndpointChatModel(llm.name, settings, own)
        case TransformersLLMSettings() as settings:
            from crm.llm.local import TransformersChatModel  # noqa: PLC0415  # loads PyTorch

            return TransformersChatModel(settings, keep=keep)
        case VLLMLLMSettings() as settings:
            from crm.llm.vllm import VLLMChatModel  # noqa: PLC0415  # loads PyTorch

            return VLLMChatModel(settings, keep=keep)
    raise AssertionError(llm.settings)
