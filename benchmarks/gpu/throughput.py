"""How many pairs a second a trained judge judges here, and what share of the processor's speed that is.

    python -m benchmarks.gpu.throughput FOLDER [--pairs N] [--corpora DIR] [--output FILE.md]

A model of P weights outside its embeddings needs 2·P operations a token, whatever its attention adds: that,
held against the speed of one large product of matrices in the same number format, is the share of the dense
limit. Tokens are those of the prompts, without padding.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import torch
import typer

from benchmarks._report import Report, size
from crm.backends._classifier import read_checkpoint_info
from crm.backends.transformers_classifier import TransformersClassifier, load_classifier
from crm.cli_runner import run_cli
from crm.data.corpora import LeftOut
from crm.errors import CRMError
from crm.llm.conversation import prompt_tokenizer, special_tokens
from crm.llm.loading import load_tokenizer
from crm.paths import CORPORA, PREFERENCES
from crm.report_table import describe_machine
from crm.training.classifier.backbone import embeddings
from crm.training.classifier.examples import read_examples
from crm.training.classifier.options import Loss
from crm.training.classifier.questions import QuestionEncoder

app = typer.Typer(add_completion=False)

_SIDE = {"cuda": 8192, "cpu": 1024}
_BATCH_TOKENS = {"cuda": (8_192, 32_768, 131_072), "cpu": (2_048,)}
_REPEATS = 5
_TARGET = 32 * 805
"""Pairs of a ranking of 32 LLMs on AlpacaEval."""


def dense_limit(device: torch.device, dtype: torch.dtype) -> float:
    """Operations a second of a product of square matrices."""
    side = _SIDE.get(device.type, _SIDE["cpu"])
    matrix = torch.randn((side, side), device=device, dtype=dtype)
    seconds = min(_seconds(lambda: matrix @ matrix, device) for _ in range(_REPEATS))
    return 2 * side**3 / seconds


def _seconds(work: Callable[[], Any], device: torch.device) -> float:
    def wait() -> None:
        if device.type == "cuda":
            torch.cuda.synchronize()

    work()
    wait()
    started = time.perf_counter()
    work()
    wait()
    return time.perf_counter() - started


@app.command()
def measure(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The trained judge.")],
    pairs: Annotated[int, typer.Option(min=1, help="Questions to judge.")] = 2_000,
    annotations: Annotated[Path, typer.Option(help="Annotated pairs to judge.")] = PREFERENCES,
    corpora: Annotated[Path, typer.Option(help="The corpora with their responses.")] = CORPORA,
    output: Annotated[Path | None, typer.Option(help="Markdown file for the table.")] = None,
) -> None:
    """Measure a trained judge's speed by the size of its batches."""
    info = read_checkpoint_info(str(folder))
    if info.template is None or info.max_length is None:
        raise CRMError(f"{folder} is no judge that “crm train classifier” made: name one.")
    tokenizer = load_tokenizer(str(folder))
    loss = Loss.RANKING if info.labels == 1 else Loss.CLASSIFICATION
    shown = prompt_tokenizer(
        info.template, tokenizer, folder.name, chat=info.chat, opens_answer=info.generation_prompt
    )
    encode = QuestionEncoder(info.template.fit(shown, info.max_length), loss, special_tokens(tokenizer))
    asked = read_examples(annotations, corpora, left_out=LeftOut())[:pairs]
    prompts = [prompt for item in asked for prompt in encode(item).prompts]
    tokens = sum(map(len, prompts))

    model = load_classifier(str(folder), None, dtype="auto", device="auto", labels=info.labels)
    weights = sum(one.numel() for one in model.parameters())
    working = weights - sum(one.numel() for one in embeddings(model).parameters())
    limit = dense_limit(model.device, model.dtype)
    rows = []
    for batch in _BATCH_TOKENS.get(model.device.type, _BATCH_TOKENS["cpu"]):
        engine = TransformersClassifier(folder.name, model, tokenizer, batch)
        engine.margins(prompts[: len(prompts) // 10])
        started = time.perf_counter()
        engine.margins(prompts)
        seconds = time.perf_counter() - started
        rate = len(asked) / seconds
        held = torch.cuda.max_memory_allocated() if model.device.type == "cuda" else 0
        rows.append((
            f"{batch:,}", f"{rate:,.0f}", f"{tokens / seconds:,.0f}",
            f"{2 * working * tokens / seconds / limit:.0%}", f"{_TARGET / rate:,.0f} s",
            size(held) if held else "–",
        ))  # fmt: skip
    report = Report(
        f"Speed of {folder.name}",
        ("tokens a batch", "pairs a second", "tokens a second", "of the limit", "32 × 805 pairs", "memory"),
        tuple(rows),
        f"{len(asked):,} pairs in {len(prompts):,} prompts of {tokens / len(prompts):.0f} tokens on average; "
        f"{weights:,} weights, {working:,} outside the embeddings, in "
        f"{str(model.dtype).removeprefix('torch.')}; dense limit {limit / 1e12:,.2f} TFLOP/s. "
        f"{describe_machine()}.",
    )
    report.finish(output)


if __name__ == "__main__":
    run_cli(app, CRMError)
