import shutil
from pathlib import Path

import pytest

from crm.criteria import CriteriaSet
from crm.errors import UnavailableError
from crm.paths import EMBEDDED_FILE
from crm.protocol import Pair, Question
from crm.registry import get_crm
from tests.crm.backends.conftest import MakeJudge

ASKED = [Question(CriteriaSet.of(["concise"]), Pair("How?", "Like this.", "Well, " * 40))]


def test_it_reads_weights_of_ones_own(judge: MakeJudge, tmp_path: Path) -> None:
    weights = shutil.copy(EMBEDDED_FILE, tmp_path / "mine.npz")
    mine = judge("embedded", weights=str(weights))

    assert mine.name == "mine"
    assert mine.version != get_crm().version
    assert mine.representation == get_crm().representation
    assert mine.judge(ASKED) == get_crm().judge(ASKED)


def test_damaged_weights_are_refused(judge: MakeJudge, tmp_path: Path) -> None:
    (tmp_path / "mine.npz").write_bytes(b"nothing")
    with pytest.raises(UnavailableError):
        judge("embedded", weights=str(tmp_path / "mine.npz"))
