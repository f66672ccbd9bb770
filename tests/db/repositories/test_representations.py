import io

import numpy as np
import pytest

from db.errors import DatabaseError, NotFoundError
from db.records import BenchmarkInfo
from db.repositories import benchmarks, contents, representations
from db.serialization import unpack
from tests.db import samples


def assert_same(actual, expected):
    assert actual.keys() == expected.keys()
    for name in expected:
        np.testing.assert_array_equal(actual[name], expected[name])
        assert actual[name].dtype == expected[name].dtype


def test_arrays_are_got_as_they_were_put(filled):
    with filled.session() as session:
        benchmark = benchmarks.find_benchmark(session, "tiny")
        stored = representations.payloads_by_llm(session, benchmark, "style-1")
        assert list(stored) == ["base", "zeta", "alpha"]
        for place, llm in enumerate(stored):
            assert_same(unpack(stored[llm]), samples.arrays(place))
            assert_same(
                representations.get_representation(session, benchmark, llm, "style-1"), samples.arrays(place)
            )
        assert_same(
            representations.get_query_representation(session, benchmark, "style-1"), samples.arrays(9)
        )


def test_what_is_not_stored_is_none(filled):
    with filled.session() as session:
        benchmark = benchmarks.find_benchmark(session, "tiny")
        assert representations.get_representation(session, benchmark, "zeta", "style-2") is None
        assert representations.get_query_representation(session, benchmark, "style-2") is None
        assert representations.payloads_by_llm(session, benchmark, "style-2") == {}


def test_the_list_says_which_llms_have_which(filled):
    with filled.session() as session:
        benchmark = benchmarks.find_benchmark(session, "tiny")
        representations.put_representation(session, benchmark, "alpha", "minilm", samples.arrays(3))
        assert representations.list_representations(session, benchmark) == {
            "minilm": ("alpha",),
            "style-1": ("base", "zeta", "alpha"),
        }


@pytest.mark.parametrize("of_queries", [False, True])
def test_replaced_arrays_make_scores_void_and_equal_ones_do_not(filled, of_queries):
    def put(name, seed):
        if of_queries:
            representations.put_query_representation(
                session, benchmarks.find_benchmark(session, "tiny"), name, samples.arrays(seed)
            )
        else:
            representations.put_representation(
                session, benchmarks.find_benchmark(session, "tiny"), "zeta", name, samples.arrays(seed)
            )

    with filled.session() as session:
        samples.store_scores(session)
        put("style-1", 9 if of_queries else 1)
        put("another", 5)
        assert samples.has_scores(session)
        put("style-1", 7)
        assert not samples.has_scores(session)
        counts = samples.row_counts(session)
        assert counts["representation"] + counts["query_representation"] == 5


def test_two_benchmarks_may_use_the_same_names(filled):
    with filled.session() as session:
        benchmark = benchmarks.upsert_benchmark(session, BenchmarkInfo("other", "Other"))
        contents.upsert_llms(session, benchmark, samples.LLMS)
        representations.put_representation(session, benchmark, "zeta", "style-1", samples.arrays(5))
        assert_same(
            representations.get_representation(
                session, benchmarks.find_benchmark(session, "tiny"), "zeta", "style-1"
            ),
            samples.arrays(1),
        )
        assert_same(
            representations.get_representation(session, benchmark, "zeta", "style-1"), samples.arrays(5)
        )


def test_unknown_llms_and_objects_are_refused(filled):
    with filled.session() as session:
        benchmark = benchmarks.find_benchmark(session, "tiny")
        with pytest.raises(NotFoundError, match="no LLM 'gpt'"):
            representations.put_representation(session, benchmark, "gpt", "style-1", samples.arrays(1))
        with pytest.raises(NotFoundError, match="no LLM 'gpt'"):
            representations.get_representation(session, benchmark, "gpt", "style-1")
        with pytest.raises(DatabaseError, match="The arrays cannot be stored"):
            representations.put_query_representation(
                session, benchmark, "x", {"a": np.array([{}], dtype=object)}
            )


def test_equal_arrays_that_are_packed_otherwise_change_nothing_else(filled):
    noise = np.random.default_rng(0).integers(-99, 99, (5_000, 120), dtype=np.int8)
    buffer = io.BytesIO()
    np.savez_compressed(buffer, noise=noise)
    with filled.session() as session:
        benchmark = benchmarks.find_benchmark(session, "tiny")
        representations.put_payload(session, benchmark, "zeta", "other", buffer.getvalue())
        samples.store_scores(session)
        changed = benchmarks.updated_at(session, benchmark)
        representations.put_representation(session, benchmark, "zeta", "other", {"noise": noise})
        assert samples.has_scores(session)
        assert benchmarks.updated_at(session, benchmark) == changed
        stored = representations.payloads_by_llm(session, benchmark, "other")["zeta"]
        assert len(stored) > len(buffer.getvalue())


def test_chosen_arrays_of_several_llms_are_passed_on_by_their_places(filled):
    taken = {}
    with filled.session() as session:
        benchmark = benchmarks.find_benchmark(session, "tiny")
        representations.put_representation(
            session, benchmark, "alpha", "other", {"a": np.ones(2), "b": np.ones(3)}
        )
        representations.read_representations(
            session, benchmark, ["alpha", "base"], "other", only={"b"}, take=taken.__setitem__
        )
        assert taken.keys() == {0, 1}
        assert taken[1] is None
        assert_same(taken[0], {"b": np.ones(3)})
        with pytest.raises(NotFoundError, match="no LLM 'gpt'"):
            representations.read_representations(
                session, benchmark, ["gpt"], "other", only={"b"}, take=taken.__setitem__
            )


def test_what_goes_wrong_with_one_llms_arrays_is_told(filled):
    def fail(place, arrays):
        raise ValueError(place)

    with filled.session() as session:
        benchmark = benchmarks.find_benchmark(session, "tiny")
        with pytest.raises(ValueError, match="0"):
            representations.read_representations(
                session, benchmark, ["base", "zeta"], "style-1", only=(), take=fail
            )


def test_damaged_arrays_are_refused_as_they_are_read(filled):
    with filled.session() as session:
        benchmark = benchmarks.find_benchmark(session, "tiny")
        payload = bytearray(representations.payloads_by_llm(session, benchmark, "style-1")["zeta"])
        payload[100] ^= 1
        for damaged in (bytes(payload), b"", b"no zip", bytes(payload[:60])):
            representations.put_payload(session, benchmark, "zeta", "style-1", damaged)
            with pytest.raises(DatabaseError, match="not a readable set of arrays"):
                representations.read_representations(
                    session,
                    benchmark,
                    ["base", "zeta"],
                    "style-1",
                    only={"phi", "length"},
                    take=lambda *_: None,
                )
