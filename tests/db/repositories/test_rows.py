"""A clock that was set back: changes are told apart, and the last one is the last."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta, tzinfo

import pytest

from db.models import now
from db.repositories import _rows, benchmarks, pools, profiles, scores
from tests.db import samples


@pytest.fixture
def set_back(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], None]]:
    """Set the clock of the database's rows to one moment an hour ago, at which it stays."""
    moment = datetime.now(UTC) - timedelta(hours=1)

    class Earlier(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> datetime:
            return moment

    yield lambda: monkeypatch.setattr("db.models.datetime", Earlier)


def test_the_present_moment_is_later_than_the_latest(set_back):
    before = now()
    assert _rows.after(None) >= before
    assert _rows.after(before - timedelta(hours=2)) >= before
    set_back()
    assert _rows.after(before) == before + timedelta(microseconds=1)


@pytest.mark.parametrize(
    "change",
    [
        lambda session, ref, info: _rows.touch(session, ref),
        lambda session, ref, info: benchmarks.upsert_benchmark(session, info),
        lambda session, ref, info: benchmarks.set_baseline(session, ref, None),
    ],
    ids=["touch", "upsert", "baseline"],
)
def test_a_changed_benchmark_has_a_later_date(filled, set_back, change):
    with filled.session() as session:
        benchmark = benchmarks.find_benchmark(session, "tiny")
        record = benchmarks.get_benchmark(session, benchmark)
        set_back()
        change(session, benchmark, record.info)
        assert benchmarks.updated_at(session, benchmark) > record.updated_at


def test_scores_that_were_stored_last_are_kept(filled, set_back):
    first, second = (replace(samples.KEY, criteria=f"{number}" * 64) for number in (1, 2))
    with filled.session() as session:
        samples.store_scores(session, first)
    set_back()
    with filled.session() as session:
        samples.store_scores(session, second)
        assert scores.prune_scores(session, keep=1) == 1
        assert samples.has_scores(session, second)


def test_a_profile_is_not_changed_by_who_saw_it_before_another_change(database, set_back):
    set_back()
    with database.session() as session:
        added = profiles.add_profile(session, "a" * 64, {})
        assert profiles.change_profile(session, "a" * 64, {"n": 1}, added.updated_at) is not None
        assert profiles.change_profile(session, "a" * 64, {"n": 2}, added.updated_at) is None


def test_a_changed_pool_has_a_later_date(database, set_back):
    with database.session() as session:
        pool = pools.put_pool(session, "pool")
        before = pools.get_pool(session, pool).updated_at
        set_back()
        pools.add_to_pool(session, pool, [("A query?", "here")])
        assert pools.get_pool(session, pool).updated_at > before
