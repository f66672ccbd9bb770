"""Backend ``transformers``: a sequence classification checkpoint in this process, on CPU or GPU."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

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
from crm.backends._text_judge import CheckpointSettings, PromptSettings
from crm.config import JudgeTable, TransformersSettings
from crm.embedded.encoder import importing_transformers
from crm.errors import UnavailableError
from crm.llm.loading import (
    by_length,
    chosen_device,
    chosen_dtype,
    explained,
    load_tokenizer,
    loading_options,
    window_of,
)
from crm.protocol import Floats

with importing_transformers:
    from transformers import AutoModelForSequenceClassification


class ClassifierSettings(TransformersSettings, PromptSettings, CheckpointSettings):
    """Keys of the backend."""


def make(table: JudgeTable) -> ClassifierCRM:
    """Return the judge that a table describes."""
    settings = table.read(ClassifierSettings)

    def load() -> PromptedClassifier:
        info = read_checkpoint_info(settings.model, settings.revision)
        engine = load_transformers_classifier(settings.model, settings.revision, settings, labels=info.labels)
        return prompted_classifier(engine, info, settings.model, settings, settings.max_length)

    return ClassifierCRM(table.name, classifier_version(table.backend, settings), settings, load)


class TransformersClassifier:
    """A loaded model and its tokenizer; may be shared between threads."""

    def __init__(self, name: str, model: Any, tokenizer: Any, batch_tokens: int) -> None:
        """Join a model and its tokenizer; ``name`` is for messages.

        Raises:
            UnavailableError: The tokenizer has no pad token.
        """
        if tokenizer.pad_token_id is None:
            raise UnavailableError(
                f"The tokenizer of {name} has no pad token: "
                "set pad_token in its tokenizer_config.json to the one of its training."
            )
        # A decoder looks for the last token that is not padding.
        model.config.pad_token_id = tokenizer.pad_token_id
        self.tokenizer = tokenizer
        self.window = window_of(tokenizer, model.config)
        self.labels = int(model.config.num_labels)
        self.label_names = label_names(model.config)
        self.weights: int | None = sum(part.numel() * part.element_size() for part in model.parameters())
        self._name = name
        self._model = model
        self._batch_tokens = batch_tokens
        self._lock = threading.Lock()

    def margins(self, prompts: Sequence[list[int]]) -> Floats:
        """Log-odds of the first of two labels, or the score of the only one ``[N]``.

        Raises UnavailableError: The model answers with values that are no numbers.
        """
        margins = np.empty(len(prompts), dtype=np.float32)
        with self._lock:
            for batch in by_length(list(map(len, prompts)), self._batch_tokens):
                logits = self._logits([prompts[index] for index in batch])
                margins[batch] = logits[:, 0] if self.labels == 1 else logits[:, 0] - logits[:, 1]
        return finite(margins, self._name)

    def pooling(self, prompt: list[int]) -> str:
        """Return in words at which tokens the labels are read, as their gradient shows it."""
        ids = torch.tensor([prompt], device=self._model.device)
        with self._lock:
            output = self._model(
                input_ids=ids, attention_mask=torch.ones_like(ids), output_hidden_states=True
            )
            last = output.hidden_states[-1]
            # One label alone: the gradients of two may cancel.
            [moved] = torch.autograd.grad(output.logits[0, 0], last, allow_unused=True)
        if moved is None:
            return "unknown: the model does not show its last layer"
        read = torch.nonzero(moved[0].abs().amax(dim=1)).flatten().tolist()
        return _places_in_words(read, self.tokenizer.convert_ids_to_tokens(prompt))

    def _logits(self, prompts: Sequence[list[int]]) -> Floats:
        """Return the model's raw outputs ``[len(prompts), labels]``."""
        longest = max(map(len, prompts))
        ids = torch.full((len(prompts), longest), self.tokenizer.pad_token_id)
        mask = torch.zeros_like(ids)
        for row, prompt in enumerate(prompts):
            ids[row, : len(prompt)] = torch.tensor(prompt)
            mask[row, : len(prompt)] = 1
        device = self._model.device
        with torch.inference_mode():
            logits = self._model(input_ids=ids.to(device), attention_mask=mask.to(device)).logits
        return np.asarray(logits.float().cpu().numpy(), dtype=np.float32)


def _places_in_words(read: Sequence[int], tokens: Sequence[str]) -> str:
    """Return which of a prompt's tokens are read, given their places."""
    if list(read) == [len(tokens) - 1]:
        return f"the last token, “{tokens[-1]}”"
    if list(read) == [0]:
        return f"the first token, “{tokens[0]}”"
    if len(read) == len(tokens):
        return "all tokens together"
    return f"{len(read)} of {len(tokens)} tokens"


def load_classifier(model: str, revision: str | None, *, dtype: str, device: str, labels: int | None) -> Any:
    """Return a sequence classification model, ready to judge.

    Raises:
        UnavailableError: It cannot be loaded, has no trained head, or another number of labels.
    """
    where = chosen_device(device)
    with explained("checkpoint", model):
        loaded, report = AutoModelForSequenceClassification.from_pretrained(
            model,
            revision=revision,
            dtype=chosen_dtype(dtype, where),
            output_loading_info=True,
            **loading_options(),
        )
    if missing := sorted(report["missing_keys"]):
        raise UnavailableError(
            f"The checkpoint {model} has no trained classification head ({missing[0]} is missing): "
            "train one with “python -m crm train classifier”."
        )
    checked_labels(int(loaded.config.num_labels), labels, model)
    return loaded.eval().to(where)


def load_transformers_classifier(
    model: str, revision: str | None, settings: TransformersSettings, *, labels: int | None
) -> TransformersClassifier:
    """Load a model with so many labels, and its tokenizer.

    Raises UnavailableError: Either cannot be loaded, or is none that judges.
    """
    loaded = load_classifier(model, revision, dtype=settings.dtype, device=settings.device, labels=labels)
    return TransformersClassifier(model, loaded, load_tokenizer(model, revision), settings.batch_tokens)
