import io
from dataclasses import replace

import numpy as np
import pytest

from db.errors import DatabaseError, NotFoundError
from db.records import BenchmarkInfo, LLMRecord, QuerySource, WinRateRecord
from db.repositories import benchmarks, bundles, contents, representations, scores
from db.serialization import pack, text_sha256
from tests.db import samples


def test_a_filled_benchmark_is_exported_as_the_same_bundle(database):
    with database.session() as session:
        assert bundles.fill_from_bundle(session, samples.bundle(), "a" * 64)
        benchmark = benchmarks.find_benchmark(session, "tiny")
        assert bundles.export_bundle(session, benchmark, with_texts=True) == samples.bundle()
        assert bundles.export_bundle(session, benchmark, with_texts=False) == samples.bundle(with_texts=False)
        assert benchmarks.get_benchmark(session, benchmark).bundle_digest == "a" * 64


def test_a_bundle_without_texts_is_exported_as_the_same_bundle(database):
    with database.session() as session:
        bundles.fill_from_bundle(session, samples.bundle(with_texts=False), "a" * 64)
        assert bundles.export_bundle(
            session, benchmarks.find_benchmark(session, "tiny"), with_texts=True
        ) == samples.bundle(with_texts=False)


def test_a_benchmark_the_user_imported_equals_the_bundled_one(filled):
    with filled.session() as session:
        assert (
            bundles.export_bundle(session, benchmarks.find_benchmark(session, "tiny"), with_texts=True)
            == samples.bundle()
        )


def test_the_same_digest_fills_only_once(database):
    with database.session() as session:
        bundles.fill_from_bundle(session, samples.bundle(), "a" * 64)
        before = samples.all_rows(session)
        renamed = replace(samples.bundle(), info=replace(samples.INFO, title="Renamed"))
        assert not bundles.fill_from_bundle(session, renamed, "a" * 64)
        assert samples.all_rows(session) == before


def test_a_benchmark_of_the_user_is_left_alone(filled):
    with filled.session() as session:
        before = samples.all_rows(session)
        assert not bundles.wants_bundle(session, "tiny", "a" * 64)
        assert not bundles.fill_from_bundle(session, samples.bundle(with_texts=False), "a" * 64)
        assert samples.all_rows(session) == before


def test_another_digest_replaces_everything(database):
    smaller = replace(
        samples.bundle(),
        llms=samples.LLMS[:2],
        queries=(QuerySource("n1", "Home", "Garden", text_sha256("New?"), "New?"),),
        responses={"zeta": {"n1": "newer"}},
        representations={"style-2": {"zeta": pack(samples.arrays(4))}},
        query_representations={},
    )
    with database.session() as session:
        bundles.fill_from_bundle(session, samples.bundle(), "a" * 64)
        samples.store_scores(session)
    with database.session() as session:
        assert bundles.fill_from_bundle(session, smaller, "b" * 64)
        benchmark = benchmarks.find_benchmark(session, "tiny")
        assert bundles.export_bundle(session, benchmark, with_texts=True) == smaller
        assert not samples.has_scores(session)
        assert representations.list_representations(session, benchmark) == {"style-2": ("zeta",)}


def test_a_replaced_bundle_keeps_the_texts_the_user_imported(database):
    with database.session() as session:
        bundles.fill_from_bundle(session, samples.bundle(with_texts=False), "a" * 64)
        benchmark = benchmarks.find_benchmark(session, "tiny")
        contents.fill_query_texts(session, benchmark, samples.TEXTS.values())
        for llm in samples.LLMS:
            contents.set_responses(session, benchmark, llm.name, samples.responses(llm.name))
    renumbered = tuple(
        replace(query, external_id=f"new-{query.external_id}")
        for query in samples.queries(with_text=False)[:2]
    )
    newer = replace(
        samples.bundle(with_texts=False),
        llms=(*samples.LLMS[:2], LLMRecord("new", "New")),
        representations={},
        queries=renumbered,
    )
    with database.session() as session:
        assert bundles.fill_from_bundle(session, newer, "b" * 64)
    with database.session() as session:
        benchmark = benchmarks.find_benchmark(session, "tiny")
        assert contents.query_texts(session, benchmark) == [samples.TEXTS["q2"], samples.TEXTS["q1"]]
        assert contents.response_texts(session, benchmark, "zeta") == ["zeta answers q2", "zeta answers q1"]
        assert contents.response_texts(session, benchmark, "new") == [None, None]


def test_the_texts_of_a_newer_bundle_win(database):
    newer = replace(samples.bundle(), responses={"zeta": {"q1": "as the newer bundle says"}})
    with database.session() as session:
        bundles.fill_from_bundle(session, samples.bundle(), "a" * 64)
        bundles.fill_from_bundle(session, newer, "b" * 64)
        assert contents.response_texts(session, benchmarks.find_benchmark(session, "tiny"), "zeta") == [
            "zeta answers q2",
            "as the newer bundle says",
            "zeta answers q3",
        ]


def test_queries_of_equal_text_keep_each_its_own_response(database):
    twins = tuple(
        QuerySource(name, "Home", "Garden", text_sha256("Same?"), "Same?") for name in ("first", "second")
    )
    bundle = replace(samples.bundle(with_texts=False), queries=twins, representations={})
    with database.session() as session:
        bundles.fill_from_bundle(session, bundle, "a" * 64)
        benchmark = benchmarks.find_benchmark(session, "tiny")
        contents.set_responses(session, benchmark, "zeta", {"first": "one", "second": "two"})
        bundles.fill_from_bundle(session, bundle, "b" * 64)
        replaced = benchmarks.find_benchmark(session, "tiny")
        assert contents.response_texts(session, replaced, "zeta") == ["one", "two"]


def test_an_import_into_a_bundled_benchmark_leaves_it_a_bundled_one(database):
    with database.session() as session:
        bundles.fill_from_bundle(session, samples.bundle(with_texts=False), "a" * 64)
        benchmark = benchmarks.upsert_benchmark(session, samples.INFO)
        contents.upsert_queries(session, benchmark, samples.queries())
        assert benchmarks.get_benchmark(session, benchmark).bundle_digest == "a" * 64
        assert bundles.wants_bundle(session, "tiny", "b" * 64)


def test_other_benchmarks_are_untouched_by_a_replacement(filled):
    other = replace(samples.bundle(), info=BenchmarkInfo("other", "Other"))
    with filled.session() as session:
        bundles.fill_from_bundle(session, other, "a" * 64)
        bundles.fill_from_bundle(
            session,
            replace(other, llms=samples.LLMS[:1], baseline=None, responses={}, representations={}),
            "b" * 64,
        )
        assert (
            bundles.export_bundle(session, benchmarks.find_benchmark(session, "tiny"), with_texts=True)
            == samples.bundle()
        )


def test_scores_and_win_rates_come_with_the_bundle(filled):
    rates = tuple(WinRateRecord(llm, "", 0.5, 0.5, 0.25, 0.75, 3) for llm in ("zeta", "alpha"))
    other = replace(samples.KEY, crm="other")
    with filled.session() as session:
        for key in (samples.KEY, other):
            samples.store_scores(session, key)
        benchmark = benchmarks.find_benchmark(session, "tiny")
        scores.put_win_rates(session, benchmark, samples.KEY, rates)
        scored = bundles.export_bundle(session, benchmark, with_texts=True)
        assert bundles.export_bundle(session, benchmark, True, crms=()) == samples.bundle()
        assert bundles.export_bundle(session, benchmark, True, ["other"]).scores == scored.scores[1:]
        benchmarks.delete_benchmark(session, benchmark)
    with filled.session() as session:
        bundles.fill_from_bundle(session, scored, "a" * 64)
        benchmark = benchmarks.find_benchmark(session, "tiny")
        assert bundles.export_bundle(session, benchmark, with_texts=True) == scored
        assert scores.get_win_rates(session, benchmark, samples.KEY) == rates
        assert scores.get_win_rates(session, benchmark, other) == ()


def test_a_benchmark_is_imported_as_the_users_own(database):
    with database.session() as session:
        assert bundles.import_bundle(session, samples.bundle())
        assert (
            benchmarks.get_benchmark(session, benchmarks.find_benchmark(session, "tiny")).bundle_digest
            is None
        )
        before = samples.all_rows(session)
        assert not bundles.import_bundle(session, samples.bundle())
        assert not bundles.import_bundle(session, samples.bundle(with_texts=False))
        assert samples.all_rows(session) == before


@pytest.mark.parametrize(
    "change",
    [
        {"baseline": "zeta"},
        {"llms": samples.LLMS[:2], "responses": {}, "representations": {}},
        {"queries": samples.queries()[:2], "responses": {}},
        {"responses": {}},
        {"representations": {}},
    ],
)
def test_another_benchmark_of_the_same_slug_is_not_imported(filled, change):
    with filled.session() as session:
        before = samples.all_rows(session)
        with pytest.raises(DatabaseError, match="Another benchmark 'tiny' is stored"):
            bundles.import_bundle(session, replace(samples.bundle(), **change))
        assert samples.all_rows(session) == before


def test_an_unknown_benchmark_cannot_be_exported(database):
    with database.session() as session, pytest.raises(NotFoundError, match="no benchmark 'tiny'"):
        bundles.export_bundle(session, benchmarks.find_benchmark(session, "tiny"), with_texts=True)


def test_a_bundle_whose_arrays_are_packed_otherwise_is_the_stored_one(database):
    def with_arrays(payload):
        return replace(samples.bundle(), representations={"style-1": {"zeta": payload}})

    noise = np.random.default_rng(0).integers(-99, 99, (5_000, 120), dtype=np.int8)
    compressed = io.BytesIO()
    np.savez_compressed(compressed, noise=noise)
    with database.session() as session:
        assert bundles.import_bundle(session, with_arrays(pack({"noise": noise})))
        assert not bundles.import_bundle(session, with_arrays(compressed.getvalue()))
        with pytest.raises(DatabaseError, match="Another benchmark"):
            bundles.import_bundle(session, with_arrays(pack({"noise": -noise})))
        other = replace(samples.bundle(), representations={"style-1": {"alpha": pack({"noise": noise})}})
        with pytest.raises(DatabaseError, match="Another benchmark"):
            bundles.import_bundle(session, other)
