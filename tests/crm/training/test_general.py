import json
from pathlib import Path

import numpy as np
import pytest

from crm.data.corpora import LeftOut
from crm.errors import CRMError
from crm.training.comparisons import ALL_TYPICAL
from crm.training.general import Verdicts, read_typical_verdicts

ROW = {"source": "s", "prompt_id": "p", "model_a": "one", "model_b": "two", "split": "train", "typical": "a"}


def written(path: Path, *changes: dict[str, object]) -> Path:
    path.write_text("".join(json.dumps(ROW | change) + "\n" for change in changes), encoding="utf-8")
    return path


def test_verdicts_of_annotators_and_of_readers_are_read(two_answers: Path, tmp_path: Path) -> None:
    annotated = written(
        tmp_path / "annotations.jsonl",
        {"sure": 3},
        {"sure": 1, "typical": "b"},
        {"sure": 2, "typical": "tie"},
        {"sure": 3, "split": "dev"},
    )
    compared = written(tmp_path / "comparisons.jsonl", {}, {"typical": "b"}, {"source": "t"})
    left_out = LeftOut()
    pairs, prob = read_typical_verdicts(annotated, two_answers, "train", left_out, compared=(compared,))
    assert {(pair.query, pair.response_a, pair.response_b) for pair in pairs} == {("Well?", "Ha!", "Sir.")}
    np.testing.assert_allclose(prob, [0.97, 0.3, 0.5, 0.85, 0.15], rtol=1e-6)
    assert "t 1" in str(left_out.note(len(pairs), two_answers))


def test_a_verdict_that_is_none_is_refused(two_answers: Path, tmp_path: Path) -> None:
    annotated = written(tmp_path / "annotations.jsonl", {"sure": 3, "typical": "both"})
    with pytest.raises(CRMError, match=r"annotations\.jsonl, row 1: 'both'"):
        read_typical_verdicts(annotated, two_answers, "train", compared=ALL_TYPICAL)


def test_ties_are_no_verdicts() -> None:
    verdicts = Verdicts(
        np.array([[1.0], [2.0], [-1.0], [-3.0]], dtype=np.float32),
        np.array([0.85, 0.3, 0.5, 0.15], dtype=np.float32),
    )
    assert verdicts.decided == 3
    assert verdicts.right(np.array([1.0], dtype=np.float32)) == pytest.approx(2 / 3)
    assert verdicts.right(np.array([-1.0], dtype=np.float32)) == pytest.approx(1 / 3)
