"""``python -m precompute topics``: look at the topics of a pool, and curate them from the command line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from leaderboard.errors import LeaderboardError, UploadError
from leaderboard.topics.actions import (
    Action,
    DropQueries,
    Merge,
    MoveQueries,
    MoveToCategory,
    Rename,
    RenameCategory,
    Restore,
    apply,
)
from leaderboard.topics.curation import CuratedTopics, Curation, in_words
from leaderboard.topics.tree import Topic, TopicTree, difference
from leaderboard.topics.yaml_file import MAX_BYTES
from parsing.messages import quantity
from precompute.commands.options import open_database

topics_app = typer.Typer(
    no_args_is_help=True,
    help="Look at the topics of a pool, and rename, merge, split, move or drop; all is logged and undoable.",
)

Pool = Annotated[str, typer.Argument(metavar="POOL", help="The pool's slug.", show_default=False)]
Key = Annotated[
    str, typer.Argument(metavar="KEY", help="A topic's key, as “show” lists it.", show_default=False)
]
Keys = Annotated[
    list[str] | None, typer.Argument(metavar="KEY…", help="Topics, by their keys.", show_default=False)
]
Queries = Annotated[
    list[str] | None, typer.Option("--query", metavar="ID", help="A query, by its id; repeatable.")
]
Reason = Annotated[str, typer.Option(metavar="TEXT", help="Why, for whoever reads the log.")]

_EXAMPLES = 10
_MAX_LINE_LENGTH = 100


@topics_app.command()
def show(
    pool: Pool,
    key: Annotated[
        str | None, typer.Argument(metavar="KEY", help="Only this topic, with queries near its centre.")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="All queries of the topic, with their ids.")] = False,
) -> None:
    """List categories, topics and parts with their sizes, or look inside one topic."""
    with _curation() as curation:
        topics = curation.read(pool)
        tree = topics.tree
        if key is None:
            for line in _outline(tree):
                typer.echo(line)
            typer.echo(_totals(topics))
            return
        topic = tree[key]
        typer.echo(_line(tree, topic))
        for text in (topic.summary, ", ".join(topic.keywords)):
            if text:
                typer.echo(f"  {text}")
        queries = (
            tree.queries_of(tree.family(key), dropped=True)
            if every
            else curation.examples(topics, key, _EXAMPLES)
        )
        for query in queries:
            mark = "dropped  " if query in tree.dropped else ""
            typer.echo(f"  {query}  {mark}{_one_line(topics.texts[query])}")


@topics_app.command()
def export(
    pool: Pool,
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE.yaml", help="Default: standard output.")
    ] = None,
    with_texts: Annotated[bool, typer.Option("--with-texts", help="Also the queries’ texts.")] = False,
) -> None:
    """Write the curated topics as YAML, to be reviewed in a pull request."""
    with _curation() as curation:
        topics = curation.read(pool)
        written = curation.export(topics, with_texts=with_texts)
    if file is None:
        typer.echo(written, nl=False)
        return
    try:
        file.write_text(written, encoding="utf-8")
    except OSError as error:
        raise UploadError(str(file), f"it cannot be written: {error.strerror}.") from None
    typer.echo(f"{pool}: {quantity(len(topics.tree.topics), 'topic')} in {file}.")


@topics_app.command("import")
def import_file(
    pool: Pool,
    file: Annotated[Path, typer.Argument(metavar="FILE.yaml", show_default=False)],
    reason: Reason,
    preview: Annotated[
        bool, typer.Option("--preview", help="Say what would change, and change nothing.")
    ] = False,
) -> None:
    """Take over a file that was exported and changed; it becomes one change in the log."""
    content = _content(file)
    with _curation() as curation:
        topics = curation.read(pool)
        action = curation.import_of(topics, content, file.name)
        if action is None:
            typer.echo(f"{pool}: the topics are those of {file.name} already.")
            return
        if preview:
            found = difference(topics.tree, apply(topics.tree, action))
            typer.echo(f"{pool}: {file.name} would change: {found}.")
            for line in found.brief:
                typer.echo(f"  {line}")
            return
        _make(curation, topics, action, reason)


@topics_app.command()
def log(pool: Pool) -> None:
    """List every change with its time (UTC) and reason, the undone ones included."""
    with _curation() as curation:
        edits = curation.read(pool).history
    for edit in edits:
        undone = f" (undone {edit.undone_at:%Y-%m-%d %H:%M})" if edit.undone_at else ""
        typer.echo(f"{edit.created_at:%Y-%m-%d %H:%M}  {edit.what}: {edit.reason}{undone}")
    if not edits:
        typer.echo(f"{pool}: nothing was changed since the topics were found.")


@topics_app.command()
def undo(pool: Pool) -> None:
    """Take back the last change that is not undone."""
    with _curation() as curation:
        topics = curation.read(pool)
        curation.undo(pool, topics.version)
        last = topics.last
    if last is not None:
        typer.echo(f"{pool}: undone: {topics.history[last.position].what}.")


@topics_app.command()
def rename(
    pool: Pool,
    reason: Reason,
    key: Annotated[
        str | None, typer.Argument(metavar="KEY", help="A topic's key, as “show” lists it.")
    ] = None,
    name: Annotated[str | None, typer.Option(metavar="TEXT", help="The topic's new name.")] = None,
    summary: Annotated[str | None, typer.Option(metavar="TEXT", help="Its new summary.")] = None,
    category: Annotated[
        tuple[str, str] | None, typer.Option(metavar="OLD NEW", help="A category, and its new name.")
    ] = None,
) -> None:
    """Give a topic another name or summary (KEY --name …), or rename a category (--category OLD NEW)."""
    if key is not None and category is None:
        _edit(pool, Rename(key, name, summary), reason)
    elif category is not None and key is None and name is None and summary is None:
        _edit(pool, RenameCategory(*category), reason)
    else:
        raise LeaderboardError("Name either a topic with --name or --summary, or --category OLD NEW.")


@topics_app.command()
def merge(
    pool: Pool,
    into: Annotated[str, typer.Argument(metavar="INTO", help="The topic that stays.", show_default=False)],
    keys: Annotated[list[str], typer.Argument(metavar="KEY…", help="Those that go.", show_default=False)],
    reason: Reason,
) -> None:
    """Put the queries of topics, and of their parts, into another topic."""
    _edit(pool, Merge(tuple(keys), into), reason)


@topics_app.command()
def split(
    pool: Pool,
    key: Key,
    reason: Reason,
    parts: Annotated[int, typer.Option(metavar="N", help="How many parts.")] = 2,
) -> None:
    """Split a topic into parts by the meaning of its queries."""
    with _curation() as curation:
        topics = curation.read(pool)
        _make(curation, topics, curation.split(topics, key, parts), reason)


@topics_app.command()
def move(
    pool: Pool,
    reason: Reason,
    keys: Keys = None,
    category: Annotated[
        str | None, typer.Option(metavar="NAME", help="Move the topics to this category, old or new.")
    ] = None,
    query: Queries = None,
    to: Annotated[str | None, typer.Option(metavar="KEY", help="Move the queries to this topic.")] = None,
) -> None:
    """Move topics to a category (KEY… --category NAME), or queries to a topic (--query ID… --to KEY)."""
    if keys and category is not None and not query and to is None:
        _edit(pool, MoveToCategory(tuple(keys), category), reason)
    elif query and to is not None and not keys and category is None:
        _edit(pool, MoveQueries(tuple(query), to), reason)
    else:
        raise LeaderboardError("Name either topics and --category, or --query and --to.")


@topics_app.command()
def drop(pool: Pool, reason: Reason, keys: Keys = None, query: Queries = None) -> None:
    """Leave queries out, or all queries of topics and their parts; they can be restored."""
    with _curation() as curation:
        topics = curation.read(pool)
        _make(curation, topics, DropQueries(_named(topics.tree, keys, query)), reason)


@topics_app.command()
def restore(pool: Pool, reason: Reason, keys: Keys = None, query: Queries = None) -> None:
    """Take dropped queries back, or all that were dropped of topics and their parts."""
    with _curation() as curation:
        topics = curation.read(pool)
        dropped = tuple(each for each in _named(topics.tree, keys, query) if each in topics.tree.dropped)
        if not dropped:
            raise LeaderboardError("None of these queries is dropped.")
        _make(curation, topics, Restore(dropped), reason)


@contextmanager
def _curation() -> Iterator[Curation]:
    with open_database() as database:
        yield Curation(database)


def _edit(pool: str, action: Action, reason: str) -> None:
    with _curation() as curation:
        _make(curation, curation.read(pool), action, reason)


def _make(curation: Curation, topics: CuratedTopics, action: Action, reason: str) -> None:
    curation.edit(topics.pool.slug, action, reason, topics.version)
    typer.echo(f"{topics.pool.slug}: {in_words(topics.tree, action)}.")


def _named(tree: TopicTree, keys: list[str] | None, queries: list[str] | None) -> tuple[str, ...]:
    """Return the queries that are named, and those of the topics that are, each once."""
    family = [each for key in keys or () for each in tree.family(tree[key].key)]
    return tuple(dict.fromkeys([*(queries or ()), *tree.queries_of(family, dropped=True)]))


def _outline(tree: TopicTree) -> Iterator[str]:
    for category in tree.categories:
        roots = [topic for topic in tree.roots if topic.category == category]
        yield f"{category} ({sum(tree.size(topic.key) for topic in roots):,})"
        for topic in roots:
            yield from _family(tree, topic, "  ")


def _family(tree: TopicTree, topic: Topic, indent: str) -> Iterator[str]:
    yield indent + _line(tree, topic)
    for part in tree.parts_of(topic.key):
        yield from _family(tree, part, f"{indent}  ")


def _line(tree: TopicTree, topic: Topic) -> str:
    size = tree.size(topic.key)
    n_dropped = len(tree.queries_of(tree.family(topic.key), dropped=True)) - size
    # Only where nothing else is left: else the numbers of dropped queries would be all over the list.
    dropped = f", {n_dropped:,} dropped" if n_dropped and not size else ""
    return f"{topic.key:<6} {topic.name} ({size:,}{dropped})"


def _totals(topics: CuratedTopics) -> str:
    tree = topics.tree
    parts = [
        f"{topics.pool.slug}: {quantity(len(tree.query_ids), 'query')}, "
        f"{quantity(len(tree.topics), 'topic')} in "
        f"{quantity(len(tree.categories), 'category')}, {tree.n_outliers:,} without a topic, "
        f"{len(tree.dropped):,} dropped"
    ]
    if topics.n_new:
        parts.append(f"{topics.n_new:,} were added since the topics were found")
    return "; ".join(parts) + "."


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MAX_LINE_LENGTH else line[: _MAX_LINE_LENGTH - 1] + "…"


def _content(file: Path) -> bytes:
    try:
        # One byte more than is allowed says that it is too much.
        with file.open("rb") as opened:
            return opened.read(MAX_BYTES + 1)
    except OSError as error:
        raise UploadError(str(file), f"it cannot be read: {error.strerror}.") from None
