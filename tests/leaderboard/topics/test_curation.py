"""Topics read and changed in the database, on SQLite and on PostgreSQL."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from db import Database
from db.errors import NotFoundError
from db.repositories import pools
from db.source_records import ADDED, SET_ASIDE
from leaderboard.errors import LeaderboardError
from leaderboard.topics.actions import Action, DropQueries, Merge, MoveQueries, Rename, Restore
from leaderboard.topics.curation import Curation, in_words
from leaderboard.topics.tree import OUTLIER
from tests.db.conftest import database, postgres, postgres_template, sqlite_template
from tests.leaderboard.topics.samples import FOUND, POOL, TEXTS, ids, store

__all__ = ["database", "postgres", "postgres_template", "sqlite_template"]  # fixtures


@pytest.fixture
def curation(database: Database) -> Curation:
    store(database)
    return Curation(database)


def test_topics_are_read_as_they_were_found(curation: Curation) -> None:
    topics = curation.read(POOL)

    assert (topics.tree.topic_of, topics.tree.query_ids) == (FOUND, tuple(ids()))
    assert topics.tree == topics.found
    assert (topics.n_new, topics.last, topics.history) == (0, None, ())
    assert curation.read(POOL) is topics


def test_a_change_is_in_the_log_with_its_reason_and_survives_a_restart(
    curation: Curation, database: Database
) -> None:
    topics = curation.edit(POOL, Rename("0", "Broth"), "  that is  what\nthey ask for ")

    again = Curation(database).read(POOL)
    assert again.tree == topics.tree
    assert again.tree["0"].name == "Broth"
    assert again.found["0"].name == "Soup"
    [edit] = again.history
    assert (edit.what, edit.reason) == ("Renamed “Soup” to “Broth”", "that is what they ask for")
    assert edit.undone_at is None


def test_the_last_change_is_undone_and_stays_in_the_log(curation: Curation) -> None:
    curation.edit(POOL, Rename("0", "Broth"), "first")
    curation.edit(POOL, Merge(("1",), "0"), "second")
    topics = curation.undo(POOL)
    assert topics.tree["1"].name == "Bread"
    assert topics.last is not None
    assert topics.last.reason == "first"

    topics = curation.undo(POOL)
    assert topics.tree == topics.found
    assert [edit.undone_at is None for edit in topics.history] == [False, False]
    assert topics.history[1].what == "Merged “Bread” into “Soup”"
    with pytest.raises(LeaderboardError, match="no change to undo"):
        curation.undo(POOL)


def test_a_change_needs_a_reason_of_some_length(curation: Curation) -> None:
    with pytest.raises(LeaderboardError, match="Say why"):
        curation.edit(POOL, Rename("0", "Broth"), " ")
    with pytest.raises(LeaderboardError, match="501 characters"):
        curation.edit(POOL, Rename("0", "Broth"), "x" * 501)
    assert curation.read(POOL).log == ()


def test_an_impossible_change_is_not_written(curation: Curation) -> None:
    with pytest.raises(LeaderboardError, match="already has a topic"):
        curation.edit(POOL, Rename("0", "Bread"), "x")
    assert curation.read(POOL).log == ()


@pytest.mark.parametrize(
    "change",
    [
        lambda curation, seen: curation.edit(POOL, Rename("0", "Stew"), "mine", seen),
        lambda curation, seen: curation.undo(POOL, seen),
    ],
)
def test_who_looked_at_older_topics_changes_nothing(
    curation: Curation, database: Database, change: Callable[[Curation, str], object]
) -> None:
    curation.edit(POOL, Rename("1", "Loaf"), "first")
    seen = curation.read(POOL).version
    # Undone and made again, the tree is what was seen, but the log is not.
    Curation(database).undo(POOL)
    Curation(database).edit(POOL, Rename("1", "Loaf"), "first")

    with pytest.raises(LeaderboardError, match="Somebody else changed the topics meanwhile: look again"):
        change(curation, seen)
    assert curation.read(POOL).tree["0"].name == "Soup"


def test_of_two_who_change_the_same_at_once_one_is_refused(database: Database) -> None:
    store(database)
    people = [Curation(database) for _ in range(6)]
    seen = people[0].read(POOL).version

    def rename(place: int) -> bool:
        try:
            people[place].edit(POOL, Rename("0", f"Soup {place}"), "mine", seen)
        except LeaderboardError:
            return False
        return True

    with ThreadPoolExecutor(len(people)) as pool:
        done = list(pool.map(rename, range(len(people))))
    assert sum(done) == 1
    assert people[0].read(POOL).tree["0"].name == f"Soup {done.index(True)}"


def test_changes_at_once_that_nobody_looked_before_all_count(database: Database) -> None:
    store(database)
    changes: list[Action] = [MoveQueries((query,), "1") for query in ids()[:6]]
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda action: Curation(database).edit(POOL, action, "all to bread"), changes))

    topics = Curation(database).read(POOL)
    assert [edit.position for edit in topics.log] == list(range(6))
    assert topics.tree.size("0") == 0


def test_a_topic_is_split_by_meaning_the_same_way_every_time(curation: Curation) -> None:
    topics = curation.edit(POOL, DropQueries((ids()[3],)), "too strange")
    split = curation.split(topics, "0", 3)
    assert split == curation.split(topics, "0", 3)

    members = {frozenset(topics.texts[query] for query in part.queries) for part in split.parts}
    assert frozenset(TEXTS[1:4]) in members  # the dropped one goes with those it is like
    assert [part.key for part in split.parts] == ["0.1", "0.2", "0.3"]
    assert split.parts[0].keywords[0] == "cold"
    after = curation.edit(POOL, split, "cold soups are another matter").tree
    assert after.own_size("0") == 0
    assert after.size("0") == 5
    with pytest.raises(LeaderboardError, match="'Soup' has 0 queries of its own, too few for 2 parts"):
        curation.split(curation.read(POOL), "0", 2)


@pytest.mark.parametrize(
    ("n_parts", "message"), [(1, "2 to 20 parts, not 1"), (21, "not 21"), (7, "too few")]
)
def test_a_split_that_cannot_be_says_why(curation: Curation, n_parts: int, message: str) -> None:
    with pytest.raises(LeaderboardError, match=message):
        curation.split(curation.read(POOL), "0", n_parts)


def test_without_embeddings_the_places_on_the_map_stand_for_them(database: Database) -> None:
    store(database, with_embeddings=False)
    curation = Curation(database)
    topics = curation.read(POOL)

    assert curation.points(topics, tuple(ids()[:2])).shape == (2, 2)
    assert len(curation.split(topics, "0", 3).parts) == 3


def test_the_queries_nearest_the_centre_stand_for_a_topic(curation: Curation) -> None:
    topics = curation.edit(POOL, MoveQueries((ids()[6],), "0"), "bread is no soup, but for the test")
    examples = [topics.texts[query] for query in curation.examples(topics, "0", 7)]

    assert len(examples) == 7
    assert examples[0].startswith(("A cold", "Cold", "Chilled", "A hot", "Hot"))
    assert "White bread without yeast" in examples[-2:]
    assert curation.examples(topics, "1", 3) == []


def test_new_topics_start_without_the_curation_of_the_old(curation: Curation, database: Database) -> None:
    curation.edit(POOL, Rename("0", "Broth"), "x")
    seen = curation.read(POOL).version
    store(database, digest="e" * 64)

    assert curation.read(POOL).tree["0"].name == "Soup"
    with pytest.raises(LeaderboardError, match="Somebody else changed"):
        curation.edit(POOL, Rename("0", "Stew"), "x", seen)


def test_names_that_an_llm_gives_after_curation_break_nothing(curation: Curation, database: Database) -> None:
    curation.edit(POOL, Rename("0", "Broth"), "x")
    found = curation.read(POOL)
    named = [replace(topic, name="Broth", named_by="gpt") for topic in found.record.topics]
    with database.session() as session:
        pools.set_topics(session, pools.find_pool(session, POOL), found.record.digest, named)
    topics = curation.read(POOL)

    assert [topic.name for topic in topics.tree.topics] == ["Broth"] * 3
    assert [topic.named_by for topic in topics.tree.topics] == ["", "gpt", "gpt"]
    written = curation.export(topics)
    assert curation.import_of(topics, written.encode(), "x.yaml") is None


def test_queries_added_later_are_in_no_topic_yet(curation: Curation, database: Database) -> None:
    curation.read(POOL)
    with database.session() as session:
        pools.add_to_pool(session, pools.find_pool(session, POOL), [("A new one", "test:2")])
    topics = curation.read(POOL)

    assert topics.n_new == 1
    assert len(topics.tree.query_ids) == len(TEXTS)


def test_a_pool_that_is_not_there_or_has_no_topics_is_named(curation: Curation, database: Database) -> None:
    with database.session() as session:
        pools.put_pool(session, "bare")
    with pytest.raises(NotFoundError, match="'dayly'; known are 'daily', 'bare'"):
        curation.read("dayly")
    with pytest.raises(NotFoundError, match="precompute cluster bare"):
        curation.read("bare")


def test_an_exported_file_comes_back_as_one_change(curation: Curation) -> None:
    topics = curation.edit(POOL, DropQueries((ids()[9],)), "noise")
    written = curation.export(topics)
    assert curation.import_of(topics, written.encode(), "daily.yaml") is None

    changed = written.replace("name: Bread", "name: Baking").replace("name: Soup", "name: Broth")
    action = curation.import_of(topics, changed.encode(), "daily.yaml")
    assert action is not None
    assert in_words(topics.tree, action) == "Import of daily.yaml: 2 topics renamed"
    after = curation.edit(POOL, action, "reviewed")
    assert [after.tree[key].name for key in ("0", "1")] == ["Broth", "Baking"]
    assert after.tree.dropped == {ids()[9]}
    assert curation.export(after) == changed


def test_a_pool_is_deleted_with_all_that_was_done_to_it(curation: Curation) -> None:
    curation.edit(POOL, Rename("0", "Broth"), "x")
    curation.delete(POOL)

    assert curation.pools() == []


def test_what_the_clustering_set_aside_is_dropped_until_it_is_restored(database: Database) -> None:
    store(database)
    with database.session() as session:
        pool = pools.find_pool(session, POOL)
        found = pools.get_topic_map(session, pool)
        steps = np.array([1, 1, *[0] * (len(ids()) - 2)], np.int8)
        pools.extend_topic_map(session, pool, replace(found, steps=("clustered", SET_ASIDE), step_of=steps))
    curation = Curation(database)
    assert curation.read(POOL).tree.dropped == set(ids()[:2])
    curation.edit(POOL, Restore((ids()[0],)), "no template")
    assert curation.read(POOL).tree.dropped == {ids()[1]}
    curation.undo(POOL)
    assert curation.read(POOL).tree.dropped == set(ids()[:2])


def test_an_extended_map_keeps_its_curation(database: Database) -> None:
    store(database)
    curation = Curation(database)
    curation.edit(POOL, Rename("0", "Broth"), "ours")
    with database.session() as session:
        pool = pools.find_pool(session, POOL)
        pools.add_to_pool(session, pool, [("Is broth a soup?", "late")])
        found = pools.get_topic_map(session, pool)
        pools.extend_topic_map(
            session,
            pool,
            replace(
                found,
                digest="e" * 64,
                steps=("clustered", ADDED),
                topic_of=np.append(found.topic_of, np.int32(-1)),
                step_of=np.append(found.step_of, np.int8(1)),
                xy=np.concatenate([found.xy, found.xy[:1]]),
            ),
        )
    topics = curation.read(POOL)
    assert topics.tree["0"].name == "Broth"
    assert topics.tree.topic_of[-1] == OUTLIER
    assert topics.n_new == 0
    assert [edit.reason for edit in topics.history] == ["ours"]
