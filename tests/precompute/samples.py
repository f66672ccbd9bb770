"""Small files in every format that is imported, and stand-ins for the encoder."""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from crm.embedded.counts import count_names
from crm.embedded.passages import MAX_PASSAGES
from crm.embedded.representation import (
    MISSING,
    NAME,
    RELEVANCE,
    Representation,
    representation,
    text_digest,
)
from crm.embedded.style import style_sheet
from db.records import BenchmarkInfo, LLMRecord
from precompute.importers import ImportedBenchmark, ImportedQuery

WORDING = 2
NAMES = style_sheet().names
DAILYBENCH = {
    "1-1": ("Kitchen", "Soup", "How do I make soup hot?"),
    "1-2": ("Kitchen", "Soup", "My soup is too salty, save my soup."),
    "2-1": ("Kitchen", "Bread", "Which bread keeps fresh?"),
    "3-1": ("Garden", "Roses", "When do I prune roses?"),
}


@dataclass(frozen=True)
class RecordingRepresentation(Representation):
    """Makes features from digests alone, and remembers what it was asked for."""

    encoded: list[str | None] = field(default_factory=list)

    def encode(
        self, texts: Sequence[str | None], queries: Sequence[str], progress: Any = None
    ) -> dict[str, np.ndarray]:
        self.encoded.extend(texts)
        digests = [MISSING if text is None else text_digest(text) for text in texts]
        features = [
            np.random.default_rng(int(digest)).integers(-127, 127, self.size, dtype=np.int8)
            for digest in digests
        ]
        return {
            "features": np.array(features, dtype=np.int8).reshape(len(texts), self.size),
            "style": np.ones((len(texts), len(NAMES)), dtype=np.float16),
            "counts": np.ones((len(texts), len(count_names())), dtype=np.float16),
            "passages": np.ones((len(texts), MAX_PASSAGES, self.passages.size), dtype=np.int8),
            "digest": np.array(digests, dtype=np.uint64),
        }


def fitted() -> dict[str, Any]:
    """The fields of a representation that changes nothing."""
    return {
        "name": NAME,
        "sheet": style_sheet(),
        "state_mean": np.zeros(384, dtype=np.float32),
        "projection": np.zeros((384, WORDING), dtype=np.float32),
        "tones": (),
        "style_mean": np.zeros(len(NAMES), dtype=np.float32),
        "style_spread": np.ones(len(NAMES), dtype=np.float32),
        "relevance_mean": np.zeros(len(RELEVANCE), dtype=np.float32),
        "relevance_spread": np.ones(len(RELEVANCE), dtype=np.float32),
        "token_axes": representation().token_axes,
        "passages": representation().passages,
    }


class WordEmbedding:
    """Embeds a text as the sum of one random vector a word, so that texts with common words are near."""

    def __init__(self) -> None:
        self.embedded: list[str] = []

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        self.embedded.extend(texts)
        vectors = [
            sum(map(_word_vector, re.findall(r"\w+", text.casefold())), start=np.zeros(384)) for text in texts
        ]
        stacked = np.array(vectors, dtype=np.float32).reshape(len(texts), 384)
        return stacked / np.maximum(np.linalg.norm(stacked, axis=1, keepdims=True), 1e-9)


def _word_vector(word: str) -> np.ndarray:
    seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:8], "big")
    return np.random.default_rng(seed).normal(size=384)


def imported(
    responses: Mapping[str, Mapping[int, str]] | None = None,
    queries: Sequence[ImportedQuery] = (ImportedQuery("soup or bread?"), ImportedQuery("which roses?")),
    baseline: str = "base",
    slug: str = "tiny",
) -> ImportedBenchmark:
    given = responses or {"base": {0: "base 0", 1: "base 1"}, "other": {0: "other 0", 1: "other 1"}}
    return ImportedBenchmark(
        info=BenchmarkInfo(slug, "Tiny"),
        queries=tuple(queries),
        llms=tuple(LLMRecord(name, name) for name in given),
        responses=given,
        baseline=baseline,
    )


def dailybench() -> ImportedBenchmark:
    """A small reference of topics."""
    queries = [
        ImportedQuery(text, name, category, topic) for name, (category, topic, text) in DAILYBENCH.items()
    ]
    return imported({"atlas": {0: "hot"}}, queries, "atlas", "dailybench")


def write_json_lines(path: Path, records: Iterable[object]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps(record, ensure_ascii=False) + "\n" for record in records]
    path.write_text("".join(lines), encoding="utf-8", newline="")
    return path


def write_outputs(folder: Path, llm: str, outputs: Mapping[str, str]) -> Path:
    path = folder / llm / "model_outputs.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [
        {"instruction": instruction, "output": output, "generator": llm, "dataset": "koala"}
        for instruction, output in outputs.items()
    ]
    path.write_text(json.dumps(rows), encoding="utf-8")
    return path


def write_dailybench(folder: Path) -> Path:
    write_json_lines(
        folder / "queries.jsonl",
        [
            {"id": name, "category": category, "topic": topic, "query": text}
            for name, (category, topic, text) in DAILYBENCH.items()
        ],
    )
    for assistant in ("atlas", "jester", "newcomer"):
        write_json_lines(
            folder / f"responses_{assistant}.jsonl",
            [{"id": name, "response": f"{assistant} on {name}"} for name in DAILYBENCH],
        )
    return folder
