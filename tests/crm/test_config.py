import re
import shutil
from pathlib import Path

import pytest

from crm.backends import BACKENDS, make
from crm.config import config_file, read_config
from crm.errors import ConfigError
from crm.paths import EMBEDDED_FILE
from crm.protocol import CRM
from tests.checkpoints import make_checkpoint

EXAMPLE = Path(__file__).parents[2] / "crms.example.toml"


def made(folder: Path, text: str) -> CRM:
    """The only judge of a file with this text."""
    (folder / "crms.toml").write_text(text)
    [table] = read_config(folder / "crms.toml").values()
    return make(table)


def complaint(folder: Path, text: str) -> str:
    with pytest.raises(ConfigError) as said:
        made(folder, text)
    return str(said.value)


def test_every_judge_of_the_example_can_be_made(tmp_path: Path) -> None:
    shutil.copy(EXAMPLE, tmp_path / "crms.toml")
    (tmp_path / "checkpoints").mkdir()
    for name in ("crm-0.6b", "crm-4b"):
        make_checkpoint(tmp_path / "checkpoints" / name)
    shutil.copy(EMBEDDED_FILE, tmp_path / "checkpoints" / "embedded.npz")
    tables = read_config(tmp_path / "crms.toml")

    assert {table.backend for table in tables.values()} == set(BACKENDS)
    for name, table in tables.items():
        judge = make(table)
        assert isinstance(judge, CRM)
        assert judge.name == name


def test_paths_start_at_the_files_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_checkpoint(tmp_path / "models" / "tiny")
    text = '[tiny]\nbackend = "transformers"\nmodel = "models/tiny"\n'
    version = made(tmp_path, text).version
    monkeypatch.chdir(tmp_path.parent)

    assert made(tmp_path, text).version == version


@pytest.mark.parametrize(
    ("keys", "problem"),
    [
        ("", "the key 'backend' must be one of embedded, transformers, vllm-server"),
        ('backend = "oracle"', "the key 'backend' must be one of embedded, transformers, vllm-server"),
        ('backend = "transformers"', "the key 'model' is missing"),
        ('backend = "transformers"\nmodel = 3', "the key 'model' should be a valid string"),
        ('backend = "transformers"\nmodel = "../gone"', "the key 'model' names a folder that does not exist"),
        (
            'backend = "transformers"\nmodel = "checkpoints/gone"',
            "the key 'model' names a folder that does not exist",
        ),
        (
            'backend = "transformers"\nmodel = "a/b"\ndtype = "int4"',
            "the key 'dtype' should be 'auto', 'float32'",
        ),
        (
            'backend = "transformers"\nmodel = "a/b"\nmax_length = 2',
            "the key 'max_length' should be greater than",
        ),
        (
            'backend = "transformers"\nmodel = "a/b"\norder_swap = 1',
            "the key 'order_swap' should be a valid bool",
        ),
        (
            'backend = "transformers"\nmodel = "a/b"\nprompt = "p.txt"',
            "the key 'prompt' names a file that does not",
        ),
        (
            'backend = "transformers"\nmodell = "a/b"\nmodel = "a/b"',
            "the key 'modell' is unknown: choose from backend",
        ),
        ('backend = "vllm-server"\nmodel = "m"', "the key 'url' is missing"),
        (
            'backend = "vllm-server"\nmodel = "m"\nurl = "localhost"',
            "the key 'url' is no address: write http://",
        ),
        (
            'backend = "vllm-server"\nmodel = "m"\nurl = "http://h:1"\nretries = -1',
            "the key 'retries' should be greater",
        ),
        (
            'backend = "llm-judge"\nmodel = "m"\nprovider = "x"',
            "the key 'provider' must be one of openai, transf",
        ),
        (
            'backend = "llm-judge"\nmodel = "m"\nmode = "each"',
            "the key 'mode' should be 'list' or 'criterion'",
        ),
        (
            'backend = "reward-model"\nprovider = "vllm-server"\nmodel = "m"\nurl = "http://h"',
            "the key 'tokenizer' is",
        ),
        ('backend = "embedded"\nweights = "gone.npz"', "the key 'weights' names a file that does not exist"),
    ],
)
def test_a_wrong_key_is_named_with_its_judge(tmp_path: Path, keys: str, problem: str) -> None:
    said = complaint(tmp_path, f"[mine]\n{keys}\n")

    assert said.startswith(f"crms.toml, judge 'mine': {problem}")
    assert re.fullmatch(r"[^\n]+[^.]\.", said)


class TestSecrets:
    """A key in the wrong place is never repeated."""

    @pytest.mark.parametrize(
        "line",
        [
            'api_key = "sk-secret"',
            'token = "sk-secret"',
            'api_key_env = "sk-secret"',
            'url = "https://user:sk-secret@host"',
            'timeout = "sk-secret"',
        ],
    )
    def test_in_a_table(self, tmp_path: Path, line: str) -> None:
        url = "" if line.startswith("url") else 'url = "http://host"\n'
        said = complaint(tmp_path, f'[mine]\nbackend = "vllm-server"\nmodel = "m"\n{url}{line}\n')

        assert "secret" not in said
        assert "timeout" in said or "environment variable" in said

    def test_in_broken_toml(self, tmp_path: Path) -> None:
        said = complaint(tmp_path, '[mine]\napi_key = sk-secret"\n')

        assert said == "crms.toml is not valid TOML at line 2, column 11: fix it there."


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            'backend = "embedded"',
            "crms.toml: 'backend' is not a table: write [backend] above a judge's keys.",
        ),
        ('["two words"]\nbackend = "x"', "crms.toml: the judge's name 'two words' cannot be part of a link"),
        ("[a]\n[a]", "crms.toml is not valid TOML"),
    ],
)
def test_something_else_than_judges_is_refused(tmp_path: Path, text: str, problem: str) -> None:
    assert complaint(tmp_path, text).startswith(problem)


def test_the_environment_names_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("USL_CRMS", str(tmp_path / "mine.toml"))
    assert config_file() == tmp_path / "mine.toml"
    with pytest.raises(ConfigError, match=r"mine\.toml cannot be read \(No such file or directory\): fix"):
        read_config(tmp_path / "mine.toml")

    monkeypatch.delenv("USL_CRMS")
    monkeypatch.setattr("crm.config.DEFAULT_FILE", tmp_path / "crms.toml")
    assert config_file() is None
    (tmp_path / "crms.toml").touch()
    assert config_file() == tmp_path / "crms.toml"
    assert read_config(tmp_path / "crms.toml") == {}


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("[" * 5_000 + "]" * 5_000, "nested too deeply, more than 100 levels"),
        ("9" * 5_000, "a number of more than 300 digits"),
        ("1e999", "a number that is infinite, or too large to be stored"),
    ],
)
def test_what_has_no_end_is_refused_in_one_sentence(tmp_path: Path, value: str, reason: str) -> None:
    text = f'[a]\nbackend = "llm-judge"\ntimeout = {value}\n'
    assert complaint(tmp_path, text) == f"crms.toml is not valid TOML: {reason}."


def test_a_folder_that_is_here_is_no_owner_of_models_on_a_hub(tmp_path: Path) -> None:
    (tmp_path / "trained").mkdir()

    said = complaint(tmp_path, '[mine]\nbackend = "transformers"\nmodel = "trained/gone"\n')

    assert said == "crms.toml, judge 'mine': the key 'model' names a folder that does not exist."
