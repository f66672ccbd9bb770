"""The nearest category and topic of a query, by meaning.

The reference is DailyBench, whose queries have been given topics by hand. Each of its topics becomes a
prototype, the mean of its queries' embeddings and that of its name, and a query takes the topic of the
nearest prototype. (Leaving each DailyBench query out in turn, this finds 67 % of the categories and 44 % of
the topics again; a vote of nearest neighbours finds 65 % and 37 %.) A query that is near none of them, or
nearer to a technical task, is `Other`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.orm import Session

from db import BenchmarkNotFoundError
from db.repositories.benchmarks import get_benchmark
from db.repositories.representations import get_query_representation
from leaderboard.contest import QUERY_REPRESENTATION
from precompute.text_embedding import EmbedTexts

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
class TopicReference:
    """Queries with known places.

    Attributes:
        places: Category and topic of each of R queries.
        embedding: Embeddings of the queries ``[R, 384]``.
    """

    places: tuple[Place, ...]
    embedding: NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class TopicFinder:
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
    def of(cls, reference: TopicReference, embed: EmbedTexts) -> "TopicFinder":
        """Makes a finder of the reference's topics, embedding their names."""
        places = tuple(dict.fromkeys(reference.places))
        index = {place: row for row, place in enumerate(places)}
        means = np.zeros((len(places), reference.embedding.shape[1]), dtype=np.float32)
        np.add.at(means, [index[place] for place in reference.places], reference.embedding)
        names = embed([f"{category}: {topic}" for category, topic in places])
        return cls(places, _unit(_unit(means) + names), embed(_TECHNICAL_TASKS))

    def nearest(self, embedding: NDArray[np.float32]) -> list[Place]:
        """Returns the nearest place of each of N queries ``[N, 384]``, (`Other`, `Other`) if none is near."""
        similarity = embedding @ self.prototypes.T
        best = similarity.max(axis=1)
        fits = (best >= NEAR_ENOUGH) & (best >= (embedding @ self.technical.T).max(axis=1))
        rows = similarity.argmax(axis=1)
        return [
            self.places[row] if fit else (OTHER, OTHER)
            for row, fit in zip(rows.tolist(), fits.tolist(), strict=True)
        ]

    def nearest_in(self, category: str, embedding: NDArray[np.float32]) -> str:
        """Returns the nearest topic in a category to one query ``[384]``, `Other` in an unknown category."""
        rows = [row for row, place in enumerate(self.places) if place[0] == category]
        if not rows:
            return OTHER
        return self.places[rows[int((self.prototypes[rows] @ embedding).argmax())]][1]


def stored_reference(session: Session) -> TopicReference | None:
    """Returns the topics of the stored DailyBench, None where it or its query embeddings are not stored."""
    try:
        queries = get_benchmark(session, REFERENCE_SLUG).queries
    except BenchmarkNotFoundError:
        return None
    stored = get_query_representation(session, REFERENCE_SLUG, QUERY_REPRESENTATION)
    if not queries or stored is None or len(stored["embedding"]) != len(queries):
        return None
    places = tuple((query.category, query.topic) for query in queries)
    return TopicReference(places, stored["embedding"].astype(np.float32))


def in_display_order(places: Sequence[Place], reference: TopicReference | None) -> list[Place]:
    """Returns the distinct places as the reference orders them, then the others, those in `Other` last."""
    known = dict.fromkeys(reference.places) if reference is not None else {}
    distinct = dict.fromkeys(places)
    ordered = [place for place in known if place in distinct]
    ordered += [place for place in distinct if place not in known]
    return sorted(ordered, key=lambda place: (place[0] == OTHER, place[1] == OTHER))


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    scaled: NDArray[np.float32] = vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
    return scaled
