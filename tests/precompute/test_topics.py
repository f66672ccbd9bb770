import numpy as np
import pytest

from crm.encoder import sentence_encoder
from db import Database
from precompute.load import import_benchmark
from precompute.topics import OTHER, TopicFinder, TopicReference, in_display_order, stored_reference
from tests.precompute import samples

PLACES = tuple((category, topic) for category, topic, _ in samples.DAILYBENCH.values())
TEXTS = [text for _, _, text in samples.DAILYBENCH.values()]


@pytest.fixture
def reference(embed: samples.WordEmbedding) -> TopicReference:
    return TopicReference(PLACES, embed(TEXTS))


def test_a_query_takes_the_topic_it_is_nearest_to(
    reference: TopicReference, embed: samples.WordEmbedding
) -> None:
    finder = TopicFinder.of(reference, embed)
    found = finder.nearest(embed(["too salty soup", "keep bread fresh", "prune my roses"]))
    assert found == [("Kitchen", "Soup"), ("Kitchen", "Bread"), ("Garden", "Roses")]


def test_the_name_of_a_topic_counts_too(reference: TopicReference, embed: samples.WordEmbedding) -> None:
    [place] = TopicFinder.of(reference, embed).nearest(embed(["garden"]))
    assert place == ("Garden", "Roses")


def test_what_is_near_no_topic_or_a_technical_task_is_other(
    reference: TopicReference, embed: samples.WordEmbedding
) -> None:
    finder = TopicFinder.of(reference, embed)
    found = finder.nearest(embed(["quantum chromodynamics", "soup soup: write or fix code, programming"]))
    assert found == [(OTHER, OTHER)] * 2


def test_the_topic_within_a_category_is_found_however_far_it_is(
    reference: TopicReference, embed: samples.WordEmbedding
) -> None:
    finder = TopicFinder.of(reference, embed)
    [vector] = embed(["roses in fresh bread"])
    assert finder.nearest_in("Kitchen", vector) == "Bread"
    assert finder.nearest_in("Unknown", vector) == OTHER


def test_places_come_in_the_order_of_the_reference_with_other_last(reference: TopicReference) -> None:
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
    finder = TopicFinder.of(TopicReference(PLACES, encode(TEXTS)), encode)
    found = finder.nearest(
        encode(["Give me a recipe for tomato soup.", "Pruning my rose bushes", "Sort a list in Python."])
    )
    assert found == [("Kitchen", "Soup"), ("Garden", "Roses"), (OTHER, OTHER)]
