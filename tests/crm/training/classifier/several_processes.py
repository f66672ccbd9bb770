"""What each process of torchrun runs in ``test_processes.py``.

    torchrun --nproc-per-node 2 -m … BACKBONE OUT OPTIONS STOP-AT pretended

Accelerate divides models among GPUs only. Here it takes each processor for one of another maker, so that
PyTorch's FSDP2 itself divides the model, over gloo.
"""

import faulthandler
import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from accelerate.state import PartialState
from accelerate.utils import DistributedType
from transformers import TrainerCallback

from crm.training.classifier.examples import prepare
from crm.training.classifier.options import Loss
from crm.training.classifier.run import train
from tests.crm.training.classifier.samples import QUICK, cat_examples

_STUCK_AFTER = 240
"""Seconds, before the test that waits gives up: a process that is stuck says where, and ends."""


def take_processors_for_gpus() -> None:
    """Let accelerate divide models although there is no GPU."""
    before = PartialState.__init__

    def after(self: Any, *given: Any, **named: Any) -> None:
        before(self, *given, **named)
        if self.distributed_type == DistributedType.MULTI_CPU:
            self.distributed_type = DistributedType.MULTI_XPU

    PartialState.__init__ = after


class StopAt(TrainerCallback):
    """Ends a run as a power cut would."""

    def __init__(self, step: int) -> None:
        """Take the step after which it comes."""
        self._step = step

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """End all processes."""
        if state.global_step == self._step:
            os._exit(1)


def main(backbone: str, out: str, chosen: str, stop_at: str, gpus: str) -> None:
    """Train, or go on with what was stopped, on two kinds of answers, one of which is about cats."""
    faulthandler.dump_traceback_later(_STUCK_AFTER, exit=True)
    if gpus == "pretended":
        take_processors_for_gpus()
    given = json.loads(chosen)
    options = replace(QUICK, **given | {"loss": Loss(given["loss"])})
    made, folder = cat_examples(45), Path(out)
    data = prepare(made[:40], made[40:], options)
    callbacks = [StopAt(int(stop_at))] if int(stop_at) else []
    train(backbone, data, folder, options, resume=folder.exists(), callbacks=callbacks)


if __name__ == "__main__":
    main(*sys.argv[1:])
