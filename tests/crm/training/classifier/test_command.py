import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from crm.cli import main
from crm.data.corpora import read_json_lines
from crm.paths import PREFERENCES
from crm.training.classifier import lessons
from crm.training.classifier.examples import statement_examples
from crm.training.classifier.options import Options, Precision, TrainingText
from tests.conftest import Run
from tests.crm.training.classifier.samples import tiny_bert, training_lines

FEW = ("--noise", "none", "--max-length", "96", "--epochs", "1", "--batch", "8", "--evaluations", "1")


def test_train_classifier_writes_a_judge(run_main: Run, tmp_path: Path) -> None:
    lines, backbone = training_lines(tmp_path / "pairs.jsonl"), tiny_bert(tmp_path / "bert")
    out = tmp_path / "judge"
    code, printed, told = run_main(
        main, "train", "classifier", "--backbone", backbone, "--data", lines, "--out", out, *FEW
    )
    assert code == 0
    assert "10 pairs, 2 steps" in printed
    assert "held out: loss" in printed
    assert "dev: none" in printed
    assert "step 2/2" in told
    assert "{" not in printed
    names = {path.name for path in out.iterdir()}
    assert names >= {
        "config.json",
        "model.safetensors",
        "crm.json",
        "prompt.txt",
        "curves.csv",
        "results.json",
    }


def test_what_noise_cannot_be_applied_to_and_what_has_no_criteria_is_said(
    run_main: Run, tmp_path: Path
) -> None:
    lines, backbone = training_lines(tmp_path / "pairs.jsonl"), tiny_bert(tmp_path / "bert")
    rows = [json.loads(line) for line in lines.read_text().splitlines()]
    del rows[0]["criteria"]
    lines.write_text("".join(json.dumps(row) + "\n" for row in rows))
    code, _, told = run_main(
        main, "train", "classifier", "--backbone", backbone, "--data", lines, "--out", tmp_path / "judge",
        *FEW[2:], "--noise", "remove", "--noise-strength", "paper",
    )  # fmt: skip

    assert code == 0
    assert "note: 1 preferences have no criteria: average taste is learnt by them." in told
    assert "note: noise (paper) leaves of 19 criteria lists as they are: remove 0; 1 have no list of" in told


def test_criteria_can_be_left_out(run_main: Run, tmp_path: Path) -> None:
    lines, out = training_lines(tmp_path / "pairs.jsonl"), tmp_path / "judge"
    one_way = [line for line in lines.read_text().splitlines() if '"model_a"}' in line]
    lines.write_text("\n".join(one_way))
    code, printed, _ = run_main(
        main, "train", "classifier", "--backbone", tiny_bert(tmp_path / "bert"), "--data", lines,
        "--out", out, *FEW[2:], "--skip-criteria",
    )  # fmt: skip

    assert code == 0
    assert "10 pairs, 2 steps" in printed
    assert json.loads((out / "options.json").read_text())["skip_criteria"] is True


def _with_winners(lines: Path, unknown: int) -> Path:
    """Let people choose A and B in turn, on all pairs but the first few."""
    rows = [json.loads(line) for line in lines.read_text().splitlines()]
    for row in rows:
        number = int(row["prompt"].removeprefix("question ")) if row["preference"] != "tie" else 0
        if number >= unknown:
            row["winner"] = "model_a" if number % 2 else "model_b"
    lines.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return lines


@pytest.mark.parametrize(
    ("given", "pairs", "note"),
    [
        ((), 8, "10 pairs go by what people chose; 2 are left out, as nobody chose: --general names"),
        (("--general", "longer"), 10, "10 pairs go by what people chose, 2 by longer"),
    ],
)
def test_one_direction_goes_by_what_people_chose(
    run_main: Run, tmp_path: Path, given: tuple[str, ...], pairs: int, note: str
) -> None:
    lines = _with_winners(training_lines(tmp_path / "pairs.jsonl"), unknown=2)
    code, printed, told = run_main(
        main, "train", "classifier", "--backbone", tiny_bert(tmp_path / "bert"), "--data", lines,
        "--out", tmp_path / "judge", *FEW, "--direction", "plus", *given,
    )  # fmt: skip

    assert code == 0
    assert f"note: plus and minus: {note}" in told
    assert f"{pairs} pairs" in printed


def test_where_nobody_chose_one_direction_goes_by_the_judge_of_the_project(
    run_main: Run, tmp_path: Path
) -> None:
    lines, backbone = training_lines(tmp_path / "pairs.jsonl"), tiny_bert(tmp_path / "bert")
    arguments = ("--data", lines, "--backbone", backbone, *FEW, "--direction", "plus", "--skip-criteria")
    code, printed, told = run_main(main, "train", "classifier", "--out", tmp_path / "judge", *arguments)

    assert code == 0
    assert "note: plus and minus: 0 pairs go by what people chose, 12 by embedded " in told
    assert "10 pairs" in printed


def test_without_the_packages_for_training_one_line_says_how_to_install_them(
    run_main: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crm.training.classifier.command._PACKAGES", ("no_such_package",))
    code, _, told = run_main(main, "train", "classifier", "--out", tmp_path / "out")
    assert code == 2
    assert told == (
        "error: Training needs no_such_package: pip install -r requirements-train.txt installs it.\n"
    )


def test_bad_input_is_one_line_on_standard_error(run_main: Run, tmp_path: Path) -> None:
    lines = training_lines(tmp_path / "pairs.jsonl")
    for arguments, message in (
        (("--backbone", tmp_path / "nowhere", "--data", lines), "There is no backbone"),
        (("--data", tmp_path / "nothing.jsonl"), "There is no file"),
        (("--data", lines, "--prompt", tmp_path / "no.txt"), "prompt template"),
        (("--data", lines, "--batch", "0"), "Invalid value for '--batch'"),
    ):
        code, printed, told = run_main(
            main, "train", "classifier", "--out", tmp_path / "out", *arguments, *FEW[:2]
        )
        assert code == 2
        assert not printed
        assert len(told.strip().splitlines()) == 1
        assert message in told


class TestLessonsOfMiniLM:
    """MiniLM is taught in two lessons unless a person chooses otherwise; a tiny encoder stands in for it."""

    @pytest.fixture(autouse=True)
    def _tiny(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        folder = tiny_bert(tmp_path / "tiny")
        monkeypatch.setattr("crm.training.classifier.backbone._package_folder", lambda _: folder)

    def test_the_line_of_the_readme_teaches_statements_first(self, run_main: Run, tmp_path: Path) -> None:
        lines, out = training_lines(tmp_path / "pairs.jsonl"), tmp_path / "judges" / "mine"
        trial = ("--limit", 8, "--eval-limit", 8, "--evaluations", 1)
        code, printed, told = run_main(main, "train", "classifier", "--data", lines, "--out", out, *trial)

        assert code == 0
        assert told.index("First lesson") < told.index("Second lesson")
        assert "8 pairs, 1 steps" in printed
        options = json.loads((out / "options.json").read_text())
        assert (options["loss"], options["max_length"], options["lr"]) == ("ranking", 112, 2e-4)
        assert options["backbone"] == f"{out}-first-lesson"
        assert [path.name for path in out.parent.iterdir()] == ["mine"]
        assert "query" not in (out / "prompt.txt").read_text()

    def test_statements_are_learnt_from_both_sides_where_responses_are_of_one(
        self, run_main: Run, tmp_path: Path
    ) -> None:
        lines = _with_winners(training_lines(tmp_path / "pairs.jsonl"), unknown=0)
        trial = ("--limit", 8, "--eval-limit", 8, "--evaluations", 1, "--direction", "plus")
        arguments = ("--data", lines, "--out", tmp_path / "mine", *trial)
        code, printed, told = run_main(main, "train", "classifier", *arguments)

        assert code == 0
        assert told.count("plus and minus") == 1
        assert told.index("First lesson") < told.index("Second lesson")
        assert "8 pairs, 1 steps" in printed

    def test_a_run_stopped_in_its_second_lesson_goes_on_there(
        self, run_main: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        lines, out = training_lines(tmp_path / "pairs.jsonl"), tmp_path / "mine"
        arguments = ("train", "classifier", "--data", lines, "--out", out, "--limit", 8, "--evaluations", 1)
        with monkeypatch.context() as patch:
            patch.setattr("crm.training.classifier.run.save_results", _power_cut)
            patch.setattr("crm.training.classifier.lessons.teach_statements", _copy_of(tmp_path / "tiny"))
            with pytest.raises(ZeroDivisionError):
                run_main(main, *arguments)
        code, _, told = run_main(main, *arguments, "--resume")

        assert code == 0
        assert told.count("First lesson") == 1, "by the stopped run alone"
        assert (out / "crm.json").is_file()

    def test_who_chooses_the_loss_trains_as_with_any_other_backbone(
        self, run_main: Run, tmp_path: Path
    ) -> None:
        lines, out = training_lines(tmp_path / "pairs.jsonl"), tmp_path / "mine"
        code, _, told = run_main(
            main, "train", "classifier", "--data", lines, "--out", out, *FEW, "--loss", "classification"
        )
        assert code == 0
        assert "lesson" not in told

    def test_what_a_person_chooses_stays(self) -> None:
        statements, responses = lessons.lessons(
            Options(lr=1e-3, seed=7, precision=Precision.FP32), {"lr", "seed", "precision"}
        )
        assert (statements.lr, responses.lr) == (2e-4, 1e-3)
        assert (statements.seed, responses.seed) == (7, 7)
        assert {statements.precision, responses.precision} == {Precision.FP32}
        assert (statements.material, responses.material) == (TrainingText.STATEMENTS, TrainingText.RESPONSES)

    def test_statements_need_no_responses(self) -> None:
        found = statement_examples(lessons.read_statements(PREFERENCES), seed=0)
        assert len(found) > 5000
        assert {item.pair.query.split()[0] for item in found} == {"criteria_annotations.jsonl"}
        assert not {item.instruction for item in found} & {
            row["instruction_sha256"] for _, row in read_json_lines(PREFERENCES) if row["split"] == "dev"
        }


def _power_cut(*_: object) -> None:
    raise ZeroDivisionError


def _copy_of(folder: Path) -> Callable[..., None]:
    def teach(out: Path, *_: object, **__: object) -> None:
        shutil.copytree(folder, out)
        (out / "crm.json").write_text("{}")

    return teach
