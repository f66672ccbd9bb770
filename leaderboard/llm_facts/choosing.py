"""What LLMs cost a person, who is best for the money, and the cheapest that is as good as their first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from leaderboard.errors import LeaderboardError
from leaderboard.llm_facts.catalogue import Catalogue, LLMFacts, Price
from leaderboard.statistics.frontier import pareto_frontier, surely_beaten

_MILLION = 1_000_000
_CENT = 0.01


@dataclass(frozen=True)
class MonthlyUse:
    """What a person has read and written in a month.

    Attributes:
        input_tokens: Read by the LLM.
        output_tokens: Written by the LLM, its reasoning included.
    """

    input_tokens: float
    output_tokens: float

    def __post_init__(self) -> None:
        if not (0 <= self.input_tokens < np.inf and 0 <= self.output_tokens < np.inf):
            raise LeaderboardError(
                "Tokens of a month are a number from 0 on: write how many, such as 500000."
            )

    @classmethod
    def of_messages(cls, messages: float, tokens_read: float, tokens_written: float) -> MonthlyUse:
        """Return the use of so many messages a month, with tokens for each of them."""
        return cls(messages * tokens_read, messages * tokens_written)

    def cost(self, price: Price) -> float:
        """US dollars a month."""
        return (self.input_tokens * price.input + self.output_tokens * price.output) / _MILLION


PER_MILLION = MonthlyUse(_MILLION / 2, _MILLION / 2)
"""For prices without a person's own use: a million tokens, as many read as written."""


@dataclass(frozen=True)
class Offer:
    """One LLM as something that can be bought.

    Attributes:
        llm: Its name in the benchmark.
        facts: What is known of it.
        place: In the ranking.
        score: Of the ranking; more is better.
        cost: US dollars for the person's month; None if its price is unknown.
        on_frontier: Whether no other one is at most as dear and at least as good, going by the scores alone.
        surely_beaten: Whether one that is at most as dear can be told apart from it as better; False where
            pairs were not looked at.
        like_first: Whether it cannot be told apart from the first, which it may be itself.
    """

    llm: str
    facts: LLMFacts
    place: int
    score: float
    cost: float | None
    on_frontier: bool
    surely_beaten: bool
    like_first: bool


@dataclass(frozen=True)
class Choice:
    """A ranking with what its LLMs cost.

    Attributes:
        offers: In the order of the ranking, best first.
        cheapest_like_first: The cheapest of those that cannot be told apart from the first, itself included;
            None if none of them has a price. Another that its seller is about to take off is passed over.
        prices_date: As of when the oldest of the prices is; empty if there is none.
        unit: What the costs are for, in words.
    """

    offers: tuple[Offer, ...]
    cheapest_like_first: Offer | None
    prices_date: str
    unit: str

    @property
    def unpriced(self) -> tuple[str, ...]:
        """LLMs whose price is unknown."""
        return tuple(offer.llm for offer in self.offers if offer.cost is None)

    @property
    def sentence(self) -> str | None:
        """Name the cheapest LLM that cannot be told apart from the first; None if nothing can be said."""
        if self.cheapest_like_first is None or len(self.offers) == 1:
            return None
        first, cheapest = self.offers[0], self.cheapest_like_first
        alike = [offer for offer in self.offers if offer.like_first]
        unknown = sum(offer.cost is None for offer in alike[1:])
        but = (
            f" {unknown} more of these {'has' if unknown == 1 else 'have'} no known price." if unknown else ""
        )
        if cheapest is first:
            if len(alike) == 1:
                return f"No other LLM is as good as {first.facts.title}: it is clearly ahead of all."
            return (
                f"{first.facts.title} is itself the cheapest of those that may be as good: "
                f"{dollars(first.cost)} {self.unit}.{but}"
            )
        own = "is unknown" if first.cost is None else f"is {dollars(first.cost)}"
        return (
            f"{cheapest.facts.title} (place {cheapest.place}) costs least of those that may be as good as "
            f"the first: {dollars(cheapest.cost)} {self.unit}. The price of the first {own}.{but}"
        )


def choose(
    llms: Sequence[str],
    scores: NDArray[np.floating],
    unlike_first: NDArray[np.bool_],
    catalogue: Catalogue,
    *,
    apart: NDArray[np.bool_] | None = None,
    benchmark: str = "",
    titles: Mapping[str, str] | None = None,
    places: Mapping[str, int] | None = None,
    use: MonthlyUse = PER_MILLION,
) -> Choice:
    """Return what LLMs cost for what they are worth.

    Args:
        llms: L names, best first.
        scores: [L], more is better.
        unlike_first: [L], which can be told apart from the first (``significance.apart_from_first``). Each is
            looked at by itself: with an allowance for all pairs, few would be told apart, and too many called
            as good as the first.
        apart: [L, L], which pairs can be told apart with all pairs looked at together, if that is known.
        benchmark: Its slug, as some names mean another LLM elsewhere.
        titles: What LLMs are called, by their names; by default as the catalogue does.
        places: In the ranking, by name; by default these are all that are ranked.
        use: What the costs are for.

    Raises:
        LeaderboardError: The arrays do not match the names, or there are none.
    """
    n = len(llms)
    if n == 0 or scores.shape != (n,) or unlike_first.shape != (n,):
        raise LeaderboardError(
            f"Give {n} scores and {n} comparisons, not {scores.shape} and {unlike_first.shape}."
        )
    facts = [catalogue.facts(llm, benchmark) for llm in llms]
    if titles is not None:
        facts = [replace(each, title=titles[llm]) for llm, each in zip(llms, facts, strict=True)]
    costs = np.array([np.nan if each.price is None else use.cost(each.price.value) for each in facts])
    pairs = np.zeros((n, n), dtype=np.bool_) if apart is None else apart
    frontier, beaten = pareto_frontier(scores, costs), surely_beaten(scores, costs, pairs)
    offers = tuple(
        Offer(
            llm=llm,
            facts=facts[row],
            place=row + 1 if places is None else places[llm],
            score=float(scores[row]),
            cost=None if np.isnan(costs[row]) else float(costs[row]),
            on_frontier=bool(frontier[row]),
            surely_beaten=bool(beaten[row]),
            like_first=row == 0 or not unlike_first[row],
        )
        for row, llm in enumerate(llms)
    )
    dates = [each.price.date for each in facts if each.price is not None]
    unit = "for a million tokens" if use is PER_MILLION else "a month"
    return Choice(offers, _cheapest_like_first(offers), min(dates, default=""), unit)


def _cheapest_like_first(offers: Sequence[Offer]) -> Offer | None:
    """Of equally cheap ones the better, as they come best first."""
    sold = [offer for offer in offers[:1] if offer.cost is not None]
    sold += [offer for offer in offers[1:] if offer.like_first and _is_sold(offer)]
    return min(sold, key=lambda offer: offer.cost or 0.0, default=None)


def _is_sold(offer: Offer) -> bool:
    price = offer.facts.price
    return price is not None and not price.value.deprecated


def dollars(cost: float | None) -> str:
    """Return an amount in words: “$0.35”, “less than $0.01”, “unknown”."""
    if cost is None:
        return "unknown"
    return f"${cost:,.2f}" if cost >= _CENT or cost == 0 else f"less than ${_CENT}"
