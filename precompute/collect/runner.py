"""Asks all LLMs at once until all is answered, or nothing more can be; answers are stored meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol, TypeVar

from crm.errors import CRMError
from crm.llm.chat_model import ChatModel, LLMFailure, Outcome, Prompt
from crm.llm.settings import ConfiguredLLM, LocalLLMSettings
from leaderboard.scoring_jobs.progress import JOB_LOG
from precompute.collect.budget import Budget, WithinBudget
from precompute.collect.stats import LLMStats

Ready = TypeVar("Ready")

_SECONDS_UNSTORED = 0.5
"""What a killed process has to ask for again at most."""


@dataclass(frozen=True)
class PromptPlan:
    """What is to be asked of one LLM.

    Attributes:
        wanted: Number of queries that are to have a response.
        missing: Those that have none yet.
    """

    llm: ConfiguredLLM
    wanted: int
    missing: tuple[Prompt, ...]


class OutcomeWriter(Protocol[Ready]):
    """Where outcomes go; used by one thread at a time."""

    def add(self, llm: ConfiguredLLM, outcome: Outcome) -> float:
        """Take an outcome, which is stored a moment later; returns what it cost."""

    def take(self) -> Ready:
        """Return what is to be stored now, and waits no longer; false where it is nothing."""

    def store(self, ready: Ready) -> None:
        """Write what ``take`` gave. Raises DatabaseError: What it belongs to is gone."""


async def ask_all(
    plans: Sequence[PromptPlan],
    providers: Mapping[str, ChatModel],
    storage: OutcomeWriter[Ready],
    stats: Mapping[str, LLMStats],
    on_progress: Callable[[], None],
    *,
    budget: Budget | None = None,
) -> None:
    """Ask for everything that the plans miss and store it as it comes in, within a budget if there is one.

    Stats, by LLM, are counted on, with the reason if one cannot be asked any more.

    Raises:
        DatabaseError: What the answers belong to is gone.
    """

    def take(llm: ConfiguredLLM, outcome: Outcome) -> None:
        cost = storage.add(llm, outcome)
        stats[llm.name].add(outcome, cost)
        if budget is not None:
            budget.settle(llm, outcome.prompt, cost, outcome.tokens.completion or 0)
        if isinstance(outcome.result, LLMFailure):
            JOB_LOG.info("failed: %s, %s: %s", llm.name, outcome.prompt.external_id, outcome.result.message)
        on_progress()

    async def ask(plan: PromptPlan) -> None:
        within = None if budget is None else WithinBudget(plan.llm, plan.missing, budget)
        try:
            await providers[plan.llm.name].ask(within or plan.missing, partial(take, plan.llm))
        except CRMError as error:
            stats[plan.llm.name].stop(str(error))
            JOB_LOG.info("stopped: %s: %s", plan.llm.name, error)
        else:
            if within is not None and within.n_left:
                assert budget is not None
                stats[plan.llm.name].stop(
                    f"{within.n_left:,} were not asked for, as the next could exceed the budget of "
                    f"{budget.money:,g}, of which {budget.spent:,.4f} is spent."
                )

    async def ask_in_turn(local: Sequence[PromptPlan]) -> None:
        for plan in local:
            await ask(plan)

    done = asyncio.Event()
    failures: list[Exception] = []
    try:
        async with asyncio.TaskGroup() as tasks:
            storing = tasks.create_task(_store_now_and_then(storage, done))
            asking = [tasks.create_task(ask(plan)) for plan in plans if not _is_local(plan)]
            # Models in this process share its memory: one after another.
            asking.append(tasks.create_task(ask_in_turn([plan for plan in plans if _is_local(plan)])))
            await asyncio.wait(asking)
            done.set()
            await storing
    except* Exception as group:
        failures.append(_first(group))
    finally:
        # Also when the person interrupts: what has been answered, and perhaps paid for, is kept.
        storage.store(storage.take())
    if failures:
        raise failures[0]


def _is_local(plan: PromptPlan) -> bool:
    return isinstance(plan.llm.settings, LocalLLMSettings)


def _first(group: ExceptionGroup[Exception]) -> Exception:
    error: Exception = group
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return error


async def _store_now_and_then(storage: OutcomeWriter[Ready], done: asyncio.Event) -> None:
    while not done.is_set():
        if ready := storage.take():
            # A transaction that has begun is finished: an interruption must not forget what was taken.
            await asyncio.shield(asyncio.to_thread(storage.store, ready))
        try:
            await asyncio.wait_for(done.wait(), _SECONDS_UNSTORED)
        except TimeoutError:
            continue
