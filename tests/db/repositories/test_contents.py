from dataclasses import replace

import pytest

from db import BenchmarkNotFoundError, CategoryTree, LLMRecord, QuerySource, text_sha256
from db.repositories import benchmarks, contents, texts
from tests.db import samples


def test_new_llms_are_added_after_the_stored_ones(filled):
    with filled.session() as session:
        contents.upsert_llms(
            session, "tiny", [LLMRecord("new", "New"), LLMRecord("zeta", "Zeta 2", "changed")]
        )
        llms = benchmarks.get_benchmark(session, "tiny").llms
    assert llms == (
        samples.LLMS[0],
        LLMRecord("zeta", "Zeta 2", "changed"),
        samples.LLMS[2],
        LLMRecord("new", "New"),
    )


def test_new_categories_and_topics_are_added_after_the_stored_ones(filled):
    with filled.session() as session:
        contents.upsert_categories(
            session, "tiny", [CategoryTree("Aims", ()), CategoryTree("Home", ("Attic", "Cooking"))]
        )
        categories = benchmarks.get_benchmark(session, "tiny").categories
    assert [category.name for category in categories] == ["Home", "Work", "Aims"]
    assert [topic.name for topic in categories[0].topics] == ["Cooking", "Garden", "Attic"]
    assert categories[2].topics == ()


def test_queries_keep_their_place_and_new_ones_follow(filled):
    with filled.session() as session:
        new = QuerySource("q0", "Play", "Chess", text_sha256("Who wins?"), "Who wins?")
        contents.upsert_queries(session, "tiny", [new, samples.queries()[2]])
        record = benchmarks.get_benchmark(session, "tiny")
    assert [query.external_id for query in record.queries] == ["q2", "q1", "q3", "q0"]
    assert [category.name for category in record.categories] == ["Home", "Work", "Play"]


def test_a_query_given_without_text_keeps_its_text(filled):
    with filled.session() as session:
        before = samples.all_rows(session)
        contents.upsert_queries(session, "tiny", samples.queries(with_text=False))
        assert samples.all_rows(session) == before


def test_a_text_of_another_hash_does_not_stay(filled):
    changed = replace(samples.queries()[0], sha256=text_sha256("other"), text=None)
    with filled.session() as session:
        contents.upsert_queries(session, "tiny", [changed])
        assert texts.query_texts(session, "tiny", ["q2", "q1"]) == [None, samples.TEXTS["q1"]]


def test_a_query_can_move_to_another_topic_and_empty_topics_be_deleted(filled):
    with filled.session() as session:
        samples.store_scores(session)
        contents.upsert_queries(
            session, "tiny", [replace(samples.queries()[1], category="Home", topic="Garden")]
        )
        assert benchmarks.get_benchmark(session, "tiny").queries[1].topic == "Garden"
        contents.delete_unused_topics(session, "tiny")
        record = benchmarks.get_benchmark(session, "tiny")
        assert [(category.name, category.n_queries) for category in record.categories] == [("Home", 3)]
        assert texts.query_texts(session, "tiny") == list(samples.TEXTS.values())
        assert samples.has_scores(session)


@pytest.mark.parametrize("external_id", ["q1", "q9"], ids=["changed", "new"])
def test_changed_queries_make_scores_void(filled, external_id):
    changed = replace(
        samples.queries()[1], external_id=external_id, text="Other", sha256=text_sha256("Other")
    )
    with filled.session() as session:
        samples.store_scores(session)
        contents.upsert_queries(session, "tiny", samples.queries())
        assert samples.has_scores(session)
        contents.upsert_queries(session, "tiny", [changed])
        assert not samples.has_scores(session)


def test_equal_texts_share_a_hash(filled):
    twin = replace(samples.queries()[0], external_id="q0")
    with filled.session() as session:
        contents.upsert_queries(session, "tiny", [twin])
        found = contents.query_ids_by_sha256(session, "tiny")
    assert found == {
        text_sha256(samples.TEXTS["q2"]): ("q2", "q0"),
        text_sha256(samples.TEXTS["q1"]): ("q1",),
        text_sha256(samples.TEXTS["q3"]): ("q3",),
    }


def test_texts_no_database_can_hold_are_stored_in_their_storable_form(filled):
    text = "nul \x00 and half a pair \ud800"
    with filled.session() as session:
        contents.upsert_queries(session, "tiny", [QuerySource("q0", "Work", "Mail", text_sha256(text), text)])
        texts.set_responses(session, "tiny", "zeta", {"q0": text})
    with filled.session() as session:
        assert texts.query_texts(session, "tiny", ["q0"]) == ["nul \ufffd and half a pair \ufffd"]
        assert texts.response_texts(session, "tiny", "zeta")[3] == "nul \ufffd and half a pair \ufffd"


def test_a_large_import_is_stored_whole_and_in_order(filled):
    many = [
        QuerySource(f"n{n:04d}", "Work", "Mail", text_sha256(str(n)), str(n)) for n in reversed(range(2000))
    ]
    with filled.session() as session:
        contents.upsert_queries(session, "tiny", many)
        texts.set_responses(session, "tiny", "zeta", {query.external_id: query.external_id for query in many})
    with filled.session() as session:
        assert texts.query_texts(session, "tiny")[3:] == [query.text for query in many]
        assert texts.response_texts(session, "tiny", "zeta")[3:] == [query.external_id for query in many]
        chosen = [query.external_id for query in many[::2]]
        assert texts.query_texts(session, "tiny", chosen) == [query.text for query in many[::2]]


@pytest.mark.parametrize(
    "upsert", [contents.upsert_llms, contents.upsert_categories, contents.upsert_queries]
)
def test_an_unknown_benchmark_is_refused(database, upsert):
    with database.session() as session, pytest.raises(BenchmarkNotFoundError):
        upsert(session, "tiny", [])
