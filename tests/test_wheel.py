"""The wheel, built and installed, ranks and serves outside of the checkout with what it brings."""

import json
import os
import re
import subprocess
import sys
import sysconfig
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from crm.paths import EMBEDDED_FILE
from leaderboard.__main__ import main
from tests.conftest import Run
from tests.servers import app_served_by, free_port

ROOT = Path(__file__).resolve().parents[1]
IN_THE_WHEEL = ("api", "bundled", "crm", "db", "leaderboard", "pages", "parsing", "precompute")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    options = ("--quiet", "--no-deps", "--no-build-isolation", "--disable-pip-version-check")
    subprocess.run([sys.executable, "-m", "pip", "wheel", *options, "-w", folder, ROOT], check=True)
    [built] = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def usl(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command, in an environment that has the wheel and sees the packages of this one."""
    environment = tmp_path_factory.mktemp("venv")
    venv.create(environment, symlinks=True)
    python = environment / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check"]
    subprocess.run([*pip, "install", "--quiet", "--no-deps", wheel], check=True)
    [packages] = environment.glob("lib/python*/site-packages")
    (packages / "shared.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    return environment / "bin" / "usl"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home of somebody who has nothing of the project."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def environment(home: Path) -> dict[str, str]:
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("USL_", "PYTHON", "XDG_"))
    }
    return kept | {"HOME": str(home)}


def test_has_every_file_of_its_folders(wheel: Path) -> None:
    tracked = subprocess.run(
        ["git", "ls-files", *IN_THE_WHEEL], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.split()
    with zipfile.ZipFile(wheel) as opened:
        inside = set(opened.namelist())

    assert {f"usl_leaderboard/{path}" for path in tracked} <= inside
    assert {name.partition("/")[0] for name in inside} == {
        "usl_leaderboard",
        next(name for name in inside if ".dist-info" in name).partition("/")[0],
    }
    assert not [name for name in inside if "/tests/" in name or name.endswith((".pyc", ".sqlite3"))]


def test_ranks_as_the_checkout_does(
    usl: Path, home: Path, environment: dict[str, str], run_main: Run
) -> None:
    options = ("rank", "--benchmark", "dailybench", "--criterion", "Warm and kind", "--format", "csv")
    _, expected, _ = run_main(main, *options)
    done = subprocess.run(
        [usl, *options], cwd=home, env=environment, capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stdout) == (0, expected), done.stderr
    assert (home / ".local/share/usl/data/usl.sqlite3").is_file()


def test_the_image_is_prepared_and_found_healthy(
    usl: Path, tmp_path: Path, environment: dict[str, str]
) -> None:
    """Run the last steps of the Dockerfile as they stand, but for the port."""
    dockerfile = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    [prepare] = re.findall(r"^RUN usl (.*)$", dockerfile, re.MULTILINE)
    health, serve = (json.loads(words) for words in re.findall(r"CMD (\[.*\])", dockerfile))
    settings = environment | {"USL_HOME": str(tmp_path)}
    port = free_port()
    prepared = subprocess.run(
        [usl, *prepare.split()], cwd=tmp_path, env=settings, capture_output=True, text=True, check=True
    )
    before = (tmp_path / "data" / "usl.sqlite3").stat().st_size
    with app_served_by(
        [usl, *serve[1:], f"--port={port}"], port, settings, log=tmp_path / "log", folder=tmp_path
    ):
        asked = [sys.executable, *(word.replace("8501", str(port)) for word in health[1:])]
        healthy = subprocess.run(asked, check=False)
    ill = subprocess.run(asked, capture_output=True, check=False)

    assert prepared.stdout.startswith("Ready: ")
    assert before > 10_000_000
    assert (healthy.returncode, ill.returncode) == (0, 1)


def test_says_in_one_line_what_is_wrong(usl: Path, home: Path, environment: dict[str, str]) -> None:
    command = [usl, "rank", "--benchmark", "nope"]
    done = subprocess.run(command, cwd=home, env=environment, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: There is no benchmark 'nope'")
    assert done.stderr.count("\n") == 1


def test_reads_the_judges_of_the_installation(usl: Path, home: Path, environment: dict[str, str]) -> None:
    (home / "own").mkdir()
    (home / "own" / "crms.toml").write_text(
        f'[mine]\nbackend = "embedded"\nweights = "{EMBEDDED_FILE}"\n', encoding="utf-8"
    )
    command = [usl, "rank", "--benchmark", "dailybench", "--crm", "mine", "--format", "csv"]
    settings = environment | {"USL_HOME": str(home / "own")}
    database = f"sqlite:///{home / '.local/share/usl/data/usl.sqlite3'}"
    done = subprocess.run(
        command,
        cwd=home,
        env=settings | {"USL_DATABASE_URL": database},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("rank,llm,")


def test_serves_pages_and_programs(served: str) -> None:
    with httpx2.Client(base_url=served, timeout=60) as client:
        page = client.get("", headers={"Accept": "text/html"})
        ranked = client.get("api/v1/rank", params={"benchmark": "dailybench"})

    assert "<style>" in page.text
    assert [row["rank"] for row in ranked.json()["ranking"]] == [1, 2, 3, 4, 5, 6, 7]


@pytest.fixture
def served(usl: Path, home: Path, environment: dict[str, str]) -> Iterator[str]:
    port = free_port()
    command = [usl, "serve", f"--port={port}", "--address=127.0.0.1"]
    with app_served_by(command, port, environment, log=home / "log", folder=home) as url:
        yield url
