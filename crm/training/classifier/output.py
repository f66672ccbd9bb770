"""The folder of a run: the trained judge, what resuming needs, and results as data and picture.

A trained judge is a Hugging Face checkpoint with ``crm.json`` and ``prompt.txt``; ``results.json``,
``curves.csv`` and ``curves.png`` say how its training went.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from transformers.trainer_utils import get_last_checkpoint

from crm.errors import CRMError
from crm.llm.prompt import PromptTemplate
from crm.training.classifier.options import Options
from parsing.documents import read_json
from parsing.files import read_bytes

_STEPS = "steps"
_OPTIONS_FILE = "options.json"


def states(out: Path) -> Path:
    """Folder of the states from which a stopped run goes on; it goes when the run ends."""
    return out / _STEPS


def check_folder(out: Path, backbone: str, options: Options, *, resume: bool) -> None:
    """See that a new run's folder is free, or that one to resume holds the same run.

    Raises:
        CRMError: It is not so.
    """
    if not resume:
        if out.exists() and (not out.is_dir() or any(out.iterdir())):
            raise CRMError(f"{out} exists already: name a new folder, or go on with --resume.")
        return
    if is_finished(out):
        raise CRMError(f"The run in {out} is finished: there is nothing to resume.")
    if not is_started(out):
        raise CRMError(f"There is no run in {out} to resume: start it without --resume.")
    # A run of an earlier version has options of today as they are by default.
    before = Options().to_json() | read_json(read_bytes(out / _OPTIONS_FILE))
    described = read_json(_described(backbone, options))
    if changed := sorted(key for key in described if described[key] != before.get(key)):
        raise CRMError(
            f"The run in {out} was started with another {', '.join(changed)}: resume it with the same."
        )


def is_started(out: Path) -> bool:
    """Return whether a run in this folder was begun."""
    return (out / _OPTIONS_FILE).is_file()


def is_finished(out: Path) -> bool:
    """Return whether a run in this folder was brought to its end."""
    return (out / DESCRIPTION).is_file()


def open_folder(out: Path, backbone: str, options: Options) -> None:
    """Make a run's folder, and note what the run is."""
    out.mkdir(parents=True, exist_ok=True)
    (out / _OPTIONS_FILE).write_text(_described(backbone, options) + "\n", encoding="utf-8")


def _described(backbone: str, options: Options) -> str:
    return json.dumps({"backbone": backbone, **options.to_json()}, indent=1)


def last_state(out: Path) -> str | None:
    """Return the last state of a stopped run; None if it was stopped before its first."""
    return get_last_checkpoint(str(states(out))) if states(out).is_dir() else None


def close_folder(out: Path) -> None:
    """Remove what only resuming needs."""
    shutil.rmtree(states(out), ignore_errors=True)


FORMAT = 1
DESCRIPTION = "crm.json"


@dataclass(frozen=True)
class Description:
    """How a judge was trained, as far as using it goes.

    Attributes:
        loss: ``classification``: label 0 is “A is preferred”, label 1 “B is preferred”; or ``ranking``: the
            only output is the response's score.
        max_length: Longest prompt in tokens.
        avoid_in_words: Criteria to be avoided read “Avoid: …”.
        weights_in_words: Criteria end with their weights where these differ.
        generation_prompt: Where the template marks turns, the model's answer is opened after them.
        format: Of this description.
    """

    loss: str
    max_length: int
    name: str
    version: str
    avoid_in_words: bool = True
    weights_in_words: bool = True
    generation_prompt: bool = True
    format: int = FORMAT


def save_checkpoint(
    folder: Path, model: Any, tokenizer: Any, template: PromptTemplate, description: Description
) -> None:
    """Write a trained judge; low-rank adapters are merged into the weights.

    ``crm.json`` is written last: a folder that has it is complete.
    """
    whole = model.merge_and_unload() if hasattr(model, "merge_and_unload") else model
    folder.mkdir(parents=True, exist_ok=True)
    whole.save_pretrained(str(folder))
    tokenizer.save_pretrained(str(folder))
    _share(folder.glob("*.safetensors"))
    (folder / "prompt.txt").write_text(template.source, encoding="utf-8")
    (folder / DESCRIPTION).write_text(json.dumps(asdict(description), indent=1) + "\n", encoding="utf-8")


def _share(files: Iterable[Path]) -> None:
    """Let others read files as any new file: safetensors makes its own readable by their owner alone."""
    mask = os.umask(0)
    os.umask(mask)
    for file in files:
        file.chmod(0o666 & ~mask)


_COLUMNS = ("step", "epoch", "part", "loss", "accuracy", "accuracy_list", "learning_rate")
TRAINED, HELD_OUT = "trained on", "held out"


def curves(history: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Return what is in a trainer's ``state.log_history``, one row a step and part.

    Columns are ``step, epoch, part, loss, accuracy, accuracy_list, learning_rate``; the part is what is
    trained on, or what is held out, on which ``accuracy_list`` counts whole criteria lists only.
    """
    rows = []
    for entry in history:
        place = {"step": entry["step"], "epoch": round(entry["epoch"], 4)}
        if "loss" in entry:
            known = {name: entry.get(name) for name in ("loss", "accuracy", "learning_rate")}
            rows.append({**place, "part": TRAINED, **known})
        elif "eval_loss" in entry:
            known = {name: entry.get(f"eval_{name}") for name in ("loss", "accuracy", "accuracy_list")}
            rows.append({**place, "part": HELD_OUT, **known})
    return pd.DataFrame(rows, columns=list(_COLUMNS))


def save_curves(data: pd.DataFrame, folder: Path, title: str) -> None:
    """Write ``curves.csv`` and ``curves.png``."""
    from matplotlib.figure import Figure  # noqa: PLC0415  # only training draws

    data.to_csv(folder / "curves.csv", index=False, float_format="%.6g")
    figure = Figure(figsize=(8, 3), layout="constrained")
    panels = figure.subplots(1, 2)
    for panel, column in zip(panels, ("loss", "accuracy"), strict=True):
        for part, rows in data.groupby("part"):
            trained = part == TRAINED
            panel.plot(
                rows["step"], rows[column], label=part, alpha=0.5 if trained else 1.0,
                marker=None if trained else "o", markersize=3,
            )  # fmt: skip
        panel.set(xlabel="step", ylabel=column)
        panel.grid(alpha=0.3)
    panels[0].legend(frameon=False)
    figure.suptitle(title, fontsize=10)
    figure.savefig(folder / "curves.png", dpi=110)


@dataclass(frozen=True)
class TrainingReport:
    """How a run went.

    Attributes:
        pairs: Number of pairs learnt from.
        minutes: Time since this process began to train.
        held_out: Loss and accuracies of the best checkpoint on what was held out.
        dev: The same on dev, with the number of questions; empty without dev.
        unnoised: By noise, how many criteria lists it could not be applied to; empty without noise.
    """

    backbone: str
    pairs: int
    steps: int
    minutes: float
    held_out: dict[str, float]
    dev: dict[str, float]
    unnoised: dict[str, int]


def best_evaluation(history: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Loss and accuracies of the evaluation with the least loss."""
    entry = min((item for item in history if "eval_loss" in item), key=lambda item: item["eval_loss"])
    return results(entry, "eval_")


def results(metrics: Mapping[str, float], prefix: str) -> dict[str, float]:
    """Loss and accuracies among a trainer's metrics."""
    return {
        key.removeprefix(prefix): round(value, 4)
        for key, value in metrics.items()
        if key == f"{prefix}loss" or key.startswith(f"{prefix}accuracy")
    }


def save_results(
    out: Path, history: Sequence[Mapping[str, float]], report: TrainingReport, options: Options
) -> None:
    """Write them."""
    save_curves(curves(history), out, f"{report.backbone}, {options.loss.value} loss")
    described = {"options": options.to_json(), **vars(report)}
    (out / "results.json").write_text(json.dumps(described, indent=1) + "\n", encoding="utf-8")
