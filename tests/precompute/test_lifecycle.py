"""Listing, asking again and removing, with the locks that they take, on both databases."""

import pytest

from db import Database
from db.database import job_locks
from db.errors import DatabaseError
from db.repositories.benchmarks import find_benchmark, list_benchmarks
from db.repositories.collections import collection_of
from db.repositories.llm_answers import put_collected
from db.source_records import AnswerStatus, CollectedRecord
from precompute.lifecycle import ask_again, list_llms, remove_benchmarks, remove_llm_of
from tests.db import samples
from tests.db.conftest import database, postgres, postgres_template, sqlite_template

__all__ = ["database", "postgres", "postgres_template", "sqlite_template"]  # fixtures


@pytest.fixture
def stored(database: Database) -> Database:
    with database.session() as session:
        samples.store(session)
        benchmark = find_benchmark(session, samples.SLUG)
        put_collected(session, benchmark, "alpha", {"q1": CollectedRecord(AnswerStatus.OK, "s", "One")})
    return database


def test_answers_without_current_representation_are_counted(stored: Database) -> None:
    with stored.session() as session:
        listed = {item.llm.name: item for item in list_llms(session, samples.SLUG)}
    assert listed["base"].is_baseline
    assert (listed["alpha"].n_answers, listed["alpha"].collection.n_imported) == (3, 2)
    assert (listed["alpha"].n_embedded, listed["alpha"].n_outdated) == (0, 3)


def test_asking_again_waits_for_no_collection_but_is_refused_beside_one(stored: Database) -> None:
    with (
        job_locks(stored.engine, ["collecting responses of alpha for 'tiny'"]),
        pytest.raises(DatabaseError, match="Another process is collecting"),
    ):
        ask_again(stored, samples.SLUG, "alpha", None)
    assert ask_again(stored, samples.SLUG, "alpha", None) == 1
    with stored.session() as session:
        assert collection_of(session, find_benchmark(session, samples.SLUG), "alpha").n_ask_again == 1


def test_removing_is_all_or_nothing(stored: Database) -> None:
    planned = remove_llm_of(stored, "alpha", (), dry=True)
    assert remove_llm_of(stored, "alpha", [samples.SLUG, samples.SLUG], dry=False) == planned
    [gone] = remove_benchmarks(stored, [samples.SLUG], dry=False)
    assert str(gone) == "the benchmark tiny: queries 3, LLMs 2, responses 6, representations 2"
    with stored.session() as session:
        assert list_benchmarks(session) == []
