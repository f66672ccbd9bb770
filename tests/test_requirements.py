"""Offline jobs run beside vLLM in an environment that lacks most of what the app runs on."""

import re
import subprocess
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
WITH_VLLM = frozenset(
    (
        "jinja2",
        "numpy",
        "pillow",
        "pydantic",
        "pyyaml",
        "rich",
        "safetensors",
        "tokenizers",
        "torch",
        "transformers",
        "typer",
    )
)
"""Packages that vLLM brings."""
_BLOCK = """
import sys
from importlib import import_module
from importlib.abc import MetaPathFinder

class Missing(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {blocked!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}: requirements-offline.txt lacks it")

sys.meta_path.insert(0, Missing())
import_module({module!r})
"""


def pins(name: str) -> dict[str, str]:
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    found = (re.match(r"([\w-]+)(?:\[\w+\])?==(\S+)", line) for line in lines)
    return {match[1].lower(): match[2] for match in found if match}


@pytest.mark.parametrize("module", ["crm.cli", "leaderboard.__main__", "precompute.__main__"])
def test_command_lines_start_with_what_offline_jobs_have(module: str) -> None:
    lacking = pins("requirements.txt").keys() - pins("requirements-offline.txt").keys() - WITH_VLLM
    blocked = sorted(
        top
        for top, packages in packages_distributions().items()
        if lacking & {package.lower() for package in packages}
    )
    assert {"streamlit", "fastapi", "bertopic", "hdbscan"} <= set(blocked)

    done = subprocess.run(
        [sys.executable, "-c", _BLOCK.format(blocked=blocked, module=module)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr


def test_offline_jobs_have_the_versions_of_the_app() -> None:
    app, offline = pins("requirements.txt"), pins("requirements-offline.txt")

    assert offline.items() <= app.items()
