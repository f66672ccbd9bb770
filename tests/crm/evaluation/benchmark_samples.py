"""Small benchmarks of judges in the published schemas, written for the tests."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

Row = Mapping[str, Any]

SHORT = "Sleep eight hours. Walk every day."
LONG = (
    "Sleep about eight hours and go to bed at the same time every day, because a steady rhythm does "
    "more than a single long night. Walk for half an hour, outdoors if you can, and twice a week do "
    "something that makes you lift or carry. Eat vegetables with every meal, cook for friends, and "
    "keep sweets for the weekend. Call one person a day who is glad to hear from you. Above all "
    "choose work that you can stand behind, since you will spend most of your waking hours on it, "
    "and learn one new thing each year."
)


def reward_bench_2(name: str, subset: str, chosen: Sequence[str], rejected: Sequence[str]) -> Row:
    """A row with every field that RewardBench 2 publishes."""
    return {
        "id": name,
        "prompt": f"Prompt {name}?",
        "chosen": list(chosen),
        "rejected": list(rejected),
        "num_correct": len(chosen),
        "num_incorrect": len(rejected),
        "total_completions": len(chosen) + len(rejected),
        "models": ["some-model"],
        "subset": subset,
        "additional_metadata": {"category": "chat", "index": 1.0},
    }


def personalized(name: str, aspects: Sequence[str], chosen: str, rejected: str, **changed: Any) -> Row:
    """A row with every field that Personalized RewardBench publishes."""
    return {
        "id": name,
        "question": f"How do I live well, {name}?",
        "profile": [{"category": "health", "id": "p1", "text": "An earlier question."}],
        "rubric_aspects": [
            {"aspect": aspect, "evidence": "said so", "reason": "it matters"} for aspect in aspects
        ],
        "narrative": "A long story.",
        "category": "Art and Entertainment",
        "chosen": chosen,
        "rejected": rejected,
        **changed,
    }


def rubric_bench(name: str, domain: str, better: str, worse: str, *, label: int = 0) -> Row:
    """A row with every field that RubricBench publishes."""
    responses = (better, worse) if label == 0 else (worse, better)
    return {
        "case_id": name,
        "instruction": f"Answer {name}.",
        "response_a": responses[0],
        "response_b": responses[1],
        "label": label,
        "rubrics": "1. The answer is concise, in a few words.\n\n2. The answer has at most two sentences.\n",
        "source": "somewhere",
        "domain": domain,
    }


PERSONALIZED = {
    "Art_and_Entertainment": [personalized(f"a{n}", ["concise and short"], SHORT, LONG) for n in range(3)],
    "Society_and_Culture": [personalized(f"s{n}", ["detailed and long"], LONG, SHORT) for n in range(2)],
}


def write_json_lines(path: Path, rows: Sequence[Row]) -> Path:
    """Write rows as JSON Lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def write_parquet(path: Path, rows: Sequence[Row]) -> Path:
    """Write rows as Parquet."""
    path.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(pa.Table.from_pylist([dict(row) for row in rows]), path)
    return path


def personalized_folder(folder: Path) -> Path:
    """Personalized RewardBench as it is cloned: one folder a domain."""
    for domain, rows in PERSONALIZED.items():
        write_parquet(folder / domain / "test-00000-of-00001.parquet", rows)
    return folder


def lengths(responses: Sequence[str]) -> list[dict[str, Any]]:
    """Candidates of every prompt of ``PERSONALIZED``."""
    return [
        {"id": row["id"], "candidates": list(responses)} for rows in PERSONALIZED.values() for row in rows
    ]
