"""Facts as columns of files: one value each, or with source and date."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from leaderboard.llm_facts.catalogue import OVERALL, LLMFacts

FACT_COLUMNS = (
    *("organisation", "released", "open_weights", "licence", "parameters_billion"),
    *("context_tokens", "price_input", "price_output", "human_rating"),
)
"""Prices are US dollars for a million tokens, the human rating that of all votes at LMArena."""


def fact_values(facts: LLMFacts) -> dict[str, str | float | bool | None]:
    """Return the values of ``FACT_COLUMNS``, None where unknown; a rating under other conditions is none."""
    price = None if facts.price is None else facts.price.value
    rated = None if facts.ratings is None or facts.ratings.value.differs else facts.ratings.value
    known = (facts.organisation, facts.released, facts.open_weights, facts.licence, facts.parameters)
    found: list[str | float | bool | None] = [None if fact is None else fact.value for fact in known]
    found.append(None if facts.context is None else facts.context.value)
    found += [None, None] if price is None else [price.input, price.output]
    overall = None if rated is None else rated.by_category.get(OVERALL)
    found.append(None if overall is None else overall.rating)
    return dict(zip(FACT_COLUMNS, found, strict=True))


def fact_cells(facts: LLMFacts) -> dict[str, str]:
    """Return ``fact_values`` as texts, empty where unknown."""

    def cell(value: str | float | bool | None) -> str:
        if isinstance(value, bool):
            return "yes" if value else "no"
        return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)

    return {name: cell(value) for name, value in fact_values(facts).items()}


def sourced_facts(facts: LLMFacts) -> dict[str, Any]:
    """Return what is known with its source and date, as JSON has it; of ratings that of all votes."""
    found: dict[str, Any] = {}
    for key in ("organisation", "released", "open_weights", "licence", "parameters", "active_parameters"):
        if (fact := getattr(facts, key)) is not None:
            found[key] = asdict(fact)
    if facts.alpaca_eval is not None:
        found["alpaca_eval"] = asdict(facts.alpaca_eval)
    if facts.context is not None:
        found["context"] = asdict(facts.context)
    if (price := facts.price) is not None:
        found["price"] = {**asdict(price.value), "source": price.source, "date": price.date}
    if (ratings := facts.ratings) is not None and ratings.value.overall is not None:
        about = {"rated_as": ratings.value.rated_as, "differs": ratings.value.differs}
        found["human_rating"] = {
            **asdict(ratings.value.overall),
            **about,
            "source": ratings.source,
            "date": ratings.date,
        }
    return found


def availability(facts: LLMFacts) -> Mapping[str, str]:
    """Return what Every Eval Ever asks of a model: who made it, and whether its weights can be had."""
    weights = "unknown"
    if facts.open_weights is not None:
        weights = "open_weights" if facts.open_weights.value else "closed_weights"
    return {
        "developer": "unknown" if facts.organisation is None else facts.organisation.value,
        "model_availability": weights,
    }
