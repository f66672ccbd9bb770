"""The backend ``vllm-server`` against a real vLLM server."""

import json
import os
import re
from pathlib import Path

import numpy as np
import pytest

from benchmarks.prefix_order import cache_counts
from crm.cli import main
from crm.criteria import CriteriaSet
from crm.errors import CriterionError, UnavailableError
from crm.protocol import CRM, Pair, Question
from crm.registry import get_crm
from leaderboard.service import Service
from tests.conftest import Run
from tests.vllm.conftest import LONG, SHORT

pytestmark = pytest.mark.vllm


def probs(judge: CRM, pairs: list[Pair], criteria: CriteriaSet) -> np.ndarray:
    verdicts = judge.judge([Question(criteria, pair) for pair in pairs])
    return np.array([verdict.prob_a for verdict in verdicts])


@pytest.mark.parametrize("wish", [SHORT, LONG])
def test_it_agrees_with_transformers_on_the_same_checkpoint(
    judges: Path, dailybench: list[Pair], wish: str
) -> None:
    sample = dailybench[::60]
    criteria = CriteriaSet.of([wish])
    served, local = (probs(get_crm(name), sample, criteria) for name in ("served", "local"))

    # The server computes in bfloat16, transformers on the CPU in float32.
    assert np.abs(served - local).mean() < 0.02
    assert np.abs(served - local).max() < 0.15
    sure = np.abs(local - 0.5) > 0.1
    assert ((served > 0.5) == (local > 0.5))[sure].all()


def test_verdicts_do_not_depend_on_how_prompts_are_sent(judges: Path, dailybench: list[Pair]) -> None:
    sample, criteria = dailybench[::90], CriteriaSet.of([SHORT])
    together = probs(get_crm("served"), sample, criteria)
    text = judges.read_text()
    judges.write_text(text.replace("batch_size = 32\nconcurrency = 2", "batch_tokens = 300\nconcurrency = 8"))

    assert judges.read_text() != text
    assert probs(get_crm("served"), sample, criteria) == pytest.approx(together, abs=0.02)


def test_what_prompts_have_in_common_is_computed_once(judges: Path, vllm_url: str, service: Service) -> None:
    benchmark = service.benchmark("dailybench")
    pairs = [pair for llm in benchmark.llms for pair in benchmark.pairs(llm)[:20] if pair is not None]
    before = cache_counts(vllm_url)
    probs(get_crm("served"), pairs, CriteriaSet.of(["Friendly, as to somebody whom one has known for years"]))

    assert 0.05 < cache_counts(vllm_url).saved_since(before) < 0.5


def test_texts_longer_than_the_servers_window_are_shortened(judges: Path) -> None:
    [prob] = probs(get_crm("served"), [Pair("How?", "word " * 5000, "x " * 5000)], CriteriaSet())

    assert 0 < prob < 1


def test_criteria_longer_than_the_servers_window_are_refused(judges: Path) -> None:
    many = CriteriaSet.of([f"{'criterion ' * 25} {index}" for index in range(190)])
    with pytest.raises(CriterionError):
        probs(get_crm("served"), [Pair("How?", "a", "b")], many)


def test_without_a_local_tokenizer_the_servers_is_used(
    judges: Path, checkpoint: Path, dailybench: list[Pair]
) -> None:
    trained = json.loads((checkpoint / "crm.json").read_text())
    keys = f'prompt = "{checkpoint}/prompt.txt"\nloss = "{trained["loss"]}"'
    keys += f"\nmax_length = {trained['max_length']}"
    text = judges.read_text().replace(f'tokenizer = "{checkpoint}"', keys)
    sample, criteria = dailybench[::400], CriteriaSet.of([SHORT])
    known = probs(get_crm("served"), sample, criteria)
    judges.write_text(text)

    assert probs(get_crm("served"), sample, criteria) == pytest.approx(known, abs=0.02)


def test_the_doctor_says_what_it_says_of_the_same_checkpoint_in_this_process(
    judges: Path, run_main: Run
) -> None:
    (code, served, _), (_, local, _) = (run_main(main, "doctor", name) for name in ("served", "local"))

    assert served.startswith("served, version ")
    for heading in ("Template", "Tokens"):
        assert _under(heading, served) == _under(heading, local)
    assert _under("Pooling", served).endswith("which it does not tell")
    assert _under("Plain pairs", served).endswith(" of 20")
    assert _prompts(served) == _prompts(local) != []
    # What does not hang on the last bits of a verdict is wrong with both.
    cut = [said for said in served.splitlines() if "responses are cut" in said]
    assert cut == [said for said in local.splitlines() if "responses are cut" in said]
    if "USL_TEST_CHECKPOINT" not in os.environ:
        assert code == 1
        assert "\nWhat looks wrong:\n- " in served
        assert cut[-1].startswith("- Long responses are cut: with responses of 600 words a prompt needs ")
        assert "tokens and may have 256;" in cut[-1]


def _under(heading: str, report: str) -> str:
    """What a report of the doctor says under a heading."""
    [line] = [line for line in report.splitlines() if line.startswith(f"{heading} ")]
    return line.removeprefix(heading).strip()


def _prompts(report: str) -> list[str]:
    return re.findall(r"\n--- prompt \d, to the character ---\n(.*?)\n--- end ---", report, re.DOTALL)


def test_another_name_is_refused_with_the_servers(judges: Path) -> None:
    judges.write_text(judges.read_text().replace('model = "tiny"', 'model = "huge"'))
    with pytest.raises(UnavailableError, match="does not serve 'huge' but tiny"):
        probs(get_crm("served"), [Pair("How?", "a", "b")], CriteriaSet())
