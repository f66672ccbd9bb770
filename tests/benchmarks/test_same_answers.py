from pathlib import Path

import pytest
from typer.testing import CliRunner

from benchmarks._answers import existing_steps, steps, write_inputs
from benchmarks.same_answers import app, compare_folders

CSV = "rank,llm,win_rate\n1,jester,0.9253\n"


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def old(tmp_path: Path) -> Path:
    return write(tmp_path / "old", {"rank/none.csv": CSV, "rank/one.csv": CSV, "odd/topic.txt": "exit 2\n"})


def test_equal_folders(old: Path) -> None:
    result = CliRunner().invoke(app, ["compare", str(old), str(old)])

    assert result.exit_code == 0
    assert "3 answers, all are equal" in " ".join(result.output.split())


def test_what_differs_is_named(old: Path, tmp_path: Path) -> None:
    new = write(
        tmp_path / "new",
        {
            "rank/none.csv": CSV.replace("0.9253", "0.9251"),
            "rank/one.csv": CSV,
            "odd/topic.txt": "exit 1 it\n",
        },
    )

    found = compare_folders(old, new)

    [rank] = found["rank"][1]
    assert (found["rank"][0], rank.name) == (2, "rank/none.csv")
    assert rank.where == "only numbers, by at most 0.0002"
    assert found["odd"][1][0].where == "line 1: exit 2 / exit 1 it"
    assert CliRunner().invoke(app, ["compare", str(old), str(new)]).exit_code == 1


def test_an_answer_that_one_side_lacks(old: Path, tmp_path: Path) -> None:
    new = write(tmp_path / "new", {"rank/none.csv": CSV, "odd/topic.txt": "exit 2\n", "odd/more.txt": ""})

    found = compare_folders(old, new)

    assert [item.where for item in found["rank"][1]] == ["missing in the second"]
    assert [item.where for item in found["odd"][1]] == ["missing in the first"]


def test_one_kind_alone(old: Path, tmp_path: Path) -> None:
    new = write(tmp_path / "new", {"odd/topic.txt": "exit 2\n"})

    assert CliRunner().invoke(app, ["compare", str(old), str(new), "--only", "odd"]).exit_code == 0
    assert CliRunner().invoke(app, ["compare", str(old), str(new)]).exit_code == 1


def test_nothing_to_compare_is_no_success(tmp_path: Path) -> None:
    assert CliRunner().invoke(app, ["compare", str(tmp_path), str(tmp_path)]).exit_code == 1


def test_every_answer_has_a_name_of_its_own_and_its_input(tmp_path: Path) -> None:
    write_inputs(tmp_path)
    names = [step.name for step in (*steps(), *existing_steps())]

    assert len(names) == len(set(names))
    assert len((tmp_path / "pairs.jsonl").read_text(encoding="utf-8").splitlines()) == 300
