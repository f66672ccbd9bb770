import dataclasses
import threading
from datetime import datetime
from pathlib import Path

import pytest

from crm.embedded.representation import NAME
from db import Database
from db.bundle import bundle_digest, read_bundle, write_bundle
from db.records import LLMRecord, QueryRecord
from db.repositories import contents, scores
from db.repositories.benchmarks import find_benchmark, get_benchmark
from db.repositories.bundles import export_bundle, fill_from_bundle
from db.repositories.representations import get_representation
from db.serialization import text_sha256
from precompute.embed import EmbedSummary
from precompute.errors import PrecomputeError
from precompute.importers import ImportedBenchmark, ImportedQuery
from precompute.load import ImportSummary, check_slug, import_benchmark
from precompute.topics.assignment import derived_id, external_ids
from tests.db import samples as db_samples
from tests.precompute import samples

Fitted = samples.RecordingRepresentation
Embed = samples.WordEmbedding


def rows(database: Database) -> dict[str, list[tuple[object, ...]]]:
    with database.session() as session:
        return db_samples.all_rows(session)


def test_an_import_is_ready_to_rank(database: Database, fitted: Fitted, embed: Embed) -> None:
    summary = import_benchmark(database, samples.imported(), fitted=fitted, embed=embed)
    assert dataclasses.replace(summary, notices=()) == ImportSummary(
        "tiny", 2, 2, 4, 0, "base", EmbedSummary(4, 0), ()
    )
    with database.session() as session:
        benchmark = find_benchmark(session, "tiny")
        record = get_benchmark(session, benchmark)
        assert (record.baseline, record.info.title, record.has_texts) == ("base", "Tiny", True)
        assert [query.external_id for query in record.queries] == [
            text_sha256(text)[:16] for text in ("soup or bread?", "which roses?")
        ]
        assert contents.response_texts(session, benchmark, "other") == ["other 0", "other 1"]


def test_queries_without_topic_take_the_nearest_of_dailybench(
    database: Database, fitted: Fitted, embed: Embed
) -> None:
    import_benchmark(database, samples.dailybench(), fitted=fitted, embed=embed)
    embed.embedded.clear()
    tiny = samples.imported(queries=[ImportedQuery("prune roses"), ImportedQuery("hot soup")])
    import_benchmark(database, tiny, fitted=fitted, embed=embed)
    with database.session() as session:
        record = get_benchmark(session, find_benchmark(session, "tiny"))
    assert [(query.category, query.topic) for query in record.queries] == [
        ("Garden", "Roses"),
        ("Kitchen", "Soup"),
    ]
    assert [category.name for category in record.categories] == ["Kitchen", "Garden"]
    assert embed.embedded.count("hot soup") == 1


def test_a_second_run_changes_nothing(database: Database, fitted: Fitted, embed: Embed) -> None:
    import_benchmark(database, samples.dailybench(), fitted=fitted, embed=embed)
    import_benchmark(database, samples.imported(), fitted=fitted, embed=embed)
    before = rows(database)
    with database.session() as session:
        updated_at = get_benchmark(session, find_benchmark(session, "tiny")).updated_at
    fitted.encoded.clear()
    embed.embedded.clear()
    summary = import_benchmark(database, samples.imported(), fitted=fitted, embed=embed)
    assert (summary.n_imported, summary.n_present, summary.embedded) == (0, 4, EmbedSummary(0, 4))
    assert rows(database) == before
    assert (fitted.encoded, embed.embedded) == ([], [])
    with database.session() as session:
        assert get_benchmark(session, find_benchmark(session, "tiny")).updated_at == updated_at


def test_an_llm_that_is_added_later_is_all_that_is_computed(
    database: Database, fitted: Fitted, embed: Embed
) -> None:
    import_benchmark(database, samples.imported(), fitted=fitted, embed=embed)
    fitted.encoded.clear()
    late = samples.imported({"late": {0: "late 0", 1: "late 1"}}, baseline="late")
    summary = import_benchmark(database, late, fitted=fitted, embed=embed)
    assert fitted.encoded == ["late 0", "late 1"]
    assert (summary.baseline, summary.embedded) == ("base", EmbedSummary(2, 4))
    with database.session() as session:
        record = get_benchmark(session, find_benchmark(session, "tiny"))
    assert [llm.name for llm in record.llms] == ["base", "other", "late"]
    assert record.baseline == "base"


def bundle_without_texts(database: Database, path: Path) -> None:
    """Writes the database's benchmark without texts, with titles that an import must not lose."""
    with database.session() as session:
        bundle = export_bundle(session, find_benchmark(session, "tiny"), with_texts=False)
    titled = tuple(LLMRecord(llm.name, f"The {llm.name}", "a note") for llm in bundle.llms)
    write_bundle(path, dataclasses.replace(bundle, llms=titled))


def fresh_database(path: Path, bundle: Path) -> Database:
    database = Database.open(f"sqlite:///{path}")
    with database.session() as session:
        fill_from_bundle(session, read_bundle(bundle), bundle_digest(bundle))
    return database


def placed() -> ImportedBenchmark:
    queries = [
        ImportedQuery("soup or bread?", None, "Kitchen", "Soup"),
        ImportedQuery("which roses?", None, "Garden", "Roses"),
    ]
    return samples.imported({"base": {0: "base 0", 1: "base 1"}, "other": {1: "other 1"}}, queries)


def test_texts_imported_onto_a_bundle_without_them_cost_nothing(
    database: Database, tmp_path: Path, fitted: Fitted, embed: Embed
) -> None:
    import_benchmark(database, placed(), fitted=fitted, embed=embed)
    bundle_without_texts(database, tmp_path / "tiny.usl.zip")
    fresh = fresh_database(tmp_path / "fresh.sqlite3", tmp_path / "tiny.usl.zip")
    with fresh.session() as session:
        benchmark = find_benchmark(session, "tiny")
        scores.put_scores(session, benchmark, db_samples.KEY, [], {"other": db_samples.score_row(1, 1)})
        before = get_benchmark(session, benchmark)
    arrays = {name: rows(fresh)[name] for name in ("representation", "query_representation", "topic")}
    fitted.encoded.clear()
    embed.embedded.clear()
    untold = dataclasses.replace(
        placed(), queries=tuple(ImportedQuery(query.text) for query in reversed(placed().queries))
    )
    crossed = dataclasses.replace(
        untold, responses={"base": {1: "base 0", 0: "base 1"}, "other": {0: "other 1"}}
    )
    summary = import_benchmark(fresh, crossed, fitted=fitted, embed=embed)
    assert (summary.n_imported, summary.embedded) == (3, EmbedSummary(0, 3))
    assert (fitted.encoded, embed.embedded) == ([], [])
    assert {name: rows(fresh)[name] for name in arrays} == arrays
    with fresh.session() as session:
        benchmark = find_benchmark(session, "tiny")
        after = get_benchmark(session, benchmark)
        assert (before.has_texts, after.has_texts) == (False, True)
        assert (after.llms, after.categories) == (before.llms, before.categories)
        assert contents.query_texts(session, benchmark) == ["soup or bread?", "which roses?"]
        assert contents.response_texts(session, benchmark, "other") == [None, "other 1"]
        assert db_samples.has_scores(session)
    fresh.close()


def test_a_new_llm_on_a_bundle_without_texts_leaves_the_others_as_they_are(
    database: Database, tmp_path: Path, fitted: Fitted, embed: Embed
) -> None:
    import_benchmark(database, placed(), fitted=fitted, embed=embed)
    bundle_without_texts(database, tmp_path / "tiny.usl.zip")
    fresh = fresh_database(tmp_path / "fresh.sqlite3", tmp_path / "tiny.usl.zip")
    before = rows(fresh)["representation"]
    late = samples.imported({"late": {0: "late 0"}}, [ImportedQuery("which roses?")])
    summary = import_benchmark(fresh, late, fitted=fitted, embed=embed)
    assert summary.embedded == EmbedSummary(1, 3)
    assert rows(fresh)["representation"][:2] == before
    fresh.close()


def test_a_benchmark_survives_the_bundle(
    database: Database, tmp_path: Path, fitted: Fitted, embed: Embed
) -> None:
    import_benchmark(database, placed(), fitted=fitted, embed=embed)
    with database.session() as session:
        exported = export_bundle(session, find_benchmark(session, "tiny"), with_texts=True)
    write_bundle(tmp_path / "tiny.usl.zip", exported)
    fresh = fresh_database(tmp_path / "fresh.sqlite3", tmp_path / "tiny.usl.zip")
    with fresh.session() as session:
        assert export_bundle(session, find_benchmark(session, "tiny"), with_texts=True) == exported
    import_benchmark(fresh, placed(), fitted=fitted, embed=embed)
    with fresh.session() as session:
        assert export_bundle(session, find_benchmark(session, "tiny"), with_texts=True) == exported
    fresh.close()


def test_a_query_that_moves_leaves_no_empty_topic(database: Database, fitted: Fitted, embed: Embed) -> None:
    import_benchmark(database, placed(), fitted=fitted, embed=embed)
    moved = [
        dataclasses.replace(query, category="Garden", topic="All") if query.topic == "Soup" else query
        for query in placed().queries
    ]
    import_benchmark(
        database, dataclasses.replace(placed(), queries=tuple(moved)), fitted=fitted, embed=embed
    )
    with database.session() as session:
        record = get_benchmark(session, find_benchmark(session, "tiny"))
    assert [(query.category, query.topic) for query in record.queries] == [
        ("Garden", "All"),
        ("Garden", "Roses"),
    ]
    assert [category.name for category in record.categories] == ["Garden"]


def test_title_and_baseline_change_only_when_asked(database: Database, fitted: Fitted, embed: Embed) -> None:
    import_benchmark(database, samples.imported(), title="Mine", fitted=fitted, embed=embed)
    import_benchmark(database, samples.imported(), baseline="other", fitted=fitted, embed=embed)
    summary = import_benchmark(database, samples.imported(), fitted=fitted, embed=embed)
    with database.session() as session:
        record = get_benchmark(session, find_benchmark(session, "tiny"))
    assert (record.info.title, record.baseline, summary.baseline) == ("Mine", "other", "other")


def test_a_default_baseline_says_why(database: Database, fitted: Fitted, embed: Embed) -> None:
    tiny = dataclasses.replace(samples.imported(), baseline_origin="the first")
    first = import_benchmark(database, tiny, fitted=fitted, embed=embed)
    second = import_benchmark(database, tiny, fitted=fitted, embed=embed)
    assert (first.baseline, second.baseline) == ("base (the first)", "base")


def test_a_benchmark_may_have_no_baseline_and_keeps_it_so(
    database: Database, fitted: Fitted, embed: Embed
) -> None:
    without = dataclasses.replace(samples.imported(), baseline=None)
    first = import_benchmark(database, without, fitted=fitted, embed=embed)
    second = import_benchmark(database, samples.imported(), fitted=fitted, embed=embed)

    assert (first.baseline, second.baseline) == (None, None)
    with database.session() as session:
        bundle = export_bundle(session, find_benchmark(session, first.slug), with_texts=True)
    assert bundle.baseline is None


def test_an_unknown_baseline_writes_nothing(database: Database, fitted: Fitted, embed: Embed) -> None:
    before = rows(database)
    with pytest.raises(PrecomputeError, match=r"'othr'.*did you mean 'other'"):
        import_benchmark(database, samples.imported(), baseline="othr", fitted=fitted, embed=embed)
    assert rows(database) == before


def test_texts_that_no_database_can_hold_are_stored_once_and_for_all(
    database: Database, fitted: Fitted, embed: Embed
) -> None:
    odd = samples.imported({"base": {0: "half \ud83d and \x00"}}, [ImportedQuery("what \x00?")])
    import_benchmark(database, odd, fitted=fitted, embed=embed)
    summary = import_benchmark(database, odd, fitted=fitted, embed=embed)
    assert (summary.n_imported, summary.embedded) == (0, EmbedSummary(0, 1))


def test_two_imports_at_once_make_no_duplicates(database: Database, fitted: Fitted, embed: Embed) -> None:
    failures: list[BaseException] = []

    def run() -> None:
        try:
            import_benchmark(database, samples.imported(), fitted=fitted, embed=embed)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    counts = {name: len(stored) for name, stored in rows(database).items()}
    assert (counts["benchmark"], counts["query"], counts["llm"]) == (1, 2, 2)
    assert (counts["response"], counts["representation"]) == (4, 2)


@pytest.mark.parametrize("slug", ["", "Upper", "a/b", "-a", "a b", "ä"])
def test_a_slug_must_fit_into_a_link(slug: str) -> None:
    with pytest.raises(PrecomputeError, match="is no slug"):
        check_slug(slug)


def stored(external_id: str, text: str) -> QueryRecord:
    return QueryRecord(external_id, "c", "t", text_sha256(text), has_text=False)


def test_a_query_without_id_gets_one_from_its_text() -> None:
    assert external_ids([ImportedQuery("soup?")], []) == [text_sha256("soup?")[:16]]


def test_a_query_keeps_its_own_id() -> None:
    assert external_ids([ImportedQuery("soup?", "7")], [stored("8", "roses?")]) == ["7"]
    assert external_ids([ImportedQuery("soup?", "7")], [stored("7", "roses?"), stored("8", "soup?")]) == ["7"]


def test_a_stored_query_of_the_same_text_is_the_same_query() -> None:
    assert external_ids([ImportedQuery("soup?")], [stored("8", "soup?")]) == ["8"]
    assert external_ids([ImportedQuery("soup?", "7")], [stored("8", "soup?")]) == ["8"]


def test_two_queries_of_one_text_stay_two() -> None:
    twins = [ImportedQuery("soup?", "7"), ImportedQuery("soup?", "8"), ImportedQuery("soup?", "9")]
    assert external_ids(twins, []) == ["7", "8", "9"]
    assert external_ids(twins, [stored("a", "soup?"), stored("8", "soup?")]) == ["a", "8", "9"]
    derived = derived_id(text_sha256("soup?"))
    assert external_ids([ImportedQuery("soup?")], [stored(derived, "soup?"), stored("a", "soup?")]) == [
        derived
    ]


def test_llms_that_a_file_only_names_are_shown_by_the_title_of_the_catalogue(
    database: Database, fitted: Fitted, embed: Embed
) -> None:
    answers = {"base": {0: "a"}, "gpt-5-mini": {0: "b"}, "nobody-knows-1": {0: "c"}}
    import_benchmark(database, samples.imported(answers), fitted=fitted, embed=embed)
    with database.session() as session:
        record = get_benchmark(session, find_benchmark(session, "tiny"))
    assert [llm.title for llm in record.llms] == ["base", "GPT-5 mini", "nobody-knows-1"]


TWO = {"base": {0: "base 0", 1: "base 1"}, "other": {0: "other 0"}}


class TestAtOnce:
    """Texts and representations are stored together, or not at all."""

    def test_it_comes_to_the_same(
        self, tmp_path: Path, database: Database, fitted: Fitted, embed: Embed
    ) -> None:
        other = Database.open(f"sqlite:///{tmp_path / 'other.sqlite3'}")
        found = []
        for each, at_once in ((database, False), (other, True)):
            for imported in (
                samples.dailybench(),
                samples.imported(TWO),
                samples.imported({"base": {0: "base, late"}, "third": {1: "third 1"}}),
            ):
                summary = import_benchmark(each, imported, fitted=fitted, embed=embed, at_once=at_once)
            found.append((summary, without_dates(rows(each))))
        other.close()

        assert found[0] == found[1]

    def test_one_that_ends_midway_leaves_nothing(
        self, database: Database, fitted: Fitted, embed: Embed
    ) -> None:
        class Interrupted(samples.RecordingRepresentation):
            def encode(self, texts, queries, progress=None):
                if "other 0" in texts:
                    raise KeyboardInterrupt
                return super().encode(texts, queries, progress)

        import_benchmark(database, samples.dailybench(), fitted=fitted, embed=embed)
        before = rows(database)
        with pytest.raises(KeyboardInterrupt):
            import_benchmark(
                database,
                samples.imported(TWO),
                fitted=Interrupted(**samples.fitted()),
                embed=embed,
                at_once=True,
            )
        assert rows(database) == before

    def test_again_it_computes_nothing_and_changes_nothing(
        self, database: Database, fitted: Fitted, embed: Embed
    ) -> None:
        import_benchmark(database, samples.imported(TWO), fitted=fitted, embed=embed, at_once=True)
        before = rows(database)
        fitted.encoded.clear()
        again = import_benchmark(database, samples.imported(TWO), fitted=fitted, embed=embed, at_once=True)

        assert (again.n_imported, again.n_present, again.embedded) == (0, 3, EmbedSummary(0, 3))
        assert fitted.encoded == []
        assert rows(database) == before

    def test_what_another_benchmark_has_is_taken_over(
        self, database: Database, fitted: Fitted, embed: Embed
    ) -> None:
        import_benchmark(database, samples.imported(TWO), fitted=fitted, embed=embed)
        fitted.encoded.clear()
        texts = {"base": {0: "base 0", 1: "another"}, "other": {0: "other 0"}}
        second = samples.imported(texts, slug="second")
        summary = import_benchmark(database, second, fitted=fitted, embed=embed, at_once=True)

        assert fitted.encoded == ["another"]
        assert summary.embedded == EmbedSummary(1, 2)

    def test_what_others_import_meanwhile_is_made_ready_too(
        self, database: Database, fitted: Fitted, embed: Embed
    ) -> None:
        class Overtaken(samples.RecordingRepresentation):
            def encode(self, texts, queries, progress=None):
                if "other 0" in texts:
                    late = samples.imported({"base": {0: "base, late"}, "third": {0: "third 0"}})
                    import_benchmark(database, late, fitted=fitted, embed=embed)
                return super().encode(texts, queries, progress)

        overtaken = Overtaken(**samples.fitted())
        import_benchmark(database, samples.imported(TWO), fitted=overtaken, embed=embed, at_once=True)
        with database.session() as session:
            benchmark = find_benchmark(session, "tiny")
            known = {
                llm.name: get_representation(session, benchmark, llm.name, NAME)
                for llm in get_benchmark(session, benchmark).llms
            }
        assert {llm: found is not None for llm, found in known.items()} == dict.fromkeys(
            ("base", "other", "third"), True
        )


def without_dates(found: dict[str, list[tuple[object, ...]]]) -> dict[str, list[tuple[object, ...]]]:
    """Rows without the moments at which they were written."""
    return {
        table: [tuple(value for value in row if not isinstance(value, datetime)) for row in of_table]
        for table, of_table in found.items()
    }
