"""The curated tree as YAML, to be read and changed in a pull request, and back.

One line a query, in sorted order, so that a moved query is one line less here and one more there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from leaderboard.errors import LeaderboardError, UploadError
from leaderboard.topics.actions import Import, Placed, apply
from leaderboard.topics.tree import OUTLIER, Topic, TopicTree
from parsing.limits import ParseError
from parsing.yaml_text import read_yaml

FORMAT = "usl-topics/1"
MAX_BYTES = 16_000_000
_DEEPEST = 24
"""Levels of nesting; a part of a part of a topic is 13 deep."""
_LINE_WIDTH = 110

# The C version writes ten thousand queries in a fraction of a second; not every build of PyYAML has it.
_SafeDumper: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


class _Words(list[str]):
    """A list that is written in one line."""


class _Dumper(_SafeDumper):  # type: ignore[misc]
    """Writes words in one line, and each query in its own."""


_Dumper.add_representer(
    _Words, lambda dumper, words: dumper.represent_sequence("tag:yaml.org,2002:seq", words, flow_style=True)
)


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _Query(_Strict):
    """A query with its text, which is for readers alone."""

    id: str
    text: str = ""


_Queries = Annotated[list[str | _Query], Field(default_factory=list)]


class _Topic(_Strict):
    key: Annotated[str, Field(pattern=r"^\w[\w.]{0,39}$")]
    name: str
    summary: str = ""
    keywords: Annotated[list[str], Field(default_factory=list, max_length=50)]
    queries: _Queries
    dropped: _Queries
    parts: Annotated[list[_Topic], Field(default_factory=list)]


class _Category(_Strict):
    name: str
    topics: list[_Topic]


class _Outliers(_Strict):
    queries: _Queries
    dropped: _Queries


class _File(_Strict):
    format: Literal["usl-topics/1"]
    pool: str = ""
    map: str
    categories: list[_Category]
    outliers: Annotated[_Outliers, Field(default_factory=lambda: _Outliers(queries=[], dropped=[]))]


def write_topics(tree: TopicTree, *, pool: str, digest: str, texts: Mapping[str, str] | None = None) -> str:
    """Return the tree as YAML.

    Args:
        digest: Digest of the topics as they were found, by which an import knows them.
        texts: Texts of the queries by id; with them every query takes two lines more.
    """
    members: dict[str, tuple[list[str], list[str]]] = {}
    for query, key in zip(tree.query_ids, tree.topic_of, strict=True):
        members.setdefault(key, ([], []))[query in tree.dropped].append(query)

    def queries(key: str) -> dict[str, Any]:
        listed = zip(("queries", "dropped"), members.get(key, ([], [])), strict=True)
        return {name: [_query(each, texts) for each in sorted(ids)] for name, ids in listed if ids}

    def topic(item: Topic) -> dict[str, Any]:
        written: dict[str, Any] = {"key": item.key, "name": item.name}
        written |= {"summary": item.summary} if item.summary else {}
        written |= {"keywords": _Words(item.keywords)} if item.keywords else {}
        written |= queries(item.key)
        parts = [topic(part) for part in tree.parts_of(item.key)]
        return written | ({"parts": parts} if parts else {})

    document = {
        "format": FORMAT,
        "pool": pool,
        "map": digest,
        "categories": [
            {"name": name, "topics": [topic(item) for item in tree.roots if item.category == name]}
            for name in sorted({item.category for item in tree.roots})
        ],
        "outliers": queries(OUTLIER),
    }
    written: str = yaml.dump(document, Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=_LINE_WIDTH)
    return written


def read_topics(content: bytes, file: str, tree: TopicTree, digest: str) -> Import | None:
    """Return what would make the tree that of the file; None if it is so already.

    Args:
        digest: Digest of the topics as they were found.

    Raises:
        UploadError: The file is none of these topics, or would lose or double a query.
    """
    document = _parsed(content, file)
    if document.map != digest:
        raise UploadError(
            file,
            "it was exported from other topics than these, as they were looked for again since, "
            "or in another pool: export again and repeat the changes there.",
        )
    topics, places, dropped = _contents(document, file)
    topics = tuple(_as_named(topic, tree.get(topic.key)) for topic in topics)
    known = set(tree.query_ids)
    if unknown := places.keys() - known:
        raise UploadError(file, f"{_named(sorted(unknown))} of no query of this pool.")
    if missing := known - places.keys():
        raise UploadError(
            file, f"{_named(sorted(missing))} missing: list a query under “dropped” instead of deleting it."
        )
    action = Import(
        file,
        topics,
        _moved(tree, places),
        tuple(query for query in tree.query_ids if query in dropped - tree.dropped),
        tuple(query for query in tree.query_ids if query in tree.dropped - dropped),
    )
    unchanged = not (action.placed or action.dropped or action.restored)
    if unchanged and sorted(topics, key=str) == sorted(tree.topics, key=str):
        return None
    try:
        apply(tree, action)
    except LeaderboardError as error:
        raise UploadError(file, str(error)) from None
    return action


def _as_named(topic: Topic, known: Topic | None) -> Topic:
    """Return the topic of a file with what the file does not tell: who named it, where that is as it was."""
    if known is None:
        return topic
    if (known.name, known.summary) == (topic.name, topic.summary):
        topic = replace(topic, named_by=known.named_by)
    if known.category == topic.category:
        topic = replace(topic, category_named_by=known.category_named_by)
    return topic


def _query(query: str, texts: Mapping[str, str] | None) -> str | dict[str, str]:
    return query if texts is None else {"id": query, "text": texts.get(query, "")}


def _moved(tree: TopicTree, places: Mapping[str, str]) -> tuple[Placed, ...]:
    moved: dict[str, list[str]] = {}
    for query, key in zip(tree.query_ids, tree.topic_of, strict=True):
        if places[query] != key:
            moved.setdefault(places[query], []).append(query)
    return tuple(Placed(key, tuple(queries)) for key, queries in sorted(moved.items()))


def _parsed(content: bytes, file: str) -> _File:
    if len(content) > MAX_BYTES:
        raise UploadError(
            file, f"it has {len(content) / 1e6:.0f} MB; files of topics have at most {MAX_BYTES / 1e6:.0f}."
        )
    try:
        loaded = read_yaml(content, depth=_DEEPEST)
    except ParseError as error:
        raise UploadError(file, f"{error}.") from None
    if not isinstance(loaded, dict):
        raise UploadError(file, f"it is no file of topics: it must begin with “format: {FORMAT}”.")
    try:
        return _File.model_validate(loaded)
    except ValidationError as error:
        raise UploadError(file, _first_problem(error)) from None


def _contents(document: _File, file: str) -> tuple[tuple[Topic, ...], dict[str, str], frozenset[str]]:
    topics: dict[str, Topic] = {}
    places: dict[str, str] = {}
    dropped: list[str] = []
    for holder, category, parent in _holders(document):
        key = OUTLIER
        if isinstance(holder, _Topic):
            key = holder.key
            if key in topics:
                raise UploadError(file, f"the key {key!r} is that of two topics.")
            topics[key] = Topic(key, holder.name, category, holder.summary, tuple(holder.keywords), parent)
        for listed in (holder.queries, holder.dropped):
            for query in _ids(listed):
                if query in places:
                    raise UploadError(file, f"the query {query!r} is listed twice.")
                places[query] = key
        dropped += _ids(holder.dropped)
    return tuple(topics.values()), places, frozenset(dropped)


def _holders(document: _File) -> Iterator[tuple[_Topic | _Outliers, str, str | None]]:
    """Everything that lists queries, with its category and the key of what it is a part of."""

    def topic(item: _Topic, category: str, parent: str | None) -> Iterator[tuple[_Topic, str, str | None]]:
        yield item, category, parent
        for part in item.parts:
            yield from topic(part, category, item.key)

    for category in document.categories:
        for item in category.topics:
            yield from topic(item, category.name, None)
    yield document.outliers, "", None


def _ids(listed: Sequence[str | _Query]) -> list[str]:
    return [query if isinstance(query, str) else query.id for query in listed]


def _named(queries: Sequence[str]) -> str:
    """“the id 'ab' is”, or how many are beside it."""
    if len(queries) == 1:
        return f"the id {queries[0]!r} is"
    return f"{len(queries):,} ids, {queries[0]!r} among them, are"


def _first_problem(error: ValidationError) -> str:
    """Return where the first thing is wrong, in the words of the file, and what."""
    first = error.errors(include_url=False, include_context=False)[0]
    # Of a query that is neither an id nor an id with a text, the alternatives are no part of the place.
    steps = [step for step in first["loc"] if step not in ("str", "_Query")]
    place = "".join(f"[{step + 1}]" if isinstance(step, int) else f".{step}" for step in steps).lstrip(".")
    hint = ""
    if first["type"] == "string_type" and isinstance(first["input"], int | float):
        hint = f"; put {first['input']!r} in quotes"
    return f"at {place or 'the top'}: {first['msg']}{hint}."
