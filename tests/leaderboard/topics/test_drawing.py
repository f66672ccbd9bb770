"""What a page shows of topics: figures, the map, the tree of areas, and a benchmark's own topics."""

import re
from dataclasses import replace

import numpy as np
import pytest

from db import Database
from leaderboard.render.chart_style import DARK, LIGHT
from leaderboard.render.tables import topic_figures
from leaderboard.render.topic_charts import map_groups, query_hovers, query_map, topic_treemap
from leaderboard.service import Service
from leaderboard.topics.actions import DropQueries, Rename
from leaderboard.topics.atlas import OUTLIERS, Atlas, atlas_of_benchmark, atlas_of_pool, main_axes
from leaderboard.topics.curation import CuratedTopics, Curation
from leaderboard.topics.quality import coherence_of, figures
from tests.db.conftest import sqlite_template
from tests.leaderboard.topics.samples import HOT, POOL, TREE, ids, store
from tests.precompute.conftest import database, empty_file

__all__ = ["database", "empty_file", "sqlite_template"]  # fixtures


@pytest.fixture
def topics(database: Database) -> CuratedTopics:
    store(database)
    return Curation(database).edit(POOL, DropQueries((ids()[0],)), "not ours")


def measured(topics: CuratedTopics, **quality: object) -> CuratedTopics:
    return replace(topics, record=replace(topics.record, quality=quality))


def atlas(**changes: object) -> Atlas:
    xy = np.arange(16, dtype=np.float32).reshape(8, 2)
    drawn = Atlas("tiny", TREE, {"a": "How <b>hot</b> & salty? " * 20}, xy, "A map.")
    return replace(drawn, **changes)


def test_figures_are_counted_as_curated(topics: CuratedTopics) -> None:
    shown = {figure.label: figure for figure in figures(topics)}

    assert (shown["Queries"].value, shown["Queries"].note) == ("9", "1 dropped")
    assert (shown["Topics"].value, shown["Topics"].note) == ("3", "in 2 categories")
    assert (shown["Queries a topic"].value, shown["Queries a topic"].note) == ("2", "the median; from 1 to 5")
    assert shown["Without a topic"].value == "11.1 %"


def test_figures_of_the_clustering_are_shown_where_they_were_measured(topics: CuratedTopics) -> None:
    shown = {figure.label: figure for figure in figures(measured(topics))}
    assert {shown[label].value for label in ("Coherence", "Stability")} == {"–"}

    stability = {"seeds": [1, 2, 3], "ari_mean": 0.714, "ari_min": 0.6}
    full = measured(
        topics,
        outlier_share_clustered=0.25,
        coherence=-0.123,
        stability=stability,
        coherence_by_topic={"0": 0.5},
    )
    shown = {figure.label: figure for figure in figures(full)}
    assert shown["Coherence"].value == "−0.12"
    assert shown["Stability"].value == "0.71"
    assert "3 seeds, at least 0.60" in shown["Stability"].note
    assert shown["Without a topic"].note.startswith("25.0 % before")
    assert (coherence_of(full, "0"), coherence_of(full, "1")) == (0.5, None)
    assert "<dt>Stability</dt>" in topic_figures(figures(full))


def test_the_map_has_every_kept_query_once_by_category() -> None:
    groups = map_groups(TREE)

    assert [group.name for group in groups] == [OUTLIERS, "Food", "Work"]
    assert sorted(place for group in groups for place in group.positions.tolist()) == [0, 1, 2, 3, 4, 5, 7]
    assert groups[0].positions.tolist() == [7]


def test_a_chosen_topic_stands_out_with_its_parts() -> None:
    groups = map_groups(TREE, "0")

    assert groups[-1].chosen
    assert groups[-1].positions.tolist() == [0, 1, 2]
    assert groups[1].positions.tolist() == [3, 4]
    figure = query_map(atlas(), groups, LIGHT)
    assert figure.data[-1].marker.opacity > figure.data[1].marker.opacity
    assert figure.data[-1].marker.color == figure.data[1].marker.color


def test_dots_tell_the_start_of_the_query_in_short_lines_without_markup() -> None:
    hovers = query_hovers(atlas())

    assert hovers[0].startswith("How &lt;b&gt;hot&lt;/b&gt; &amp; salty? ")
    assert hovers[0].endswith("…<br><b>Soup</b>")
    assert max(map(len, re.sub("&[a-z]+;", "x", hovers[0]).split("<br>"))) <= 45
    assert hovers[7] == f"text not stored<br><b>{OUTLIERS}</b>"
    long_word = query_hovers(atlas(texts={"a": "x" * 100}))[0]
    assert long_word == f"{'x' * 44}<br>{'x' * 44}<br>{'x' * 12}<br><b>Soup</b>"


def test_areas_add_up_from_parts_to_topics_to_categories() -> None:
    [area] = topic_treemap(TREE, DARK).data
    size = dict(zip(area.ids, area.values, strict=True))

    assert size == {
        "all": 6,
        "category:Food": 5,
        "0": 3,
        "0.1": 1,
        "0.2": 1,
        "1": 2,
        "category:Work": 1,
        "10": 1,
    }
    assert dict(zip(area.ids, area.parents, strict=True))["0.2"] == HOT.parent


def test_names_are_no_markup_in_areas(topics: CuratedTopics, database: Database) -> None:
    after = Curation(database).edit(POOL, Rename("0", "<i>x</i>", "<script>"), "x")
    [area] = topic_treemap(after.tree, LIGHT).data

    assert not any("<i>" in text or "<script>" in text for text in (*area.labels, *area.hovertext))


def test_a_pool_is_drawn_where_it_was_clustered(topics: CuratedTopics) -> None:
    drawn = atlas_of_pool(topics)

    assert drawn.xy is not None
    assert drawn.xy.shape == (10, 2)
    assert drawn.tree is topics.tree


def test_a_benchmarks_own_topics_are_drawn(service: Service) -> None:
    drawn = atlas_of_benchmark(service.database, "dailybench")

    assert (len(drawn.tree.topics), len(drawn.tree.categories), len(drawn.texts)) == (87, 12, 522)
    assert drawn.tree.n_outliers == 0
    assert {drawn.tree.size(topic.key) for topic in drawn.tree.topics} == {6}
    assert drawn.xy is not None
    assert drawn.xy.shape == (522, 2)
    assert atlas_of_benchmark(service.database, "alpaca-eval").texts == {}


def test_the_map_of_embeddings_shows_their_two_main_axes() -> None:
    generator = np.random.default_rng(0)
    embedding = generator.normal(size=(50, 6)) * [1, 9, 1, 4, 1, 1]
    xy = main_axes(embedding)

    assert np.abs(np.corrcoef(xy[:, 0], embedding[:, 1])[0, 1]) > 0.99
    assert np.abs(np.corrcoef(xy[:, 1], embedding[:, 3])[0, 1]) > 0.95
    # The same map for embeddings that are turned around.
    np.testing.assert_allclose(
        main_axes(-embedding), -xy * np.sign(-xy[np.abs(xy).argmax(0), [0, 1]]), atol=1e-4
    )
