"""A pool of queries on four subjects, the settings that find them, and an endpoint that embeds and names."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from db import Database
from db.repositories.pools import add_to_pool, find_pool, put_pool
from tests.crm.backends.scripted_server import Answer
from tests.precompute.collect.samples import completion
from tests.precompute.samples import WordEmbedding

SLUG = "mine"
EMBEDDINGS = "/v1/embeddings"
CHAT = "/v1/chat/completions"
KEY_VARIABLE = "MY_ENDPOINT_KEY"
SUBJECTS: Mapping[str, tuple[str, ...]] = {
    "cooking": ("soup", "bread", "cake", "salad", "curry"),
    "gardening": ("roses", "tulips", "hedges", "lawns", "herbs"),
    "music": ("guitar", "piano", "violin", "drums", "flute"),
    "travel": ("Paris", "London", "Tokyo", "Cairo", "Lima"),
}
_ASKED = {
    "cooking": "Which cooking recipe with {} tastes good for dinner, number {}?",
    "gardening": "How does a gardening beginner plant {} in garden soil, number {}?",
    "music": "How long does music practice of the {} melody take, number {}?",
    "travel": "Plan a travel holiday with flights and hotels in {}, number {}.",
}
_NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight")
SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "templates": {"set_aside": False},  # these queries are made from templates
    # The list of topics knows finer ones than these subjects: cities, instruments.
    "topics": {"neighbours": 8, "smallest_cluster": 8, "guided": 0.0},
    "parts": {"above": 0},
    "quality": {"seeds": 0},
}
"""Of so few queries, and quick."""


def queries(per_subject: int = 20) -> list[tuple[str, str]]:
    """Queries with their origin, the subjects in turn."""
    found = []
    for number in range(per_subject):
        for subject, things in SUBJECTS.items():
            thing = things[number % len(things)]
            text = _ASKED[subject].format(thing, _NUMBERS[number // len(things) % len(_NUMBERS)])
            found.append((text, f"{subject}:{number}"))
    return found


def subject_of(origin: str) -> str:
    return origin.split(":", maxsplit=1)[0]


def store(database: Database, slug: str = SLUG, per_subject: int = 20) -> None:
    with database.session() as session:
        put_pool(session, slug)
        add_to_pool(session, find_pool(session, slug), queries(per_subject))


def toml(tables: Mapping[str, Mapping[str, Any]]) -> str:
    lines = []
    for name, values in tables.items():
        lines += [f"[{name}]", *(f"{key} = {json.dumps(value)}" for key, value in values.items())]
    return "\n".join(lines) + "\n"


def write_settings(folder: Path, **tables: Mapping[str, Any]) -> Path:
    """The settings above with other tables, or other keys in them."""
    merged = {name: {**SETTINGS.get(name, {}), **tables.get(name, {})} for name in {**SETTINGS, **tables}}
    path = folder / "clustering.toml"
    path.write_text(toml(merged))
    return path


def embed(texts: list[str], dimensions: int = 24) -> np.ndarray:
    """Embeddings ``[N, d]`` in which texts with common words are near each other."""
    return WordEmbedding()(texts)[:, :dimensions]


def embeddings(body: Any) -> Answer:
    """What an endpoint answers that embeds well."""
    rows = embed(body["input"], body.get("dimensions") or 24)
    data = [
        {"object": "embedding", "index": index, "embedding": row} for index, row in enumerate(rows.tolist())
    ]
    # An endpoint may answer in any order: the index counts.
    return Answer({"object": "list", "model": body["model"], "data": data[::-1], "usage": {}})


def named(body: Any) -> str:
    """The subject that the queries of a prompt are about."""
    prompt = body["messages"][-1]["content"]
    return max(SUBJECTS, key=lambda subject: prompt.count(f" {subject} "))


def naming(body: Any) -> Answer:
    """What an endpoint answers that names well."""
    subject = named(body)
    return Answer(
        completion(json.dumps({"name": subject.title(), "summary": f"People ask about {subject}."}))
    )
