from collections.abc import Iterable

import pytest

from db import Database
from db.errors import NotFoundError
from db.records import StepCount
from db.repositories import preferences as repository
from db.source_records import Message, PreferenceRecord, PreferenceSetInfo, Winner

SLUG = "arena"


def info(slug: str = SLUG, kept: int = 4) -> PreferenceSetInfo:
    steps = (StepCount("rows", 9), StepCount("language is English", kept))
    return PreferenceSetInfo(slug, "Arena", "file.parquet", "d" * 64, {"language": "English"}, steps)


def preference(number: int, query: str = "soup?", winner: Winner = Winner.A) -> PreferenceRecord:
    def conversation(llm: str) -> tuple[Message, ...]:
        return (
            Message("user", query),
            Message("assistant", f"{llm} {number}"),
            Message("user", "and \N{PILE OF POO}\u2028 then?"),
            Message("assistant", ""),
        )

    return PreferenceRecord(
        external_id=f"q{number}",
        conversation_a=conversation("alpha"),
        conversation_b=conversation("beta"),
        llm_a="alpha",
        llm_b="beta" if number % 2 else "gamma",
        winner=winner,
        language="English",
        tags={"creativity": True, "is_code": False},
    )


FOUR = [
    preference(1),
    preference(2, "roses?", Winner.TIE),
    preference(3, winner=Winner.B),
    preference(4, " \n", Winner.B),
]


def stored(database: Database, rows: Iterable[PreferenceRecord] = FOUR) -> Database:
    with database.session() as session:
        repository.put_preference_set(session, info())
        repository.add_preferences(session, repository.find_preference_set(session, SLUG), 0, list(rows))
    return database


def read(database: Database, batch: int = repository.BATCH) -> list[PreferenceRecord]:
    with database.session() as session:
        return list(
            repository.preferences_of(session, repository.find_preference_set(session, SLUG), batch=batch)
        )


@pytest.mark.parametrize("batch", [1, 2, 3, 4, 5])
def test_what_is_stored_is_read_back_in_order_whatever_the_batch(database: Database, batch: int) -> None:
    assert read(stored(database), batch) == FOUR


def test_a_set_says_where_it_is_from_and_how_much_of_it_is_there(database: Database) -> None:
    stored(database, FOUR[:3])
    with database.session() as session:
        preference_set = repository.find_preference_set(session, SLUG)
        before = repository.get_preference_set(session, preference_set)
        repository.add_preferences(session, preference_set, 3, FOUR[3:])
        after = repository.get_preference_set(session, preference_set)
    assert (before.info, before.n_stored, before.is_complete) == (info(), 3, False)
    assert (after.n_stored, after.is_complete, after.created_at) == (4, True, before.created_at)


def test_what_is_there_stays(database: Database) -> None:
    stored(database)
    with database.session() as session:
        preference_set = repository.put_preference_set(session, info(kept=1))
        repository.add_preferences(session, preference_set, 0, [preference(1, "another query")])
        assert repository.get_preference_set(session, preference_set).info == info()
    assert read(database) == FOUR


def test_first_turns_are_distinct_and_counted_and_never_blank(database: Database) -> None:
    with stored(database).session() as session:
        found = repository.first_turns(session, repository.find_preference_set(session, SLUG))
    assert [(turn.text, turn.external_id, turn.n_preferences) for turn in found] == [
        ("soup?", "q1", 2),
        ("roses?", "q2", 1),
    ]


def test_winners_languages_and_llms_are_counted(database: Database) -> None:
    with stored(database).session() as session:
        counts = repository.preference_counts(session, repository.find_preference_set(session, SLUG))
    assert counts.winners == {Winner.A: 1, Winner.B: 2, Winner.TIE: 1}
    assert counts.languages == {"English": 4}
    assert list(counts.llms.items()) == [("alpha", 4), ("beta", 2), ("gamma", 2)]


def test_texts_that_no_database_holds_are_stored_as_others_are(database: Database) -> None:
    stored(database, [preference(1, "nul \x00 and half \ud83d")])
    assert read(database)[0].conversation_a[0].content == "nul \ufffd and half \ufffd"


def test_sets_do_not_touch_each_other(database: Database) -> None:
    stored(database)
    with database.session() as session:
        repository.put_preference_set(session, info("other"))
        repository.add_preferences(session, repository.find_preference_set(session, "other"), 0, FOUR[:2])
        repository.delete_preference_set(session, repository.find_preference_set(session, SLUG))
    with database.session() as session:
        with pytest.raises(NotFoundError, match=r"no preference data 'arena'; known are 'other'\.$"):
            repository.find_preference_set(session, SLUG)
        assert (
            list(repository.preferences_of(session, repository.find_preference_set(session, "other")))
            == FOUR[:2]
        )


def test_an_unknown_set_is_answered_with_those_there_are(database: Database) -> None:
    with (
        stored(database).session() as session,
        pytest.raises(NotFoundError, match=r"no preference data 'x'; known are 'arena'"),
    ):
        repository.first_turns(session, repository.find_preference_set(session, "x"))
