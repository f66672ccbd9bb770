from collections.abc import Sequence
from pathlib import Path

import pytest

from benchmarks.gpu.smoke import answer, check_gpu
from crm.errors import CRMError, UnavailableError
from crm.protocol import Question, Verdict
from crm.registry import get_crm

NVIDIA = [Path("/dev/nvidia0")]


def test_a_gpu_that_pytorch_does_not_see_is_said() -> None:
    with pytest.raises(UnavailableError, match=r"shows /dev/nvidia0, and PyTorch .* sees no GPU"):
        check_gpu(0, NVIDIA)


@pytest.mark.parametrize(("seen", "driven"), [(0, []), (1, NVIDIA)])
def test_no_gpu_at_all_and_one_that_is_seen_are_well(seen: int, driven: list[Path]) -> None:
    check_gpu(seen, driven)


def test_a_judge_answers_the_pair() -> None:
    prob, seconds = answer(get_crm("longer"))
    assert prob < 0.5
    assert seconds > 0


class _Broken:
    name = "broken"

    def judge(self, questions: Sequence[Question]) -> list[Verdict]:
        return [Verdict(float("nan"), ()) for _ in questions]


def test_an_answer_that_is_no_probability_is_said() -> None:
    with pytest.raises(CRMError, match="broken answers nan, which is no probability"):
        answer(_Broken())  # type: ignore[arg-type]
