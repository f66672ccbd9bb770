"""Facts of LLMs, each with its source and date; what is unknown is None."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Generic, TypeVar

from leaderboard.errors import LeaderboardError

T = TypeVar("T")
OVERALL = "full"
"""LMArena's category of all votes."""


@dataclass(frozen=True)
class Fact(Generic[T]):
    """One thing that is known.

    Attributes:
        source: Who says so.
        date: As of when: a day, a month or a year, “2025-04-14”, “2025-04”, “2025”.
    """

    value: T
    source: str
    date: str


@dataclass(frozen=True)
class Price:
    """What tokens cost.

    Attributes:
        input: US dollars for a million tokens read.
        output: US dollars for a million tokens written, reasoning included.
        up_to: Tokens of one request from which on they cost more; None where that does not matter.
        deprecated: Whether the seller advises against using it and will take it off.
    """

    input: float
    output: float
    up_to: int | None = None
    deprecated: bool = False


@dataclass(frozen=True)
class Rating:
    """Elo points with the ends of their 95 % interval."""

    rating: float
    low: float
    high: float


@dataclass(frozen=True)
class HumanRatings:
    """How people rate an LLM whose name they do not see.

    Attributes:
        rated_as: The LLM's name there.
        differs: How what was rated differs from this LLM, “rated at high effort”; empty if it does not.
        by_category: By LMArena's name of the category; all votes are ``OVERALL``.
    """

    rated_as: str
    differs: str
    by_category: Mapping[str, Rating]

    @property
    def overall(self) -> Rating | None:
        """By all votes."""
        return self.by_category.get(OVERALL)


@dataclass(frozen=True)
class LLMFacts:
    """What is known of one LLM.

    Attributes:
        name: Its name in the catalogue.
        aliases: Its names in benchmarks; “benchmark:name” holds in that benchmark only.
        variant_of: The LLM that it is a setting of, whose facts it has but for ``OF_ITS_OWN``; empty if none.
        arena: Its name at LMArena; empty if it has none.
        arena_differs: As ``HumanRatings.differs``.
        priced_as: “provider:model” in the package genai-prices; empty if it is not sold there.
        released: A day, a month or a year, which can be compared as texts.
        parameters: In billions.
        active_parameters: In billions, those that are used for one token.
        context: Tokens that can be read at a time.
        alpaca_eval: AlpacaEval 2's length-controlled win rate against GPT-4 Turbo, in percent: by verdicts of
            GPT-4 Turbo, not of people (Dubois et al. 2024, https://arxiv.org/abs/2404.04475).
    """

    name: str
    title: str
    aliases: tuple[str, ...] = ()
    note: str = ""
    variant_of: str = ""
    arena: str = ""
    arena_differs: str = ""
    priced_as: str = ""
    organisation: Fact[str] | None = None
    released: Fact[str] | None = None
    open_weights: Fact[bool] | None = None
    licence: Fact[str] | None = None
    parameters: Fact[float] | None = None
    active_parameters: Fact[float] | None = None
    context: Fact[int] | None = None
    price: Fact[Price] | None = None
    ratings: Fact[HumanRatings] | None = None
    alpaca_eval: Fact[float] | None = None

    def with_more(self, more: LLMFacts) -> LLMFacts:
        """Return these facts with those of another table over them; aliases of both hold."""
        given = {item.name: getattr(more, item.name) for item in fields(more)}
        known = {key: value for key, value in given.items() if value not in (None, "", ())}
        title = more.title if more.title != more.name else self.title
        aliases = tuple(dict.fromkeys((*self.aliases, *more.aliases)))
        return replace(self, **known | {"name": self.name, "title": title, "aliases": aliases})


FACTS = tuple(item.name for item in fields(LLMFacts) if str(item.type).startswith("Fact["))
"""The keys that hold facts."""
OF_ITS_OWN = ("ratings", "alpaca_eval")
"""Those that a variant does not have from what it is a variant of."""


@dataclass(frozen=True, eq=False)
class Catalogue:
    """LLMs by name; may be a key of what is kept.

    Attributes:
        llms: By their names in the catalogue.
    """

    llms: Mapping[str, LLMFacts]
    _names: Mapping[str, str] = field(repr=False)

    @classmethod
    def of(cls, llms: Iterable[LLMFacts]) -> Catalogue:
        """Return the catalogue of these LLMs; variants get the facts of what they are variants of.

        Raises:
            LeaderboardError: Two LLMs have one name; a variant is one of nothing, or of another variant.
        """
        given = {llm.name: llm for llm in llms}
        names: dict[str, str] = {}
        for llm in given.values():
            for name in (llm.name, *llm.aliases):
                if (other := names.setdefault(name, llm.name)) != llm.name:
                    raise LeaderboardError(
                        f"The LLMs {other!r} and {llm.name!r} are both called {name!r}: take the name out of "
                        "the aliases of one of them."
                    )
        return cls({name: _complete(llm, given) for name, llm in given.items()}, names)

    def find(self, name: str, benchmark: str = "") -> LLMFacts | None:
        """Return the LLM that a benchmark calls so, None if it is not in the catalogue."""
        found = self._names.get(f"{benchmark}:{name}") or self._names.get(name)
        return None if found is None else self.llms[found]

    def facts(self, name: str, benchmark: str = "") -> LLMFacts:
        """Return what is known of the LLM that a benchmark calls so, which may be nothing."""
        return self.find(name, benchmark) or LLMFacts(name, name)

    def __iter__(self) -> Iterator[LLMFacts]:
        return iter(self.llms.values())

    def __len__(self) -> int:
        return len(self.llms)


def _complete(llm: LLMFacts, given: Mapping[str, LLMFacts]) -> LLMFacts:
    if not llm.variant_of:
        return llm
    whole = given.get(llm.variant_of)
    if whole is None or whole.variant_of:
        raise LeaderboardError(
            f"The LLM {llm.name!r} is said to be a variant of {llm.variant_of!r}, which is "
            f"{'not in the catalogue' if whole is None else 'a variant itself'}: "
            "name an LLM that is no variant."
        )
    lacking = (key for key in FACTS if key not in OF_ITS_OWN and getattr(llm, key) is None)
    inherited = {key: getattr(whole, key) for key in lacking}
    return replace(llm, **inherited)
