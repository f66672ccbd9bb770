"""JSON, TOML, YAML, CSV, Parquet and gzip are read in one place, so that no reader is without limits."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PARSERS = re.compile(
    r"\bjson\.loads?\(|\btomllib\b|\byaml\.(safe_)?(load|parse)|\bcsv\.(Dict)?[rR]eader|\bgzip\.|\.json\(\)"
    r"|\bParquetFile\b|\bread_(parquet|schema|metadata)\(|\b(pq|parquet)\.read_|\bpd\.read_json"
)


def test_nobody_else_parses() -> None:
    found = [
        f"{path.relative_to(ROOT)}: {call[0]}"
        for package in ("crm", "db", "leaderboard", "pages", "precompute")
        for path in sorted((ROOT / package).rglob("*.py"))
        for call in [PARSERS.search(path.read_text(encoding="utf-8"))]
        if call
    ]
    assert found == []
