"""Computes the representations that are missing or outdated.

A row of a representation depends on nothing but its text, and the text's digest is stored beside it. So what
is current is kept, whatever was imported since, and what is lacking is computed outside any transaction.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.orm import Session

from crm.encoder import DIMENSIONS
from crm.representation import MISSING, NAME, Representation, representation, text_digest
from crm.style import NAMES
from db import Database
from db.lock import exclusive
from db.repositories import representations
from db.repositories.benchmarks import get_benchmark
from db.repositories.texts import query_texts, response_texts
from precompute.progress import progress_bar
from precompute.text_embedding import EmbedTexts, embed_texts
from precompute.topics import QUERY_REPRESENTATION

Arrays = dict[str, NDArray[Any]]
Texts = Sequence[str | None]


@dataclass(frozen=True, slots=True)
class EmbedSummary:
    """How many representations of responses were computed, and how many were current already."""

    computed: int = 0
    current: int = 0

    def __add__(self, other: "EmbedSummary") -> "EmbedSummary":
        return EmbedSummary(self.computed + other.computed, self.current + other.current)


@dataclass(frozen=True)
class _Target:
    """The arrays of one LLM, or of the queries: where they are stored and how they are computed.

    Attributes:
        read: Texts in position order and the stored arrays.
        write: Stores arrays.
        encode: From texts to arrays with a ``digest``.
        blank: Arrays of so many missing texts.
    """

    read: Callable[[Session], tuple[Texts, Arrays | None]]
    write: Callable[[Session, Arrays], None]
    encode: Callable[[Sequence[str]], Arrays]
    blank: Callable[[int], Arrays]


def embed_benchmark(
    database: Database, slug: str, fitted: Representation | None = None, embed: EmbedTexts = embed_texts
) -> EmbedSummary:
    """Brings the representations of a benchmark's queries and responses up to date.

    Stored after every LLM, so that an interrupted run continues where it was. A row whose text is not stored
    (as in a bundle without texts) stays as it is.

    Args:
        database: the open database.
        slug: the benchmark.
        fitted: the representation of responses; default the bundled one.
        embed: the embeddings of queries.

    Raises:
        BenchmarkNotFoundError: no benchmark has this slug.
        WeightsError: the bundled representation is absent or damaged.
    """
    fitted = fitted or representation()
    with database.session() as session:
        llms = [llm.name for llm in get_benchmark(session, slug).llms]
    _update(database, _queries(slug, embed))
    return sum((_update(database, _responses(slug, llm, fitted)) for llm in llms), EmbedSummary())


def _queries(slug: str, embed: EmbedTexts) -> _Target:
    name = QUERY_REPRESENTATION

    def encode(texts: Sequence[str]) -> Arrays:
        return {"embedding": embed(texts).astype(np.float16), "digest": _digests(texts)}

    return _Target(
        lambda session: (
            query_texts(session, slug),
            representations.get_query_representation(session, slug, name),
        ),
        lambda session, arrays: representations.put_query_representation(session, slug, name, arrays),
        encode,
        lambda n: {
            "embedding": np.zeros((n, DIMENSIONS), dtype=np.float16),
            "digest": np.full(n, MISSING, dtype=np.uint64),
        },
    )


def _responses(slug: str, llm: str, fitted: Representation) -> _Target:
    def encode(texts: Sequence[str]) -> Arrays:
        with progress_bar(f"Embedding {llm}") as progress:
            return fitted.encode(texts, progress)

    return _Target(
        lambda session: (
            response_texts(session, slug, llm),
            representations.get_representation(session, slug, llm, NAME),
        ),
        lambda session, arrays: representations.put_representation(session, slug, llm, NAME, arrays),
        encode,
        lambda n: {
            "features": np.zeros((n, fitted.size), dtype=np.int8),
            "style": np.zeros((n, len(NAMES)), dtype=np.float16),
            "digest": np.full(n, MISSING, dtype=np.uint64),
        },
    )


def _update(database: Database, target: _Target) -> EmbedSummary:
    """Computes what the target lacks and stores it; once more if texts were imported in between."""
    fresh: dict[int, Mapping[str, NDArray[Any]]] = {}
    while True:
        with exclusive(database.engine), database.session() as session:
            texts, stored = target.read(session)
            arrays, lacking = _merged(texts, stored, fresh, target.blank)
            if not lacking:
                if not _equal(arrays, stored) and (arrays["digest"] != MISSING).any():
                    target.write(session, arrays)
                computed = np.isin(arrays["digest"], np.array(list(fresh), dtype=np.uint64))
                return EmbedSummary(int(computed.sum()), int((arrays["digest"] != MISSING)[~computed].sum()))
        encoded = target.encode(lacking)
        for row, digest in enumerate(encoded["digest"].tolist()):
            fresh[digest] = {name: array[row] for name, array in encoded.items()}


def _merged(
    texts: Texts,
    stored: Arrays | None,
    fresh: Mapping[int, Mapping[str, NDArray[Any]]],
    blank: Callable[[int], Arrays],
) -> tuple[Arrays, list[str]]:
    """Returns the arrays of the texts as far as they are known, and the distinct texts whose rows are not."""
    arrays = blank(len(texts))
    if stored is not None and _fits(stored, arrays):
        kept = min(len(texts), len(stored["digest"]))
        # Queries keep their position for ever, so a stored row is about the text at its place.
        for name, array in arrays.items():
            array[:kept] = stored[name][:kept]
    lacking: dict[str, None] = {}
    for row, (text, digest) in enumerate(zip(texts, _digests(texts).tolist(), strict=True)):
        # A text that is not stored here may have been embedded where it was.
        if text is None or digest == arrays["digest"][row]:
            continue
        if digest not in fresh:
            lacking[text] = None
            continue
        for name, array in arrays.items():
            array[row] = fresh[digest][name]
    return arrays, list(lacking)


def _fits(stored: Arrays, arrays: Arrays) -> bool:
    """Whether stored arrays are of the same kind, whatever their number of rows."""
    return stored.keys() == arrays.keys() and all(
        stored[name].shape[1:] == array.shape[1:] and stored[name].dtype == array.dtype
        for name, array in arrays.items()
    )


def _equal(arrays: Arrays, stored: Arrays | None) -> bool:
    """Whether arrays are those stored; their packed bytes may differ, as bundles come from other machines."""
    return (
        stored is not None
        and stored.keys() == arrays.keys()
        and all(np.array_equal(array, stored[name]) for name, array in arrays.items())
    )


def _digests(texts: Texts) -> NDArray[np.uint64]:
    return np.array([MISSING if text is None else text_digest(text) for text in texts], dtype=np.uint64)
