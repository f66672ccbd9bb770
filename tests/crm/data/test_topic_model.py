"""Topics among few texts; what the pipeline finds in many is tested with the jobs that use it."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from crm.data.topic_model import OUTLIER, AssignmentStep, TopicParameters, find_topics, min_texts

PARAMETERS = TopicParameters(neighbours=8, smallest_cluster=10, density_neighbours=3, keywords=4)


def groups(*sizes: int) -> np.ndarray:
    """Embeddings in groups far from each other."""
    chance = np.random.default_rng(0)
    rows = [np.eye(12)[group] * 5 + chance.normal(0, 0.15, (size, 12)) for group, size in enumerate(sizes)]
    stacked = np.concatenate(rows).astype(np.float32)
    return stacked / np.linalg.norm(stacked, axis=1, keepdims=True)


def test_groups_become_topics_the_largest_first_with_their_words() -> None:
    texts = ["boil the soup"] * 15 + ["prune the roses"] * 25
    found = find_topics(texts, groups(15, 25), PARAMETERS)
    assert found is not None
    assert found.topic_of.tolist() == [1] * 15 + [0] * 25
    assert found.step_of.tolist() == [AssignmentStep.CLUSTERED] * 40
    assert [set(words) for words in found.keywords] == [{"prune", "roses"}, {"boil", "soup"}]


def test_words_of_any_script_keep_their_letters() -> None:
    texts = ["сколько стоит хлеб"] * 15 + ["nấu phở thế nào"] * 25
    found = find_topics(texts, groups(15, 25), PARAMETERS, any_script=True)
    assert found is not None
    assert [set(words) & {"phở", "хлеб"} for words in found.keywords] == [{"phở"}, {"хлеб"}]
    as_before = find_topics(texts, groups(15, 25), PARAMETERS)
    assert as_before is not None
    assert as_before.keywords[1] == ()


@pytest.mark.parametrize("text", ["none", "who are you", "soup"])
def test_texts_without_words_have_topics_without_keywords(text: str) -> None:
    found = find_topics([text] * 40, groups(15, 25), PARAMETERS)
    assert found is not None
    assert Counter(found.topic_of.tolist()) == {0: 25, 1: 15}
    assert found.keywords == ((), ())


def test_outliers_go_where_their_words_point_and_the_others_to_the_nearest_mean() -> None:
    texts = ["boil the soup"] * 20 + ["prune the roses"] * 20 + ["boil soup"] * 6 + ["who are you"] * 6
    embeddings = groups(20, 20, 6, 6)  # six are too few for a topic of their own
    # Where UMAP lays so small groups depends on seed and processor: take a layout that leaves them apart.
    for seed in range(40):
        parameters = replace(PARAMETERS, seed=seed)
        found = find_topics(texts, embeddings, parameters)
        assert found is not None
        if AssignmentStep.CLUSTERED not in found.step_of[40:]:
            break
    soup = found.topic_of[0]
    assert found.step_of[:40].tolist() == [AssignmentStep.CLUSTERED] * 40
    assert found.step_of[40:46].tolist() == [AssignmentStep.C_TF_IDF] * 6
    assert found.topic_of[40:46].tolist() == [soup] * 6
    # Without words there is the meaning; what points away from every mean is left.
    by_meaning = found.step_of[46:] == AssignmentStep.EMBEDDINGS
    assert by_meaning.any()
    assert ((found.topic_of[46:] == OUTLIER) == ~by_meaning).all()

    left = find_topics(texts, embeddings, replace(parameters, by_distributions=False, by_embeddings=False))
    assert left is not None
    assert left.topic_of[40:].tolist() == [soup] * 6 + [OUTLIER] * 6
    assert left.step_of[46:].tolist() == [AssignmentStep.LEFT] * 6


def test_so_few_texts_have_no_topics() -> None:
    parameters = TopicParameters(neighbours=3, smallest_cluster=2)
    least = min_texts(parameters)
    assert find_topics(["soup bread"] * (least - 1), groups(least - 1), parameters) is None
    find_topics(["soup bread"] * least, groups(least - 4, 4), parameters)
