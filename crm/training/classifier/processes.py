"""The processes that train one judge together: this one alone, or as many as ``torchrun`` has started.

Each computes its part of every batch on a GPU of its own. The first one writes and tells for all.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from crm.errors import CRMError
from crm.training.classifier.options import Options


def n_processes() -> int:
    """Return how many there are."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def is_first() -> bool:
    """Return whether this one writes and tells for all."""
    return os.environ.get("RANK", "0") == "0"


def check_processes(options: Options) -> None:
    """See that they can do what the options ask for.

    Raises:
        CRMError: A batch cannot be divided among them, or there is nobody to divide a model with.
    """
    if options.batch % (options.accumulate * n_processes()):
        raise CRMError(
            f"A batch of {options.batch} pairs cannot be computed in equal parts, {options.accumulate} of "
            f"each of {n_processes()} processes: choose another --batch."
        )
    if options.shard and n_processes() == 1:
        raise CRMError(
            "--shard divides a model among several GPUs: start it with “torchrun --nproc-per-node N -m crm "
            "train classifier …”, or leave it out."
        )


def sharding(model: Any, options: Options) -> dict[str, Any]:
    """Return arguments of ``TrainingArguments`` by which processes share the model, if the options say so.

    Weights, gradients and moments lie divided among them, layer by layer (FSDP2, Zhao et al. 2023).
    """
    if not options.shard:
        return {}
    from crm.training.classifier.backbone import layer_stack  # noqa: PLC0415  # takes seconds

    layer = type(layer_stack(model)[0]).__name__
    return {"fsdp": True, "fsdp_config": {"transformer_layer_cls_to_wrap": [layer]}}


def check_sharded(trainer: Any, options: Options) -> None:
    """See that the model is divided where it is to be.

    Raises:
        CRMError: It is not: the processes have no GPUs.
    """
    if options.shard and not trainer.is_fsdp_enabled:
        raise CRMError("--shard needs a GPU for every process, and there is none: leave it out.")


def whole_model(trainer: Any, load: Callable[[], Any]) -> Any:
    """Return the trained model with all its weights; of a divided one only in the first process.

    Args:
        load: Loads a model as the trained one was before.
    """
    if not trainer.is_fsdp_enabled:
        return trainer.accelerator.unwrap_model(trainer.model)
    weights = trainer.accelerator.get_state_dict(trainer.model)
    if not is_first():
        return None
    model = load()
    model.load_state_dict(weights)
    return model
