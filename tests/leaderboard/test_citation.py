"""A view's citation: what was ranked, by which version, when, and the paper of the method."""

import re
from datetime import datetime

import yaml

from crm.criteria import CriteriaSet
from leaderboard.citation import _ROOT, cite, version
from leaderboard.service import Service
from leaderboard.view import View


def test_it_names_version_date_link_and_what_was_asked(service: Service) -> None:
    view = View("dailybench", ("Arts & Culture",), CriteriaSet.of(["100 % plain_words"], ["lists"]))
    link = view.to_link("https://example.org/")
    found = cite(service.leaderboard(view), link, datetime(2026, 2, 3))
    assert found.startswith("@software{usl-2026-02-03,\n")
    assert "  urldate = {2026-02-03},\n" in found
    assert f"  version = {{{version()}}},\n" in found
    assert f"  url = {{{link}}},\n" in found
    assert r"topics: Arts \& Culture; criteria: 100 \% plain\_words; Avoid: lists" in found
    assert "@article{jia-2025,\n" in found
    assert "Jia, Qi and Song, Xiujie" in found


def test_braces_are_balanced_whatever_is_asked(service: Service) -> None:
    view = View("dailybench", criteria=CriteriaSet.of([r"} \input{x} ~ ^ $x$ #1"]), keep_unjudged=True)
    found = cite(service.leaderboard(view), "", datetime(2026, 2, 3))
    bare = re.sub(r"\\[{}]", "", found)
    assert bare.count("{") == bare.count("}")
    assert r"\} \textbackslash{}input\{x\} \textasciitilde{} \textasciicircum{} \$x\$ \#1" in found


def test_the_citation_file_has_the_project_s_version() -> None:
    assert yaml.safe_load((_ROOT / "CITATION.cff").read_text(encoding="utf-8"))["version"] == version()
