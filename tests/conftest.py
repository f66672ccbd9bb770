"""What the tests of several packages share: the bundled benchmarks, and a way to run commands."""

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
from hypothesis import settings
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from crm.criteria import CriteriaSet
from db.database import URL_VARIABLE
from db.records import LLMRecord
from db.repositories import contents
from db.repositories.benchmarks import find_benchmark
from leaderboard.result import Leaderboard
from leaderboard.scoring_jobs import progress
from leaderboard.service import Service
from leaderboard.view import View
from tests.db import samples

# How long an example takes says more about the machine than about the code.
settings.register_profile("usl", deadline=None)
settings.load_profile("usl")

CORPORA = Path(__file__).resolve().parents[2] / "shared" / "corpora"
LONG = "a long answer " * 9
TESTS = Path(__file__).parent
NOT_FAST = (
    "api",
    "benchmarks",
    "browser",
    "crm/backends",
    "crm/data/test_clustering.py",
    "crm/data/test_topic_model.py",
    "crm/embedded/test_encoder.py",
    "crm/embedded/test_gaming.py",
    "crm/embedded/test_model.py",
    "crm/embedded/test_quality.py",
    "crm/evaluation/test_benchmark_commands.py",
    "crm/evaluation/test_commands.py",
    "crm/evaluation/test_rubric_judge.py",
    "crm/test_cli.py",
    "crm/training",
    "db/repositories/test_bundles.py",
    "db/repositories/test_scores.py",
    "db/test_backups.py",
    "db/test_bundle.py",
    "db/test_database.py",
    "leaderboard/elicitation/history/test_command.py",
    "leaderboard/scoring_jobs",
    "leaderboard/test_command_line.py",
    "leaderboard/topics/test_actions.py",
    "leaderboard/topics/test_curation.py",
    "leaderboard/user_data/test_admin.py",
    "leaderboard/user_data/test_session_data.py",
    "pages",
    "precompute/collect",
    "precompute/commands",
    "precompute/criteria",
    "precompute/engines",
    "precompute/test_bundles.py",
    "precompute/test_corpora.py",
    "precompute/test_llm_facts.py",
    "precompute/test_preferences.py",
    "precompute/test_score.py",
    "precompute/test_score_interruptions.py",
    "precompute/topics",
    "test_wheel.py",
    "vllm",
)
"""Tests that run pages, servers, processes or Ray, load models, train, find topics, or fill databases."""
NOT_FAST_MARKERS = ("browser", "corpora", "postgres", "vllm")
Run = Callable[..., tuple[int, str, str]]


HEAVY = (
    "browser",
    "precompute/engines",
    "test_wheel.py",
    "crm/embedded",
    "precompute/topics/test_cluster.py",
    "crm/backends/test_llm_local.py",
    "precompute/criteria",
    "precompute/collect",
    "precompute/test_score_interruptions.py",
    "crm/training",
    "benchmarks",
)
"""Tests that take longest, in the order in which they begin; a folder's share what is dear to set up."""


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out what `make test-fast` does not run before it is imported: that takes longest of all."""
    return True if config.option.markexpr == "fast" and _slow(collection_path) else None


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark what `make test-fast` runs."""
    if not _slow(item.path) and not any(map(item.get_closest_marker, NOT_FAST_MARKERS)):
        item.add_marker("fast")


@cache
def _slow(path: Path) -> bool:
    return path.is_relative_to(TESTS) and any(path.is_relative_to(TESTS / name) for name in NOT_FAST)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let the longest begin first."""
    place = {name: number for number, name in enumerate(HEAVY)}
    items.sort(key=lambda item: place.get(_group(item.path.relative_to(TESTS)), len(HEAVY)))


class GroupScheduling(LoadScopeScheduling):
    """Gives the tests of a group to one worker, so that what they share is set up once."""

    def _split_scope(self, nodeid: str) -> str:
        return _group(Path(nodeid.partition("::")[0]).relative_to(TESTS.name))


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> GroupScheduling:
    """Let groups be what workers are given."""
    return GroupScheduling(config, log)


def _group(path: Path) -> str:
    """Return the folder among the heavy ones, else the file."""
    return next((name for name in HEAVY if path.is_relative_to(name)), str(path))


@pytest.fixture(scope="session", autouse=True)
def _no_progress_is_logged() -> Iterator[None]:
    """Keep lines on progress, of which a slow machine writes some, off standard error."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(progress, "_LOG_SECONDS", 1e9)
        yield


@pytest.fixture(scope="session")
def filled_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SQLite file filled from the bundled benchmarks, only to be copied.

    Closing a file gives up all locks that this process has on it: a database that is open must not be copied.
    """
    path = tmp_path_factory.mktemp("filled") / "usl.sqlite3"
    Service.open(f"sqlite:///{path}").database.close()
    return path


@pytest.fixture(scope="session")
def bundled_file(filled_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SQLite file filled from the bundled benchmarks, only to be read."""
    return Path(shutil.copy(filled_file, tmp_path_factory.mktemp("bundled") / "usl.sqlite3"))


@pytest.fixture(scope="session")
def service(bundled_file: Path) -> Iterator[Service]:
    """The leaderboard on the bundled benchmarks, only to be read."""
    opened = Service.open(f"sqlite:///{bundled_file}")
    yield opened
    opened.close()


@pytest.fixture
def own_service(filled_file: Path, tmp_path: Path) -> Iterator[Service]:
    """The leaderboard on a copy that a test may change."""
    opened = Service.open(f"sqlite:///{shutil.copy(filled_file, tmp_path / 'usl.sqlite3')}")
    yield opened
    opened.close()


@pytest.fixture
def oddly_named(own_service: Service) -> Leaderboard:
    """LLMs of odd names and titles on two queries, to which the last of them has no response."""
    titles = {
        "<img src=x onerror=alert(1)>": "<b>Zed</b> & [bold]sons[/bold]",
        '"><i>quoted': "%{y} [/] one of a family of models, 1",
        "silent": "%{y} [/] one of a family of models, 2",
    }
    answers = ({"q1": LONG, "q2": LONG}, {"q1": LONG, "q2": "a"}, {"q3": LONG})
    with own_service.database.session() as session:
        samples.store(session)
        benchmark = find_benchmark(session, samples.SLUG)
        contents.upsert_llms(session, benchmark, [LLMRecord(*names) for names in titles.items()])
        for name, responses in zip(titles, answers, strict=True):
            contents.set_responses(session, benchmark, name, responses)
    view = View(samples.SLUG, ("Cooking", "Mail"), CriteriaSet.of(["long"]), crm="longer")
    own_service.judge(view)
    return own_service.leaderboard(view)


@pytest.fixture
def run_main(bundled_file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command on the bundled benchmarks; returns exit code, standard output and standard error."""
    monkeypatch.setenv(URL_VARIABLE, f"sqlite:///{bundled_file}")

    def call(main: Callable[[], None], *arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["program", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        printed = capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return ended.value.code, printed.out, printed.err

    return call


@pytest.fixture
def corpora() -> Path:
    """The folder with the public corpora, for tests marked so."""
    if not CORPORA.is_dir():
        missing = f"the public corpora are not there: no folder {CORPORA}"
        if os.environ.get("CI"):
            pytest.fail(missing)
        pytest.skip(missing)
    return CORPORA
