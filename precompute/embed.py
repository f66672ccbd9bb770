"""Computes the representations that are missing or outdated, in this process or in an engine's workers.

A row of a representation depends on nothing but its text and, for a response, on the query, which keeps its
position for ever; the text's digest is stored beside it. So what is current is kept, whatever was imported
since, and what is lacking is computed outside any transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.orm import Session

from crm.embedded.encoder import DIMENSIONS, sentence_encoder
from crm.embedded.representation import MISSING, Representation, representation, text_digest
from db import Database
from db.database import exclusive
from db.repositories import representations
from db.repositories.benchmarks import find_benchmark, get_benchmark
from db.repositories.contents import query_texts, response_texts
from db.repositories.reuse import benchmarks_with
from leaderboard.benchmark import QUERY_REPRESENTATION
from precompute.engines import Engine, LocalEngine
from precompute.progress import progress_bar

Arrays = dict[str, NDArray[Any]]
Texts = Sequence[str | None]
TextAndQuery = tuple[str, str]
"""A text and the query that it answers; of a query itself, a blank."""
Row = Mapping[str, NDArray[Any]]
"""One row of each array of a representation."""
TEXTS_AT_ONCE = 1000
"""Texts in one item. The encoder pads texts of a batch to one length, which can change a feature by one step:
all engines cut alike, so that they give the same bytes."""
EmbedTexts = Callable[[Sequence[str]], NDArray[np.float32]]
"""From N texts to their unit-length embeddings ``[N, 384]``."""


def embed_texts(texts: Sequence[str]) -> NDArray[np.float32]:
    """Return the unit-length embeddings ``[N, 384]`` of N texts by the bundled sentence encoder."""
    return sentence_encoder().embed(texts)


def remembering(embed: EmbedTexts) -> EmbedTexts:
    """Return an `EmbedTexts` that asks for each text once: a query is embedded to be placed and stored."""
    known: dict[str, NDArray[np.float32]] = {}

    def embed_once(texts: Sequence[str]) -> NDArray[np.float32]:
        unknown = [text for text in dict.fromkeys(texts) if text not in known]
        if unknown:
            known.update(zip(unknown, embed(unknown), strict=True))
        return np.array([known[text] for text in texts], dtype=np.float32).reshape(len(texts), DIMENSIONS)

    return embed_once


@dataclass(frozen=True, slots=True)
class EmbedSummary:
    """How many representations of responses were computed, and how many there were already."""

    computed: int = 0
    current: int = 0

    def without(self, reused: int) -> EmbedSummary:
        """Return the same of which so many were not computed, but taken over."""
        reused = min(reused, self.computed)
        return EmbedSummary(self.computed - reused, self.current + reused)

    def __add__(self, other: EmbedSummary) -> EmbedSummary:
        return EmbedSummary(self.computed + other.computed, self.current + other.current)


@dataclass(frozen=True)
class _Target:
    """What one LLM or the queries have stored: ``read`` gives texts, their queries and the arrays, ``write``
    stores arrays, ``encode`` makes those of texts and queries, ``blank`` those of so many missing texts.
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
    """Bring the representations of a benchmark's queries and responses up to date.

    Stored after every LLM, so that an interrupted run continues where it was. A row whose text is not stored
    (as in a bundle without texts) stays as it is.

    Args:
        fitted: the representation of responses; default the bundled one.
        embed: the embeddings of queries, which are computed in this process.
        engine: where responses are encoded; default this process.

    Raises:
        NotFoundError: no benchmark has this slug.
        UnavailableError: the bundled representation is absent or damaged.
        PrecomputeError: the engine's workers fail.
    """
    fitted = fitted or representation()
    with database.session() as session:
        llms = [llm.name for llm in get_benchmark(session, find_benchmark(session, slug)).llms]
    _update(database, _queries(slug, embed), {})
    targets = {llm: _responses(slug, llm, fitted) for llm in llms}
    done: list[EmbedSummary] = []
    known: dict[str, dict[TextAndQuery, Row]] = {}

    def lacking() -> Iterator[tuple[str, list[TextAndQuery]]]:
        for llm, target in targets.items():
            found = _stored(database, target, {})
            rows: dict[TextAndQuery, Row] = {}
            if not isinstance(found, EmbedSummary):
                with database.session() as session:
                    rows = _rows_elsewhere(session, slug, llm, fitted, found)
                found = _stored(database, target, rows) if rows else found
            if isinstance(found, EmbedSummary):
                done.append(found.without(len(rows)))
            else:
                known[llm] = rows
                yield llm, found

    for llm, fresh in encoded_by_llm(engine or LocalEngine(), fitted, lacking()):
        rows = known.pop(llm)
        done.append(_update(database, targets[llm], fresh | rows).without(len(rows)))
    return sum(done, EmbedSummary())


@dataclass
class RowsAhead:
    """Rows of a benchmark's representations that are computed before any of them, or their texts, are stored.

    Attributes:
        rows: Of queries (``None``) and of each LLM.
        reused: How many of an LLM's are those of another benchmark.
    """

    rows: dict[str | None, dict[TextAndQuery, Row]] = field(default_factory=dict)
    reused: dict[str, int] = field(default_factory=dict)

    def store(
        self, session: Session, slug: str, fitted: Representation, embed: EmbedTexts
    ) -> EmbedSummary | dict[str | None, list[TextAndQuery]]:
        """Store representations as far as their rows are known.

        Returns:
            What was done where that is all of the benchmark, else what is lacking.
        """
        summary, lacking = EmbedSummary(), {}
        targets: dict[str | None, _Target] = {None: _queries(slug, embed)}
        for llm in get_benchmark(session, find_benchmark(session, slug)).llms:
            targets[llm.name] = _responses(slug, llm.name, fitted)
        for name, target in targets.items():
            known = self.rows.setdefault(name, {})
            found = _store(session, target, known)
            if name is not None and not isinstance(found, EmbedSummary):
                reused = _rows_elsewhere(session, slug, name, fitted, found)
                known |= reused
                self.reused[name] = self.reused.get(name, 0) + len(reused)
                found = _store(session, target, known)
            if not isinstance(found, EmbedSummary):
                lacking[name] = found
            elif name is not None:
                summary += found.without(self.reused.get(name, 0))
        return lacking or summary

    def compute(
        self, lacking: Mapping[str | None, list[TextAndQuery]], fitted: Representation, embed: EmbedTexts
    ) -> None:
        """Compute rows that are lacking, in this process."""
        if queries := lacking.get(None):
            texts = [text for text, _ in queries]
            self.rows[None] |= rows_of(queries, _queries("", embed).encode(texts, texts))
        of_llms = ((llm, asked) for llm, asked in lacking.items() if llm is not None)
        for llm, rows in encoded_by_llm(LocalEngine(), fitted, of_llms):
            self.rows[llm] |= rows


def _queries(slug: str, embed: EmbedTexts) -> _Target:
    name = QUERY_REPRESENTATION

    def read(session: Session) -> tuple[Texts, Texts, Arrays | None]:
        benchmark = find_benchmark(session, slug)
        texts = query_texts(session, benchmark)
        stored = representations.get_query_representation(session, benchmark, name)
        return texts, [None] * len(texts), stored

    def encode(texts: Sequence[str], _: Sequence[str]) -> Arrays:
        return {"embedding": embed(texts).astype(np.float16), "digest": _digests(texts)}

    return _Target(
        read,
        lambda session, arrays: representations.put_query_representation(
            session, find_benchmark(session, slug), name, arrays
        ),
        encode,
        lambda n: {
            "embedding": np.zeros((n, DIMENSIONS), dtype=np.float16),
            "digest": np.full(n, MISSING, dtype=np.uint64),
        },
    )


def _responses(slug: str, llm: str, fitted: Representation) -> _Target:
    def read(session: Session) -> tuple[Texts, Texts, Arrays | None]:
        benchmark = find_benchmark(session, slug)
        stored = representations.get_representation(session, benchmark, llm, fitted.name)
        return response_texts(session, benchmark, llm), query_texts(session, benchmark), stored

    def write(session: Session, arrays: Arrays) -> None:
        representations.put_representation(session, find_benchmark(session, slug), llm, fitted.name, arrays)

    return _Target(read, write, fitted.encode, fitted.blank)


def _rows_elsewhere(
    session: Session, slug: str, llm: str, fitted: Representation, wanted: Sequence[TextAndQuery]
) -> dict[TextAndQuery, Row]:
    """Return rows of these texts that are stored of the LLM of this name in other benchmarks."""
    rows: dict[TextAndQuery, Row] = {}
    for other in benchmarks_with(session, find_benchmark(session, slug), llm, fitted.name):
        texts, queries, stored = _responses(other.slug, llm, fitted).read(session)
        if stored is None or not _fits(stored, fitted.blank(0)):
            continue
        current = stored["digest"] == _digests(texts[: len(stored["digest"])])
        there = {
            (text, query or ""): place
            for place, (text, query, is_current) in enumerate(zip(texts, queries, current, strict=False))
            if text is not None and is_current
        }
        places = {asked: there[asked] for asked in wanted if asked in there and asked not in rows}
        rows |= {
            asked: {name: array[place] for name, array in stored.items()} for asked, place in places.items()
        }
    return rows


def _update(database: Database, target: _Target, fresh: dict[TextAndQuery, Row]) -> EmbedSummary:
    """Store fresh rows; what is lacking still, as texts were imported in between, is computed here."""
    while not isinstance(found := _stored(database, target, fresh), EmbedSummary):
        fresh |= rows_of(found, target.encode([text for text, _ in found], [query for _, query in found]))
    return found


def _stored(
    database: Database, target: _Target, fresh: Mapping[TextAndQuery, Row]
) -> EmbedSummary | list[TextAndQuery]:
    """As `_store`, in a transaction of its own."""
    with exclusive(database.engine), database.session() as session:
        return _store(session, target, fresh)


def _store(
    session: Session, target: _Target, fresh: Mapping[TextAndQuery, Row]
) -> EmbedSummary | list[TextAndQuery]:
    """Store the target's arrays if fresh rows complete them; else returns what they lack."""
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
    fresh: Mapping[TextAndQuery, Row],
    blank: Callable[[int], Arrays],
) -> tuple[Arrays, int, list[TextAndQuery]]:
    """Return the arrays as far as they are known, how many rows are fresh, and what is still to compute."""
    arrays = blank(len(texts))
    if stored is not None and _fits(stored, arrays):
        kept = min(len(texts), len(stored["digest"]))
        # Queries keep their position for ever, so a stored row is about the text at its place.
        for name, array in arrays.items():
            array[:kept] = stored[name][:kept]
    lacking: dict[TextAndQuery, None] = {}
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
    """Return whether stored arrays are of the same kind, whatever their number of rows."""
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


def encoded_by_llm(
    engine: Engine, fitted: Representation, lacking: Iterable[tuple[str, Sequence[TextAndQuery]]]
) -> Iterator[tuple[str, dict[TextAndQuery, Row]]]:
    """Yield rows of every LLM's texts, each LLM's when they are complete, in any order.

    Args:
        lacking: Names of LLMs, each once, and at least one text of each; drawn as they are needed.
    """
    unfinished: dict[str, int] = {}
    found: dict[str, dict[TextAndQuery, Row]] = {}

    def chunks() -> Iterator[_Chunk]:
        for llm, asked in lacking:
            firsts = range(0, len(asked), TEXTS_AT_ONCE)
            unfinished[llm], found[llm] = len(firsts), {}
            for first in firsts:
                yield _Chunk(llm, tuple(asked[first : first + TEXTS_AT_ONCE]))

    for encoded in engine.map(partial(_EncodeWorker, fitted), chunks()):
        llm = encoded.chunk.llm
        found[llm] |= rows_of(encoded.chunk.asked, encoded.arrays)
        unfinished[llm] -= 1
        if not unfinished[llm]:
            yield llm, found.pop(llm)


def rows_of(asked: Sequence[TextAndQuery], arrays: Row) -> dict[TextAndQuery, Row]:
    """Return arrays of N texts taken apart into rows."""
    return {one: {name: array[row] for name, array in arrays.items()} for row, one in enumerate(asked)}


@dataclass(frozen=True)
class _Chunk:
    llm: str
    asked: tuple[TextAndQuery, ...]


@dataclass(frozen=True, eq=False)
class _Encoded:
    chunk: _Chunk
    arrays: Row


class _EncodeWorker:
    def __init__(self, fitted: Representation) -> None:
        self._fitted = fitted

    def __call__(self, chunk: _Chunk) -> _Encoded:
        with progress_bar(f"Embedding {chunk.llm}") as progress:
            texts, queries = zip(*chunk.asked, strict=True)
            return _Encoded(chunk, self._fitted.encode(texts, queries, progress))
