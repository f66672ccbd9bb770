"""The script for a machine with a GPU, in miniature: every stage."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from crm.protocol import Pair
from tests.checkpoints import make_causal, make_tokenizer
from tests.servers import free_port
from tests.vllm.conftest import ROOT, VLLM

pytestmark = [pytest.mark.vllm, pytest.mark.corpora]


def test_every_stage_runs_and_one_that_is_done_is_left_out(
    corpora: Path, dailybench: list[Pair], tmp_path: Path
) -> None:
    words = make_tokenizer([pair.response_a for pair in dailybench[::10]], size=4000)
    backbone = make_causal(tmp_path / "backbone", tokenizer=words)
    settings = {
        "PYTHON": sys.executable, "VLLM": str(VLLM), "OUT": str(tmp_path / "out"), "CORPORA": str(corpora),
        "BACKBONE": str(backbone), "LIMIT": "16", "EVAL_LIMIT": "4", "WINDOW": "512", "EPOCHS": "1",
        "WORKERS": "0", "PAIRS": "16", "DECODER_STEPS": "2", "PRECISION": "fp32", "PORT": str(free_port()),
        "LLMS": "2", "TOPIC": "Humor & Entertainment", "HF_HUB_OFFLINE": "1",
        "USL_DATABASE_URL": f"sqlite:///{tmp_path / 'usl.sqlite3'}",
    }  # fmt: skip

    def run(*stages: str) -> str:
        done = subprocess.run(
            [ROOT / "benchmarks" / "gpu" / "run.sh", *stages],
            cwd=tmp_path, env=os.environ | settings, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr[-3000:]
        return done.stdout

    shown = run("install", "smoke", "memory", "decoder", "ranking", "classification", "after-ranking")
    assert "vLLM" in shown
    shown = run("evaluate", "throughput", "gold", "alpaca", "serve", "actors")
    doctor = (tmp_path / "out" / "doctor.txt").read_text()
    assert doctor in shown
    # 512 tokens for two responses are 320 for one, and a long one has more.
    for said in ("served, version ", ", at most 320\n", "one: the score of a single response", "of 20\n"):
        assert said in doctor
    assert "\n--- prompt 2, to the character ---\n" in doctor
    assert "\nWhat looks wrong:\n" in doctor
    assert "\n- Long responses are cut: " in doctor
    for name in ("ranking", "classification", "after-ranking"):
        assert (tmp_path / "out" / name / "crm.json").is_file()
    tables = sorted(path.name for path in (tmp_path / "out" / "tables").iterdir())
    assert tables == [
        "actors-vllm.md",
        "alpaca-eval.md",
        "evaluation.md",
        "gold-after-ranking.md",
        "gold-classification.md",
        "gold-ranking.md",
        "memory.md",
        "serve.md",
        "smoke.md",
        "throughput-after-ranking.md",
        "throughput-classification.md",
        "throughput-ranking.md",
        "wish_readings.md",
    ]
    assert "pairs judged in 2 actors of Ray" in shown
    assert "pairs judged" not in run("serve", "actors", "alpaca")
    assert "16 pairs" not in run("ranking")
    served, acted = (
        win_rates(tmp_path / "out" / "tables" / f"{name}.md") for name in ("serve", "actors-vllm")
    )
    assert len(served) == 7
    assert acted == pytest.approx(served, abs=0.05)

    report = (tmp_path / "out" / "report.md").read_text()
    seconds = re.findall(r"^\| ([a-z-]+) \| (\d+) \|$", report, re.MULTILINE)
    assert {stage for stage, took in seconds if int(took)} >= {"smoke", "ranking", "serve", "actors"}
    assert len(seconds) == 13
    assert report.count("\n## ") == 1 + len(tables)


def win_rates(table: Path) -> dict[str, float]:
    """Win rates in a table of ``benchmarks.gpu.ranking``."""
    cells = [line.split(" | ") for line in table.read_text().splitlines() if line.startswith("| ")][2:]
    return {llm.removeprefix("| "): float(rate.removesuffix("%")) / 100 for llm, _, rate, *_ in cells}
