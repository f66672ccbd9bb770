"""Batches that were handed in, until they are fetched."""

import pytest

from db.repositories import batches, benchmarks, removal
from db.source_records import BatchState
from tests.db import samples


@pytest.fixture
def session(filled):
    with filled.session() as opened:
        yield opened


def add(session, llm, *queries):
    return batches.add_batch(
        session,
        benchmarks.find_benchmark(session, samples.SLUG),
        llm,
        url="http://127.0.0.1/v1",
        settings_digest="d1",
        queries=queries,
        file_id="file-1",
    )


def test_a_batch_is_there_until_it_is_fetched_lost_or_dropped(session):
    benchmark = benchmarks.find_benchmark(session, samples.SLUG)
    first, second, third, fourth = (add(session, "new", query, "q1") for query in ("q3", "q2", "ä", "q1"))
    named = batches.name_batch(session, second, "batch_2")
    assert (first.queries, first.batch_id, named.batch_id) == (("q3", "q1"), None, "batch_2")
    assert batches.batches_under_way(session, benchmark) == [first, named, third, fourth]
    batches.end_batch(session, first, BatchState.DONE)
    batches.end_batch(session, third, BatchState.LOST)
    batches.drop_batch(session, fourth)
    assert batches.batches_under_way(session, benchmark) == [named]
    assert removal.benchmark_contents(session, benchmark)["batches under way"] == 1


def test_batches_go_with_their_benchmark(session):
    add(session, "new", "q1")
    removal.remove_benchmark(session, benchmarks.find_benchmark(session, samples.SLUG))
    assert samples.row_counts(session)["collection_batch"] == 0
