"""From a bundle file to a `Bundle` and back."""

import hashlib
import json
import os
import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, fields
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from db.bundle.contents import (
    FORMAT_VERSION,
    MANIFEST,
    QUERIES,
    SAMPLE,
    SCORES,
    Bundle,
    BundledScores,
    check_bundle,
    representation_member,
    responses_member,
    scores_member,
    win_rates_member,
)
from db.errors import BundleError
from db.records import (
    BenchmarkInfo,
    CategoryTree,
    LLMRecord,
    QuerySource,
    SampleRecord,
    ScoreKey,
    StepCount,
    WinRateRecord,
)
from parsing.files import check_archive
from parsing.limits import ParseError, check_value

_RESPONSES = re.compile(r"responses/(\d{1,6})\.jsonl")
_REPRESENTATIONS = re.compile(r"representations/([^/]+)/(queries|\d{1,6})\.npz")

# The earliest time a zip can hold: with the real one, equal bundles would give different files.
_FIXED_TIME = (1980, 1, 1, 0, 0, 0)
_FILE_MODE = 0o644 << 16
_UNIX = 3


class _Entry(BaseModel):
    """A JSON object of a bundle, with nothing converted from one type to another."""

    model_config = ConfigDict(strict=True, validate_default=True)


_REQUIRED: Any = None
"""What is absent counts as null, so that both are refused in one sentence."""


def _bounded(value: Any) -> Any:
    """Return what may hold anything, if it keeps to the limits of what is read."""
    check_value(value)
    return value


_Anything = Annotated[Any, AfterValidator(_bounded)]
_Count = Annotated[int, Field(ge=0, lt=2**31)]
"""What a column of whole numbers can hold."""


class _ManifestHead(_Entry):
    format_version: _Anything = None
    slug: str = _REQUIRED


class _CategoryEntry(_Entry):
    name: str = _REQUIRED
    topics: list[str] = _REQUIRED


class _LLMEntry(_Entry):
    name: str = _REQUIRED
    title: str = _REQUIRED
    note: str = _REQUIRED


class _Manifest(_ManifestHead):
    title: str = _REQUIRED
    description: str = _REQUIRED
    version: str = _REQUIRED
    licence: str = _REQUIRED
    attribution: str = _REQUIRED
    source_url: str = _REQUIRED
    text_import_command: str | None = None
    baseline: str | None = None
    categories: list[_CategoryEntry] = _REQUIRED
    llms: list[_LLMEntry] = _REQUIRED


class _QueryEntry(_Entry):
    id: str = _REQUIRED
    category: str = _REQUIRED
    topic: str = _REQUIRED
    sha256: str = _REQUIRED
    text: str | None = None


class _ResponseEntry(_Entry):
    id: str = _REQUIRED
    text: str = _REQUIRED


class _ScoresEntry(_Entry):
    crm: str = _REQUIRED
    crm_version: str = _REQUIRED
    criteria_key: str = _REQUIRED
    criteria: Annotated[list[Any], AfterValidator(_bounded)] = _REQUIRED


class _WinRateEntry(_Entry):
    llm: str = _REQUIRED
    category: str = _REQUIRED
    hard: float = _REQUIRED
    soft: float = _REQUIRED
    ci_low: float = _REQUIRED
    ci_high: float = _REQUIRED
    n_queries: _Count = _REQUIRED


class _CountEntry(_Entry):
    step: str = _REQUIRED
    kept: _Count = _REQUIRED


class _SampleEntry(_Entry):
    family: str = _REQUIRED
    version: _Count = _REQUIRED
    digest: str = _REQUIRED
    settings: Annotated[dict[str, Any], AfterValidator(_bounded)] = _REQUIRED
    counts: list[_CountEntry] = _REQUIRED


_KINDS = {
    "string_type": "text",
    "int_type": "whole number",
    "int_from_float": "whole number",
    "float_type": "number",
    "greater_than_equal": "whole number that can be stored",
    "less_than": "whole number that can be stored",
    "list_type": "list",
}
"""What belongs where pydantic finds something else, by the type of its error."""

_AnyEntry = TypeVar("_AnyEntry", bound=_Entry)


def read_bundle(path: Path) -> Bundle:
    """Read a whole bundle; members of unknown names are left alone.

    Raises BundleError: the file is missing, no zip or malformed; the message names the file and the member.
    """
    with _opened(path) as archive:
        _read_head(archive)
        manifest = _entry(_bytes(archive, MANIFEST), MANIFEST, _Manifest)
        llms = tuple(LLMRecord(llm.name, llm.title, llm.note) for llm in manifest.llms)
        bundle = Bundle(
            info=BenchmarkInfo(
                **{field.name: getattr(manifest, field.name) for field in fields(BenchmarkInfo)}
            ),
            baseline=manifest.baseline,
            categories=tuple(CategoryTree(tree.name, tuple(tree.topics)) for tree in manifest.categories),
            llms=llms,
            queries=tuple(
                QuerySource(query.id, query.category, query.topic, query.sha256, query.text)
                for query in _read_json_lines(archive, QUERIES, _QueryEntry)
            ),
            responses=_responses(archive, llms),
            representations=_representations(archive, llms),
            query_representations=_query_representations(archive),
            scores=_scores(archive),
            sample=_sample(archive),
        )
        check_bundle(bundle)
    return bundle


def bundle_slug(path: Path) -> str:
    """Return the slug of the bundle's benchmark, reading the head of its manifest only.

    Raises BundleError: the file is missing, no zip, or the head of its manifest is malformed.
    """
    with _opened(path) as archive:
        return _read_head(archive).slug


def bundle_digest(path: Path) -> str:
    """Return the 64 hex digits of the SHA-256 of the bundle file.

    Raises:
        BundleError: the file cannot be read.
    """
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise BundleError(f"Cannot read the bundle {path}: {error.strerror}.") from error


@contextmanager
def _opened(path: Path) -> Iterator[zipfile.ZipFile]:
    try:
        archive = zipfile.ZipFile(path)
    except OSError as error:
        raise BundleError(f"Cannot read the bundle {path}: {error.strerror}.") from error
    except zipfile.BadZipFile as error:
        raise BundleError(f"The bundle {path} is not a zip file.") from error
    with archive:
        try:
            check_archive(archive, path.stat().st_size)
            yield archive
        except ParseError as error:
            raise BundleError(f"The bundle {path} is not read: {error}.") from error
        except BundleError as error:
            raise BundleError(f"The bundle {path} is malformed: {error}") from error


def _read_head(archive: zipfile.ZipFile) -> _ManifestHead:
    head = _entry(_bytes(archive, MANIFEST), MANIFEST, _ManifestHead)
    if head.format_version != FORMAT_VERSION:
        raise BundleError(
            f"{MANIFEST}: the format version is {head.format_version!r}, "
            f"but this code reads {FORMAT_VERSION}."
        )
    return head


def _sample(archive: zipfile.ZipFile) -> SampleRecord | None:
    if SAMPLE not in archive.namelist():
        return None
    sample = _entry(_bytes(archive, SAMPLE), SAMPLE, _SampleEntry)
    counts = tuple(StepCount(count.step, count.kept) for count in sample.counts)
    return SampleRecord(sample.family, sample.version, sample.digest, sample.settings, counts)


def _responses(archive: zipfile.ZipFile, llms: tuple[LLMRecord, ...]) -> dict[str, dict[str, str]]:
    responses: dict[str, dict[str, str]] = {}
    for member in archive.namelist():
        if match := _RESPONSES.fullmatch(member):
            texts = responses.setdefault(_llm_name(llms, match[1], member), {})
            for response in _read_json_lines(archive, member, _ResponseEntry):
                texts[response.id] = response.text
    return responses


def _representations(archive: zipfile.ZipFile, llms: tuple[LLMRecord, ...]) -> dict[str, dict[str, bytes]]:
    representations: dict[str, dict[str, bytes]] = {}
    for member in archive.namelist():
        if (match := _REPRESENTATIONS.fullmatch(member)) and match[2] != "queries":
            llm = _llm_name(llms, match[2], member)
            representations.setdefault(match[1], {})[llm] = _bytes(archive, member)
    return representations


def _query_representations(archive: zipfile.ZipFile) -> dict[str, bytes]:
    return {
        match[1]: _bytes(archive, member)
        for member in archive.namelist()
        if (match := _REPRESENTATIONS.fullmatch(member)) and match[2] == "queries"
    }


def _scores(archive: zipfile.ZipFile) -> tuple[BundledScores, ...]:
    members = frozenset(archive.namelist())
    if SCORES not in members:
        return ()
    found = []
    for index, scores in enumerate(_read_json_lines(archive, SCORES, _ScoresEntry)):
        key = ScoreKey(scores.crm, scores.crm_version, scores.criteria_key)
        payload, member = _bytes(archive, scores_member(index)), win_rates_member(index)
        rates = _read_json_lines(archive, member, _WinRateEntry) if member in members else ()
        records = tuple(WinRateRecord(**rate.model_dump()) for rate in rates)
        found.append(BundledScores(key, tuple(scores.criteria), payload, records))
    return tuple(found)


def _llm_name(llms: tuple[LLMRecord, ...], index: str, member: str) -> str:
    if int(index) >= len(llms):
        raise BundleError(f"{member}: {MANIFEST} has only {len(llms)} LLMs.")
    return llms[int(index)].name


def _bytes(archive: zipfile.ZipFile, member: str) -> bytes:
    try:
        return archive.read(member)
    except KeyError:
        raise BundleError(f"{member} is missing.") from None
    # A damaged member fails in zipfile, zlib or the file system, each with errors of its own.
    except Exception as error:
        raise BundleError(f"{member} is damaged: {error}.") from error


def _read_json_lines(archive: zipfile.ZipFile, member: str, kind: type[_AnyEntry]) -> list[_AnyEntry]:
    # Only "\n" ends a line: str.splitlines would also cut at the U+2028 that JSON texts may hold unescaped.
    lines = enumerate(_bytes(archive, member).split(b"\n"), start=1)
    return [_entry(line, member, kind, f" in line {number}") for number, line in lines if line.strip()]


def _entry(data: bytes, member: str, kind: type[_AnyEntry], place: str = "") -> _AnyEntry:
    """Return a JSON object as an entry; `place` says where in the member it is."""
    try:
        return kind.model_validate_json(data)
    except ValidationError as error:
        raise BundleError(_problem(error, member, place)) from error


def _problem(error: ValidationError, member: str, place: str) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    if first["type"] == "json_invalid":
        return f"{member} is not valid JSON{place}: {first['ctx']['error']}."
    if first["type"] == "value_error":
        return f"{member}: {first['ctx']['error']}{place}."
    if first["type"] not in _KINDS:
        return f"{member} holds something else where a JSON object belongs{place}."
    belongs = _KINDS[first["type"]]
    *above, name = first["loc"]
    if isinstance(name, int):
        return f'{member}: entry {name + 1} of "{above[-1]}" is no {belongs}{_nested(above[:-1])}{place}.'
    return f'{member}: "{name}" is missing or no {belongs}{_nested(above)}{place}.'


def _nested(above: Sequence[str | int]) -> str:
    """Return where in an object a list's entry is; empty if it is in none."""
    return f' in entry {int(above[1]) + 1} of "{above[0]}"' if above else ""


def write_bundle(path: Path, bundle: Bundle) -> None:
    """Write the bundle file whole or not at all; equal bundles give equal bytes.

    Raises BundleError: the bundle is inconsistent; nothing is written.
    """
    check_bundle(bundle)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        with zipfile.ZipFile(partial, "w") as archive:
            for name, data in _members(bundle):
                archive.writestr(_zip_entry(name, data), data)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


_SHRINKS = 0.95
"""Arrays that come to more of their bytes are compressed already."""


def _zip_entry(name: str, data: bytes) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _FIXED_TIME)
    entry.create_system = _UNIX
    entry.external_attr = _FILE_MODE
    is_compressed = name.endswith(".npz") and len(zlib.compress(data, 1)) > _SHRINKS * len(data)
    entry.compress_type = zipfile.ZIP_STORED if is_compressed else zipfile.ZIP_DEFLATED
    return entry


def _members(bundle: Bundle) -> Iterator[tuple[str, bytes]]:
    manifest = {
        "format_version": FORMAT_VERSION,
        **asdict(bundle.info),
        "baseline": bundle.baseline,
        "categories": [asdict(category) for category in bundle.categories],
        "llms": [asdict(llm) for llm in bundle.llms],
    }
    yield MANIFEST, json.dumps(manifest, indent=1).encode()
    yield QUERIES, _as_json_lines(_query_records(bundle))
    ids = [query.external_id for query in bundle.queries]
    for index, llm in enumerate(bundle.llms):
        if llm.name in bundle.responses:
            texts = bundle.responses[llm.name]
            answered = ({"id": query, "text": texts[query]} for query in ids if query in texts)
            yield responses_member(index), _as_json_lines(answered)
    for name in sorted({*bundle.representations, *bundle.query_representations}):
        if name in bundle.query_representations:
            yield representation_member(name, None), bundle.query_representations[name]
        payloads = bundle.representations.get(name, {})
        for index, llm in enumerate(bundle.llms):
            if llm.name in payloads:
                yield representation_member(name, index), payloads[llm.name]
    if bundle.scores:
        yield SCORES, _as_json_lines(_score_records(bundle))
    for index, scores in enumerate(bundle.scores):
        yield scores_member(index), scores.payload
        if scores.win_rates:
            yield win_rates_member(index), _as_json_lines(map(asdict, scores.win_rates))
    if bundle.sample is not None:
        record = asdict(bundle.sample)
        del record["created_at"]
        yield SAMPLE, json.dumps(record, indent=1).encode()


def _query_records(bundle: Bundle) -> Iterator[dict[str, Any]]:
    for query in bundle.queries:
        yield {
            "id": query.external_id,
            "category": query.category,
            "topic": query.topic,
            "text": query.text,
            "sha256": query.sha256,
        }


def _score_records(bundle: Bundle) -> Iterator[dict[str, Any]]:
    for scores in bundle.scores:
        yield {
            "crm": scores.key.crm,
            "crm_version": scores.key.crm_version,
            "criteria_key": scores.key.criteria,
            "criteria": scores.criteria,
        }


def _as_json_lines(records: Iterable[Mapping[str, Any]]) -> bytes:
    return "".join(json.dumps(record) + "\n" for record in records).encode()
