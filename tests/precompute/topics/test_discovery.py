from collections.abc import Sequence

import numpy as np
import pytest

from crm.data.topic_model import TopicParameters
from db import Database
from db.serialization import text_sha256
from db.source_records import PoolQueryRecord
from precompute.embed import embed_texts
from precompute.errors import PrecomputeError
from precompute.load import import_benchmark
from precompute.topics.assignment import OTHER
from precompute.topics.catalogue import catalogue
from precompute.topics.discovery import (
    Tree,
    find_tree,
    grouped_topics,
    guided_vectors,
    nearest_categories,
)
from precompute.topics.encoders import EmbeddedQueries
from precompute.topics.plain_names import ListedQueries
from precompute.topics.settings import CategorySettings, PartSettings
from tests.precompute import samples

SUBJECTS = ("cooking soup", "garden roses", "guitar melody", "flight hotel", "lawyer contract")
APART = 0.15
"""Groups that are near each other overlap a little: one topic, in which there are parts."""
PARAMETERS = TopicParameters(neighbours=8, smallest_cluster=10, density_neighbours=3, keywords=3)


def queries(texts: Sequence[str]) -> tuple[PoolQueryRecord, ...]:
    return tuple(PoolQueryRecord(text, text_sha256(text), "here") for text in texts)


def blobs(sizes: Sequence[int], within: Sequence[int] | None = None, seed: int = 0) -> EmbeddedQueries:
    """Queries in groups far from each other; groups of the same number in ``within`` are near."""
    chance = np.random.default_rng(seed)
    places = range(len(sizes)) if within is None else within
    middles = np.eye(16)[list(places)] * 10 + (
        0 if within is None else chance.normal(0, APART, (len(sizes), 16))
    )
    vectors, texts = [], []
    for group, size in enumerate(sizes):
        vectors.append(middles[group] + chance.normal(0, 0.2, (size, 16)))
        texts += [f"{SUBJECTS[group]} question {number}" for number in range(size)]
    stacked = np.concatenate(vectors).astype(np.float32)
    return EmbeddedQueries(queries(texts), stacked / np.linalg.norm(stacked, axis=1, keepdims=True))


@pytest.fixture(scope="module")
def with_parts() -> Tree:
    """Two groups on their own, and three near each other in a large one."""
    embedded = blobs((40, 40, 40, 25, 20), within=(0, 0, 0, 1, 2))
    found = find_tree(embedded, PARAMETERS, PartSettings(above=60))
    assert found is not None
    return found


def test_groups_far_from_each_other_are_topics_the_largest_first() -> None:
    tree = find_tree(blobs((20, 30, 25)), PARAMETERS, PartSettings())
    assert tree is not None
    assert [node.key for node in tree.nodes] == ["0", "1", "2"]
    assert tree.node_of.tolist() == tree.top_of.tolist() == [2] * 20 + [0] * 30 + [1] * 25
    assert [set(node.keywords) & {"soup", "roses", "melody"} for node in tree.nodes] == [
        {"roses"},
        {"melody"},
        {"soup"},
    ]


def test_a_large_topic_has_parts(with_parts: Tree) -> None:
    tops = [node for node in with_parts.nodes if node.parent is None]
    parts = [node for node in with_parts.nodes if node.parent is not None]
    large = with_parts.members(0)
    assert len(large) > 60
    assert len(parts) >= 2
    assert {node.parent for node in parts} == {"0"}
    assert [node.key for node in parts] == [f"0.{number}" for number in range(len(parts))]
    # Parts and what is left of their topic make up the topic.
    assert set(with_parts.node_of[large].tolist()) <= {0, *range(len(tops), len(with_parts.nodes))}
    assert (with_parts.top_of[large] == 0).all()


def test_parts_are_described_against_all_topics(with_parts: Tree) -> None:
    for node in with_parts.nodes:
        assert "question" not in node.keywords[:1]


def test_a_topic_is_not_looked_into_unless_two_parts_fit_in() -> None:
    tree = find_tree(blobs((20, 30, 25)), PARAMETERS, PartSettings(above=1, levels=5))
    assert tree is not None
    assert all(node.key.count(".") <= 2 for node in tree.nodes)
    without = find_tree(blobs((20, 30, 25)), PARAMETERS, PartSettings(above=0))
    assert without is not None
    assert [node.parent for node in without.nodes] == [None] * 3


def test_what_is_all_alike_has_no_topics() -> None:
    chance = np.random.default_rng(0).normal(size=(40, 16)).astype(np.float32)
    scattered = EmbeddedQueries(queries([f"question {number}" for number in range(40)]), chance)
    parameters = TopicParameters(neighbours=8, smallest_cluster=20, density_neighbours=20)
    assert find_tree(scattered, parameters, PartSettings()) is None


def test_the_same_queries_give_the_same_tree(with_parts: Tree) -> None:
    again = find_tree(blobs((40, 40, 40, 25, 20), within=(0, 0, 0, 1, 2)), PARAMETERS, PartSettings(above=60))
    assert again is not None
    assert again.nodes == with_parts.nodes
    assert again.node_of.tolist() == with_parts.node_of.tolist()


def test_topics_that_mean_alike_are_grouped() -> None:
    # Four topics: two point nearly the same way, and two others nearly another.
    middles = np.array([[1, 0.1, 0], [0, 0.1, 1], [1, 0, 0.1], [0.1, 0, 1]], dtype=np.float32)
    topic_of = np.repeat(np.arange(4, dtype=np.int32), 5)
    groups = grouped_topics(middles[topic_of], topic_of, CategorySettings(count=2)).tolist()
    assert groups[0] == groups[2] != groups[1] == groups[3]


@pytest.mark.parametrize(("n_topics", "wanted", "n_groups"), [(8, 3, 3), (8, 12, 4), (3, 12, 1), (1, 12, 1)])
def test_there_is_at_most_one_group_for_two_topics(n_topics: int, wanted: int, n_groups: int) -> None:
    topic_of = np.repeat(np.arange(n_topics, dtype=np.int32), 4)
    embeddings = np.eye(n_topics, dtype=np.float32)[topic_of]
    groups = grouped_topics(embeddings, topic_of, CategorySettings(count=wanted))
    assert len(groups) == n_topics
    assert set(groups.tolist()) == set(range(n_groups))


def test_a_topic_takes_the_category_that_most_of_its_queries_are_nearest_to(
    database: Database, fitted: samples.RecordingRepresentation
) -> None:
    import_benchmark(database, samples.dailybench(), fitted=fitted, embed=embed_texts)
    texts = [
        "How do I cook a vegetable soup?",
        "My soup is too salty.",
        "When should I prune the roses in my garden?",
        "When do garden roses flower, and when do I prune roses?",
        "How do I prune roses?",
        "Write a Python function that sorts a list of integers.",
        "Nobody is in a topic here.",
    ]
    topic_of = np.array([0, 0, 1, 1, 0, 2, -1], dtype=np.int32)
    assert nearest_categories(database, embed_texts(texts), topic_of) == ["Kitchen", "Garden", OTHER]


def test_without_dailybench_there_are_none_of_its_categories(database: Database) -> None:
    with pytest.raises(PrecomputeError, match='how = "grouped"'):
        nearest_categories(database, embed_texts(["soup"]), np.array([0], dtype=np.int32))


def test_the_list_of_topics_brings_together_what_is_worded_differently() -> None:
    texts = (
        "honest question, which film should we watch tonight?",
        "Recommend a movie about sailors, please.",
        "honest question, how do I ask my boss for more money?",
    )
    vectors = embed_texts(texts)
    listed = ListedQueries.of(texts, vectors, catalogue())
    guided = guided_vectors(vectors, listed, 0.5)
    own, by_list, both = vectors @ vectors.T, np.sqrt(listed.shares), guided @ guided.T

    assert guided.dtype == np.float32
    np.testing.assert_allclose(both, 0.5 * own + 0.5 * by_list @ by_list.T, atol=1e-6)
    np.testing.assert_allclose(np.diag(both), 1.0, atol=1e-6)
    assert both[0, 1] - both[0, 2] > own[0, 1] - own[0, 2]
    assert guided_vectors(vectors, listed, 0.0) is vectors
