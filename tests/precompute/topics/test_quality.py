from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crm.data.topic_model import TopicParameters
from precompute.topics.encoders import EmbeddedQueries
from precompute.topics.quality import coherence, stability
from tests.precompute.topics.test_discovery import blobs

WORDS = st.lists(
    st.sets(st.sampled_from(["ant", "bee", "cat", "dog"]), min_size=1).map(
        lambda words: " ".join(sorted(words))
    ),
    min_size=1,
    max_size=12,
)


def test_npmi_is_what_paper_and_pencil_say() -> None:
    queries = ["ant bee", "ant bee", "ant cat", "dog"]
    # p(ant) = 3/4, p(bee) = 2/4, p(ant, bee) = 2/4
    expected = log((2 / 4) / (3 / 4 * 2 / 4)) / -log(2 / 4)
    assert coherence(queries, [("ant", "bee")]) == pytest.approx([expected])
    assert coherence(queries, [("bee", "cat"), ("ant",), (), ("ant", "unheard")]) == [-1, 0, 0, -1]
    three = coherence(queries, [("ant", "bee", "cat")])
    ant_cat = log((1 / 4) / (3 / 4 * 1 / 4)) / -log(1 / 4)
    assert three == pytest.approx([(expected - 1 + ant_cat) / 3])


@given(WORDS)
def test_coherence_is_symmetric_and_within_its_bounds(queries: list[str]) -> None:
    [one], [other] = coherence(queries, [("ant", "bee")]), coherence(queries, [("bee", "ant")])
    assert one == pytest.approx(other)
    assert -1 <= one <= 1 + 1e-12
    assert coherence(queries[::-1], [("ant", "bee")]) == pytest.approx([one])


@given(WORDS)
def test_words_that_always_stand_together_are_coherent(queries: list[str]) -> None:
    together = [f"{text} egg fox" for text in queries[: len(queries) // 2]] + queries
    if len(together) > len(queries):
        assert coherence(together, [("egg", "fox")]) == pytest.approx([1])


def test_separate_groups_are_found_with_every_seed(separate: EmbeddedQueries) -> None:
    parameters = TopicParameters(neighbours=8, smallest_cluster=10, density_neighbours=3)
    found = np.repeat(np.arange(3, dtype=np.int32), 20)
    same = stability(separate, parameters, found, 1)
    assert same is not None
    assert (same.seeds, same.ari_mean, same.ari_min, same.n_topics) == ((0, 1), 1.0, 1.0, (3, 3))
    mixed = stability(separate, parameters, np.tile(np.arange(3, dtype=np.int32), 20), 1)
    assert mixed is not None
    assert mixed.ari_mean < 0.1
    assert stability(separate, parameters, found, 0) is None


@pytest.fixture(scope="module")
def separate() -> EmbeddedQueries:
    return blobs((20, 20, 20))
