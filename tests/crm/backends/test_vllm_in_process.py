from importlib.util import find_spec

import pytest

from crm.errors import UnavailableError
from crm.protocol import Question
from tests.crm.backends.conftest import MakeJudge


@pytest.mark.skipif(find_spec("vllm") is not None, reason="vLLM is installed here; tests/vllm runs it")
@pytest.mark.parametrize("backend", [("vllm", {}), ("reward-model", {"provider": "vllm"})])
def test_without_vllm_it_says_where_to_get_it(
    judge: MakeJudge, questions: list[Question], backend: tuple[str, dict[str, str]]
) -> None:
    asked = (
        judge(backend[0], model="singles", criteria_in_prompt=True, **backend[1])
        if backend[1]
        else judge(backend[0], model="pairs")
    )
    with pytest.raises(UnavailableError, match=r"^vLLM is not installed here: .*requirements-gpu\.txt"):
        asked.judge(questions)
