"""Writes an imported benchmark into the database, then embeds it.

Texts are written in one transaction, with their representations if asked for, and only what differs from what
is stored: importing the same files again changes nothing, and importing the texts of a benchmark that is
shipped without them keeps its representations.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlalchemy.orm import Session

from crm.embedded.representation import Representation, representation
from db import Database
from db.database import exclusive
from db.errors import NotFoundError
from db.records import BenchmarkRecord, BenchmarkRef, CategoryTree, LLMRecord, QuerySource
from db.repositories.benchmarks import find_benchmark, get_benchmark, set_baseline, upsert_benchmark
from db.repositories.contents import (
    delete_unused_topics,
    response_texts,
    set_responses,
    upsert_categories,
    upsert_llms,
    upsert_queries,
)
from db.serialization import storable_text, text_sha256
from leaderboard.llm_facts.files import known_catalogue
from precompute.embed import (
    EmbedSummary,
    EmbedTexts,
    RowsAhead,
    TextAndQuery,
    embed_benchmark,
    embed_texts,
    remembering,
)
from precompute.errors import PrecomputeError, unknown_llm
from precompute.importers import ImportedBenchmark
from precompute.progress import progress_bar
from precompute.topics.assignment import (
    ReferenceTopics,
    TopicAssignment,
    assign_topics,
    given_place,
    in_display_order,
    stored_matches,
    stored_reference,
)

_SLUG = re.compile(r"[a-z0-9][a-z0-9._-]*")


@dataclass(frozen=True, slots=True)
class ImportSummary:
    """What an import did.

    Attributes:
        n_queries: Number of queries imported.
        n_llms: Number of LLMs imported, the baseline included.
        n_imported: Number of responses that are new or changed.
        n_present: Number of responses that were there already.
        baseline: The baseline of the benchmark now, and why it is that one; None for none.
        embedded: The representations of the whole benchmark.
        notices: What a person should know.
    """

    slug: str
    n_queries: int
    n_llms: int
    n_imported: int
    n_present: int
    baseline: str | None
    embedded: EmbedSummary
    notices: tuple[str, ...]


def check_slug(slug: str) -> str:
    """Return the slug, which must be fit for a link and a file name. Raises PrecomputeError: it is not."""
    if not _SLUG.fullmatch(slug):
        raise PrecomputeError(
            f"{slug!r} is no slug: it takes small letters, digits, dots, dashes and underscores, and begins "
            "with a letter or digit."
        )
    return slug


def stored_benchmark(session: Session, slug: str) -> BenchmarkRecord | None:
    """Return the stored benchmark, None if there is none."""
    try:
        benchmark = find_benchmark(session, slug)
    except NotFoundError:
        return None
    return get_benchmark(session, benchmark)


def import_benchmark(
    database: Database,
    imported: ImportedBenchmark,
    *,
    title: str | None = None,
    baseline: str | None = None,
    fitted: Representation | None = None,
    embed: EmbedTexts = embed_texts,
    at_once: bool = False,
) -> ImportSummary:
    """Write and embed an imported benchmark.

    What is stored is kept but for what the import says otherwise: topics, titles and the baseline change only
    where they are given explicitly.

    Args:
        fitted: the representation of responses; default the bundled one.
        at_once: store texts and representations in one transaction, so that an import that is killed leaves
            nothing behind; all of the representations are held in memory before. Default texts first, then
            the representations of one LLM after the other, so that it goes on where it was.

    Raises:
        PrecomputeError: the benchmark's slug is none; the baseline is neither imported nor stored.
        UnavailableError: the bundled representation is absent or damaged; nothing is written.
    """
    check_slug(imported.info.slug)
    fitted, embed = fitted or representation(), remembering(embed)
    slug = imported.info.slug
    with database.session() as session:
        stored, reference = stored_benchmark(session, slug), stored_reference(session)
    # Embedding takes long, so places are found before the lock is taken.
    placement = assign_topics(imported.queries, stored, reference, embed)

    def write(session: Session) -> _Written:
        return _write(session, imported, placement, reference, title=title, baseline=baseline)

    if at_once:
        written, embedded = _write_at_once(database, slug, write, fitted, embed)
    else:
        with exclusive(database.engine), database.session() as session:
            written = write(session)
        embedded = embed_benchmark(database, slug, fitted, embed)
    n_responses = sum(map(len, imported.responses.values()))
    origin = imported.baseline_origin if written.is_new and baseline is None else ""
    return ImportSummary(
        slug=slug,
        n_queries=len(imported.queries),
        n_llms=len(imported.llms),
        n_imported=written.n_responses,
        n_present=n_responses - written.n_responses,
        baseline=f"{written.baseline} ({origin})" if origin else written.baseline,
        embedded=embedded,
        notices=imported.notices + placement.notices,
    )


@dataclass(frozen=True)
class _Written:
    """What was written of an import: its baseline, whether it is new, and how many responses are."""

    baseline: str | None
    is_new: bool
    n_responses: int


def _write(
    session: Session,
    imported: ImportedBenchmark,
    placement: TopicAssignment,
    reference: ReferenceTopics | None,
    *,
    title: str | None,
    baseline: str | None,
) -> _Written:
    """Write what differs from what is stored, representations aside."""
    slug = imported.info.slug
    stored = stored_benchmark(session, slug)
    chosen = _baseline(imported, stored, baseline)
    info = imported.info if stored is None else stored.info
    titled = replace(info, title=title or info.title)
    if stored is None or titled != stored.info:
        upsert_benchmark(session, titled)
    benchmark = find_benchmark(session, slug)
    known = set() if stored is None else {llm.name for llm in stored.llms}
    if new := [_titled(llm, slug) for llm in imported.llms if llm.name not in known]:
        upsert_llms(session, benchmark, new)
    set_baseline(session, benchmark, chosen)
    sources = _sources(imported, stored, placement)
    _write_queries(session, benchmark, sources, stored, reference)
    n_imported = _write_responses(session, benchmark, imported, [source.external_id for source in sources])
    return _Written(chosen, stored is None, n_imported)


def _write_at_once(
    database: Database,
    slug: str,
    write: Callable[[Session], _Written],
    fitted: Representation,
    embed: EmbedTexts,
) -> tuple[_Written, EmbedSummary]:
    """Write texts and representations in one transaction.

    What has to be computed is known once the texts are written, and takes longer than anything should be
    locked: so they are written, taken back, and written again with what was computed meanwhile.
    """
    ahead = RowsAhead()
    while True:
        try:
            with exclusive(database.engine), database.session() as session:
                written = write(session)
                found = ahead.store(session, slug, fitted, embed)
                if not isinstance(found, EmbedSummary):
                    raise _LackingError(found)
                return written, found
        except _LackingError as lacking:
            ahead.compute(lacking.texts, fitted, embed)


class _LackingError(Exception):
    """What takes a transaction back as representations of these texts are lacking."""

    def __init__(self, texts: Mapping[str | None, list[TextAndQuery]]) -> None:
        super().__init__()
        self.texts = texts


def _titled(llm: LLMRecord, slug: str) -> LLMRecord:
    """Return an LLM that its file only names with the title by which the catalogue of facts knows it."""
    return llm if llm.title != llm.name else replace(llm, title=known_catalogue().facts(llm.name, slug).title)


def _baseline(imported: ImportedBenchmark, stored: BenchmarkRecord | None, asked: str | None) -> str | None:
    """Return the baseline asked for, else what the stored LLMs are compared with, else the importer's."""
    if asked is None:
        return stored.baseline if stored is not None and stored.llms else imported.baseline
    known = [llm.name for llm in (*imported.llms, *(stored.llms if stored is not None else ()))]
    if asked not in known:
        raise unknown_llm(asked, f"the benchmark {imported.info.slug!r}", known)
    return asked


def _sources(
    imported: ImportedBenchmark, stored: BenchmarkRecord | None, placement: TopicAssignment
) -> list[QuerySource]:
    """Return the imported queries as they are to be stored, in their order."""
    sources = []
    matches = stored_matches(imported.queries, stored)
    for query, (external_id, record), found in zip(imported.queries, matches, placement.places, strict=True):
        category, topic = given_place(query, record) or found
        sources.append(QuerySource(external_id, category, topic, text_sha256(query.text), query.text))
    return sources


def _write_queries(
    session: Session,
    benchmark: BenchmarkRef,
    sources: Sequence[QuerySource],
    stored: BenchmarkRecord | None,
    reference: ReferenceTopics | None,
) -> None:
    known = {} if stored is None else {query.external_id: query for query in stored.queries}
    changed = [
        source
        for source in sources
        if (record := known.get(source.external_id)) is None
        or not record.has_text
        or (record.category, record.topic, record.sha256) != (source.category, source.topic, source.sha256)
    ]
    if not changed:
        return
    places = in_display_order([(source.category, source.topic) for source in changed], reference)
    topics: dict[str, list[str]] = {}
    for category, topic in places:
        topics.setdefault(category, []).append(topic)
    upsert_categories(
        session, benchmark, [CategoryTree(name, tuple(listed)) for name, listed in topics.items()]
    )
    upsert_queries(session, benchmark, changed)
    if known.keys() & {source.external_id for source in changed}:
        # Queries that moved may have left a topic empty.
        delete_unused_topics(session, benchmark)


def _write_responses(
    session: Session, benchmark: BenchmarkRef, imported: ImportedBenchmark, external_ids: Sequence[str]
) -> int:
    """Store the responses that are new or changed; returns how many."""
    positions = {
        query.external_id: row for row, query in enumerate(get_benchmark(session, benchmark).queries)
    }
    n_changed = 0
    with progress_bar("Storing responses") as progress:
        for done, (llm, texts) in enumerate(imported.responses.items(), start=1):
            present = response_texts(session, benchmark, llm)
            changed = {
                external_ids[index]: text
                for index, text in texts.items()
                if present[positions[external_ids[index]]] != storable_text(text)
            }
            if changed:
                set_responses(session, benchmark, llm, changed)
            n_changed += len(changed)
            progress(done, len(imported.responses))
    return n_changed
