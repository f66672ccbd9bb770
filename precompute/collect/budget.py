"""A budget that a collection keeps while it asks: no request is begun that could exceed it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import overload

from crm.llm.chat_model import Prompt
from crm.llm.endpoint import ASSUMED_TOKENS, CHARACTERS_A_TOKEN
from crm.llm.settings import ConfiguredLLM

_TOKENS_AROUND = 8
"""That a chat template adds to a conversation."""


def prompt_tokens(llm: ConfiguredLLM, prompt: Prompt, characters_a_token: float = CHARACTERS_A_TOKEN) -> int:
    """Estimate how many tokens an LLM reads to answer a prompt."""
    characters = sum(len(message["content"]) for message in llm.settings.messages(prompt.text))
    return ceil(characters / characters_a_token) + _TOKENS_AROUND


@dataclass
class Budget:
    """Money that a run may spend, shared by all LLMs; for the coroutines of one event loop.

    A request is begun only if what was spent, what is under way and the request itself fit into the money. It
    is taken to read a token a character and to write what the LLM may write at most; without ``max_tokens``
    twice as much as is assumed of an answer, or as the longest answer so far if that is more: only then can
    the money be exceeded, by what requests under way cost more.
    """

    money: float
    spent: float = 0.0
    _under_way: dict[tuple[str, str], float] = field(default_factory=dict)
    _most_written: dict[str, int] = field(default_factory=dict)

    def take(self, llm: ConfiguredLLM, prompt: Prompt) -> bool:
        """Set money aside for a request; return whether there is enough."""
        written = llm.settings.max_tokens or self._most_written.get(llm.name, 2 * ASSUMED_TOKENS)
        needed = llm.settings.cost(prompt_tokens(llm, prompt, characters_a_token=1), written)
        if needed and self.spent + sum(self._under_way.values()) + needed > self.money:
            return False
        self._under_way[llm.name, prompt.external_id] = needed
        return True

    def settle(self, llm: ConfiguredLLM, prompt: Prompt, cost: float, written: int) -> None:
        """Put what a request has cost in the place of what was set aside for it."""
        self._under_way.pop((llm.name, prompt.external_id), None)
        self.spent += cost
        self._most_written[llm.name] = max(self._most_written.get(llm.name, 2 * ASSUMED_TOKENS), written)


class WithinBudget(Sequence[Prompt]):
    """Prompts that are handed out one by one while a budget allows; iterate over them once."""

    def __init__(self, llm: ConfiguredLLM, prompts: Sequence[Prompt], budget: Budget) -> None:
        """Hand out these prompts of an LLM."""
        self._llm, self._prompts, self._budget = llm, prompts, budget
        self._next = 0

    @property
    def n_left(self) -> int:
        """How many have not been handed out."""
        return len(self._prompts) - self._next

    def __iter__(self) -> Iterator[Prompt]:
        """Return what hands them out."""
        return _Turns(self)

    def __len__(self) -> int:
        """Return how many there are in all."""
        return len(self._prompts)

    @overload
    def __getitem__(self, index: int) -> Prompt: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Prompt]: ...
    def __getitem__(self, index: int | slice) -> Prompt | Sequence[Prompt]:
        """Return prompts without asking the budget."""
        return self._prompts[index]

    def take(self) -> Prompt | None:
        """Return the next prompt; None if there is none, or too little money for it at the moment."""
        if not self.n_left or not self._budget.take(self._llm, self._prompts[self._next]):
            return None
        self._next += 1
        return self._prompts[self._next - 1]


class _Turns(Iterator[Prompt]):
    """Ends for one who asks while too much is under way, and goes on for others when less is."""

    def __init__(self, prompts: WithinBudget) -> None:
        self._prompts = prompts

    def __next__(self) -> Prompt:
        if (prompt := self._prompts.take()) is None:
            raise StopIteration
        return prompt
