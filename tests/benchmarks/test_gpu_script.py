"""Which Python with vLLM the script for a machine with a GPU takes; tests/vllm runs its stages."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path("benchmarks") / "gpu" / "run.sh"
ROOT = Path(__file__).parents[2]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder with the script and the files that it joins, and no environments."""
    for name in (SCRIPT, *(Path("crm", "training").joinpath(name) for name in _annotations())):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def _annotations() -> list[str]:
    return ["annotations.jsonl", "criteria_annotations.jsonl", "modern_annotations.jsonl"]


def smoke(checkout: Path, **variables: str) -> str:
    """What the stage “smoke” prints: its last line comes from the Python with vLLM, if there is one."""
    inherited = {name: value for name, value in os.environ.items() if name != "VLLM"}
    done = subprocess.run(
        ["bash", checkout / SCRIPT, "smoke"],
        env=inherited | {"PYTHON": "true", "OUT": str(checkout / "out")} | variables,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def python_that_says(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True)
    path.write_text(f"#!/bin/sh\necho {text}\n")
    path.chmod(0o755)
    return path


def test_the_environment_of_the_docs_is_found_and_another_can_be_named_or_none(checkout: Path) -> None:
    named = python_that_says(checkout / "elsewhere" / "python", "the named one")
    assert "the named one" not in smoke(checkout)
    assert "the named one" in smoke(checkout, VLLM=str(named))

    python_that_says(checkout / ".venv-gpu" / "bin" / "python", "the usual one")
    assert "the usual one" in smoke(checkout)
    assert "the usual one" not in smoke(checkout, VLLM=str(named))
    assert "the usual one" not in smoke(checkout, VLLM="")
