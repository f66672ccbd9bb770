"""An LLM in this process, run by transformers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import torch

from crm.backends.smollm2 import GGUF_FILE, NAME, smollm2_folder
from crm.batching import by_length
from crm.errors import CheckpointError
from crm.loading import load_causal, load_tokenizer
from crm.thinking import OPENING, split_thinking
from crm.window import window_of
from db import CollectedStatus
from precompute.llms.reply import Failure, FailureKind, Outcome, Prompt, Reply, Tokens
from precompute.llms.settings import LocalLLMSettings, TransformersLLMSettings


@dataclass(frozen=True, eq=False)
class _Loaded:
    """A causal language model ready to be asked.

    Attributes:
        model: The model.
        tokenizer: Its tokenizer, which has a chat template.
        window: Tokens of query and answer together.
        ends: Tokens that end an answer.
    """

    model: Any
    tokenizer: Any
    window: int
    ends: frozenset[int]


@dataclass(frozen=True)
class _Asked:
    """A prompt in the model's tokens; ``thinks`` says that the chat template opened its reasoning."""

    prompt: Prompt
    tokens: list[int]
    thinks: bool


class TransformersLLM:
    """An LLM run by transformers; implements ``Provider``."""

    def __init__(self, settings: TransformersLLMSettings, *, keep: bool = False) -> None:
        """Describe an LLM; its model is loaded when it is asked, and kept for the next time only if told."""
        self._settings = settings
        self._keep = keep
        self._kept: _Loaded | None = None

    async def ask(self, prompts: Sequence[Prompt], tell: Callable[[Outcome], None]) -> None:
        """Ask for a response to every prompt and tell each outcome after its batch.

        Raises:
            CheckpointError: The model cannot be loaded, or is no chat model.
            MissingPackageError: The package with its weights is not installed.
        """
        loaded = await asyncio.to_thread(self._load) if self._kept is None else self._kept
        self._kept = loaded if self._keep else None
        asked = [_asked(loaded.tokenizer, prompt, self._settings) for prompt in prompts]
        for one in asked:
            if len(one.tokens) >= loaded.window:
                tell(Outcome(one.prompt, too_long(loaded.window)))
        for batch in self._batches([one for one in asked if len(one.tokens) < loaded.window], loaded.window):
            for outcome in await asyncio.to_thread(self._answered, loaded, batch):
                tell(outcome)

    def _load(self) -> _Loaded:
        model, gguf_file = self._settings.model, self._settings.gguf_file
        if model == NAME:
            model, gguf_file = str(smollm2_folder()), GGUF_FILE
        tokenizer = load_tokenizer(model, self._settings.revision, gguf_file=gguf_file)
        check_chat_template(tokenizer, model)
        loaded = load_causal(
            model,
            self._settings.revision,
            gguf_file=gguf_file,
            dtype=self._settings.dtype,
            device=self._settings.device,
        )
        window = window_of(tokenizer, loaded.config)
        limit = self._settings.max_length
        return _Loaded(loaded, tokenizer, min(window, limit or window), _ends(loaded, tokenizer))

    def _batches(self, asked: Sequence[_Asked], window: int) -> Iterator[list[_Asked]]:
        """Prompts of similar length, as many as fit into ``batch_tokens`` with their answers."""
        longest = self._settings.max_tokens or window
        lengths = [min(len(one.tokens) + longest, window) for one in asked]
        for batch in by_length(lengths, self._settings.batch_tokens):
            yield [asked[index] for index in batch]

    def _answered(self, loaded: _Loaded, batch: Sequence[_Asked]) -> list[Outcome]:
        start = perf_counter()
        longest = max(len(one.tokens) for one in batch)
        written = self._generate(loaded, batch, longest)
        seconds = (perf_counter() - start) / len(batch)
        return [_outcome(loaded, one, answer, seconds) for one, answer in zip(batch, written, strict=True)]

    def _generate(self, loaded: _Loaded, batch: Sequence[_Asked], longest: int) -> list[list[int]]:
        """The tokens that the model writes after each prompt."""
        pad = loaded.tokenizer.pad_token_id
        pad = next(iter(loaded.ends), 0) if pad is None else pad
        # Padding goes in front, so that every answer begins in the same place.
        ids = torch.tensor([[pad] * (longest - len(one.tokens)) + one.tokens for one in batch])
        mask = torch.tensor([[0] * (longest - len(one.tokens)) + [1] * len(one.tokens) for one in batch])
        device = loaded.model.device
        torch.manual_seed(self._settings.seed or 0)
        with torch.inference_mode():
            written = loaded.model.generate(
                input_ids=ids.to(device),
                attention_mask=mask.to(device),
                max_new_tokens=min(self._settings.max_tokens or loaded.window, loaded.window - longest),
                pad_token_id=pad,
                eos_token_id=sorted(loaded.ends),
                **_sampling(self._settings.temperature),
            )
        answers: list[list[int]] = written[:, longest:].tolist()
        return answers


def check_chat_template(tokenizer: Any, model: str) -> None:
    """Make sure that a model can be talked to.

    Raises:
        CheckpointError: Its tokenizer has no chat template.
    """
    if not getattr(tokenizer, "chat_template", None):
        raise CheckpointError(f"The tokenizer of {model} has no chat template: use a chat model.")


def rendered(tokenizer: Any, prompt: Prompt, settings: LocalLLMSettings) -> str:
    """The conversation in the model's chat template, up to where the answer begins."""
    text: str = tokenizer.apply_chat_template(
        settings.messages(prompt.text),
        tokenize=False,
        add_generation_prompt=True,
        **settings.chat_template_kwargs,
    )
    return text


def too_long(window: int) -> Failure:
    """The failure that a query leaves no room for an answer."""
    return Failure(
        FailureKind.TOO_LONG, f"The query and its answer are longer than the {window:,} tokens of the model."
    )


def reply_of(text: str, *, opened: bool, whole: bool) -> Reply | Failure:
    """What a model wrote as an answer; ``opened``: after its chat template opened the reasoning."""
    answer, reasoning = split_thinking(OPENING + text if opened else text)
    if answer.strip():
        return Reply(CollectedStatus.OK if whole else CollectedStatus.TRUNCATED, answer.strip(), reasoning)
    if whole:
        return Failure(FailureKind.EMPTY, "The model gives an empty reply.")
    return Reply(CollectedStatus.TRUNCATED, None, reasoning)


def _asked(tokenizer: Any, prompt: Prompt, settings: LocalLLMSettings) -> _Asked:
    text = rendered(tokenizer, prompt, settings)
    tokens: list[int] = tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]
    return _Asked(prompt, tokens, text.rstrip().endswith(OPENING))


def _outcome(loaded: _Loaded, asked: _Asked, written: Sequence[int], seconds: float) -> Outcome:
    end = next((place for place, token in enumerate(written) if token in loaded.ends), None)
    answer = written if end is None else written[:end]
    text = loaded.tokenizer.decode(answer, skip_special_tokens=True)
    tokens = Tokens(len(asked.tokens), len(answer) + (end is not None))
    return Outcome(asked.prompt, reply_of(text, opened=asked.thinks, whole=end is not None), tokens, seconds)


def _ends(model: Any, tokenizer: Any) -> frozenset[int]:
    configured = getattr(model.generation_config, "eos_token_id", None)
    listed = configured if isinstance(configured, list) else [configured]
    return frozenset(token for token in (*listed, tokenizer.eos_token_id) if token is not None)


def _sampling(temperature: float | None) -> dict[str, Any]:
    if temperature is None:
        return {}
    return {"do_sample": True, "temperature": temperature} if temperature > 0 else {"do_sample": False}
