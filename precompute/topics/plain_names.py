"""Names of topics without an LLM: from the list of topics by meaning, by language, or a phrase of the
queries' own.

A group takes the first of these that fits it: “Questions in Chinese” where most of it is in one other
language; the topic of the list that most of it is about, two of them where both are about as common (“Poetry
/ Song lyrics”); the category that it spreads over (“Games & Puzzles in general”); a phrase that its queries
share. No two groups of a pool get one name.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from precompute.embed import embed_texts
from precompute.topics.catalogue import Catalogue, CatalogueTopic
from precompute.topics.encoders import Vectors
from precompute.topics.languages import group_language

OTHER_LANGUAGES = "Other Languages"
MIXED = "Mixed queries"

NEAR_ENOUGH = 0.28
"""Mean cosine of a group's queries with the nearest topic of the list, below which the list says nothing on
them. All English topics of DailyBench and of the public prompts reach 0.32; made-up jargon has 0.25 and
less."""
CLEAR = 0.12
"""Share of a group's queries that must be about a topic of the list for its name."""
NEARLY_AS_COMMON = 0.6
"""Of the share of the first topic, from which a second one is named beside it."""
_AS_COMMON = 0.8
"""The same where the second is of another category."""
CLEAR_TOGETHER = 0.15
"""Share of two topics together from which they name a group that neither names alone."""
CLEAR_CATEGORY = 0.3
"""Share of a group's queries that must be about a category for its name, where no topic is clear."""
_CONSIDERED = 5
"""Topics of the list among which the names of one group are chosen."""
_CATEGORIES_CONSIDERED = 3
_WORDS = "Words & Language"
_AND = " / "


@dataclass(frozen=True, slots=True)
class PlainName:
    """A name and where it stands; `summary` is blank where the list says nothing on it.

    Attributes:
        fit: Share of the group's queries that are about what the name says; 0 of a phrase.
    """

    name: str
    category: str
    summary: str
    fit: float


@dataclass(frozen=True, eq=False)
class ListedQueries:
    """The queries of a pool, and how near each is to the topics of the list.

    Attributes:
        texts: The queries ``[Q]``.
        vectors: Their embeddings by the bundled encoder ``[Q, 384]``.
        shares: How each is divided among the list's topics ``[Q, T]``.
        nearness: Cosine of each with the nearest of them ``[Q]``.
    """

    texts: Sequence[str]
    vectors: Vectors
    catalogue: Catalogue
    shares: NDArray[np.float64]
    nearness: Vectors

    @classmethod
    def of(cls, texts: Sequence[str], vectors: Vectors, catalogue: Catalogue) -> ListedQueries:
        """Divide the queries among the list's topics."""
        nearness = (vectors @ catalogue.prototypes.T).max(axis=1)
        return cls(texts, vectors, catalogue, catalogue.fit(vectors), nearness)


def plain_names(
    queries: ListedQueries, groups: Sequence[NDArray[np.intp]], taken: Collection[str] = ()
) -> list[PlainName]:
    """Return a name for each group of queries, no two alike and none that is taken.

    Those that fit best are named first: of two groups about one topic, the other takes a longer name.

    Args:
        groups: Rows of the queries of each group.
        taken: Names that are given already.
    """
    phrases = _Phrases(queries)
    candidates = [list(_candidates(queries, rows, phrases)) for rows in groups]
    used = {name.casefold() for name in taken}
    chosen: dict[int, PlainName] = {}
    first = _first_texts(queries, groups)
    order = sorted(
        range(len(groups)),
        key=lambda place: (-round(candidates[place][0].fit, 6), -len(groups[place]), first[place]),
    )
    for group in order:
        free = (name for name in candidates[group] if name.name.casefold() not in used)
        name = next(free, None) or replace(
            candidates[group][0], name=distinct_name(candidates[group][0].name, used)
        )
        used.add(name.name.casefold())
        chosen[group] = name
    return [chosen[group] for group in range(len(groups))]


def plain_categories(queries: ListedQueries, groups: Sequence[NDArray[np.intp]]) -> list[str]:
    """Return a category of the list for each group of queries, no two alike: what most of it is about.

    The largest groups choose first; where a group's best three categories are taken, its best gets a number.
    """
    categories = list(dict.fromkeys(topic.category for topic in queries.catalogue.topics))
    column = [categories.index(topic.category) for topic in queries.catalogue.topics]
    used: set[str] = set()
    chosen: dict[int, str] = {}
    first = _first_texts(queries, groups)
    for group in sorted(range(len(groups)), key=lambda place: (-len(groups[place]), first[place])):
        rows = groups[group]
        share = np.bincount(column, queries.shares[rows].mean(axis=0), len(categories)).round(6)
        order = [categories[place] for place in np.argsort(-share, kind="stable")[:_CATEGORIES_CONSIDERED]]
        if group_language([queries.texts[row] for row in rows]) is not None:
            order = [OTHER_LANGUAGES]
        name = next((name for name in order if name not in used), None) or distinct_name(order[0], used)
        used.add(name)
        chosen[group] = name
    return [chosen[group] for group in range(len(groups))]


def _first_texts(queries: ListedQueries, groups: Sequence[NDArray[np.intp]]) -> list[str]:
    """What decides between groups that are equal otherwise: their texts, not the order of their queries."""
    return [min((queries.texts[row] for row in rows), default="") for rows in groups]


def distinct_name(name: str, taken: Collection[str]) -> str:
    """Return the name, with a number if it is taken in any case of letters."""
    used = {other.casefold() for other in taken}
    if name.casefold() not in used:
        return name
    number = 2
    while f"{name} ({number})".casefold() in used:
        number += 1
    return f"{name} ({number})"


def _candidates(queries: ListedQueries, rows: NDArray[np.intp], phrases: _Phrases) -> Iterator[PlainName]:
    """Names for a group, the best first; always one at least."""
    topics = queries.catalogue.topics
    share = queries.shares[rows].mean(axis=0)
    language = group_language([queries.texts[row] for row in rows])
    if language is not None:
        yield from _of_a_language(language, topics, share)
        return
    of_category: dict[str, float] = {}
    for topic, value in zip(topics, share.tolist(), strict=True):
        of_category[topic.category] = of_category.get(topic.category, 0.0) + value
    # Shares that differ by rounding alone, as after another order of the queries, count as equal.
    category = max(of_category, key=lambda name: round(of_category[name], 6))
    general = PlainName(f"{category} in general", category, "", of_category[category])
    about = _About.of(topics, share)
    own = phrases.best(rows)
    is_near = float(queries.nearness[rows].mean()) >= NEAR_ENOUGH
    if is_near and about.is_clear:
        yield from about.names()
    if is_near and general.fit >= CLEAR_CATEGORY:
        yield general
    for phrase in own:
        # A single word says less than the list, where that is near.
        if " " in phrase or not is_near:
            yield PlainName(phrase[:1].upper() + phrase[1:], category, "", 0.0)
    if is_near:
        yield from about.names()
    yield PlainName(MIXED, category, "", 0.0)


def _of_a_language(
    language: str, topics: Sequence[CatalogueTopic], share: NDArray[np.float64]
) -> Iterator[PlainName]:
    summary = f"Queries of many subjects, most of them in {language}."
    yield PlainName(f"Questions in {language}", OTHER_LANGUAGES, summary, 1.0)
    # Text in another language looks like something to be translated, whatever it is about.
    about = np.where([topic.category == _WORDS for topic in topics], 0.0, share)
    best = topics[int(about.argmax())]
    if about.max() >= CLEAR:
        yield PlainName(f"{best.name} in {language}", OTHER_LANGUAGES, best.summary, float(about.max()))
    yield PlainName(f"More questions in {language}", OTHER_LANGUAGES, summary, 1.0)


@dataclass(frozen=True)
class _About:
    """The topics of the list that most of a group is about, with their shares."""

    first: tuple[CatalogueTopic, float]
    others: tuple[tuple[CatalogueTopic, float], ...]

    @classmethod
    def of(cls, topics: Sequence[CatalogueTopic], share: NDArray[np.float64]) -> _About:
        order = sorted(range(len(topics)), key=lambda place: (-round(float(share[place]), 6), place))
        first, *others = [(topics[place], float(share[place])) for place in order[:_CONSIDERED]]
        return cls(first, tuple(others))

    @property
    def is_clear(self) -> bool:
        """Whether one topic fits enough queries, or two of them do together."""
        return self.first[1] >= CLEAR or self.first[1] + self._partner[1] >= CLEAR_TOGETHER

    @property
    def _partner(self) -> tuple[CatalogueTopic, float]:
        """The topic to be named beside the first: one of the same category rather than another."""
        topic, share = self.first
        for other, its_share in self.others:
            near = NEARLY_AS_COMMON if other.category == topic.category else _AS_COMMON
            if its_share >= near * share:
                return other, its_share
        return topic, 0.0

    def names(self) -> Iterator[PlainName]:
        topic, share = self.first
        alone = PlainName(topic.name, topic.category, topic.summary, share)
        partner, its_share = self._partner
        if its_share:
            yield self._both(partner, its_share)
        yield alone
        for other, other_share in self.others:
            yield self._both(other, other_share)

    def _both(self, other: CatalogueTopic, its_share: float) -> PlainName:
        topic, share = self.first
        summary = f"{topic.summary} {other.summary}"
        return PlainName(f"{topic.name}{_AND}{other.name}", topic.category, summary, share + its_share)


_WORD = re.compile(r"[^\W\d_]{3,20}")
_SENTENCE_END = re.compile(r"[.!?:;\n\r]|\\n")
_MIN_QUERIES = 2
_MIN_SHARE = 0.08
"""Of a group's queries that share a phrase: what few odd queries say does not describe the others."""
_LIFT = 2.0
"""How much commoner a phrase is in the group than in the whole pool."""
_PHRASES = 30


class _Phrases:
    """Words and pairs of neighbouring words that queries share."""

    def __init__(
        self, queries: ListedQueries, embed: Callable[[Sequence[str]], Vectors] = embed_texts
    ) -> None:
        self._queries, self._embed = queries, embed
        self._of = [frozenset(_phrases(text)) for text in queries.texts]
        self._n_with = Counter(phrase for found in self._of for phrase in found)

    def best(self, rows: NDArray[np.intp], count: int = 3) -> list[str]:
        """Return the phrases of a group that come nearest to what its queries mean, pairs of words first."""
        within = Counter(phrase for row in rows for phrase in self._of[row])
        least = max(_MIN_QUERIES, _MIN_SHARE * len(rows))
        usual = {
            phrase: n
            for phrase, n in within.items()
            if n >= least and self._lift(phrase, n, len(rows)) >= _LIFT
        }
        listed = sorted(usual, key=lambda phrase: (-usual[phrase] * (1 + phrase.count(" ")), phrase))[
            :_PHRASES
        ]
        if not listed:
            return []
        middle = self._queries.vectors[rows].mean(axis=0)
        near: Mapping[str, float] = {
            phrase: round(float(vector @ middle), 5)
            for phrase, vector in zip(listed, self._embed(listed), strict=True)
        }
        return sorted(listed, key=lambda phrase: (-near[phrase], phrase))[:count]

    def _lift(self, phrase: str, n_within: int, size: int) -> float:
        return (n_within / size) / (self._n_with[phrase] / len(self._of))


def _phrases(text: str) -> Iterator[str]:
    """Words that are no stop words, and pairs of them that stand side by side in one sentence."""
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS  # noqa: PLC0415

    for sentence in _SENTENCE_END.split(text.casefold()):
        words = list(_WORD.finditer(sentence))
        telling = [word[0] not in ENGLISH_STOP_WORDS for word in words]
        yield from (word[0] for word, tells in zip(words, telling, strict=True) if tells)
        for (one, one_tells), (other, other_tells) in pairwise(zip(words, telling, strict=True)):
            side_by_side = sentence[one.end() : other.start()].isspace()
            if one_tells and other_tells and side_by_side:
                yield f"{one[0]} {other[0]}"
