"""JSON, TOML, YAML, CSV, Parquet, gzip and ZIP are read in one place, so that no reader is without limits."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PARSERS = re.compile(
    r"\bjson\.loads?\(|\btomllib\b|\byaml\.(safe_)?(load|parse)|\bcsv\.(Dict)?[rR]eader|\bgzip\.|\.json\(\)"
    r"|\bParquetFile\b|\bread_(parquet|schema|metadata)\(|\b(pq|parquet)\.read_|\bpd\.read_json"
    # An archive may be written anywhere.
    r"|\bZipFile\((?!\w+, \"w\")|\bis_zipfile\b|\bfrom zipfile\b|\btarfile\b|\b(bz2|lzma)\b|\bdecompress"
)


def test_nobody_else_parses() -> None:
    packages = ("api", "crm", "db", "leaderboard", "pages", "precompute")
    files = [path for package in packages for path in sorted((ROOT / package).rglob("*.py"))]
    found = [
        f"{path.relative_to(ROOT)}: {call[0]}"
        for path in [*files, *sorted(ROOT.glob("*.py"))]
        for call in [PARSERS.search(path.read_text(encoding="utf-8"))]
        if call
    ]
    assert len(files) > len(packages)
    assert found == []


@pytest.mark.parametrize(
    "reads",
    [
        "zipfile.ZipFile(path)",
        "zipfile.ZipFile(io.BytesIO(content))",
        'ZipFile(path, "r")',
        "tarfile.open(path)",
    ],
)
def test_an_archive_that_is_read_is_found(reads: str) -> None:
    assert PARSERS.search(reads)
    assert not PARSERS.search('with zipfile.ZipFile(partial, "w") as archive:')
