"""What LLMs of ``llms.toml`` cost, by their tables or else by the catalogue."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from crm.llm.settings import ConfiguredLLM, EndpointLLMSettings
from leaderboard.llm_facts.catalogue import Catalogue

_PRICES = frozenset({"price_prompt", "price_completion"})


def with_prices(llms: Sequence[ConfiguredLLM], catalogue: Catalogue) -> tuple[ConfiguredLLM, ...]:
    """Return LLMs with the catalogue's prices where their tables have none.

    Only those of an endpoint that takes an API key: the same model on a server of one's own costs nothing.
    """
    return tuple(_with_price(llm, catalogue) for llm in llms)


def _with_price(llm: ConfiguredLLM, catalogue: Catalogue) -> ConfiguredLLM:
    settings = llm.settings
    if _PRICES & settings.model_fields_set or not _bills(llm):
        return llm
    assert isinstance(settings, EndpointLLMSettings)
    facts = catalogue.find(settings.model.rsplit("/", 1)[-1]) or catalogue.find(llm.name)
    if facts is None or facts.price is None:
        return llm
    price = facts.price.value
    known = {"price_prompt": price.input, "price_completion": price.output}
    return replace(llm, settings=settings.model_copy(update=known))


def _bills(llm: ConfiguredLLM) -> bool:
    return isinstance(llm.settings, EndpointLLMSettings) and llm.settings.api_key_env is not None


def has_price(llm: ConfiguredLLM) -> bool:
    """Return whether it is known what an LLM costs, be it nothing."""
    return not _bills(llm) or bool(_PRICES & llm.settings.model_fields_set)
