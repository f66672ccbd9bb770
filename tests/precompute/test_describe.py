import json
from dataclasses import replace
from pathlib import Path

import pytest

from precompute.describe import described
from precompute.errors import ImportFileError
from tests.db import samples

ABOUT = Path(__file__).resolve().parents[2] / "bundled" / "about"


def write(folder: Path, about: object) -> Path:
    path = folder / "about.json"
    path.write_text(json.dumps(about))
    return path


def test_a_bundle_takes_over_what_the_file_says(tmp_path: Path) -> None:
    path = write(
        tmp_path, {"title": "Small", "licence": "MIT", "titles": {"zeta": "Zeta 2", "base": "The base"}}
    )
    bundle = described(samples.bundle(), path)

    assert bundle.info == replace(samples.INFO, title="Small", licence="MIT")
    assert {llm.name: llm.title for llm in bundle.llms} == {
        "base": "The base",
        "zeta": "Zeta 2",
        "alpha": "Alpha",
    }
    assert [llm.note for llm in bundle.llms] == [llm.note for llm in samples.LLMS]
    assert bundle.queries == samples.bundle().queries


def test_an_empty_description_changes_nothing(tmp_path: Path) -> None:
    bundle = samples.bundle()
    unchanged = described(bundle, write(tmp_path, {}))

    assert (unchanged.info, unchanged.llms) == (bundle.info, bundle.llms)


def test_all_texts_of_a_benchmark_can_be_shipped_so_no_command_imports_them(tmp_path: Path) -> None:
    assert (
        described(samples.bundle(), write(tmp_path, {"text_import_command": None})).info.text_import_command
        is None
    )


@pytest.mark.parametrize("slug", ["dailybench", "alpaca-eval"])
def test_the_bundled_descriptions_name_licence_and_source(slug: str) -> None:
    about = json.loads((ABOUT / f"{slug}.json").read_text(encoding="utf-8"))

    assert about["title"]
    assert about["licence"]
    assert about["attribution"]


@pytest.mark.parametrize(
    ("about", "reason"),
    [
        ([], "not a JSON object"),
        ({"titles": ["Zeta"]}, "not a JSON object with titles by LLM"),
        ({"slug": "other"}, "the field 'slug' is none of title, description"),
        ({"license": "MIT"}, "the field 'license' is none of"),
        ({"titles": {"omega": "Omega"}}, "there is no LLM 'omega' in tiny"),
        ({"title": 5}, "title"),
        ({"licence": None}, "licence"),
        ({"titles": {"zeta": 5}}, "zeta"),
    ],
)
def test_anything_else_is_refused_with_file_and_reason(tmp_path: Path, about: object, reason: str) -> None:
    with pytest.raises(ImportFileError, match=rf"about\.json.*{reason}"):
        described(samples.bundle(), write(tmp_path, about))


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ImportFileError, match="cannot be read"):
        described(samples.bundle(), tmp_path / "absent.json")
    (tmp_path / "about.json").write_bytes(b'{"title": "\xff"}')
    with pytest.raises(ImportFileError, match="not JSON"):
        described(samples.bundle(), tmp_path / "about.json")
