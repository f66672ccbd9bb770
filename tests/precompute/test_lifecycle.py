"""Listing, asking again and removing, with the locks that they take, on both databases."""

import io
import zipfile
from datetime import datetime

import numpy as np
import pytest
from sqlalchemy import select, update

from db import Database
from db.database import job_locks
from db.errors import DatabaseError
from db.models import Representation
from db.repositories.benchmarks import find_benchmark, list_benchmarks, updated_at
from db.repositories.collections import collection_of
from db.repositories.llm_answers import put_collected
from db.repositories.representations import get_representation, put_representation
from db.serialization import pack
from db.source_records import AnswerStatus, CollectedRecord
from precompute.lifecycle import ask_again, list_llms, remove_benchmarks, remove_llm_of, repack_all
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


def test_what_an_older_version_packed_is_packed_as_it_is_now(stored: Database) -> None:
    noise = np.random.default_rng(0).integers(0, 256, (600, 558), dtype=np.uint8)
    arrays = {"features": noise, "counts": np.zeros((600, 69), dtype=np.uint16)}
    with stored.session() as session:
        put_representation(session, find_benchmark(session, samples.SLUG), "alpha", "large", arrays)
        here = Representation.name == "large"
        session.execute(update(Representation).where(here).values(payload=compressed(arrays)))
    moment = _changed(stored)
    told: list[tuple[int, int]] = []

    done = repack_all(stored, lambda number, of: told.append((number, of)))

    assert (done.n_changed, told[0], told[-1]) == (1, (0, done.n_stored), (done.n_stored, done.n_stored))
    assert (done.before, done.after) == (len(compressed(arrays)), len(pack(arrays)))
    with stored.session() as session:
        payload = session.scalar(select(Representation.payload).where(Representation.name == "large"))
        found = get_representation(session, find_benchmark(session, samples.SLUG), "alpha", "large")
    assert payload == pack(arrays)
    assert found is not None
    assert all(np.array_equal(found[name], array) for name, array in arrays.items())
    assert _changed(stored) == moment
    assert repack_all(stored, lambda _number, _of: None).n_changed == 0


def _changed(stored: Database) -> datetime:
    with stored.session() as session:
        return updated_at(session, find_benchmark(session, samples.SLUG))


def compressed(arrays: dict[str, np.ndarray]) -> bytes:
    """The arrays as they used to be packed: all of them compressed."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name in sorted(arrays):
            member = zipfile.ZipInfo(f"{name}.npy")
            member.compress_type = zipfile.ZIP_DEFLATED
            with archive.open(member, "w", force_zip64=True) as file:
                np.lib.format.write_array(file, arrays[name], allow_pickle=False)
    return buffer.getvalue()
