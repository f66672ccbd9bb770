"""How a view is cited: BibTeX with the version of the software, the date, and the paper of the method."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from leaderboard.file_formats import describe
from leaderboard.result import Leaderboard
from parsing.documents import read_toml
from parsing.yaml_text import read_yaml

_ROOT = Path(__file__).resolve().parent.parent
_SPECIAL = {letter: f"\\{letter}" for letter in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}


@cache
def version() -> str:
    """Return the version of this software, from its project file."""
    project: str = read_toml((_ROOT / "pyproject.toml").read_bytes())["project"]["version"]
    return project


def cite(leaderboard: Leaderboard, link: str, made: datetime) -> str:
    """Return two entries of BibTeX: the view as it is on a day, and the paper whose method it implements.

    Args:
        link: Where the view can be seen.
    """
    software = _software()
    about = describe(leaderboard, made)
    asked = f"topics: {about['topics']}; criteria: {about['criteria']}"
    benchmark = f"{about['benchmark_title']}, version {about['benchmark_version'] or 'unknown'}"
    judge = f"judge {about['judge']} {about['judge_version']}"
    view = {
        "title": f"{{{_escaped(software['title'])}}}",
        "author": f"{{{_escaped(_authors(software['authors']))}}}",
        "year": str(made.year),
        "version": version(),
        "url": link,
        "urldate": f"{made:%Y-%m-%d}",
        "note": _escaped(f"Ranking of {benchmark}; {asked}; {judge}"),
    }
    papers = map(_paper, software["references"])
    return "\n\n".join([_entry("software", f"usl-{made:%Y-%m-%d}", view), *papers])


def _paper(reference: Mapping[str, Any]) -> str:
    fields = {
        "title": f"{{{_escaped(reference['title'])}}}",
        "author": _escaped(_authors(reference["authors"])),
        "year": str(reference["year"]),
        "url": reference["url"],
    }
    return _entry("article", f"{reference['authors'][0]['family-names'].lower()}-{reference['year']}", fields)


def _entry(kind: str, key: str, fields: Mapping[str, str]) -> str:
    lines = (f"  {name} = {{{value}}}," for name, value in fields.items())
    return "\n".join([f"@{kind}{{{key},", *lines, "}"])


def _authors(authors: Sequence[Mapping[str, str]]) -> str:
    names = (each.get("name") or f"{each['family-names']}, {each['given-names']}" for each in authors)
    return " and ".join(names)


def _escaped(text: str) -> str:
    """Return text that LaTeX prints as it stands."""
    return re.sub(r"[&%$#_{}\\~^]", lambda found: _SPECIAL[found[0]], text)


@cache
def _software() -> dict[str, Any]:
    found: dict[str, Any] = read_yaml((_ROOT / "CITATION.cff").read_bytes(), depth=9)
    return found
