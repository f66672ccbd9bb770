from pathlib import Path

import pytest

from crm.cli import main
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
    names = {path.name for path in out.iterdir()}
    assert names >= {
        "config.json",
        "model.safetensors",
        "crm.json",
        "prompt.txt",
        "curves.csv",
        "results.json",
    }


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
