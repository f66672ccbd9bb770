"""Facts of LLMs in HTML: columns of the ranking, one LLM's whole facts, and agreement with people's votes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from leaderboard.listed import next_sort
from leaderboard.llm_facts.catalogue import Fact, HumanRatings, LLMFacts, Price
from leaderboard.llm_facts.choosing import dollars
from leaderboard.llm_facts.listing import Listing, Sort, SortKey
from leaderboard.llm_facts.votes import KindAgreement, VotesAgreement
from leaderboard.render.html import render, with_minus

UNKNOWN_FACT = "unknown"
_MONTH = len("2025-04")
"""A table has no days."""


@dataclass(frozen=True, eq=False)
class FactColumns:
    """What the ranking's columns of facts hold.

    Attributes:
        facts: Of all LLMs of the benchmark, by name.
        listing: How they are sorted and what costs are for.
        link_of: From an order of rows to the address that has it.
    """

    facts: Mapping[str, LLMFacts]
    listing: Listing
    link_of: Callable[[Sort], str]

    @cached_property
    def any(self) -> bool:
        """Whether anything is known of any LLM; else there are no columns."""
        return any(
            fact is not None
            for known in self.facts.values()
            for fact in (known.organisation, known.open_weights, known.price, known.released)
        )

    @property
    def monthly(self) -> bool:
        """Whether there is a column for what the person's month costs."""
        return self.any and self.listing.use is not None

    @property
    def sorting(self) -> dict[str, dict[str, str]]:
        """By column: how it is sorted now, as ``aria-sort`` has it; what a click sorts by; its address."""
        current = self.listing.sort
        now = {False: "ascending", True: "descending"}[current.descending]
        found = {}
        for key in SortKey:
            then = next_sort(current, key)
            direction = now if key is current.key else ""
            found[key.value] = {"direction": direction, "to": str(then), "link": self.link_of(then)}
        return found

    def cells(self, llm: str) -> list[dict[str, str]]:
        """Return what stands in an LLM's row; nothing where nothing is known of any."""
        if not self.any:
            return []
        known, use = self.facts[llm], self.listing.use
        price, weights = known.price, known.open_weights
        cells = [
            _cell(known.organisation, str, "usl-text usl-organisation"),
            _cell(price, price_in_brief, "usl-price"),
        ]
        if use is not None:
            monthly = use.monthly
            cells.append(_cell(price, lambda found: dollars(monthly.cost(found))))
        return [
            *cells,
            _cell(weights, lambda is_open: "open" if is_open else "closed", "usl-text", _licence(known)),
            _cell(known.released, lambda date: date[:_MONTH]),
        ]


def _cell(
    fact: Fact[Any] | None, text: Callable[[Any], str], style: str = "", more: str = ""
) -> dict[str, str]:
    if fact is None:
        return {"text": "", "about": UNKNOWN_FACT, "class": style}
    about = ", ".join(filter(None, (more, f"{fact.source}, {fact.date}")))
    return {"text": text(fact.value), "about": about, "class": style}


def _licence(facts: LLMFacts) -> str:
    return "" if facts.licence is None else facts.licence.value


def price_in_brief(price: Price) -> str:
    """Return ``1.25 / 10``: dollars for a million tokens read and written."""
    return f"{price.input:.3g} / {price.output:.3g}"


def facts_in_brief(facts: LLMFacts) -> str:
    """Return what is known of an LLM in one line: ``OpenAI · closed weights · $2.5 / 10 · 2024-05``."""
    found = []
    if facts.organisation is not None:
        found.append(facts.organisation.value)
    if facts.open_weights is not None:
        found.append("open weights" if facts.open_weights.value else "closed weights")
    if facts.price is not None:
        found.append(f"${price_in_brief(facts.price.value)}")
    if facts.released is not None:
        found.append(facts.released.value[:_MONTH])
    return " · ".join(found)


def facts_table(facts: LLMFacts) -> str:
    """Return all facts of an LLM, each with its source and date; those that nobody knows are called so."""
    written: list[tuple[str, Fact[Any] | None, Callable[[Any], str]]] = [
        ("Organisation", facts.organisation, str),
        ("Released", facts.released, str),
        ("Weights", facts.open_weights, lambda is_open: "open" if is_open else "closed"),
        ("Licence", facts.licence, str),
        ("Parameters", facts.parameters, _billions),
        ("Context window", facts.context, lambda tokens: f"{tokens:,} tokens"),
        ("Price", facts.price, _price_in_words),
        ("Human rating", facts.ratings, _rating_in_words),
    ]
    if facts.alpaca_eval is not None:
        written.append(("AlpacaEval 2", facts.alpaca_eval, _win_rate_in_words))
    if facts.active_parameters is not None:
        written.insert(5, ("Active for one token", facts.active_parameters, _billions))
    rows = [
        {
            "name": name,
            "text": UNKNOWN_FACT if fact is None else text(fact.value),
            "is_known": fact is not None,
            "source": "" if fact is None else fact.source,
            "date": "" if fact is None else fact.date,
        }
        for name, fact, text in written
    ]
    return render("facts", rows=rows, note=facts.note)


def _billions(value: float) -> str:
    return f"{value:g} billion"


def _win_rate_in_words(percent: float) -> str:
    return f"{percent:g} % against GPT-4 Turbo, says GPT-4 Turbo"


def _price_in_words(price: Price) -> str:
    parts = [f"${price.input:g} for a million tokens read, ${price.output:g} for a million written"]
    if price.up_to is not None:
        parts.append(f"more from {price.up_to:,} tokens of a request on")
    if price.deprecated:
        parts.append("its seller is about to take it off")
    return "; ".join(parts)


def _rating_in_words(ratings: HumanRatings) -> str:
    if ratings.overall is None:
        return f"none by all votes, as {ratings.rated_as}"
    found = ratings.overall
    differs = f"; {ratings.differs}" if ratings.differs else ""
    return f"{found.rating:.0f} ({found.low:.0f} to {found.high:.0f}) as {ratings.rated_as}{differs}"


def votes_table(votes: VotesAgreement, accent: str) -> str:
    """Return how far a ranking agrees with the votes on each kind of question, most first, all votes on top.

    Kinds with too few LLMs are left out; the result is empty if all are.
    """
    kinds = sorted(
        (kind for kind in votes.kinds if kind.rho is not None), key=lambda kind: -(kind.rho or 0.0)
    )
    shown = [*([votes.overall] if votes.overall.rho is not None else []), *kinds]
    return render("votes", rows=[_votes_row(kind) for kind in shown], accent=accent) if shown else ""


def _votes_row(kind: KindAgreement) -> dict[str, object]:
    assert kind.rho is not None
    assert kind.low is not None
    assert kind.high is not None
    return {
        "title": kind.title,
        "rho": with_minus(f"{kind.rho:.2f}"),
        "low": with_minus(f"{kind.low:.2f}"),
        "high": with_minus(f"{kind.high:.2f}"),
        # From −1 to 1, as a share of the track.
        "at": (kind.rho + 1) / 2,
        "start": (kind.low + 1) / 2,
        "width": (kind.high - kind.low) / 2,
        "n": kind.n,
    }
