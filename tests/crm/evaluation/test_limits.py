"""Files of this package that somebody else wrote are refused in one sentence, whatever they hold."""

from collections.abc import Callable
from pathlib import Path

import pytest

from crm.criteria import read_criteria_list
from crm.data.corpora import read_json_lines
from crm.data.taxonomy import CriterionThemes
from crm.errors import CRMError
from crm.evaluation.report import read_report
from crm.evaluation.sets import read_manifest

DEEP = "[" * 100_000 + "]" * 100_000


@pytest.mark.parametrize("text", [DEEP, "9" * 5_000, '{"a": 1e999}', r'"\ud800"'])
@pytest.mark.parametrize(
    "read",
    [
        read_report,
        CriterionThemes.load,
        lambda path: read_manifest(path.parent),
        lambda path: list(read_json_lines(path)),
    ],
)
def test_json_without_end_is_refused(tmp_path: Path, text: str, read: Callable[[Path], object]) -> None:
    path = tmp_path / "manifest.json"
    path.write_text(text)
    with pytest.raises(CRMError):
        read(path)


@pytest.mark.parametrize("value", [DEEP, "9" * 5_000])
def test_lists_of_criteria_without_end_are_refused(tmp_path: Path, value: str) -> None:
    for file, text in (("a.toml", f"a = {value}"), ("a.jsonl", f'{{"label": {value}}}')):
        (tmp_path / file).write_text(text)
        with pytest.raises(CRMError, match=r"nested too deeply|more than 300 digits"):
            read_criteria_list(tmp_path / file)
