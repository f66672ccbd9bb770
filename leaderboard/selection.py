"""Which queries a person's topics select, and how much they count."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches

import numpy as np
from numpy.typing import NDArray

from crm.criteria import CriteriaSet
from db.records import BenchmarkRecord
from leaderboard.errors import LeaderboardError
from leaderboard.view import TopicWeight

_WORD = re.compile(r"\w+")


def selected_queries(
    topics: Sequence[str], query_categories: Sequence[str], query_topics: Sequence[str]
) -> NDArray[np.bool_]:
    """Mask ``[Q]`` of the queries in these categories or topics, all if none; raises as ``check_topics``."""
    if not topics:
        return np.ones(len(query_topics), dtype=np.bool_)
    check_topics(topics, query_categories, query_topics)
    wanted = set(topics)
    named = [not wanted.isdisjoint(names) for names in zip(query_categories, query_topics, strict=True)]
    return np.array(named, dtype=np.bool_)


def check_topics(topics: Sequence[str], query_categories: Sequence[str], query_topics: Sequence[str]) -> None:
    """Raise a LeaderboardError at a name that is neither a category's nor a topic's."""
    known = set(query_categories) | set(query_topics)
    for topic in topics:
        if topic not in known:
            raise LeaderboardError(
                f"There is no topic {topic!r}: {_suggestion(topic, known, query_categories)}"
            )


def queries_with(
    record: BenchmarkRecord, topics: Sequence[str], weights: Sequence[TopicWeight] = ()
) -> NDArray[np.bool_]:
    """Mask ``[Q]`` of a benchmark's queries in the named categories or topics; no names select all.

    Args:
        weights: Queries whose weight is 0 are left out.

    Raises:
        LeaderboardError: A name that is neither; every query in the topics has weight 0.
    """
    categories, names = _names(record)
    selected = selected_queries(topics, categories, names)
    if not weights:
        return selected
    counted = selected & (topic_weights_of_queries(weights, categories, names) > 0)
    if selected.any() and not counted.any():
        raise LeaderboardError("All chosen topics have weight 0: give at least one of them a weight above 0.")
    return counted


def chosen_topics(record: BenchmarkRecord, topics: Sequence[str]) -> NDArray[np.bool_]:
    """Masks ``[K, Q]`` of the queries in each of K named categories or topics; raises as ``check_topics``."""
    names = _names(record)
    masks = [selected_queries([topic], *names) for topic in topics]
    return np.array(masks, dtype=np.bool_).reshape(len(topics), len(record.queries))


def chosen_parts(record: BenchmarkRecord, topics: Sequence[str]) -> dict[str, NDArray[np.bool_]]:
    """Queries ``[Q]`` of what a person chose, by its name; raises as ``check_topics``.

    A category all of whose topics are chosen is one part, else each topic is. Where all of a benchmark is
    chosen nothing is chosen: there are no parts.
    """
    if not topics:
        return {}
    topics_of = {category.name: {topic.name for topic in category.topics} for category in record.categories}
    named = set(topics).union(*(topics_of.get(topic, ()) for topic in topics))
    whole = {name: names for name, names in topics_of.items() if name in topics or names <= named}
    if len(whole) == len(topics_of):
        return {}
    within = set().union(*whole.values())
    parts = [
        *whole,
        *(topic for topic in dict.fromkeys(topics) if topic not in whole and topic not in within),
    ]
    return dict(zip(parts, chosen_topics(record, parts), strict=True))


def topic_weights_with(record: BenchmarkRecord, weights: Sequence[TopicWeight]) -> NDArray[np.float64]:
    """Return the weights ``[Q]`` of a benchmark's queries by their topics; raises as ``check_topics``."""
    return topic_weights_of_queries(weights, *_names(record))


def topic_weights_of_queries(
    weights: Sequence[TopicWeight], query_categories: Sequence[str], query_topics: Sequence[str]
) -> NDArray[np.float64]:
    """Weights of queries ``[Q]``: the topic's, else the category's, else 1; raises as ``check_topics``."""
    by_name = {item.name: item.weight for item in weights}
    check_topics(tuple(by_name), query_categories, query_topics)
    names = zip(query_categories, query_topics, strict=True)
    found = [by_name.get(topic, by_name.get(category, 1.0)) for category, topic in names]
    return np.array(found, dtype=np.float64)


def lists_of_queries(
    record: BenchmarkRecord, criteria: CriteriaSet
) -> tuple[tuple[CriteriaSet, NDArray[np.bool_]], ...]:
    """Return what a judge is asked by, and on which queries ``[Q]``: each query is in one of the lists.

    Raises:
        LeaderboardError: A list is for what is neither a category nor a topic of the benchmark.
    """
    if not criteria.names:
        return ((criteria, np.ones(len(record.queries), dtype=np.bool_)),)
    categories, topics = _names(record)
    check_topics(criteria.names, categories, topics)
    of_name = {names: criteria.for_query(*names) for names in set(zip(topics, categories, strict=True))}
    keys = np.array([of_name[names].key for names in zip(topics, categories, strict=True)])
    distinct = {found.key: found for found in of_name.values()}
    return tuple((distinct[key], keys == key) for key in sorted(distinct))


def indices_of(names: Sequence[str]) -> tuple[NDArray[np.intp], tuple[str, ...]]:
    """Index of every name among the distinct ones, and those in order of first appearance."""
    distinct = tuple(dict.fromkeys(names))
    position = {name: index for index, name in enumerate(distinct)}
    return np.array([position[name] for name in names], dtype=np.intp), distinct


def _names(record: BenchmarkRecord) -> tuple[list[str], list[str]]:
    return [query.category for query in record.queries], [query.topic for query in record.queries]


def _suggestion(name: str, known: set[str], categories: Sequence[str]) -> str:
    folded = {candidate.casefold(): candidate for candidate in sorted(known)}
    close = [*_with_words_of(name, folded), *get_close_matches(name.casefold(), folded, cutoff=0.65)]
    if close:
        named = [repr(folded[match]) for match in dict.fromkeys(close)]
        return "did you mean " + " or ".join(named[:3]) + "?"
    return "the categories are " + ", ".join(sorted(set(categories))) + "."


def _with_words_of(name: str, folded: Iterable[str]) -> list[str]:
    """Return names that have every word of the given one, or one like it: categories are of several words."""
    words = {candidate: _WORD.findall(candidate) for candidate in folded}
    asked = _WORD.findall(name.casefold())
    if not asked:
        return []
    return [
        candidate
        for candidate, own in words.items()
        if all(get_close_matches(word, own, n=1, cutoff=0.8) for word in asked)
    ]
