"""Computes the representations that are missing or outdated.

A row of a representation depends on nothing but its text and, for a response, on the query, which keeps its
position for ever; the text's digest is stored beside it. So what is current is kept, whatever was imported
since, and what is lacking is computed outside any transaction.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.orm import Session

from crm.encoder import DIMENSIONS
from crm.representation import MISSING, Representation, representation, text_digest
from db import Database
from db.lock import exclusive
from db.repositories import representations
from db.repositories.benchmarks import get_benchmark
from db.repositories.texts import query_texts, response_texts
from leaderboard.contest import QUERY_REPRESENTATION
from precompute.encoding import Asked, Row, encoded_by_llm, rows_of
from precompute.engines import Engine, LocalEngine
from precompute.text_embedding import EmbedTexts, embed_texts

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
        read: Texts in position order, the queries they answer, and the stored arrays.
        write: Stores arrays.
        encode: From texts and queries to arrays with a ``digest``.
        blank: Arrays of so many missing texts.
    """

    read: Callable[[Session], tuple[Texts, Texts, Arrays | None]]
    write: Callable[[Session, Arrays], None]
    encode: Callable[[Sequence[str], Sequence[str]], Arrays]
    blank: Callable[[int], Arrays]


def embed_benchmark(
    database: Database,
    slug: str,
    fitted: Representation | None = None,
    embed: EmbedTexts = embed_texts,
    engine: Engine | None = None,
) -> EmbedSummary:
    """Brings the representations of a benchmark's queries and responses up to date.

    Stored after every LLM, so that an interrupted run continues where it was. A row whose text is not stored
    (as in a bundle without texts) stays as it is.

    Args:
        database: the open database.
        slug: the benchmark.
        fitted: the representation of responses; default the bundled one.
        embed: the embeddings of queries, which are computed in this process.
        engine: where responses are encoded; default this process.

    Raises:
        BenchmarkNotFoundError: no benchmark has this slug.
        WeightsError: the bundled representation is absent or damaged.
        EngineError: the engine's workers fail.
    """
    fitted = fitted or representation()
    with database.session() as session:
        llms = [llm.name for llm in get_benchmark(session, slug).llms]
    _update(database, _queries(slug, embed), {})
    targets = {llm: _responses(slug, llm, fitted) for llm in llms}
    done: list[EmbedSummary] = []

    def lacking() -> Iterator[tuple[str, list[Asked]]]:
        for llm, target in targets.items():
            found = _stored(database, target, {})
            if isinstance(found, EmbedSummary):
                done.append(found)
            else:
                yield llm, found

    for llm, fresh in encoded_by_llm(engine or LocalEngine(), fitted, lacking()):
        done.append(_update(database, targets[llm], fresh))
    return sum(done, EmbedSummary())


def _queries(slug: str, embed: EmbedTexts) -> _Target:
    name = QUERY_REPRESENTATION

    def read(session: Session) -> tuple[Texts, Texts, Arrays | None]:
        texts = query_texts(session, slug)
        stored = representations.get_query_representation(session, slug, name)
        return texts, [None] * len(texts), stored

    def encode(texts: Sequence[str], _: Sequence[str]) -> Arrays:
        return {"embedding": embed(texts).astype(np.float16), "digest": _digests(texts)}

    return _Target(
        read,
        lambda session, arrays: representations.put_query_representation(session, slug, name, arrays),
        encode,
        lambda n: {
            "embedding": np.zeros((n, DIMENSIONS), dtype=np.float16),
            "digest": np.full(n, MISSING, dtype=np.uint64),
        },
    )


def _responses(slug: str, llm: str, fitted: Representation) -> _Target:
    def read(session: Session) -> tuple[Texts, Texts, Arrays | None]:
        stored = representations.get_representation(session, slug, llm, fitted.name)
        return response_texts(session, slug, llm), query_texts(session, slug), stored

    def write(session: Session, arrays: Arrays) -> None:
        representations.put_representation(session, slug, llm, fitted.name, arrays)

    return _Target(read, write, fitted.encode, fitted.blank)


def _update(database: Database, target: _Target, fresh: dict[Asked, Row]) -> EmbedSummary:
    """Stores fresh rows; what is lacking still, as texts were imported in between, is computed here."""
    while not isinstance(found := _stored(database, target, fresh), EmbedSummary):
        fresh |= rows_of(found, target.encode([text for text, _ in found], [query for _, query in found]))
    return found


def _stored(database: Database, target: _Target, fresh: Mapping[Asked, Row]) -> EmbedSummary | list[Asked]:
    """Stores the target's arrays if fresh rows complete them; else returns what they lack."""
    with exclusive(database.engine), database.session() as session:
        texts, queries, stored = target.read(session)
        arrays, computed, lacking = _merged(texts, queries, stored, fresh, target.blank)
        if lacking:
            return lacking
        if not _equal(arrays, stored) and (arrays["digest"] != MISSING).any():
            target.write(session, arrays)
        return EmbedSummary(computed, int((arrays["digest"] != MISSING).sum()) - computed)


def _merged(
    texts: Texts,
    queries: Texts,
    stored: Arrays | None,
    fresh: Mapping[Asked, Row],
    blank: Callable[[int], Arrays],
) -> tuple[Arrays, int, list[Asked]]:
    """Returns the arrays as far as they are known, how many rows are fresh, and what is still to compute."""
    arrays = blank(len(texts))
    if stored is not None and _fits(stored, arrays):
        kept = min(len(texts), len(stored["digest"]))
        # Queries keep their position for ever, so a stored row is about the text at its place.
        for name, array in arrays.items():
            array[:kept] = stored[name][:kept]
    lacking: dict[Asked, None] = {}
    computed = 0
    for row, (text, query, digest) in enumerate(zip(texts, queries, _digests(texts).tolist(), strict=True)):
        # A text that is not stored here may have been embedded where it was.
        if text is None or digest == arrays["digest"][row]:
            continue
        asked = (text, query or "")
        if asked not in fresh:
            lacking[asked] = None
            continue
        computed += 1
        for name, array in arrays.items():
            array[row] = fresh[asked][name]
    return arrays, computed, list(lacking)


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
