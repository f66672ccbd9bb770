"""How far a ranking agrees with people's votes at LMArena, by kind of question."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from leaderboard.llm_facts.catalogue import OVERALL, Catalogue, Rating
from leaderboard.statistics.agreement import MIN_LLMS, Agreement, agreement, surely_less_close

KINDS = {
    "creative_writing": "creative writing",
    "industry_writing_and_literature_and_language": "writing, literature and language",
    "if": "following instructions",
    "multiturn": "longer conversations",
    "long_user": "long questions",
    "hard_6": "hard questions",
    "coding": "coding",
    "math": "maths",
    "industry_business_and_management_and_financial_operations": "business and finance",
    "industry_entertainment_and_sports_and_media": "entertainment, sports and media",
    "industry_life_and_physical_and_social_science": "science",
    "industry_legal_and_government": "law and government",
    "industry_medicine_and_healthcare": "medicine and health",
    "industry_software_and_it_services": "software and IT",
}
"""LMArena's categories of what is asked, and their words. Languages and filters of votes are none of them."""
CREATIVE = "creative_writing"
_IS_CREATIVE = re.compile(r"\b(?:creative|fiction|stor(?:y|ies)|poe(?:ms?|try))\b", re.IGNORECASE)
_MOST = 0.9
"""A kind is compared with the others if it has votes on so many of the LLMs that any has."""
_MIN_KINDS = 2
_MAX_NAMED = 3


@dataclass(frozen=True)
class KindAgreement:
    """Agreement with the votes on one kind of question.

    Attributes:
        category: LMArena's name; ``OVERALL`` for all votes.
        title: In words.
        rho: Spearman's ρ between win rates and ratings; None for fewer than ``MIN_LLMS`` LLMs.
        low: Lower end of its 95 % interval.
        n: LLMs in both.
    """

    category: str
    title: str
    rho: float | None
    low: float | None
    high: float | None
    n: int


@dataclass(frozen=True)
class VotesAgreement:
    """Agreement with all votes and with those on each kind of question.

    Attributes:
        overall: With all votes.
        kinds: In the order of ``KINDS``.
        closest: The kind it agrees with most, on the LLMs that people rated on every kind that is compared;
            None if no kind can be named.
        surely_less: Kinds that it agrees with surely less than with the closest.
        unclear: Kinds of which that is not sure.
        date: As of when the ratings are.
    """

    overall: KindAgreement
    kinds: tuple[KindAgreement, ...]
    closest: KindAgreement | None = None
    surely_less: tuple[str, ...] = ()
    unclear: tuple[str, ...] = ()
    date: str = ""

    def sentence(self, ranking: str = "Your ranking") -> str | None:
        """Say what can be said of the kinds in one sentence; None if there are too few LLMs to say anything.

        Args:
            ranking: What the ranking is called.
        """
        if self.closest is None or self.closest.rho is None or self.closest.low is None:
            return None
        title, on = self.closest.title, f"ρ = {_signed(self.closest.rho)} on {self.closest.n} LLMs"
        if self.closest.high is not None and self.closest.high < 0:
            return f"{ranking} runs against the votes on every kind of question (least on {title}, {on})."
        if self.closest.low <= 0:
            return (
                f"{ranking} does not clearly agree with the votes on any kind of question "
                f"(closest: {title}, {on})."
            )
        if not self.unclear:
            return f"{ranking} agrees most with the votes on {title} ({on})."
        if self.surely_less:
            others = _listed(self.unclear) if len(self.unclear) <= _MAX_NAMED else "several others"
            return (
                f"{ranking} agrees most with the votes on {title} ({on}), "
                f"though not clearly more than with those on {others}."
            )
        return f"{ranking} agrees with the votes on all kinds of question alike, best on {title} ({on})."


def votes_agreement(
    win_rates: Mapping[str, float], catalogue: Catalogue, benchmark: str = "", *, near: bool = False
) -> VotesAgreement:
    """Return how far a ranking agrees with people's votes.

    Args:
        win_rates: By LLM as the benchmark calls it; any score of which more is better, NaN if unranked.
        benchmark: Its slug, as some names mean another LLM elsewhere.
        near: Also count ratings of an LLM under other conditions, such as a higher effort.
    """
    rated = {}
    for llm in win_rates:
        fact = catalogue.facts(llm, benchmark).ratings
        if fact is not None and (near or not fact.value.differs):
            rated[llm] = fact
    scores = np.array([win_rates[llm] for llm in rated], dtype=np.float64)
    ratings = _table([fact.value.by_category for fact in rated.values()], (OVERALL, *KINDS))
    found = agreement(scores, ratings)
    overall, *kinds = (_kind(found, row, category) for row, category in enumerate((OVERALL, *KINDS)))
    date = max((fact.date for fact in rated.values()), default="")
    return _with_closest(VotesAgreement(overall, tuple(kinds), date=date), scores, ratings[:, 1:])


def ratings_of(
    llms: Sequence[str], catalogue: Catalogue, benchmark: str = "", category: str = OVERALL
) -> NDArray[np.float64]:
    """Return how people rate L LLMs ``[L]``, in Elo points by the votes of a category, under other conditions
    included; NaN where they do not.
    """
    facts = (catalogue.facts(llm, benchmark).ratings for llm in llms)
    found = (None if fact is None else fact.value.by_category.get(category) for fact in facts)
    return np.array([np.nan if rating is None else rating.rating for rating in found], dtype=np.float64)


def known_of(llms: Sequence[str], catalogue: Catalogue, benchmark: str = "") -> NDArray[np.float64]:
    """Return what ratings of L LLMs can be foretold from ``[L, 4]``, NaN where it is not known.

    The logarithm of the parameters, whether the weights are open, the year and its part of the release, and
    the win rate on AlpacaEval's leaderboard, in log-odds.
    """
    rows = []
    for llm in llms:
        facts = catalogue.facts(llm, benchmark)
        size = np.nan if facts.parameters is None else np.log(facts.parameters.value)
        is_open = np.nan if facts.open_weights is None else float(facts.open_weights.value)
        year = np.nan if facts.released is None else _in_years(facts.released.value)
        won = np.nan if facts.alpaca_eval is None else facts.alpaca_eval.value
        rows.append((size, is_open, year, np.log(won / (100.0 - won))))
    return np.array(rows, dtype=np.float64).reshape(len(rows), 4)


def _in_years(date: str) -> float:
    """Return a day, or the middle of a month or a year, in years."""
    year, month, day = (*map(float, date.split("-")), *(np.nan, np.nan))[:3]
    months = 6.0 if np.isnan(month) else month - 1 + (0.5 if np.isnan(day) else (day - 1) / 31)
    return year + months / 12


def kind_of(category: str) -> str:
    """Return the kind of votes by which ∅ ranks on a benchmark's category; ``OVERALL`` if no kind is its own.

    Args:
        category: Its title.
    """
    return CREATIVE if _IS_CREATIVE.search(category) else OVERALL


def ratings_on(
    kind: str, llms: Sequence[str], catalogue: Catalogue, benchmark: str = ""
) -> NDArray[np.float64]:
    """Return how people rate L LLMs on a kind of question ``[L]``, as ``ratings_of`` does.

    Of who has votes, but not on this kind, these are taken, moved by the median of what sets the two apart.
    """
    own, overall = (ratings_of(llms, catalogue, benchmark, category) for category in (kind, OVERALL))
    both = np.isfinite(own) & np.isfinite(overall)
    apart = float(np.median((own - overall)[both])) if both.any() else 0.0
    return np.where(np.isfinite(own), own, overall + apart)


def n_rated(llms: Iterable[str], catalogue: Catalogue, benchmark: str = "") -> int:
    """Return how many of these LLMs people have rated as they are."""
    facts = (catalogue.facts(llm, benchmark).ratings for llm in llms)
    return sum(fact is not None and not fact.value.differs for fact in facts)


def _with_closest(
    votes: VotesAgreement, scores: NDArray[np.float64], ratings: NDArray[np.float64]
) -> VotesAgreement:
    """Compare kinds on the LLMs that are rated on all of them, if these are enough.

    Args:
        scores: [L].
        ratings: [L, K], of each of ``KINDS``.
    """
    known = ~np.isnan(ratings) & ~np.isnan(scores)[:, np.newaxis]
    n = known.sum(axis=0)
    columns = np.flatnonzero((n >= MIN_LLMS) & (n >= _MOST * n.max(initial=0)))
    llms = np.flatnonzero(known[:, columns].all(axis=1))
    if len(columns) < _MIN_KINDS or len(llms) < MIN_LLMS:
        return votes
    own, gapless = scores[llms], ratings[np.ix_(llms, columns)]
    found, less = agreement(own, gapless), surely_less_close(own, gapless)
    best = int(np.argmax(found.rho))
    others = [(votes.kinds[column].title, less[row]) for row, column in enumerate(columns) if row != best]
    return replace(
        votes,
        closest=_kind(found, best, votes.kinds[columns[best]].category),
        surely_less=tuple(title for title, is_less in others if is_less),
        unclear=tuple(title for title, is_less in others if not is_less),
    )


def _kind(found: Agreement, row: int, category: str) -> KindAgreement:
    title, n = KINDS.get(category, "all questions"), int(found.n[row])
    if np.isnan(found.rho[row]):
        return KindAgreement(category, title, None, None, None, n)
    rho, low, high = (float(values[row]) for values in (found.rho, found.low, found.high))
    return KindAgreement(category, title, rho, low, high, n)


def _table(rows: Sequence[Mapping[str, Rating]], categories: Sequence[str]) -> NDArray[np.float64]:
    """Ratings [L, C], NaN where there is none."""
    table = [[row[category].rating if category in row else np.nan for category in categories] for row in rows]
    return np.array(table, dtype=np.float64).reshape(len(rows), len(categories))


def _signed(rho: float) -> str:
    return f"{rho:.2f}".replace("-", "−")


def _listed(titles: tuple[str, ...]) -> str:
    *first, last = titles
    return f"{', '.join(first)} and {last}" if first else last
