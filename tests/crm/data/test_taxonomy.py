import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from crm.data.taxonomy import (
    CLUSTERS_FILE,
    THEMES_FILE,
    CriterionCluster,
    CriterionClusters,
    CriterionThemes,
    Theme,
    ThemeCluster,
    criterion_clusters,
    held_out_criteria,
    name_from,
)
from crm.embedded.encoder import sentence_encoder
from crm.errors import CRMError
from tests.crm.evaluation.samples import CLUSTERS


def test_every_criterion_has_one_cluster() -> None:
    assert CLUSTERS.numbers["brief"] == 0
    assert CLUSTERS.numbers["sources"] == 3
    assert len(CLUSTERS.numbers) == 16
    assert CLUSTERS.held_out == {*CLUSTERS.clusters[2].criteria, *CLUSTERS.clusters[3].criteria}


def test_they_survive_being_stored(tmp_path: Path) -> None:
    CLUSTERS.save(tmp_path / "new" / "clusters.parquet")
    read = CriterionClusters.load(tmp_path / "new" / "clusters.parquet")

    assert read.clusters == CLUSTERS.clusters
    np.testing.assert_allclose(read.centroids, CLUSTERS.centroids, atol=1e-3)


def test_a_criterion_that_is_not_known_belongs_to_the_nearest_cluster() -> None:
    themes = ("short and to the point", "written as a poem that rhymes")
    clusters = CriterionClusters(
        tuple(CriterionCluster((), number == 1, (text,)) for number, text in enumerate(themes)),
        sentence_encoder().embed(themes),
    )

    assert clusters.assigned([themes[1], "A brief answer", "I want  rhyming verse", themes[0]]) == [
        1,
        0,
        1,
        0,
    ]
    assert clusters.assigned([]) == []


@pytest.mark.parametrize("content", [b"", b"PAR1 nonsense PAR1"])
def test_a_damaged_file_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "clusters.parquet"
    path.write_bytes(content)
    with pytest.raises(CRMError, match=r"clusters\.parquet is damaged: make it again"):
        CriterionClusters.load(path)


def test_an_absent_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CRMError, match=r"There is no file .*absent"):
        CriterionClusters.load(tmp_path / "absent")


class TestShipped:
    def test_about_a_tenth_of_all_criteria_is_held_out_and_never_the_largest_cluster(self) -> None:
        shipped = criterion_clusters()
        sizes = [len(cluster.criteria) for cluster in shipped.clusters]

        assert 0.09 < len(shipped.held_out) / len(shipped.numbers) < 0.13
        assert sizes == sorted(sizes, reverse=True)
        assert not shipped.clusters[0].held_out
        assert min(sizes) >= 20
        assert all(cluster.keywords for cluster in shipped.clusters)

    def test_the_file_is_small(self) -> None:
        assert CLUSTERS_FILE.stat().st_size < 500_000

    def test_similar_criteria_stand_together(self) -> None:
        numbers = criterion_clusters().numbers

        assert (
            numbers["A correct calculation I can rely on"]
            == (numbers["A correct statement with the actual equation"])
        )

    def test_criteria_of_other_data_are_held_out_by_what_they_mean(self) -> None:
        held_out = held_out_criteria(["rhyming couplets, please", "cut the fluff and keep it brief"])

        assert "rhyming couplets, please" in held_out
        assert "cut the fluff and keep it brief" not in held_out
        assert held_out_criteria() <= held_out


def theme(*words: str, n: int = 10, name: str = "") -> Theme:
    """A theme with a cluster for every word."""
    parts = tuple(ThemeCluster((word, "x"), n // len(words)) for word in words)
    return Theme(name or name_from(words), words, n, (("warm", 3),), ("Be warm",), parts)


THEMES = CriterionThemes("a test", 7, 9, (theme("tone", "mood", n=30), theme("code", n=10)))


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    path = tmp_path / "new" / "themes.json"
    THEMES.save(path)
    assert CriterionThemes.load(path) == THEMES
    assert [file.name for file in path.parent.iterdir()] == ["themes.json"]
    assert path.read_text().count('"name": ') == 2


def test_shares_add_up() -> None:
    assert [THEMES.share(theme) for theme in THEMES.themes] == [0.75, 0.25]
    assert CriterionThemes("none", 0, 0, ()).n == 0


def test_a_name_is_made_of_the_first_keywords() -> None:
    assert name_from(["tone", "mood", "praise", "warmth"]) == "Tone, mood, praise"
    assert not theme("tone").is_named
    assert theme("tone", name="Feeling").is_named


def test_names_that_people_gave_stay_with_what_they_named() -> None:
    earlier = replace(
        THEMES, themes=(theme("tone", "mood", "praise", name="Feeling"), theme("code"), theme("sums"))
    )
    later = replace(THEMES, themes=(theme("code"), theme("tone", "mood"), theme("praise", "dates")))
    names = [theme.name for theme in later.with_names_of(earlier).themes]
    assert names == ["Code", "Feeling", "Praise, dates"]


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"format": 2}', '{"format": 1, "themes": [{}]}'])
def test_a_file_of_something_else_is_one_sentence(tmp_path: Path, content: str) -> None:
    path = tmp_path / "themes.json"
    path.write_text(content)
    with pytest.raises(CRMError, match="holds no themes of criteria: make it again with"):
        CriterionThemes.load(path)
    with pytest.raises(CRMError, match="cannot be read"):
        CriterionThemes.load(tmp_path / "absent.json")
    with pytest.raises(CRMError, match="cannot be written"):
        THEMES.save(path / "below.json")


def test_the_shipped_themes_are_those_of_the_shipped_clusters() -> None:
    shipped = CriterionThemes.load(THEMES_FILE)
    parts = [part.keywords for theme in shipped.themes for part in theme.parts]
    assert sorted(parts) == sorted(item.keywords[:3] for item in criterion_clusters().clusters)
    assert all(theme.n == sum(part.n for part in theme.parts) for theme in shipped.themes)
    assert all(theme.is_named for theme in shipped.themes)
    adjectives = [word for theme in shipped.themes for word, _ in theme.adjectives]
    assert len(adjectives) == len(set(adjectives)) > 300
    assert [theme.n for theme in shipped.themes] == sorted((t.n for t in shipped.themes), reverse=True)
    assert json.loads(THEMES_FILE.read_text())["n_lists"] == shipped.n_lists
