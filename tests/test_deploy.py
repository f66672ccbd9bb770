"""What servers are set up with is valid, and names only what there is."""

import importlib.util
import os
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from crm.paths import HOME_VARIABLE
from leaderboard.limits import Limits, variable
from parsing.yaml_text import read_yaml
from tests.test_docs import problem_with

ROOT = Path(__file__).resolve().parents[1]
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
COMPOSE = (ROOT / "compose.yaml").read_text(encoding="utf-8")
CADDYFILE = (ROOT / "deploy" / "Caddyfile").read_text(encoding="utf-8")
UNIT = (ROOT / "deploy" / "usl.service").read_text(encoding="utf-8")
GUIDE = (ROOT / "docs" / "deploying.md").read_text(encoding="utf-8")
SERVED = ("app.py", "serve.py", "usl.py", "api", "crm", "db", "leaderboard", "pages")
NOT_OF_A_SERVER = {"USL_CORPORA"}
"""Of training and measurements."""
SECRETS = {"POSTGRES_PASSWORD": "p4ss", "COOKIE_SECRET": "c00kie"}


def environment_of_the_app(dotenv: dict[str, str]) -> dict[str, str]:
    """What Compose gives the app: the variables of its file, then those that it sets itself.

    This is Compose's rule in small, as no Compose is at hand where tests run.
    """
    app = read_yaml(COMPOSE.encode(), depth=10)["services"]["app"]
    listed = dotenv if {"path": ".env", "required": False} in app.get("env_file", []) else {}
    return {**listed, **{name: filled_in(text, dotenv) for name, text in app["environment"].items()}}


def filled_in(text: str, variables: dict[str, str]) -> str:
    """A text with ``${NAME}``, ``${NAME:-default}`` and ``${NAME:?message}`` filled in from within."""
    found = re.search(r"\$\{(\w+)(?:(:[-?])([^${}]*))?\}", text)
    if found is None:
        return text
    name, kind, rest = found.groups()
    value = variables.get(name) or (rest if kind == ":-" else "")
    assert value or kind != ":?", rest
    return filled_in(text[: found.start()] + value + text[found.end() :], variables)


def variables_in(text: str) -> set[str]:
    return set(re.findall(r"\bUSL_[A-Z_]*[A-Z]\b", text))


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
    assert environment_of_the_app(SECRETS) == {
        **SECRETS,
        "USL_DATABASE_URL": "postgresql://usl:p4ss@database/usl",
        "STREAMLIT_SERVER_COOKIE_SECRET": "c00kie",
        "FORWARDED_ALLOW_IPS": "10.0.0.0/8,172.16.0.0/12,192.168.0.0/16,fd00::/8",
    }
    assert services["database"]["environment"]["POSTGRES_DB"] == "usl"
    assert app["expose"] == ["8501"] and "ports" not in app
    assert not [name for name, service in services.items() if service.get("privileged")]


@pytest.mark.parametrize("name", sorted(set(re.findall(r"\$\{(\w+)", COMPOSE))))
def test_every_setting_of_the_compose_file_is_in_the_guide(name: str) -> None:
    assert f"`{name}`" in GUIDE


def test_every_setting_of_the_guide_reaches_the_app() -> None:
    given = {name: f"value of {name}" for name in {*variables_in(GUIDE), "OPENAI_API_KEY"}}
    assert {"USL_API_JUDGES", "USL_BENCHMARK", "USL_CRITIQUES", "USL_DATABASE_URL"} <= given.keys()

    assert given.items() <= environment_of_the_app(SECRETS | given).items()


def test_every_setting_of_the_server_is_in_the_guide() -> None:
    files = [ROOT / name for name in SERVED if name.endswith(".py")]
    files += [file for name in SERVED for file in (ROOT / name).rglob("*.py")]
    read = {name for file in files for name in variables_in(file.read_text(encoding="utf-8"))}
    read |= {variable(field.name) for field in fields(Limits)}
    assert {"USL_API", "USL_CRITIC", "USL_UPLOAD_LLMS"} <= read

    assert sorted(name for name in read - NOT_OF_A_SERVER if f"`{name}`" not in GUIDE) == []


def test_an_empty_home_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else an installation would keep its data among its packages."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    for given, home in (("", str(tmp_path / "usl")), ("/srv/usl", "/srv/usl")):
        monkeypatch.setenv(HOME_VARIABLE, given)
        installed = importlib.util.spec_from_file_location("usl_leaderboard.usl", ROOT / "usl.py")
        assert installed is not None and installed.loader is not None
        installed.loader.exec_module(importlib.util.module_from_spec(installed))
        assert os.environ[HOME_VARIABLE] == home


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
    copied = re.findall(r"^COPY ((?:\S+\.txt )+)", DOCKERFILE, re.MULTILINE)
    assert {"README.md", "LICENSE", *" ".join(copied).split()} == kept - needed


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
