import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from benchmarks.gpu.evaluation import app
from crm.errors import CRMError
from crm.evaluation.report import BUNDLED_REPORTS


@pytest.fixture
def report(tmp_path: Path) -> Path:
    path = tmp_path / "embedded.json"
    path.write_bytes((BUNDLED_REPORTS / "embedded.json").read_bytes())
    return path


def _renamed(report: Path, **changed: object) -> Path:
    other = report.with_name("other.json")
    other.write_text(json.dumps(json.loads(report.read_text()) | {"judge": "trained"} | changed))
    return other


def test_judges_stand_beside_each_other_in_their_order(report: Path, tmp_path: Path) -> None:
    output = tmp_path / "tables" / "evaluation.md"
    done = CliRunner().invoke(app, [str(_renamed(report)), str(report), "--output", str(output)])

    assert done.exit_code == 0, done.output
    text = output.read_text()
    assert "## Topic generalization" in text
    assert -1 < text.index("trained") < text.index("embedded")


def test_judges_on_other_draws_are_not_compared(report: Path) -> None:
    other = _renamed(report, limit=3)
    done = CliRunner().invoke(app, [str(report), str(other)])
    assert isinstance(done.exception, CRMError)
    assert "different sets or draws" in str(done.exception)
