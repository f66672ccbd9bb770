"""What goes with an LLM, a benchmark or a pool, on both databases."""

import pytest

from db import Database
from db.bundle import bundle_digest, write_bundle
from db.errors import DatabaseError, NotFoundError
from db.repositories import removal
from db.repositories.benchmarks import find_benchmark, get_benchmark, list_benchmarks, updated_at
from db.repositories.bundles import fill_from_bundle, import_bundle, wants_bundle
from db.repositories.collections import answers_of, collection_of, mark_to_ask_again, put_settings
from db.repositories.llm_answers import collection_states, put_collected
from db.repositories.scores import get_scores
from db.source_records import AnswerStatus, CollectedRecord
from tests.db import samples

DIGEST = "settings-1"


@pytest.fixture
def collected(filled: Database) -> Database:
    """“alpha” was asked: one answer came, one was refused, one failed."""
    records = {
        "q1": CollectedRecord(AnswerStatus.OK, DIGEST, "One", replied_as="alpha-2", completion_tokens=9),
        "q2": CollectedRecord(AnswerStatus.REFUSED, DIGEST, "No.", replied_as="alpha-2", reasoning_tokens=3),
        "q3": CollectedRecord(AnswerStatus.FAILED, DIGEST, error="=It broke."),
    }
    with filled.session() as session:
        benchmark = find_benchmark(session, samples.SLUG)
        put_settings(session, {DIGEST: {"temperature": 1}})
        put_collected(session, benchmark, "alpha", records)
        samples.store_scores(session)
    return filled


def test_an_llm_goes_with_all_that_is_its_own_and_nothing_else(collected: Database) -> None:
    with collected.session() as session:
        benchmark = find_benchmark(session, samples.SLUG)
        assert removal.llm_contents(session, benchmark, "alpha") == {
            "responses": 3,
            "records of how they were collected": 3,
            "representations": 1,
            "rows of scores": 1,
        }
        before, moment = samples.row_counts(session), updated_at(session, benchmark)
        removal.remove_llm(session, benchmark, "alpha")
        after = samples.row_counts(session)
        gone = {table: before[table] - after[table] for table in before if before[table] != after[table]}
        assert gone == {
            "llm": 1,
            "response": 3,
            "collected_response": 3,
            "representation": 1,
            "score_matrix": 1,
        }
        assert [llm.name for llm in get_benchmark(session, benchmark).llms] == ["base", "zeta"]
        assert list(get_scores(session, benchmark, samples.KEY)) == ["zeta"]
        assert updated_at(session, benchmark) > moment


def test_the_baseline_and_strangers_are_not_removed(collected: Database) -> None:
    with collected.session() as session:
        benchmark = find_benchmark(session, samples.SLUG)
        with pytest.raises(DatabaseError, match="'base' is the baseline of 'tiny'"):
            removal.remove_llm(session, benchmark, "base")
        with pytest.raises(NotFoundError, match="no LLM 'omega'"):
            removal.remove_llm(session, benchmark, "omega")


def test_an_llm_removed_from_a_bundled_benchmark_does_not_come_back(database: Database) -> None:
    with database.session() as session:
        fill_from_bundle(session, samples.bundle(), "1" * 64)
        benchmark = find_benchmark(session, samples.SLUG)
        removal.remove_llm(session, benchmark, "alpha")
        assert not wants_bundle(session, samples.SLUG, "2" * 64)


def test_a_benchmark_goes_whole(collected: Database) -> None:
    with collected.session() as session:
        benchmark = find_benchmark(session, samples.SLUG)
        assert removal.benchmark_contents(session, benchmark)["queries"] == 3
        removal.remove_benchmark(session, benchmark)
        left = {table for table, n in samples.row_counts(session).items() if n}
        assert left == {"collection_settings", "criteria_set", "crm", "removed_benchmark"}


def test_a_removed_bundled_benchmark_comes_back_only_when_it_is_imported(empty_url, tmp_path) -> None:
    path = tmp_path / "tiny.usl.zip"
    write_bundle(path, samples.bundle())
    opened = Database.open(empty_url, [path])
    with opened.session() as session:
        removal.remove_benchmark(session, find_benchmark(session, samples.SLUG))
    opened.close()

    opened = Database.open(empty_url, [path])
    with opened.session() as session:
        assert list_benchmarks(session) == []
        assert not wants_bundle(session, samples.SLUG, bundle_digest(path))
        assert import_bundle(session, samples.bundle())
        assert removal.removed_benchmarks(session) == set()
    opened.close()

    opened = Database.open(empty_url, [path])
    with opened.session() as session:
        assert [summary.slug for summary in list_benchmarks(session)] == [samples.SLUG]
    opened.close()


def test_how_answers_came_to_be_is_summed(collected: Database) -> None:
    with collected.session() as session:
        benchmark = find_benchmark(session, samples.SLUG)
        found, imported = (collection_of(session, benchmark, llm) for llm in ("alpha", "zeta"))
    assert (found.n_imported, found.n_answers, found.reasoning_tokens) == (0, 2, 3)
    assert found.replied_as == {"alpha-2": 2}
    assert found.settings == ((DIGEST, {"temperature": 1}, 2),)
    assert found.totals.n_by_status == {status: 1 for status in AnswerStatus if status.value != "truncated"}
    assert found.days.count("-") == 2
    assert (imported.n_imported, imported.n_answers, imported.days) == (3, 3, "")


def test_only_collected_answers_are_marked_and_a_new_one_takes_the_mark_away(collected: Database) -> None:
    with collected.session() as session:
        benchmark = find_benchmark(session, samples.SLUG)
        assert mark_to_ask_again(session, benchmark, "zeta") == 0
        assert mark_to_ask_again(session, benchmark, "alpha", ["q1", "q2", "q1"]) == 2
        states = collection_states(session, benchmark, "alpha")
        assert {query for query, state in states.items() if state.ask_again} == {"q1", "q2"}
        put_collected(
            session, benchmark, "alpha", {"q1": CollectedRecord(AnswerStatus.OK, DIGEST, "Another")}
        )
        states = collection_states(session, benchmark, "alpha")
        assert {query for query, state in states.items() if state.ask_again} == {"q2"}


def test_answers_are_given_out_in_order_or_by_how_they_ended(collected: Database) -> None:
    with collected.session() as session:
        benchmark = find_benchmark(session, samples.SLUG)
        every = list(answers_of(session, benchmark, "alpha"))
        failed = list(answers_of(session, benchmark, "alpha", [AnswerStatus.FAILED]))
        fine = list(answers_of(session, benchmark, "zeta", [AnswerStatus.OK]))
    assert [(one.id, one.response) for one in every] == [
        ("q2", "No."),
        ("q1", "One"),
        ("q3", "alpha answers q3"),
    ]
    assert [(one.id, one.status, one.reason) for one in failed] == [("q3", "failed", "=It broke.")]
    assert [one.status for one in fine] == [None, None, None]
