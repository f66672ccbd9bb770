"""Every finding in the docs is held by a test that exists."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
DOCUMENT = (ROOT / "docs" / "findings.md").read_text(encoding="utf-8")
ROWS = [line for line in DOCUMENT.splitlines() if re.match(r"\| (?!finding |---)", line)]
_TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+(?:::\w+)?)`")
_COMMAND = re.compile(r"`python -m benchmarks\.(\w+)`")


@cache
def names_in(path: str) -> frozenset[str]:
    """The names of the tests in a file, those in a class after its name."""
    body = ast.parse((ROOT / path).read_text(encoding="utf-8")).body
    classes = [node for node in body if isinstance(node, ast.ClassDef)]
    found = [("", node) for node in body] + [
        (f"{each.name}::", node) for each in classes for node in each.body
    ]
    return frozenset(
        f"{place}{node.name}"
        for place, node in found
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    )


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.split("|")[1].strip())
def test_a_finding_is_held_by_tests_that_exist(row: str) -> None:
    _, finding, held_by, _ = row.split("|")
    tests, commands = _TEST.findall(held_by), _COMMAND.findall(held_by)

    assert finding.strip()
    assert tests or commands
    assert held_by.count("`") == 2 * (len(tests) + len(commands))
    assert [
        test for test in tests if not (ROOT / test[0]).is_file() or test[1] not in names_in(test[0])
    ] == []
    assert [name for name in commands if not (ROOT / "benchmarks" / f"{name}.py").is_file()] == []
