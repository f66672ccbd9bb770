"""A small tree, and random ones with random changes, for the tests of topics."""

from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st

from db import Database
from db.repositories import pools, representations
from db.serialization import text_sha256
from db.source_records import TopicMapRecord
from leaderboard.topics.actions import (
    Action,
    Assigned,
    DropQueries,
    Grow,
    Merge,
    MoveQueries,
    MoveToCategory,
    Part,
    Placed,
    Rename,
    RenameCategory,
    Restore,
    Split,
)
from leaderboard.topics.tree import OUTLIER, Topic, TopicTree, in_order

SOUP, BREAD, MAIL = (
    Topic("0", "Soup", "Food", "About soup.", ("soup", "hot")),
    Topic("1", "Bread", "Food"),
    Topic("10", "Mail", "Work"),
)
COLD, HOT = Topic("0.1", "Cold soup", "Food", parent="0"), Topic("0.2", "Hot soup", "Food", parent="0")

TREE = TopicTree(
    (SOUP, COLD, HOT, BREAD, MAIL),
    ("a", "b", "c", "d", "e", "f", "g", "h"),
    ("0", "0.1", "0.2", "1", "1", "10", "10", OUTLIER),
    frozenset({"g"}),
)


def placed(tree: TopicTree) -> dict[str, str]:
    """From each query to its topic."""
    return dict(zip(tree.query_ids, tree.topic_of, strict=True))


@st.composite
def trees(draw: st.DrawFn) -> TopicTree:
    """Trees of a few topics, some with parts, some with queries dropped or without a topic."""
    topics = []
    for number in range(draw(st.integers(1, 5))):
        root = Topic(str(number), f"topic {number}", draw(st.sampled_from(["A", "B", "C"])))
        topics.append(root)
        for part in range(draw(st.integers(0, 2))):
            topics.append(Topic(f"{number}.{part}", f"part {number}.{part}", root.category, parent=root.key))
    queries = tuple(f"q{place}" for place in range(draw(st.integers(1, 12))))
    keys = [OUTLIER, *(topic.key for topic in topics)]
    topic_of = tuple(draw(st.sampled_from(keys)) for _ in queries)
    dropped = draw(st.sets(st.sampled_from(queries), max_size=len(queries) - 1))
    return TopicTree(in_order(topics), queries, topic_of, frozenset(dropped))


def actions(tree: TopicTree) -> st.SearchStrategy[Action]:
    """Changes of a tree; most are possible, some are not."""
    keys = st.sampled_from([topic.key for topic in tree.topics])
    some_keys = st.lists(keys, min_size=1, max_size=2, unique=True).map(tuple)
    queries = st.lists(st.sampled_from(tree.query_ids), min_size=1, max_size=4, unique=True).map(tuple)
    names = st.text("abcäß &<>", min_size=1, max_size=8)
    return st.one_of(
        st.builds(Rename, keys, st.none() | names, st.none() | names),
        st.builds(Merge, some_keys, keys),
        st.builds(MoveToCategory, some_keys, st.sampled_from(["A", "B", "new"])),
        st.builds(RenameCategory, st.sampled_from(["A", "B", "C"]), st.sampled_from(["A", "B", "new"])),
        st.builds(MoveQueries, queries, keys),
        st.builds(grown, queries, keys, names),
        st.builds(DropQueries, queries),
        st.builds(Restore, queries),
        st.builds(split_in_two, st.just(tree), keys, names),
    )


def grown(queries: tuple[str, ...], key: str, name: str) -> Grow:
    """Puts the first query into a topic, and the others into a new one."""
    new = Topic("77", f"new {name}".strip(), "new")
    placed = (Placed(new.key, queries[1:]),) if queries[1:] else ()
    return Grow((new,), (Assigned(key, queries[:1], (0.75,)),), placed)


def split_in_two(tree: TopicTree, key: str, name: str) -> Split:
    queries: Sequence[str] = tree.queries_of([key], dropped=True)
    middle = len(queries) // 2
    return Split(
        key,
        (
            Part(f"{key}.8", f"{name} 1", tuple(queries[:middle])),
            Part(f"{key}.9", f"{name} 2", tuple(queries[middle:])),
        ),
    )


POOL = "daily"
TEXTS = (
    "How do I make a soup from leftovers?",
    "A cold cucumber soup, please.",
    "Chilled tomato soup in summer",
    "Cold melon soup without cream",
    "A hot onion soup with cheese",
    "Hot lentil soup for the winter evening",
    "White bread without yeast",
    "Write a mail to my landlord about the heating.",
    "A polite mail that says no to an invitation",
    "asdf",
)
FOUND = ("0", "0", "0", "0", "0", "0", "1", "10", "10", OUTLIER)
"""Topics of ``TEXTS`` as they were found; their queries have the ids of ``ids()``."""
DIGEST = "d" * 64


def ids() -> list[str]:
    return [text_sha256(text)[:16] for text in TEXTS]


def store(database: Database, *, digest: str = DIGEST, with_embeddings: bool = True) -> None:
    """Stores a pool with topics, and embeddings in which cold soups lie apart from hot ones."""
    topics = (SOUP, BREAD, MAIL)
    keys = [topic.key for topic in topics]
    generator = np.random.default_rng(0)
    points = generator.normal(0, 0.05, (len(TEXTS), 5)).astype(np.float32)
    for word, axis in (("old", 0), ("hill", 0), ("ot ", 1), ("mail", 2), ("bread", 3)):
        points[[word in text for text in TEXTS], axis] += 1
    with database.session() as session:
        pool = pools.put_pool(session, POOL, "Daily questions")
        pools.add_to_pool(session, pool, [(text, "test:1") for text in TEXTS])
        pools.put_topic_map(
            session,
            pool,
            TopicMapRecord(
                topics=topics,
                steps=("clustered",),
                topic_of=np.array([-1 if key == OUTLIER else keys.index(key) for key in FOUND], np.int32),
                step_of=np.zeros(len(TEXTS), np.int8),
                xy=points[:, :2],
                pool_digest="p" * 64,
                digest=digest,
                settings={"encoder": "test", "seed": 1},
                quality={"n_queries": len(TEXTS), "n_topics": 3, "outlier_share": 0.1},
            ),
        )
        if with_embeddings:
            vectors = {text_sha256(text): point for text, point in zip(TEXTS, points, strict=True)}
            representations.put_embeddings(session, "test", vectors)
