"""Whether two checkouts give the same answers: rankings, verdicts, topics, bundles, stored databases.

``record`` runs one checkout on a database of its own and writes all it says as files, ``compare`` holds two
such folders against each other, byte by byte. A checkout is only asked through its command lines, so its
files, names and types may all be different. What is different at every run is left out: times, dates, the
speed of judges, progress, and the temporary folders. ``_answers.py`` lists the command lines.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import sqlite3
import subprocess
import tempfile
import zipfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Annotated

import typer

from benchmarks._answers import OUT, WORK, Step, existing_steps, steps, write_inputs
from benchmarks._report import Report, duration

app = typer.Typer(add_completion=False)

DATABASE = "database.sqlite"
_ABOUT = "record.json"
_BINARY = (".zip", ".sqlite", ".npz")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
_LONGEST = 100
_MOST_LINES = 60

# Runs in the checkout: all command lines in one process, so that imports are made once.
_DRIVER = r"""
import contextlib, io, json, pathlib, runpy, sys, traceback
sys.path.insert(0, "")
steps = json.loads(pathlib.Path(sys.argv[1]).read_text())
told = sys.stdout
for name, argv, target in steps:
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    path = pathlib.Path(target)
    path.parent.mkdir(parents=True, exist_ok=True)
    code = 0
    sys.argv = argv
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            if argv[0] == "edit":
                text = pathlib.Path(argv[1]).read_text(encoding="utf-8")
                if argv[3] not in text:
                    raise ValueError(f"nothing to edit: {argv[3]}")
                pathlib.Path(argv[2]).write_text(text.replace(argv[3], argv[4]), encoding="utf-8")
            else:
                runpy.run_module(argv[0], run_name="__main__", alter_sys=True)
        except SystemExit as end:
            code = end.code
        except BaseException as error:
            code = f"traceback: {type(error).__name__}: {error}"
            traceback.print_exc(file=sys.__stderr__)
    path.write_bytes(out.buffer.getvalue())
    path.with_name(path.name + ".status").write_bytes(f"exit {code}\n".encode() + err.buffer.getvalue())
    print(name, file=told, flush=True)
"""

_TIME = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|\+\d\d:\d\d)?")
_SPEED = {
    re.compile(r"From a choice to the next pair:.*"): "",  # of benchmarks.simulated_users
    re.compile(r" in [\d.,]+ (?:ms|s|min)(?: \([\d.,]+ per second\))?"): "",  # of precompute
    re.compile(r"Timed on .*"): "",  # of crm evaluate
    re.compile(r'("(?:seconds_per_1000|cost_per_1000|machine)": ).*?(,?)$', re.MULTILINE): r"\1null\2",
}
_REMOVED = ("embedded-1, ", "minilm-style-1, ")
"""An old judge that goes, in the lists of what there is."""
_PROGRESS = re.compile(r"^(?!note:|error:).*(?:\d ?%|\d of \d|\d/\d)")


@dataclass(frozen=True)
class Difference:
    """One answer that differs: its file, and in which way, in words."""

    name: str
    where: str


def record_answers(
    checkout: Path,
    folder: Path,
    python: Path | None = None,
    existing: Path | None = None,
    only: Collection[str] = (),
) -> None:
    """Run a checkout and write its answers into a folder that is replaced.

    Args:
        python: What runs it; by default the checkout's own virtual environment.
        existing: A database that is opened by this checkout, in the end; by default the one just made.
        only: Kinds of answers; none means all. ``correlate`` needs ``rank``, ``existing`` a database of all.
    """
    started = perf_counter()
    checkout = checkout.resolve()
    if folder.exists() and not (folder / _ABOUT).is_file() and any(folder.iterdir()):
        raise typer.BadParameter(f"{folder} is no record: name an empty or a new folder.")
    with tempfile.TemporaryDirectory(prefix="answers-") as temporary:
        work = Path(temporary).resolve()
        out = work / "out"
        out.mkdir()
        write_inputs(work)
        run = _Run(checkout, python or checkout / ".venv" / "bin" / "python", work, out)
        run.steps([step for step in steps() if not only or step.kind in only], work / DATABASE)
        _backup(work / DATABASE, work / "later.sqlite", existing)
        _write_database(work / DATABASE, out / "database")
        if not only or "existing" in only:
            run.steps(list(existing_steps()), work / "later.sqlite")
            _write_database(work / "later.sqlite", out / "existing" / "database")
        for bundle in sorted(out.glob("bundle/*.zip")):
            _write_members(bundle)
        _normalise(out, {str(out): "<out>", str(work): "<work>", str(checkout): "<checkout>"})
        _backup(work / DATABASE, out / DATABASE)
        (out / _ABOUT).write_text(json.dumps({"seconds": round(perf_counter() - started)}), encoding="utf-8")
        if folder.exists():
            shutil.rmtree(folder)
        shutil.copytree(out, folder)


@dataclass(frozen=True)
class _Run:
    """A checkout, and the folders its command lines work in."""

    checkout: Path
    python: Path
    work: Path
    out: Path

    def steps(self, asked: list[Step], database: Path) -> None:
        """Run command lines one after the other in one process."""
        plan = [
            (step.name, [self._placed(word) for word in step.argv], str(self.out / step.name))
            for step in asked
        ]
        file = self.work / "steps.json"
        file.write_text(json.dumps(plan), encoding="utf-8")
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("USL_", "PYTHON"))}
        settings = {
            "USL_DATABASE_URL": f"sqlite:///{database}",
            "HF_HUB_OFFLINE": "1",
            "COLUMNS": "160",
            "TERM": "dumb",
            "NO_COLOR": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        command = [str(self.python), "-c", _DRIVER, str(file)]
        with subprocess.Popen(
            command, cwd=self.checkout, env={**clean, **settings}, stdout=subprocess.PIPE, text=True
        ) as process:
            last = perf_counter()
            for place, line in enumerate(process.stdout or (), 1):
                took = perf_counter() - last
                typer.echo(f"{place}/{len(plan)} {line.strip()} {duration(took)}", err=True)
                last = perf_counter()
        if process.returncode:
            raise typer.BadParameter(f"{self.checkout} ended with code {process.returncode}.")

    def _placed(self, word: str) -> str:
        """Return the word with the folders for their placeholders."""
        for placeholder, folder in ((OUT, self.out), (WORK, self.work)):
            if word.startswith(f"{placeholder}/"):
                return str(folder) + word.removeprefix(placeholder)
        return word


def _backup(source: Path, target: Path, instead: Path | None = None) -> None:
    with closing(sqlite3.connect(instead or source)) as old, closing(sqlite3.connect(target)) as new:
        old.backup(new)


def _write_database(database: Path, folder: Path) -> None:
    """The schema, and of each table how many rows it has and the digest of all that are no times."""
    folder.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(database)) as connection:
        made = connection.execute("SELECT type, name, sql FROM sqlite_master ORDER BY type, name").fetchall()
        # SQLite quotes a table's name or not, by how the table came about.
        schema = "".join(f"{sql or f'{kind} {name}'};\n" for kind, name, sql in made).replace('"', "")
        (folder / "schema.sql").write_text(schema, encoding="utf-8")
        lines = []
        for name in (name for kind, name, _ in made if kind == "table"):
            columns = [column[1] for column in connection.execute(f'PRAGMA table_info("{name}")')]
            kept = ", ".join(f'"{column}"' for column in columns if not column.endswith("_at"))
            rows = sorted(map(repr, connection.execute(f'SELECT {kept} FROM "{name}"')))
            digest = hashlib.sha256("\n".join(rows).encode()).hexdigest()
            lines.append(f"{name}: {len(rows)} rows, {digest}\n")
    (folder / "tables.txt").write_text("".join(lines), encoding="utf-8")


def _write_members(bundle: Path) -> None:
    """The digest of a bundle and of each member, and its texts as files."""
    lines = [f"whole {_digest(bundle.read_bytes())}\n"]
    with zipfile.ZipFile(bundle) as members:
        for name in members.namelist():
            content = members.read(name)
            lines.append(f"{name} {_digest(content)}\n")
            if not name.endswith(".npz"):
                target = bundle.with_suffix("") / name
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content)
    bundle.with_suffix(".members.txt").write_text("".join(lines), encoding="utf-8")
    bundle.unlink()


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _normalise(out: Path, names: Mapping[str, str]) -> None:
    """Take out of all answers what is different at every run."""
    for path in filter(Path.is_file, out.rglob("*")):
        if path.suffix in _BINARY:
            continue
        text = path.read_text(encoding="utf-8")
        for name, word in (*names.items(), *((removed, "") for removed in _REMOVED)):
            text = text.replace(name, word)
        if path.suffix == ".status":
            text = "\n".join(
                line for line in text.replace("\r", "\n").splitlines() if not _PROGRESS.search(line)
            )
        kind = path.relative_to(out).parts[0]
        if kind in ("topics", "existing"):
            text = _TIME.sub("<time>", text)
        if kind in ("course", "evaluate", "import", "bundle") and path.suffix in (".txt", ".json"):
            for pattern, instead in _SPEED.items():
                text = pattern.sub(instead, text)
        if kind == "evaluate" and path.suffix == ".txt":
            text = _without_speed(text)
        path.write_text(text, encoding="utf-8")


def _without_speed(text: str) -> str:
    """Return the tables of judges without their columns of seconds and cost, which are the last ones."""
    lines, cut = [], None
    for line in text.splitlines():
        if "s / 1,000" in line:
            cut = line.index("s / 1,000") - 1
            lines.append(line[:cut].rstrip())
        elif cut is not None and line.startswith("Single criteria:"):
            cut = None
            lines.append(line)
        else:
            lines.append(line[:cut].rstrip())
    return "\n".join(lines)


def compare_folders(a: Path, b: Path, only: Collection[str] = ()) -> dict[str, tuple[int, list[Difference]]]:
    """Return how many answers of each kind there are, and those that differ or that one side lacks."""
    names = sorted(_answers(a) | _answers(b))
    found: dict[str, tuple[int, list[Difference]]] = {}
    for name in names:
        kind = name.split("/", 1)[0] if "/" in name else "."
        if only and kind not in only:
            continue
        count, differences = found.get(kind, (0, []))
        where = _where(a / name, b / name)
        found[kind] = (count + 1, [*differences, Difference(name, where)] if where else differences)
    return found


def _answers(folder: Path) -> set[str]:
    return {
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.is_file() and path.name not in (_ABOUT, DATABASE)
    }


def _where(a: Path, b: Path) -> str:
    """In which way two files differ; empty where they are the same."""
    for side, path in (("first", a), ("second", b)):
        if not path.is_file():
            return f"missing in the {side}"
    if a.read_bytes() == b.read_bytes():
        return ""
    try:
        first, second = (path.read_text(encoding="utf-8") for path in (a, b))
    except UnicodeDecodeError:
        return "other bytes"
    if _NUMBER.sub("#", first) == _NUMBER.sub("#", second):
        pairs = zip(_NUMBER.findall(first), _NUMBER.findall(second), strict=True)
        return f"only numbers, by at most {max(abs(float(x) - float(y)) for x, y in pairs):.2g}"
    lines = first.splitlines(), second.splitlines()
    for number, (x, y) in enumerate(zip(*lines, strict=False), 1):
        if x != y:
            return f"line {number}: {_short(x)} / {_short(y)}"
    return f"{len(lines[0])} / {len(lines[1])} lines, the same as far as both go"


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def comparison(found: Mapping[str, tuple[int, list[Difference]]], names: Iterable[str]) -> Report:
    """Return the table: one line a kind of answer."""
    rows = []
    for kind, (count, differences) in found.items():
        first = differences[0].name.split("/", 1)[-1] if differences else ""
        verdict = f"{len(differences)} differ, first {first}" if differences else "equal"
        rows.append((kind, str(count), verdict))
    n, n_different = sum(row[0] for row in found.values()), sum(len(row[1]) for row in found.values())
    verdict = "all are equal" if n_different == 0 else f"{n_different} differ"
    note = f"{' against '.join(names)}: {n} answers, {verdict}."
    return Report("Answers of two checkouts", ("kind", "answers", "the same?"), tuple(rows), note)


@contextmanager
def _records(a: Path, b: Path, only: Collection[str]) -> Iterator[tuple[Path, Path]]:
    """Both as folders of answers; a checkout is recorded, the second one also on the first one's database."""
    with tempfile.TemporaryDirectory(prefix="records-") as temporary:
        first = _recorded(a, Path(temporary) / "a", None, only)
        stored = first / DATABASE
        yield first, _recorded(b, Path(temporary) / "b", stored if stored.is_file() else None, only)


def _recorded(path: Path, folder: Path, existing: Path | None, only: Collection[str]) -> Path:
    if not (path / "app.py").is_file():
        if not path.is_dir():
            raise typer.BadParameter(f"{path} is neither a record nor a checkout.")
        return path
    record_answers(path, folder, existing=existing, only=only)
    return folder


Existing = Annotated[
    Path | None, typer.Option(help="A record, or a database, of another checkout that this one is to open.")
]
Only = Annotated[
    list[str] | None, typer.Option(help="Only this kind of answers; repeatable.", metavar="KIND")
]


@app.command()
def record(
    checkout: Annotated[Path, typer.Argument(help="What is asked.")],
    folder: Annotated[Path, typer.Argument(help="Where its answers go; an earlier record is replaced.")],
    python: Annotated[Path | None, typer.Option(help="By default the checkout's .venv/bin/python.")] = None,
    existing: Existing = None,
    only: Only = None,
) -> None:
    """Write what a checkout answers."""
    if existing is not None and existing.is_dir():
        existing = existing / DATABASE
    started = perf_counter()
    record_answers(checkout, folder, python, existing, only or ())
    typer.echo(f"{len(_answers(folder))} answers in {duration(perf_counter() - started)}: {folder}")


@app.command()
def compare(
    a: Annotated[Path, typer.Argument(help="A record, or a checkout.")],
    b: Annotated[Path, typer.Argument(help="Another one.")],
    only: Only = None,
) -> None:
    """Say whether two records, or two checkouts, give the same answers; exit code 1 where they do not."""
    with _records(a, b, only or ()) as (first, second):
        found = compare_folders(first, second, only or ())
    comparison(found, (a.resolve().name, b.resolve().name)).finish(None)
    differences = [difference for _, kind in found.values() for difference in kind]
    for difference in differences[:_MOST_LINES]:
        typer.echo(f"{difference.name}: {difference.where}")
    if len(differences) > _MOST_LINES:
        typer.echo(f"… and {len(differences) - _MOST_LINES} more")
    if differences or not found:
        raise typer.Exit(1)


if __name__ == "__main__":
    app()
