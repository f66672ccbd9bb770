"""The topics of a pool, from embedding to names, and a report of them; what is done is not repeated."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from crm.data.topic_model import min_texts
from crm.llm import make_chat_models
from crm.llm.settings import llms_file, read_llms
from db import Database
from db.database import exclusive, job_locks
from db.errors import NotFoundError
from db.repositories.pools import (
    curation_of,
    find_pool,
    get_topic_map,
    pool_queries,
    put_topic_map,
    set_topics,
)
from db.source_records import FoundTopic, TopicMapRecord
from precompute.errors import PrecomputeError
from precompute.topics.discovery import OnStage, find_topic_map, members, pool_digest
from precompute.topics.encoders import embed_queries, make_encoder
from precompute.topics.naming import NamingSummary, name_topics, representative
from precompute.topics.settings import ClusteringSettings

_MIN_CLUSTERS = 3
"""A pool has at least so many times the queries of the smallest cluster."""


@dataclass(frozen=True)
class ClusterSummary:
    """What a run did.

    Attributes:
        found: The topics as they are stored.
        is_new: Whether they were looked for, or were there.
        naming: What an LLM named; None where topics are named by keywords.
    """

    slug: str
    found: TopicMapRecord
    is_new: bool
    naming: NamingSummary | None


def cluster_pool(
    database: Database,
    slug: str,
    settings: ClusteringSettings,
    *,
    llms: Path | None = None,
    again: bool = False,
    on_progress: OnStage = lambda _what, _done, _total: None,
) -> ClusterSummary:
    """Find the topics of a pool: section 4.1 of the USL paper, with the bundled encoder by default.

    Embeddings are stored batch by batch and an LLM's names one by one, so an interrupted run goes on where it
    was. Topics that were found in the same queries with the same settings are there already. The same seed,
    package versions and machine give the same topics.

    Args:
        settings: how topics are found, placed and named.
        llms: the file of LLMs, for the one that names topics; by default as in `crm.llm.settings`.
        again: replace topics that were curated, and forget the curation.

    Raises:
        DatabaseError: another process is looking for topics in this pool.
        NotFoundError: no pool has this slug.
        PrecomputeError: it has too few queries for topics; no group of its queries means alike; other topics
            are stored and were curated, and ``again`` is not given.
        CRMError: the encoder or the LLM fails, or is configured wrongly.
    """
    with job_locks(database.engine, [f"looking for topics in {slug!r}"]):
        with database.session() as session:
            queries = pool_queries(session, find_pool(session, slug))
        least = _fewest_queries(settings)
        if len(queries) < least:
            raise PrecomputeError(
                f"The query pool {slug!r} has {len(queries):,} queries, and topics need {least:,}: add some "
                "with “python -m precompute pool”, or set a smaller smallest_cluster in the table [topics]."
            )
        encoder = make_encoder(settings.encoder)
        chosen = settings.model_dump(mode="json", include={"topics", "parts", "categories", "quality"})
        # All that topics depend on: not how they are named, nor how fast they are found.
        identity = {"encoder": encoder.name, **chosen}
        stored = _stored(database, slug)
        is_current = (
            stored is not None and stored.pool_digest == pool_digest(queries) and stored.settings == identity
        )
        if not is_current and not again:
            _check_not_curated(database, slug)
        if not is_current:
            progress = partial(on_progress, "Embedding queries")
            embedded = embed_queries(database, queries, encoder, progress)
            found = find_topic_map(database, embedded, settings, on_progress)
            _store(database, slug, replace(found, settings=identity), again=again)
        naming = _name(database, slug, settings, llms, on_progress)
        with database.session() as session:
            return ClusterSummary(
                slug, get_topic_map(session, find_pool(session, slug)), not is_current, naming
            )


def _fewest_queries(settings: ClusteringSettings) -> int:
    clusters = _MIN_CLUSTERS * settings.topics.smallest_cluster
    return max(clusters, settings.topics.neighbours + 2, min_texts(settings.topics.parameters()))


def _stored(database: Database, slug: str) -> TopicMapRecord | None:
    with database.session() as session:
        pool = find_pool(session, slug)
        try:
            return get_topic_map(session, pool)
        except NotFoundError:
            return None


def _check_not_curated(database: Database, slug: str) -> None:
    with database.session() as session:
        pool = find_pool(session, slug)
        try:
            edits = curation_of(session, pool)
        except NotFoundError:
            return
    if any(edit.undone_at is None for edit in edits):
        raise PrecomputeError(
            f"The topics of {slug!r} were curated, and other queries or settings give other topics: keep the "
            f"curated ones with “python -m precompute topics export {slug}”, then replace them with --again."
        )


def _store(database: Database, slug: str, found: TopicMapRecord, *, again: bool) -> None:
    with exclusive(database.engine):
        # Clustering takes minutes, in which somebody may have begun to curate.
        if not again:
            _check_not_curated(database, slug)
        with database.session() as session:
            put_topic_map(session, find_pool(session, slug), found)


def _name(
    database: Database, slug: str, settings: ClusteringSettings, llms: Path | None, on_progress: OnStage
) -> NamingSummary | None:
    """Let the configured LLM name the topics that it has not named; None where none is configured."""
    if settings.names.llm is None:
        return None
    (llm,) = read_llms(llms_file(llms), [settings.names.llm])
    with database.session() as session:
        pool = find_pool(session, slug)
        queries, found = pool_queries(session, pool), get_topic_map(session, pool)
    named = {topic.key: topic for topic in found.topics}
    n_named = sum(topic.named_by == llm.name for topic in found.topics)
    if n_named == len(found.topics):
        return NamingSummary(n_named, {})
    embedded = embed_queries(database, queries, make_encoder(settings.encoder))

    def store(topic: FoundTopic) -> None:
        named[topic.key] = topic
        with exclusive(database.engine), database.session() as session:
            set_topics(session, find_pool(session, slug), found.digest, tuple(named.values()))
        on_progress("Naming topics", sum(each.named_by == llm.name for each in named.values()), len(named))

    shown = {
        topic.key: [
            queries[row].text
            for row in representative(embedded.vectors, members(found, topic), settings.names.queries)
        ]
        for topic in found.topics
    }
    return name_topics(found.topics, shown, settings.names, make_chat_models([llm])[llm.name], store)


def clustering_report(summary: ClusterSummary) -> Iterator[str]:
    """Figures, then the tree with sizes; last what an LLM could not name."""
    figures = summary.found.quality
    state = "found" if summary.is_new else "found before"
    yield (
        f"{summary.slug}: {figures['n_topics']} topics and {figures['n_parts']} parts of topics "
        f"{state} in {figures['n_queries']:,} queries."
    )
    moved = ", ".join(
        f"{n:,} by {step}" for step, n in figures["steps"].items() if step not in ("clustered", "outlier")
    )
    yield (
        f"outliers: {figures['outlier_share_clustered']:.1%} after clustering, "
        f"{figures['outlier_share']:.1%} after reassignment ({moved})."
    )
    stable = figures.get("stability")
    over = (
        ""
        if stable is None
        else f"; over {len(stable['seeds'])} seeds: adjusted Rand index "
        + (f"{stable['ari_mean']:.2f}, at least {stable['ari_min']:.2f}")
    )
    yield f"coherence (NPMI) {figures['coherence']:.2f}{over}."
    yield ""
    yield from tree_lines(summary.found)
    if summary.naming is not None:
        for key, reason in summary.naming.failed.items():
            yield f"note: topic {key} keeps its keywords for a name: {reason}"


def tree_lines(found: TopicMapRecord) -> Iterator[str]:
    """Return the tree as Markdown: categories and topics, the largest first, with sizes and keywords."""
    sizes = {topic.key: len(members(found, topic)) for topic in found.topics}
    tops: dict[str, list[FoundTopic]] = {}
    for topic in found.topics:
        if topic.parent is None:
            tops.setdefault(topic.category, []).append(topic)
    size_of = {category: sum(sizes[topic.key] for topic in listed) for category, listed in tops.items()}
    for category in sorted(tops, key=lambda name: -size_of[name]):
        yield f"- **{category}** ({size_of[category]:,})"
        for topic in tops[category]:
            yield from _topic_lines(found, topic, sizes, "  ")
    if n_outliers := int(np.sum(found.topic_of < 0)):
        yield f"- outliers ({n_outliers:,})"


def _topic_lines(
    found: TopicMapRecord, topic: FoundTopic, sizes: dict[str, int], indent: str
) -> Iterator[str]:
    rest = [word for word in topic.keywords if word not in topic.name.lower()]
    about = topic.summary or ", ".join(rest)
    yield f"{indent}- {topic.name} ({sizes[topic.key]:,}): {about}"
    for part in found.topics:
        if part.parent == topic.key:
            yield from _topic_lines(found, part, sizes, indent + "  ")
