"""An LLM in this process, run by transformers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any

import torch

from crm.errors import UnavailableError
from crm.llm.chat_model import (
    OPENING,
    FailureKind,
    LLMFailure,
    LLMReply,
    Outcome,
    Prompt,
    ReplyStatus,
    Usage,
    split_thinking,
)
from crm.llm.loading import SMOLLM2, SMOLLM2_FILE, CausalModel, by_length, load_causal_model, smollm2_folder
from crm.llm.settings import LocalLLMSettings, TransformersLLMSettings


@dataclass(frozen=True)
class _Asked:
    """A prompt in the model's tokens; ``thinks`` says that the chat template opened its reasoning."""

    prompt: Prompt
    tokens: list[int]
    thinks: bool


class TransformersChatModel:
    """An LLM run by transformers; implements ``ChatModel``."""

    def __init__(self, settings: TransformersLLMSettings, *, keep: bool = False) -> None:
        """Describe an LLM; its model is loaded when it is asked, and kept afterwards only on request."""
        self._settings = settings
        self._keep = keep
        self._kept: CausalModel | None = None

    async def ask(self, prompts: Sequence[Prompt], on_outcome: Callable[[Outcome], None]) -> None:
        """Ask for a response to every prompt; each outcome is passed on after its batch.

        Raises UnavailableError: The model cannot be loaded, or is no chat model.
        """
        loaded = await asyncio.to_thread(self._load) if self._kept is None else self._kept
        self._kept = loaded if self._keep else None
        asked = [_asked(loaded.tokenizer, prompt, self._settings) for prompt in prompts]
        for one in asked:
            if len(one.tokens) >= loaded.window:
                on_outcome(Outcome(one.prompt, too_long(loaded.window)))
        for batch in self._batches([one for one in asked if len(one.tokens) < loaded.window], loaded.window):
            for outcome in await asyncio.to_thread(self._answered, loaded, batch):
                on_outcome(outcome)

    def _load(self) -> CausalModel:
        model, gguf_file = self._settings.model, self._settings.gguf_file
        if model == SMOLLM2:
            model, gguf_file = str(smollm2_folder()), SMOLLM2_FILE
        return load_causal_model(
            model,
            self._settings.revision,
            self._settings,
            gguf_file=gguf_file,
            max_length=self._settings.max_length,
            check=partial(check_chat_template, model=model),
        )

    def _batches(self, asked: Sequence[_Asked], window: int) -> Iterator[list[_Asked]]:
        """Prompts of similar length, as many as fit into ``batch_tokens`` with their answers."""
        longest = self._settings.max_tokens or window
        lengths = [min(len(one.tokens) + longest, window) for one in asked]
        for batch in by_length(lengths, self._settings.batch_tokens):
            yield [asked[index] for index in batch]

    def _answered(self, loaded: CausalModel, batch: Sequence[_Asked]) -> list[Outcome]:
        start = perf_counter()
        ends = _ends(loaded)
        written = self._write(loaded, [one.tokens for one in batch], ends)
        seconds = (perf_counter() - start) / len(batch)
        return [
            _outcome(loaded, one, answer, ends, seconds) for one, answer in zip(batch, written, strict=True)
        ]

    def _write(
        self, loaded: CausalModel, prompts: Sequence[list[int]], ends: frozenset[int]
    ) -> list[list[int]]:
        """Return the tokens that the model writes after each prompt."""
        pad = loaded.tokenizer.pad_token_id
        pad = next(iter(ends), 0) if pad is None else pad
        longest = max(map(len, prompts))
        ids, mask = loaded.padded(prompts, pad)
        torch.manual_seed(self._settings.seed or 0)
        with torch.inference_mode():
            written = loaded.model.generate(
                input_ids=ids,
                attention_mask=mask,
                max_new_tokens=min(self._settings.max_tokens or loaded.window, loaded.window - longest),
                pad_token_id=pad,
                eos_token_id=sorted(ends),
                **_sampling(self._settings.temperature),
            )
        answers: list[list[int]] = written[:, longest:].tolist()
        return answers


def check_chat_template(tokenizer: Any, model: str) -> None:
    """Make sure that a model can be talked to.

    Raises:
        UnavailableError: Its tokenizer has no chat template.
    """
    if not getattr(tokenizer, "chat_template", None):
        raise UnavailableError(f"The tokenizer of {model} has no chat template: use a chat model.")


def rendered(tokenizer: Any, prompt: Prompt, settings: LocalLLMSettings) -> str:
    """Return the conversation in the model's chat template, up to where the answer begins."""
    text: str = tokenizer.apply_chat_template(
        settings.messages(prompt.text),
        tokenize=False,
        add_generation_prompt=True,
        **settings.chat_template_kwargs,
    )
    return text


def too_long(window: int) -> LLMFailure:
    """Return the failure that a query leaves no room for an answer."""
    return LLMFailure(
        FailureKind.TOO_LONG, f"The query and its answer are longer than the {window:,} tokens of the model."
    )


def reply_of(text: str, *, opened: bool, whole: bool) -> LLMReply | LLMFailure:
    """Return what a model wrote as an answer; ``opened``: after its chat template opened the reasoning."""
    answer, reasoning = split_thinking(OPENING + text if opened else text)
    if answer.strip():
        return LLMReply(ReplyStatus.OK if whole else ReplyStatus.TRUNCATED, answer.strip(), reasoning)
    if whole:
        return LLMFailure(FailureKind.EMPTY, "The model gives an empty reply.")
    return LLMReply(ReplyStatus.TRUNCATED, None, reasoning)


def _asked(tokenizer: Any, prompt: Prompt, settings: LocalLLMSettings) -> _Asked:
    text = rendered(tokenizer, prompt, settings)
    tokens: list[int] = tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]
    return _Asked(prompt, tokens, text.rstrip().endswith(OPENING))


def _outcome(
    loaded: CausalModel, asked: _Asked, written: Sequence[int], ends: frozenset[int], seconds: float
) -> Outcome:
    end = next((place for place, token in enumerate(written) if token in ends), None)
    answer = written if end is None else written[:end]
    text = loaded.tokenizer.decode(answer, skip_special_tokens=True)
    tokens = Usage(len(asked.tokens), len(answer) + (end is not None))
    return Outcome(asked.prompt, reply_of(text, opened=asked.thinks, whole=end is not None), tokens, seconds)


def _ends(loaded: CausalModel) -> frozenset[int]:
    configured = getattr(loaded.model.generation_config, "eos_token_id", None)
    listed = configured if isinstance(configured, list) else [configured]
    return frozenset(token for token in (*listed, loaded.tokenizer.eos_token_id) if token is not None)


def _sampling(temperature: float | None) -> dict[str, Any]:
    if temperature is None:
        return {}
    return {"do_sample": True, "temperature": temperature} if temperature > 0 else {"do_sample": False}
