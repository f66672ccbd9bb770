"""How large the house is: files, lines, small files, dataclasses, error classes and modules used once.

Of each checkout, over the Python files that Git tracks (without Git over all of the folder).
"""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Annotated

import typer

from benchmarks._report import Report

app = typer.Typer(add_completion=False)

TESTS = "tests"
_SMALL = 40
_EXCEPTIONS = ("Exception", "BaseException")
_PACKAGE, _PROGRAM = "__init__", "__main__"


@dataclass(frozen=True)
class Size:
    """What is counted of one checkout.

    Attributes:
        lines: Of each Python file that is no test.
        dataclasses: Classes with the decorator ``@dataclass``.
        errors: Classes that derive from an exception, also by way of others.
        one_importer: Modules that exactly one other file imports, tests left out.
        test_lines: Of each Python file of the tests.
    """

    lines: tuple[int, ...]
    dataclasses: int
    errors: int
    one_importer: int
    test_lines: tuple[int, ...]

    def cells(self) -> Mapping[str, str]:
        """Return the figures in words."""
        return {
            "Python files without tests": f"{len(self.lines):,}",
            "lines": f"{sum(self.lines):,}",
            "median lines of a file": f"{median(self.lines or [0]):,.0f}",
            f"files under {_SMALL} lines": f"{sum(count < _SMALL for count in self.lines):,}",
            "dataclasses": f"{self.dataclasses:,}",
            "error classes": f"{self.errors:,}",
            "modules with one importer": f"{self.one_importer:,}",
            "test files": f"{len(self.test_lines):,}",
            "test lines": f"{sum(self.test_lines):,}",
        }


def size_of(checkout: Path) -> Size:
    """Count a checkout."""
    texts = {path: (checkout / path).read_text(encoding="utf-8") for path in python_files(checkout)}
    tests = {path for path in texts if path.parts[0] == TESTS}
    trees = {path: ast.parse(text) for path, text in texts.items() if path not in tests}
    classes = [node for tree in trees.values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    return Size(
        lines=tuple(len(texts[path].splitlines()) for path in trees),
        dataclasses=sum(any(map(_is_dataclass, node.decorator_list)) for node in classes),
        errors=_errors(classes),
        one_importer=sum(len(importers) == 1 for importers in importers_of(trees).values()),
        test_lines=tuple(len(texts[path].splitlines()) for path in sorted(tests)),
    )


def python_files(checkout: Path) -> list[Path]:
    """Return the Python files of a checkout, relative to it."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "*.py"], cwd=checkout, capture_output=True, text=True, check=False
    )
    if listed.returncode == 0 and listed.stdout:
        found = [Path(name) for name in listed.stdout.split("\0") if name]
        return sorted(path for path in found if (checkout / path).is_file())
    walked = (path.relative_to(checkout) for path in checkout.rglob("*.py"))
    return sorted(path for path in walked if not any(part.startswith(".") for part in path.parts))


def importers_of(trees: Mapping[Path, ast.Module]) -> dict[str, set[Path]]:
    """Return which files import each module; packages and ``__main__`` are none."""
    names = {".".join(path.with_suffix("").parts): path for path in trees}
    importers: dict[str, set[Path]] = {
        name: set() for name, path in names.items() if path.stem not in (_PACKAGE, _PROGRAM)
    }
    for path, tree in trees.items():
        for name in _imported(path, tree):
            if name in importers and names[name] != path:
                importers[name].add(path)
    return importers


def _imported(path: Path, tree: ast.Module) -> Iterator[str]:
    """Yield every name that an import may mean: ``from a import b`` is ``a`` or the module ``a.b``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = path.parts[: -node.level] if node.level else ()
            module = ".".join([*base, *([node.module] if node.module else [])])
            yield module
            yield from (f"{module}.{name.name}" for name in node.names)


def _is_dataclass(decorator: ast.expr) -> bool:
    named = decorator.func if isinstance(decorator, ast.Call) else decorator
    return _last_name(named) == "dataclass"


def _last_name(node: ast.expr) -> str:
    """``Name`` of ``Name`` and of ``module.Name``."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _errors(classes: Iterable[ast.ClassDef]) -> int:
    """Return how many derive from an exception, by the names of their bases."""
    bases = [(node.name, {_last_name(base) for base in node.bases}) for node in classes]
    known = {*_EXCEPTIONS, *_builtin_exceptions()}
    while True:
        more = {name for name, parents in bases if parents & known} - known
        if not more:
            return sum(bool(parents & known) for _, parents in bases)
        known |= more


def _builtin_exceptions() -> Iterator[str]:
    waiting: list[type[BaseException]] = [BaseException]
    while waiting:
        found = waiting.pop()
        if found.__module__ == "builtins":
            yield found.__name__
            waiting += found.__subclasses__()


def report(sizes: Mapping[str, Size]) -> Report:
    """Return the table: one column a checkout."""
    columns = [size.cells() for size in sizes.values()]
    rows = tuple((name, *(cells[name] for cells in columns)) for name in columns[0])
    changes = (
        f"{second} has {_change(sizes[first].lines, sizes[second].lines)} of the lines of {first}"
        for first, second in pairwise(sizes)
    )
    return Report("Size of the house", ("", *sizes), rows, "; ".join(changes))


def _change(old: Sequence[int], new: Sequence[int]) -> str:
    return f"{sum(new) / max(sum(old), 1):.1%}"


@app.command()
def main(
    checkouts: Annotated[list[Path] | None, typer.Argument(help="Folders; by default this checkout.")] = None,
    output: Annotated[Path | None, typer.Option(help="Also write the table here, as Markdown.")] = None,
) -> None:
    """Count files, lines and the like of checkouts, side by side."""
    folders = checkouts or [Path(__file__).resolve().parent.parent]
    report({str(folder): size_of(folder.resolve()) for folder in folders}).finish(output)


if __name__ == "__main__":
    app()
