"""How many tokens a second training reads where prompts are padded, grouped by length, or packed into rows.

    python -m benchmarks.packing [--backbone NAME] [--steps N] [--output FILE.md]

The prompts are those of the ranking loss on the shipped annotations. How much is padded is counted over an
epoch; speed is that of steps up to their gradients, with layers computed twice, in seconds of the processor,
which others who use the machine do not lengthen, or of the clock where there is a GPU. The ways take turns,
so that what changes on the machine meanwhile changes all.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import numpy as np
import torch
import typer

from benchmarks._report import Report
from crm.cli_runner import run_cli
from crm.data.corpora import LeftOut
from crm.errors import CRMError
from crm.llm.prompt import PromptTemplate
from crm.paths import CORPORA, PREFERENCES
from crm.report_table import describe_machine
from crm.training.classifier.backbone import Backbone, layer_stack, load_backbone
from crm.training.classifier.examples import by_pair, prepare, read_examples
from crm.training.classifier.options import Loss, Options, Precision
from crm.training.classifier.packing import packed_rows
from crm.training.classifier.questions import (
    Collator,
    DrawnQuestions,
    EncodedQuestion,
    QuestionDrawer,
    QuestionEncoder,
)
from crm.training.classifier.run import noiser_for
from crm.training.classifier.trainer import SimilarLengths, margins, preference_loss, supports

app = typer.Typer(add_completion=False)

Step = list[list[EncodedQuestion]]


@dataclass(frozen=True)
class Way:
    """A way of putting prompts together; ``pack`` is how many tokens go into a row."""

    name: str
    grouped: bool = False
    pack: int | None = None

    def computed(self, step: Step) -> int:
        """Tokens that a step computes, padding included."""
        lengths = _lengths(step)
        if self.pack is None:
            return len(lengths) * max(lengths)
        rows = packed_rows(lengths, self.pack)
        return len(rows) * max(sum(lengths[index] for index in row) for row in rows)


def _lengths(step: Step) -> list[int]:
    return [len(prompt) for item in step for question in item for prompt in question.prompts]


def steps_of(way: Way, items: Sequence[list[EncodedQuestion]], pairs: int, seed: int) -> list[Step]:
    """Return an epoch's full steps, in the order in which a run would take them."""
    lengths = [sum(_lengths([item])) for item in items]
    order = (
        list(SimilarLengths(lengths, pairs, seed))
        if way.grouped
        else np.random.default_rng(seed).permutation(len(items)).tolist()
    )
    return [[items[index] for index in order[start : start + pairs]] for start in _starts(len(order), pairs)]


def _starts(n_items: int, pairs: int) -> range:
    return range(0, n_items - pairs + 1, pairs)


class Training:
    """A backbone of which gradients are computed, a step at a time."""

    def __init__(self, loaded: Backbone, options: Options) -> None:
        """Make ready to train."""
        self._model = loaded.model.train()
        self._device = "cuda" if torch.cuda.is_available() else "cpu"
        self._model.to(self._device)
        self._collate = Collator(loaded.tokenizer.pad_token_id)
        self._options = options

    def seconds(self, step: Step) -> float:
        """Compute the gradients of a step; return how long it took."""
        batch = {name: one.to(self._device) for name, one in self._collate(step).items()}
        read = {name: batch[name] for name in ("input_ids", "attention_mask")}
        started = self._now()
        quick = self._options.precision is Precision.BF16
        with torch.autocast(self._device, torch.bfloat16, enabled=quick):
            logits = self._model(**read).logits.float()
        torch.autograd.backward(preference_loss(margins(logits, self._options.loss), batch["labels"]))
        spent = self._now() - started
        self._model.zero_grad()
        return spent

    def _now(self) -> float:
        if self._device == "cpu":
            return time.process_time()
        torch.cuda.synchronize()
        return time.perf_counter()


def _encoded(options: Options, loaded: Backbone, corpora: Path) -> list[list[EncodedQuestion]]:
    data = prepare(read_examples(PREFERENCES, corpora, left_out=LeftOut()), [], options)
    template = PromptTemplate.bundled(options.loss.template).fit(loaded.tokenizer, options.max_length)
    drawer = QuestionDrawer(noiser_for(data.train, options), options.noise, options.single_share)
    encoder = QuestionEncoder(template, options.loss)
    drawn = DrawnQuestions(by_pair(data.train), drawer, encoder, options.seed)
    return [drawn[index] for index in range(len(drawn))]


def _rows(
    ways: Sequence[Way],
    items: Sequence[list[EncodedQuestion]],
    backbone: str,
    options: Options,
    *,
    layers: int | None,
    n_timed: int,
) -> Iterator[tuple[str, ...]]:
    planned = {way: steps_of(way, items, options.batch, options.seed) for way in ways}
    spent, read = dict.fromkeys(ways, 0.0), dict.fromkeys(ways, 0)
    loaded = {
        pack: load_backbone(backbone, replace(options, pack=pack))
        for pack in dict.fromkeys(way.pack for way in ways)
    }
    for each in loaded.values():
        stack = layer_stack(each.model)
        del stack[layers or len(stack) :]
    weights = loaded[None].model.state_dict(keep_vars=True)
    for each in loaded.values():
        each.model.load_state_dict(weights, assign=True)  # one copy in memory
    training = {pack: Training(each, options) for pack, each in loaded.items()}
    for one in training.values():
        one.seconds([min(items, key=lambda item: sum(_lengths([item])))])  # what is done only once
    for number in range(n_timed):
        for way in ways:
            # Spread over the epoch: of a few steps in a row all could be of short prompts.
            step = planned[way][number * len(planned[way]) // n_timed]
            seconds, tokens = training[way.pack].seconds(step), sum(_lengths(step))
            typer.echo(
                f"step {number + 1} of {n_timed}, {way.name}: {tokens:,} tokens in {seconds:.1f} s", err=True
            )
            spent[way] += seconds
            read[way] += tokens
    first = ways[0]
    for way in ways:
        real = sum(sum(_lengths(step)) for step in planned[way])
        computed = sum(map(way.computed, planned[way]))
        speed = read[way] / spent[way]
        gain = speed / (read[first] / spent[first])
        yield way.name, f"{1 - real / computed:.0%}", f"{speed:,.0f}", f"{gain:.2f}"


@app.command()
def measure(  # noqa: PLR0917
    backbone: Annotated[str, typer.Option(help="As of “crm train classifier”.")] = "smollm2",
    corpora: Annotated[Path, typer.Option(help="The annotated responses.")] = CORPORA,
    max_length: Annotated[int, typer.Option(min=32, help="Tokens in one prompt.")] = 1024,
    batch: Annotated[int, typer.Option(min=1, help="Pairs in one step.")] = 2,
    pack: Annotated[list[int] | None, typer.Option(help="Tokens in a row; repeatable.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="Use so many pairs.")] = 600,
    layers: Annotated[
        int | None, typer.Option(min=1, help="Only the lowest layers; all cost the same.")
    ] = None,
    steps: Annotated[int, typer.Option(min=1, help="Timed steps of each way.")] = 4,
    output: Annotated[Path | None, typer.Option(help="Markdown file for the table.")] = None,
) -> None:
    """Print the table."""
    precision = Precision.BF16 if supports("bf16") else Precision.FP32
    options = Options(
        loss=Loss.RANKING, max_length=max_length, batch=batch, limit=limit, precision=precision,
        gradient_checkpointing=True,
    )  # fmt: skip
    ways = [Way("padded"), Way("padded, grouped by length", grouped=True)]
    ways += [Way(f"packed into rows of {tokens:,}", pack=tokens) for tokens in pack or (1024, 2048)]
    items = _encoded(options, load_backbone(backbone, options), corpora)
    lengths = np.array(_lengths(items))
    model = f"{backbone}, its lowest {layers} layers" if layers else backbone
    Report(
        title="Training: padded, grouped, packed",
        columns=("prompts", "padding, of what is computed", "tokens of prompts a second", "times as fast"),
        rows=tuple(_rows(ways, items, backbone, options, layers=layers, n_timed=steps)),
        note=f"{model}, {batch} pairs a step, which is {4 * batch} prompts, of {lengths.mean():.0f} tokens "
        f"on average, nine in ten of {np.percentile(lengths, 5):.0f} to {np.percentile(lengths, 95):.0f}, "
        f"the longest of {lengths.max():,}; {precision.value}, {steps} steps each. {describe_machine()}.",
    ).finish(output)


if __name__ == "__main__":
    run_cli(app, CRMError)
