"""Backend ``vllm-server``: a sequence classification model on a vLLM server, by ``POST /classify``."""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import numpy as np

from crm.backends._classifier import (
    LABELS,
    CheckpointInfo,
    ClassifierCRM,
    PromptedClassifier,
    checked_labels,
    classifier_version,
    prompted_classifier,
    read_checkpoint_info,
)
from crm.backends._text_judge import PromptSettings, ServerSettings, TextJudgeSettings, in_parallel
from crm.batches import batches, by_beginning
from crm.config import JudgeTable, Model, TokenLimit
from crm.errors import UnavailableError, one_line
from crm.llm.client import Endpoint, LLMClient
from crm.protocol import Floats


class VLLMServerSettings(ServerSettings, PromptSettings, TextJudgeSettings):
    """Keys of the backend.

    Attributes:
        model: The model's name on the server, as ``/v1/models`` lists it.
        tokenizer: The model's folder, or its name on a hub, for tokenizer, ``prompt.txt`` and ``crm.json``;
            without it the server's tokenizer is asked, one request a prompt.
        loss: How the model was trained, where no ``crm.json`` says so: “classification” (two labels) or
            “ranking” (one).
        max_length: Longest prompt in tokens, at most what the server's model reads.
        revision: Any text; change it when the server gets another model under the same name.
    """

    model: str
    tokenizer: Model | None = None
    loss: Literal["classification", "ranking"] = "classification"
    max_length: TokenLimit | None = None
    revision: str | None = None


def make(table: JudgeTable) -> ClassifierCRM:
    """Return the judge that a table describes."""
    settings = table.read(VLLMServerSettings)

    def load() -> PromptedClassifier:
        info = CheckpointInfo() if settings.tokenizer is None else read_checkpoint_info(settings.tokenizer)
        labels = info.labels or LABELS[settings.loss]
        engine = connect(table.name, settings.model, settings, tokenizer=settings.tokenizer, labels=labels)
        model = settings.tokenizer or settings.model
        return prompted_classifier(engine, info, model, settings, settings.max_length)

    return ClassifierCRM(table.name, classifier_version(table.backend, settings), settings, load)


_REMEMBERED = 1024
_SUM_TOLERANCE = 0.02
"""Probabilities may miss one by so much: a server may round them to eight bits of mantissa."""
_LEAST = 1e-7
"""Probabilities below this are raised to it: single precision knows little of the odds beyond."""
_LARGEST = 1e30
"""Score of a single response: of larger ones single precision may hold no difference."""
_MOST_TOKENS = 2**31
"""Numbers of tokens are below it, as those that models are given are of four bytes."""
_SHOWN = 5
"""Models of a server that serves another one, of which the names are told."""


class ServedClassifier:
    """A model that a vLLM server runs; may be shared between threads."""

    def __init__(
        self, server: LLMClient, model: str, settings: ServerSettings, *, tokenizer: Any, labels: int
    ) -> None:
        """Ask the server for a model with so many labels.

        Raises UnavailableError: The server is down, or serves another model.
        """
        self.labels = labels
        self.label_names: tuple[str, ...] = ()
        self.weights: int | None = None
        self.window = served_window(server, model)
        self.tokenizer = tokenizer
        self._server = server
        self._model = model
        self._settings = settings
        # One for all threads: several people's rankings may be waiting for the same server.
        self._connections = threading.BoundedSemaphore(settings.concurrency)

    def margins(self, prompts: Sequence[list[int]]) -> Floats:
        """Log-odds of the first of two labels, or the score of the only one ``[N]``.

        They are asked for in the order of ``by_beginning``.

        Raises UnavailableError: The server is down, slow, refuses, or answers nonsense; its model has another
        number of labels.
        """
        return self.margins_in_order(prompts, by_beginning(prompts))

    def margins_in_order(self, prompts: Sequence[list[int]], order: Sequence[int]) -> Floats:
        """Return the same, asked for in this order of the prompts' indices; raises as ``margins``."""
        settings = self._settings
        requests = list(batches_in_order(order, prompts, settings.batch_size, settings.batch_tokens))
        found = in_parallel(
            lambda batch: self._classified([prompts[index] for index in batch]),
            requests,
            settings.concurrency,
        )
        margins = np.empty(len(prompts), dtype=np.float32)
        for batch, values in zip(requests, found, strict=True):
            margins[batch] = values
        return margins

    def pooling(self, prompt: list[int]) -> str:
        """Return in words that only the server knows."""
        del prompt
        return f"as the server at {self._server.where} was started, which it does not tell"

    def _classified(self, prompts: Sequence[list[int]]) -> list[float]:
        # A single label has no probability: its score is wanted before any activation.
        body = {"model": self._model, "input": list(prompts), "use_activation": self.labels > 1}
        with self._connections:
            answer = self._server.post("/classify", body)
        data = answer.get("data") if isinstance(answer, dict) else None
        if not isinstance(data, list) or not all(isinstance(item, dict) for item in data):
            raise self._server.nonsense("no list of classes")
        if sorted(str(item.get("index")) for item in data) != sorted(map(str, range(len(prompts)))):
            raise self._server.nonsense(f"{len(data)} verdicts on {len(prompts)} prompts")
        return [self._margin(item) for item in sorted(data, key=lambda item: int(item["index"]))]

    def _margin(self, item: dict[str, Any]) -> float:
        values = _finite_numbers(item.get("probs"))
        if not values:
            raise self._server.nonsense("values that are no numbers")
        checked_labels(len(values), self.labels, self._model)
        if self.labels == 1:
            if abs(values[0]) > _LARGEST:
                raise self._server.nonsense("a score that is too large")
            return values[0]
        if min(values) < 0 or abs(sum(values) - 1) > _SUM_TOLERANCE:
            raise self._server.nonsense("probabilities that do not sum to one")
        first, second = np.log(np.maximum(values, _LEAST))
        return float(first - second)


def batches_in_order(
    order: Sequence[int], prompts: Sequence[list[int]], most: int, most_tokens: int
) -> Iterator[list[int]]:
    """Cut an order of prompts into requests of at most so many prompts and tokens; a longer one is alone."""
    lengths = [len(prompts[index]) for index in order]
    for batch in batches(lengths, most_tokens, most):
        yield [order[place] for place in batch]


class ServerTokenizer:
    """The tokenizer of a served model, asked over HTTP; remembers what it was asked last."""

    def __init__(self, server: LLMClient, model: str) -> None:
        """Use the tokenizer of a model on a vLLM server."""
        self._server = server
        self._model = model
        self._known: OrderedDict[tuple[str, bool], list[int]] = OrderedDict()
        self._lock = threading.Lock()

    def __call__(self, text: str, *, add_special_tokens: bool = True, **_: Any) -> dict[str, list[int]]:
        """``input_ids`` of a text."""
        asked = (text, add_special_tokens)
        with self._lock:
            if asked in self._known:
                return {"input_ids": self._known[asked]}
        body = {"model": self._model, "prompt": text, "add_special_tokens": add_special_tokens}
        answer = self._server.post("/tokenize", body)
        ids = answer.get("tokens") if isinstance(answer, dict) else None
        if not isinstance(ids, list) or not all(map(_is_token, ids)):
            raise self._server.nonsense("no tokens")
        with self._lock:
            self._known[asked] = ids
            while len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
        return {"input_ids": ids}

    def decode(self, token_ids: Sequence[int], **_: Any) -> str:
        """Return the text of some tokens."""
        answer = self._server.post("/detokenize", {"model": self._model, "tokens": list(token_ids)})
        text = answer.get("prompt") if isinstance(answer, dict) else None
        if not isinstance(text, str):
            raise self._server.nonsense("no text")
        return text


def connect(
    judge: str, model: str, settings: ServerSettings, *, tokenizer: str | None, labels: int
) -> ServedClassifier:
    """The model on the server that a judge's settings name, with a tokenizer of a folder or a hub's model.

    Raises ConfigError: The API key is not there. Raises UnavailableError: The tokenizer cannot be loaded; the
    server is down, or serves another model.
    """
    server = LLMClient(
        Endpoint(
            url=settings.url,
            model=model,
            name=judge,
            file="crms.toml",
            owner="judge",
            api_key_env=settings.api_key_env,
            timeout=settings.timeout,
            retries=settings.retries,
            kind="pooling",
        )
    )
    if tokenizer is None:
        chosen: Any = ServerTokenizer(server, model)
    else:
        from crm.llm.loading import load_tokenizer  # noqa: PLC0415  # loads PyTorch

        chosen = load_tokenizer(tokenizer)
    return ServedClassifier(server, model, settings, tokenizer=chosen, labels=labels)


def served_window(server: LLMClient, model: str) -> int:
    """Tokens that the served model reads.

    Raises:
        UnavailableError: The server is down, or serves another model.
    """
    answer = server.get("/v1/models")
    models = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(models, list) or not all(isinstance(item, dict) for item in models):
        raise server.nonsense("no list of models")
    windows = {str(item.get("id")): item.get("max_model_len") for item in models}
    if model not in windows:
        names = [one_line(name) for name in windows]
        more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
        raise UnavailableError(
            f"The server at {server.where} does not serve {model!r} but "
            f"{', '.join(names[:_SHOWN]) or 'nothing'}{more}: write one of its names as 'model' in crms.toml."
        )
    window = windows[model]
    if not isinstance(window, int) or isinstance(window, bool) or window <= 0:
        raise server.nonsense("no max_model_len")
    return window


def _is_token(token: object) -> bool:
    return isinstance(token, int) and not isinstance(token, bool) and 0 <= token < _MOST_TOKENS


def _finite_numbers(values: object) -> list[float] | None:
    if not isinstance(values, list):
        return None
    numbers = [
        float(value) for value in values if isinstance(value, int | float) and not isinstance(value, bool)
    ]
    return numbers if len(numbers) == len(values) and all(map(math.isfinite, numbers)) else None
