import re
import shutil
from pathlib import Path

import pytest

from crm.errors import ConfigError
from crm.llm.settings import PROVIDERS, llms_file, read_llms

EXAMPLE = Path(__file__).parents[3] / "llms.example.toml"


def digest(folder: Path, keys: str) -> str:
    (folder / "llms.toml").write_text(f'[mine]\nmodel = "m"\n{keys}\n')
    [llm] = read_llms(folder / "llms.toml")
    return llm.digest


def test_every_llm_of_the_example_can_be_read(tmp_path: Path) -> None:
    llms = read_llms(Path(shutil.copy(EXAMPLE, tmp_path / "llms.toml")))
    assert {type(llm.settings) for llm in llms} == set(PROVIDERS.values())


@pytest.mark.parametrize(
    "keys",
    [
        'system = "Be brief."',
        "temperature = 0.0",
        "max_tokens = 9",
        "seed = 1",
        "extra_body = { top_p = 0.5 }",
        'max_tokens_key = "max_completion_tokens"',
    ],
)
def test_what_can_change_an_answer_changes_the_digest(tmp_path: Path, keys: str) -> None:
    assert digest(tmp_path, keys) != digest(tmp_path, "")


def test_nothing_else_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = digest(tmp_path, "")
    assert plain == digest(
        tmp_path,
        'title = "T"\nnote = "N"\nurl = "http://elsewhere/v1"\napi_key_env = "KEY"\nconcurrency = 2\n'
        "requests_per_minute = 3\ntimeout = 4\nretries = 5\nprice_prompt = 6\nprice_completion = 7\n"
        'provider = "openai"\nsystem = ""',
    )
    (tmp_path / "m").mkdir()
    monkeypatch.chdir(tmp_path)
    assert digest(tmp_path, "") == plain


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            '[a]\nmodel = "m"\nprovider = "x"',
            "llms.toml, LLM 'a': the key 'provider' must be one of openai",
        ),
        ('[a]\nurl = "http://h"', "llms.toml, LLM 'a': the key 'model' is missing"),
        (
            '[a]\nmodel = "m"\ntemperture = 1',
            "llms.toml, LLM 'a': the key 'temperture' is unknown: choose",
        ),
        ('[a]\nmodel = "m"\napi_key_env = "sk-1"', "must be the name of an environment variable in capital"),
        ('model = "m"', "llms.toml: 'model' is not a table: write [model] above an LLM's keys."),
        ('[a.5]\nmodel = "m"', 'llms.toml: a name with a dot stands in quotes: write ["a.5"].'),
        ("", "llms.toml holds no LLM"),
    ],
)
def test_a_wrong_file_is_one_sentence(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "llms.toml").write_text(text)
    with pytest.raises(ConfigError) as said:
        read_llms(tmp_path / "llms.toml")
    assert problem in str(said.value)
    assert re.fullmatch(r"[^\n]+\.", str(said.value))


def test_a_wrong_table_takes_no_other_down(tmp_path: Path) -> None:
    (tmp_path / "llms.toml").write_text('[bad]\n[good]\nmodel = "m"\n')
    assert [llm.name for llm in read_llms(tmp_path / "llms.toml", ["good"])] == ["good"]


def test_the_file_is_the_one_named_or_the_one_beside_the_app(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crm.llm.settings.DEFAULT_FILE", tmp_path / "llms.toml")
    monkeypatch.delenv("USL_LLMS", raising=False)
    with pytest.raises(ConfigError, match=r"^There is no file of LLMs: copy llms\.example\.toml"):
        llms_file()
    (tmp_path / "llms.toml").touch()
    assert llms_file() == tmp_path / "llms.toml"
    monkeypatch.setenv("USL_LLMS", "other.toml")
    assert llms_file() == Path("other.toml")
    assert llms_file(Path("third.toml")) == Path("third.toml")
