"""GPU memory that training a judge takes: by arithmetic, and measured where there is a GPU.

    python -m benchmarks.gpu.memory [--tokens N] [--output FILE.md]

A step trains on one pair, both directions, in prompts of so many tokens. Backbones have the shapes of Qwen3
and random weights: memory does not depend on their values. Weights, gradients and AdamW's two moments are 16
bytes a weight in single precision, and half of that in bfloat16; beside adapters the weights alone are kept.
What was measured is up to 11 % more than the arithmetic, so a card must hold as much more where nothing was
measured.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Annotated, Any

import torch
import typer
from torch import nn

from benchmarks._report import Report
from crm.cli_runner import run_cli
from crm.errors import CRMError
from crm.report_table import describe_machine
from crm.training.classifier.backbone import prepared
from crm.training.classifier.options import Loss, Optimizer, Options, Precision, Weights
from crm.training.classifier.trainer import make_optimizer, margins, preference_loss

app = typer.Typer(add_completion=False)

_GB = 1e9
_CARDS = (24, 48, 80, 141)
_UNDERESTIMATED = 1.11
"""What was measured took at most so many times what the arithmetic says (1.7B, all weights in bfloat16)."""
_RESERVED = 1.5
"""GB of a card that its driver, the context and fragments of memory take."""
_PROMPTS = 2
_ADAPTED = 1.5
"""Adapters keep what they read once more, in single precision."""
_VOCABULARY = 151_936
FITS = (
    "What was not measured must fit with 11 % more, by which the arithmetic fell short at most; a smaller "
    "card that holds the arithmetic alone is one that may do."
)


@dataclass(frozen=True)
class Shape:
    """A decoder of the Qwen3 family: hidden size, layers, heads of 128, and size of the middle layer."""

    hidden: int
    layers: int
    heads: int
    middle: int
    groups: int = 8
    head: int = 128

    @property
    def weights(self) -> int:
        """Number of weights, those of the embeddings included."""
        attention = self.hidden * self.head * (2 * self.heads + 2 * self.groups)
        return _VOCABULARY * self.hidden + self.layers * (attention + 3 * self.hidden * self.middle)

    def adapters(self, rank: int) -> int:
        """Number of weights of low-rank adapters at every linear map."""
        wide, narrow = self.heads * self.head, self.groups * self.head
        maps = ((self.hidden, wide), (self.hidden, narrow), (self.hidden, narrow), (wide, self.hidden))
        middle = 3 * (self.hidden + self.middle)
        return self.layers * rank * (sum(map(sum, maps)) + middle)

    def activations(self, tokens: int, *, checkpointing: bool) -> float:
        """Bytes that a step keeps for its way back, in bfloat16."""
        wide, narrow = self.heads * self.head, self.groups * self.head
        layer = tokens * (20 * self.hidden + 8 * wide + 8 * narrow + 8 * self.middle)
        return tokens * self.layers * 2 * self.hidden + layer if checkpointing else self.layers * layer

    def model(self, weights: Weights, device: str = "cuda") -> Any:
        """Return a model of this shape with random weights."""
        from transformers import Qwen3Config, Qwen3ForSequenceClassification  # noqa: PLC0415

        config = Qwen3Config(
            vocab_size=_VOCABULARY, hidden_size=self.hidden, intermediate_size=self.middle,
            num_hidden_layers=self.layers, num_attention_heads=self.heads, num_key_value_heads=self.groups,
            head_dim=self.head, num_labels=2, pad_token_id=0, use_cache=False,
        )  # fmt: skip
        dtype = torch.bfloat16 if weights is Weights.BF16 else torch.float32
        with torch.device(device):
            return Qwen3ForSequenceClassification._from_config(config, dtype=dtype)


SHAPES: Mapping[str, Shape] = {
    "0.6B": Shape(1024, 28, 16, 3072),
    "1.7B": Shape(2048, 28, 16, 6144),
    "4B": Shape(2560, 36, 32, 9728),
    "8B": Shape(4096, 36, 32, 12288),
}

_WAYS: Mapping[str, Options] = {
    "all weights, fp32": Options(precision=Precision.BF16),
    "all weights, fp32, 8-bit moments": Options(precision=Precision.BF16, optimizer=Optimizer.PAGED_8BIT),
    "all weights, bf16": Options(weights=Weights.BF16),
    "all weights, bf16, 8-bit moments": Options(weights=Weights.BF16, optimizer=Optimizer.PAGED_8BIT),
    "adapters of rank 16, bf16": Options(weights=Weights.BF16, lora=16),
}


def ways() -> Iterator[tuple[str, str, Options]]:
    """Yield each backbone with each way to train it, in words and as options."""
    for name, (way, options) in product(SHAPES, _WAYS.items()):
        for checkpointing in (False, True):
            yield name, way, replace(options, gradient_checkpointing=checkpointing)


def state(shape: Shape, options: Options) -> float:
    """Bytes of weights, gradients and the optimizer's moments."""
    if options.lora:
        return 2 * shape.weights + 8 * shape.adapters(options.lora)
    number = 2 if options.weights is Weights.BF16 else 4
    moment = 1 if options.optimizer is Optimizer.PAGED_8BIT else number
    # In single precision the forward pass keeps a copy in bfloat16 of what it multiplies by.
    copied = 0 if options.weights is Weights.BF16 else 2 * (shape.weights - _VOCABULARY * shape.hidden)
    return 2 * (number + moment) * shape.weights + copied


def needed(shape: Shape, options: Options, tokens: int, *, pairs: int = 1) -> float:
    """Bytes that a step takes by arithmetic.

    Args:
        shape: Of the backbone.
        options: Of the training.
        tokens: Of one prompt.
        pairs: Computed at a time: a batch's, divided by ``--accumulate``.
    """
    held = shape.activations(pairs * _PROMPTS * tokens, checkpointing=options.gradient_checkpointing)
    return state(shape, options) + held * (_ADAPTED if options.lora else 1)


def measured(shape: Shape, options: Options, tokens: int) -> float | None:
    """Most bytes that two steps of training held; None if they did not fit or a package is missing."""
    gc.collect()  # a model's parts refer to each other
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    try:
        model = prepared(shape.model(options.weights), options)
        _steps(model, options, tokens)
    except torch.cuda.OutOfMemoryError:
        return None
    return float(torch.cuda.max_memory_allocated())


def _steps(model: nn.Module, options: Options, tokens: int) -> None:
    model.train()
    optimizer = make_optimizer(model, options)
    ids = torch.randint(1, _VOCABULARY, (_PROMPTS, tokens), device="cuda")
    sign = torch.tensor([1.0, -1.0], device="cuda")
    for _ in range(2):
        with torch.autocast("cuda", torch.bfloat16, enabled=options.weights is Weights.FP32):
            logits = model(input_ids=ids, attention_mask=torch.ones_like(ids)).logits
        torch.autograd.backward(preference_loss(margins(logits.float(), Loss.CLASSIFICATION), sign))
        optimizer.step()
        optimizer.zero_grad()


def fitting(needed: float, found: float | None = None) -> str:
    """Return the smallest card on which a step fits.

    Args:
        needed: Bytes by arithmetic. The card must hold what the arithmetic may lack as well; a smaller one
            that holds them alone is named as one that may do.
        found: Bytes that were measured, which are all that a card must hold.
    """
    if found is not None:
        return _smallest(found)
    sure, alone = _smallest(_UNDERESTIMATED * needed), _smallest(needed)
    return sure if sure == alone else f"{sure}, perhaps {alone}"


def _smallest(held: float) -> str:
    return next((f"{card} GB" for card in _CARDS if held / _GB + _RESERVED <= card), "several")


@app.command()
def measure(
    tokens: Annotated[int, typer.Option(min=16, help="Tokens of one prompt.")] = 4096,
    output: Annotated[Path | None, typer.Option(help="Markdown file for the table.")] = None,
) -> None:
    """Say what a step of training takes."""
    on_gpu = torch.cuda.is_available()
    rows = []
    for name, way, options in ways():
        taken = needed(SHAPES[name], options, tokens)
        found = (
            measured(SHAPES[name], options, tokens)
            if on_gpu and options.optimizer is not Optimizer.PAGED_8BIT and taken < _free()
            else None
        )
        twice = "yes" if options.gradient_checkpointing else "no"
        cells = map(_shown, (state(SHAPES[name], options), taken, found))
        rows.append((name, way, twice, *cells, fitting(taken, found)))
    report = Report(
        "GPU memory of training a judge",
        ("backbone", "trained", "checkpointing", "weights, moments", "by arithmetic", "measured", "fits on"),
        tuple(rows),
        f"A step of one pair in {_PROMPTS} prompts of {tokens:,} tokens. {FITS} {describe_machine()}.",
    )
    report.finish(output)


def _shown(count: float | None) -> str:
    return "–" if count is None else f"{count / _GB:.1f} GB"


def _free() -> float:
    return float(torch.cuda.mem_get_info()[0])


if __name__ == "__main__":
    run_cli(app, CRMError)
