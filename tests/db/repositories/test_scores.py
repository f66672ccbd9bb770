import threading
from dataclasses import replace

import numpy as np
import pytest
from sqlalchemy import select

from db import LLMNotFoundError, LLMRecord, ScoreKey
from db.models import CriteriaSet
from db.repositories import benchmarks, contents, scores
from tests.db import samples

CRITERIA = [{"text": "short", "weight": 0.7, "polarity": "want"}]


def key_of(number: int) -> ScoreKey:
    return ScoreKey("judge", "1", f"{number:064d}")


def test_scores_are_got_as_they_were_put(filled):
    with filled.session() as session:
        scores.put_scores(
            session, "tiny", samples.KEY, CRITERIA, {"alpha": samples.arrays(2), "zeta": samples.arrays(1)}
        )
    with filled.session() as session:
        stored = scores.get_scores(session, "tiny", samples.KEY)
        assert session.scalars(select(CriteriaSet.criteria)).all() == [CRITERIA]
    assert list(stored) == ["zeta", "alpha"]
    np.testing.assert_array_equal(stored["zeta"]["phi"], samples.arrays(1)["phi"])


def test_putting_again_replaces(filled):
    with filled.session() as session:
        samples.store_scores(session)
        before = samples.all_rows(session)
        samples.store_scores(session)
        assert samples.all_rows(session) == before
        scores.put_scores(session, "tiny", samples.KEY, CRITERIA, {"zeta": samples.arrays(8)})
        stored = scores.get_scores(session, "tiny", samples.KEY)
    np.testing.assert_array_equal(stored["zeta"]["phi"], samples.arrays(8)["phi"])
    np.testing.assert_array_equal(stored["alpha"]["phi"], samples.arrays(2)["phi"])


def test_scores_are_incomplete_until_every_llm_but_the_baseline_has_some(filled):
    with filled.session() as session:
        assert scores.get_scores(session, "tiny", samples.KEY) is None
        scores.put_scores(session, "tiny", samples.KEY, CRITERIA, {"zeta": samples.arrays(1)})
        assert scores.get_scores(session, "tiny", samples.KEY) is None
        assert list(scores.get_partial_scores(session, "tiny", samples.KEY)) == ["zeta"]
        scores.put_scores(session, "tiny", samples.KEY, CRITERIA, {"alpha": samples.arrays(1)})
        assert scores.get_scores(session, "tiny", samples.KEY) is not None
        contents.upsert_llms(session, "tiny", [LLMRecord("new", "New")])
        assert scores.get_scores(session, "tiny", samples.KEY) is None


def test_without_baseline_every_llm_needs_scores(filled):
    with filled.session() as session:
        benchmarks.set_baseline(session, "tiny", None)
        samples.store_scores(session)
        assert not samples.has_scores(session)


@pytest.mark.parametrize(
    "other",
    [{"crm": "other"}, {"crm_version": "2"}, {"criteria": "d" * 64}],
    ids=["CRM", "version", "criteria"],
)
def test_scores_of_another_key_are_others(filled, other):
    with filled.session() as session:
        samples.store_scores(session)
        assert not samples.has_scores(session, replace(samples.KEY, **other))
        assert samples.has_scores(session)


def test_deleted_scores_are_gone(filled):
    with filled.session() as session:
        samples.store_scores(session)
        scores.delete_scores(session, "tiny")
        assert scores.get_partial_scores(session, "tiny", samples.KEY) == {}


def test_pruning_keeps_the_sets_stored_last(filled):
    for number in (1, 2, 3):
        with filled.session() as session:
            samples.store_scores(session, key_of(number))
    with filled.session() as session:
        samples.store_scores(session, key_of(1))
        assert scores.prune_scores(session, keep=2) == 1
        assert [samples.has_scores(session, key_of(number)) for number in (1, 2, 3)] == [True, False, True]
        assert scores.prune_scores(session, keep=2) == 0


def test_sets_that_lost_their_scores_are_pruned_first(filled):
    with filled.session() as session:
        samples.store_scores(session, key_of(1))
        scores.put_scores(session, "tiny", key_of(2), CRITERIA, {})
        assert scores.prune_scores(session, keep=1) == 1
        assert samples.has_scores(session, key_of(1))
        assert scores.prune_scores(session, keep=0) == 1
        assert samples.row_counts(session)["score_matrix"] == 0


def test_the_same_scores_may_be_put_at_the_same_moment(filled):
    start = threading.Barrier(4)
    failures: list[Exception] = []

    def put(llms: list[str]) -> None:
        start.wait()
        try:
            for _ in range(5):
                with filled.session() as session:
                    rows = {llm: samples.arrays(1) for llm in llms}
                    scores.put_scores(session, "tiny", samples.KEY, CRITERIA, rows)
        except Exception as error:
            failures.append(error)

    orders = [["zeta", "alpha"], ["alpha", "zeta"]] * 2
    threads = [threading.Thread(target=put, args=(order,)) for order in orders]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    with filled.session() as session:
        counts = samples.row_counts(session)
    assert (counts["crm"], counts["criteria_set"], counts["score_matrix"]) == (1, 1, 2)


def test_unknown_llms_are_refused_and_nothing_is_stored(filled):
    with filled.session() as session:
        with pytest.raises(LLMNotFoundError):
            scores.put_scores(session, "tiny", samples.KEY, CRITERIA, {"zeta": samples.arrays(1), "gpt": {}})
        assert samples.row_counts(session)["score_matrix"] == 0
