import dataclasses

import numpy as np
import pytest

from crm.embedded.encoder import sentence_encoder
from db import Database
from db.records import BenchmarkRecord
from db.repositories.benchmarks import find_benchmark, get_benchmark
from precompute.importers import ImportedQuery
from precompute.load import import_benchmark
from precompute.topics.assignment import (
    OTHER,
    ReferenceTopics,
    TopicAssigner,
    assign_topics,
    in_display_order,
    stored_reference,
)
from tests.precompute import samples

PLACES = tuple((category, topic) for category, topic, _ in samples.DAILYBENCH.values())
TEXTS = [text for _, _, text in samples.DAILYBENCH.values()]


@pytest.fixture
def reference(embed: samples.WordEmbedding) -> ReferenceTopics:
    return ReferenceTopics(PLACES, embed(TEXTS))


def test_a_query_takes_the_topic_it_is_nearest_to(
    reference: ReferenceTopics, embed: samples.WordEmbedding
) -> None:
    finder = TopicAssigner.of(reference, embed)
    found = finder.nearest(embed(["too salty soup", "keep bread fresh", "prune my roses"]))
    assert found == [("Kitchen", "Soup"), ("Kitchen", "Bread"), ("Garden", "Roses")]


def test_the_name_of_a_topic_counts_too(reference: ReferenceTopics, embed: samples.WordEmbedding) -> None:
    [place] = TopicAssigner.of(reference, embed).nearest(embed(["garden"]))
    assert place == ("Garden", "Roses")


def test_what_is_near_no_topic_or_a_technical_task_is_other(
    reference: ReferenceTopics, embed: samples.WordEmbedding
) -> None:
    finder = TopicAssigner.of(reference, embed)
    found = finder.nearest(embed(["quantum chromodynamics", "soup soup: write or fix code, programming"]))
    assert found == [(OTHER, OTHER)] * 2


def test_the_topic_within_a_category_is_found_however_far_it_is(
    reference: ReferenceTopics, embed: samples.WordEmbedding
) -> None:
    finder = TopicAssigner.of(reference, embed)
    [vector] = embed(["roses in fresh bread"])
    assert finder.nearest_in("Kitchen", vector) == "Bread"
    assert finder.nearest_in("Unknown", vector) == OTHER


def test_places_come_in_the_order_of_the_reference_with_other_last(reference: ReferenceTopics) -> None:
    places = [
        (OTHER, OTHER),
        ("New", "Thing"),
        ("Garden", "Roses"),
        ("Kitchen", "Bread"),
        ("Garden", "Roses"),
    ]
    expected = [("Kitchen", "Bread"), ("Garden", "Roses"), ("New", "Thing"), (OTHER, OTHER)]
    assert in_display_order(places, reference) == expected
    assert in_display_order(places[:2], None) == [("New", "Thing"), (OTHER, OTHER)]


def test_the_reference_is_the_stored_dailybench(
    database: Database, fitted: samples.RecordingRepresentation, embed: samples.WordEmbedding
) -> None:
    with database.session() as session:
        assert stored_reference(session) is None
    import_benchmark(database, samples.dailybench(), fitted=fitted, embed=embed)
    with database.session() as session:
        stored = stored_reference(session)
    assert stored is not None
    assert stored.places == PLACES
    np.testing.assert_allclose(stored.embedding, embed(TEXTS), atol=1e-3)


def test_the_real_encoder_tells_soup_from_code() -> None:
    encode = sentence_encoder().embed
    finder = TopicAssigner.of(ReferenceTopics(PLACES, encode(TEXTS)), encode)
    found = finder.nearest(
        encode(["Give me a recipe for tomato soup.", "Pruning my rose bushes", "Sort a list in Python."])
    )
    assert found == [("Kitchen", "Soup"), ("Garden", "Roses"), (OTHER, OTHER)]


REFERENCE_TEXTS = [text for _, _, text in samples.DAILYBENCH.values()]


@pytest.fixture
def food_and_shop(embed: samples.WordEmbedding) -> ReferenceTopics:
    places = tuple((category, topic) for category, topic, _ in samples.DAILYBENCH.values())
    return ReferenceTopics(places, embed(REFERENCE_TEXTS))


@pytest.fixture
def stored(
    database: Database, fitted: samples.RecordingRepresentation, embed: samples.WordEmbedding
) -> BenchmarkRecord:
    queries = [ImportedQuery("which roses?", None, "Shop", "Flowers")]
    tiny = samples.imported({"base": {0: "red"}}, queries)
    import_benchmark(database, tiny, fitted=fitted, embed=embed)
    with database.session() as session:
        return get_benchmark(session, find_benchmark(session, "tiny"))


def test_the_place_in_the_file_is_kept(food_and_shop: ReferenceTopics, embed: samples.WordEmbedding) -> None:
    embed.embedded.clear()
    placed = assign_topics([ImportedQuery("soup?", None, "My", "Own")], None, food_and_shop, embed)
    assert (placed.places, placed.notices) == ((("My", "Own"),), ())
    assert embed.embedded == []


def test_a_query_without_topic_takes_the_nearest(
    food_and_shop: ReferenceTopics, embed: samples.WordEmbedding
) -> None:
    queries = [
        ImportedQuery("hot soup"),
        ImportedQuery("hot soup", "1", "Garden"),
        ImportedQuery("string theory"),
    ]
    placed = assign_topics(queries, None, food_and_shop, embed).places
    assert placed == (("Kitchen", "Soup"), ("Garden", "Roses"), (OTHER, OTHER))


def test_a_topic_without_category_takes_the_commonest_of_its_queries(
    food_and_shop: ReferenceTopics, embed: samples.WordEmbedding
) -> None:
    texts = ["salty soup", "fresh bread", "prune roses", "string theory", "gauge theory", "dark matter"]
    queries = [ImportedQuery(text, None, None, "Mixed") for text in texts]
    lost = ImportedQuery("general relativity", None, None, "Lost")
    placed = assign_topics([*queries, lost], None, food_and_shop, embed).places
    assert placed == (*[("Kitchen", "Mixed")] * 6, (OTHER, "Lost"))


def test_a_topic_without_category_takes_the_one_that_the_file_gives_it_elsewhere(
    food_and_shop: ReferenceTopics, embed: samples.WordEmbedding
) -> None:
    queries = [ImportedQuery("hot soup", None, None, "Mixed"), ImportedQuery("roses", None, "Mine", "Mixed")]
    assert assign_topics(queries, None, food_and_shop, embed).places == (("Mine", "Mixed"),) * 2


def test_a_stored_query_keeps_its_place_unless_the_file_says_otherwise(
    stored: BenchmarkRecord, food_and_shop: ReferenceTopics, embed: samples.WordEmbedding
) -> None:
    query = ImportedQuery("which roses?")
    embed.embedded.clear()
    for said in ({}, {"topic": "Flowers"}, {"category": "Shop"}):
        again = dataclasses.replace(query, **said)
        assert assign_topics([again], stored, food_and_shop, embed).places == (("Shop", "Flowers"),)
    assert embed.embedded == []
    moved = dataclasses.replace(query, category="Shop", topic="Roses")
    assert assign_topics([moved], stored, food_and_shop, embed).places == (("Shop", "Roses"),)
    new = ImportedQuery("soup soup soup", None, None, "Flowers")
    assert assign_topics([new], stored, food_and_shop, embed).places == (("Shop", "Flowers"),)


def test_without_reference_there_is_other_and_a_notice(
    stored: BenchmarkRecord, embed: samples.WordEmbedding
) -> None:
    queries = [
        ImportedQuery("hot soup"),
        ImportedQuery("bread", None, None, "Mine"),
        ImportedQuery("bread?", None, "Mine"),
        ImportedQuery("which roses?"),
    ]
    placed = assign_topics(queries, stored, None, embed)
    assert placed.places == ((OTHER, OTHER), (OTHER, "Mine"), ("Mine", OTHER), ("Shop", "Flowers"))
    assert "DailyBench" in placed.notices[0]
    assert assign_topics(queries[3:], stored, None, embed).notices == ()
