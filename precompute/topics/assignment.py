"""Topic assignment: the category and topic of a query, from its file, from what is stored, or by meaning.

The reference is DailyBench, whose queries have been given topics by hand. Each of its topics becomes a
prototype, the mean of its queries' embeddings and that of its name, and a query takes the topic of the
nearest prototype. (Leaving each DailyBench query out in turn, this finds 67 % of the categories and 44 % of
the topics again; a vote of nearest neighbours finds 65 % and 37 %.) A query that is near none of them, or
nearer to a technical task, is `Other`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.orm import Session

from db.errors import NotFoundError
from db.records import BenchmarkRecord, QueryRecord
from db.repositories.benchmarks import find_benchmark, get_benchmark
from db.repositories.representations import get_query_representation
from db.serialization import text_sha256
from leaderboard.benchmark import QUERY_REPRESENTATION
from precompute.embed import EmbedTexts
from precompute.importers import ImportedQuery

_DERIVED_DIGITS = 16
"""Of a text's SHA-256 that make the id of a query without one."""
REFERENCE_SLUG = "dailybench"
OTHER = "Other"

NEAR_ENOUGH = 0.25
"""Cosine below which a query is near no topic. Chosen by reading the AlpacaEval instructions: below it lie
mostly facts, repairs and technical questions, but only 2 % of DailyBench's own queries."""

_TECHNICAL_TASKS = (
    "Programming: write or fix code",
    "Software: databases, SQL and command line",
    "Software: web development, HTML, CSS and JavaScript",
    "Mathematics: solve an equation or calculate a number",
    "Spreadsheets: formulas and columns",
    "Data formatting: turn data into a table, list or JSON",
    "Information extraction: find names, dates and places in a text",
    "Text classification: give the sentiment or label of each text",
    "Engineering: physics and electronics problems",
    "Machine learning: neural networks and models",
)

Place = tuple[str, str]
"""A category and one of its topics."""


@dataclass(frozen=True, eq=False)
class ReferenceTopics:
    """Queries with known places.

    Attributes:
        places: Category and topic of each of R queries.
        embedding: Embeddings of the queries ``[R, 384]``.
    """

    places: tuple[Place, ...]
    embedding: NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class TopicAssigner:
    """Finds the nearest topics.

    Attributes:
        places: The T places of the reference, in display order.
        prototypes: One unit vector each ``[T, 384]``.
        technical: Unit vectors of the tasks that belong to no place ``[K, 384]``.
    """

    places: tuple[Place, ...]
    prototypes: NDArray[np.float32]
    technical: NDArray[np.float32]

    @classmethod
    def of(cls, reference: ReferenceTopics, embed: EmbedTexts) -> TopicAssigner:
        """Make a finder of the reference's topics, embedding their names."""
        places = tuple(dict.fromkeys(reference.places))
        index = {place: row for row, place in enumerate(places)}
        means = np.zeros((len(places), reference.embedding.shape[1]), dtype=np.float32)
        np.add.at(means, [index[place] for place in reference.places], reference.embedding)
        names = embed([f"{category}: {topic}" for category, topic in places])
        return cls(places, _unit(_unit(means) + names), embed(_TECHNICAL_TASKS))

    def nearest(self, embedding: NDArray[np.float32]) -> list[Place]:
        """Return the nearest place of each of N queries ``[N, 384]``, (`Other`, `Other`) if none is near."""
        similarity = embedding @ self.prototypes.T
        best = similarity.max(axis=1)
        fits = (best >= NEAR_ENOUGH) & (best >= (embedding @ self.technical.T).max(axis=1))
        rows = similarity.argmax(axis=1)
        return [
            self.places[row] if fit else (OTHER, OTHER)
            for row, fit in zip(rows.tolist(), fits.tolist(), strict=True)
        ]

    def nearest_in(self, category: str, embedding: NDArray[np.float32]) -> str:
        """Return the nearest topic in a category to one query ``[384]``, `Other` in an unknown category."""
        rows = [row for row, place in enumerate(self.places) if place[0] == category]
        if not rows:
            return OTHER
        return self.places[rows[int((self.prototypes[rows] @ embedding).argmax())]][1]


def stored_reference(session: Session) -> ReferenceTopics | None:
    """Return the topics of the stored DailyBench, None where it or its query embeddings are not stored."""
    try:
        benchmark = find_benchmark(session, REFERENCE_SLUG)
    except NotFoundError:
        return None
    queries = get_benchmark(session, benchmark).queries
    stored = get_query_representation(session, benchmark, QUERY_REPRESENTATION)
    if not queries or stored is None or len(stored["embedding"]) != len(queries):
        return None
    places = tuple((query.category, query.topic) for query in queries)
    return ReferenceTopics(places, stored["embedding"].astype(np.float32))


def in_display_order(places: Sequence[Place], reference: ReferenceTopics | None) -> list[Place]:
    """Return the distinct places as the reference orders them, then the others, those in `Other` last."""
    known = dict.fromkeys(reference.places) if reference is not None else {}
    distinct = dict.fromkeys(places)
    ordered = [place for place in known if place in distinct]
    ordered += [place for place in distinct if place not in known]
    return sorted(ordered, key=lambda place: (place[0] == OTHER, place[1] == OTHER))


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    scaled: NDArray[np.float32] = vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
    return scaled


NO_REFERENCE = (
    f"queries without a topic are put under {OTHER!r}: the nearest is found among the topics of DailyBench, "
    "which this database lacks."
)


def derived_id(sha256: str) -> str:
    """Return the external id of a query that has none of its own: the start of its text's SHA-256."""
    return sha256[:_DERIVED_DIGITS]


def external_ids(queries: Sequence[ImportedQuery], stored: Sequence[QueryRecord]) -> list[str]:
    """Return the external id under which each imported query is, or will be, stored; all are distinct.

    A query is the stored one of its own (or derived) id; failing that, a stored one of the same text (by
    SHA-256) that is no other imported query; failing that, a new one.
    """
    own = [query.external_id or derived_id(text_sha256(query.text)) for query in queries]
    taken = set(own)
    by_id = {record.external_id for record in stored}
    by_sha256: dict[str, list[str]] = {}
    for record in stored:
        if record.external_id not in taken:
            by_sha256.setdefault(record.sha256, []).append(record.external_id)
    found = []
    for query, external_id in zip(queries, own, strict=True):
        same_text = [] if external_id in by_id else by_sha256.get(text_sha256(query.text), [])
        found.append(same_text.pop(0) if same_text else external_id)
    return found


@dataclass(frozen=True, slots=True)
class TopicAssignment:
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
    """Return each imported query's external id, and the stored query under it if its text is the same."""
    records = () if stored is None else stored.queries
    by_id = {record.external_id: record for record in records}
    matches = []
    for query, external_id in zip(queries, external_ids(queries, records), strict=True):
        record = by_id.get(external_id)
        same = record is not None and record.sha256 == text_sha256(query.text)
        matches.append((external_id, record if same else None))
    return matches


def given_place(query: ImportedQuery, stored: QueryRecord | None) -> Place | None:
    """Return the place of a query that needs none found: that of its file, else that it is stored with."""
    if query.category is not None and query.topic is not None:
        return query.category, query.topic
    if (
        stored is not None
        and query.category in (None, stored.category)
        and query.topic in (None, stored.topic)
    ):
        return stored.category, stored.topic
    return None


def assign_topics(
    queries: Sequence[ImportedQuery],
    stored: BenchmarkRecord | None,
    reference: ReferenceTopics | None,
    embed: EmbedTexts,
) -> TopicAssignment:
    """Return the place of every imported query.

    A query without topic takes the nearest one of the reference, within its category if it has one. A topic
    without category takes the category in which the benchmark has that topic already, else the commonest of
    its queries' nearest categories.
    """
    matches = stored_matches(queries, stored)
    places = [given_place(query, record) for query, (_, record) in zip(queries, matches, strict=True)]
    unplaced = [index for index, place in enumerate(places) if place is None]
    if unplaced:
        of_topics = {} if stored is None else {query.topic: query.category for query in stored.queries}
        # The file's own word counts first.
        of_topics |= {topic: category for category, topic in filter(None, places)}
        found = _assigned([queries[index] for index in unplaced], of_topics, reference, embed)
        for index, place in zip(unplaced, found, strict=True):
            places[index] = place
    lacking = bool(unplaced) and reference is None
    return TopicAssignment(tuple(place for place in places if place), (NO_REFERENCE,) if lacking else ())


def _assigned(
    queries: Sequence[ImportedQuery],
    known: Mapping[str, str],
    reference: ReferenceTopics | None,
    embed: EmbedTexts,
) -> list[Place]:
    if reference is None:
        return [
            (query.category or known.get(query.topic or "", OTHER), query.topic or OTHER) for query in queries
        ]
    finder = TopicAssigner.of(reference, embed)
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
    """Return for each topic the commonest nearest category of its queries, `Other` if all are `Other`."""
    votes: dict[str, Counter[str]] = {}
    for query, (category, _) in zip(queries, nearest, strict=True):
        if query.topic is not None:
            # A query near no topic says nothing against the category of the others.
            votes.setdefault(query.topic, Counter({OTHER: 0})).update([category] * (category != OTHER))
    return {topic: counted.most_common(1)[0][0] for topic, counted in votes.items()}
