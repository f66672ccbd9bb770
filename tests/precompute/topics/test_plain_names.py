"""Names without an LLM, by the bundled encoder and list."""

import random

import numpy as np
import pytest
from numpy.typing import NDArray

from precompute.embed import embed_texts
from precompute.topics.catalogue import catalogue
from precompute.topics.plain_names import (
    OTHER_LANGUAGES,
    ListedQueries,
    PlainName,
    distinct_name,
    plain_categories,
    plain_names,
)

BAKING = (
    "How do I get a crisp crust on sourdough bread?",
    "Why did my sponge cake sink in the middle?",
    "Recipe for chewy chocolate chip cookies",
    "Can I freeze bread dough before baking?",
)
MORE_BAKING = (
    "Which flour makes the best pizza dough?",
    "How long does a cheesecake bake?",
    "My muffins stick to the paper cups, what can I do?",
    "Give me a recipe for apple pie",
)
CHINESE = ("如何用最简单的方法煮鸡蛋", "请写一首关于春天的诗", "这段话是什么意思", "帮我写一封感谢信")
MORE_CHINESE = ("为什么天空是蓝色的", "请解释牛顿第二定律", "怎样学习英语最快", "介绍一下北京的历史")
MACHINES = (
    "flange gasket ZX-400 position",
    "Torque for flange gasket bolts ZX-400",
    "Replace flange gasket ZX-410",
    "flange gasket leaking ZX-400 press",
)
POEMS_AND_SONGS = (
    "Write a sonnet about the sea",
    "A haiku on falling leaves",
    "Write a poem for my mother",
    "Lyrics for a sad country song",
    "Write the chorus of a pop song",
    "A rap verse about my city",
)
Groups = list[NDArray[np.intp]]


def queries_of(*groups: tuple[str, ...]) -> tuple[ListedQueries, Groups]:
    texts = [text for group in groups for text in group]
    ends = np.cumsum([len(group) for group in groups])
    rows = [np.arange(end - len(group), end) for group, end in zip(groups, ends, strict=True)]
    return ListedQueries.of(texts, embed_texts(texts), catalogue()), rows


def named(*groups: tuple[str, ...], taken: tuple[str, ...] = ()) -> list[PlainName]:
    queries, rows = queries_of(*groups)
    return plain_names(queries, rows, taken)


def test_a_group_is_named_from_the_list_with_category_and_summary() -> None:
    baking, songs, _ = named(BAKING, POEMS_AND_SONGS, MACHINES)
    assert (baking.name, baking.category) == ("Baking & desserts", "Food & Drink")
    assert baking.summary == "Bread, cakes and sweets."
    assert baking.fit > 0.3
    assert songs.category == "Stories & Writing"
    assert set(songs.name.split(" / ")) == {"Poetry", "Song lyrics"}


def test_a_group_in_another_language_is_named_by_it() -> None:
    chinese, more, baking = named(CHINESE, MORE_CHINESE, BAKING)
    assert {chinese.category, more.category} == {OTHER_LANGUAGES}
    assert "Questions in Chinese" in {chinese.name, more.name}
    assert all(name.name.endswith(" in Chinese") for name in (chinese, more))
    assert baking.name == "Baking & desserts"


def test_what_the_list_knows_nothing_of_is_named_by_a_phrase() -> None:
    machines, _ = named(MACHINES, BAKING)
    assert machines.name == "Flange gasket"
    assert machines.fit == 0


def test_queries_without_words_still_have_a_name() -> None:
    (nothing,) = named(("?!", "…", "§§"))
    assert nothing.name
    assert nothing.name == nothing.name.strip()


def test_no_two_groups_have_one_name_and_none_a_name_that_is_taken() -> None:
    one, other, third = named(BAKING, MORE_BAKING, BAKING[:2], taken=("baking & DESSERTS",))
    assert len({one.name, other.name, third.name, "Baking & desserts"}) == 4
    many = named(*[(BAKING[0],)] * 12)
    assert len({name.name for name in many}) == 12


@pytest.mark.parametrize("seed", range(5))
def test_another_order_of_queries_and_groups_gives_the_same_names(seed: int) -> None:
    groups = [BAKING, MORE_BAKING, CHINESE, MORE_CHINESE, MACHINES, POEMS_AND_SONGS]
    queries, rows = queries_of(*groups)
    straight = [name.name for name in plain_names(queries, rows)]

    chance = random.Random(seed)
    order = list(range(len(queries.texts)))
    chance.shuffle(order)
    place = {old: new for new, old in enumerate(order)}
    texts = [queries.texts[old] for old in order]
    shuffled = ListedQueries.of(texts, queries.vectors[order], catalogue())
    turned = list(range(len(groups)))
    chance.shuffle(turned)
    moved = [
        np.array([place[row] for row in chance.sample(rows[group].tolist(), len(rows[group]))])
        for group in turned
    ]
    found = {group: name.name for group, name in zip(turned, plain_names(shuffled, moved), strict=True)}
    assert [found[group] for group in range(len(groups))] == straight


def test_groups_of_topics_are_named_by_categories_no_two_alike() -> None:
    queries, rows = queries_of(BAKING, POEMS_AND_SONGS, CHINESE, MORE_BAKING)
    assert plain_categories(queries, rows)[:3] == ["Food & Drink", "Stories & Writing", OTHER_LANGUAGES] or (
        plain_categories(queries, rows)[1:] == ["Stories & Writing", OTHER_LANGUAGES, "Food & Drink"]
    )
    assert len(set(plain_categories(queries, rows))) == 4


def test_a_taken_name_gets_the_next_free_number() -> None:
    assert distinct_name("Music", ()) == "Music"
    assert distinct_name("Music", ("Music", "Music (2)")) == "Music (3)"
    assert distinct_name("Music", ("MUSIC",)) == "Music (2)"
