from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crm.data.clustering import (
    adjective_counts,
    cluster_criteria,
    each_in_one,
    find_themes,
    held_out_clusters,
    lemmas,
)
from crm.data.taxonomy import CriterionCluster, CriterionClusters
from crm.embedded.encoder import sentence_encoder
from crm.errors import CRMError

lists_of_clusters = st.lists(st.lists(st.integers(0, 9), min_size=1, max_size=4), min_size=1, max_size=40)


@given(lists_of_clusters, st.floats(0.01, 0.5), st.integers(0, 9))
def test_enough_is_held_out_but_never_the_largest_cluster(
    lists: list[list[int]], share: float, seed: int
) -> None:
    held_out = held_out_clusters(lists, share, seed)
    sizes = np.bincount(np.concatenate(lists), minlength=10)
    others = sizes.sum() - sizes.max()

    assert int(sizes.argmax()) not in held_out
    assert sizes[list(held_out)].sum() >= min(share * sizes.sum(), others)
    assert held_out == held_out_clusters(lists, share, seed)


def test_clusters_that_stand_together_are_held_out_together() -> None:
    lists = [[0]] * 50 + [[1, 2]] * 10 + [[3]] * 10 + [[4]] * 10 + [[5, 6]] * 10
    chosen = {held_out_clusters(lists, 0.15, seed) for seed in range(20)}

    assert {1, 2} in chosen
    assert {5, 6} in chosen
    assert not any({1, 5} <= clusters for clusters in chosen)


def test_criteria_on_one_theme_form_a_cluster() -> None:
    themes = (
        ["a {} poem with {} rhymes", "{} verse in {} stanzas"],
        ["a {} recipe with {} ingredients", "{} dishes for {} dinners"],
        ["{} code that handles {} exceptions", "a {} function with {} arguments"],
    )
    first = ("short", "long", "simple", "elegant", "classic", "modern", "plain")
    second = ("few", "many", "clear", "good", "varied", "careful", "strict")
    lists = [
        [pattern.format(one, other) for pattern in patterns]
        for patterns in themes
        for one, other in product(first, second)
    ]
    clusters = cluster_criteria(lists, share=0.2)

    theme_of = {text: index // 49 for index, texts in enumerate(lists) for text in texts}
    kinds = [{theme_of[text] for text in cluster.criteria} for cluster in clusters.clusters]
    assert all(len(kind) == 1 for kind in kinds)
    assert set().union(*kinds) == {0, 1, 2}
    assert set(clusters.numbers) == set(theme_of)
    keywords = " ".join(word for cluster in clusters.clusters for word in cluster.keywords)
    assert all(word in keywords for word in ("poem", "recipe", "code"))
    assert any(cluster.held_out for cluster in clusters.clusters)
    assert not clusters.clusters[0].held_out


GROUPS = {
    ("poems", "rhymes"): ["a short poem with clever rhymes", "Rhymes in every poem", "rhyming poems please"],
    ("verses", "stanzas"): ["a poem in four neat stanzas", "Verses and stanzas that rhyme", "a lyrical poem"],
    ("recipe", "dish"): [
        "An easy recipe for a tasty dish",
        "one dish and one recipe",
        "a tasty dinner recipe",
    ],
    ("cooking", "spices"): ["Cooking with mild spices, a recipe", "tasty spices in a dish", "cook a dish"],
}
"""Two clusters on poems and two on food."""


@pytest.fixture(scope="module")
def clusters() -> CriterionClusters:
    means = [sentence_encoder().embed(texts).mean(axis=0) for texts in GROUPS.values()]
    centroids = np.stack([mean / np.linalg.norm(mean) for mean in means])
    items = (CriterionCluster(words, False, tuple(sorted(texts))) for words, texts in GROUPS.items())
    return CriterionClusters(tuple(items), centroids)


LISTS = [*map(tuple, GROUPS.values()), ("a short poem with clever rhymes",) * 2]


def test_clusters_on_one_subject_become_one_theme(clusters: CriterionClusters) -> None:
    found = find_themes(clusters, LISTS, "a test", n_themes=2)
    assert (found.source, found.n_lists, found.n_different, found.n) == ("a test", 5, 12, 14)
    poems, food = found.themes
    assert [part.keywords for part in poems.parts] == [("poems", "rhymes"), ("verses", "stanzas")]
    assert [(theme.n, len(theme.parts)) for theme in (poems, food)] == [(8, 2), (6, 2)]
    assert "poem" in poems.name.casefold()
    assert "dish" in food.keywords
    assert ("tasty", 3) in food.adjectives
    assert dict(poems.adjectives)["short"] == 3
    assert set(poems.examples) <= set(GROUPS["poems", "rhymes"]) | set(GROUPS["verses", "stanzas"])
    assert len(poems.examples) == 2
    assert found == find_themes(clusters, LISTS, "a test", n_themes=2)


def test_criteria_of_no_cluster_belong_to_the_nearest(clusters: CriterionClusters) -> None:
    found = find_themes(clusters, [("a poem with rhymes about the sea",), ("spices",)], "a test", 2)
    assert [theme.n for theme in found.themes] == [1, 1]
    assert {theme.parts[0].keywords[0] for theme in found.themes} == {"poems", "cooking"}


def test_there_are_never_more_themes_than_clusters(clusters: CriterionClusters) -> None:
    assert len(find_themes(clusters, LISTS, "a test", n_themes=12).themes) == 4


def test_without_criteria_there_are_no_themes(clusters: CriterionClusters) -> None:
    with pytest.raises(CRMError, match="no criteria"):
        find_themes(clusters, [()], "a test")


counts_of_themes = st.lists(
    st.dictionaries(st.sampled_from("abcdefg"), st.integers(1, 5)), min_size=1, max_size=5
)


@given(counts_of_themes)
def test_every_adjective_stands_once_where_it_is_most_frequent(counts: list[dict[str, int]]) -> None:
    kept = each_in_one(counts, limit=30)
    places = {word: theme for theme, words in enumerate(kept) for word, _ in words}
    assert sorted(word for words in kept for word, _ in words) == sorted(set().union(*counts))
    for word, theme in places.items():
        assert counts[theme][word] == max(counted.get(word, 0) for counted in counts)
    assert all(dict(words).items() <= counted.items() for words, counted in zip(kept, counts, strict=True))


@given(counts_of_themes, st.integers(0, 4))
def test_the_most_frequent_come_first_and_a_limit_takes_the_last(
    counts: list[dict[str, int]], limit: int
) -> None:
    for words, limited in zip(each_in_one(counts, 30), each_in_one(counts, limit), strict=True):
        assert [n for _, n in words] == sorted((n for _, n in words), reverse=True)
        assert limited == words[:limit]


def test_an_adjective_of_two_themes_leaves_the_one_that_has_it_less() -> None:
    assert each_in_one([{"warm": 2, "brief": 9}, {"warm": 3}], 30) == [(("brief", 9),), (("warm", 3),)]


@pytest.mark.parametrize(
    ("criterion", "adjectives"),
    [
        ("Warm and encouraging tone", {"warm", "encouraging"}),
        ("key points in bold", {"key", "bold"}),
        ("easy-to-follow, step-by-step instructions", {"easy-to-follow", "step-by-step"}),
        ("A shorter answer with the most vivid images", {"shorter", "vivid"}),
        ("Number the steps, and warn of risks", set()),
        ("gets to the point", set()),
        ("…", set()),
    ],
)
def test_words_count_where_they_are_adjectives(criterion: str, adjectives: set[str]) -> None:
    assert set(adjective_counts({criterion: 1})) == adjectives


def test_a_criterion_counts_as_often_as_it_occurs() -> None:
    assert adjective_counts({"a short answer": 3, "SHORT and playful": 2}) == Counter(short=5, playful=2)


def test_words_of_one_dictionary_form_have_one_lemma() -> None:
    assert lemmas(["examples", "example", "Examples"]) == ["example"] * 3
