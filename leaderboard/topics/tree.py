"""Topics in categories, parts in topics, which query belongs where, and how two such trees differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from db.source_records import SET_ASIDE, FoundTopic, TopicMapRecord
from leaderboard.errors import LeaderboardError

Topic = FoundTopic
"""A curated topic says of itself what a found one does."""

OUTLIER = "-"
"""Stands for the key of a topic where a query belongs to none."""
_NOT_FOUND, _LEFT_OUT = -1, -2
_LISTED = 8


@dataclass(frozen=True)
class TopicTree:
    """The topics of some queries.

    Attributes:
        topics: In the order of their keys, “7.2” after “7” and before “10”.
        query_ids: Every query of the pool for which topics were looked for, Q of them.
        topic_of: For each query the key of its finest topic, or ``OUTLIER``.
        dropped: Queries that are left out of what is made from the tree; they keep their topic, so that they
            can come back.
    """

    topics: tuple[Topic, ...]
    query_ids: tuple[str, ...]
    topic_of: tuple[str, ...]
    dropped: frozenset[str] = frozenset()

    @classmethod
    def found(cls, record: TopicMapRecord, query_ids: Sequence[str]) -> TopicTree:
        """Return the topics as they were found, before curation; what was set aside is dropped.

        Args:
            query_ids: Queries of the pool in position order. Those that were added after the topics were
                found have no place in the tree.
        """
        keys = [topic.key for topic in record.topics]
        places = tuple(keys[place] if place >= 0 else OUTLIER for place in record.topic_of.tolist())
        queries = tuple(query_ids[: len(places)])
        steps = [record.steps[step] for step in record.step_of.tolist()]
        aside = frozenset(query for query, step in zip(queries, steps, strict=True) if step == SET_ASIDE)
        return cls(in_order(record.topics), queries, places, aside)

    def __getitem__(self, key: str) -> Topic:
        """The topic of a key; a LeaderboardError if no topic has it."""
        try:
            return self._by_key[key]
        except KeyError:
            raise LeaderboardError(f"There is no topic {key!r}: {self._suggestion(key)}") from None

    def __contains__(self, key: str) -> bool:
        return key in self._by_key

    def get(self, key: str) -> Topic | None:
        """Return the topic of a key, None if no topic has it."""
        return self._by_key.get(key)

    def name_of(self, key: str) -> str:
        """Return the name of a topic, its key where there is no such topic any more."""
        return self._by_key[key].name if key in self._by_key else key

    @cached_property
    def categories(self) -> tuple[str, ...]:
        """Names of the categories, those of most queries first."""
        sizes = Counter({topic.category: 0 for topic in self.topics})
        for topic in self.topics:
            sizes[topic.category] += self.own_size(topic.key)
        return tuple(sorted(sizes, key=lambda name: (-sizes[name], name)))

    @cached_property
    def roots(self) -> tuple[Topic, ...]:
        """The topics that are no part of another."""
        return tuple(topic for topic in self.topics if topic.parent is None)

    def parts_of(self, key: str) -> tuple[Topic, ...]:
        """Return the topics that are directly part of a topic."""
        return self._parts.get(key, ())

    def family(self, key: str) -> tuple[str, ...]:
        """Return the keys of a topic, of its parts and of theirs."""
        return (key, *(each for part in self.parts_of(key) for each in self.family(part.key)))

    def own_size(self, key: str) -> int:
        """Return how many queries belong to a topic itself, parts and dropped queries not counted."""
        return self._own_sizes[key]

    def size(self, key: str) -> int:
        """Return how many queries belong to a topic and its parts, dropped ones not counted."""
        return sum(self._own_sizes[each] for each in self.family(key))

    def queries_of(self, keys: Iterable[str], *, dropped: bool = False) -> tuple[str, ...]:
        """Return queries that belong to one of these topics, parts not included unless named.

        Args:
            keys: Keys of topics, or ``OUTLIER``.
            dropped: Also those that are dropped.
        """
        wanted = set(keys)
        return tuple(
            query
            for query, key in zip(self.query_ids, self.topic_of, strict=True)
            if key in wanted and (dropped or query not in self.dropped)
        )

    def place_of(self, query: str) -> str:
        """Return the key of a query's topic, or ``OUTLIER``; a `KeyError` for an unknown query."""
        return self._places[query]

    def knows(self, query: str) -> bool:
        """Return whether the query is one of these."""
        return query in self._places

    @cached_property
    def indices(self) -> NDArray[np.int32]:
        """Places in ``topics`` ``[Q]``: −1 for outliers and −2 for dropped queries."""
        position = {topic.key: index for index, topic in enumerate(self.topics)} | {OUTLIER: _NOT_FOUND}
        of_queries = zip(self.query_ids, self.topic_of, strict=True)
        found = [_LEFT_OUT if query in self.dropped else position[key] for query, key in of_queries]
        return np.array(found, dtype=np.int32)

    @cached_property
    def n_kept(self) -> int:
        """How many queries are not dropped."""
        return len(self.query_ids) - len(self.dropped)

    @cached_property
    def n_outliers(self) -> int:
        """How many kept queries belong to no topic."""
        return self._own_sizes[OUTLIER]

    @cached_property
    def _by_key(self) -> dict[str, Topic]:
        return {topic.key: topic for topic in self.topics}

    @cached_property
    def _places(self) -> dict[str, str]:
        return dict(zip(self.query_ids, self.topic_of, strict=True))

    @cached_property
    def _parts(self) -> dict[str, tuple[Topic, ...]]:
        parts: dict[str, list[Topic]] = {}
        for topic in self.topics:
            if topic.parent is not None:
                parts.setdefault(topic.parent, []).append(topic)
        return {key: tuple(listed) for key, listed in parts.items()}

    @cached_property
    def _own_sizes(self) -> Counter[str]:
        return Counter(
            key for query, key in zip(self.query_ids, self.topic_of, strict=True) if query not in self.dropped
        )

    def _suggestion(self, key: str) -> str:
        close = [topic for topic in self.topics if topic.name.casefold() == key.casefold()]
        if close:
            return f"{close[0].name!r} has the key {close[0].key!r}."
        keys = get_close_matches(key, list(self._by_key), n=3) or list(self._by_key)[:_LISTED]
        return "there are, among others, " + ", ".join(map(repr, keys)) + "."


def in_order(topics: Iterable[Topic]) -> tuple[Topic, ...]:
    """Return topics in the order of their keys."""
    return tuple(sorted(topics, key=lambda topic: key_order(topic.key)))


def key_order(key: str) -> tuple[tuple[int, int, str], ...]:
    """Sort “7.2” after “7” and before “10”; parts of a key that are no numbers come after those that are."""
    return tuple(
        (0, int(part), "") if part.isascii() and part.isdigit() else (1, 0, part) for part in key.split(".")
    )


_MAX_LINES = 40


@dataclass(frozen=True)
class Difference:
    """What is otherwise in the later of two trees.

    Attributes:
        counts: What happened and to how many, as in (“topics renamed”, 3); only what happened at all.
        lines: The changes one by one, topics first, in plain words.
    """

    counts: tuple[tuple[str, int], ...]
    lines: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.counts)

    def __str__(self) -> str:
        if not self.counts:
            return "nothing changed"
        return ", ".join(f"{count:,} {_counted(what, count)}" for what, count in self.counts)

    @property
    def brief(self) -> tuple[str, ...]:
        """The first lines, and how many more there are."""
        if len(self.lines) <= _MAX_LINES:
            return self.lines
        return (*self.lines[:_MAX_LINES], f"and {len(self.lines) - _MAX_LINES:,} more.")


def difference(before: TopicTree, after: TopicTree) -> Difference:
    """Return what is otherwise in ``after``."""
    kinds: dict[str, list[str]] = {}
    for kind, line in (*_topics(before, after), *_queries(before, after)):
        kinds.setdefault(kind, []).append(line)
    counts = [(kind, len(kinds[kind])) for kind in _ORDER if kind in kinds]
    lines = [line for kind in _ORDER for line in kinds.get(kind, ())]
    return Difference(tuple(counts), tuple(lines))


_ORDER = (
    *("topics added", "topics removed", "topics renamed", "topics moved", "summaries changed"),
    *("keywords changed", "queries moved", "queries dropped", "queries restored"),
)
_ONE = {"topics": "topic", "summaries": "summary", "keywords": "list of keywords", "queries": "query"}


def _topics(before: TopicTree, after: TopicTree) -> Iterator[tuple[str, str]]:
    for topic in after.topics:
        if topic.key not in before:
            yield "topics added", f"New topic “{topic.name}” ({topic.key}) in {topic.category}."
    for topic in before.topics:
        if topic.key not in after:
            yield "topics removed", f"“{topic.name}” ({topic.key}) is gone."
        else:
            yield from _topic(topic, after[topic.key], after)


def _topic(old: Topic, new: Topic, after: TopicTree) -> Iterator[tuple[str, str]]:
    if old.name != new.name:
        yield "topics renamed", f"“{old.name}” ({old.key}) is now “{new.name}”."
    if old.category != new.category:
        yield "topics moved", f"“{new.name}” ({old.key}) moves from {old.category} to {new.category}."
    elif old.parent != new.parent:
        place = "a topic of its own" if new.parent is None else f"a part of “{after.name_of(new.parent)}”"
        yield "topics moved", f"“{new.name}” ({old.key}) is now {place}."
    if old.summary != new.summary:
        yield "summaries changed", f"“{new.name}” ({old.key}) has another summary."
    if old.keywords != new.keywords:
        yield "keywords changed", f"“{new.name}” ({old.key}) has other keywords."


def _queries(before: TopicTree, after: TopicTree) -> Iterator[tuple[str, str]]:
    for query, old, new in zip(before.query_ids, before.topic_of, after.topic_of, strict=True):
        was, now = _place(before, old), _place(after, new)
        if old != new:
            yield "queries moved", f"Query {query}: “{was}” → “{now}”."
        if query in after.dropped and query not in before.dropped:
            yield "queries dropped", f"Query {query} of “{was}” is dropped."
        if query in before.dropped and query not in after.dropped:
            yield "queries restored", f"Query {query} of “{now}” is back."


def _place(tree: TopicTree, key: str) -> str:
    return "no topic" if key == OUTLIER else tree.name_of(key)


def _counted(what: str, count: int) -> str:
    """“queries moved” of one query is “query moved”."""
    if count != 1:
        return what
    for many, one in _ONE.items():
        what = what.replace(many, one)
    return what
