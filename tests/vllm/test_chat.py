"""A chat model on a real vLLM server as judge: SmolLM2, served as docs/judges.md says."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM

from crm.criteria import CriteriaSet
from crm.llm.loading import SMOLLM2_FILE, load_tokenizer, smollm2_folder
from crm.protocol import Pair, Question
from crm.registry import get_crm
from tests.checkpoints import save
from tests.vllm.conftest import SHORT, serving

pytestmark = pytest.mark.vllm


@pytest.fixture(scope="module")
def smollm2(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package's weights as a folder that vLLM reads."""
    source = str(smollm2_folder())
    read = AutoModelForCausalLM.from_pretrained(source, gguf_file=SMOLLM2_FILE, dtype=torch.bfloat16)
    # One that was read from GGUF counts as quantized, and cannot be saved.
    known = {key: value for key, value in read.config.to_dict().items() if key != "quantization_config"}
    model = LlamaForCausalLM(LlamaConfig(**known)).to(torch.bfloat16)
    model.load_state_dict(read.state_dict())
    tokenizer = load_tokenizer(source, gguf_file=SMOLLM2_FILE)
    return save(tmp_path_factory.mktemp("smollm2"), model, tokenizer)


@pytest.fixture(scope="module")
def chat_url(smollm2: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    log = tmp_path_factory.mktemp("vllm-chat") / "log"
    with serving(smollm2, "smollm2-served", log, "--max-model-len", "2048") as url:
        yield url


def test_it_agrees_with_the_same_model_in_this_process(
    chat_url: str,
    smollm2: Path,
    dailybench: list[Pair],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = tmp_path / "crms.toml"
    file.write_text(f"""
[served]
backend = "llm-judge"
url = "{chat_url}/v1"
model = "smollm2-served"
max_length = 2000

[local]
backend = "llm-judge"
provider = "transformers"
model = "{smollm2}"
max_length = 2000
""")
    monkeypatch.setenv("USL_CRMS", str(file))
    questions = [Question(CriteriaSet.of([SHORT]), pair) for pair in dailybench[::300]]
    served, local = (
        np.array([verdict.prob_a for verdict in get_crm(name).judge(questions)])
        for name in ("served", "local")
    )

    assert np.ptp(local) > 0.05
    # The server computes in bfloat16, transformers on the CPU in float32.
    assert np.abs(served - local).max() < 0.05
    assert np.corrcoef(served, local)[0, 1] > 0.9
