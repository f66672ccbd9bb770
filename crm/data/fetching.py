"""``python -m crm corpora``: which annotated texts are there; those published file by file are loaded."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from hashlib import sha256
from pathlib import Path
from typing import Annotated

import httpx2
import typer
from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress

from crm.data.corpora import CorporaTexts, CorpusFile, corpora_states, files_of, read_json_lines
from crm.data.pairs import MODERN_ANNOTATIONS, OWN_ANNOTATIONS
from crm.errors import CRMError
from crm.paths import CORPORA, PREFERENCES
from crm.report_table import ReportTable
from parsing.files import joined
from parsing.limits import ParseError

PUBLISHED = "https://raw.githubusercontent.com"
"""Where single files of GitHub's repositories are served."""
SHIPPED = (PREFERENCES, OWN_ANNOTATIONS, MODERN_ANNOTATIONS)
_TIMEOUT = 120.0
_MAX_FILE = 256 * 2**20
"""Bytes of one file at most."""
_MAX_REASONS = 3
_errors = Console(stderr=True)


def corpora_command(
    corpora: Annotated[Path, typer.Option(help="The folder of the texts; default USL_CORPORA.")] = CORPORA,
    list_only: Annotated[bool, typer.Option("--list", help="Only say what is there; load nothing.")] = False,
    published: Annotated[
        str, typer.Option(metavar="URL", help="Where the files are served, such as a mirror of your own.")
    ] = PUBLISHED,
) -> None:
    """Load the texts that the shipped annotations speak of, as far as they are published file by file."""
    lacking = _lacking(corpora)
    failed: dict[CorpusFile, str] = {}
    if lacking and not list_only:
        columns = (*Progress.get_default_columns()[:2], MofNCompleteColumn())
        with Progress(*columns, console=_errors, transient=True, disable=not _errors.is_terminal) as bar:
            task = bar.add_task("files", total=len(lacking))
            failed = fetch_corpora(corpora, lacking, lambda _: bar.advance(task), published)
    states_table(corpora).print()
    if changed := changed_instructions(corpora, SHIPPED):
        raise CRMError(
            f"{changed:,} annotated pairs are about instructions that read otherwise in {corpora}, so their "
            "texts were published anew: take the files of November 2025."
        )
    if failed:
        reasons = [f"{file.path} ({reason})" for file, reason in failed.items()]
        raise CRMError(
            f"{len(failed)} files could not be loaded, such as {', '.join(reasons[:_MAX_REASONS])}: run the "
            "command again, or copy them there by hand."
        )


def _lacking(folder: Path) -> list[CorpusFile]:
    return [file for state in corpora_states(folder, SHIPPED) for file in state.lacking]


def fetch_corpora(
    folder: Path,
    files: Iterable[CorpusFile],
    on_file: Callable[[CorpusFile], None] = lambda _: None,
    published: str = PUBLISHED,
) -> dict[CorpusFile, str]:
    """Load files that are published singly; return those that could not be had, with the reason.

    Each file is there whole or not at all, so a stopped command goes on with what is left.

    Raises:
        CRMError: Nothing can be had from there, or the folder cannot be written.
    """
    failed: dict[CorpusFile, str] = {}
    reached = False
    # A redirect could lead to somebody who was not named.
    with httpx2.Client(timeout=_TIMEOUT, follow_redirects=False) as client:
        for file in files:
            try:
                with client.stream("GET", f"{published.rstrip('/')}/{file.published}") as answer:
                    content = joined(answer.iter_bytes(), _MAX_FILE)
            except ParseError as error:
                failed[file] = str(error)
                continue
            except httpx2.HTTPError as error:
                if not reached:
                    raise CRMError(
                        f"{published} cannot be reached ({type(error).__name__}): run this where "
                        f"it can, and copy the folder to {folder}."
                    ) from error
                failed[file] = f"the connection failed, {type(error).__name__}"
                continue
            reached = True
            if answer.status_code != httpx2.codes.OK:
                failed[file] = f"status {answer.status_code}"
                continue
            _write(folder / file.path, content)
            on_file(file)
    return failed


def _write(path: Path, content: bytes) -> None:
    unfinished = path.with_name(f"{path.name}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished.write_bytes(content)
        unfinished.replace(path)
    except OSError as error:
        raise CRMError(f"{path} cannot be written ({error.strerror}).") from error


def changed_instructions(folder: Path, annotations: Iterable[Path]) -> int:
    """Count the annotated pairs whose instruction in a folder is another than the one that was annotated."""
    texts = CorporaTexts(folder)
    changed = 0
    for path in annotations:
        for _, row in read_json_lines(path):
            files = files_of(row)
            if files and all((folder / file.path).is_file() for file in files):
                instruction, _ = texts.response(row["source"], row["instruction_index"], row["model_a"])
                digest = sha256(instruction.encode("utf-8")).hexdigest()
                changed += not digest.startswith(row["instruction_sha256"])
    return changed


def states_table(folder: Path) -> ReportTable:
    """Return one row a source: how many of its annotated pairs can be read, and how the others are had."""
    rows = []
    for state in corpora_states(folder, SHIPPED):
        how = "–"
        if state.lacking:
            how = f"{len(state.lacking)} files: “python -m crm corpora”"
        elif state.readable < state.pairs:
            how = "its repository: bundled/modern/README.md"
        rows.append((state.source, f"{state.readable:,} of {state.pairs:,}", how))
    return ReportTable(
        "Texts of annotated pairs",
        ("source", "pairs", "missing"),
        tuple(rows),
        f"In {folder}. They are public, but no part of this project, each under the licence of its source.",
    )
