"""Models in this process: SmolLM2-135M on DailyBench for real, and a tiny one for the odd cases."""

import asyncio
from importlib.util import find_spec
from pathlib import Path

import pytest

from crm.criteria import CriteriaSet
from crm.errors import UnavailableError
from crm.llm import make_chat_models
from crm.llm.chat_model import FailureKind, LLMFailure, LLMReply, Outcome, Prompt
from crm.llm.local import reply_of
from crm.llm.settings import read_llms
from db.repositories import benchmarks
from db.source_records import AnswerStatus
from leaderboard.service import Service
from leaderboard.view import View
from precompute.__main__ import main
from tests.checkpoints import make_causal, make_checkpoint
from tests.conftest import Run
from tests.db import samples as db_samples

QUESTIONS = [
    Prompt("short", "How are you?"),
    Prompt("long", "Why is that so? " * 30),
    Prompt("other", "Who?"),
]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    make_causal(folder / "chat")
    make_checkpoint(folder / "classifier")
    return folder


def answers(folder: Path, prompts: list[Prompt], keys: str) -> dict[str, Outcome]:
    (folder / "llms.toml").write_text(f"[tiny]\n{keys}\n")
    told: list[Outcome] = []
    [llm] = read_llms(folder / "llms.toml")
    asyncio.run(make_chat_models([llm])["tiny"].ask(prompts, told.append))
    return {outcome.prompt.external_id: outcome for outcome in told}


def test_smollm2_answers_a_part_of_dailybench(
    own_service: Service, run_main: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    url = own_service.database.engine.url.render_as_string(hide_password=False)
    monkeypatch.setenv("USL_DATABASE_URL", url)
    file = tmp_path / "llms.toml"
    file.write_text(
        '[smol]\nprovider = "transformers"\nmodel = "smollm2"\ntemperature = 0\nmax_tokens = 12\n'
    )
    code, out, _ = run_main(main, "collect", "--benchmark", "dailybench", "--config", file, "--limit", 2)

    assert code == 0
    assert "note: dailybench is your own now" in out
    with own_service.database.session() as session:
        benchmark = benchmarks.find_benchmark(session, "dailybench")
        records = db_samples.collected(session, benchmark, "smol")
        assert benchmarks.get_benchmark(session, benchmark).llms[-1].name == "smol"
    assert len(records) == 2
    for record in records.values():
        assert record.status == AnswerStatus.TRUNCATED
        assert record.completion_tokens == 12
        assert len((record.text or "").split()) > 4
    view = View("dailybench", criteria=CriteriaSet.of(["concise"]))
    assert "smol" in own_service.leaderboard(view).ranking.llms


def test_answers_do_not_depend_on_the_batch(models: Path) -> None:
    keys = 'provider = "transformers"\nmodel = "chat"\ntemperature = 0\nmax_tokens = 10\n'
    together = answers(models, QUESTIONS, keys)
    alone = answers(models, QUESTIONS, f"{keys}batch_tokens = 1\n")
    assert {name: outcome.result for name, outcome in together.items()} == {
        name: outcome.result for name, outcome in alone.items()
    }
    assert all(outcome.tokens.prompt and outcome.tokens.completion for outcome in together.values())


def test_a_query_too_long_for_the_model_fails_alone(models: Path) -> None:
    told = answers(
        models, QUESTIONS, 'provider = "transformers"\nmodel = "chat"\nmax_tokens = 3\nmax_length = 40\n'
    )
    failure = told["long"].result
    assert isinstance(failure, LLMFailure)
    assert failure.kind == FailureKind.TOO_LONG
    assert not isinstance(told["short"].result, LLMFailure) or told["short"].result.kind == FailureKind.EMPTY


def test_a_model_without_chat_template_is_refused(models: Path) -> None:
    with pytest.raises(UnavailableError, match="has no chat template: use a chat model"):
        answers(models, QUESTIONS, 'provider = "transformers"\nmodel = "classifier"\n')


@pytest.mark.skipif(find_spec("vllm") is not None, reason="vLLM is installed here")
def test_without_vllm_it_says_where_to_get_it(models: Path) -> None:
    with pytest.raises(UnavailableError, match=r"^vLLM is not installed here: .*requirements-gpu\.txt"):
        answers(models, QUESTIONS, 'provider = "vllm"\nmodel = "chat"\n')


@pytest.mark.parametrize(
    ("text", "opened", "whole", "expected"),
    [
        (" Yes. ", False, True, LLMReply(AnswerStatus.OK, "Yes.")),
        ("hm</think>\nYes.", True, True, LLMReply(AnswerStatus.OK, "Yes.", "hm")),
        ("<think>hm</think>\nYes", False, False, LLMReply(AnswerStatus.TRUNCATED, "Yes", "hm")),
        ("still thinking", True, False, LLMReply(AnswerStatus.TRUNCATED, None, "still thinking")),
        ("  ", False, True, LLMFailure(FailureKind.EMPTY, "The model gives an empty reply.")),
    ],
)
def test_what_a_model_wrote_becomes_an_answer(
    text: str, opened: bool, whole: bool, expected: LLMReply | LLMFailure
) -> None:
    assert reply_of(text, opened=opened, whole=whole) == expected
