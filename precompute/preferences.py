"""Imports human preference data, from files or the Hugging Face hub, so that it may be stopped at any time.

The files are read twice: whole, to check and count every row before anything is written, and then to store
what the filter keeps. The set is stored with its counts first, so an interrupted import is one that has fewer
preferences than its counts say, and the next import goes on where that one ended.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from db import Database
from db.database import job_locks
from db.errors import NotFoundError
from db.records import StepCount
from db.repositories.preferences import (
    add_preferences,
    delete_preference_set,
    find_preference_set,
    get_preference_set,
    preference_counts,
    put_preference_set,
)
from db.source_records import (
    PreferenceCounts,
    PreferenceSetInfo,
    PreferenceSetRecord,
    Winner,
)
from precompute.errors import PrecomputeError, file_error
from precompute.importers import PreferenceFilter, count_preferences, read_preferences
from precompute.progress import progress_bar

BATCH = 200

_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class PreferenceSummary:
    """What an import of preferences did.

    Attributes:
        stored: The set as it is stored now, with the counts of its filter's steps.
        n_imported: How many preferences were stored by this import.
        counts: How many preferences there are of each winner, language and LLM.
    """

    stored: PreferenceSetRecord
    n_imported: int
    counts: PreferenceCounts


def import_preferences(
    database: Database,
    files: ParquetFiles,
    slug: str,
    chosen: PreferenceFilter,
    *,
    title: str | None = None,
    replace: bool = False,
    batch: int = BATCH,
) -> PreferenceSummary:
    """Import what the filter keeps of the files, or what an interrupted import of them has left to do.

    Two processes cannot import the same set at once: the second is told so.

    Args:
        title: of a new set; default its slug.
        replace: whether a stored set of the same slug that is of other files or another filter is deleted.
        batch: how many preferences are stored at a time.

    Raises:
        PrecomputeError: a file or row is malformed; nothing is written; the filter keeps no row; nothing is
            written; the slug is that of a set of other files or another filter.
        DatabaseError: another process imports the set now.
    """
    digest = _digest(files.paths)
    with job_locks(database.engine, [f"importing the preference data {slug!r}"]):
        stored = _stored(database, slug)
        same = stored is not None and (stored.info.digest, stored.info.filter) == (digest, chosen.settings())
        if not same:
            if stored is not None and not replace:
                raise PrecomputeError(
                    f"The preference data {slug!r} is stored from {stored.info.source} with other contents "
                    "or another filter: choose another slug, or delete what is stored with --replace."
                )
            info = PreferenceSetInfo(
                slug, title or slug, files.source, digest, chosen.settings(), _counted(files, chosen)
            )
            with database.session() as session:
                if stored is not None:
                    delete_preference_set(session, find_preference_set(session, slug))
                put_preference_set(session, info)
        n_imported = _store(database, files, slug, chosen, batch)
    with database.session() as session:
        preference_set = find_preference_set(session, slug)
        return PreferenceSummary(
            get_preference_set(session, preference_set),
            n_imported,
            preference_counts(session, preference_set),
        )


def _stored(database: Database, slug: str) -> PreferenceSetRecord | None:
    with database.session() as session:
        try:
            preference_set = find_preference_set(session, slug)
        except NotFoundError:
            return None
        return get_preference_set(session, preference_set)


def _counted(files: ParquetFiles, chosen: PreferenceFilter) -> tuple[StepCount, ...]:
    with progress_bar("Checking rows") as progress:
        counts = count_preferences(files.paths, chosen, progress)
    if counts[-1].kept == 0:
        raise PrecomputeError(_nothing_kept(files.source, counts))
    return counts


def _store(database: Database, files: ParquetFiles, slug: str, chosen: PreferenceFilter, batch: int) -> int:
    """Store what is not there yet, each batch in a transaction of its own; returns how many."""
    with database.session() as session:
        stored = get_preference_set(session, find_preference_set(session, slug))
    if stored.is_complete:
        return 0
    position = stored.n_stored
    with progress_bar("Storing preferences") as progress:
        preferences = read_preferences(files.paths, chosen, start=position, progress=progress)
        while batched := list(islice(preferences, batch)):
            with database.session() as session:
                add_preferences(session, find_preference_set(session, slug), position, batched)
            position += len(batched)
    return position - stored.n_stored


def _digest(paths: Sequence[Path]) -> str:
    """Return the SHA-256 (hex) of the files' bytes, one after another: that of a single file is its own."""
    digest = hashlib.sha256()
    for path in paths:
        try:
            with path.open("rb") as file:
                while chunk := file.read(_CHUNK):
                    digest.update(chunk)
        except FileNotFoundError:
            raise file_error(path, "there is no such file.") from None
        except OSError as error:
            raise file_error(path, f"it cannot be read ({error.strerror}).") from error
    return digest.hexdigest()


_WINNERS = {Winner.A: "A preferred", Winner.B: "B preferred", Winner.TIE: "tie"}


def steps_table(steps: Sequence[StepCount]) -> str:
    """Return a table of the steps: rows left, rows dropped by the step, and the share of all rows left."""
    width = max(len(count.step) for count in steps)
    lines = [f"{'step':<{width}}  {'kept':>9}  {'dropped':>9}  {'of rows':>8}"]
    for before, count in zip((steps[0], *steps), steps, strict=False):
        share = count.kept / steps[0].kept if steps[0].kept else 0.0
        lines.append(
            f"{count.step:<{width}}  {count.kept:>9,}  {before.kept - count.kept:>9,}  {_percent(share):>8}"
        )
    return "\n".join(lines)


def winners_line(counts: PreferenceCounts) -> str:
    """Return the share of each winner, and how many LLMs met."""
    n_all = sum(counts.winners.values())
    shares = [
        f"{words} {_percent(counts.winners[winner] / n_all if n_all else 0.0)}"
        for winner, words in _WINNERS.items()
    ]
    return f"{', '.join(shares)}; {len(counts.llms)} LLMs"


def _percent(share: float) -> str:
    return f"{100 * share:.2f} %"


SCHEME = "hf://"
SUFFIX = ".parquet"

_REPOSITORY = re.compile(r"[\w][\w.-]*/[\w][\w.-]*")
_HUB_ADDRESS = re.compile(
    rf"(?:datasets/)?(?P<repository>{_REPOSITORY.pattern})(?:@(?P<revision>[^/]+))?(?:/(?P<file>.+))?"
)


@dataclass(frozen=True, slots=True)
class ParquetFiles:
    """Files to be read one after another, and where they are from, in words that find them again."""

    paths: tuple[Path, ...]
    source: str


def parquet_files(name: str, *, endpoint: str | None = None) -> ParquetFiles:
    """Return the files that a name means; those of the hub are fetched into its cache on disk.

    Args:
        name: a path to a file or folder, `hf://datasets/OWNER/NAME[@REVISION][/FILE]`, or OWNER/NAME.
        endpoint: address of the hub; default that of `huggingface_hub`.

    Raises:
        PrecomputeError: there is no such file, or no Parquet file in the folder; the data set cannot be
            fetched.
    """
    path = Path(name)
    if not name.startswith(SCHEME):
        if path.is_dir():
            return ParquetFiles(_parquet_in(path), name)
        if path.is_file() or not _REPOSITORY.fullmatch(name) or name.endswith(SUFFIX):
            # Whether a single file is there, and what is in it, is for the reader to say.
            return ParquetFiles((path,), name)
    address = _HUB_ADDRESS.fullmatch(name.removeprefix(SCHEME))
    if address is None:
        raise PrecomputeError(f"{name!r} is no data set of the hub: write {SCHEME}datasets/OWNER/NAME.")
    return _fetched_from_hub(name, address["repository"], address["revision"], address["file"], endpoint)


def _parquet_in(folder: Path) -> tuple[Path, ...]:
    paths = tuple(sorted(folder.rglob(f"*{SUFFIX}")))
    if not paths:
        raise file_error(folder, f"there is no {SUFFIX} file in it.")
    return paths


def _fetched_from_hub(
    name: str, repository: str, revision: str | None, file: str | None, endpoint: str | None
) -> ParquetFiles:
    from huggingface_hub import HfApi  # noqa: PLC0415

    api = HfApi(endpoint=endpoint)
    info = _from_hub(name, api.dataset_info, repository, revision=revision)
    known = sorted(entry.rfilename for entry in info.siblings or ())
    wanted = [file] if file else [path for path in known if path.endswith(SUFFIX)]
    if not wanted or not set(wanted) <= set(known):
        raise PrecomputeError(f"The data set {name!r} of the hub has no {file or f'{SUFFIX} file'}.")
    paths = tuple(
        Path(_from_hub(name, api.hf_hub_download, repository, path, repo_type="dataset", revision=info.sha))
        for path in wanted
    )
    # The revision was perhaps a branch, which moves on; the commit stays.
    place = f"{SCHEME}datasets/{repository}@{info.sha}"
    return ParquetFiles(paths, f"{place}/{file}" if file else place)


def _from_hub(name: str, ask: Callable[..., Any], *arguments: object, **options: object) -> Any:
    from httpx2 import HTTPError  # noqa: PLC0415
    from huggingface_hub.errors import (  # noqa: PLC0415
        GatedRepoError,
        HFValidationError,
        RepositoryNotFoundError,
    )

    try:
        return ask(*arguments, **options)
    except GatedRepoError:
        reason = "its owner wants you to accept terms there first, and to set HF_TOKEN"
    except RepositoryNotFoundError:
        reason = "the hub does not know it, or wants HF_TOKEN for it"
    except (HTTPError, HFValidationError, OSError) as error:
        first = str(error).strip().split("\n", 1)[0].rstrip(".") or type(error).__name__
        reason = f"{first}; without a network, get its {SUFFIX} files elsewhere and name their folder"
    raise PrecomputeError(f"Cannot fetch {name!r} from the Hugging Face hub: {reason}.")


def _nothing_kept(source: str, steps: Sequence[StepCount]) -> str:
    """Return which step of the filter dropped the last row."""
    last = next(count for count in steps if count.kept == 0)
    if last is steps[0]:
        return f"There are no rows in {source}."
    return (
        f"No row of {source} is left after the step “{last.step}”: see --language, which takes a name as "
        "the file has it, --keep-both-bad and --all-criteria."
    )
