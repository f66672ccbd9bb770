import numpy as np
import pytest

from db import BenchmarkInfo, LLMNotFoundError, PayloadError
from db.repositories import benchmarks, contents, representations
from tests.db import samples


def assert_same(actual, expected):
    assert actual.keys() == expected.keys()
    for name in expected:
        np.testing.assert_array_equal(actual[name], expected[name])
        assert actual[name].dtype == expected[name].dtype


def test_arrays_are_got_as_they_were_put(filled):
    with filled.session() as session:
        stored = representations.get_representations(session, "tiny", "style-1")
        assert list(stored) == ["base", "zeta", "alpha"]
        for place, llm in enumerate(stored):
            assert_same(stored[llm], samples.arrays(place))
            assert_same(
                representations.get_representation(session, "tiny", llm, "style-1"), samples.arrays(place)
            )
        assert_same(representations.get_query_representation(session, "tiny", "style-1"), samples.arrays(9))


def test_what_is_not_stored_is_none(filled):
    with filled.session() as session:
        assert representations.get_representation(session, "tiny", "zeta", "style-2") is None
        assert representations.get_query_representation(session, "tiny", "style-2") is None
        assert representations.get_representations(session, "tiny", "style-2") == {}


def test_the_list_says_which_llms_have_which(filled):
    with filled.session() as session:
        representations.put_representation(session, "tiny", "alpha", "minilm", samples.arrays(3))
        assert representations.list_representations(session, "tiny") == {
            "minilm": ("alpha",),
            "style-1": ("base", "zeta", "alpha"),
        }


@pytest.mark.parametrize("of_queries", [False, True])
def test_replaced_arrays_make_scores_void_and_equal_ones_do_not(filled, of_queries):
    def put(name, seed):
        if of_queries:
            representations.put_query_representation(session, "tiny", name, samples.arrays(seed))
        else:
            representations.put_representation(session, "tiny", "zeta", name, samples.arrays(seed))

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
        benchmarks.upsert_benchmark(session, BenchmarkInfo("other", "Other"))
        contents.upsert_llms(session, "other", samples.LLMS)
        representations.put_representation(session, "other", "zeta", "style-1", samples.arrays(5))
        assert_same(representations.get_representation(session, "tiny", "zeta", "style-1"), samples.arrays(1))
        assert_same(
            representations.get_representation(session, "other", "zeta", "style-1"), samples.arrays(5)
        )


def test_unknown_llms_and_objects_are_refused(filled):
    with filled.session() as session:
        with pytest.raises(LLMNotFoundError):
            representations.put_representation(session, "tiny", "gpt", "style-1", samples.arrays(1))
        with pytest.raises(LLMNotFoundError):
            representations.get_representation(session, "tiny", "gpt", "style-1")
        with pytest.raises(PayloadError):
            representations.put_query_representation(
                session, "tiny", "x", {"a": np.array([{}], dtype=object)}
            )
