"""Queries that were added to a pool, put beside its topics without touching what people made of them.

Each new query goes to the curated topic that it fits. What fits none is clustered anew, and becomes new
topics beside the others. All of it is one change in the log of curation, and can be undone as any other.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median

import numpy as np
from numpy.typing import NDArray

from crm.data.topic_model import TopicParameters, find_topics, min_texts
from db import Database
from db.database import exclusive
from db.repositories.pools import (
    add_curation,
    curation_of,
    extend_topic_map,
    find_pool,
    topic_map_digest,
)
from db.source_records import ADDED, FoundTopic, TopicMapRecord
from leaderboard.topics.actions import Assigned, Grow, Placed, action_to_json, apply
from leaderboard.topics.curation import CuratedTopics, replay
from leaderboard.topics.tree import OUTLIER, TopicTree
from precompute.errors import PrecomputeError
from precompute.topics.catalogue import catalogue
from precompute.topics.discovery import (
    TEMPLATES_KEY,
    nearest_categories,
    pool_digest,
    set_aside,
    templates_topic,
)
from precompute.topics.encoders import EmbeddedQueries, Vectors, embed_queries, make_encoder
from precompute.topics.naming import group_keywords
from precompute.topics.placement import Placement, place
from precompute.topics.plain_names import ListedQueries, plain_names
from precompute.topics.settings import ClusteringSettings, EncoderSettings
from precompute.topics.templates import NO_TEMPLATE

_REASON = "queries were added to the pool"
_MAP_NEIGHBOURS = 5
_BESIDE = 5000
"""Queries with a topic, at most, among which those are clustered that fit none."""
NameTopics = Callable[[tuple[FoundTopic, ...], Sequence[Sequence[str]]], tuple[FoundTopic, ...]]
"""Gives new topics, with the queries of each, better names."""


@dataclass(frozen=True)
class Growth:
    """What became of queries that were added.

    Attributes:
        before: The curated tree, with the added queries in no topic.
        action: The change that was made.
        n_added: Queries that were added since the topics were found or grew last.
        n_left: How many added queries, of now or earlier, are in no topic.
    """

    before: TopicTree
    action: Grow
    n_added: int
    n_left: int


def grow(
    database: Database,
    topics: CuratedTopics,
    embedded: EmbeddedQueries,
    settings: ClusteringSettings,
    *,
    identity: dict[str, object],
    name: NameTopics,
) -> Growth:
    """Place the queries that were added to a pool since its topics were found, and store it.

    Args:
        topics: As people have left them.
        embedded: All queries of the pool.
        settings: How what fits no topic is clustered.
        identity: What is stored as the settings of the topics.
        name: For an LLM, which may name the new topics.

    Raises:
        PrecomputeError: Somebody changed the topics meanwhile.
    """
    record = _extended(topics.record, embedded, identity)
    found = TopicTree.found(record, [query.id for query in embedded.queries])
    before = replay(found, topics.log)
    action = _change(database, before, record, embedded, settings=settings, name=name)
    after = apply(before, action) if action.topics or action.assigned or action.placed else before
    with exclusive(database.engine), database.session() as session:
        pool = find_pool(session, topics.pool.slug)
        if (topic_map_digest(session, pool), curation_of(session, pool)) != (
            topics.record.digest,
            topics.log,
        ):
            raise PrecomputeError(
                "Somebody changed the topics meanwhile: run the command again; the embeddings are kept."
            )
        extend_topic_map(session, pool, record)
        if after is not before:
            add_curation(session, pool, action_to_json(action), _REASON)
    n_added = len(embedded.queries) - len(topics.record.topic_of)
    return Growth(before, action, n_added, len(_pending(after, record)))


def _extended(
    record: TopicMapRecord, embedded: EmbeddedQueries, identity: dict[str, object]
) -> TopicMapRecord:
    """Return the topics as they were found with the added queries in none of them, but on the map."""
    n_old, n_all = len(record.topic_of), len(embedded.queries)
    steps = record.steps if ADDED in record.steps else (*record.steps, ADDED)
    added = n_all - n_old
    digest = hashlib.sha256(f"{record.digest} {pool_digest(embedded.queries[n_old:])}".encode()).hexdigest()
    return replace(
        record,
        steps=steps,
        topic_of=np.concatenate([record.topic_of, np.full(added, -1, dtype=np.int32)]),
        step_of=np.concatenate([record.step_of, np.full(added, steps.index(ADDED), dtype=np.int8)]),
        xy=np.concatenate(
            [record.xy, _on_the_map(record.xy, embedded.vectors[:n_old], embedded.vectors[n_old:])]
        ),
        pool_digest=pool_digest(embedded.queries),
        digest=digest,
        settings=identity,
    )


def _on_the_map(xy: NDArray[np.float32], known: Vectors, new: Vectors) -> NDArray[np.float32]:
    """Return places of new queries ``[N, 2]``: amid the known ones that mean most alike."""
    if not len(new):
        return np.empty((0, 2), dtype=np.float32)
    nearest = np.argsort(-(new @ known.T), axis=1, kind="stable")[:, :_MAP_NEIGHBOURS]
    placed: NDArray[np.float32] = xy[nearest].mean(axis=1).astype(np.float32)
    return placed


def _pending(tree: TopicTree, record: TopicMapRecord) -> NDArray[np.intp]:
    """Return the queries that were added, now or earlier, and are in no topic."""
    added = record.step_of == record.steps.index(ADDED)
    without = np.array([key == OUTLIER for key in tree.topic_of], dtype=bool)
    kept = np.array([query not in tree.dropped for query in tree.query_ids], dtype=bool)
    return np.flatnonzero(added & without & kept)


def _change(
    database: Database,
    before: TopicTree,
    record: TopicMapRecord,
    embedded: EmbeddedQueries,
    *,
    settings: ClusteringSettings,
    name: NameTopics,
) -> Grow:
    pending = _pending(before, record)
    family_of = set_aside([query.text for query in embedded.queries], settings.templates)
    aside = _aside(before, family_of, pending)
    rows = np.setdiff1d(pending, aside)
    known = _with_a_topic(before)
    keys, where = _placements(before, embedded, known, rows)
    fits = where.confidence >= settings.growth.fits
    assigned = _assigned(before, keys, rows[fits], where.nearest[fits], where.confidence[fits])
    left = rows[~fits]
    # What was never in a topic is as many queries as there are in all, for how large a topic should be.
    parameters = replace(
        settings.topics.parameters(int(np.sum(family_of == NO_TEMPLATE))),
        by_distributions=False,
        by_embeddings=False,
    )
    groups = _groups(embedded, left, known, parameters)
    new = _new_topics(database, before, record, embedded, groups, settings=settings)
    new = name(new, [[embedded.queries[row].text for row in group] for group in groups])
    placed = [
        Placed(topic.key, tuple(before.query_ids[row] for row in group))
        for topic, group in zip(new, groups, strict=True)
    ]
    dropped = tuple(before.query_ids[row] for row in aside)
    if dropped:
        placed.append(Placed(TEMPLATES_KEY, dropped))
        new = new if TEMPLATES_KEY in before else (*new, templates_topic())
    return Grow(new, assigned, tuple(placed), dropped)


def _aside(before: TopicTree, family_of: NDArray[np.int32], pending: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the added queries that follow a template, unless older queries of the same one are kept."""
    is_new = np.zeros(len(family_of), dtype=bool)
    is_new[pending] = True
    kept = np.array([query not in before.dropped for query in before.query_ids], dtype=bool)
    restored = set(family_of[~is_new & kept].tolist())
    return np.array([row for row in pending if family_of[row] not in restored | {NO_TEMPLATE}], dtype=np.intp)


def _with_a_topic(before: TopicTree) -> NDArray[np.intp]:
    """Return the queries that are kept in a topic."""
    rows = [
        row
        for row, (query, key) in enumerate(zip(before.query_ids, before.topic_of, strict=True))
        if key not in (OUTLIER, TEMPLATES_KEY) and query not in before.dropped
    ]
    return np.array(rows, dtype=np.intp)


def _placements(
    before: TopicTree, embedded: EmbeddedQueries, known: NDArray[np.intp], rows: NDArray[np.intp]
) -> tuple[list[str], Placement]:
    """Return the keys of the topics that have queries, and where queries would go among them."""
    of_known = [before.topic_of[row] for row in known]
    keys = sorted(set(of_known))
    number = {key: place for place, key in enumerate(keys)}
    topic_of = np.array([number[key] for key in of_known], dtype=np.intp)
    return keys, place(embedded.vectors[known], topic_of, embedded.vectors[rows])


def _assigned(
    before: TopicTree,
    keys: Sequence[str],
    rows: NDArray[np.intp],
    nearest: NDArray[np.intp],
    confidence: NDArray[np.float64],
) -> tuple[Assigned, ...]:
    found = []
    for topic in np.unique(nearest).tolist():
        of_topic = np.flatnonzero(nearest == topic)
        queries = tuple(before.query_ids[rows[place]] for place in of_topic)
        sure = tuple(round(float(confidence[place]), 3) for place in of_topic)
        found.append(Assigned(keys[topic], queries, sure))
    return tuple(found)


def _groups(
    embedded: EmbeddedQueries,
    left: NDArray[np.intp],
    known: NDArray[np.intp],
    parameters: TopicParameters,
) -> list[NDArray[np.intp]]:
    """Return the groups that queries form which fit no topic, the largest first; few form none.

    They are clustered among those that have a topic: a single group is only seen as one beside others.
    """
    if len(left) < parameters.smallest_cluster:
        return []
    beside = known[np.linspace(0, len(known) - 1, min(len(known), _BESIDE)).astype(np.intp)]
    rows = np.concatenate([left, beside])
    if len(rows) < max(min_texts(parameters), parameters.neighbours + 2):
        return []
    words = [embedded.words[row] for row in rows]
    found = find_topics(words, embedded.vectors[rows], parameters, any_script=True)
    if found is None:
        return []
    of_left, of_others = found.topic_of[: len(left)], found.topic_of[len(left) :]
    groups = []
    for group in range(int(found.topic_of.max()) + 1):
        within = left[of_left == group]
        is_new = len(within) > np.sum(of_others == group)
        if is_new and len(within) >= parameters.smallest_cluster:
            groups.append(within)
    return sorted(groups, key=lambda group: (-len(group), int(group[0])))


def _new_topics(
    database: Database,
    before: TopicTree,
    record: TopicMapRecord,
    embedded: EmbeddedQueries,
    groups: Sequence[NDArray[np.intp]],
    *,
    settings: ClusteringSettings,
) -> tuple[FoundTopic, ...]:
    """Return the new topics with names that no topic has, under keys that none has."""
    if not groups:
        return ()
    read = embed_queries(database, embedded.queries, make_encoder(EncoderSettings()))
    listed = ListedQueries.of([query.text for query in read.queries], read.vectors, catalogue())
    taken = [topic.name for topic in (*before.topics, *record.topics)]
    names = plain_names(listed, groups, taken)
    group_of = np.full(len(embedded.queries), -1, dtype=np.int32)
    for number, group in enumerate(groups):
        group_of[group] = number
    categories = [name.category for name in names]
    if settings.categories.how == "dailybench":
        categories = nearest_categories(database, read.vectors, group_of)
    words = group_keywords(
        embedded.words, group_of, settings.topics.keywords, damp_frequent=settings.topics.damp_frequent
    )
    used = [topic.key.split(".")[0] for topic in (*before.topics, *record.topics)]
    first = 1 + max((int(key) for key in used if key.isdecimal()), default=-1)
    return tuple(
        FoundTopic(str(first + number), name.name, category, name.summary, keywords)
        for number, (name, category, keywords) in enumerate(zip(names, categories, words, strict=True))
    )


def growth_report(slug: str, growth: Growth) -> Iterator[str]:
    """Say in one table what became of the queries that were added."""
    action, before = growth.action, growth.before
    yield f"{slug}: {growth.n_added:,} queries were added; the topics stay as they are."
    rows: list[tuple[str, str, int, int, str]] = [
        (each.topic, before.name_of(each.topic), before.own_size(each.topic), len(each.queries), _sure(each))
        for each in sorted(action.assigned, key=lambda each: (-len(each.queries), each.topic))
    ]
    names = {topic.key: topic.name for topic in action.topics}
    for group in action.placed:
        key = group.topic
        label = "set aside as template prompts" if key == TEMPLATES_KEY else f"{names[key]} (new)"
        rows.append((key, label, 0, len(group.queries), ""))
    if growth.n_left or not rows:
        rows.append((OUTLIER, "without a topic", 0, growth.n_left, ""))
    width = max(len(label) for _, label, *_ in rows)
    yield f"{'key':<9}  {'topic':<{width}}  {'before':>6}  {'added':>6}  confidence"
    for key, label, size, count, sure in rows:
        earlier = f"{size:,}" if size else ""
        yield f"{key:<9}  {label:<{width}}  {earlier:>6}  {count:>6,}  {sure}".rstrip()


def _sure(assigned: Assigned) -> str:
    return f"{median(assigned.confidence):.2f}, at least {min(assigned.confidence):.2f}"
