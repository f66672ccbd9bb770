"""What the documentation names exists: files, modules, make targets, commands with their options."""

from __future__ import annotations

import importlib
import pkgutil
import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer

from tests.conftest import NOT_FAST, TESTS

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("parsing", "leaderboard", "crm", "db", "precompute", "api", "benchmarks")
CODE = (*PACKAGES, "pages")
SUFFIXES = ("py", "md", "toml", "txt", "json", "jsonl", "csv", "npz", "parquet", "yaml", "zip", "png", "cff")
FOLDERS = tuple(path.name for path in ROOT.iterdir() if path.is_dir() and path.name not in ("data",))
SHIPPED_AS_EXAMPLE = ("crms.toml", "llms.toml", "llm-facts.toml", "clustering.toml")

MARKDOWN = sorted(
    path.relative_to(ROOT).as_posix()
    for pattern in ("*.md", "docs/**/*.md", "bundled/**/*.md")
    for path in ROOT.glob(pattern)
)
INITS = sorted(
    path.relative_to(ROOT).as_posix() for name in CODE for path in (ROOT / name).rglob("__init__.py")
)
DOCUMENTS = [*MARKDOWN, *INITS]

_BLOCK = re.compile(r"^```[^\n]*\n(.*?)^```|^((?: {4}[^\n]*\n)+)", re.MULTILINE | re.DOTALL)
_TICKS = re.compile(r"(?<!`)(`{1,2})(?!`)([^`]+)\1(?!`)")
_LINK = re.compile(r"\]\(([^)#\s]+)")
_COMMAND = re.compile(rf"(?:python -m |^(?=usl ))((?:{'|'.join((*PACKAGES, 'usl'))})\b.*)")
_END = re.compile(r"\s(?:#|>|\||&&)|[;`)…](?:\s|$)")
_MAKE = re.compile(r"^\s*(?:[A-Z_]+=\S+ )?make ([a-z][a-z-]*)", re.MULTILINE)
_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*")


def text_of(document: str) -> str:
    """The document; of a package its docstring."""
    text = (ROOT / document).read_text(encoding="utf-8")
    return text if document.endswith(".md") else importlib.import_module(module_of(document)).__doc__ or ""


def module_of(path: str) -> str:
    """The module in a file."""
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def quoted(document: str) -> list[str]:
    """What stands in backticks outside of code blocks."""
    prose = re.sub(r"^```.*?^```", "", text_of(document), flags=re.MULTILINE | re.DOTALL)
    return [" ".join(match[2].split()) for match in _TICKS.finditer(prose)]


def block_lines(document: str) -> list[str]:
    """Lines of code blocks; one that is continued counts once."""
    blocks = ["".join(filter(None, match.groups())) for match in _BLOCK.finditer(text_of(document))]
    lines = "\n".join(blocks).replace("\\\n", " ").splitlines()
    return [" ".join(line.split()) for line in lines]


def code_lines(document: str) -> list[str]:
    """Lines of code blocks, and what stands in backticks."""
    return [*block_lines(document), *quoted(document)]


def commands_in(document: str) -> Iterator[str]:
    """Command lines of this project, from the module's name on."""
    for line in code_lines(document):
        for part in line.split("&&"):
            if (found := _COMMAND.search(part)) and "NAME" not in found[1].split()[0]:
                yield _END.split(found[1])[0]
    for text in quoted(document):
        if re.match(r"(?:crm|leaderboard|precompute|usl) [a-z][a-z-]+( |$)", text):
            yield text


@cache
def command_of(module: str) -> Any:
    """The command line of a module that is run with ``python -m``."""
    is_package = (ROOT / module.replace(".", "/")).is_dir()
    name = {"crm": "crm.cli"}.get(module, f"{module}.__main__" if is_package else module)
    return typer.main.get_command(importlib.import_module(name).app)


def commands_of(group: Any) -> dict[str, Any]:
    """The commands of a group by name, those too whose code is loaded when they are called."""
    context = typer.Context(group)
    return {name: group.get_command(context, name) for name in group.list_commands(context)}


def problem_with(line: str) -> str:
    """What is wrong with a command line; empty if nothing is."""
    bare = re.sub(r"[\[\]]", " ", line)
    words = shlex.split(bare)
    command = command_of(words.pop(0))
    while hasattr(command, "commands") and words and not words[0].startswith("-"):
        name = words.pop(0)
        below = commands_of(command)
        if name not in below:
            return f"no command {name!r} beside {sorted(below)}"
        command = below[name]
    known = {
        option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)
    }
    unknown = [word for word in _OPTION.findall(" ".join(words)) if word not in {*known, "--help"}]
    return f"{command.name} has no {', '.join(unknown)}" if unknown else ""


@cache
def all_options() -> frozenset[str]:
    """Every option of every command of the project."""

    def options(command: Any) -> Iterator[str]:
        for parameter in command.params:
            yield from (*parameter.opts, *parameter.secondary_opts)
        for below in commands_of(command).values() if hasattr(command, "commands") else ():
            yield from options(below)

    modules = (
        "crm",
        "leaderboard",
        "precompute",
        "usl",
        *(f"benchmarks.{name}" for name in benchmark_names()),
    )
    return frozenset(option for module in modules for option in options(command_of(module)))


def exists(path: str, document: str) -> bool:
    """Whether a path exists in the project, or beside the document; it may be a pattern."""
    places = (ROOT, (ROOT / document).parent)
    return any(any(place.glob(path.rstrip("/"))) for place in places)


def missing_paths(document: str) -> list[str]:
    """The paths in backticks that name no file of the project."""
    found = []
    for text in quoted(document):
        if not re.fullmatch(r"[\w.*/-]+", text) or text.startswith("/"):
            continue
        first, _, rest = text.partition("/")
        named = (rest and first in FOLDERS) or text.endswith(".py") or text in SHIPPED_AS_EXAMPLE
        path = text.replace(".toml", ".example.toml") if text in SHIPPED_AS_EXAMPLE else text
        if named and not exists(path, document):
            found.append(text)
    return found


def missing_names(document: str) -> list[str]:
    """The dotted names in backticks that name neither a module nor something in one."""
    pattern = rf"(?:{'|'.join(CODE)})(?:\.\w+)+"
    names = (text.removesuffix("()") for text in quoted(document))
    return [
        name
        for name in names
        if re.fullmatch(pattern, name) and name.rpartition(".")[2] not in SUFFIXES and not is_name(name)
    ]


def is_name(name: str) -> bool:
    """Whether a dotted name is a module or an attribute of one."""
    try:
        pkgutil.resolve_name(name)
    except (ImportError, AttributeError):
        return False
    return True


def benchmark_names() -> list[str]:
    """The measurements that can be run."""
    names = (path.stem for path in (ROOT / "benchmarks").glob("*.py"))
    return sorted(name for name in names if not name.startswith("_"))


def make_targets() -> dict[str, str]:
    """The targets of the Makefile with what ``make help`` says of them."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    rules = re.findall(r"^([a-z-]+):(?!=)(.*)$", makefile, re.MULTILINE)
    return {target: rule.partition("## ")[2] for target, rule in rules}


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_path_exists(document: str) -> None:
    assert not missing_paths(document)


@pytest.mark.parametrize("document", MARKDOWN)
def test_every_link_leads_somewhere(document: str) -> None:
    targets = [link for link in _LINK.findall(text_of(document)) if not re.match(r"[a-z]+:", link)]
    assert not [link for link in targets if not ((ROOT / document).parent / link).exists()]


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_dotted_name_exists(document: str) -> None:
    assert not missing_names(document)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_command_has_its_options(document: str) -> None:
    assert not {line: problem for line in commands_in(document) if (problem := problem_with(line))}


@pytest.mark.parametrize("document", MARKDOWN)
def test_every_command_to_be_typed_names_the_python_that_has_what_it_needs(document: str) -> None:
    assert not [line for line in block_lines(document) if line.startswith("python -m")]


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_option_is_one_of_a_command(document: str) -> None:
    options = {option for text in quoted(document) if text.startswith("--") for option in text.split()[:1]}
    assert options <= all_options() | {"--help"}


@pytest.mark.parametrize("document", MARKDOWN)
def test_every_make_target_exists(document: str) -> None:
    targets = {target for line in code_lines(document) for target in _MAKE.findall(line)}
    assert targets <= make_targets().keys()


def test_make_help_lists_every_target() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    [phony] = re.findall(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)

    assert {name for name, text in make_targets().items() if text} == set(phony.split())


@pytest.mark.parametrize("init", INITS)
def test_a_package_names_its_parts_and_no_others(init: str) -> None:
    folder = (ROOT / init).parent
    beside = [path for path in folder.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()]
    parts = {path.stem for path in beside if not path.stem.startswith("_")}
    named = set(re.findall(r"\w+", " ".join(quoted(init))))
    heads = {
        name for item in re.findall(r"^- ([^:]*):", text_of(init), re.MULTILINE) for name in _names(item)
    }

    assert not parts - named, "not named"
    assert not {name for name in heads if not is_name(f"{module_of(init)}.{name}")}, "named, but not there"


def _names(item: str) -> list[str]:
    """The names in backticks at the head of a list's item."""
    return [match[2] for match in _TICKS.finditer(item) if match[2].isidentifier()]


@pytest.mark.parametrize("name", benchmark_names())
def test_every_benchmark_is_in_the_docs(name: str) -> None:
    assert any(f"benchmarks.{name}" in text_of(document) for document in MARKDOWN if "docs" in document)


def test_every_result_belongs_to_a_benchmark_or_to_another_command_on_the_list() -> None:
    results = {path.name for path in (ROOT / "benchmarks" / "results").iterdir()}
    linked = {Path(link).name for link in _LINK.findall(text_of("docs/measurements.md"))}

    assert not {name for name in results - linked if not name.startswith(tuple(benchmark_names()))}


def test_every_page_is_on_the_map_and_in_the_navigation() -> None:
    pages = {path.relative_to(ROOT).as_posix() for path in (ROOT / "pages").glob("*.py")}
    navigation = (ROOT / "pages" / "_ui" / "session.py").read_text(encoding="utf-8")

    assert pages <= set(quoted("docs/architecture.md"))
    assert pages == set(re.findall(r'"(pages/\w+\.py)"', navigation))


def test_what_is_left_out_of_the_fast_tests_exists() -> None:
    assert [path for path in NOT_FAST if not (TESTS / path).exists()] == []


def test_wrong_names_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "wrong.md").write_text(
        "`crm/nowhere.py`, `crm/criteria.py`, `nowhere.py`, `data/usl.sqlite3`, `llms.toml`\n"
        "`crm.nowhere`, `crm.criteria.Nothing`, `crm.criteria.CriteriaSet`, `crm.json`\n",
        encoding="utf-8",
    )
    document = str(tmp_path / "wrong.md")

    assert missing_paths(document) == ["crm/nowhere.py", "nowhere.py"]
    assert missing_names(document) == ["crm.nowhere", "crm.criteria.Nothing"]
    assert problem_with("crm scores a b").startswith("no command 'scores'")
    assert problem_with("precompute import table a.csv --benchmarks x") == "table has no --benchmarks"
    assert problem_with("usl serve --ports 1") == "serve has no --ports"
    assert problem_with("precompute topics split POOL [KEY] --parts N") == ""
