"""From a bundle file to a `Bundle` and back."""

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import asdict, fields
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator

from db.bundle._archive import (
    REQUIRED,
    Count,
    Entry,
    as_json_lines,
    bounded,
    member_bytes,
    opened,
    read_entry,
    read_json_lines,
    write_archive,
)
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
from db.bundle.win_rates import ScoresEntry, read_records, score_record
from db.errors import BundleError
from db.records import (
    BenchmarkInfo,
    CategoryTree,
    LLMRecord,
    QuerySource,
    SampleRecord,
    ScoreKey,
    StepCount,
)
from parsing.archives import Archive

_RESPONSES = re.compile(r"responses/(\d{1,6})\.jsonl")
_REPRESENTATIONS = re.compile(r"representations/([^/]+)/(queries|\d{1,6})\.npz")

_Anything = Annotated[Any, AfterValidator(bounded)]


class _ManifestHead(Entry):
    format_version: _Anything = None
    slug: str = REQUIRED


class _CategoryEntry(Entry):
    name: str = REQUIRED
    topics: list[str] = REQUIRED


class _LLMEntry(Entry):
    name: str = REQUIRED
    title: str = REQUIRED
    note: str = REQUIRED


class _Manifest(_ManifestHead):
    title: str = REQUIRED
    description: str = REQUIRED
    version: str = REQUIRED
    licence: str = REQUIRED
    attribution: str = REQUIRED
    source_url: str = REQUIRED
    text_import_command: str | None = None
    baseline: str | None = None
    categories: list[_CategoryEntry] = REQUIRED
    llms: list[_LLMEntry] = REQUIRED


class _QueryEntry(Entry):
    id: str = REQUIRED
    category: str = REQUIRED
    topic: str = REQUIRED
    sha256: str = REQUIRED
    text: str | None = None


class _ResponseEntry(Entry):
    id: str = REQUIRED
    text: str = REQUIRED


class _CountEntry(Entry):
    step: str = REQUIRED
    kept: Count = REQUIRED


class _SampleEntry(Entry):
    family: str = REQUIRED
    version: Count = REQUIRED
    digest: str = REQUIRED
    settings: Annotated[dict[str, Any], AfterValidator(bounded)] = REQUIRED
    counts: list[_CountEntry] = REQUIRED


def read_bundle(path: Path) -> Bundle:
    """Read a whole bundle; members of unknown names are left alone.

    Raises BundleError: the file is missing, no zip or malformed; the message names the file and the member.
    """
    with opened(path) as archive:
        _read_head(archive)
        manifest = read_entry(member_bytes(archive, MANIFEST), MANIFEST, _Manifest)
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
                for query in read_json_lines(archive, QUERIES, _QueryEntry)
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
    with opened(path) as archive:
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


def _read_head(archive: Archive) -> _ManifestHead:
    head = read_entry(member_bytes(archive, MANIFEST), MANIFEST, _ManifestHead)
    if head.format_version != FORMAT_VERSION:
        raise BundleError(
            f"{MANIFEST}: the format version is {head.format_version!r}, "
            f"but this code reads {FORMAT_VERSION}."
        )
    return head


def _sample(archive: Archive) -> SampleRecord | None:
    if SAMPLE not in archive.names:
        return None
    sample = read_entry(member_bytes(archive, SAMPLE), SAMPLE, _SampleEntry)
    counts = tuple(StepCount(count.step, count.kept) for count in sample.counts)
    return SampleRecord(sample.family, sample.version, sample.digest, sample.settings, counts)


def _responses(archive: Archive, llms: tuple[LLMRecord, ...]) -> dict[str, dict[str, str]]:
    responses: dict[str, dict[str, str]] = {}
    for member in archive.names:
        if match := _RESPONSES.fullmatch(member):
            texts = responses.setdefault(_llm_name(llms, match[1], member), {})
            for response in read_json_lines(archive, member, _ResponseEntry):
                texts[response.id] = response.text
    return responses


def _representations(archive: Archive, llms: tuple[LLMRecord, ...]) -> dict[str, dict[str, bytes]]:
    representations: dict[str, dict[str, bytes]] = {}
    for member in archive.names:
        if (match := _REPRESENTATIONS.fullmatch(member)) and match[2] != "queries":
            llm = _llm_name(llms, match[2], member)
            representations.setdefault(match[1], {})[llm] = member_bytes(archive, member)
    return representations


def _query_representations(archive: Archive) -> dict[str, bytes]:
    return {
        match[1]: member_bytes(archive, member)
        for member in archive.names
        if (match := _REPRESENTATIONS.fullmatch(member)) and match[2] == "queries"
    }


def _scores(archive: Archive) -> tuple[BundledScores, ...]:
    members = frozenset(archive.names)
    if SCORES not in members:
        return ()
    found = []
    for index, scores in enumerate(read_json_lines(archive, SCORES, ScoresEntry)):
        key = ScoreKey(scores.crm, scores.crm_version, scores.criteria_key)
        payload, member = member_bytes(archive, scores_member(index)), win_rates_member(index)
        records = read_records(archive, member) if member in members else ()
        found.append(BundledScores(key, tuple(scores.criteria), payload, records))
    return tuple(found)


def _llm_name(llms: tuple[LLMRecord, ...], index: str, member: str) -> str:
    if int(index) >= len(llms):
        raise BundleError(f"{member}: {MANIFEST} has only {len(llms)} LLMs.")
    return llms[int(index)].name


def write_bundle(path: Path, bundle: Bundle) -> None:
    """Write the bundle file whole or not at all; equal bundles give equal bytes.

    Raises BundleError: the bundle is inconsistent; nothing is written.
    """
    check_bundle(bundle)
    write_archive(path, _members(bundle))


def _members(bundle: Bundle) -> Iterator[tuple[str, bytes]]:
    manifest = {
        "format_version": FORMAT_VERSION,
        **asdict(bundle.info),
        "baseline": bundle.baseline,
        "categories": [asdict(category) for category in bundle.categories],
        "llms": [asdict(llm) for llm in bundle.llms],
    }
    yield MANIFEST, json.dumps(manifest, indent=1).encode()
    yield QUERIES, as_json_lines(_query_records(bundle))
    ids = [query.external_id for query in bundle.queries]
    for index, llm in enumerate(bundle.llms):
        if llm.name in bundle.responses:
            texts = bundle.responses[llm.name]
            answered = ({"id": query, "text": texts[query]} for query in ids if query in texts)
            yield responses_member(index), as_json_lines(answered)
    for name in sorted({*bundle.representations, *bundle.query_representations}):
        if name in bundle.query_representations:
            yield representation_member(name, None), bundle.query_representations[name]
        payloads = bundle.representations.get(name, {})
        for index, llm in enumerate(bundle.llms):
            if llm.name in payloads:
                yield representation_member(name, index), payloads[llm.name]
    if bundle.scores:
        yield SCORES, as_json_lines(map(score_record, bundle.scores))
    for index, scores in enumerate(bundle.scores):
        yield scores_member(index), scores.payload
        if scores.win_rates:
            yield win_rates_member(index), as_json_lines(map(asdict, scores.win_rates))
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
