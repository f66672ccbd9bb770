"""The topics of a pool, from embedding to names, and a report of them; what is done is not repeated."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
from db.source_records import ADDED, SET_ASIDE, FoundTopic, PoolQueryRecord, TopicMapRecord
from leaderboard.topics.curation import Curation
from parsing.messages import quantity
from precompute.errors import PrecomputeError
from precompute.topics.discovery import (
    TEMPLATES_KEY,
    OnStage,
    find_topic_map,
    members,
    pool_digest,
    set_aside,
)
from precompute.topics.encoders import embed_queries, make_encoder
from precompute.topics.growth import Growth, NameTopics, grow, growth_report
from precompute.topics.naming import NamingSummary, name_categories, name_topics, representative
from precompute.topics.settings import ClusteringSettings
from precompute.topics.templates import NO_TEMPLATE

_MIN_CLUSTERS = 3
"""A pool has at least so many times the queries of the smallest cluster."""


@dataclass(frozen=True)
class ClusterSummary:
    """What a run did.

    Attributes:
        found: The topics as they are stored.
        is_new: Whether they were looked for, or were there.
        naming: What an LLM named; None where none is asked.
        growth: What became of queries that were added; None where none were placed beside topics.
    """

    slug: str
    found: TopicMapRecord
    is_new: bool
    naming: NamingSummary | None
    growth: Growth | None = None


def cluster_pool(
    database: Database,
    slug: str,
    settings: ClusteringSettings,
    *,
    llms: Path | None = None,
    again: bool = False,
    grow_only: bool = False,
    on_progress: OnStage = lambda _what, _done, _total: None,
) -> ClusterSummary:
    """Find the topics of a pool: section 4.1 of the USL paper, with the bundled encoder by default.

    Embeddings are stored batch by batch and an LLM's names one by one, so an interrupted run goes on where it
    was. Topics that were found in the same queries with the same settings are there already. The same seed,
    package versions and machine give the same topics. Topics that were curated stay when queries are added:
    these are placed beside what is there.

    Args:
        settings: how topics are found, placed and named.
        llms: the file of LLMs, for the one that names topics; by default as in `crm.llm.settings`.
        again: replace topics that were curated, or that grew, and forget the curation.
        grow_only: place added queries beside the topics that are there, curated or not.

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
        encoder = make_encoder(settings.encoder)
        included = {"topics", "templates", "parts", "categories", "quality"}
        chosen = settings.model_dump(mode="json", include=included)
        # All that topics depend on: not how they are named, nor how fast they are found.
        identity = {"encoder": encoder.name, **chosen}
        stored = _stored(database, slug)
        has_grown = stored is not None and len(stored.topic_of) < len(queries)
        is_curated = _is_curated(database, slug)
        is_current = (
            stored is not None
            and stored.pool_digest == pool_digest(queries)
            and stored.settings == identity
            and not (again and (has_grown or is_curated))
        )
        growth = None
        progress = partial(on_progress, "Embedding queries")
        if stored is not None and has_grown and not again and (grow_only or is_curated):
            _check_encoder(stored, encoder.name, slug)
            embedded = embed_queries(database, queries, encoder, progress)
            on_progress("Placing added queries", 0, 0)
            topics = Curation(database).read(slug)
            namer = _namer(settings, llms)
            growth = grow(database, topics, embedded, settings, identity=identity, name=namer)
        elif not is_current:
            _check_enough(slug, queries, settings)
            if not again:
                _check_not_curated(database, slug)
            embedded = embed_queries(database, queries, encoder, progress)
            found = find_topic_map(database, embedded, settings, on_progress)
            _store(database, slug, replace(found, settings=identity), again=again)
        naming = _name(database, slug, settings, llms, on_progress)
        is_new = not is_current and growth is None
        with database.session() as session:
            found = get_topic_map(session, find_pool(session, slug))
        return ClusterSummary(slug, found, is_new, naming, growth)


def _check_enough(slug: str, queries: Sequence[PoolQueryRecord], settings: ClusteringSettings) -> None:
    family_of = set_aside([query.text for query in queries], settings.templates)
    n_kept = int(np.sum(family_of == NO_TEMPLATE))
    parameters = settings.topics.parameters(n_kept)
    least = max(_MIN_CLUSTERS * parameters.smallest_cluster, parameters.neighbours + 2, min_texts(parameters))
    if n_kept >= least:
        return
    if n_kept == len(queries):
        raise PrecomputeError(
            f"The query pool {slug!r} has {len(queries):,} queries, and topics need {least:,}: add some "
            "with “python -m precompute pool”, or set a smaller smallest_cluster in the table [topics]."
        )
    raise PrecomputeError(
        f"The query pool {slug!r} has {len(queries):,} queries, but {len(queries) - n_kept:,} follow "
        f"templates and topics need {least:,} others: add some with “python -m precompute pool”, or cluster "
        "those as well with set_aside = false in the table [templates]."
    )


def _check_encoder(stored: TopicMapRecord, encoder: str, slug: str) -> None:
    known = stored.settings.get("encoder")
    if known != encoder:
        raise PrecomputeError(
            f"The topics of {slug!r} were found with the encoder {known!r}, and added queries are compared "
            f"with theirs: name it in the table [encoder] instead of {encoder!r}, or replace the topics with "
            "--again."
        )


def _stored(database: Database, slug: str) -> TopicMapRecord | None:
    with database.session() as session:
        pool = find_pool(session, slug)
        try:
            return get_topic_map(session, pool)
        except NotFoundError:
            return None


def _is_curated(database: Database, slug: str) -> bool:
    with database.session() as session:
        try:
            edits = curation_of(session, find_pool(session, slug))
        except NotFoundError:
            return False
    return any(edit.undone_at is None for edit in edits)


def _check_not_curated(database: Database, slug: str) -> None:
    if _is_curated(database, slug):
        raise PrecomputeError(
            f"The topics of {slug!r} were curated, and other settings give other topics: keep the curated "
            f"ones with “python -m precompute topics export {slug}”, then replace them with --again."
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
    """Let the configured LLM name what it has not named; None where none is configured."""
    if settings.names.llm is None:
        return None
    (llm,) = read_llms(llms_file(llms), [settings.names.llm])
    with database.session() as session:
        pool = find_pool(session, slug)
        queries, found = pool_queries(session, pool), get_topic_map(session, pool)
    named = {topic.key: topic for topic in found.topics}
    topics = [topic for topic in found.topics if topic.key != TEMPLATES_KEY]
    by_hand = settings.categories.how == "dailybench"
    if all(
        topic.named_by == llm.name and (by_hand or topic.category_named_by == llm.name) for topic in topics
    ):
        return NamingSummary(len(topics), {})
    embedded = embed_queries(database, queries, make_encoder(settings.encoder))

    def store(*changed: FoundTopic) -> None:
        named.update({topic.key: topic for topic in changed})
        with exclusive(database.engine), database.session() as session:
            set_topics(session, find_pool(session, slug), found.digest, tuple(named.values()))
        on_progress("Naming topics", sum(each.named_by == llm.name for each in named.values()), len(topics))

    rows_of = {topic.key: members(found, topic) for topic in topics}
    shown = {
        key: [queries[row].text for row in representative(embedded.vectors, rows, settings.names.queries)]
        for key, rows in rows_of.items()
    }
    provider = make_chat_models([llm])[llm.name]
    naming = name_topics(topics, shown, settings.names, provider, store)
    if by_hand:
        return naming
    sizes = {key: len(rows) for key, rows in rows_of.items()}
    topics = [named[topic.key] for topic in topics]
    failed = name_categories(topics, sizes, settings.names, provider, lambda changed: store(*changed))
    return replace(naming, failed_categories=failed)


def _namer(settings: ClusteringSettings, llms: Path | None) -> NameTopics:
    """Return what names new topics: the configured LLM; without one they keep the names they have."""
    if settings.names.llm is None:
        return lambda topics, _queries: topics
    (llm,) = read_llms(llms_file(llms), [settings.names.llm])

    def name(topics: tuple[FoundTopic, ...], queries: Sequence[Sequence[str]]) -> tuple[FoundTopic, ...]:
        named = {topic.key: topic for topic in topics}
        shown = {
            topic.key: texts[: settings.names.queries] for topic, texts in zip(topics, queries, strict=True)
        }
        provider = make_chat_models([llm])[llm.name]
        name_topics(topics, shown, settings.names, provider, lambda topic: named.update({topic.key: topic}))
        return tuple(named.values())

    return name


def clustering_report(summary: ClusterSummary) -> Iterator[str]:
    """Figures, then the tree with sizes; last what an LLM could not name."""
    if summary.growth is not None:
        yield from growth_report(summary.slug, summary.growth)
    else:
        yield from _figures(summary)
        yield ""
        yield from tree_lines(summary.found)
    if summary.naming is not None:
        for key, reason in summary.naming.failed.items():
            yield f"note: topic {key} keeps its name: {reason}"
        for category, reason in summary.naming.failed_categories.items():
            yield f"note: the category “{category}” keeps its name: {reason}"


def _figures(summary: ClusterSummary) -> Iterator[str]:
    figures = summary.found.quality
    state = "found" if summary.is_new else "found before"
    yield (
        f"{summary.slug}: {quantity(figures['n_topics'], 'topic')} and "
        f"{quantity(figures['n_parts'], 'part')} of topics {state} in {figures['n_queries']:,} queries."
    )
    if n_added := len(summary.found.topic_of) - figures["n_queries"]:
        yield f"{n_added:,} queries were added since: “python -m precompute topics show” says where they are."
    if figures.get("n_set_aside"):
        yield (
            f"set aside: {figures['n_set_aside']:,} prompts of {figures['n_templates']} templates, as "
            f"{TEMPLATES_KEY!r}; “python -m precompute topics restore {summary.slug} {TEMPLATES_KEY}” brings "
            "them back."
        )
    moved = ", ".join(
        f"{n:,} by {step}"
        for step, n in figures["steps"].items()
        if step not in ("clustered", "outlier", SET_ASIDE)
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


def tree_lines(found: TopicMapRecord) -> Iterator[str]:
    """Return the tree as Markdown: categories and topics, the largest first, with sizes and keywords."""
    sizes = {topic.key: len(members(found, topic)) for topic in found.topics}
    tops: dict[str, list[FoundTopic]] = {}
    for topic in found.topics:
        if topic.parent is None and topic.key != TEMPLATES_KEY:
            tops.setdefault(topic.category, []).append(topic)
    size_of = {category: sum(sizes[topic.key] for topic in listed) for category, listed in tops.items()}
    for category in sorted(tops, key=lambda name: -size_of[name]):
        yield f"- **{category}** ({size_of[category]:,})"
        for topic in tops[category]:
            yield from _topic_lines(found, topic, sizes, "  ")
    if n_aside := sizes.get(TEMPLATES_KEY):
        yield f"- set aside: prompts of templates ({n_aside:,})"
    added = found.steps.index(ADDED) if ADDED in found.steps else -1
    if n_outliers := int(np.sum((found.topic_of < 0) & (found.step_of != added))):
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
