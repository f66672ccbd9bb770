"""How much of a judge's prompts a server's prefix cache saves, by the order in which they are sent.

    python -m benchmarks.prefix_order [--tokenizer FOLDER] [--output FILE.md]
    python -m benchmarks.prefix_order --tokenizer FOLDER --url http://127.0.0.1:8000 --model NAME [--blocks N]

The prompts are those of the backend ``vllm-server`` when DailyBench is ranked, block by block. A vLLM server
keeps what it computed of a prompt in blocks of 16 tokens, and takes from there the blocks at the beginning of
a later prompt that are the same up to their end. Here it keeps the last prompts whole and no others. With
``--url`` a real server is asked too, for what it counts as saved, and timed; every order gets a beginning of
its own, so that none profits from another. How much a server's cache holds, vLLM chooses, or its options
``--num-gpu-blocks-override`` and ``--block-size``; several servers stand below each other.
"""

from __future__ import annotations

import re
import tempfile
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import httpx2
import numpy as np
import typer

from benchmarks._report import Report, duration
from crm.backends._classifier import (
    CheckpointInfo,
    ClassifierCRM,
    prompted_classifier,
    read_checkpoint_info,
)
from crm.backends.vllm_server import ServedClassifier, VLLMServerSettings, connect
from crm.batches import by_beginning
from crm.cli_runner import run_cli
from crm.criteria import CriteriaSet
from crm.embedded.encoder import encoder_parts
from crm.errors import CRMError, UnavailableError
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
_METRICS_SECONDS = 30.0
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


def cached_tokens(prompts: Sequence[list[int]], remembered: int, block: int = BLOCK) -> int:
    """Tokens that need not be computed where the cache holds the last so many prompts, in blocks."""
    held: Counter[int] = Counter()
    last: deque[list[int]] = deque()
    found = 0
    for prompt in prompts:
        blocks = list(_blocks(prompt, block))
        found += block * next((place for place, digest in enumerate(blocks) if not held[digest]), len(blocks))
        held.update(blocks)
        last.append(blocks)
        if len(last) > remembered:
            held.subtract(last.popleft())
    return found


def _blocks(prompt: list[int], size: int) -> Iterator[int]:
    """Yield what tells each full block, and all before it, from others; the last token is always computed."""
    before = 0
    for end in range(size, len(prompt), size):
        before = hash((before, *prompt[end - size : end]))
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


@dataclass(frozen=True)
class CacheCounts:
    """What a vLLM server tells of its prefix cache.

    Attributes:
        holds: Tokens that fit.
        block: Tokens that are kept or forgotten together.
        looked_for: Tokens of all prompts since the server started.
        found: How many of them it had.
    """

    holds: int
    block: int
    looked_for: float
    found: float

    def saved_since(self, before: CacheCounts) -> float:
        """Share of the tokens that the cache saved since an earlier count."""
        return (self.found - before.found) / max(self.looked_for - before.looked_for, 1)


_COUNTER = r"^vllm:prefix_cache_{}_total{{.*}} (\S+)$"
_SIZE = re.compile(
    r'^vllm:cache_config_info{.*\bblock_size="(\d+)".*\bnum_gpu_blocks="(\d+)".*}', re.MULTILINE
)


def cache_counts(url: str) -> CacheCounts:
    """Ask a vLLM server for its counts.

    Raises:
        UnavailableError: It is down, or counts nothing: it keeps no prefixes.
    """
    try:
        text = httpx2.get(f"{url.rstrip('/')}/metrics", timeout=_METRICS_SECONDS).raise_for_status().text
    except httpx2.HTTPError as error:
        raise UnavailableError(f"The server at {url} tells no metrics: start vLLM there.") from error
    counted = [
        sum(map(float, re.findall(_COUNTER.format(name), text, re.MULTILINE))) for name in ("queries", "hits")
    ]
    size = _SIZE.search(text)
    if size is None or 'enable_prefix_caching="True"' not in size[0]:
        raise UnavailableError(
            f"The server at {url} counts no tokens of a prefix cache: start it with --enable-prefix-caching."
        )
    block, blocks = map(int, size.groups())
    return CacheCounts(block * blocks, block, *counted)


def measured(url: str, server: ServedClassifier, kind: Kind, blocks: Sequence[Prompts]) -> tuple[str, ...]:
    """Return the row of a server: the share of the tokens that it saved in every order, and the seconds."""
    server.margins(blocks[0])
    before, cells = cache_counts(url), []
    for order in ORDERS.values():
        seconds = seconds_on(server, blocks, order)
        after = cache_counts(url)
        cells.append(f"{after.saved_since(before):.1%} in {duration(seconds)}")
        before = after
    return (kind.name, f"a real server's {before.holds:,} tokens", *cells)


def shares(kind: Kind, blocks: Sequence[Prompts], block: int) -> list[tuple[str, ...]]:
    """Return a row for each size of the cache: the share of the tokens that it saves in every order."""
    total = sum(map(len, chain.from_iterable(blocks)))
    rows = []
    for most in REMEMBERED:
        saved = (cached_tokens(sent(blocks, order), most, block) / total for order in ORDERS.values())
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


def _connected(url: str, model: str, tokenizer: str, labels: int) -> ServedClassifier:
    settings = VLLMServerSettings(url=url, model=model)
    return connect("prefix_order", model, settings, tokenizer=tokenizer, labels=labels)


@app.command()
def measure(
    *,
    tokenizer: Annotated[
        Path | None, typer.Option(help="Folder of a trained judge, or of a tokenizer; default MiniLM's.")
    ] = None,
    max_length: Annotated[int, typer.Option(min=64, help="Tokens that the judge reads.")] = 2048,
    url: Annotated[list[str] | None, typer.Option(help="A vLLM server to be timed; repeatable.")] = None,
    model: Annotated[str | None, typer.Option(help="The judge's name on the server.")] = None,
    blocks: Annotated[
        int | None, typer.Option(min=1, help="Only the first so many blocks of a ranking.")
    ] = None,
    output: Annotated[Path | None, typer.Option(help="Markdown file for the table.")] = None,
) -> None:
    """Print how much a prefix cache saves in each order, and how long a server takes."""
    urls = url or []
    if urls and (tokenizer is None or model is None):
        raise CRMError("A server's judge is timed: name its --model there, and its folder as --tokenizer.")
    info = CheckpointInfo() if tokenizer is None else read_checkpoint_info(str(tokenizer))
    reader = encoder_parts()[0] if tokenizer is None else load_tokenizer(str(tokenizer))
    kinds = [kind for kind in KINDS if info.labels in {None, kind.labels}]
    if urls:
        kinds = [kind for kind in kinds if kind.labels == kinds[0].labels]
    servers = {one: _connected(one, str(model), str(tokenizer), kinds[0].labels) for one in urls}
    block = max((cache_counts(one).block for one in urls), default=BLOCK)
    max_length = min([max_length, *(server.window - _NEW for server in servers.values())])
    rows, counts = [], []
    for kind, written in zip(kinds, _prompts_of(kinds, info, reader, max_length), strict=True):
        asked = written[:blocks]
        lengths = list(map(len, chain.from_iterable(asked)))
        counts.append(f"{kind.name}: {len(lengths):,} of {np.mean(lengths):,.0f} tokens on average")
        rows += shares(kind, asked, block)
        rows += (measured(one, server, kind, asked) for one, server in servers.items())
    Report(
        "Tokens that a prefix cache saves",
        ("prompts of a ranking", "the cache holds", *ORDERS),
        tuple(rows),
        f"DailyBench under three criteria, in blocks of some 128 pairs. {'; '.join(counts)}. Tokens of "
        f"{'MiniLM' if tokenizer is None else tokenizer.name}, saved in blocks of {block}. “As given” is LLM "
        f"by LLM within a block of pairs; the backend `vllm-server` sends prompts by their beginning. "
        f"{describe_machine()}.",
    ).finish(output)


if __name__ == "__main__":
    run_cli(app, CRMError, DatabaseError, LeaderboardError)
