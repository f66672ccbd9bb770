"""Win rates in bundles, and in a small file of their own beside a bundled benchmark.

That file, `<slug>.win-rates.zip`, holds `manifest.json` {format_version, bundle_sha256}, `scores.jsonl` as
a bundle does, and `win_rates/<line>.jsonl` for each of its lines: what a judge's score matrices come to,
without the matrices, which are ten times the size. It counts only beside the very bundle it was made of.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
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
    SCORES,
    Bundle,
    BundledScores,
    check_win_rates,
    win_rates_member,
)
from db.errors import BundleError
from db.records import ScoreKey, WinRateRecord
from parsing.archives import Archive


@dataclass(frozen=True, slots=True)
class BundledWinRates:
    """The win rates under a CRM and a criteria set; `criteria` is the set as a JSON list."""

    key: ScoreKey
    criteria: tuple[object, ...]
    win_rates: tuple[WinRateRecord, ...]


class _HeadEntry(Entry):
    format_version: Count = REQUIRED
    bundle_sha256: str = REQUIRED


class ScoresEntry(Entry):
    """A line of `scores.jsonl`."""

    crm: str = REQUIRED
    crm_version: str = REQUIRED
    criteria_key: str = REQUIRED
    criteria: Annotated[list[Any], AfterValidator(bounded)] = REQUIRED

    def key(self) -> ScoreKey:
        """What the scores are stored under."""
        return ScoreKey(self.crm, self.crm_version, self.criteria_key)


class _WinRateEntry(Entry):
    llm: str = REQUIRED
    category: str = REQUIRED
    hard: float = REQUIRED
    soft: float = REQUIRED
    ci_low: float = REQUIRED
    ci_high: float = REQUIRED
    n_queries: Count = REQUIRED


def score_record(scores: BundledScores | BundledWinRates) -> dict[str, Any]:
    """Return the line of `scores.jsonl`."""
    return {
        "crm": scores.key.crm,
        "crm_version": scores.key.crm_version,
        "criteria_key": scores.key.criteria,
        "criteria": scores.criteria,
    }


def read_records(archive: Archive, member: str) -> tuple[WinRateRecord, ...]:
    """Return the win rates in a member. Raises BundleError: it is missing or malformed."""
    return tuple(
        WinRateRecord(**rate.model_dump()) for rate in read_json_lines(archive, member, _WinRateEntry)
    )


def win_rates_file(bundle: Path) -> Path:
    """Return where the win rates of a bundle's benchmark lie: `alpaca-eval.win-rates.zip` beside it."""
    return bundle.with_name(bundle.name.removesuffix(".usl.zip") + ".win-rates.zip")


def read_win_rates(path: Path, bundle: Bundle, digest: str) -> tuple[BundledWinRates, ...]:
    """Read the win rates of a bundle's benchmark; none if they were made of another bundle.

    `digest` is `bundle_digest` of the bundle's file. Raises BundleError: the file is missing, malformed, or
    does not fit the bundle.
    """
    with opened(path) as archive:
        head = read_entry(member_bytes(archive, MANIFEST), MANIFEST, _HeadEntry)
        if (head.format_version, head.bundle_sha256) != (FORMAT_VERSION, digest):
            return ()
        found = []
        for index, scores in enumerate(read_json_lines(archive, SCORES, ScoresEntry)):
            member = win_rates_member(index)
            rates = read_records(archive, member)
            check_win_rates(bundle, member, rates)
            found.append(BundledWinRates(scores.key(), tuple(scores.criteria), rates))
        if len({scores.key for scores in found}) < len(found):
            raise BundleError(f"{SCORES}: two lines have the same judge and criteria.")
    return tuple(found)


def write_win_rates(path: Path, found: Sequence[BundledWinRates], digest: str) -> None:
    """Write the file whole or not at all; `digest` is `bundle_digest` of the bundle that it belongs to."""
    write_archive(path, _members(found, digest))


def _members(found: Sequence[BundledWinRates], digest: str) -> Iterator[tuple[str, bytes]]:
    manifest = {"format_version": FORMAT_VERSION, "bundle_sha256": digest}
    yield MANIFEST, json.dumps(manifest, indent=1).encode()
    yield SCORES, as_json_lines(map(score_record, found))
    for index, scores in enumerate(found):
        yield win_rates_member(index), as_json_lines(map(asdict, scores.win_rates))
