"""A benchmark from a bundle and back."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session

from db.bundle import Bundle, BundledScores, BundledWinRates, pack_rows, unpack_rows
from db.errors import NotFoundError
from db.models import LLM, Benchmark, Query, RemovedBenchmark, Response
from db.records import BenchmarkRecord, BenchmarkRef, CategoryTree, QuerySource
from db.repositories import contents, representations, scores
from db.repositories.benchmarks import (
    delete_benchmark,
    find_benchmark,
    freeze,
    get_benchmark,
    sample_of,
    set_baseline,
    slug_is_taken,
    upsert_benchmark,
)
from db.repositories.contents import upsert_categories, upsert_llms, upsert_queries
from db.serialization import same_arrays


def wants_bundle(session: Session, slug: str, digest: str) -> bool:
    """Return whether `fill_from_bundle` would change anything.

    It would not if it did before, or the user made the benchmark, or removed it.
    """
    if session.scalar(select(RemovedBenchmark.slug).where(RemovedBenchmark.slug == slug)) is not None:
        return False
    row = session.execute(select(Benchmark.bundle_digest).where(Benchmark.slug == slug)).one_or_none()
    return row is None or row.bundle_digest not in (None, digest)


def fill_from_bundle(
    session: Session, bundle: Bundle, digest: str, win_rates: Iterable[BundledWinRates] = ()
) -> bool:
    """Create the bundle's benchmark, or replace it whole if another bundle filled it; return whether it did.

    A benchmark the user made is left alone. Texts the bundle does not ship, but the user imported, are kept
    where query (by SHA-256) and LLM (by name) remain. `digest` is `bundle_digest` of the bundle's file,
    `win_rates` are stored without the scores that they were computed from.
    """
    slug = bundle.info.slug
    if not wants_bundle(session, slug, digest):
        return False
    kept = _StoredTexts({}, {})
    if (stored := _find(session, slug)) is not None:
        kept = _stored_texts(session, stored)
        delete_benchmark(session, stored)
    created = _create(session, bundle, kept)
    session.execute(update(Benchmark).where(Benchmark.id == created.id).values(bundle_digest=digest))
    for rates in win_rates:
        scores.put_win_rates(session, created, rates.key, rates.win_rates, criteria=rates.criteria)
    return True


def import_bundle(session: Session, bundle: Bundle) -> bool:
    """Create the bundle's benchmark as the user's own, or add its scores to an equal one that is stored.

    Returns:
        whether the benchmark was created.

    Raises:
        DatabaseError: a benchmark with this slug is stored, and is another one.
    """
    stored = _find(session, bundle.info.slug)
    if stored is None:
        _create(session, bundle, _StoredTexts({}, {}))
        return True
    if not _is_stored(session, stored, bundle):
        raise slug_is_taken(stored.slug)
    _put_scores(session, stored, bundle)
    return False


def export_bundle(
    session: Session, benchmark: BenchmarkRef, with_texts: bool, crms: Collection[str] | None = None
) -> Bundle:
    """Return the stored benchmark as a bundle, with all its texts or none.

    Its scores are those by CRMs of the names in `crms`; None for all.
    """
    record = get_benchmark(session, benchmark)
    query_texts = contents.query_texts(session, benchmark) if with_texts else [None] * len(record.queries)
    sample = sample_of(session, benchmark)
    return Bundle(
        info=record.info,
        baseline=record.baseline,
        categories=tuple(
            CategoryTree(category.name, tuple(topic.name for topic in category.topics))
            for category in record.categories
        ),
        llms=record.llms,
        queries=tuple(
            QuerySource(query.external_id, query.category, query.topic, query.sha256, text)
            for query, text in zip(record.queries, query_texts, strict=True)
        ),
        responses=_responses(session, benchmark, record) if with_texts else {},
        representations={
            name: representations.payloads_by_llm(session, benchmark, name)
            for name in representations.list_representations(session, benchmark)
        },
        query_representations=representations.query_payloads(session, benchmark),
        scores=_scores(session, benchmark, record, crms),
        # Without the time: equal benchmarks give equal bundles.
        sample=None if sample is None else replace(sample, created_at=None),
    )


def _find(session: Session, slug: str) -> BenchmarkRef | None:
    try:
        return find_benchmark(session, slug)
    except NotFoundError:
        return None


def _create(session: Session, bundle: Bundle, kept: "_StoredTexts") -> BenchmarkRef:
    """Store everything in the bundle, and the texts that are kept where it has none."""
    benchmark = upsert_benchmark(session, bundle.info)
    # Whoever brings a removed one back has it for good.
    session.execute(delete(RemovedBenchmark).where(RemovedBenchmark.slug == benchmark.slug))
    upsert_llms(session, benchmark, bundle.llms)
    set_baseline(session, benchmark, bundle.baseline)
    upsert_categories(session, benchmark, bundle.categories)
    upsert_queries(session, benchmark, bundle.queries)
    if bundle.sample is not None:
        freeze(session, benchmark, bundle.sample)
    contents.fill_query_texts(session, benchmark, kept.queries.values())
    for llm in bundle.llms:
        responses = {**kept.responses_of(llm.name, bundle.queries), **bundle.responses.get(llm.name, {})}
        contents.set_responses(session, benchmark, llm.name, responses)
    for name, payloads in bundle.representations.items():
        for llm_name, payload in payloads.items():
            representations.put_payload(session, benchmark, llm_name, name, payload)
    for name, payload in bundle.query_representations.items():
        representations.put_payload(session, benchmark, None, name, payload)
    # Last, as whatever is stored before would make them void.
    _put_scores(session, benchmark, bundle)
    return benchmark


def _put_scores(session: Session, benchmark: BenchmarkRef, bundle: Bundle) -> None:
    llms = [llm.name for llm in bundle.llms]
    for bundled in bundle.scores:
        rows = unpack_rows(llms, bundled.payload, len(bundle.queries))
        scores.put_scores(session, benchmark, bundled.key, bundled.criteria, rows)
        if bundled.win_rates:
            scores.put_win_rates(session, benchmark, bundled.key, bundled.win_rates)


def _is_stored(session: Session, benchmark: BenchmarkRef, bundle: Bundle) -> bool:
    """Return whether the stored benchmark is the bundle's, but for title, scores and texts it lacks."""
    with_texts = any(query.text is not None for query in bundle.queries) or bool(bundle.responses)
    stored = export_bundle(session, benchmark, with_texts, crms=())
    return (
        all(
            getattr(stored, part) == getattr(bundle, part)
            for part in ("baseline", "categories", "queries", "responses", "sample")
        )
        and [llm.name for llm in stored.llms] == [llm.name for llm in bundle.llms]
        and _same_representations(stored.representations, bundle.representations)
    )


def _same_representations(
    some: Mapping[str, Mapping[str, bytes]], others: Mapping[str, Mapping[str, bytes]]
) -> bool:
    """Return whether payloads by representation and LLM hold the same arrays, however they are packed."""
    if {name: payloads.keys() for name, payloads in some.items()} != {
        name: payloads.keys() for name, payloads in others.items()
    }:
        return False
    return all(
        same_arrays(payload, others[name][llm])
        for name, payloads in some.items()
        for llm, payload in payloads.items()
    )


def _scores(
    session: Session, benchmark: BenchmarkRef, record: BenchmarkRecord, crms: Collection[str] | None
) -> tuple[BundledScores, ...]:
    llms = [llm.name for llm in record.llms]
    return tuple(
        BundledScores(
            stored.key,
            stored.criteria,
            pack_rows(llms, scores.get_scores(session, benchmark, stored.key)),
            scores.get_win_rates(session, benchmark, stored.key),
        )
        for stored in scores.list_scores(session, benchmark)
        if crms is None or stored.key.crm in crms
    )


@dataclass(frozen=True, slots=True)
class _StoredTexts:
    """Texts of a benchmark to be replaced: by SHA-256; by LLM, external id and SHA-256 of the query."""

    queries: dict[str, str]
    responses: dict[tuple[str, str, str], str]

    def responses_of(self, llm: str, queries: tuple[QuerySource, ...]) -> dict[str, str]:
        """Return the LLM's stored responses to those of the queries that remain, by their new external id.

        Of queries of equal text, each gets the response to its own external id if that remains too.
        """
        by_sha256 = {sha256: text for (name, _, sha256), text in self.responses.items() if name == llm}
        return {
            query.external_id: self.responses.get(
                (llm, query.external_id, query.sha256), by_sha256[query.sha256]
            )
            for query in queries
            if query.sha256 in by_sha256
        }


def _stored_texts(session: Session, benchmark: BenchmarkRef) -> _StoredTexts:
    queries = session.execute(
        select(Query.text_sha256, Query.text).where(
            Query.benchmark_id == benchmark.id, Query.text.is_not(None)
        )
    )
    responses = session.execute(
        select(LLM.name, Query.external_id, Query.text_sha256, Response.text)
        .join(Query, Query.id == Response.query_id)
        .join(LLM, LLM.id == Response.llm_id)
        .where(Query.benchmark_id == benchmark.id)
    )
    return _StoredTexts(
        {sha256: text for sha256, text in queries if text is not None},
        {(llm, external_id, sha256): text for llm, external_id, sha256, text in responses},
    )


def _responses(
    session: Session, benchmark: BenchmarkRef, record: BenchmarkRecord
) -> dict[str, dict[str, str]]:
    responses = {}
    for llm in record.llms:
        stored = zip(record.queries, contents.response_texts(session, benchmark, llm.name), strict=True)
        if answered := {query.external_id: text for query, text in stored if text is not None}:
            responses[llm.name] = answered
    return responses
