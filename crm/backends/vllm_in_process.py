"""Backend ``vllm``: vLLM inside this process, for offline jobs.

It needs an environment with vLLM, which asks for other versions of common packages than the app.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from crm.backends._classifier import (
    ClassifierCRM,
    PromptedClassifier,
    checked_labels,
    classifier_version,
    finite,
    label_names,
    prompted_classifier,
    read_checkpoint_info,
)
from crm.backends._text_judge import CheckpointSettings, PromptSettings, VLLMJudgeSettings
from crm.config import JudgeTable, VLLMSettings
from crm.llm.vllm import load_vllm
from crm.protocol import Floats


class InProcessSettings(VLLMJudgeSettings, PromptSettings, CheckpointSettings):
    """Keys of the backend."""


def make(table: JudgeTable) -> ClassifierCRM:
    """Return the judge that a table describes."""
    settings = table.read(InProcessSettings)

    def load() -> PromptedClassifier:
        info = read_checkpoint_info(settings.model, settings.revision)
        limit = settings.max_length or info.max_length
        engine = start_vllm(settings.model, settings.revision, settings, labels=info.labels, max_length=limit)
        return prompted_classifier(engine, info, settings.model, settings, settings.max_length)

    return ClassifierCRM(table.name, classifier_version(table.backend, settings), settings, load)


class InProcessClassifier:
    """A ``vllm.LLM`` made with ``runner="pooling"``; may be shared between threads."""

    def __init__(self, name: str, llm: Any, *, labels: int | None) -> None:
        """Wrap a model; ``name`` is for messages.

        Raises UnavailableError: It has another number of labels.
        """
        self.tokenizer = llm.get_tokenizer()
        self.window = int(llm.model_config.max_model_len)
        self.labels = checked_labels(int(llm.model_config.hf_config.num_labels), labels, name)
        self.label_names = label_names(llm.model_config.hf_config)
        self.weights: int | None = None
        self._name = name
        self._llm = llm
        self._lock = threading.Lock()

    def margins(self, prompts: Sequence[list[int]]) -> Floats:
        """Log-odds of the first of two labels, or the score of the only one ``[N]``.

        Raises UnavailableError: The model answers with values that are no numbers.
        """
        from vllm import PoolingParams  # noqa: PLC0415  # not in the app's environment

        with self._lock:
            outputs = self._llm.classify(
                [{"prompt_token_ids": prompt} for prompt in prompts],
                pooling_params=PoolingParams(use_activation=False),
                use_tqdm=False,
            )
        logits = np.array([output.outputs.probs for output in outputs], dtype=np.float32)
        logits = finite(logits, self._name)
        return logits[:, 0] if self.labels == 1 else logits[:, 0] - logits[:, 1]

    def pooling(self, prompt: list[int]) -> str:
        """Return in words at which tokens vLLM reads the labels."""
        del prompt
        pooler = getattr(self._llm.model_config, "pooler_config", None)
        named = (getattr(pooler, key, None) for key in ("seq_pooling_type", "pooling_type"))
        return f"as vLLM calls it, {next(filter(None, named), 'unknown')}"


def start_vllm(
    model: str, revision: str | None, settings: VLLMSettings, *, labels: int | None, max_length: int | None
) -> InProcessClassifier:
    """Start vLLM on a model with so many labels.

    Raises UnavailableError: vLLM is not installed here; vLLM cannot run the model, or it has another number
    of labels.
    """
    llm = load_vllm(model, revision, settings, runner="pooling", max_length=max_length)
    return InProcessClassifier(model, llm, labels=labels)
