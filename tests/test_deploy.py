"""What servers are set up with is valid, and names only what there is."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from api import settings
from parsing.yaml_text import read_yaml
from tests.test_docs import problem_with

ROOT = Path(__file__).resolve().parents[1]
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
COMPOSE = (ROOT / "compose.yaml").read_text(encoding="utf-8")
CADDYFILE = (ROOT / "deploy" / "Caddyfile").read_text(encoding="utf-8")
UNIT = (ROOT / "deploy" / "usl.service").read_text(encoding="utf-8")
GUIDE = (ROOT / "docs" / "deploying.md").read_text(encoding="utf-8")


def test_the_compose_file_keeps_to_the_specification() -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec"]
    done = subprocess.run([*command, ROOT / "compose.yaml"], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout


def test_every_part_of_the_compose_file_fits_the_others() -> None:
    services = read_yaml(COMPOSE.encode(), depth=10)["services"]
    app, judge = services["app"], services["judge"]

    assert {"app", "database", "proxy"} <= services.keys()
    assert judge["profiles"] == ["gpu"]
    assert app["depends_on"] == {"database": {"condition": "service_healthy"}}
    assert "healthcheck" in services["database"]
    assert "@database/usl" in app["environment"]["USL_DATABASE_URL"]
    assert services["database"]["environment"]["POSTGRES_DB"] == "usl"
    assert app["expose"] == ["8501"] and "ports" not in app
    assert not [name for name, service in services.items() if service.get("privileged")]


@pytest.mark.parametrize("name", sorted(set(re.findall(r"\$\{(\w+)", COMPOSE))))
def test_every_setting_of_the_compose_file_is_in_the_guide(name: str) -> None:
    assert f"`{name}`" in GUIDE


@pytest.mark.parametrize(
    "name",
    [value for name, value in vars(settings).items() if name.endswith("_VARIABLE")],
)
def test_every_setting_of_the_server_is_in_the_guide(name: str) -> None:
    assert f"`{name}`" in GUIDE


def test_every_command_exists() -> None:
    from_json = [" ".join(re.findall(r'"([^"]*)"', line)) for line in re.findall(r"CMD (\[.*\])", DOCKERFILE)]
    lines = [*re.findall(r"^RUN (usl .*)$", DOCKERFILE, re.MULTILINE), *from_json]
    lines += [f"usl {rest}" for rest in re.findall(r"^ExecStart=/opt/usl/bin/usl (.*)$", UNIT, re.MULTILINE)]
    commands = [line for line in lines if line.startswith("usl ")]

    assert len(commands) == 3
    assert [problem_with(line) for line in commands] == ["", "", ""]


def test_the_image_is_made_of_what_the_wheel_is_made_of() -> None:
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    kept = {line[1:] for line in lines if line.startswith("!")}
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    [listed] = re.findall(r"^include = \[(.*?)^\]", project, re.MULTILINE | re.DOTALL)
    needed = {path.removeprefix("/") for path in re.findall(r'"(.*?)"', listed)}

    assert needed <= kept
    assert {"README.md", "LICENSE", "requirements.txt", "requirements-dev.txt"} == kept - needed


def test_the_image_runs_as_nobody_in_particular_and_says_how_it_is() -> None:
    stages = DOCKERFILE.split("\nFROM ")

    assert re.search(r"^USER 1000$", stages[-1], re.MULTILINE)
    assert stages[-1].index("USER 1000") < stages[-1].index("RUN usl prepare")
    assert "download.pytorch.org/whl/cpu" in stages[-1]
    assert "/_stcore/health" in stages[-1]


def test_the_proxy_leads_back_to_the_same_process_and_keeps_figures_inside() -> None:
    assert "lb_policy cookie" in CADDYFILE
    assert re.search(r"path /metrics /_stcore/metrics", CADDYFILE)
    assert not re.search(r"^\s*log\b", CADDYFILE, re.MULTILINE)
