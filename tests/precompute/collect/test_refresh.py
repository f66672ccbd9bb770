"""Asking again for answers that are there, and what is kept of how answers came to be."""

import json
import sys
from pathlib import Path

import pytest

from db.records import SampleRecord
from db.repositories.benchmarks import find_benchmark, freeze, get_benchmark
from db.repositories.collections import collection_of
from precompute import __main__ as command_line
from tests.crm.backends.scripted_server import Answer
from tests.precompute.collect import samples
from tests.precompute.collect.conftest import Lab

REPLIED = "alpha-model-2026-10-01"


def thinking(asked: str, model: str, before: int) -> Answer:
    """Answers another text each time, as a dated model that reasons."""
    content = samples.completion(f"{model} on: {asked} (time {before + 1})")
    usage = {**content["usage"], "completion_tokens_details": {"reasoning_tokens": 4}}
    return Answer(content | {"model": REPLIED, "usage": usage})


def run(lab: Lab, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """Run a command other than “collect”; return what it printed, errors included."""
    monkeypatch.setattr(sys, "argv", ["precompute", *words])
    with pytest.raises(SystemExit):
        command_line.main()
    printed = capsys.readouterr()
    return printed.out + printed.err


@pytest.fixture
def collected(lab: Lab) -> Lab:
    lab.behave(thinking)
    lab.llms(temperature=0.5, system="Be kind.")
    assert lab.run()[0] == 0
    return lab


def texts(lab: Lab) -> dict[str, str | None]:
    return {query: record.text for query, record in lab.collected().items()}


def test_one_answer_is_asked_for_again_and_the_old_one_stays_until_then(
    collected: Lab, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = texts(collected)
    said = run(
        collected, monkeypatch, capsys, "llms", "refresh", "alpha", "--benchmark", "mine", "--query", "q3"
    )
    assert said.startswith("1 answer of alpha: asked for again by")
    assert texts(collected) == before

    collected.behave(lambda *_: Answer("Sorry", 500))
    collected.llms(temperature=0.5, system="Be kind.", retries=0)
    assert collected.run()[0] == 2
    assert texts(collected) == before  # a failure never takes the place of an answer

    script = collected.behave(lambda asked, model, _: samples.answer(f"{asked} anew", model))
    assert collected.run()[0] == 0
    assert [samples.number_of(asked) for asked, _ in script.asked] == [3]
    after = texts(collected)
    assert {query for query in after if after[query] != before[query]} == {"q3"}
    assert collected.run()[0] == 0
    assert len(script.asked) == 1


def test_an_answer_that_is_asked_for_again_is_not_taken_from_another_benchmark(
    collected: Lab, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    samples.store(collected.database, slug="other")
    collected.run("--benchmark", "other")
    run(collected, monkeypatch, capsys, "llms", "refresh", "alpha", "--benchmark", "mine", "--all")
    script = collected.behave(thinking)
    collected.run()
    assert len(script.asked) == 12


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["base", "--benchmark", "mine", "--all"], "imported ones are never asked for"),
        (["alpha", "--benchmark", "mine"], "either --query ID, repeatable, or --all"),
        (["alpha", "--benchmark", "mine", "--all", "--query", "q1"], "either --query ID"),
        (["alpha", "--benchmark", "mine", "--query", "q99"], "no query with the id 'q99'"),
        (["beta", "--benchmark", "mine", "--all"], "no LLM 'beta'"),
        (["alpha", "--benchmark", "his", "--all"], "no benchmark 'his'"),
    ],
)
def test_what_cannot_be_asked_again_is_one_sentence(
    collected: Lab,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    reason: str,
) -> None:
    said = run(collected, monkeypatch, capsys, "llms", "refresh", *words)
    assert said.startswith("error: ")
    assert reason in said
    assert said.count("\n") == 1


def test_how_answers_came_to_be_is_kept_and_listed(
    collected: Lab, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    [base, alpha] = json.loads(run(collected, monkeypatch, capsys, "llms", "list", "--format", "json"))
    assert (base["llm"], base["imported"], base["replied_as"], base["first_collected"]) == (
        "base",
        12,
        {},
        None,
    )
    assert (alpha["answers"], alpha["failed"], alpha["represented"], alpha["outdated"]) == (12, 0, 12, 0)
    assert alpha["replied_as"] == {REPLIED: 12}
    assert (alpha["completion_tokens"], alpha["reasoning_tokens"]) == (120, 48)
    [settings] = alpha["settings"]
    assert settings["settings"] == {
        "provider": "openai",
        "model": "alpha-model",
        "system": "Be kind.",
        "temperature": 0.5,
        "max_tokens_key": "max_tokens",
    }
    listed = run(collected, monkeypatch, capsys, "llms", "list", "--benchmark", "mine")
    assert "12 of 12" in listed
    assert "temperature 0.5" in listed


def test_secrets_of_extra_fields_are_not_kept_in_clear(lab: Lab) -> None:
    path = lab.llms()
    path.write_text(path.read_text() + 'extra_body = { top_k = 5, auth = { api_key = "sk-inner-0815" } }\n')
    lab.behave()
    lab.run()
    with lab.database.session() as session:
        found = collection_of(session, find_benchmark(session, "mine"), "alpha")
    [(_, settings, _)] = found.settings
    assert settings is not None
    assert settings["extra_body"] == {"top_k": 5, "auth": {"api_key": "…"}}
    lab.database.close()
    kept = b"".join(path.read_bytes() for path in lab.folder.glob("usl.sqlite3*"))
    assert b"sk-inner-0815" not in kept


def test_the_baseline_can_be_chosen_and_must_be_known(lab: Lab) -> None:
    lab.behave()
    lab.llms("alpha", "beta")
    code, _, err = lab.run("--baseline", "alhpa")
    assert (code, "There is no LLM 'alhpa'" in err, "did you mean 'alpha'?" in err) == (2, True, True)
    assert not lab.server.asked[samples.CHAT]
    assert "note: beta is the baseline now.\n" in lab.run("--baseline", "beta")[1]
    with lab.database.session() as session:
        assert get_benchmark(session, find_benchmark(session, "mine")).baseline == "beta"
    assert "baseline now" not in lab.run("--baseline", "beta")[1]


def test_a_log_has_the_beginning_what_failed_and_the_end(lab: Lab, tmp_path: Path) -> None:
    log = tmp_path / "job.log"
    lab.behave(
        lambda asked, model, _: Answer("no", 400) if "thing 5?" in asked else samples.answer(asked, model)
    )
    lab.llms(retries=0)
    assert lab.run("--log", log)[0] == 2
    lab.behave()
    assert lab.run("--log", log)[0] == 0
    lines = [line.split(" ", 1)[1] for line in log.read_text(encoding="utf-8").splitlines()]
    assert lines[0].startswith("begun: collect --benchmark mine")
    assert [line for line in lines if line.startswith("failed: alpha, q5: ")]
    assert any(line.startswith("ended: ") for line in lines) or "done" in lines
    assert lines[-1] == "done"
    assert "cannot be written" in lab.run("--log", tmp_path / "nowhere" / "job.log")[2]


def test_the_llm_that_a_sample_was_drawn_for_becomes_the_baseline_with_its_first_answer(bare: Lab) -> None:
    samples.store(bare.database, 2, baseline=False)
    with bare.database.session() as session:
        sample = SampleRecord("mine", 1, "d" * 64, {"baseline": "beta"}, ())
        freeze(session, find_benchmark(session, "mine"), sample)
    bare.behave()
    bare.llms("alpha", "beta")
    assert "is the baseline now" not in bare.run("--llm", "alpha")[1]
    assert "note: beta is the baseline now, as there was none.\n" in bare.run("--llm", "beta")[1]
