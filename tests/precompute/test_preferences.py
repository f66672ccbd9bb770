"""Preferences are imported, interrupted and continued, by one process or several, on both databases.

Files by path, and by name from a hub: a real server that speaks the protocol of the Hugging Face hub."""

import hashlib
import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from time import sleep

import pytest
from sqlalchemy import select

from db import Database
from db.database import job_locks
from db.errors import DatabaseError, NotFoundError
from db.models import Preference, PreferenceSet
from db.records import StepCount
from db.repositories.preferences import find_preference_set, get_preference_set, preferences_of
from precompute import preferences as preferences_module
from precompute.errors import PrecomputeError
from precompute.importers import PreferenceFilter, read_preferences
from precompute.preferences import ParquetFiles, PreferenceSummary, import_preferences, parquet_files
from tests.db.conftest import database, postgres, postgres_template, sqlite_template
from tests.precompute.arena_samples import sample_rows, write_samples

# pytest finds these fixtures, which have both databases, by their names here.
__all__ = ["database", "postgres", "postgres_template", "sqlite_template"]

ROOT = Path(__file__).resolve().parents[2]
SLUG = "arena"
JOB = f"importing the preference data {SLUG!r}"
ALL = PreferenceFilter(None, keep_both_bad=True, all_criteria=True)
KILLS = 4

# Imports in small batches, and says so after every one.
WORKER = """
import sys
from pathlib import Path
from db import Database
from precompute import preferences
from precompute.preferences import ParquetFiles
from precompute.importers import PreferenceFilter

add = preferences.add_preferences
def told(session, slug, position, batch):
    add(session, slug, position, batch)
    print(position, flush=True)
preferences.add_preferences = told
database = Database.open(sys.argv[1])
print("open", flush=True)
files = ParquetFiles((Path(sys.argv[2]),), "arena.parquet")
preferences.import_preferences(database, files, "arena", PreferenceFilter(None, True, True), batch=3)
"""


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_samples(tmp_path_factory.mktemp("arena") / "arena.parquet", sample_rows(900))


def imported(
    database: Database, file: Path, chosen: PreferenceFilter = ALL, **options: object
) -> PreferenceSummary:
    return import_preferences(database, ParquetFiles((file,), "arena.parquet"), SLUG, chosen, **options)  # type: ignore[arg-type]


def everything(database: Database) -> list[list[tuple[object, ...]]]:
    """All that is stored but for ids, which PostgreSQL does not give out again, and the moment."""
    with database.session() as session:
        return [
            [
                tuple(row)
                for row in session.execute(
                    select(*(c for c in table.__table__.c if c.name not in {"id", "created_at"})).order_by(
                        table.id
                    )
                )
            ]
            for table in (PreferenceSet, Preference)
        ]


def test_what_the_filter_keeps_is_stored_with_its_counts(database: Database, file: Path) -> None:
    chosen = PreferenceFilter()
    summary = imported(database, file, chosen, title="Arena")
    expected = list(read_preferences([file], chosen))
    with database.session() as session:
        assert list(preferences_of(session, find_preference_set(session, SLUG))) == expected
    info = summary.stored.info
    assert (info.title, info.source, info.filter) == ("Arena", "arena.parquet", chosen.settings())
    assert info.steps[0] == StepCount("rows", 900)
    assert info.steps[-1].kept == summary.n_imported == len(expected) == sum(summary.counts.winners.values())
    assert summary.stored.is_complete


def test_a_repeated_import_stores_and_reads_nothing(
    database: Database, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = imported(database, file)
    for reader in ("count_preferences", "read_preferences"):
        monkeypatch.delattr(preferences_module, reader)
    second = imported(database, file)
    assert (first.n_imported, second.n_imported, second.stored) == (900, 0, first.stored)


def test_a_killed_import_continued_is_as_one_undisturbed(
    database: Database, file: Path, tmp_path: Path
) -> None:
    undisturbed = Database.open(f"sqlite:///{tmp_path / 'undisturbed.sqlite3'}")
    imported(undisturbed, file)
    chance = random.Random(database.engine.dialect.name)
    kept = [killed_at_random(database, file, chance) for _ in range(KILLS)]
    assert kept == sorted(kept)
    assert 0 < kept[-1] < 900
    assert imported(database, file).n_imported == 900 - kept[-1]
    assert everything(database) == everything(undisturbed)
    undisturbed.close()


def killed_at_random(database: Database, file: Path, chance: random.Random) -> int:
    """Kills an import after some of its batches, at any moment of the next; returns how many are stored."""
    url = database.engine.url.render_as_string(hide_password=False)
    with subprocess.Popen(
        [sys.executable, "-c", WORKER, url, str(file)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        for _ in range(chance.choice([1, 2, 10, 40])):
            assert process.stdout.readline()
        sleep(chance.uniform(0, 0.02))
        process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    wait_for_the_server(database)
    with database.session() as session:
        try:
            return get_preference_set(session, find_preference_set(session, SLUG)).n_stored
        except NotFoundError:
            return 0


def wait_for_the_server(database: Database) -> None:
    """PostgreSQL ends what a killed client has begun, and only then frees its lock."""
    for _ in range(200):
        with suppress(DatabaseError), job_locks(database.engine, [JOB]):
            return
        sleep(0.02)


def test_of_two_at_once_one_works_and_the_other_is_told(database: Database, file: Path) -> None:
    told: list[str] = []
    done: list[int] = []
    start = threading.Barrier(2)

    def work() -> None:
        start.wait()
        try:
            done.append(imported(database, file, batch=5).n_imported)
        except DatabaseError as error:
            told.append(str(error))

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(done) == 900
    assert len(done) + len(told) == 2
    with database.session() as session:
        assert [
            record.external_id for record in preferences_of(session, find_preference_set(session, SLUG))
        ] == [row["question_id"] for row in sample_rows(900)]


def test_an_import_that_runs_elsewhere_is_named(database: Database, file: Path) -> None:
    with (
        job_locks(database.engine, [JOB]),
        pytest.raises(DatabaseError, match=f"^Another process is {JOB}; run the command again"),
    ):
        imported(database, file)


def test_another_filter_or_file_wants_another_slug_or_to_replace(
    database: Database, file: Path, tmp_path: Path
) -> None:
    imported(database, file)
    before = everything(database)
    other = write_samples(tmp_path / "other.parquet", sample_rows(30, seed=1))
    for path, chosen in ((file, PreferenceFilter()), (other, ALL)):
        with pytest.raises(PrecomputeError, match=r"'arena' is stored from arena\.parquet"):
            imported(database, path, chosen)
    assert everything(database) == before
    assert imported(database, other, replace=True).n_imported == 30
    assert imported(database, other, replace=True).n_imported == 0


def test_the_same_bytes_in_another_place_are_the_same_file(
    database: Database, file: Path, tmp_path: Path
) -> None:
    imported(database, file)
    moved = tmp_path / "moved.parquet"
    moved.write_bytes(file.read_bytes())
    assert imported(database, moved).n_imported == 0


def test_bad_input_writes_nothing(database: Database, file: Path, tmp_path: Path) -> None:
    rows = sample_rows(700)
    rows[-1]["winner"] = "both"
    broken = write_samples(tmp_path / "broken.parquet", rows)
    with pytest.raises(PrecomputeError, match="row 700: 'winner' is 'both'"):
        imported(database, broken)
    with pytest.raises(PrecomputeError, match="there is no such file"):
        imported(database, tmp_path / "absent.parquet")
    with pytest.raises(PrecomputeError, match="left after the step “language is Klingon”: see --language"):
        imported(database, file, PreferenceFilter("Klingon"))
    with pytest.raises(PrecomputeError, match="There are no rows"):
        imported(database, write_samples(tmp_path / "empty.parquet", []))
    assert everything(database) == [[], []]


def test_a_file_that_changes_for_the_worse_does_not_replace_what_is_there(
    database: Database, file: Path, tmp_path: Path
) -> None:
    imported(database, file)
    before = everything(database)
    rows = sample_rows(5)
    rows[2]["model_a"] = ""
    with pytest.raises(PrecomputeError, match="row 3: 'model_a' is empty"):
        imported(database, write_samples(tmp_path / "worse.parquet", rows), replace=True)
    assert everything(database) == before


NAME = "owner/votes"
COMMIT = "0123456789abcdef0123456789abcdef01234567"
FILES = {
    "data/votes-00001-of-00002.parquet": b"second",
    "data/votes-00000-of-00002.parquet": b"first",
    "README.md": b"read me",
}


class Handler(BaseHTTPRequestHandler):
    def do_HEAD(self) -> None:
        self._answer(body=False)

    def do_GET(self) -> None:
        self._answer(body=True)

    def _answer(self, body: bool) -> None:
        path = self.path.partition("?")[0]
        content, headers = self._content(path)
        self.send_response(200 if content is not None else 404)
        if content is None:
            headers["X-Error-Code"] = "GatedRepo" if "gated" in path else "RepoNotFound"
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content or b"")))
        self.end_headers()
        if body:
            self.wfile.write(content or b"")

    def _content(self, path: str) -> tuple[bytes | None, dict[str, str]]:
        for revision in ("", "/revision/main", f"/revision/{COMMIT}"):
            if path == f"/api/datasets/{NAME}{revision}":
                siblings = [{"rfilename": name} for name in FILES]
                info = {"_id": "1", "id": NAME, "sha": COMMIT, "siblings": siblings, "tags": []}
                return json.dumps(info).encode(), {"Content-Type": "application/json"}
        name = path.removeprefix(f"/datasets/{NAME}/resolve/{COMMIT}/")
        if name in FILES:
            etag = hashlib.sha256(FILES[name]).hexdigest()
            return FILES[name], {"ETag": f'"{etag}"', "X-Repo-Commit": COMMIT}
        return None, {}

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        pass


@pytest.fixture
def endpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache"))
    # The sentence encoder turns the hub off for what is imported after it.
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("name", [NAME, f"hf://datasets/{NAME}", f"hf://datasets/{NAME}@main"])
def test_a_data_set_is_fetched_in_order_and_remembered_by_its_commit(endpoint: str, name: str) -> None:
    found = parquet_files(name, endpoint=endpoint)
    assert [path.read_bytes() for path in found.paths] == [b"first", b"second"]
    assert found.source == f"hf://datasets/{NAME}@{COMMIT}"


def test_one_file_of_a_data_set_may_be_named(endpoint: str) -> None:
    address = f"hf://datasets/{NAME}/data/votes-00001-of-00002.parquet"
    found = parquet_files(address, endpoint=endpoint)
    assert [path.read_bytes() for path in found.paths] == [b"second"]
    assert found.source == f"hf://datasets/{NAME}@{COMMIT}/data/votes-00001-of-00002.parquet"
    assert parquet_files(found.source, endpoint=endpoint) == found


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("owner/absent", "the hub does not know it, or wants HF_TOKEN"),
        ("owner/gated", "its owner wants you to accept terms there first"),
        (f"hf://datasets/{NAME}/absent.parquet", "has no absent.parquet"),
        ("hf://nonsense", "is no data set of the hub: write hf://datasets/OWNER/NAME"),
    ],
)
def test_what_the_hub_does_not_give_is_said_in_one_sentence(endpoint: str, name: str, reason: str) -> None:
    with pytest.raises(PrecomputeError, match=reason) as raised:
        parquet_files(name, endpoint=endpoint)
    assert "\n" not in str(raised.value)


def test_without_a_network_it_says_what_to_do_instead() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{unused.getsockname()[1]}"
        with pytest.raises(PrecomputeError, match=r"Cannot fetch 'owner/votes' .* without a network, get"):
            parquet_files(NAME, endpoint=address)


def test_a_path_means_a_file_or_the_files_of_a_folder(tmp_path: Path) -> None:
    for name in ("b.parquet", "data/a.parquet", "readme.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert parquet_files(str(tmp_path / "b.parquet")).paths == (tmp_path / "b.parquet",)
    found = parquet_files(str(tmp_path))
    assert (found.paths, found.source) == (
        (tmp_path / "b.parquet", tmp_path / "data" / "a.parquet"),
        str(tmp_path),
    )
    (tmp_path / "empty").mkdir()
    with pytest.raises(PrecomputeError, match=r"empty: there is no \.parquet file in it"):
        parquet_files(str(tmp_path / "empty"))


@pytest.mark.parametrize("name", ["absent.parquet", "folder/absent.parquet", "/absent/folder"])
def test_a_path_to_nothing_is_no_name_of_the_hub(name: str) -> None:
    assert parquet_files(name).paths == (Path(name),)
