from collections.abc import Iterator
from pathlib import Path

import pytest

from crm import registry
from crm.errors import ConfigError
from crm.protocol import CRM
from crm.registry import DEFAULT, configuration_problem, crm_names, get_crm
from tests.checkpoints import make_checkpoint

TABLE = '[mine]\nbackend = "transformers"\nmodel = "tiny"\n'


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A file with the judge ``mine``, in use."""
    make_checkpoint(tmp_path / "tiny")
    path = tmp_path / "crms.toml"
    path.write_text(TABLE)
    monkeypatch.setenv("USL_CRMS", str(path))
    yield path
    registry._made.pop("mine", None)


@pytest.mark.parametrize("name", crm_names())
def test_every_name_is_that_of_a_judge(name: str) -> None:
    judge = get_crm(name)

    assert isinstance(judge, CRM)
    assert judge.name == name
    assert get_crm(name) is judge


def test_the_default_comes_first_and_runs_without_texts() -> None:
    assert crm_names()[0] == DEFAULT
    assert get_crm().representation is not None


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ConfigError) as refused:
        get_crm("oracle")

    assert str(refused.value) == (
        f"There is no CRM named 'oracle': choose one of {', '.join(crm_names())}, "
        "or give it a table in crms.toml."
    )


def test_configured_judges_join_the_bundled_ones(file: Path) -> None:
    assert crm_names()[-1] == "mine"
    assert get_crm("mine") is get_crm("mine")
    assert configuration_problem() is None


def test_a_judge_is_made_anew_when_its_table_changes(file: Path) -> None:
    first, default = get_crm("mine"), get_crm()
    file.write_text(f"{TABLE}order_swap = true\n")
    second = get_crm("mine")

    assert second.version != first.version
    assert get_crm() is default

    file.write_text(TABLE.replace("mine", "yours"))
    assert crm_names()[-1] == "yours"
    with pytest.raises(ConfigError):
        get_crm("mine")


def test_a_broken_file_is_said_and_the_bundled_judges_stay(file: Path) -> None:
    file.write_text("[mine\n")

    assert DEFAULT in crm_names()
    assert "mine" not in crm_names()
    assert get_crm().name == DEFAULT
    assert str(configuration_problem()).startswith("crms.toml is not valid TOML at line 1")
    with pytest.raises(ConfigError, match="is not valid TOML"):
        get_crm("mine")


def test_one_wrong_table_leaves_the_others_alone(file: Path) -> None:
    file.write_text(f'{TABLE}[other]\nbackend = "oracle"\n')

    assert {"mine", "other"} <= set(crm_names())
    assert get_crm("mine").name == "mine"
    with pytest.raises(ConfigError, match="judge 'other'"):
        get_crm("other")


def test_a_bundled_judges_name_cannot_be_taken(file: Path) -> None:
    file.write_text(TABLE.replace("mine", "longer"))

    assert configuration_problem() == ("crms.toml: 'longer' is the name of a bundled judge: choose another.")
    assert get_crm("longer").version == "1"


def test_a_file_that_is_gone_is_said(file: Path) -> None:
    file.unlink()

    assert str(configuration_problem()).endswith("fix the path in USL_CRMS or unset it.")
