"""Topics and their curation in the database: read, changed by one person at a time, undone, and logged."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.orm import Session

from db import Database
from db.database import exclusive
from db.repositories import pools, representations
from db.source_records import CurationRecord, PoolQueryRecord, PoolRecord, TopicMapRecord
from leaderboard.cache import SharedCache
from leaderboard.errors import LeaderboardError
from leaderboard.topics.actions import (
    Action,
    DropQueries,
    Grow,
    Import,
    Merge,
    MoveQueries,
    MoveToCategory,
    Rename,
    RenameCategory,
    Restore,
    Split,
    action_from_json,
    action_to_json,
    apply,
    make,
)
from leaderboard.topics.split import propose_split
from leaderboard.topics.tree import TopicTree, difference
from leaderboard.topics.yaml_file import read_topics, write_topics
from parsing.messages import quantity


@dataclass(frozen=True)
class Edit:
    """One line of the log: what was done, why and when (UTC); `undone_at` where it was undone."""

    position: int
    what: str
    reason: str
    created_at: datetime
    undone_at: datetime | None


def replay(found: TopicTree, log: Iterable[CurationRecord]) -> TopicTree:
    """Return the curated tree: every change of the log that is not undone, made to the found topics in order.

    Raises as ``action_from_json`` and ``make``.
    """
    tree = found
    for record in log:
        if record.undone_at is None:
            tree = make(tree, action_from_json(record.action))
    return tree


def history(found: TopicTree, log: Sequence[CurationRecord]) -> tuple[Edit, ...]:
    """Return the log in words, oldest first, undone changes included.

    Raises as ``replay``.
    """
    tree, edits = found, []
    for record in log:
        action = action_from_json(record.action)
        edits.append(
            Edit(record.position, in_words(tree, action), record.reason, record.created_at, record.undone_at)
        )
        if record.undone_at is None:
            tree = make(tree, action)
    return tuple(edits)


def in_words(before: TopicTree, action: Action) -> str:
    """Return what an action does to a tree, as a phrase such as “Renamed “Soup” to “Broth””."""
    match action:
        case Rename(topic, name, summary):
            phrase = _rename(before.name_of(topic), name, summary)
        case Merge(topics, into):
            phrase = f"Merged {_names(before, topics)} into “{before.name_of(into)}”"
        case Split(topic, parts):
            names = ", ".join(f"“{part.name}”" for part in parts)
            phrase = f"Split “{before.name_of(topic)}” into {names}"
        case MoveToCategory(topics, category):
            phrase = f"Moved {_names(before, topics)} to the category “{category}”"
        case RenameCategory(category, new):
            phrase = f"Renamed the category “{category}” to “{new}”"
        case MoveQueries(queries, topic):
            phrase = f"Moved {_count(queries)} to “{before.name_of(topic)}”"
        case DropQueries(queries):
            phrase = f"Dropped {_count(queries)}"
        case Restore(queries):
            phrase = f"Restored {_count(queries)}"
        case Grow(new):
            n_placed = sum(len(queries) for _, queries in action.places)
            phrase = f"Placed {quantity(n_placed, 'added query')}"
            phrase += f", with {quantity(len(new), 'new topic')}" if new else ""
        case Import(source):
            phrase = f"Import of {source}{_what_an_import_does(before, action)}"
    return phrase


def _rename(old: str, name: str | None, summary: str | None) -> str:
    if name is None:
        return f"Wrote another summary of “{old}”"
    return f"Renamed “{old}” to “{name}”" + (" with another summary" if summary is not None else "")


def _what_an_import_does(before: TopicTree, action: Import) -> str:
    try:
        return f": {difference(before, apply(before, action))}"
    except LeaderboardError:
        # An undone one, whose topics were changed otherwise afterwards.
        return ""


def _names(tree: TopicTree, keys: Sequence[str]) -> str:
    return ", ".join(f"“{tree.name_of(key)}”" for key in keys)


def _count(queries: Sequence[str]) -> str:
    return quantity(len(queries), "query")


MAX_REASON = 500
_KEPT = 4
_PATIENCE = 10.0
"""Seconds that a change waits for another one to be written."""


@dataclass(frozen=True, eq=False)
class CuratedTopics:
    """The topics of a pool as people have left them.

    Attributes:
        queries: Its queries, in position order. Those that were added after the topics were found come last
            and are in no tree.
        record: The topics as they were found, with the figures that judge them.
        tree: The tree after curation.
    """

    pool: PoolRecord
    queries: tuple[PoolQueryRecord, ...]
    record: TopicMapRecord
    found: TopicTree
    tree: TopicTree
    log: tuple[CurationRecord, ...]

    @property
    def version(self) -> str:
        """Tells this state of the topics from every earlier and later one."""
        return _version(self.record.digest, self.log)

    @property
    def identity(self) -> str:
        """Tells these topics, with the names that they were found with, from any others."""
        return f"{self.pool.slug}:{self.pool.updated_at.isoformat()}:{self.version}"

    @property
    def n_new(self) -> int:
        """How many queries were added to the pool after the topics were found."""
        return len(self.queries) - len(self.tree.query_ids)

    @property
    def last(self) -> CurationRecord | None:
        """The change that an undo would take back."""
        return next((edit for edit in reversed(self.log) if edit.undone_at is None), None)

    @cached_property
    def texts(self) -> Mapping[str, str]:
        """Texts of the queries by id."""
        return {query.id: query.text for query in self.queries}

    @cached_property
    def history(self) -> tuple[Edit, ...]:
        """The log in words, oldest first."""
        return history(self.found, self.log)

    @cached_property
    def positions(self) -> Mapping[str, int]:
        """Places of the queries in the arrays of the record, by id."""
        return {query: place for place, query in enumerate(self.tree.query_ids)}


_Stored = tuple[tuple[PoolQueryRecord, ...], TopicMapRecord, TopicTree]
"""A pool's queries and its topics as they were found."""


class Curation:
    """The topics of one database's pools; may be shared between threads."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._stored: SharedCache[_Stored] = SharedCache(_KEPT)
        self._curated: SharedCache[CuratedTopics] = SharedCache(_KEPT)

    def pools(self) -> list[PoolRecord]:
        """Return all pools, by title."""
        with self.database.session() as session:
            return pools.list_pools(session)

    def read(self, slug: str) -> CuratedTopics:
        """Return the topics of a pool as they are now; kept in memory until they change.

        Raises:
            NotFoundError: There is no such pool; no topics were looked for in it.
            LeaderboardError: A stored change cannot be read.
        """
        with self.database.session() as session:
            return self._read(session, slug)

    def edit(self, slug: str, action: Action, reason: str, seen: str | None = None) -> CuratedTopics:
        """Make a change, with time and reason in the log, and return the topics after it.

        Args:
            seen: The version that the person looked at; None where nobody looked.

        Raises:
            LeaderboardError: They are no longer those of ``seen``; the change is impossible or has no
                reason.
            DatabaseError: Others are writing for too long.
            LeaderboardError, DatabaseError: As ``read``.
        """
        reason = " ".join(reason.split())
        if not reason:
            raise LeaderboardError("Say why, in a few words: the log keeps the reason of every change.")
        if len(reason) > MAX_REASON:
            raise LeaderboardError(f"The reason has {len(reason)} characters: at most {MAX_REASON} are kept.")
        with exclusive(self.database.engine, _PATIENCE), self.database.session() as session:
            apply(self._unchanged(session, slug, seen).tree, action)
            pools.add_curation(session, pools.find_pool(session, slug), action_to_json(action), reason)
        return self.read(slug)

    def undo(self, slug: str, seen: str | None = None) -> CuratedTopics:
        """Take back the last change that is not undone; it stays in the log.

        Raises:
            LeaderboardError: The topics are no longer those of ``seen``; there is nothing to undo.
            DatabaseError: Others are writing for too long.
            LeaderboardError, DatabaseError: As ``read``.
        """
        with exclusive(self.database.engine, _PATIENCE), self.database.session() as session:
            self._unchanged(session, slug, seen)
            if pools.undo_curation(session, pools.find_pool(session, slug)) is None:
                raise LeaderboardError("There is no change to undo.")
        return self.read(slug)

    def split(self, topics: CuratedTopics, key: str, n_parts: int) -> Split:
        """Return a proposal to split a topic by its queries' meaning; raises as ``propose_split``."""
        members = topics.tree.queries_of([topics.tree[key].key], dropped=True)
        points = dict(zip(members, self.points(topics, members), strict=True))
        return propose_split(topics.tree, key, n_parts, topics.texts, points)

    def examples(self, topics: CuratedTopics, key: str, count: int) -> list[str]:
        """Ids of a topic's kept queries, nearest its centre first; a LeaderboardError for no such topic."""
        members = topics.tree.queries_of(topics.tree.family(topics.tree[key].key))
        if not members:
            return []
        points = self.points(topics, members)
        distance = np.linalg.norm(points - points.mean(axis=0), axis=1)
        return [members[place] for place in np.argsort(distance, kind="stable")[:count]]

    def points(self, topics: CuratedTopics, queries: tuple[str, ...]) -> NDArray[np.float32]:
        """Return where queries lie ``[n, d]``: their unit-length embeddings, or their places on the map.

        The map is used where the embedding of one of them is not stored.
        """
        positions = [topics.positions[query] for query in queries]
        sha256s = [topics.queries[position].sha256 for position in positions]
        encoder = topics.record.settings.get("encoder")
        if queries and isinstance(encoder, str):
            with self.database.session() as session:
                known = representations.known_embeddings(session, encoder, sha256s)
            if known.keys() >= set(sha256s):
                vectors = np.stack([known[sha256] for sha256 in sha256s])
                return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True).clip(1e-9))
        return topics.record.xy[positions]

    def export(self, topics: CuratedTopics, *, with_texts: bool = False) -> str:
        """Return the curated topics as YAML; `import_of` reads it back."""
        texts = topics.texts if with_texts else None
        return write_topics(topics.tree, pool=topics.pool.slug, digest=topics.record.digest, texts=texts)

    def import_of(self, topics: CuratedTopics, content: bytes, file: str) -> Import | None:
        """Return the change that a file of topics asks for, None for none; raises as ``read_topics``."""
        return read_topics(content, file, topics.tree, topics.record.digest)

    def delete(self, slug: str) -> None:
        """Delete a pool, or raise a NotFoundError; benchmarks sampled from it stay."""
        with exclusive(self.database.engine, _PATIENCE), self.database.session() as session:
            pools.delete_pool(session, pools.find_pool(session, slug))

    def _unchanged(self, session: Session, slug: str, seen: str | None) -> CuratedTopics:
        topics = self._read(session, slug)
        if seen is not None and seen != topics.version:
            raise LeaderboardError("Somebody else changed the topics meanwhile: look again.")
        return topics

    def _read(self, session: Session, slug: str) -> CuratedTopics:
        found = pools.find_pool(session, slug)
        pool = pools.get_pool(session, found)
        digest = pools.topic_map_digest(session, found)
        log = pools.curation_of(session, found)
        identity = (slug, digest, pool.updated_at)
        queries, record, tree = self._stored.get(identity, lambda: _load(session, slug))
        return self._curated.get(
            (identity, _version(digest, log)),
            lambda: CuratedTopics(pool, queries, record, tree, replay(tree, log), log),
        )


def _load(session: Session, slug: str) -> _Stored:
    pool = pools.find_pool(session, slug)
    queries = pools.pool_queries(session, pool)
    record = pools.get_topic_map(session, pool)
    return queries, record, TopicTree.found(record, [query.id for query in queries])


def _version(digest: str, log: tuple[CurationRecord, ...]) -> str:
    """Undone changes stay in the log, so that both numbers only ever grow."""
    return f"{digest}:{len(log)}:{sum(edit.undone_at is not None for edit in log)}"
