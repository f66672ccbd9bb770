"""The README's commands run as they are printed, in their order, in a folder with nothing else in it."""

import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from crm.cli import main as crm_main
from db.database import URL_VARIABLE
from leaderboard.__main__ import main as leaderboard_main
from precompute.__main__ import main as precompute_main
from tests.conftest import Run
from tests.test_docs import block_lines

MAINS = {"crm": crm_main, "leaderboard": leaderboard_main, "precompute": precompute_main}
TYPED = re.compile(r"\.venv/bin/python -m (\w+) ")
END = "precompute cluster"
"""What takes minutes, or asks LLMs, begins here."""


def typed(document: str) -> Iterator[list[str]]:
    """The words of each command line that needs neither minutes nor an LLM."""
    for line in block_lines(document):
        if END in line:
            return
        if TYPED.match(line) or line.startswith("echo "):
            yield shlex.split(line, comments=True)


def test_they_run_and_make_what_the_next_one_reads(
    bundled_file: Path, tmp_path: Path, run_main: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = shutil.copy(bundled_file, tmp_path / "usl.sqlite3")
    monkeypatch.setenv(URL_VARIABLE, f"sqlite:///{database}")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    ran = []
    for words in typed("README.md"):
        kept, _, target = " ".join(map(shlex.quote, words)).partition(" '>' ")
        if words[0] == "echo":
            subprocess.run(["bash", "-c", f"{kept} > {target}"], check=True)
            continue
        _, _, module, *arguments = shlex.split(kept)
        code, out, err = run_main(MAINS[module], *arguments)
        assert code == 0, (arguments, err)
        if target:
            Path(target).write_text(out, encoding="utf-8")
        ran.append(" ".join([module, *arguments[:2]]))

    assert len(ran) >= 8
    assert "precompute import table" in ran
    assert "precompute pool everyday" in ran
