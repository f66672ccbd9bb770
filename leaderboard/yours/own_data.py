"""Benchmarks of one's own, imported and deleted from the browser.

An import runs as the command it is on the command line, in a process of its own: what it needs of memory goes
with it, and it may be stopped and run again.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from db import Database
from db.engine import URL_VARIABLE
from db.lock import exclusive
from db.repositories import benchmarks
from leaderboard.contest import StoredContest
from leaderboard.errors import OwnDataError
from leaderboard.yours.admin import TOKEN_VARIABLE
from leaderboard.yours.session_material import Material

TABLE_TYPES = ("csv", "jsonl", "parquet")
_ROOT = Path(__file__).resolve().parents[2]
_PATIENCE = 10.0
_LONGEST_IMPORT = 3600.0
_COMPLAINT = "error: "


def import_table(
    database: Database, content: bytes, file: str, slug: str, *, baseline: str = "", title: str = ""
) -> str:
    """Import a table of responses as a benchmark, ready to rank; see docs/importing.md.

    Args:
        database: Where to.
        content: The file.
        file: Its name, whose ending says what it is.
        slug: The benchmark, new or stored.
        baseline: The LLM the others are compared to; the first of the file if none is named.
        title: A title for it; the slug if none is given.

    Returns:
        what was imported, in one sentence.

    Raises:
        OwnDataError: The file or a name is refused; nothing is stored then.
    """
    ending = Path(file).suffix.removeprefix(".").lower()
    if ending not in TABLE_TYPES:
        raise OwnDataError(f"{file!r} is none of the files that can be imported: {', '.join(TABLE_TYPES)}.")
    with tempfile.TemporaryDirectory(prefix="usl-import-") as folder:
        path = Path(folder) / f"table.{ending}"
        path.write_bytes(content)
        # Written as one word each, so that no value can be taken for an option.
        command = [sys.executable, "-m", "precompute", "import", "table", str(path), f"--benchmark={slug}"]
        command += [f"--baseline={baseline}"] if baseline else []
        command += [f"--title={title}"] if title else []
        try:
            done = subprocess.run(
                command,
                cwd=_ROOT,
                env=_environment(database),
                capture_output=True,
                text=True,
                encoding="utf-8",
                timeout=_LONGEST_IMPORT,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise OwnDataError(
                "The import took more than an hour and was stopped; import the file from the command line."
            ) from None
        if done.returncode:
            raise OwnDataError(_complaint(done.stderr).replace(str(path), file))
        return done.stdout.strip().splitlines()[-1]


def import_material(
    database: Database, material: Material, contest: StoredContest, slug: str = "", *, title: str = ""
) -> str:
    """Import a session's upload, so that everybody has it.

    Args:
        database: Where to.
        material: The upload.
        contest: The contest that it is part of, for what the upload does not say of its queries.
        slug: Of the new benchmark, where the upload makes one.
        title: Of the new benchmark.

    Returns:
        what was imported, in one sentence.

    Raises:
        OwnDataError: A name is refused, or the text of a query is neither stored nor in the upload.
    """
    places = {query.external_id: place for place, query in enumerate(contest.record.queries)}
    rows = []
    for llm, given in material.responses.items():
        for query, response in given.items():
            record, text = contest.record.queries[places[query]], contest.query_texts[places[query]]
            if text is None:
                raise OwnDataError(
                    f"The text of the query {query!r} is not stored here: upload it with a column query."
                )
            place = {"category": record.category, "topic": record.topic}
            rows.append({"id": query, "query": text, **place, "llm": llm, "response": response})
    content = "".join(json.dumps(row) + "\n" for row in rows).encode()
    made = material.made
    return import_table(
        database,
        content,
        "the upload.jsonl",
        material.benchmark if made is None else slug,
        baseline="" if made is None else made.baseline or "",
        title="" if made is None else title,
    )


def own_benchmarks(database: Database) -> dict[str, str]:
    """Titles of the benchmarks that no bundled file made, by slug: those that can be deleted."""
    with database.session() as session:
        return {
            summary.slug: summary.title
            for summary in benchmarks.list_benchmarks(session)
            if benchmarks.get_benchmark(session, summary.slug).bundle_digest is None
        }


def delete_benchmark(database: Database, slug: str) -> None:
    """Delete a benchmark of one's own with its responses, representations and scores.

    Raises:
        OwnDataError: It is bundled, and would be there again at the next start.
        BenchmarkNotFoundError: There is no such benchmark.
        DatabaseBusyError: Others are writing for too long.
    """
    with exclusive(database.engine, _PATIENCE), database.session() as session:
        if benchmarks.get_benchmark(session, slug).bundle_digest is not None:
            raise OwnDataError(f"{slug!r} is bundled: it would be there again at the next start.")
        benchmarks.delete_benchmark(session, slug)


def _environment(database: Database) -> dict[str, str]:
    """That of this process with this database, and without the secret of who may change it."""
    address = database.engine.url.render_as_string(hide_password=False)
    kept = {name: value for name, value in os.environ.items() if name != TOKEN_VARIABLE}
    return kept | {URL_VARIABLE: address, "PYTHONIOENCODING": "utf-8"}


def _complaint(said: str) -> str:
    """The one line with which a command refuses its input."""
    lines = [line for line in said.splitlines() if line.startswith(_COMPLAINT)]
    if not lines:
        return "The import ended unexpectedly; import the file from the command line to see why."
    return lines[-1].removeprefix(_COMPLAINT)
