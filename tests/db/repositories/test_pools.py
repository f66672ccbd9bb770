"""Pools, their topics and curation, embeddings by content, and frozen samples."""

import numpy as np
import pytest

from db import Database
from db.errors import DatabaseError, NotFoundError
from db.records import SampleRecord, StepCount
from db.repositories import benchmarks, contents, pools, representations
from db.serialization import text_sha256
from db.source_records import FoundTopic, TopicMapRecord
from tests.db import samples as tiny

POOL = "daily"


def topic_map(digest: str = "d" * 64) -> TopicMapRecord:
    return TopicMapRecord(
        topics=(
            FoundTopic("0", "Soup", "Food", "About soup.", ("soup", "hot")),
            FoundTopic("0.0", "Cold soup", "Food", parent="0"),
        ),
        steps=("clustered", "c-tf-idf"),
        topic_of=np.array([1, 0], dtype=np.int32),
        step_of=np.array([0, 1], dtype=np.int8),
        xy=np.array([[0.5, 1.0], [2.0, -1.0]], dtype=np.float32),
        pool_digest="p" * 64,
        digest=digest,
        settings={"seed": 3},
        quality={"coherence": 0.4},
    )


@pytest.fixture
def pooled(database: Database) -> Database:
    with database.session() as session:
        pools.put_pool(session, POOL, "Daily")
        pools.add_to_pool(
            session,
            pools.find_pool(session, POOL),
            [("Soup?", "arena:1"), ("Bread?", "arena:2"), ("Soup?", "flask:9")],
        )
    return database


def test_a_pool_has_every_text_once_in_the_order_it_came(pooled: Database) -> None:
    with pooled.session() as session:
        pool = pools.find_pool(session, POOL)
        n_added = pools.add_to_pool(session, pool, [("Bread?", "x:1"), ("Cake\N{NULL}?", "x:2")])
        queries = pools.pool_queries(session, pool)
        record = pools.get_pool(session, pool)

    assert n_added == 1
    assert [(query.text, query.origin) for query in queries] == [
        ("Soup?", "arena:1"),
        ("Bread?", "arena:2"),
        ("Cake\N{REPLACEMENT CHARACTER}?", "x:2"),
    ]
    assert queries[0].id == text_sha256("Soup?")[:16]
    assert (record.title, record.n_queries, record.has_topics) == ("Daily", 3, False)


def test_an_unknown_pool_is_named_with_the_known_ones(pooled: Database) -> None:
    with pooled.session() as session, pytest.raises(NotFoundError, match="'dayly'; known are 'daily'"):
        pools.pool_queries(session, pools.find_pool(session, "dayly"))


def test_topics_come_back_as_they_were_found(pooled: Database) -> None:
    with pooled.session() as session:
        pool = pools.find_pool(session, POOL)
        pools.put_topic_map(session, pool, topic_map())
        found = pools.get_topic_map(session, pool)

    assert found.topics == topic_map().topics
    assert (found.steps, found.settings, found.quality) == (
        ("clustered", "c-tf-idf"),
        {"seed": 3},
        {"coherence": 0.4},
    )
    np.testing.assert_array_equal(found.topic_of, [1, 0])
    np.testing.assert_array_equal(found.xy, topic_map().xy)


def test_a_pool_without_topics_says_how_to_find_some(pooled: Database) -> None:
    with pooled.session() as session, pytest.raises(NotFoundError, match="precompute cluster daily"):
        pools.get_topic_map(session, pools.find_pool(session, POOL))


def test_curation_is_a_log_in_which_what_was_undone_stays(pooled: Database) -> None:
    with pooled.session() as session:
        pool = pools.find_pool(session, POOL)
        pools.put_topic_map(session, pool, topic_map())
        for name in ("a", "b", "c"):
            pools.add_curation(session, pool, {"rename": name}, f"because {name}")
        undone = [pools.undo_curation(session, pool) for _ in range(2)]
        pools.add_curation(session, pool, {"rename": "d"}, "")
        log = pools.curation_of(session, pool)

    assert [edit.action["rename"] for edit in undone if edit] == ["c", "b"]
    assert [(edit.position, edit.action["rename"], edit.undone_at is None) for edit in log] == [
        (0, "a", True),
        (1, "b", False),
        (2, "c", False),
        (3, "d", True),
    ]
    assert log[1].reason == "because b"


def test_new_topics_start_without_curation(pooled: Database) -> None:
    with pooled.session() as session:
        pool = pools.find_pool(session, POOL)
        pools.put_topic_map(session, pool, topic_map())
        pools.add_curation(session, pool, {"rename": "a"}, "")
        pools.put_topic_map(session, pool, topic_map("e" * 64))

        assert pools.curation_of(session, pool) == ()
        assert pools.undo_curation(session, pool) is None


def test_a_pool_is_deleted_with_its_topics(pooled: Database) -> None:
    with pooled.session() as session:
        pool = pools.find_pool(session, POOL)
        pools.put_topic_map(session, pool, topic_map())
        pools.delete_pool(session, pool)

        assert pools.list_pools(session) == []


def test_embeddings_are_found_by_content_and_encoder(database: Database) -> None:
    vectors = {f"{number:064d}": np.full(3, number, dtype=np.float32) for number in range(1200)}
    with database.session() as session:
        representations.put_embeddings(session, "minilm", vectors)
        known = representations.known_embeddings(session, "minilm", [*vectors, "f" * 64])
        others = representations.known_embeddings(session, "qwen", vectors)

    assert known.keys() == vectors.keys()
    np.testing.assert_array_equal(known[f"{7:064d}"], [7, 7, 7])
    assert others == {}


def sample(version: int = 1) -> SampleRecord:
    return SampleRecord(
        "tiny", version, "a" * 64, {"seed": 1}, (StepCount("queries", 9), StepCount("drawn", 3))
    )


def test_a_frozen_benchmark_keeps_its_queries_and_topics(filled: Database) -> None:
    with filled.session() as session:
        benchmark = benchmarks.find_benchmark(session, tiny.SLUG)
        benchmarks.freeze(session, benchmark, sample())
        stored = benchmarks.sample_of(session, benchmark)

    assert stored is not None
    assert (stored.version, stored.counts) == (1, sample().counts)
    for change in (
        lambda session: contents.upsert_queries(
            session, benchmarks.find_benchmark(session, tiny.SLUG), tiny.queries()[:1]
        ),
        lambda session: contents.upsert_categories(
            session, benchmarks.find_benchmark(session, tiny.SLUG), tiny.TREE
        ),
        lambda session: contents.delete_unused_topics(session, benchmarks.find_benchmark(session, tiny.SLUG)),
        lambda session: benchmarks.freeze(session, benchmarks.find_benchmark(session, tiny.SLUG), sample(2)),
    ):
        with pytest.raises(DatabaseError, match="Sample a new version"), filled.session() as session:
            change(session)


def test_versions_of_a_family_are_found_by_number_and_by_content(filled: Database) -> None:
    with filled.session() as session:
        assert benchmarks.last_version(session, "tiny") == 0
        benchmarks.freeze(session, benchmarks.find_benchmark(session, tiny.SLUG), sample(4))

        assert benchmarks.last_version(session, "tiny") == 4
        assert benchmarks.sampled_as(session, "tiny", "a" * 64) == tiny.SLUG
        assert benchmarks.sampled_as(session, "tiny", "b" * 64) is None
