"""A classifier trained here, a real vLLM server on the CPU that serves it, and a file of judges.

``USL_TEST_CHECKPOINT`` names another checkpoint to do all of this with.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crm.protocol import Pair
from leaderboard.service import Service
from tests.checkpoints import make_checkpoint, make_tokenizer
from tests.servers import free_port, wait_until_healthy

ROOT = Path(__file__).parents[2]
VLLM = ROOT / ".venv-vllm" / "bin" / "python"
SHORT, LONG = "Short and to the point", "Long and detailed"
TRAINING = ("--loss", "classification", "--no-dev", "--noise", "none", "--single-share", "0", "--batch", "16")
TRAINING += ("--epochs", "1", "--lr", "1e-5", "--max-length", "256", "--evaluations", "1", "--patience", "0")
_START_SECONDS = 600


@pytest.fixture(scope="session")
def dailybench(service: Service) -> list[Pair]:
    """Every LLM's responses to DailyBench beside the baseline's."""
    benchmark = service.benchmark("dailybench")
    return [pair for llm in benchmark.llms for pair in benchmark.pairs(llm) if pair is not None]


@pytest.fixture(scope="session")
def checkpoint(dailybench: list[Pair], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small Llama that went through a short training: its verdicts differ, though they mean little."""
    if given := os.environ.get("USL_TEST_CHECKPOINT"):
        return Path(given).resolve()
    folder = tmp_path_factory.mktemp("classifier")
    texts = [text for pair in dailybench[::10] for text in (pair.query, pair.response_a)]
    backbone = make_checkpoint(
        folder / "backbone", described=False, tokenizer=make_tokenizer(texts, size=4000)
    )
    data, out = folder / "pairs.jsonl", folder / "trained"
    data.write_text("\n".join(map(json.dumps, _training_lines(dailybench))), encoding="utf-8")
    command = ["-m", "crm", "train", "classifier", "--out", out, "--backbone", backbone, "--data", data]
    subprocess.run([sys.executable, *map(str, command), *TRAINING], cwd=ROOT, check=True)
    return out


@pytest.fixture(scope="session")
def vllm_url(checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a vLLM server that serves the checkpoint as ``tiny``."""
    # On a CPU it keeps blocks of 128 tokens else, longer than what prompts have in common here.
    options = ("--runner", "pooling", "--block-size", "32")
    with serving(checkpoint, "tiny", tmp_path_factory.mktemp("vllm") / "log", *options) as url:
        yield url


@pytest.fixture
def judges(vllm_url: str, checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file with the judges ``served``, ``local`` and ``offline``, all of the same checkpoint, in use."""
    file = tmp_path / "crms.toml"
    file.write_text(f"""
[served]
backend = "vllm-server"
url = "{vllm_url}"
model = "tiny"
tokenizer = "{checkpoint}"
batch_size = 32
concurrency = 2

[local]
backend = "transformers"
model = "{checkpoint}"

[offline]
backend = "vllm"
model = "{checkpoint}"
dtype = "bfloat16"
enforce_eager = true
""")
    monkeypatch.setenv("USL_CRMS", str(file))
    return file


@contextmanager
def serving(model: Path, name: str, log: Path, *options: str) -> Iterator[str]:
    """Address of a vLLM server that serves a model under a name, started as docs/judges.md says for a CPU."""
    if not VLLM.exists():
        pytest.fail("There is no .venv-vllm: run “make test-vllm”, which makes it.")
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    command = [VLLM, "-m", "vllm.entrypoints.openai.api_server", "--model", model]
    command += ["--served-model-name", name, "--host", "127.0.0.1", "--port", port]
    command += ["--dtype", "bfloat16", "--enforce-eager", *options]
    with log.open("w") as output:
        server = subprocess.Popen(
            list(map(str, command)), env=offline(), stdout=output, stderr=output, start_new_session=True
        )
    try:
        wait_until_healthy(f"{url}/health", server, log, seconds=_START_SECONDS)
        yield url
    finally:
        # The server has worker processes; together they are a process group of their own.
        os.killpg(server.pid, signal.SIGTERM)
        server.wait(30)


def offline() -> dict[str, str]:
    """The environment of a process that runs vLLM: little memory for its cache, and no network."""
    return os.environ | {"VLLM_CPU_KVCACHE_SPACE": "1", "HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1"}


def run_command(*arguments: object, python: Path | str = sys.executable) -> str:
    """Standard output of a command line of the project; its messages are shown if it fails."""
    done = subprocess.run(
        [python, "-m", *map(str, arguments)],
        cwd=ROOT,
        env=offline(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def _training_lines(pairs: list[Pair], most: int = 200) -> list[dict[str, Any]]:
    """Training data in which one wish prefers the shorter response, and another the longer."""
    lines = []
    for index in np.random.default_rng(0).permutation(len(pairs)):
        pair = pairs[index]
        short, long = sorted((len(pair.response_a), len(pair.response_b)))
        if long < 1.3 * short:
            continue
        shorter = "model_a" if len(pair.response_a) == short else "model_b"
        longer = "model_b" if shorter == "model_a" else "model_a"
        for wish, preferred in ((SHORT, shorter), (LONG, longer)):
            lines.append(
                {
                    "idx": f"{index} {wish}",
                    "prompt": pair.query,
                    "model_a": [{"role": "assistant", "content": pair.response_a}],
                    "model_b": [{"role": "assistant", "content": pair.response_b}],
                    "criteria": [wish],
                    "preference": preferred,
                }
            )
    return lines[:most]
