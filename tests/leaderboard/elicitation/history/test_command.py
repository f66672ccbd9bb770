"""A checklist from past choices on the command line, and what it leaves behind: nothing."""

import json
from pathlib import Path

import pytest
from sqlalchemy import text

from leaderboard.__main__ import main
from leaderboard.elicitation.history.learn import learn_from_history
from leaderboard.elicitation.history.read import read_history
from leaderboard.elicitation.text import prediction_sentence, reading_sentence, summary_sentence
from leaderboard.service import Service
from tests.conftest import Run
from tests.leaderboard.elicitation.samples import concise_choices


@pytest.fixture
def choices(service: Service, tmp_path: Path) -> Path:
    file = tmp_path / "choices.jsonl"
    file.write_bytes(concise_choices(service, 12))
    return file


def test_the_checklist_is_printed_and_ranks_as_a_profile(
    run_main: Run, choices: Path, tmp_path: Path
) -> None:
    profile = tmp_path / "mine.json"
    code, out, _ = run_main(
        main, "criteria-from", choices, "--benchmark", "dailybench", "--profile", profile, "--format", "json"
    )
    learnt = json.loads(out)
    assert code == 0
    assert (learnt["choices"], learnt["telling"]) == (12, True)
    assert sum(line["share"] for line in learnt["checklist"]) == pytest.approx(1)
    written = json.loads(profile.read_text())
    assert [line["text"] for line in written["criteria"]] == [line["text"] for line in learnt["checklist"]]
    assert "chosen" not in profile.read_text()

    code, out, _ = run_main(main, "rank", "--profile", profile, "--format", "csv")
    assert code == 0
    assert out.splitlines()[1].startswith("1,brevia,")

    code, out, _ = run_main(main, "criteria-from", choices, "--benchmark", "dailybench")
    assert code == 0
    assert "Read as a table of choices: 12 choices." in out
    assert "Essential" in out


def test_which_of_several_wishes_it_was_can_be_said(run_main: Run, service: Service, tmp_path: Path) -> None:
    choices = tmp_path / "few.jsonl"
    choices.write_bytes(concise_choices(service, 8))
    asked = ("criteria-from", choices, "--benchmark", "dailybench")
    _, out, _ = run_main(main, *asked, "--format", "json")
    *_, named = offered = json.loads(out)["not_told_apart"]
    assert len(offered) > 1

    code, out, _ = run_main(main, *asked)
    assert code == 0
    assert f"“{named}”. Name those that you went by with --went-by." in out.replace("\n", " ")
    code, out, _ = run_main(main, *asked, "--went-by", named.upper(), "--format", "json")
    assert code == 0
    learnt = json.loads(out)
    assert named.removeprefix("Not: ") in learnt["checklist"][0]["evidence"]
    assert learnt["not_told_apart"] == []
    code, out, err = run_main(main, *asked, "--went-by", "Nothing of it")
    assert (code, out) == (2, "")
    assert "“Nothing of it” is none of the wishes that these choices do not tell apart" in err
    assert offered[0] in err


@pytest.mark.parametrize(
    ("content", "name", "message"),
    [
        (b"query,answer\na,b\n", "x.csv", "error: x.csv, row 1: no choice can be read from its columns"),
        (b"PK", "x.zip", "error: x.zip: this is no ZIP archive"),
        (None, "x.jsonl", "it cannot be read (No such file or directory)"),
    ],
)
def test_what_cannot_be_read_is_one_line_and_code_2(
    run_main: Run, tmp_path: Path, content: bytes | None, name: str, message: str
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    code, out, err = run_main(main, "criteria-from", tmp_path / name)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


def test_a_profile_that_cannot_be_written_is_one_line(run_main: Run, choices: Path, tmp_path: Path) -> None:
    code, _, err = run_main(main, "criteria-from", choices, "--profile", tmp_path / "no" / "p.json")
    assert code == 2
    assert "it cannot be written" in err


def test_nothing_is_stored(own_service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No row of the database changes, and no file appears, in the working folder or for the time being."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    content = concise_choices(own_service, 6)

    def rows() -> dict[str, list[tuple[object, ...]]]:
        with own_service.database.session() as session:
            names = session.scalars(text("SELECT name FROM sqlite_master WHERE type = 'table'")).all()
            return {
                name: [tuple(row) for row in session.execute(text(f'SELECT * FROM "{name}"'))]
                for name in names
            }

    before, files = rows(), sorted(tmp_path.rglob("*"))
    learnt = learn_from_history(read_history(content, "a.jsonl"), own_service, "dailybench")
    assert learnt.lines
    assert rows() == before
    assert sorted(tmp_path.rglob("*")) == files


def test_sentences(service: Service) -> None:
    history = read_history(concise_choices(service, 8), "a.jsonl")
    learnt = learn_from_history(history, service, "dailybench")
    assert reading_sentence(history) == "Read as a table of choices: 8 choices."
    assert summary_sentence(learnt).startswith("Your choices speak for “")
    assert "of 8 choices a checklist learnt from the others says what you took" in prediction_sentence(learnt)

    few = learn_from_history(read_history(concise_choices(service, 4), "a.jsonl"), service, "dailybench")
    assert prediction_sentence(few).startswith("These 4 choices do not tell yet")
    assert summary_sentence(few).startswith("Your choices speak, if for anything, for “")
