"""The list of topics that people ask assistants about, and how well each fits a query by meaning.

The list is a data file of our own, ``catalogue.toml``: categories, their topics, and for each a sentence on
what it is about and typical wordings of its queries.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parsing.documents import read_toml
from precompute.embed import embed_texts
from precompute.topics.encoders import Vectors

CATALOGUE_FILE = Path(__file__).parent / "catalogue.toml"

_SHARPNESS = 25.0
"""Factor on cosines before the softmax that divides a query among topics: one that is 0.1 nearer to a topic
than to another counts twelve times as much for it."""
_HUB = 0.5
"""How much of a topic's mean cosine with all queries is taken off: general topics are near everything."""


@dataclass(frozen=True)
class CatalogueTopic:
    """A topic of the list; `wordings` are typical queries."""

    name: str
    category: str
    summary: str
    wordings: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Catalogue:
    """The list with what it means.

    Attributes:
        topics: T topics, each name once.
        prototypes: What each means: the mean of its name with summary and of its wordings, unit vectors ``[T,
            384]``.
    """

    topics: tuple[CatalogueTopic, ...]
    prototypes: Vectors

    def fit(self, vectors: Vectors) -> NDArray[np.float64]:
        """Return how queries are divided among the topics ``[Q, T]``; a query's shares add up to 1.

        Args:
            vectors: Embeddings of all queries of a pool by the bundled encoder ``[Q, 384]``: a topic that is
                near all of them says little about any.
        """
        cosine = (vectors @ self.prototypes.T).astype(np.float64)
        scaled = _SHARPNESS * (cosine - _HUB * cosine.mean(axis=0))
        shares = np.exp(scaled - scaled.max(axis=1, keepdims=True))
        divided: NDArray[np.float64] = shares / shares.sum(axis=1, keepdims=True)
        return divided


@cache
def catalogue() -> Catalogue:
    """Return the bundled list; it is embedded once a process, which takes seconds."""
    topics = topics_of(read_toml(CATALOGUE_FILE.read_bytes()))
    texts = [text for topic in topics for text in (f"{topic.name}: {topic.summary}", *topic.wordings)]
    place = np.repeat(np.arange(len(topics)), [1 + len(topic.wordings) for topic in topics])
    embedded = embed_texts(texts)
    prototypes = np.zeros((len(topics), embedded.shape[1]), dtype=np.float32)
    np.add.at(prototypes, place, embedded)
    return Catalogue(topics, prototypes / np.linalg.norm(prototypes, axis=1, keepdims=True))


def topics_of(
    tables: Mapping[str, Mapping[str, Sequence[str]]] | Mapping[str, Any],
) -> tuple[CatalogueTopic, ...]:
    """Return the topics of the file's tables, one table a category."""
    return tuple(
        CatalogueTopic(name, category, texts[0], tuple(texts[1:]))
        for category, listed in tables.items()
        for name, texts in listed.items()
    )
