import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import text

from db import BenchmarkInfo, BundleError, Database, write_bundle
from db.repositories import benchmarks, bundles
from tests.db import samples

PROJECT_ROOT = Path(__file__).parents[2]

OPENER = """
import sys
from pathlib import Path
from db import Database

print("ready", flush=True)
sys.stdin.readline()
Database.open(sys.argv[1], [Path(sys.argv[2])]).close()
"""


@pytest.fixture
def bundle_path(tmp_path):
    path = tmp_path / "tiny.usl.zip"
    write_bundle(path, samples.bundle())
    return path


def test_opening_makes_the_tables_and_fills_them(empty_url, bundle_path):
    opened = Database.open(empty_url, [bundle_path])
    with opened.session() as session:
        assert bundles.export_bundle(session, "tiny", with_texts=True) == samples.bundle()
    opened.close()


def test_opening_again_reads_no_bundle_and_writes_nothing(empty_url, bundle_path, monkeypatch):
    Database.open(empty_url, [bundle_path]).close()

    def fail(_):
        raise AssertionError("the bundle was read again")

    monkeypatch.setattr("db.store.read_bundle", fail)
    opened = Database.open(empty_url, [bundle_path])
    with opened.session() as session:
        [summary] = benchmarks.list_benchmarks(session)
    assert summary.slug == "tiny"
    opened.close()


def test_a_newer_bundle_file_replaces_the_benchmark(empty_url, bundle_path):
    Database.open(empty_url, [bundle_path]).close()
    write_bundle(bundle_path, replace(samples.bundle(), info=replace(samples.INFO, version="2")))
    opened = Database.open(empty_url, [bundle_path])
    with opened.session() as session:
        [summary] = benchmarks.list_benchmarks(session)
    assert (summary.version, summary.n_queries) == ("2", 3)
    opened.close()


def test_a_malformed_bundle_leaves_the_database_unchanged(filled, bundle_path):
    other = replace(samples.bundle(), info=BenchmarkInfo("other", "Other"))
    write_bundle(bundle_path, other)
    data = bytearray(bundle_path.read_bytes())
    # The directory at the end of the file still reads well, and so does the manifest.
    data[data.index(b"representations/style-1/2.npz") + 60] ^= 0xFF
    bundle_path.write_bytes(data)
    url = filled.engine.url.render_as_string(hide_password=False)
    with filled.session() as session:
        before = samples.all_rows(session)
    with pytest.raises(BundleError, match=r"representations/style-1/2\.npz is damaged"):
        Database.open(url, [bundle_path])
    with filled.session() as session:
        assert samples.all_rows(session) == before


def test_a_fill_that_fails_midway_leaves_the_database_unchanged(database, bundle_path, monkeypatch):
    with database.session() as session:
        bundles.fill_from_bundle(session, samples.bundle(with_texts=False), "a" * 64)
        before = samples.all_rows(session)

    def fail(*_):
        raise RuntimeError("stopped midway")

    monkeypatch.setattr("db.repositories.representations.put_payload", fail)
    with pytest.raises(RuntimeError, match="stopped midway"):
        Database.open(database.engine.url.render_as_string(hide_password=False), [bundle_path])
    with database.session() as session:
        assert samples.all_rows(session) == before


def test_a_failing_session_changes_nothing(database):
    with pytest.raises(RuntimeError), database.session() as session:
        samples.store(session)
        raise RuntimeError
    with database.session() as session:
        assert set(samples.row_counts(session).values()) == {0}


def test_processes_that_open_an_empty_database_at_once_do_no_harm(empty_url, bundle_path):
    command = [sys.executable, "-c", OPENER, empty_url, str(bundle_path)]
    processes = [
        subprocess.Popen(
            command,
            cwd=PROJECT_ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in processes:
        _, errors = process.communicate(timeout=60)
        assert (process.returncode, errors) == (0, "")
    opened = Database.open(empty_url)
    with opened.session() as session:
        assert bundles.export_bundle(session, "tiny", with_texts=True) == samples.bundle()
        assert samples.row_counts(session)["benchmark"] == 1
        assert session.execute(text("SELECT count(*) FROM alembic_version")).scalar_one() == 1
    opened.close()
