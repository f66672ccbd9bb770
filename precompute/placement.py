"""Which category and topic each imported query gets."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from db import BenchmarkRecord, QueryRecord, text_sha256
from precompute.importers import ImportedQuery
from precompute.matching import external_ids
from precompute.text_embedding import EmbedTexts
from precompute.topics import OTHER, Place, TopicFinder, TopicReference

NO_REFERENCE = (
    f"queries without a topic are put under {OTHER!r}: the nearest is found among the topics of DailyBench, "
    "which this database lacks."
)


@dataclass(frozen=True, slots=True)
class Placement:
    """Where the imported queries belong.

    Attributes:
        places: Category and topic of each.
        notices: What a person should know about it.
    """

    places: tuple[Place, ...]
    notices: tuple[str, ...] = ()


def stored_matches(
    queries: Sequence[ImportedQuery], stored: BenchmarkRecord | None
) -> list[tuple[str, QueryRecord | None]]:
    """Returns each imported query's external id, and the stored query under it if its text is the same."""
    records = () if stored is None else stored.queries
    by_id = {record.external_id: record for record in records}
    matches = []
    for query, external_id in zip(queries, external_ids(queries, records), strict=True):
        record = by_id.get(external_id)
        same = record is not None and record.sha256 == text_sha256(query.text)
        matches.append((external_id, record if same else None))
    return matches


def kept_place(query: ImportedQuery, stored: QueryRecord | None) -> Place | None:
    """Returns the place of a query that needs none found: that of its file, else that it is stored with."""
    if query.category is not None and query.topic is not None:
        return query.category, query.topic
    if (
        stored is not None
        and query.category in (None, stored.category)
        and query.topic in (None, stored.topic)
    ):
        return stored.category, stored.topic
    return None


def place_queries(
    queries: Sequence[ImportedQuery],
    stored: BenchmarkRecord | None,
    reference: TopicReference | None,
    embed: EmbedTexts,
) -> Placement:
    """Returns the place of every imported query.

    A query without topic takes the nearest one of the reference, within its category if it has one. A topic
    without category takes the category in which the benchmark has that topic already, else the commonest of
    its queries' nearest categories.
    """
    matches = stored_matches(queries, stored)
    places = [kept_place(query, record) for query, (_, record) in zip(queries, matches, strict=True)]
    unplaced = [index for index, place in enumerate(places) if place is None]
    if unplaced:
        found = _found(
            [queries[index] for index in unplaced], _categories_of_topics(stored, places), reference, embed
        )
        for index, place in zip(unplaced, found, strict=True):
            places[index] = place
    lacking = bool(unplaced) and reference is None
    return Placement(tuple(place for place in places if place), (NO_REFERENCE,) if lacking else ())


def _categories_of_topics(
    stored: BenchmarkRecord | None, places: Iterable[Place | None]
) -> Mapping[str, str]:
    """Returns the category of every topic that has one, the file's own word first."""
    known = {} if stored is None else {query.topic: query.category for query in stored.queries}
    return known | {topic: category for category, topic in filter(None, places)}


def _found(
    queries: Sequence[ImportedQuery],
    known: Mapping[str, str],
    reference: TopicReference | None,
    embed: EmbedTexts,
) -> list[Place]:
    if reference is None:
        return [
            (query.category or known.get(query.topic or "", OTHER), query.topic or OTHER) for query in queries
        ]
    finder = TopicFinder.of(reference, embed)
    embedding = embed([query.text for query in queries])
    nearest = finder.nearest(embedding)
    categories = {**_commonest_categories(queries, nearest), **known}
    places = []
    for query, vector, (category, topic) in zip(queries, embedding, nearest, strict=True):
        if query.topic is not None:
            places.append((query.category or categories[query.topic], query.topic))
        elif query.category is not None:
            places.append((query.category, finder.nearest_in(query.category, vector)))
        else:
            places.append((category, topic))
    return places


def _commonest_categories(queries: Sequence[ImportedQuery], nearest: Sequence[Place]) -> dict[str, str]:
    """Returns for each topic the commonest nearest category of its queries, `Other` if all are `Other`."""
    votes: dict[str, Counter[str]] = {}
    for query, (category, _) in zip(queries, nearest, strict=True):
        if query.topic is not None:
            # A query near no topic says nothing against the category of the others.
            votes.setdefault(query.topic, Counter({OTHER: 0})).update([category] * (category != OTHER))
    return {topic: counted.most_common(1)[0][0] for topic, counted in votes.items()}
