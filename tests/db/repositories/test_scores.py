import threading
from dataclasses import replace

import numpy as np
import pytest
from sqlalchemy import select, update

from db.errors import DatabaseError, NotFoundError
from db.models import CriteriaSet, ScoreMatrix
from db.records import ScoreKey, ScoreRow, WinRateRecord
from db.repositories import benchmarks, contents, scores
from db.serialization import pack
from tests.db import samples

CRITERIA = [{"text": "short", "weight": 0.7, "polarity": "want"}]


def key_of(number: int) -> ScoreKey:
    return ScoreKey("judge", "1", f"{number:064d}")


def stored(database, key=samples.KEY):
    """Probabilities and what is judged, by LLM."""
    with database.session() as session:
        rows = scores.get_scores(session, benchmarks.find_benchmark(session, "tiny"), key)
    return {llm: (row.prob.tolist(), row.judged.tolist()) for llm, row in rows.items()}


def put(database, **rows):
    with database.session() as session:
        scores.put_scores(session, benchmarks.find_benchmark(session, "tiny"), samples.KEY, CRITERIA, rows)


def test_scores_are_got_as_they_were_put(filled):
    put(filled, alpha=samples.score_row(0.5, 0.25, 1), zeta=samples.score_row(0, 0.75, None))
    with filled.session() as session:
        rows = scores.get_scores(session, benchmarks.find_benchmark(session, "tiny"), samples.KEY)
        assert session.scalars(select(CriteriaSet.criteria)).all() == [CRITERIA]
    assert list(rows) == ["zeta", "alpha"]
    assert rows["alpha"].prob.dtype == np.float32
    np.testing.assert_array_equal(rows["zeta"].prob, np.array([0, 0.75, np.nan], dtype=np.float32))
    assert rows["zeta"].judged.tolist() == [True, True, False]


def test_putting_the_same_again_changes_nothing(filled):
    with filled.session() as session:
        samples.store_scores(session)
        before = samples.all_rows(session)
        samples.store_scores(session)
        assert samples.all_rows(session) == before


def test_a_matrix_is_stored_part_by_part(filled):
    put(filled, zeta=samples.score_row(0.25, None, None), alpha=samples.score_row(0.5, None, None))
    put(filled, zeta=samples.score_row(None, 0.5, None))
    put(filled, zeta=samples.score_row(0.75, None, 1))

    found = stored(filled)
    assert found["zeta"] == ([0.75, 0.5, 1], [True, True, True])
    assert found["alpha"][1] == [True, False, False]


def test_a_query_without_verdict_is_not_one_that_waits(filled):
    judged = ScoreRow(np.full(3, np.nan, dtype=np.float32), np.array([True, False, False]))
    put(filled, zeta=judged)

    assert stored(filled)["zeta"][1] == [True, False, False]


def test_of_rows_from_before_a_number_says_that_it_was_judged(filled):
    with filled.session() as session:
        samples.store_scores(session)
        prob = np.array([0.5, np.nan, 0.25], dtype=np.float32)
        session.execute(update(ScoreMatrix).values(payload=pack({"prob": prob})))

    assert stored(filled)["zeta"][1] == [True, False, True]


def test_llms_without_scores_are_left_out(filled):
    assert stored(filled) == {}
    put(filled, zeta=samples.score_row(1, 1, 1))
    assert list(stored(filled)) == ["zeta"]


def test_rows_of_another_length_are_refused(filled):
    with pytest.raises(DatabaseError, match="there are 3 queries"):
        put(filled, zeta=samples.score_row(1, 1))
    assert stored(filled) == {}


def test_scores_of_a_benchmark_that_has_changed_since_are_refused(filled):
    with filled.session() as session:
        benchmark = benchmarks.find_benchmark(session, "tiny")
        read = benchmarks.updated_at(session, benchmark)
        row = {"zeta": samples.score_row(1, None, None)}
        scores.put_scores(session, benchmark, samples.KEY, CRITERIA, row, computed_from=read)
    with filled.session() as session:
        contents.set_responses(
            session, benchmarks.find_benchmark(session, "tiny"), "zeta", {"q1": "another answer"}
        )
    with pytest.raises(DatabaseError, match="'tiny' has changed"), filled.session() as session:
        scores.put_scores(
            session,
            benchmarks.find_benchmark(session, "tiny"),
            samples.KEY,
            CRITERIA,
            row,
            computed_from=read,
        )
    assert stored(filled) == {}


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
        benchmark = benchmarks.find_benchmark(session, "tiny")
        scores.delete_scores(session, benchmark)
        assert scores.get_scores(session, benchmark, samples.KEY) == {}


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
        scores.put_scores(session, benchmarks.find_benchmark(session, "tiny"), key_of(2), CRITERIA, {})
        assert scores.prune_scores(session, keep=1) == 1
        assert samples.has_scores(session, key_of(1))
        assert scores.prune_scores(session, keep=0) == 1
        assert samples.row_counts(session)["score_matrix"] == 0


def test_parts_may_be_put_at_the_same_moment_and_none_is_lost(filled):
    start = threading.Barrier(4)
    failures: list[Exception] = []

    def put_parts(llms: list[str], query: int) -> None:
        start.wait()
        try:
            for _ in range(5):
                row = samples.score_row(*(0.5 if place == query else None for place in range(3)))
                put(filled, **dict.fromkeys(llms, row))
        except Exception as error:
            failures.append(error)

    parts = [(["zeta", "alpha"], 0), (["alpha", "zeta"], 1), (["zeta", "alpha"], 1), (["alpha", "zeta"], 2)]
    threads = [threading.Thread(target=put_parts, args=part) for part in parts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert stored(filled) == dict.fromkeys(["zeta", "alpha"], ([0.5] * 3, [True] * 3))
    with filled.session() as session:
        counts = samples.row_counts(session)
    assert (counts["crm"], counts["criteria_set"], counts["score_matrix"]) == (1, 1, 2)


def test_unknown_llms_are_refused_and_nothing_is_stored(filled):
    with filled.session() as session:
        with pytest.raises(NotFoundError, match="has no LLM"):
            row = samples.score_row(1, 1, 1)
            scores.put_scores(
                session,
                benchmarks.find_benchmark(session, "tiny"),
                samples.KEY,
                CRITERIA,
                {"zeta": row, "gpt": row},
            )
        assert samples.row_counts(session)["score_matrix"] == 0


RECORDS = tuple(
    WinRateRecord(llm, category, hard, hard / 2, hard - 0.1, hard + 0.1, n_queries)
    for category, n_queries in (("", 3), ("Home", 2), ("Work", 1))
    for llm, hard in (("zeta", 0.25), ("alpha", 1 / 3))
)


def put_rates(database, records=RECORDS, **options):
    with database.session() as session:
        scores.put_win_rates(
            session, benchmarks.find_benchmark(session, "tiny"), samples.KEY, records, **options
        )


def stored_rates(database, key=samples.KEY):
    with database.session() as session:
        return scores.get_win_rates(session, benchmarks.find_benchmark(session, "tiny"), key)


@pytest.fixture
def scored(filled):
    with filled.session() as session:
        samples.store_scores(session)
    return filled


def test_win_rates_are_got_as_they_were_put(scored):
    put_rates(scored, RECORDS[::-1])
    assert stored_rates(scored) == RECORDS
    assert stored_rates(scored, replace(samples.KEY, crm_version="2")) == ()


def test_putting_the_same_win_rates_again_changes_nothing(scored):
    put_rates(scored)
    put_rates(scored)
    assert stored_rates(scored) == RECORDS


def test_others_take_the_place_of_what_was_there(scored):
    put_rates(scored)
    put_rates(scored, RECORDS[:1])
    assert stored_rates(scored) == RECORDS[:1]


def test_coverage_tells_on_how_many_queries_they_rest(scored):
    put_rates(scored)
    with scored.session() as session:
        benchmark = benchmarks.find_benchmark(session, "tiny")
        assert scores.win_rate_coverage(session, benchmark, "judge", "1") == {
            samples.KEY.criteria: {"zeta": 3, "alpha": 3}
        }
        assert scores.win_rate_coverage(session, benchmark, "judge", "2") == {}


def test_they_go_with_the_scores(scored):
    put_rates(scored)
    with scored.session() as session:
        contents.set_responses(
            session, benchmarks.find_benchmark(session, "tiny"), "zeta", {"q1": "another answer"}
        )
    assert stored_rates(scored) == ()


def test_they_go_with_a_pruned_criteria_set(scored):
    put_rates(scored)
    with scored.session() as session:
        scores.prune_scores(session, keep=0)
    assert stored_rates(scored) == ()


def test_a_query_that_moves_to_another_topic_makes_them_void_but_not_the_scores(scored):
    put_rates(scored)
    moved = [replace(query, category="Work", topic="Mail") for query in samples.queries()]
    with scored.session() as session:
        contents.upsert_queries(session, benchmarks.find_benchmark(session, "tiny"), samples.queries())
    assert stored_rates(scored) == RECORDS
    with scored.session() as session:
        contents.upsert_queries(session, benchmarks.find_benchmark(session, "tiny"), moved)
    assert stored_rates(scored) == ()
    with scored.session() as session:
        assert samples.has_scores(session)


def test_what_cannot_be_right_is_refused(scored):
    with scored.session() as session:
        benchmark = benchmarks.find_benchmark(session, "tiny")
        read = benchmarks.updated_at(session, benchmark)
        contents.upsert_llms(session, benchmark, samples.LLMS)
    with pytest.raises(DatabaseError, match="'tiny' has changed in the meantime"):
        put_rates(scored, computed_from=read)
    with pytest.raises(NotFoundError, match="no LLM 'gpt'"):
        put_rates(scored, [replace(RECORDS[0], llm="gpt")])
    with scored.session() as session, pytest.raises(NotFoundError, match="No scores of 'tiny' by 'x'"):
        scores.put_win_rates(
            session, benchmarks.find_benchmark(session, "tiny"), replace(samples.KEY, crm="x"), RECORDS
        )
    with scored.session() as session, pytest.raises(NotFoundError, match="no benchmark 'absent'"):
        scores.get_win_rates(session, benchmarks.find_benchmark(session, "absent"), samples.KEY)
    assert stored_rates(scored) == ()


def test_what_is_scored_is_listed(scored):
    with scored.session() as session:
        samples.store_scores(session, replace(samples.KEY, crm="first"))
        listed = scores.list_scores(session, benchmarks.find_benchmark(session, "tiny"))
    assert [(item.key.crm, item.criteria) for item in listed] == [
        ("first", ({"text": "short"},)),
        ("judge", ({"text": "short"},)),
    ]
