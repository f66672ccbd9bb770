import dataclasses

import pytest

from db import BenchmarkRecord, Database
from db.repositories.benchmarks import get_benchmark
from precompute.importers import ImportedQuery
from precompute.load import import_benchmark
from precompute.placement import place_queries
from precompute.topics import OTHER, TopicReference
from tests.precompute import samples

REFERENCE_TEXTS = [text for _, _, text in samples.DAILYBENCH.values()]


@pytest.fixture
def reference(embed: samples.WordEmbedding) -> TopicReference:
    places = tuple((category, topic) for category, topic, _ in samples.DAILYBENCH.values())
    return TopicReference(places, embed(REFERENCE_TEXTS))


@pytest.fixture
def stored(
    database: Database, fitted: samples.RecordingRepresentation, embed: samples.WordEmbedding
) -> BenchmarkRecord:
    queries = [ImportedQuery("which roses?", None, "Shop", "Flowers")]
    tiny = samples.imported({"base": {0: "red"}}, queries)
    import_benchmark(database, tiny, fitted=fitted, embed=embed)
    with database.session() as session:
        return get_benchmark(session, "tiny")


def test_the_place_in_the_file_is_kept(reference: TopicReference, embed: samples.WordEmbedding) -> None:
    embed.embedded.clear()
    placed = place_queries([ImportedQuery("soup?", None, "My", "Own")], None, reference, embed)
    assert (placed.places, placed.notices) == ((("My", "Own"),), ())
    assert embed.embedded == []


def test_a_query_without_topic_takes_the_nearest(
    reference: TopicReference, embed: samples.WordEmbedding
) -> None:
    queries = [
        ImportedQuery("hot soup"),
        ImportedQuery("hot soup", "1", "Garden"),
        ImportedQuery("string theory"),
    ]
    placed = place_queries(queries, None, reference, embed).places
    assert placed == (("Kitchen", "Soup"), ("Garden", "Roses"), (OTHER, OTHER))


def test_a_topic_without_category_takes_the_commonest_of_its_queries(
    reference: TopicReference, embed: samples.WordEmbedding
) -> None:
    texts = ["salty soup", "fresh bread", "prune roses", "string theory", "gauge theory", "dark matter"]
    queries = [ImportedQuery(text, None, None, "Mixed") for text in texts]
    lost = ImportedQuery("general relativity", None, None, "Lost")
    placed = place_queries([*queries, lost], None, reference, embed).places
    assert placed == (*[("Kitchen", "Mixed")] * 6, (OTHER, "Lost"))


def test_a_topic_without_category_takes_the_one_that_the_file_gives_it_elsewhere(
    reference: TopicReference, embed: samples.WordEmbedding
) -> None:
    queries = [ImportedQuery("hot soup", None, None, "Mixed"), ImportedQuery("roses", None, "Mine", "Mixed")]
    assert place_queries(queries, None, reference, embed).places == (("Mine", "Mixed"),) * 2


def test_a_stored_query_keeps_its_place_unless_the_file_says_otherwise(
    stored: BenchmarkRecord, reference: TopicReference, embed: samples.WordEmbedding
) -> None:
    query = ImportedQuery("which roses?")
    embed.embedded.clear()
    for said in ({}, {"topic": "Flowers"}, {"category": "Shop"}):
        again = dataclasses.replace(query, **said)
        assert place_queries([again], stored, reference, embed).places == (("Shop", "Flowers"),)
    assert embed.embedded == []
    moved = dataclasses.replace(query, category="Shop", topic="Roses")
    assert place_queries([moved], stored, reference, embed).places == (("Shop", "Roses"),)
    new = ImportedQuery("soup soup soup", None, None, "Flowers")
    assert place_queries([new], stored, reference, embed).places == (("Shop", "Flowers"),)


def test_without_reference_there_is_other_and_a_notice(
    stored: BenchmarkRecord, embed: samples.WordEmbedding
) -> None:
    queries = [
        ImportedQuery("hot soup"),
        ImportedQuery("bread", None, None, "Mine"),
        ImportedQuery("bread?", None, "Mine"),
        ImportedQuery("which roses?"),
    ]
    placed = place_queries(queries, stored, None, embed)
    assert placed.places == ((OTHER, OTHER), (OTHER, "Mine"), ("Mine", OTHER), ("Shop", "Flowers"))
    assert "DailyBench" in placed.notices[0]
    assert place_queries(queries[3:], stored, None, embed).notices == ()
