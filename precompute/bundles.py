"""Benchmarks to bundle files and back: what a bundle says about itself, and whether texts may go along."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from crm.criteria import CriteriaSet
from crm.embedded.representation import Representation
from crm.errors import CriterionError
from db import Database
from db.bundle import Bundle, BundledWinRates, read_bundle, write_bundle, write_win_rates
from db.database import exclusive
from db.errors import BundleError
from db.records import BenchmarkInfo
from db.repositories.benchmarks import find_benchmark, get_benchmark
from db.repositories.bundles import export_bundle, import_bundle
from db.repositories.scores import get_win_rates, list_scores, list_win_rates
from parsing.documents import read_json
from parsing.files import read_bytes
from parsing.messages import quantity
from precompute.embed import EmbedSummary, embed_benchmark
from precompute.errors import PrecomputeError, file_error
from precompute.load import check_slug


@dataclass(frozen=True, slots=True)
class BundleSummary:
    """What a bundle file holds.

    Attributes:
        size: Bytes of the file.
        note: What a person should know about the texts; None if there is nothing.
    """

    bundle: Bundle
    size: int
    note: str | None

    def __str__(self) -> str:
        return f"{contents_in_words(self.bundle)} ({self.size / 1e6:.1f} MB)"


def save_bundle(
    database: Database,
    slug: str,
    target: Path,
    *,
    with_texts: bool | None = None,
    crms: Collection[str] | None = None,
    about: Path | None = None,
) -> BundleSummary:
    """Write a benchmark to a bundle file, whole or not at all.

    Args:
        with_texts: with its texts or without; None as the licence says.
        crms: only scores by these judges; None for all that are stored.
        about: a file with title, licence and the like; see `precompute.bundles`.

    Raises:
        NotFoundError: no benchmark has this slug.
        PrecomputeError: nothing is stored of one of the judges; the file about it is malformed; the file
            cannot be written.
    """
    if target.is_dir():
        raise PrecomputeError(f"Cannot write {target}, a folder: name a file, such as {slug}.usl.zip.")
    with database.session() as session:
        benchmark = find_benchmark(session, slug)
        bundle = export_bundle(session, benchmark, with_texts is not False, crms)
        scored = list(dict.fromkeys(stored.key.crm for stored in list_scores(session, benchmark)))
    for crm in crms or ():
        if crm not in scored:
            stored = (
                f"stored are those by {', '.join(map(repr, scored))}" if scored else "none are stored yet"
            )
            raise PrecomputeError(f"There are no scores of {slug!r} by {crm!r}; {stored}.")
    if about is not None:
        bundle = described(bundle, about)
    bundle, note = _as_licensed(bundle, with_texts)
    try:
        write_bundle(target, bundle)
    except OSError as error:
        raise PrecomputeError(f"Cannot write {target}: {error.strerror}.") from error
    return BundleSummary(bundle, target.stat().st_size, note)


def save_win_rates(
    database: Database, slug: str, target: Path, *, crms: Collection[str] | None = None
) -> list[BundledWinRates]:
    """Write the stored win rates of a bundled benchmark to the file that lies beside its bundle.

    Args:
        crms: only those by these judges; None for all that are stored.

    Returns:
        what was written, by judge and criteria set.

    Raises:
        NotFoundError: no benchmark has this slug.
        PrecomputeError: it was not filled from a bundle; no such win rates are stored; the file cannot be
            written.
    """
    with database.session() as session:
        benchmark = find_benchmark(session, slug)
        digest = get_benchmark(session, benchmark).bundle_digest
        found = [
            BundledWinRates(stored.key, stored.criteria, get_win_rates(session, benchmark, stored.key))
            for stored in list_win_rates(session, benchmark)
            if crms is None or stored.key.crm in crms
        ]
    if digest is None:
        raise PrecomputeError(f"{slug!r} is your own: only bundled benchmarks have a file of win rates.")
    if not found:
        command = f"python -m precompute score --benchmark {slug} --crm {next(iter(crms or ['embedded']))}"
        raise PrecomputeError(f"No such win rates of {slug!r} are stored: run “{command}”.")
    try:
        write_win_rates(target, found, digest)
    except OSError as error:
        raise PrecomputeError(f"Cannot write {target}: {error.strerror}.") from error
    return found


@dataclass(frozen=True, slots=True)
class BundleImportSummary:
    """What the import of a bundle did.

    Attributes:
        bundle: The contents of the file, under the slug they are stored under.
        created: Whether the benchmark is new; if not, only scores were added.
        embedded: The representations of the whole benchmark.
    """

    bundle: Bundle
    created: bool
    embedded: EmbedSummary


def load_bundle(
    database: Database, path: Path, slug: str | None = None, fitted: Representation | None = None
) -> BundleImportSummary:
    """Store a bundle file's benchmark as the user's own, everything or nothing; safe to repeat.

    Where the same benchmark is stored already, only the file's scores are added to it.

    Args:
        slug: under which it is stored; default the file's own.
        fitted: the representation of responses; default the bundled one.

    Raises:
        BundleError: the file is missing or malformed.
        PrecomputeError: the slug is none.
        DatabaseError: another benchmark with this slug is stored.
    """
    bundle = read_bundle(path)
    _check_criteria(path, bundle)
    bundle = _under(bundle, check_slug(slug or bundle.info.slug))
    with exclusive(database.engine), database.session() as session:
        created = import_bundle(session, bundle)
    return BundleImportSummary(bundle, created, embed_benchmark(database, bundle.info.slug, fitted))


def _under(bundle: Bundle, slug: str) -> Bundle:
    """Return the bundle under another slug, where a frozen benchmark begins a family of its own."""
    if slug == bundle.info.slug:
        return bundle
    sample = None if bundle.sample is None else replace(bundle.sample, family=slug)
    return replace(bundle, info=replace(bundle.info, slug=slug), sample=sample)


def contents_in_words(bundle: Bundle) -> str:
    """“522 queries and 8 LLMs with texts, 41 criteria lists scored by embedded”."""
    texts = "with texts" if _has_texts(bundle) else "without texts"
    parts = [f"{quantity(len(bundle.queries), 'query')} and {quantity(len(bundle.llms), 'LLM')} {texts}"]
    by_judge = Counter(scores.key.crm for scores in bundle.scores)
    parts += [f"{quantity(n, 'criteria list')} scored by {crm}" for crm, n in by_judge.items()]
    return ", ".join(parts)


def _as_licensed(bundle: Bundle, with_texts: bool | None) -> tuple[Bundle, str | None]:
    """The bundle with the texts that may be passed on, or that were asked for, and what to say of it."""
    if not _has_texts(bundle) or redistributable_as(bundle.info.licence):
        return bundle, None
    licence = bundle.info.licence
    allows = (
        f"the licence {licence!r} is not known to allow" if licence else "no licence is given that allows"
    )
    if with_texts:
        return bundle, f"{allows} passing the texts on: make sure that you may before you give the file away."
    textless = replace(
        bundle, queries=tuple(replace(query, text=None) for query in bundle.queries), responses={}
    )
    return textless, f"texts are left out, as {allows} passing them on; --with-texts includes them."


def _has_texts(bundle: Bundle) -> bool:
    return bool(bundle.responses) or any(query.text is not None for query in bundle.queries)


def _check_criteria(path: Path, bundle: Bundle) -> None:
    """Score must be found again by the criteria that they are of."""
    for scores in bundle.scores:
        try:
            key = CriteriaSet.from_json(list(scores.criteria)).key
        except CriterionError as error:
            raise BundleError(f"The bundle {path} is malformed: scores.jsonl: {error}") from error
        if key != scores.key.criteria:
            raise BundleError(
                f"The bundle {path} is malformed: scores.jsonl: the key {scores.key.criteria[:12]}… is not "
                "that of its criteria."
            )


_ABOUT_FIELDS = tuple(field.name for field in fields(BenchmarkInfo) if field.name != "slug")


def described(bundle: Bundle, path: Path) -> Bundle:
    """Return the bundle with title, licence and the like, and the LLMs' titles, taken from a JSON file.

    The file is an object with any of the fields of `db.BenchmarkInfo`, and `titles`: from LLM name to the
    name it is shown by.

    Raises:
        PrecomputeError: the file is no such object, or names an LLM that the bundle lacks.
    """
    about = _read_about(path)
    titles = about.pop("titles", {})
    known = {llm.name for llm in bundle.llms}
    for field in about:
        if field not in _ABOUT_FIELDS:
            raise file_error(path, f"the field {field!r} is none of {', '.join(_ABOUT_FIELDS)} and titles")
        if not isinstance(about[field], str) and (field, about[field]) != ("text_import_command", None):
            raise file_error(path, f"the field {field!r} is not a text")
    for name, title in titles.items():
        if not isinstance(title, str):
            raise file_error(path, f"the title of {name!r} is not a text")
        if name not in known:
            raise file_error(path, f"there is no LLM {name!r} in {bundle.info.slug}")
    return replace(
        bundle,
        info=replace(bundle.info, **about),
        llms=tuple(replace(llm, title=titles.get(llm.name, llm.title)) for llm in bundle.llms),
    )


def _read_about(path: Path) -> dict[str, Any]:
    try:
        about = read_json(read_bytes(path))
    except OSError as error:
        raise file_error(path, f"it cannot be read ({error.strerror})") from error
    except ValueError as error:
        raise file_error(path, f"it is not JSON ({error})") from error
    if not isinstance(about, dict) or not isinstance(about.get("titles", {}), dict):
        raise file_error(path, "it is not a JSON object with titles by LLM")
    return about


_REDISTRIBUTABLE = {
    "CC0 1.0": r"(cc0|creative commons zero)\b",
    "public domain": r"public domain\b",
    "CC BY": r"(cc[ -]by|creative commons attribution)\b",
    "CC BY-SA": r"(cc[ -]by[ -]sa|creative commons attribution[ -]share[ -]?alike)\b",
    "Apache 2.0": r"apache([ -]licen[cs]e)?,?([ -]version)?[ -]2\.0\b",
    "MIT": r"mit\b",
    "BSD": r"bsd\b",
    "ODC-BY": r"(odc[ -]by|open data commons attribution)\b",
    "ODbL": r"(odbl|open database licen[cs]e)\b",
}
"""By name, how the text of a benchmark's licence begins; each allows use for any purpose."""

_RESTRICTED = re.compile(r"non-?commercial|no-?deriv|[ -](nc|nd)\b|research only", re.IGNORECASE)


def redistributable_as(licence: str) -> str | None:
    """Return the licence that ``licence`` begins with if anybody may pass texts on under it, else None."""
    if _RESTRICTED.search(licence):
        return None
    stated = licence.strip().removeprefix("The ").removeprefix("the ")
    names = [name for name, begin in _REDISTRIBUTABLE.items() if re.match(begin, stated, re.IGNORECASE)]
    return names[-1] if names else None
