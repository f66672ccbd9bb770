"""What each change does to a tree, what is impossible, and laws that hold for all of them."""

import json
import re
from datetime import UTC, datetime

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from db.source_records import CurationRecord
from leaderboard.errors import LeaderboardError
from leaderboard.topics.actions import (
    Action,
    Assigned,
    DropQueries,
    Grow,
    Import,
    Merge,
    MoveQueries,
    MoveToCategory,
    Part,
    Placed,
    Rename,
    RenameCategory,
    Restore,
    Split,
    action_from_json,
    action_to_json,
    apply,
)
from leaderboard.topics.curation import replay
from leaderboard.topics.tree import OUTLIER, Topic, TopicTree
from tests.leaderboard.topics.samples import BREAD, HOT, SOUP, TREE, actions, placed, trees

NOW = datetime(2026, 1, 2, tzinfo=UTC)


def test_a_topic_is_renamed() -> None:
    tree = apply(TREE, Rename("0", "Broth"))

    assert (tree["0"].name, tree["0"].summary, tree["0"].keywords) == (
        "Broth",
        "About soup.",
        ("soup", "hot"),
    )
    assert placed(tree) == placed(TREE)


def test_a_category_is_renamed_with_all_its_topics() -> None:
    tree = apply(TREE, RenameCategory("Food", "Eating"))
    assert tree.categories == ("Eating", "Work")
    assert {topic.key for topic in tree.topics if topic.category == "Eating"} == {"0", "0.1", "0.2", "1"}
    assert placed(tree) == placed(TREE)
    assert apply(tree, RenameCategory("Eating", "Food")) == TREE


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("Fod", "Eating", "There is no category 'Fod': there are 'Food'."),
        ("Food", "Work", "There is a category 'Work' already: move the topics there"),
        ("Food", "Food", "This would change nothing."),
        ("Food", "", "The name of a category must not be blank."),
        ("Food", " Eating", "one line without white space around"),
        ("Food", "E" * 81, "has 81 characters"),
    ],
)
def test_a_category_that_cannot_be_renamed_is_one_sentence(old: str, new: str, said: str) -> None:
    with pytest.raises(LeaderboardError, match=re.escape(said)):
        apply(TREE, RenameCategory(old, new))


def test_added_queries_are_placed_in_old_and_new_topics() -> None:
    pets = Topic("11", "Pets", "Home")
    grown = Grow((pets,), (Assigned("1", ("h",), (0.8,)),), (Placed("11", ("a",)),), ("a",))
    tree = apply(TREE, grown)
    assert (tree.place_of("h"), tree.place_of("a")) == ("1", "11")
    assert tree.dropped == {"g", "a"}
    assert [topic for topic in tree.topics if topic.key != "11"] == list(TREE.topics)


@pytest.mark.parametrize(
    ("grown", "said"),
    [
        (Grow((Topic("1", "Pets", "Home"),), ()), "There is a topic '1' already"),
        (Grow((), (Assigned("99", ("h",), (0.8,)),)), "There is no topic '99'"),
        (Grow((), (Assigned("1", ("z",), (0.8,)),)), "There is no query 'z'"),
        (Grow((), (Assigned("1", ("h",), (0.8,)),), (Placed("0", ("h",)),)), "'h' is named twice"),
    ],
)
def test_growth_that_cannot_be_is_one_sentence(grown: Grow, said: str) -> None:
    with pytest.raises(LeaderboardError, match=re.escape(said)):
        apply(TREE, grown)


def test_merged_topics_give_their_queries_and_those_of_their_parts_to_another() -> None:
    tree = apply(TREE, Merge(("0", "10"), "1"))

    assert tree.topics == (BREAD,)
    assert set(tree.topic_of) == {"1", OUTLIER}
    assert tree.dropped == {"g"}


def test_a_part_is_merged_back_into_its_topic() -> None:
    tree = apply(TREE, Merge(("0.1",), "0"))

    assert tree.queries_of(["0"]) == ("a", "b")
    assert tree.parts_of("0") == (HOT,)


def test_a_topic_is_split_into_parts_and_keeps_what_none_of_them_gets() -> None:
    parts = (Part("1.1", "White bread", ("d",)), Part("1.2", "Rye bread", ("e",), ("rye",)))
    tree = apply(TREE, Split("1", parts))

    assert tree.parts_of("1") == (
        Topic("1.1", "White bread", "Food", parent="1"),
        Topic("1.2", "Rye bread", "Food", keywords=("rye",), parent="1"),
    )
    assert (tree.own_size("1"), tree.size("1")) == (0, 2)


def test_a_topic_moves_to_a_new_category_with_its_parts() -> None:
    tree = apply(TREE, MoveToCategory(("0",), "Liquids"))

    assert {topic.key for topic in tree.topics if topic.category == "Liquids"} == {"0", "0.1", "0.2"}
    assert tree["0.1"].parent == "0"


def test_a_part_that_moves_is_a_topic_of_its_own() -> None:
    tree = apply(TREE, MoveToCategory(("0.1",), "Food"))

    assert tree["0.1"].parent is None
    assert tree.parts_of("0") == (HOT,)


def test_queries_move_are_dropped_and_come_back_to_where_they_were() -> None:
    tree = apply(apply(TREE, MoveQueries(("h", "d"), "10")), DropQueries(("d", "a")))
    assert tree.queries_of(["10"]) == ("f", "h")
    assert tree.indices.tolist() == [-2, 1, 2, -2, 3, 4, -2, 4]

    back = apply(tree, Restore(("a", "g")))
    assert back.dropped == {"d"}
    assert back.place_of("a") == "0"


def test_the_keys_order_the_topics_as_numbers() -> None:
    tree = apply(TREE, Split("1", (Part("1.10", "x", ("d",)), Part("1.9", "y", ("e",)))))

    assert [topic.key for topic in tree.topics] == ["0", "0.1", "0.2", "1", "1.9", "1.10", "10"]


def test_an_import_replaces_topics_and_moves_what_it_names() -> None:
    topics = (SOUP, Topic("2", "Post", "Work"))
    action = Import(
        "topics.yaml",
        topics,
        (Placed("0", ("b", "c", "d", "e")), Placed("2", ("f", "g"))),
        dropped=("a",),
        restored=("g",),
    )
    tree = apply(TREE, action)

    assert tree.topics == topics
    assert placed(tree) == dict(zip("abcdefgh", ["0"] * 5 + ["2", "2", OUTLIER], strict=True))
    assert tree.dropped == {"a"}


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (Rename("7", "x"), "no topic '7': there are, among others, '0'"),
        (Rename("Bread", "x"), "no topic 'Bread': 'Bread' has the key '1'"),
        (Rename("1", "soup"), "'Food' already has a topic 'soup'"),
        (Rename("1", "cold SOUP"), "already has a topic"),
        (Rename("1", "Bread"), "would change nothing"),
        (Rename("1"), "would change nothing"),
        (Rename("1", " "), "must not be blank"),
        (Rename("1", "two\nlines"), "one line"),
        (Rename("1", "x" * 81), "81 characters: at most 80"),
        (Rename("1", summary="x" * 601), "601 characters: at most 600"),
        (Merge((), "1"), "Name the topics"),
        (Merge(("1",), "1"), "into itself"),
        (Merge(("0",), "0.1"), "'Cold soup' is a part of what would be merged into it"),
        (Merge(("7",), "1"), "no topic '7'"),
        (Split("1", (Part("1.1", "x", ("d", "e")),)), "2 parts or more"),
        (Split("1", (Part("1.1", "x", ("d", "e")), Part("1.2", "y", ()))), "'y' would have no queries"),
        (Split("1", (Part("1.1", "x", ("d",)), Part("1.2", "y", ("d",)))), "'d' is named twice"),
        (Split("1", (Part("1.1", "x", ("d",)), Part("1.2", "y", ("a",)))), "'a' does not belong to 'Bread'"),
        (Split("1", (Part("0.1", "x", ("d",)), Part("1.2", "y", ("e",)))), "'0.1' already"),
        (Split("1", (Part("1.1", "x", ("d",)), Part("1.2", "X", ("e",)))), "already has a topic"),
        (MoveToCategory((), "Food"), "Name the topics"),
        (MoveToCategory(("1",), "Food"), "would change nothing"),
        (MoveToCategory(("1",), ""), "name of a category must not be blank"),
        (MoveQueries((), "1"), "Name the queries"),
        (MoveQueries(("z",), "1"), "no query 'z'"),
        (MoveQueries(("d",), "1"), "would change nothing"),
        (MoveQueries(("d",), "7"), "no topic '7'"),
        (DropQueries(("g",)), "would change nothing"),
        (DropQueries(tuple("abcdefh")), "last queries that are kept"),
        (Restore(("a",)), "would change nothing"),
        (Import("x", (), (Placed(OUTLIER, tuple("abcdefgh")),)), "At least one topic"),
        (Import("x", (SOUP, SOUP)), "'0' is that of two topics"),
        (Import("x", (SOUP,)), "would be left without a topic"),
        (Import("x", TREE.topics, (Placed("9", ("a",)),)), "'9', which is no topic"),
        (Import("x", (*TREE.topics, Topic("4", "x", "Food", parent="9"))), "part of '9'"),
    ],
)
def test_what_is_impossible_is_said_in_one_sentence(action: Action, message: str) -> None:
    with pytest.raises((LeaderboardError), match=message.replace(".", r"\.")) as raised:
        apply(TREE, action)
    assert "\n" not in str(raised.value)


def test_names_that_were_found_twice_may_stay() -> None:
    tree = TopicTree((BREAD, Topic("2", "Bread", "Food"), SOUP), ("a",), ("1",))

    assert apply(tree, Rename("0", "Stew"))["0"].name == "Stew"
    with pytest.raises(LeaderboardError, match="already has a topic 'Bread'"):
        apply(tree, Rename("0", "Bread"))


@given(st.data())
def test_no_query_is_lost_or_doubled_and_every_tree_holds_together(data: st.DataObject) -> None:
    tree = data.draw(trees())
    for _ in range(4):
        try:
            after = apply(tree, data.draw(actions(tree)))
        except LeaderboardError:
            continue
        keys = {topic.key for topic in after.topics}
        assert after.query_ids == tree.query_ids
        assert len(after.topic_of) == len(after.query_ids)
        assert set(after.topic_of) <= keys | {OUTLIER}
        assert len(keys) == len(after.topics) > 0
        assert {topic.parent for topic in after.topics} <= keys | {None}
        assert sum(after.size(root.key) for root in after.roots) + after.n_outliers == after.n_kept > 0
        tree = after


@given(st.data())
def test_an_undone_change_is_as_if_it_had_not_been_made(data: st.DataObject) -> None:
    found = data.draw(trees())
    tree, log, trees_before = found, [], [found]
    for _ in range(3):
        action = data.draw(actions(tree))
        try:
            tree = apply(tree, action)
        except LeaderboardError:
            continue
        log.append(CurationRecord(len(log), action_to_json(action), "", NOW))
        trees_before.append(tree)
    for n_undone in range(len(log) + 1):
        kept = len(log) - n_undone
        marked = [
            record if record.position < kept else CurationRecord(record.position, record.action, "", NOW, NOW)
            for record in log
        ]
        assert replay(found, marked) == trees_before[kept]


@given(st.data())
def test_the_order_of_changes_that_do_not_touch_each_other_does_not_matter(data: st.DataObject) -> None:
    tree = data.draw(trees())
    first, second = data.draw(actions(tree)), data.draw(actions(tree))
    assume(not touched(tree, first) & touched(tree, second))
    try:
        one, other = apply(tree, first), apply(tree, second)
        both = apply(one, second)
    except LeaderboardError:
        return
    assert apply(other, first) == both


@given(st.data())
def test_a_change_comes_back_from_json_as_it_was(data: st.DataObject) -> None:
    tree = data.draw(trees())
    imported = st.just(Import("ö.yaml", tree.topics, (Placed("-", tree.query_ids),), tree.query_ids))
    action = data.draw(actions(tree) | imported)

    assert action_from_json(json.loads(json.dumps(action_to_json(action)))) == action


@pytest.mark.parametrize("written", [{}, {"kind": "explode"}, {"kind": "rename"}, {"kind": "merge", "x": 1}])
def test_a_stored_change_that_cannot_be_read_says_so(written: dict[str, object]) -> None:
    with pytest.raises(LeaderboardError, match="newer version"):
        action_from_json(written)


def touched(tree: TopicTree, action: Action) -> set[str]:
    """Topics, queries and categories that a change reads or writes, with a topic all that belongs to it."""
    keys: list[str] = []
    queries: tuple[str, ...] = ()
    categories: set[str] = set()
    match action:
        case Rename(topic) | Split(topic):
            keys = [topic]
        case Merge(topics, into):
            keys = [*topics, into]
        case MoveToCategory(topics, category):
            keys, categories = list(topics), {f"category {category}"}
        case RenameCategory(category, name):
            keys = [topic.key for topic in tree.topics if topic.category in (category, name)]
            categories = {f"category {category}", f"category {name}"}
        case Grow(topics):
            keys = [key for key, _ in action.places]
            queries = tuple(query for _, placed in action.places for query in placed)
            categories = {topic.key for topic in topics} | {f"category {topic.category}" for topic in topics}
        case MoveQueries(queries, topic):
            keys = [topic, *(tree.place_of(query) for query in queries)]
        case DropQueries(queries) | Restore(queries):
            pass
    family = {each for key in keys if key in tree for each in tree.family(key)}
    return {*family, *queries, *categories, *tree.queries_of(family, dropped=True)}
