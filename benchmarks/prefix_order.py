"""How much of a judge's prompts a server's prefix cache saves, by the order in which they are sent.

    python -m benchmarks.prefix_order [--tokenizer FOLDER] [--output FILE.md]
    python -m benchmarks.prefix_order --tokenizer FOLDER --url http://127.0.0.1:8000 --model NAME

The prompts are those of the backend ``vllm-server`` when DailyBench is ranked, block by block. A vLLM server
keeps what it computed of a prompt in blocks of 16 tokens, and takes from there the blocks at the beginning of
a later prompt that are the same up to their end. Here it keeps the last prompts whole and no others. With
``--url`` a real server is timed too; every order gets a beginning of its own, so that none profits from
another.
"""

from __future__ import annotations

import tempfile
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import numpy as np
import typer

from benchmarks._report import Report, duration
from crm.backends._classifier import (
    CheckpointInfo,
    ClassifierCRM,
    prompted_classifier,
    read_checkpoint_info,
)
from crm.backends.vllm_server import ServedClassifier, VLLMServerSettings, by_beginning, connect
from crm.cli_runner import run_cli
from crm.criteria import CriteriaSet
from crm.embedded.encoder import encoder_parts
from crm.errors import CRMError
from crm.llm.loading import load_tokenizer
from crm.llm.prompt import PromptTemplate
from crm.protocol import Floats, JudgedBenchmark
from crm.report_table import describe_machine
from db import DatabaseError
from leaderboard.errors import LeaderboardError
from leaderboard.service import Service

app = typer.Typer(add_completion=False)

BENCHMARK = "dailybench"
CRITERIA = CriteriaSet.of(["Concise and to the point", "Gives concrete examples", "Friendly tone"])
REMEMBERED = (4, 16, 64, 256)
"""Prompts that the cache holds."""
BLOCK = 16
"""Tokens that vLLM keeps or forgets together."""
_NEW = 2
"""Tokens before a prompt that make it new to a server."""
Prompts = list[list[int]]
Order = Callable[[Sequence[list[int]]], list[int]]


def as_given(prompts: Sequence[list[int]]) -> list[int]:
    """Indices of the prompts as they stand."""
    return list(range(len(prompts)))


def by_length(prompts: Sequence[list[int]]) -> list[int]:
    """Indices of the prompts, the shortest first."""
    return sorted(range(len(prompts)), key=lambda index: len(prompts[index]))


ORDERS: dict[str, Order] = {"as given": as_given, "by length": by_length, "by beginning": by_beginning}


@dataclass(frozen=True)
class Kind:
    """A way of asking.

    Attributes:
        labels: Of the model: 2 where it compares two responses, 1 where it scores one.
        keys: Of the judge's table.
    """

    name: str
    template: str
    labels: int
    keys: dict[str, Any] = field(default_factory=dict)


KINDS = (
    Kind("pairs", "pair", 2),
    Kind("pairs in both orders", "pair", 2, {"order_swap": True}),
    Kind("pairs, each criterion alone", "pair", 2, {"mode": "criterion"}),
    Kind("single responses", "single", 1),
)


@dataclass
class PromptRecorder:
    """Takes the place of a running model and keeps what it is asked, a list of prompts each time."""

    tokenizer: Any
    window: int
    labels: int
    label_names: tuple[str, ...] = ()
    weights: int | None = None
    asked: list[Prompts] = field(default_factory=list)

    def margins(self, prompts: Sequence[list[int]]) -> Floats:
        """Return that both responses are alike ``[N]``."""
        self.asked.append(list(prompts))
        return np.zeros(len(prompts), dtype=np.float32)

    def pooling(self, prompt: list[int]) -> str:
        """Return that nothing is read."""
        del prompt
        return "nowhere"


def written_prompts(
    kind: Kind, benchmark: JudgedBenchmark, info: CheckpointInfo, tokenizer: Any, window: int
) -> list[Prompts]:
    """Return the prompts of a ranking in tokens, a list for each block that the judge is asked about."""
    settings = VLLMServerSettings(url="http://127.0.0.1:8000", model="", **kind.keys)
    if info.template is None:
        info = replace(info, template=PromptTemplate.bundled(kind.template))
    recorder = PromptRecorder(tokenizer, window, kind.labels)
    prompted = prompted_classifier(recorder, info, "", settings, None)
    for _ in ClassifierCRM("prompts", "", settings, lambda: prompted).score(CRITERIA, benchmark):
        pass
    return recorder.asked


def cached_tokens(prompts: Sequence[list[int]], remembered: int) -> int:
    """Tokens that need not be computed where the cache holds the last so many prompts."""
    held: Counter[int] = Counter()
    last: deque[list[int]] = deque()
    found = 0
    for prompt in prompts:
        blocks = list(_blocks(prompt))
        found += BLOCK * next((place for place, block in enumerate(blocks) if not held[block]), len(blocks))
        held.update(blocks)
        last.append(blocks)
        if len(last) > remembered:
            held.subtract(last.popleft())
    return found


def _blocks(prompt: list[int]) -> Iterator[int]:
    """Yield what tells each full block, and all before it, from others; the last token is always computed."""
    before = 0
    for end in range(BLOCK, len(prompt), BLOCK):
        before = hash((before, *prompt[end - BLOCK : end]))
        yield before


def sent(blocks: Sequence[Prompts], order: Order) -> Prompts:
    """Return the prompts of all blocks one after another, each block in an order."""
    return [prompts[index] for prompts in blocks for index in order(prompts)]


def seconds_on(server: ServedClassifier, blocks: Sequence[Prompts], order: Order) -> float:
    """Seconds in which a server classifies the prompts; some tokens before each make them new to it."""
    new = np.random.default_rng().integers(len(server.tokenizer), size=_NEW).tolist()
    marked = [[[*new, *prompt] for prompt in prompts] for prompts in blocks]
    start = perf_counter()
    for prompts in marked:
        server.margins_in_order(prompts, order(prompts))
    return perf_counter() - start


def shares(kind: Kind, blocks: Sequence[Prompts]) -> list[tuple[str, ...]]:
    """Return a row for each size of the cache: the share of the tokens that it saves in every order."""
    total = sum(map(len, chain.from_iterable(blocks)))
    rows = []
    for most in REMEMBERED:
        saved = (cached_tokens(sent(blocks, order), most) / total for order in ORDERS.values())
        rows.append((kind.name, f"{most:,} prompts", *(f"{share:.1%}" for share in saved)))
    return rows


def _prompts_of(
    kinds: Sequence[Kind], info: CheckpointInfo, tokenizer: Any, window: int
) -> list[list[Prompts]]:
    with tempfile.TemporaryDirectory(prefix="usl-benchmark-") as folder:
        service = Service.open(f"sqlite:///{Path(folder) / 'usl.sqlite3'}")
        benchmark = service.benchmark(BENCHMARK)
        written = [written_prompts(kind, benchmark, info, tokenizer, window) for kind in kinds]
        service.close()
    return written


@app.command()
def measure(
    tokenizer: Annotated[
        Path | None, typer.Option(help="Folder of a trained judge, or of a tokenizer; default MiniLM's.")
    ] = None,
    max_length: Annotated[int, typer.Option(min=64, help="Tokens that the judge reads.")] = 2048,
    url: Annotated[str | None, typer.Option(help="A vLLM server to be timed.")] = None,
    model: Annotated[str | None, typer.Option(help="The judge's name on the server.")] = None,
    output: Annotated[Path | None, typer.Option(help="Markdown file for the table.")] = None,
) -> None:
    """Print how much a prefix cache saves in each order, and how long a server takes."""
    if url is not None and (tokenizer is None or model is None):
        raise CRMError("A server's judge is timed: name its --model there, and its folder as --tokenizer.")
    info = CheckpointInfo() if tokenizer is None else read_checkpoint_info(str(tokenizer))
    reader = encoder_parts()[0] if tokenizer is None else load_tokenizer(str(tokenizer))
    kinds = [kind for kind in KINDS if info.labels in {None, kind.labels}]
    server = None
    if url is not None and model is not None:
        settings, labels = VLLMServerSettings(url=url, model=model), kinds[0].labels
        kinds = [kind for kind in kinds if kind.labels == labels]
        server = connect("prefix_order", model, settings, tokenizer=str(tokenizer), labels=labels)
        max_length = min(max_length, server.window - _NEW)
    rows, counts = [], []
    for kind, blocks in zip(kinds, _prompts_of(kinds, info, reader, max_length), strict=True):
        lengths = list(map(len, chain.from_iterable(blocks)))
        counts.append(f"{kind.name}: {len(lengths):,} of {np.mean(lengths):,.0f} tokens on average")
        rows += shares(kind, blocks)
        if server is not None:
            server.margins(blocks[0])
            timed = (duration(seconds_on(server, blocks, order)) for order in ORDERS.values())
            rows.append((kind.name, "the server's own", *timed))
    Report(
        "Tokens that a prefix cache saves",
        ("prompts of a ranking", "the cache holds", *ORDERS),
        tuple(rows),
        f"DailyBench under three criteria, in blocks of some 128 pairs. {'; '.join(counts)}. Tokens of "
        f"{'MiniLM' if tokenizer is None else tokenizer.name}, saved in blocks of {BLOCK}. “As given” is LLM "
        f"by LLM within a block of pairs; the backend `vllm-server` sends prompts by their beginning. "
        f"{describe_machine()}.",
    ).finish(output)


if __name__ == "__main__":
    run_cli(app, CRMError, DatabaseError, LeaderboardError)
