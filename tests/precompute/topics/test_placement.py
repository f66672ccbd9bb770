import numpy as np
import pytest
from numpy.typing import NDArray

from precompute.topics.placement import place

N_TOPICS, SIZE, DIMENSIONS = 6, 20, 16


def around(middle: NDArray[np.float64], count: int, seed: int) -> NDArray[np.float32]:
    """Unit vectors near a direction."""
    made = middle + np.random.default_rng(seed).normal(0, 0.12, (count, DIMENSIONS))
    return (made / np.linalg.norm(made, axis=1, keepdims=True)).astype(np.float32)


@pytest.fixture(scope="module")
def pool() -> tuple[NDArray[np.float32], NDArray[np.intp]]:
    """Six topics far from each other."""
    axes = np.eye(DIMENSIONS)
    known = np.concatenate([around(axes[topic], SIZE, topic) for topic in range(N_TOPICS)])
    return known, np.repeat(np.arange(N_TOPICS), SIZE)


def test_queries_go_to_the_topic_they_fit_and_others_to_none(
    pool: tuple[NDArray[np.float32], NDArray[np.intp]],
) -> None:
    axes = np.eye(DIMENSIONS)
    alike, strange = around(axes[3], 10, 90), around(axes[12], 10, 91)
    found = place(*pool, np.concatenate([alike, strange]))
    assert found.nearest[:10].tolist() == [3] * 10
    assert (found.confidence >= 0.5).tolist() == [True] * 10 + [False] * 10
    assert ((found.confidence >= 0) & (found.confidence <= 1)).all()
    assert found.confidence[:10].min() > found.confidence[10:].max()


def test_a_query_between_two_topics_is_less_sure(pool: tuple[NDArray[np.float32], NDArray[np.intp]]) -> None:
    axes = np.eye(DIMENSIONS)
    inside, between = axes[:1].astype(np.float32), (axes[:1] + axes[1:2]).astype(np.float32) / np.sqrt(2)
    found = place(*pool, np.concatenate([inside, between.astype(np.float32)]))
    assert found.confidence[0] > found.confidence[1]


def test_another_order_of_known_queries_changes_nothing(
    pool: tuple[NDArray[np.float32], NDArray[np.intp]],
) -> None:
    known, topic_of = pool
    order = np.random.default_rng(5).permutation(len(known))
    new = around(np.ones(DIMENSIONS), 30, 7)
    straight, shuffled = place(known, topic_of, new), place(known[order], topic_of[order], new)
    assert straight.nearest.tolist() == shuffled.nearest.tolist()
    assert np.allclose(straight.confidence, shuffled.confidence, atol=1e-3)


def test_one_topic_or_nothing_new_is_no_reason_for_confidence(
    pool: tuple[NDArray[np.float32], NDArray[np.intp]],
) -> None:
    known, topic_of = pool
    alone = place(known[:SIZE], topic_of[:SIZE], known[:3])
    assert alone.confidence.tolist() == [0, 0, 0]
    assert len(place(known, topic_of, known[:0]).nearest) == 0


def test_a_topic_of_a_single_query_does_not_vouch_for_itself(
    pool: tuple[NDArray[np.float32], NDArray[np.intp]],
) -> None:
    known, topic_of = pool
    with_one = np.concatenate([known, around(np.eye(DIMENSIONS)[12], 1, 3)])
    found = place(with_one, np.append(topic_of, N_TOPICS), known[:5])
    assert found.nearest.tolist() == [0] * 5
    assert (found.confidence >= 0.5).all()
