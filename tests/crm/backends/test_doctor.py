"""``python -m crm doctor`` on real judges, sound ones and ones that are made wrong."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from crm.cli import main
from crm.doctor.complaints import complaints
from crm.doctor.examination import Examination, examine
from crm.doctor.pairs import plain_pairs
from crm.llm.prompt import PromptTemplate
from crm.protocol import CRM
from tests.checkpoints import CHAT_TEMPLATE, PAIR, describe, make_checkpoint, make_tokenizer
from tests.conftest import Run
from tests.crm.backends.conftest import MakeJudge
from tests.crm.backends.scripted_server import Answer, ScriptedServer
from tests.crm.backends.test_llm_judge import CHAT, completion
from tests.crm.backends.test_vllm_server import MODELS, classes, even

ASKED = [asked for item in plain_pairs() for asked in (item, item.swapped())]
Lie = Callable[[str, str], dict[str, Any]]


@pytest.fixture(scope="module")
def learnt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with ``right``, a small checkpoint that knows the plain pairs by heart."""
    folder = tmp_path_factory.mktemp("learnt")
    texts = [PromptTemplate(PAIR).pair(item.question) for item in ASKED]
    tokenizer = make_tokenizer(texts, size=1500)
    tokenizer.chat_template = CHAT_TEMPLATE
    right = make_checkpoint(folder / "right", tokenizer=tokenizer)
    model = AutoModelForSequenceClassification.from_pretrained(str(right))
    batch = tokenizer(texts, padding=True, return_tensors="pt")
    batch.pop("token_type_ids", None)
    label = torch.tensor([int(item.label < 0) for item in ASKED])
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4)
    for _ in range(60):
        loss = model(**batch, labels=label).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        if loss.item() < 0.05:
            break
    model.save_pretrained(str(right))
    return folder


def made_wrong(folder: Path, name: str, change: Callable[[Any, Any], None]) -> Path:
    """Return the learnt checkpoint, changed in its model or tokenizer."""
    model = AutoModelForSequenceClassification.from_pretrained(str(folder / "right"))
    tokenizer = AutoTokenizer.from_pretrained(str(folder / "right"))
    change(model, tokenizer)
    model.save_pretrained(str(folder / name))
    tokenizer.save_pretrained(str(folder / name))
    describe(folder / name)
    (folder / name / "prompt.txt").write_text(PAIR)
    return folder / name


def examined(judge: CRM) -> tuple[Examination, list[str]]:
    found = examine(judge)
    said = complaints(found)
    assert all(sentence.endswith(".") and "\n" not in sentence for sentence in said)
    return found, said


class TestCheckpoints:
    def test_one_that_judges_rightly_is_cut_and_nothing_else(self, judge: MakeJudge, learnt: Path) -> None:
        found, said = examined(judge("transformers", model=str(learnt / "right")))

        assert found.verdicts is not None
        assert found.workings is not None
        assert found.verdicts.agreed == 20
        assert found.verdicts.position.mean_gap < 0.15
        assert found.workings.pooling == "the last token, “:”"
        assert found.workings.weights
        assert found.workings.prompts[0].text == PromptTemplate(PAIR).pair(found.question)
        assert [sentence.partition(":")[0] for sentence in said] == ["Long responses are cut"]

    def test_swapped_labels(self, judge: MakeJudge, learnt: Path) -> None:
        def swap(model: Any, _: Any) -> None:
            model.score.weight.data = model.score.weight.data.flip(0)
            model.config.id2label = {0: "response_b", 1: "response_a"}

        swapped = made_wrong(learnt, "swapped", swap)
        _, (first, named, _) = examined(judge("transformers", model=str(swapped)))

        assert first.startswith("The labels look swapped: it agrees with 0 of 20 plain pairs")
        assert named.startswith("The checkpoint calls its first label “response_b”")

    def test_a_head_that_says_always_the_same(self, judge: MakeJudge, learnt: Path) -> None:
        dead = made_wrong(learnt, "dead", lambda model, _: model.score.weight.data.zero_())
        _, (said, _) = examined(judge("transformers", model=str(dead)))

        assert said.startswith("All probabilities are alike (0.500 to 0.500)")

    def test_a_chat_template_that_is_left_out_or_put_around_twice(
        self, judge: MakeJudge, learnt: Path, tmp_path: Path
    ) -> None:
        (tmp_path / "plain.txt").write_text(f"{PAIR} ")
        (tmp_path / "marked.txt").write_text(f"<|turn|>user\n{PAIR}<|end|>\n<|turn|>assistant\n")

        def doubts(prompt: str, *, chat: bool) -> list[str]:
            keys = {"model": str(learnt / "right"), "prompt": str(tmp_path / prompt), "chat": chat}
            workings = examine(judge("transformers", **keys)).workings
            return list(workings.doubts) if workings else ["none"]

        [missing] = doubts("plain.txt", chat=False)
        assert missing.startswith("The model's chat template is not applied (“<|turn|>user” is missing")
        [twice] = doubts("marked.txt", chat=True)
        assert twice.startswith("The chat template is applied twice (“<|turn|>user” occurs 2 times")
        assert doubts("plain.txt", chat=True) == doubts("marked.txt", chat=False) == []

    def test_short_responses_that_are_cut(self, judge: MakeJudge, learnt: Path) -> None:
        _, said = examined(judge("transformers", model=str(learnt / "right"), max_length=64))

        assert any(sentence.startswith("Even short responses are cut") for sentence in said)

    def test_an_encoder_is_read_at_its_first_token(self, judge: MakeJudge) -> None:
        found, _ = examined(judge("transformers", model="encoder"))

        assert found.workings is not None
        assert found.workings.pooling == "the first token, “-”"

    def test_the_gap_of_a_judge_that_averages_both_orders_is_its_models(self, judge: MakeJudge) -> None:
        found, _ = examined(judge("transformers", model="encoder", order_swap=True))

        assert found.verdicts is not None
        assert found.verdicts.position.mean_gap == pytest.approx(0, abs=1e-6)
        assert found.own_gap is not None
        assert found.own_gap > 0.5

    def test_a_reward_model_is_asked_without_criteria(self, judge: MakeJudge, tmp_path: Path) -> None:
        tokenizer = make_tokenizer()
        tokenizer.chat_template = CHAT_TEMPLATE
        model = make_checkpoint(tmp_path / "reward", labels=1, tokenizer=tokenizer)
        found, said = examined(judge("reward-model", model=str(model)))

        assert found.trouble == ""
        assert found.workings is not None
        first, second = found.workings.prompts
        assert first.text.startswith(f"<|turn|>user\n{found.question.pair.query}<|end|>\n<|turn|>assistant\n")
        assert second.text.endswith(f"{found.question.pair.response_b}<|end|>\n")
        assert not any("criterion" in sentence or "Criteria" in sentence for sentence in said)

    def test_a_chat_model_in_this_process(self, judge: MakeJudge) -> None:
        found, said = examined(judge("llm-judge", provider="transformers", model="chat", chat=False))

        assert found.workings is not None
        assert found.workings.labels.startswith("the tokens “A” and “ĠA” say that A is preferred")
        assert any("chat template is not applied" in sentence for sentence in said)


class TestLiars:
    """A local server that speaks the protocol and does not tell the truth."""

    @pytest.fixture
    def liar(self, server: ScriptedServer, judge: MakeJudge) -> Callable[..., CRM]:
        """Makes a chat judge of a server that knows the right letter and says what a lie makes of it."""

        def made(lie: Lie, **keys: Any) -> CRM:
            def answer(body: dict[str, Any]) -> Answer:
                prompt = body["messages"][0]["content"]
                return Answer(lie(right_letter(prompt), prompt))

            server.on(CHAT, answer)
            known = {"url": f"{server.url}/v1", "model": "liar", "timeout": 5, "retries": 0}
            return judge("llm-judge", **known | keys)

        return made

    def test_the_truth_looks_right(self, liar: Callable[..., CRM]) -> None:
        found, said = examined(liar(odds))

        assert said == []
        assert found.workings is not None
        assert found.question.pair.query in found.workings.prompts[0].text

    def test_the_other_letter(self, liar: Callable[..., CRM]) -> None:
        _, [said] = examined(liar(lambda letter, prompt: odds("AB"[letter == "A"], prompt)))

        assert said.startswith("The labels look swapped: it agrees with 0 of 20 plain pairs")

    def test_always_the_first(self, liar: Callable[..., CRM]) -> None:
        _, [said] = examined(liar(lambda _, prompt: odds("A", prompt)))

        assert said.startswith("It prefers the first response in 100% of the questions")

    def test_always_the_same_odds(self, liar: Callable[..., CRM]) -> None:
        _, [said] = examined(
            liar(lambda _, prompt: completion(tokens={"A": 0.7, "B": 0.3}, usage=counted(prompt)))
        )

        assert said.startswith("All probabilities are alike (0.700 to 0.700)")

    def test_prose(self, liar: Callable[..., CRM]) -> None:
        found, [said] = examined(liar(lambda *_: completion("Well,", tokens={"Well": 0.9, "I": 0.1})))

        assert "replies with neither A nor B" in said
        assert found.workings is not None  # the prompt is shown all the same
        assert found.verdicts is None

    def test_votes_in_prose_but_for_a_few(self, liar: Callable[..., CRM]) -> None:
        def prose(letter: str, prompt: str) -> dict[str, Any]:
            plain = "emojis" in prompt or "landlord" in prompt or "What do you think?" in prompt
            return completion(letter if plain else "Both are fine.")

        _, said = examined(liar(prose, logprobs=False, samples=1))

        assert said[0].startswith("32 of 40 questions got no verdict (exactly 0.5)")

    def test_long_prompts_are_cut_off(self, liar: Callable[..., CRM]) -> None:
        def cut(letter: str, prompt: str) -> dict[str, Any]:
            return odds(letter, prompt) | {"usage": {"prompt_tokens": min(len(prompt) // 4, 512)}}

        _, [said] = examined(liar(cut))

        assert said.startswith("The server cuts long prompts off: it counts 2")

    def test_a_page_instead_of_json(self, server: ScriptedServer, liar: Callable[..., CRM]) -> None:
        judge = liar(odds)
        server.on(CHAT, Answer("<html>Welcome!</html>"))
        _, [said] = examined(judge)

        assert "answers nonsense (no JSON)" in said

    def test_a_classifier_that_always_hesitates(self, server: ScriptedServer, judge: MakeJudge) -> None:
        server.on("/v1/models", Answer(MODELS))
        server.on("/classify", even)
        keys: dict[str, Any] = {"url": server.url, "model": "tiny", "tokenizer": "pairs", "retries": 0}
        found, (alike, cut) = examined(judge("vllm-server", **keys))

        assert alike.startswith("All probabilities are alike (0.500 to 0.500)")
        assert cut.startswith("Long responses are cut")
        assert found.workings is not None
        assert server.where in found.workings.pooling

    def test_a_classifier_whose_probabilities_are_none(
        self, server: ScriptedServer, judge: MakeJudge
    ) -> None:
        server.on("/v1/models", Answer(MODELS))
        server.on("/classify", lambda body: Answer(classes(*[[0.9, 0.9]] * len(body["input"]))))
        keys: dict[str, Any] = {"url": server.url, "model": "tiny", "tokenizer": "pairs", "retries": 0}
        _, [said] = examined(judge("vllm-server", **keys))

        assert "answers nonsense (probabilities that do not sum to one)" in said


def right_letter(prompt: str) -> str:
    """Return which answer of a plain pair suits the wish in a prompt; A for any other pair."""
    for item in ASKED:
        pair = item.pair
        wish = f"- {item.criteria.criteria[0]}\n"
        if wish in prompt and 0 <= prompt.find(pair.response_a) < prompt.find(pair.response_b):
            return "A" if item.label > 0 else "B"
    return "A"


def odds(letter: str, prompt: str) -> dict[str, Any]:
    """A completion that is sure of a letter, a little more or less by the prompt's characters."""
    sure = 0.8 + 0.1 * math.sin(sum(map(ord, prompt)))
    other = "AB"[letter == "A"]
    return completion(tokens={letter: sure, other: 1 - sure}, usage=counted(prompt))


def counted(prompt: str) -> dict[str, int]:
    """What a server counts that reads all of a prompt."""
    return {"prompt_tokens": len(prompt) // 4, "completion_tokens": 1}


class TestCommand:
    def test_of_the_embedded_judge_nothing_looks_wrong(self, run_main: Run) -> None:
        code, out, err = run_main(main, "doctor", "embedded")

        assert (code, err) == (0, "")
        lines = dict(line.split(maxsplit=1) for line in out.splitlines() if line)
        assert lines["Plain"].startswith("pairs   agrees with ")
        assert lines["Order"].startswith("gap     0.000 on average of 20 pairs")
        assert "MB at most in this process" in lines["Memory"]
        assert out.endswith("Nothing looks wrong.\n")

    def test_the_prompt_stands_there_and_what_is_wrong_is_an_exit_code(
        self, run_main: Run, learnt: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "crms.toml").write_text(
            f'[mine]\nbackend = "transformers"\nmodel = "{learnt / "right"}"\n'
        )
        monkeypatch.setenv("USL_CRMS", str(tmp_path / "crms.toml"))
        code, out, err = run_main(main, "doctor", "mine")

        assert (code, err) == (1, "")
        assert PromptTemplate(PAIR).pair(plain_pairs()[4].question) in out
        assert "Plain pairs   agrees with 20 of 20\n" in out
        assert "Labels        two: the first (“LABEL_0”) says that A is preferred" in out
        assert "Pooling       the last token, “:”\n" in out
        assert "What looks wrong:\n- Long responses are cut" in out

    def test_a_judge_that_is_not_there(self, run_main: Run) -> None:
        code, out, err = run_main(main, "doctor", "oracle")

        assert (code, out) == (2, "")
        assert err.startswith("error: There is no CRM named 'oracle'")
