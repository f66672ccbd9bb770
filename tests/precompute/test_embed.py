import dataclasses
import io

import numpy as np
import pytest

from crm.embedded.representation import MISSING, NAME, Representation, text_digest
from db import Database
from db.repositories import contents, representations, scores
from db.repositories.benchmarks import find_benchmark, get_benchmark
from precompute.embed import EmbedSummary, embed_benchmark
from precompute.importers import ImportedQuery
from precompute.load import import_benchmark
from precompute.topics.assignment import QUERY_REPRESENTATION
from tests.db import samples as db_samples
from tests.precompute import samples

RESPONSES = {"base": {0: "base 0", 1: "base 1"}, "other": {0: "other 0"}}


@pytest.fixture
def filled(
    database: Database, fitted: samples.RecordingRepresentation, embed: samples.WordEmbedding
) -> Database:
    import_benchmark(database, samples.imported(RESPONSES), fitted=fitted, embed=embed)
    fitted.encoded.clear()
    embed.embedded.clear()
    return database


def stored(database: Database, llm: str) -> dict[str, np.ndarray]:
    with database.session() as session:
        arrays = representations.get_representation(session, find_benchmark(session, "tiny"), llm, NAME)
    assert arrays is not None
    return arrays


def query_ids(database: Database) -> list[str]:
    with database.session() as session:
        return [
            query.external_id for query in get_benchmark(session, find_benchmark(session, "tiny")).queries
        ]


def test_every_response_has_its_row_and_a_missing_one_none(
    filled: Database, fitted: samples.RecordingRepresentation
) -> None:
    arrays = stored(filled, "other")
    assert arrays["digest"].tolist() == [text_digest("other 0"), MISSING]
    expected = fitted.encode(["other 0"], [""])
    np.testing.assert_array_equal(arrays["features"][0], expected["features"][0])
    assert not arrays["features"][1].any()
    assert {name: array.dtype for name, array in arrays.items()} == {
        "features": np.int8,
        "style": np.float16,
        "counts": np.float16,
        "passages": np.int8,
        "digest": np.uint64,
    }


def test_queries_are_embedded_in_half_precision(filled: Database, embed: samples.WordEmbedding) -> None:
    with filled.session() as session:
        arrays = representations.get_query_representation(
            session, find_benchmark(session, "tiny"), QUERY_REPRESENTATION
        )
    assert arrays is not None
    assert arrays["embedding"].dtype == np.float16
    np.testing.assert_allclose(arrays["embedding"], embed(["soup or bread?", "which roses?"]), atol=1e-3)


def test_what_is_current_is_not_computed_again(
    filled: Database, fitted: samples.RecordingRepresentation, embed: samples.WordEmbedding
) -> None:
    with filled.session() as session:
        before = db_samples.all_rows(session)
    assert embed_benchmark(filled, "tiny", fitted, embed) == EmbedSummary(0, 3)
    assert (fitted.encoded, embed.embedded) == ([], [])
    with filled.session() as session:
        assert db_samples.all_rows(session) == before


def test_equal_arrays_that_were_packed_otherwise_stay_as_they_are(
    filled: Database, fitted: samples.RecordingRepresentation, embed: samples.WordEmbedding
) -> None:
    packed = io.BytesIO()
    np.savez(packed, **stored(filled, "base"))
    with filled.session() as session:
        representations.put_payload(session, find_benchmark(session, "tiny"), "base", NAME, packed.getvalue())
    embed_benchmark(filled, "tiny", fitted, embed)
    with filled.session() as session:
        assert (
            representations.payloads_by_llm(session, find_benchmark(session, "tiny"), NAME)["base"]
            == packed.getvalue()
        )


def test_only_changed_and_new_responses_are_computed(
    filled: Database, fitted: samples.RecordingRepresentation, embed: samples.WordEmbedding
) -> None:
    before = stored(filled, "base")
    second = query_ids(filled)[1]
    with filled.session() as session:
        benchmark = find_benchmark(session, "tiny")
        contents.set_responses(session, benchmark, "base", {second: "base, changed"})
        contents.set_responses(session, benchmark, "other", {second: "other, late"})
    assert embed_benchmark(filled, "tiny", fitted, embed) == EmbedSummary(2, 2)
    assert fitted.encoded == ["base, changed", "other, late"]
    np.testing.assert_array_equal(stored(filled, "base")["features"][0], before["features"][0])
    assert stored(filled, "other")["digest"].tolist() == [text_digest("other 0"), text_digest("other, late")]


def test_new_queries_lengthen_every_array(
    filled: Database, fitted: samples.RecordingRepresentation, embed: samples.WordEmbedding
) -> None:
    more = samples.imported({"base": {0: "base, late"}}, [ImportedQuery("a late query")])
    import_benchmark(filled, more, fitted=fitted, embed=embed)
    assert fitted.encoded == ["base, late"]
    assert stored(filled, "other")["digest"].tolist() == [text_digest("other 0"), MISSING, MISSING]


def test_changed_responses_void_the_stored_scores(
    filled: Database, fitted: samples.RecordingRepresentation, embed: samples.WordEmbedding
) -> None:
    with filled.session() as session:
        scores.put_scores(
            session,
            find_benchmark(session, "tiny"),
            db_samples.KEY,
            [],
            {"other": db_samples.score_row(1, 1)},
        )
    embed_benchmark(filled, "tiny", fitted, embed)
    with filled.session() as session:
        assert db_samples.has_scores(session)
    import_benchmark(
        filled, samples.imported({"base": {0: "another", 1: "base 1"}}), fitted=fitted, embed=embed
    )
    with filled.session() as session:
        assert not db_samples.has_scores(session)


def test_an_interrupted_run_continues_where_it_was(
    database: Database, fitted: samples.RecordingRepresentation, embed: samples.WordEmbedding
) -> None:
    class Interrupted(samples.RecordingRepresentation):
        def encode(self, texts, queries, progress=None):
            if "other 0" in texts:
                raise KeyboardInterrupt
            return super().encode(texts, queries, progress)

    with pytest.raises(KeyboardInterrupt):
        import_benchmark(
            database, samples.imported(RESPONSES), fitted=Interrupted(**samples.fitted()), embed=embed
        )
    assert embed_benchmark(database, "tiny", fitted, embed) == EmbedSummary(1, 2)
    assert fitted.encoded == ["other 0"]


def test_responses_imported_while_others_are_computed_are_computed_too(
    filled: Database, fitted: samples.RecordingRepresentation, embed: samples.WordEmbedding
) -> None:
    [first, second] = query_ids(filled)

    class Overtaken(samples.RecordingRepresentation):
        def encode(self, texts_, queries, progress=None):
            if not self.encoded:
                with filled.session() as session:
                    contents.set_responses(
                        session, find_benchmark(session, "tiny"), "base", {second: "overtaking"}
                    )
            return super().encode(texts_, queries, progress)

    with filled.session() as session:
        contents.set_responses(session, find_benchmark(session, "tiny"), "base", {first: "changed"})
    overtaken = Overtaken(**samples.fitted())
    assert embed_benchmark(filled, "tiny", overtaken, embed) == EmbedSummary(2, 1)
    assert stored(filled, "base")["digest"].tolist() == [text_digest("changed"), text_digest("overtaking")]


def test_another_kind_of_features_is_computed_anew(
    filled: Database, fitted: samples.RecordingRepresentation, embed: samples.WordEmbedding
) -> None:
    wider = dataclasses.replace(fitted, projection=np.zeros((384, 5), dtype=np.float32), encoded=[])
    assert embed_benchmark(filled, "tiny", wider, embed) == EmbedSummary(3, 0)
    assert stored(filled, "base")["features"].shape == (2, wider.size)


def test_the_real_encoder_gives_the_representation_of_the_crm(database: Database) -> None:
    real = Representation(**samples.fitted())
    import_benchmark(database, samples.imported(RESPONSES), fitted=real)
    expected = real.encode(["base 0", "base 1"], ["soup or bread?", "which roses?"])
    for name, array in stored(database, "base").items():
        np.testing.assert_array_equal(array, expected[name])
