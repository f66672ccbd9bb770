import tomllib
from pathlib import Path
from typing import Any

import pytest

from crm.errors import ConfigError
from precompute.topics.settings import ClusteringSettings, EncoderSettings, read_clustering_settings
from tests.precompute.topics import samples
from tests.precompute.topics.conftest import Lab

EXAMPLE = Path(__file__).resolve().parents[3] / "clustering.example.toml"


def read(folder: Path, text: str) -> ClusteringSettings:
    path = folder / "clustering.toml"
    path.write_text(text)
    return read_clustering_settings(path)


def test_a_file_changes_what_it_names(tmp_path: Path) -> None:
    assert read_clustering_settings(None) == read(tmp_path, "") == ClusteringSettings()
    changed = read(tmp_path, '[topics]\nsmallest_cluster = 30\nmethod = "leaf"\n[categories]\ncount = 5\n')
    assert (changed.topics.smallest_cluster, changed.topics.method, changed.categories.count) == (
        30,
        "leaf",
        5,
    )
    assert changed.topics.parameters(10_000).smallest_cluster == 30
    assert changed.parts == ClusteringSettings().parts


@pytest.mark.parametrize(
    ("n_queries", "smallest"), [(10, 5), (522, 5), (1_200, 8), (2_428, 12), (10_000, 25), (100_000, 79)]
)
def test_topics_are_the_larger_the_larger_the_pool(n_queries: int, smallest: int) -> None:
    assert ClusteringSettings().topics.parameters(n_queries).smallest_cluster == smallest


def test_the_example_shows_every_key_with_its_default() -> None:
    settings = read_clustering_settings(EXAMPLE)
    assert settings == ClusteringSettings()
    text = EXAMPLE.read_text()
    shown = tomllib.loads(text)
    for name, field in ClusteringSettings.model_fields.items():
        for key, default in field.default.model_dump().items():
            if default is None:  # TOML has no word for that: such a key is shown as a comment
                assert f"# {key} = " in text, key
            else:
                assert shown[name][key] == default


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "[topic]\n",
            "clustering.toml, table 'topic': there is no such table: choose from encoder, templates,",
        ),
        ("[topics]\nsmallest = 3\n", "'smallest' is unknown: choose from neighbours, dimensions"),
        ("[topics]\nsmallest_cluster = 1\n", "'smallest_cluster' should be greater than or equal to 2"),
        ('[topics]\nsmallest_cluster = "20"\n', "'smallest_cluster' should be a valid integer"),
        ('[topics]\nmethod = "best"\n', "'method' should be 'eom' or 'leaf'"),
        ("[topics]\ncareful = 1.5\n", "'careful' should be less than or equal to 1"),
        ("[topics]\nseed = -1\n", "'seed' should be greater than or equal to 0"),
        ("[topics]\nseed = 4294967296\n", "'seed' should be less than or equal to 2147483647"),
        ("[parts]\nlevels = 6\n", "'levels' should be less than or equal to 5"),
        ("[categories]\ncount = 1\n", "'count' should be greater than or equal to 2"),
        ("[names]\nqueries = 0\n", "'queries' should be greater than or equal to 1"),
        ("[quality]\nseeds = 21\n", "'seeds' should be less than or equal to 20"),
        ("smallest_cluster = 20\n", "'smallest_cluster' is not a table: write [smallest_cluster] above"),
        ("[topics\n", "clustering.toml is not valid TOML"),
        ('[encoder]\nbackend = "openai"\n', "the table needs the key 'model'"),
        ('[encoder]\nmodel = "Qwen/Qwen3-Embedding-0.6B"\n', "the backend 'minilm' does not read"),
        (
            "[encoder]\ndimensions = 64\n",
            "has the key 'dimensions', which the backend 'minilm' does not read",
        ),
        ('[encoder]\nbackend = "openai"\nmodel = "m"\nmax_length = 9\n', "has the key 'max_length'"),
        (
            '[encoder]\nbackend = "sentence-transformers"\nmodel = "./nowhere"\n',
            "a folder that does not exist",
        ),
        ('[encoder]\nbackend = "sentence-transformers"\nmodel = "m"\nretries = 1\n', "has the key 'retries'"),
        ('[encoder]\nbackend = "openai"\nmodel = "m"\nurl = "here"\n', "'url' is no address"),
        ('[encoder]\nbackend = "openai"\nmodel = "m"\napi_key = "sk-1"\n', "does not belong in a file"),
    ],
)
def test_what_is_wrong_is_one_sentence(lab: Lab, text: str, said: str) -> None:
    (lab.folder / "mine").mkdir()
    path = lab.folder / "mine" / "clustering.toml"
    path.write_text(text)
    code, out, err = lab.run("cluster", samples.SLUG, "--config", path)
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert said in err
    assert "from ," not in err
    assert "sk-1" not in err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nowhere",), "There is no query pool 'nowhere'"),
        ((samples.SLUG, "--config", "missing.toml"), "missing.toml cannot be read"),
        ((samples.SLUG, "--seed", "-1"), "--seed"),
        ((samples.SLUG, "--seed", str(2**32)), "--seed"),
        ((samples.SLUG, "--llm", "somebody"), "llms.toml"),
    ],
)
def test_wrong_arguments_are_one_sentence(lab: Lab, arguments: tuple[str, ...], said: str) -> None:
    code, out, err = lab.run("cluster", *arguments)
    assert (code, out) == (2, "")
    assert said in err
    assert "Traceback" not in err


def test_too_few_queries_are_told_with_the_number_that_is_needed(lab: Lab) -> None:
    by_size = lab.settings(topics={"smallest_cluster": 40})
    assert "has 80 queries, and topics need 120" in lab.run("cluster", samples.SLUG, "--config", by_size)[2]
    by_neighbours = lab.settings(topics={"neighbours": 90, "smallest_cluster": 4})
    assert "topics need 92" in lab.run("cluster", samples.SLUG, "--config", by_neighbours)[2]


def test_a_models_folder_is_seen_from_the_file(tmp_path: Path) -> None:
    (tmp_path / "encoder").mkdir()
    found = read(tmp_path, '[encoder]\nbackend = "sentence-transformers"\nmodel = "encoder"\n')
    assert found.encoder.model == str((tmp_path / "encoder").resolve())
    by_name = read(tmp_path, '[encoder]\nbackend = "openai"\nmodel = "encoder"\n')
    assert by_name.encoder.model == "encoder"


def test_options_take_the_place_of_keys(tmp_path: Path) -> None:
    settings = read(tmp_path, '[topics]\nseed = 3\n[names]\nllm = "writer"\n')
    assert settings.with_options(None, None) == settings
    changed = settings.with_options(0, "other")
    assert (changed.topics.seed, changed.names.llm) == (0, "other")


def test_settings_made_in_code_are_checked_too() -> None:
    values: dict[str, Any] = {"backend": "openai"}
    with pytest.raises(ValueError, match="needs the key 'model'"):
        EncoderSettings(**values)
    with pytest.raises(ConfigError):
        read_clustering_settings(Path("missing.toml"))
