from pathlib import Path

import pytest

from benchmarks.house_size import Size, report, size_of


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    files = {
        "app.py": "from pack import one\nimport pack.two\n\n\nprint(one, pack.two)\n",
        "pack/__init__.py": "",
        "pack/one.py": "from pack.errors import NotThereError\n",
        "pack/two.py": "from .errors import NotThereError\nfrom . import three\n",
        "pack/three.py": "import dataclasses\n\n\n@dataclasses.dataclass()\nclass A:\n    x: int\n",
        "pack/errors.py": "class PackError(ValueError): ...\n\n\nclass NotThereError(PackError): ...\n",
        "tests/test_one.py": "import pack.three\n\n\nclass TestError(Exception): ...\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def test_counts_of_a_folder_without_git(checkout: Path) -> None:
    size = size_of(checkout)

    assert (len(size.lines), sum(size.lines)) == (6, 18)
    assert size.dataclasses == 1
    assert size.errors == 2
    assert size.one_importer == 3  # one and two by app, three by two; errors has two importers
    assert size.test_lines == (4,)


def test_a_column_for_each_checkout(checkout: Path) -> None:
    half = Size(lines=(9,), dataclasses=0, errors=0, one_importer=0, test_lines=())

    table = report({"old": size_of(checkout), "new": half})

    assert table.columns == ("", "old", "new")
    assert ("lines", "18", "9") in table.rows
    assert "50.0%" in table.note
