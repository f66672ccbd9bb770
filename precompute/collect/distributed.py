"""LLMs that an engine's workers ask."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial

from crm.errors import CRMError
from crm.llm import make_chat_models, place_of, shared_limits
from crm.llm.chat_model import ChatModel, Outcome, Prompt
from crm.llm.settings import ConfiguredLLM, EndpointLLMSettings, Limits, VLLMLLMSettings
from precompute.engines import Engine

_ROUNDS = 4
"""Requests of an item for each that may be under way: the last of an item leave the others idle."""
_LOCAL_AT_ONCE = 64
_VLLM_AT_ONCE = 256


def distributed_models(engine: Engine, llms: Iterable[ConfiguredLLM]) -> Mapping[str, ChatModel]:
    """Return what answers for each LLM, by name, with the engine's workers.

    Raises ConfigError: An API key is not there; where workers are other processes, they say so themselves.
    """
    chosen = tuple(llms)
    if engine.in_process:
        return make_chat_models(chosen)
    limits = shared_limits(chosen)
    turns = {place: asyncio.Lock() for place in limits}
    return {llm.name: _distributed(engine, llm, limits, turns) for llm in chosen}


def _distributed(
    engine: Engine,
    llm: ConfiguredLLM,
    limits: Mapping[str, Limits],
    turns: Mapping[str, asyncio.Lock],
) -> DistributedLLM:
    """Return an LLM with workers that keep to its provider's limits together."""
    settings = llm.settings
    if not isinstance(settings, EndpointLLMSettings):
        at_once = _VLLM_AT_ONCE if isinstance(settings, VLLMLLMSettings) else _LOCAL_AT_ONCE
        return DistributedLLM(engine, llm, asyncio.Lock(), engine.n_workers, at_once, waits=False)
    allowed = settings.limits.within(limits[place_of(llm)])
    n_workers = min(engine.n_workers, allowed.concurrency)
    share = allowed.of_each(n_workers)
    limited = replace(llm, settings=settings.model_copy(update=asdict(share)), provider="", shared=None)
    at_once = _ROUNDS * share.concurrency
    return DistributedLLM(engine, limited, turns[place_of(llm)], n_workers, at_once, waits=True)


@dataclass(frozen=True)
class DistributedLLM:
    """Asks an LLM with an engine's workers; implements ``ChatModel``.

    Attributes:
        llm: The LLM, with the limits of one worker.
        turn: Held while it is asked: LLMs of one provider are asked one after another.
        at_once: Prompts that a worker gets at a time; they are stored when the last of them is answered.
    """

    engine: Engine
    llm: ConfiguredLLM
    turn: asyncio.Lock
    n_workers: int
    at_once: int
    waits: bool

    async def ask(self, prompts: Sequence[Prompt], on_outcome: Callable[[Outcome], None]) -> None:
        """Ask for a response to every prompt and tell the outcomes of each item together.

        Raises:
            UnavailableError: The LLM cannot be asked any more.
            CRMError: Its model cannot be loaded.
            PrecomputeError: The workers fail.
        """
        loop = asyncio.get_running_loop()

        def pass_on(outcome: Outcome) -> None:
            loop.call_soon_threadsafe(on_outcome, outcome)

        async with self.turn:
            try:
                await asyncio.to_thread(self._ask, prompts, pass_on)
            except asyncio.CancelledError:
                # The thread waits for workers that may take long; nobody wants their answers any more.
                self.engine.close()
                raise

    def _ask(self, prompts: Sequence[Prompt], on_outcome: Callable[[Outcome], None]) -> None:
        make = partial(_AskingWorker, self.llm)
        for asked in self.engine.map(make, self._items(prompts), at_most=self.n_workers, waits=self.waits):
            for outcome in asked.outcomes:
                on_outcome(outcome)
            if asked.stopped is not None:
                raise asked.stopped

    def _items(self, prompts: Sequence[Prompt]) -> Iterator[tuple[Prompt, ...]]:
        """Return the prompts in parts, small enough that every worker gets one."""
        size = max(1, min(self.at_once, -(-len(prompts) // self.n_workers)))
        for first in range(0, len(prompts), size):
            yield tuple(prompts[first : first + size])


@dataclass(frozen=True)
class _AnsweredItem:
    """What came of an item, and why the LLM cannot be asked any more if it cannot."""

    outcomes: tuple[Outcome, ...]
    stopped: CRMError | None = None


class _AskingWorker:
    """Asks an LLM, whose model it keeps; an API key is in the environment of the worker's process."""

    def __init__(self, llm: ConfiguredLLM) -> None:
        self._provider = make_chat_models([llm], keep=True)[llm.name]
        # Limits belong to one event loop.
        self._runner = asyncio.Runner()
        self._stopped: CRMError | None = None

    def __call__(self, prompts: Sequence[Prompt]) -> _AnsweredItem:
        outcomes: list[Outcome] = []
        if self._stopped is None:
            try:
                self._runner.run(self._provider.ask(prompts, outcomes.append))
            except CRMError as error:
                self._stopped = error
        return _AnsweredItem(tuple(outcomes), self._stopped)
