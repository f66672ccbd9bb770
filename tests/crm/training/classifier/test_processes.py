import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from crm.errors import CRMError
from crm.training.classifier.examples import prepare
from crm.training.classifier.options import Loss, Options
from crm.training.classifier.processes import check_processes
from crm.training.classifier.run import train
from tests.crm.training.classifier.samples import QUICK, cat_examples, tiny_bert, tiny_llama

ROOT = Path(__file__).resolve().parents[4]
LOOPBACK = "lo0" if sys.platform == "darwin" else "lo"
BACKBONES = {"bert": tiny_bert, "llama": tiny_llama}


def together(
    backbone: Path, out: Path, options: dict[str, Any], stop_at: int = 0, gpus: str = "pretended"
) -> subprocess.CompletedProcess[str]:
    """Train in two processes.

    They speak through the loopback, as other addresses hang on what the machine's name resolves to.
    """
    arguments = (str(backbone), str(out), json.dumps(options), str(stop_at), gpus)
    torchrun = (
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--local-addr",
        "127.0.0.1",
        "--nproc-per-node",
        "2",
    )
    return subprocess.run(
        [*torchrun, "-m", "tests.crm.training.classifier.several_processes", *arguments],
        cwd=ROOT,
        env=os.environ | {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "GLOO_SOCKET_IFNAME": LOOPBACK},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def alone(backbone: Path, out: Path, options: dict[str, Any]) -> None:
    """Train the same in this process."""
    chosen = replace(QUICK, **options | {"loss": Loss(options["loss"]), "shard": False})
    made = cat_examples(45)
    train(str(backbone), prepare(made[:40], made[40:], chosen), out, chosen)


def furthest(one: Path, other: Path) -> float:
    """Return how far two judges' weights are apart at most."""
    first, second = (load_file(out / "model.safetensors") for out in (one, other))
    assert first.keys() == second.keys()
    return max(float((first[name].float() - second[name].float()).abs().max()) for name in first)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("llama", {"loss": "classification", "epochs": 2}),
        ("bert", {"loss": "ranking", "epochs": 2, "shard": True, "freeze": 1, "group_by_length": True}),
        ("llama", {"loss": "ranking", "epochs": 1, "shard": True, "pack": 128}),
    ],
    ids=["each has the whole", "divided", "divided and packed"],
)
def test_two_processes_learn_what_one_does(tmp_path: Path, name: str, options: dict[str, Any]) -> None:
    backbone = BACKBONES[name](tmp_path / "backbone")
    gpus = "pretended" if options.get("shard") else "none"
    done = together(backbone, tmp_path / "together", options, gpus=gpus)
    assert done.returncode == 0, done.stderr
    alone(backbone, tmp_path / "alone", options)

    assert furthest(tmp_path / "together", tmp_path / "alone") < 1e-3
    assert sorted(file.name for file in (tmp_path / "together").iterdir()) == sorted(
        file.name for file in (tmp_path / "alone").iterdir()
    )
    results = [json.loads((tmp_path / out / "results.json").read_text()) for out in ("together", "alone")]
    for part in ("held_out", "dev"):
        assert results[0][part] == pytest.approx(results[1][part], abs=1e-3)


def test_adapters_of_a_divided_model_are_merged_into_its_weights(tmp_path: Path) -> None:
    backbone = tiny_llama(tmp_path / "backbone")
    options = {"loss": "ranking", "epochs": 4, "lr": 1e-2, "shard": True, "lora": 8}
    options |= {"gradient_checkpointing": True}
    done = together(backbone, tmp_path / "out", options)
    assert done.returncode == 0, done.stderr

    before, after = (load_file(folder / "model.safetensors") for folder in (backbone, tmp_path / "out"))
    assert not any("lora" in name for name in after)
    adapted = "model.layers.0.mlp.up_proj.weight"
    assert not torch.equal(before[adapted], after[adapted])
    assert torch.equal(before["model.embed_tokens.weight"], after["model.embed_tokens.weight"])
    results = json.loads((tmp_path / "out" / "results.json").read_text())
    assert results["held_out"]["accuracy_list"] > 0.9


def test_a_divided_model_goes_on_where_it_was_stopped(tmp_path: Path) -> None:
    backbone, options = tiny_llama(tmp_path / "backbone"), {"loss": "ranking", "epochs": 2, "shard": True}
    stopped = together(backbone, tmp_path / "stopped", options, stop_at=12)
    assert stopped.returncode != 0
    assert not (tmp_path / "stopped" / "crm.json").exists()

    resumed, whole = (together(backbone, tmp_path / name, options) for name in ("stopped", "whole"))

    assert resumed.returncode == whole.returncode == 0, resumed.stderr
    assert furthest(tmp_path / "stopped", tmp_path / "whole") < 1e-6


def test_a_model_is_divided_among_gpus_only(tmp_path: Path) -> None:
    refused = together(
        tiny_bert(tmp_path / "backbone"), tmp_path / "out", {"loss": "ranking", "shard": True}, gpus="none"
    )

    assert refused.returncode != 0
    assert "--shard needs a GPU for every process, and there is none: leave it out." in refused.stderr
    assert not (tmp_path / "out" / "crm.json").exists()


def test_one_process_has_nobody_to_divide_with() -> None:
    with pytest.raises(CRMError, match="start it with “torchrun --nproc-per-node N"):
        check_processes(Options(shard=True))


def test_a_batch_is_divided_equally(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "3")
    check_processes(Options(batch=12, accumulate=2))
    with pytest.raises(CRMError, match="8 pairs cannot be computed in equal parts, 1 of each of 3 processes"):
        check_processes(Options(batch=8))
