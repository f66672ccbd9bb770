"""Samples a benchmark from the curated topics of a pool, and freezes it as a version."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from difflib import get_close_matches
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.orm import Session

from db import Database
from db.database import exclusive
from db.records import BenchmarkInfo, CategoryTree, QuerySource, SampleRecord, StepCount
from db.repositories.benchmarks import freeze, last_version, list_benchmarks, sampled_as, upsert_benchmark
from db.repositories.contents import upsert_categories, upsert_queries
from db.repositories.removal import removed_benchmarks
from db.source_records import PoolQueryRecord
from leaderboard.topics.curation import CuratedTopics, Curation
from leaderboard.topics.tree import TopicTree
from parsing.messages import quantity
from precompute.embed import embed_benchmark
from precompute.errors import PrecomputeError
from precompute.load import check_slug
from precompute.preferences import steps_table
from precompute.safety import SafetyList
from precompute.topics.encoders import embed_queries, make_encoder
from precompute.topics.plain_names import distinct_name
from precompute.topics.settings import EncoderSettings

Place = tuple[str, str]
"""A category and one of its topics."""


@dataclass(frozen=True, slots=True)
class SampleSummary:
    """What was sampled.

    Attributes:
        slug: The benchmark, a version of its family.
        is_new: Whether it was written now, or was there with the same contents.
        n_topics: Topics that gave queries.
        counts: Queries that were left after each step.
        unsafe: Queries that the safety list dropped, by theme.
        short: Topics that had fewer queries than asked for, with how many they gave.
        n_asked: Queries that were asked for in all; None where a number a topic was.
    """

    slug: str
    is_new: bool
    n_topics: int
    n_queries: int
    counts: tuple[StepCount, ...]
    unsafe: Mapping[str, int]
    short: Mapping[str, int]
    n_asked: int | None = None


@dataclass(frozen=True, slots=True)
class _Drawn:
    queries: tuple[QuerySource, ...]
    categories: tuple[CategoryTree, ...]
    counts: tuple[StepCount, ...]
    unsafe: Mapping[str, int]
    short: Mapping[str, int]

    @property
    def digest(self) -> str:
        """Tells these queries in these topics from others."""
        content = [(query.sha256, query.category, query.topic) for query in self.queries]
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def sample_benchmark(
    database: Database,
    pool: str,
    family: str,
    settings: SampleSettings,
    safety: SafetyList,
    *,
    title: str | None = None,
    licence: str = "",
    attribution: str = "",
) -> SampleSummary:
    """Sample queries of every topic of a pool and freezes them as the next version of a benchmark.

    A version is written whole or not at all and never changes: LLMs may be added to it, queries not. A sample
    that equals a version of the family is that version.

    Args:
        pool: the pool, whose topics have been found and perhaps curated.
        family: what the versions of the benchmark share: version 1 has the slug “family-v1”.
        settings: how many queries a topic gives, and which are left out.
        safety: words that keep a query out.
        licence: of the queries.

    Raises:
        PrecomputeError: the family is no slug; a topic is named that is not there; no query is left; the
            message says after which step.
        NotFoundError: there is no such pool, or it has no topics yet.
    """
    check_slug(family)
    topics = Curation(database).read(pool)
    drawn = _drawn(database, topics, settings, safety)
    # The slug comes with the version.
    info = BenchmarkInfo(
        slug="",
        title=title or topics.pool.title,
        description=(
            f"Queries of the query pool “{topics.pool.title}”, up to {settings.amount}, "
            f"drawn with seed {settings.seed}."
        ),
        licence=licence,
        attribution=attribution,
    )
    record = SampleRecord(
        family, 0, drawn.digest, {"pool": pool, **settings.to_json(), "safety": safety.version}, drawn.counts
    )
    with exclusive(database.engine), database.session() as session:
        known = sampled_as(session, family, drawn.digest)
        slug = known or _write(session, info, drawn, record)
    embed_benchmark(database, slug)
    return SampleSummary(
        slug,
        known is None,
        sum(len(category.topics) for category in drawn.categories),
        len(drawn.queries),
        drawn.counts,
        drawn.unsafe,
        drawn.short,
        settings.size,
    )


def _write(session: Session, info: BenchmarkInfo, drawn: _Drawn, record: SampleRecord) -> str:
    # A version that was removed does not become another one.
    taken = {summary.slug for summary in list_benchmarks(session)} | removed_benchmarks(session)
    version = last_version(session, record.family) + 1
    while f"{record.family}-v{version}" in taken:
        version += 1
    slug = f"{record.family}-v{version}"
    # Lists show titles alone.
    titled = replace(info, slug=slug, title=f"{info.title}, v{version}", version=str(version))
    benchmark = upsert_benchmark(session, titled)
    upsert_categories(session, benchmark, drawn.categories)
    upsert_queries(session, benchmark, drawn.queries)
    freeze(session, benchmark, replace(record, version=version))
    return slug


def _drawn(database: Database, topics: CuratedTopics, settings: SampleSettings, safety: SafetyList) -> _Drawn:
    """Leave queries out step by step, counting, and draws from what is left."""
    places = _places(topics.tree, settings)
    counts = [StepCount("queries in the pool", len(topics.queries))]
    left = [query for query in topics.queries if query.id in places]
    counts.append(StepCount("in a topic that is sampled", len(left)))
    left = [query for query in left if settings.shortest <= len(query.text.strip()) <= settings.longest]
    counts.append(StepCount(f"{settings.shortest:,} to {settings.longest:,} characters long", len(left)))
    themes = {query.id: safety.theme_of(query.text) for query in left}
    unsafe = Counter(theme for theme in themes.values() if theme is not None)
    left = [query for query in left if themes[query.id] is None]
    counts.append(StepCount("not on the safety list", len(left)))
    left = _without_near_duplicates(database, left, settings.near)
    counts.append(StepCount("not a near-duplicate of one before", len(left)))
    if not left:
        step = next(count.step for count in counts if count.kept == 0)
        raise PrecomputeError(f"No query of the pool is left after the step “{step}”: loosen it.")
    by_place: dict[Place, list[str]] = {place: [] for place in places.values()}
    for query in left:
        by_place[places[query.id]].append(query.id)
    if settings.size is None:
        chosen = draw(by_place, settings.per_topic, settings.seed)
    else:
        picked = draw_across({query.id: places[query.id] for query in left}, settings.size, settings.seed)
        chosen = {
            place: tuple(query for query in by_priority(ids, settings.seed) if query in picked)
            for place, ids in by_place.items()
        }
    drawn = [query for place in by_place for query in chosen[place]]
    counts.append(StepCount(f"drawn, {settings.amount}", len(drawn)))
    records = {query.id: query for query in left}
    return _Drawn(
        tuple(
            QuerySource(query, *places[query], records[query].sha256, records[query].text) for query in drawn
        ),
        _categories(topics.tree, [place for place in by_place if chosen[place]]),
        tuple(counts),
        dict(unsafe.most_common()),
        {
            f"{category} / {topic}": len(ids)
            for (category, topic), ids in by_place.items()
            if len(ids) < settings.per_topic and settings.size is None
        },
    )


def _places(tree: TopicTree, settings: SampleSettings) -> dict[str, Place]:
    """Category and topic of every query that may be drawn, in the order of the topics."""
    known = {topic.name for topic in tree.topics} | set(tree.categories)
    for name in settings.topics:
        if name not in known:
            close = get_close_matches(name, list(known), n=3)
            hint = f"did you mean {', '.join(map(repr, close))}?" if close else "“topics show” lists them."
            raise PrecomputeError(f"The pool has no topic or category {name!r}; {hint}")
    places: dict[str, Place] = {}
    names: dict[str, set[str]] = {}
    for category in tree.categories:
        for root in tree.roots:
            if root.category != category:
                continue
            family = tree.family(root.key)
            groups = [(key, (key,)) for key in family] if settings.parts else [(root.key, family)]
            for key, keys in groups:
                if settings.topics and not {category, root.name, tree[key].name} & set(settings.topics):
                    continue
                queries = tree.queries_of(keys)
                if not queries:
                    continue
                # Topics as they were found may bear one name twice.
                name = distinct_name(tree[key].name, names.setdefault(category, set()))
                names[category].add(name)
                places |= dict.fromkeys(queries, (category, name))
    return places


def _without_near_duplicates(
    database: Database, queries: Sequence[PoolQueryRecord], near: float
) -> list[PoolQueryRecord]:
    """Queries without those that say nearly what one before them says, as the bundled encoder reads them."""
    if not queries:
        return []
    embedded = embed_queries(database, tuple(queries), make_encoder(EncoderSettings()))
    kept = first_of_their_kind(embedded.vectors, near)
    return [query for query, keep in zip(queries, kept.tolist(), strict=True) if keep]


def _categories(tree: TopicTree, places: Sequence[Place]) -> tuple[CategoryTree, ...]:
    return tuple(
        CategoryTree(category, topics)
        for category in tree.categories
        if (topics := tuple(topic for of, topic in places if of == category))
    )


@dataclass(frozen=True, slots=True)
class SampleSettings:
    """How a benchmark is sampled; the defaults are the paper's where it names any.

    Attributes:
        per_topic: Queries of each topic; a topic of fewer gives all it has.
        seed: Of the drawing.
        shortest: Least characters of a query.
        longest: Most characters of a query.
        near: Cosine of two queries' embeddings from which the later one is a near-duplicate; 1 keeps all.
        parts: Whether the parts of large topics are drawn from as topics of their own.
        topics: Only these topics or categories, by name; none means all.
        size: Queries in all, drawn so that each topic has about its share of them; None for so many a topic.
        baseline: The LLM that is to become the benchmark's baseline as soon as it has answered; None for the
            first LLM that does.
    """

    per_topic: int = 6
    seed: int = 0
    shortest: int = 12
    longest: int = 4000
    near: float = 0.95
    parts: bool = True
    topics: tuple[str, ...] = ()
    size: int | None = None
    baseline: str | None = None

    def __post_init__(self) -> None:
        """Check the settings. Raises PrecomputeError: No query could be drawn with them."""
        if self.per_topic < 1:
            raise PrecomputeError("A topic gives at least one query: --per-topic is 1 or more.")
        if self.size is not None and self.size < 1:
            raise PrecomputeError("A benchmark has at least one query: --size is 1 or more.")
        if not 0 <= self.shortest <= self.longest:
            raise PrecomputeError(
                f"No query has at least {self.shortest:,} and at most {self.longest:,} characters: "
                "fix --shortest and --longest."
            )
        if not 0 < self.near <= 1:
            raise PrecomputeError("--near is a cosine above 0 and up to 1; 1 keeps near-duplicates.")

    def to_json(self) -> dict[str, Any]:
        """Return the same as JSON."""
        given = asdict(self) | {"topics": list(self.topics)}
        return {key: value for key, value in given.items() if value is not None}

    @property
    def amount(self) -> str:
        """How much is drawn, “6 a topic” or “300 across topics”."""
        return f"{self.per_topic} a topic" if self.size is None else f"{self.size:,} across topics"


Topic = TypeVar("Topic", bound=Hashable)


def draw(members: Mapping[Topic, Sequence[str]], count: int, seed: int) -> dict[Topic, tuple[str, ...]]:
    """So many queries of each topic, or all of a topic that has no more; another seed draws others."""
    return {topic: tuple(by_priority(queries, seed)[:count]) for topic, queries in members.items()}


def by_priority(queries: Iterable[str], seed: int) -> list[str]:
    """Ids of queries in the order in which a seed draws them."""
    return sorted(queries, key=lambda query: hashlib.sha256(f"{seed}:{query}".encode()).digest())


def draw_across(topics: Mapping[str, Hashable], count: int, seed: int) -> frozenset[str]:
    """Draw so many queries in all, of each topic about its share; more of them contain what fewer do.

    Systematic sampling: the queries of a topic, in the order in which the seed draws them, stand at equal
    distances from 0 to 1, and the first ones of all are drawn.

    Args:
        topics: The topic of each query, by the query's id.
    """
    members: dict[Hashable, list[str]] = {}
    for query in by_priority(topics, seed):
        members.setdefault(topics[query], []).append(query)
    place = {
        query: (number + _start(topic, seed)) / len(queries)
        for topic, queries in members.items()
        for number, query in enumerate(queries)
    }
    return frozenset(sorted(place, key=place.__getitem__)[:count])


def _start(topic: Hashable, seed: int) -> float:
    """Return a number in [0, 1) that differs from topic to topic: the smallest are not always left out."""
    return int.from_bytes(hashlib.sha256(f"{seed}:{topic}".encode()).digest()[:8], "big") / 2**64


_BLOCK = 512


def first_of_their_kind(vectors: NDArray[np.float32], near: float) -> NDArray[np.bool_]:
    """Return which of Q queries are kept ``[Q]``: those that are near no kept query before them.

    Args:
        vectors: Embeddings ``[Q, d]``, of unit length.
        near: Cosine from which two queries are near; at 1 all are kept.
    """
    kept = np.ones(len(vectors), dtype=bool)
    if near >= 1:
        return kept
    for start in range(0, len(vectors), _BLOCK):
        block = vectors[start : start + _BLOCK]
        before = vectors[:start][kept[:start]]
        if len(before):
            kept[start : start + _BLOCK] = (block @ before.T).max(axis=1) < near
        inside = block @ block.T >= near
        for row in range(1, len(block)):
            kept[start + row] &= not (inside[row, :row] & kept[start : start + row]).any()
    return kept


def sample_report(summary: SampleSummary) -> Iterator[str]:
    """Return the steps with their counts, what the safety list dropped, short topics, and the benchmark."""
    yield steps_table(summary.counts)
    if summary.unsafe:
        dropped = ", ".join(f"{theme} {n:,}" for theme, n in summary.unsafe.items())
        yield f"dropped by the safety list: {dropped}."
    if summary.short:
        fewer = ", ".join(f"{topic} ({n:,})" for topic, n in summary.short.items())
        yield f"note: fewer queries than asked for in {fewer}."
    if summary.n_asked is not None and summary.n_queries < summary.n_asked:
        yield f"note: {summary.n_asked:,} queries were asked for, and no more are left."
    what = f"{quantity(summary.n_queries, 'query')} of {quantity(summary.n_topics, 'topic')}"
    if summary.is_new:
        yield f"{summary.slug}: {what}, frozen."
    else:
        yield f"{summary.slug}: {what}; this version has these queries already, nothing was written."
