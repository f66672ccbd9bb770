"""Collected responses, and extracted criteria with their themes: stored with how they came to be."""

import pytest
from sqlalchemy import func, select

from db.errors import NotFoundError
from db.models import CriterionThemeSet, ExtractedCriteria
from db.records import StepCount
from db.repositories import benchmarks, contents, llm_answers, preferences
from db.source_records import (
    AnswerState,
    AnswerStatus,
    AnswerTotals,
    CollectedRecord,
    ExtractedRecord,
    Message,
    PreferenceRecord,
    PreferenceSetInfo,
    SideKey,
    Winner,
)
from tests.db import samples

OK = CollectedRecord(
    AnswerStatus.OK,
    "d1",
    "Boil it.",
    prompt_tokens=10,
    completion_tokens=5,
    cost=0.25,
    seconds=1.5,
    attempts=2,
)
REFUSED = CollectedRecord(AnswerStatus.REFUSED, "d1", "I will not.", "Should I?")
FAILED = CollectedRecord(AnswerStatus.FAILED, "d1", attempts=3, error="The endpoint fails.")
WITHHELD = CollectedRecord(
    AnswerStatus.TRUNCATED, "d1", None, "Let me think", prompt_tokens=10, completion_tokens=100
)


@pytest.fixture
def session(filled):
    with filled.session() as opened:
        contents.upsert_llms(
            opened, benchmarks.find_benchmark(opened, "tiny"), [samples.LLMRecord("new", "New")]
        )
        yield opened


def put(session, **records):
    llm_answers.put_collected(session, benchmarks.find_benchmark(session, "tiny"), "new", records)


def test_what_is_collected_is_there_with_its_texts(session):
    put(session, q2=OK, q1=REFUSED, q3=FAILED)
    benchmark = benchmarks.find_benchmark(session, "tiny")
    assert samples.collected(session, benchmark, "new") == {"q2": OK, "q1": REFUSED, "q3": FAILED}
    assert contents.response_texts(session, benchmark, "new") == ["Boil it.", "I will not.", None]
    assert llm_answers.collection_totals(session, benchmark) == {
        "new": AnswerTotals(
            {AnswerStatus.OK: 1, AnswerStatus.REFUSED: 1, AnswerStatus.FAILED: 1}, 10, 5, 0.25, 1.5
        )
    }


def test_storing_again_changes_nothing(session):
    put(session, q2=OK, q3=FAILED)
    before = samples.all_rows(session)
    put(session, q2=OK, q3=FAILED)
    assert samples.all_rows(session) == before


def test_states_tell_collected_imported_and_missing_apart(session):
    benchmark = benchmarks.find_benchmark(session, "tiny")
    contents.set_responses(session, benchmark, "new", {"q2": "imported"})
    put(session, q1=WITHHELD)
    states = llm_answers.collection_states(session, benchmark, "new")
    assert list(states.items()) == [
        ("q2", AnswerState(True)),
        ("q1", AnswerState(False, AnswerStatus.TRUNCATED, "d1")),
        ("q3", AnswerState(False)),
    ]
    absent = llm_answers.collection_states(session, benchmark, "absent")
    assert list(absent.values()) == [AnswerState(False)] * 3


def test_a_failure_gives_way_to_an_answer_but_never_takes_its_place(session):
    put(session, q2=FAILED)
    put(session, q2=OK)
    put(session, q2=FAILED)
    assert samples.collected(session, benchmarks.find_benchmark(session, "tiny"), "new") == {"q2": OK}


def test_an_answer_without_text_takes_an_earlier_text_away(session):
    put(session, q2=OK)
    put(session, q2=WITHHELD)
    benchmark = benchmarks.find_benchmark(session, "tiny")
    assert samples.collected(session, benchmark, "new") == {"q2": WITHHELD}
    assert contents.response_texts(session, benchmark, "new") == [None, None, None]


def test_only_a_changed_text_makes_scores_void(session):
    put(session, q2=OK)
    samples.store_scores(session)
    put(session, q2=OK, q1=REFUSED)
    assert samples.has_scores(session)
    put(session, q2=REFUSED)
    assert not samples.has_scores(session)


def test_texts_that_databases_cannot_hold_are_mended(session):
    put(session, q2=CollectedRecord(AnswerStatus.OK, "d1", "a\x00b", "\ud800"))
    [record] = samples.collected(session, benchmarks.find_benchmark(session, "tiny"), "new").values()
    assert (record.text, record.reasoning) == ("a�b", "�")


def test_unknown_names_are_refused(session):
    with pytest.raises(NotFoundError, match="'q7'"):
        put(session, q2=OK, q7=OK)
    with pytest.raises(NotFoundError, match="no LLM 'absent'"):
        llm_answers.put_collected(session, benchmarks.find_benchmark(session, "tiny"), "absent", {"q2": OK})


def test_a_benchmark_made_own_is_no_longer_replaced_by_a_bundle(database):
    from db.repositories.bundles import fill_from_bundle

    with database.session() as session:
        fill_from_bundle(session, samples.bundle(), "1" * 64)
        benchmark = benchmarks.find_benchmark(session, "tiny")
        assert benchmarks.make_own(session, benchmark)
        assert not benchmarks.make_own(session, benchmark)
        assert not fill_from_bundle(session, samples.bundle(), "2" * 64)


A1, B1, A2 = SideKey("p1", Winner.A), SideKey("p1", Winner.B), SideKey("p2", Winner.A)
WARM = ExtractedRecord(
    AnswerStatus.OK,
    "digest",
    ("Warm and kind", "says “日本” \x00"),
    first_shown=Winner.B,
    llm="gpt",
    prompt_tokens=900,
    completion_tokens=30,
    cost=0.25,
    seconds=1.5,
    attempts=2,
)
NOT_EXTRACTED = ExtractedRecord(
    AnswerStatus.FAILED, "digest", first_shown=Winner.A, llm="gpt", cost=0.5, error="It was late."
)


@pytest.fixture
def arena(database):
    turns = (Message("user", "Hello"), Message("assistant", "Hi"))
    with database.session() as opened:
        for slug in ("arena", "other"):
            info = PreferenceSetInfo(slug, slug, "file", "0" * 64, {}, (StepCount("rows", 2),))
            preferences.put_preference_set(opened, info)
            records = [
                PreferenceRecord(name, turns, turns, "x", "y", Winner.A, "English", {})
                for name in ("p1", "p2")
            ]
            preferences.add_preferences(opened, preferences.find_preference_set(opened, slug), 0, records)
        yield opened


def test_what_is_stored_comes_back_in_the_order_of_the_file(arena):
    preference_set = preferences.find_preference_set(arena, "arena")
    llm_answers.put_extracted(arena, preference_set, {A2: WARM, B1: NOT_EXTRACTED, A1: WARM})
    found = llm_answers.get_extracted(arena, preference_set)
    assert list(found) == [A1, B1, A2]
    assert found[A1].criteria == ("Warm and kind", "says “日本” \ufffd")
    assert found[B1] == NOT_EXTRACTED
    assert llm_answers.get_extracted(arena, preferences.find_preference_set(arena, "other")) == {}
    assert llm_answers.extraction_states(arena, preference_set)[B1] == AnswerState(
        False, AnswerStatus.FAILED, "digest"
    )


def test_totals_are_sums_over_a_set(arena):
    preference_set = preferences.find_preference_set(arena, "arena")
    assert llm_answers.extraction_totals(arena, preference_set) == AnswerTotals({}, 0, 0, 0)
    llm_answers.put_extracted(arena, preference_set, {A2: WARM, B1: NOT_EXTRACTED, A1: WARM})
    llm_answers.put_extracted(arena, preferences.find_preference_set(arena, "other"), {A1: WARM})
    assert llm_answers.extraction_totals(arena, preference_set) == AnswerTotals(
        {AnswerStatus.OK: 2, AnswerStatus.FAILED: 1}, 1800, 60, 1.0, 3.0
    )


def test_storing_again_changes_nothing_but_what_failed(arena):
    preference_set = preferences.find_preference_set(arena, "arena")
    llm_answers.put_extracted(arena, preference_set, {A1: WARM, B1: NOT_EXTRACTED})
    llm_answers.put_extracted(arena, preference_set, {A1: NOT_EXTRACTED, B1: WARM})
    assert {record.status for record in llm_answers.get_extracted(arena, preference_set).values()} == {
        AnswerStatus.OK
    }


def test_themes_replace_earlier_ones(arena):
    preference_set = preferences.find_preference_set(arena, "arena")
    assert llm_answers.get_themes(arena, preference_set) is None
    for themes in ({"themes": []}, {"themes": [{"name": "Tone"}]}):
        llm_answers.put_themes(arena, preference_set, themes)
        assert llm_answers.get_themes(arena, preference_set) == themes
    assert llm_answers.get_themes(arena, preferences.find_preference_set(arena, "other")) is None


def test_all_of_it_goes_with_the_preferences(arena):
    preference_set = preferences.find_preference_set(arena, "arena")
    llm_answers.put_extracted(arena, preference_set, {A1: WARM, B1: NOT_EXTRACTED})
    llm_answers.put_themes(arena, preference_set, {})
    preferences.delete_preference_set(arena, preference_set)
    for table in (ExtractedCriteria, CriterionThemeSet):
        assert arena.scalar(select(func.count()).select_from(table)) == 0


def test_what_is_not_there_is_named(arena):
    with pytest.raises(NotFoundError, match="'absent'"):
        llm_answers.extraction_states(arena, preferences.find_preference_set(arena, "absent"))
    with pytest.raises(NotFoundError, match="'arena' has no preference with the id 'p9'"):
        llm_answers.put_extracted(
            arena, preferences.find_preference_set(arena, "arena"), {SideKey("p9", Winner.A): WARM}
        )
