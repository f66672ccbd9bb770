from dataclasses import replace
from datetime import timedelta

import pytest

from db.errors import NotFoundError
from db.models import now
from db.records import BenchmarkInfo, CategoryRecord, LLMRecord, QueryRecord, TopicRecord
from db.repositories import benchmarks, contents
from db.serialization import text_sha256
from tests.db import samples


def test_a_benchmark_is_got_as_it_was_stored(filled):
    with filled.session() as session:
        record = benchmarks.get_benchmark(session, benchmarks.find_benchmark(session, "tiny"))
    assert record.info == samples.INFO
    assert record.baseline == "base"
    assert record.llms == samples.LLMS
    assert record.queries == tuple(
        QueryRecord(query.external_id, query.category, query.topic, query.sha256, has_text=True)
        for query in samples.queries()
    )
    assert record.categories == (
        CategoryRecord("Home", 2, (TopicRecord("Cooking", 1), TopicRecord("Garden", 1))),
        CategoryRecord("Work", 1, (TopicRecord("Mail", 1),)),
    )
    assert record.bundle_digest is None
    assert record.has_texts
    assert timedelta() <= now() - record.updated_at < timedelta(minutes=1)


def test_storing_twice_changes_nothing(filled):
    with filled.session() as session:
        before = samples.all_rows(session)
        samples.store(session)
    with filled.session() as session:
        assert samples.all_rows(session) == before


def test_the_list_counts_queries_and_ranked_llms(filled):
    with filled.session() as session:
        benchmarks.upsert_benchmark(session, BenchmarkInfo("empty", "An empty one"))
        listed = benchmarks.list_benchmarks(session)
    found = [(one.slug, one.title, one.version, one.n_queries, one.n_llms, one.has_texts) for one in listed]
    assert found == [("empty", "An empty one", "", 0, 0, False), ("tiny", "Tiny", "1", 3, 2, True)]


def test_without_baseline_every_llm_is_ranked(filled):
    with filled.session() as session:
        benchmark = benchmarks.find_benchmark(session, "tiny")
        benchmarks.set_baseline(session, benchmark, None)
        [summary] = benchmarks.list_benchmarks(session)
        assert summary.n_llms == 3
        assert benchmarks.get_benchmark(session, benchmark).baseline is None


def test_texts_count_as_missing_while_an_llm_has_no_response(filled):
    with filled.session() as session:
        benchmark = benchmarks.find_benchmark(session, "tiny")
        contents.upsert_llms(session, benchmark, [LLMRecord("new", "New")])
        assert not benchmarks.get_benchmark(session, benchmark).has_texts
        contents.set_responses(session, benchmark, "new", {"q1": "one answer"})
        assert benchmarks.get_benchmark(session, benchmark).has_texts


def test_texts_count_as_missing_while_a_query_has_none(filled):
    with filled.session() as session:
        [query] = [query for query in samples.queries(with_text=False) if query.external_id == "q1"]
        contents.upsert_queries(
            session, benchmarks.find_benchmark(session, "tiny"), [replace(query, sha256=text_sha256("other"))]
        )
        [summary] = benchmarks.list_benchmarks(session)
        assert not summary.has_texts


def test_changed_information_leaves_the_contents(filled):
    with filled.session() as session:
        benchmarks.upsert_benchmark(session, replace(samples.INFO, title="Renamed"))
    with filled.session() as session:
        record = benchmarks.get_benchmark(session, benchmarks.find_benchmark(session, "tiny"))
    assert record.info.title == "Renamed"
    assert len(record.queries) == 3
    assert record.baseline == "base"


def test_another_baseline_makes_scores_void(filled):
    with filled.session() as session:
        samples.store_scores(session)
        benchmark = benchmarks.find_benchmark(session, "tiny")
        benchmarks.set_baseline(session, benchmark, "base")
        assert samples.has_scores(session)
        benchmarks.set_baseline(session, benchmark, "alpha")
        benchmarks.set_baseline(session, benchmark, "base")
        assert not samples.has_scores(session)


def test_deleting_takes_everything_that_belongs_to_it(filled):
    with filled.session() as session:
        samples.store_scores(session)
        benchmarks.delete_benchmark(session, benchmarks.find_benchmark(session, "tiny"))
    with filled.session() as session:
        left = {table: count for table, count in samples.row_counts(session).items() if count}
    assert left == {"crm": 1, "criteria_set": 1}


def test_other_benchmarks_survive_a_deletion(filled):
    with filled.session() as session:
        before = samples.all_rows(session)
        benchmark = benchmarks.upsert_benchmark(session, BenchmarkInfo("other", "Other"))
        contents.upsert_queries(session, benchmark, samples.queries())
        benchmarks.delete_benchmark(session, benchmark)
        assert samples.all_rows(session) == before


def test_unknown_names_are_answered_with_the_known_ones(filled):
    with filled.session() as session:
        message = r"^There is no benchmark 'huge'; known are 'tiny'\.$"
        with pytest.raises(NotFoundError, match=message):
            benchmarks.find_benchmark(session, "huge")
        message = r"^Benchmark 'tiny' has no LLM 'gpt'; known are 'base', 'zeta', 'alpha'\.$"
        with pytest.raises(NotFoundError, match=message):
            benchmarks.set_baseline(session, benchmarks.find_benchmark(session, "tiny"), "gpt")


def test_an_empty_database_knows_none(database):
    with (
        database.session() as session,
        pytest.raises(NotFoundError, match=r"; none is stored yet\.$"),
    ):
        benchmarks.get_benchmark(session, benchmarks.find_benchmark(session, "tiny"))
