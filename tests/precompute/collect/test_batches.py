"""Responses that are handed in as batches, against a local HTTP server that takes them."""

import re
import signal
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from crm.llm.batch import batch_files
from crm.llm.chat_model import Prompt
from crm.llm.settings import EndpointLLMSettings
from db import Database
from db.repositories.batches import batches_under_way
from db.repositories.benchmarks import find_benchmark
from db.source_records import AnswerStatus, BatchRecord
from precompute import __main__ as command_line
from precompute.status import statuses
from tests.crm.backends.scripted_server import Answer
from tests.precompute.collect import samples
from tests.precompute.collect.batch_server import BatchServer
from tests.precompute.collect.conftest import Lab, Run, Start

BATCH = ("--batch", "--batch-poll", "0.1")
LATER = ("--batch", "--no-wait")
FETCH = "python -m precompute collect --benchmark mine --llm alpha --batch"


@pytest.fixture
def provider() -> Iterator[BatchServer]:
    with BatchServer() as started:
        yield started


@pytest.fixture
def lab(database: Database, provider: BatchServer, tmp_path: Path, _run: Run) -> Lab:
    samples.store(database)
    return Lab(database, provider, tmp_path, _run)


def under_way(lab: Lab) -> list[BatchRecord]:
    with lab.database.session() as session:
        return batches_under_way(session, find_benchmark(session, samples.SLUG))


def until(what: Callable[[], object]) -> None:
    deadline = time.monotonic() + 60
    while not what():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def of_all_kinds(asked: str, model: str, _before: int) -> Answer:
    """Answers, refusals, an answer that is cut short, and what makes a request fail."""
    odd = {
        1: Answer(samples.completion("I'm sorry, but I can't help with that.")),
        2: Answer(samples.completion(None, refusal="No.")),
        3: Answer(samples.completion("half of", finish="length")),
        4: Answer(samples.completion("<think>Hm.</think>Yes, with\u2028two lines.")),
        5: Answer({"error": {"message": "withheld", "code": "content_filter"}}, 400),
        6: Answer({"error": {"message": "too long"}}, 400),
        7: Answer(samples.completion("")),
        8: Answer(samples.completion("uncounted", usage=False)),
    }
    return odd.get(samples.number_of(asked), samples.answer(asked, model))


def test_a_batch_brings_what_asking_at_once_brings_at_half_the_price(lab: Lab, provider: BatchServer) -> None:
    provider.behave = of_all_kinds
    keys = {"system": "Be brief.", "temperature": 0.5, "max_tokens": 50, "seed": 3, "price_completion": 10}
    lab.llms(**keys, retries=0)
    code, out, err = lab.run(*BATCH)
    assert (code, provider.chats, list(provider.batches)) == (2, [], ["batch_1"])
    assert err == "error: 2 responses failed: the same command asks for them again.\n"
    assert "2 responses failed: request refused (4xx) 1, empty reply 1.\n" in out
    by_batch = lab.collected()
    assert by_batch["q0"].cost == pytest.approx(10 * 10 / 1e6 / 2)
    assert under_way(lab) == []
    first = provider.requests()[0]["body"]

    with lab.database.session() as session:
        from db.repositories.removal import remove_llm

        remove_llm(session, find_benchmark(session, samples.SLUG), "alpha")
    lab.run()
    at_once = lab.collected()
    assert len(provider.chats) == 12
    assert {query: replace(record, cost=2 * record.cost) for query, record in by_batch.items()} == at_once
    assert {record.status for record in at_once.values()} == set(AnswerStatus)
    assert first == {
        "model": "alpha-model",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": samples.query(0)},
        ],
        "max_tokens": 50,
        "temperature": 0.5,
        "seed": 3,
    }


def test_what_failed_is_handed_in_again_and_nothing_else(lab: Lab, provider: BatchServer) -> None:
    provider.behave = of_all_kinds
    lab.llms()
    lab.run(*BATCH)
    provider.behave = samples.well_behaved
    assert lab.run(*BATCH)[0] == 0
    asked = [request["body"]["messages"][-1]["content"] for request in provider.requests("batch_2")]
    assert asked == [samples.query(6), samples.query(7)]
    assert lab.run(*BATCH)[0] == 0
    assert len(provider.batches) == 2


@pytest.mark.parametrize("begin_delay", [0.0, 3.0], ids=["after", "before"])
def test_a_killed_collection_takes_its_batch_up(
    lab: Lab, provider: BatchServer, start: Start, begin_delay: float
) -> None:
    """Killed after it has heard of its batch, and before: the batch is found by the file of its requests."""
    provider.status = lambda _: "in_progress"
    provider.begin_delay = begin_delay
    url = lab.database.engine.url.render_as_string(hide_password=False)
    process = start(url, lab.llms(), *BATCH)
    until(lambda: provider.batches and (begin_delay or under_way(lab)[0].batch_id))
    process.kill()
    process.wait()
    [stored] = under_way(lab)
    assert stored.batch_id == (None if begin_delay else "batch_1")
    assert len(stored.queries) == 12

    provider.batches |= {
        f"batch_{n}": {"id": f"batch_{n}", "status": "completed", "input_file_id": "another"}
        for n in (2, 3, 4)
    }
    provider.status = lambda _: "completed"
    assert lab.run(*BATCH)[0] == 0
    assert (len(provider.batches), provider.chats) == (4, [])
    assert {record.status for record in lab.collected().values()} == {AnswerStatus.OK}
    assert len(lab.collected()) == 12


def test_a_batch_that_was_never_begun_is_handed_in_anew(lab: Lab, provider: BatchServer) -> None:
    lab.llms(retries=0)
    provider.refusal = Answer("oops", 500)
    assert lab.run(*LATER)[0] == 2
    assert [batch.batch_id for batch in under_way(lab)] == [None]
    provider.refusal = None
    assert lab.run(*BATCH)[0] == 0
    assert len(provider.batches) == 1


def test_a_refused_batch_is_forgotten_at_once(lab: Lab, provider: BatchServer) -> None:
    lab.llms()
    provider.refusal = Answer({"error": {"message": "no funds"}}, 402)
    code, _, err = lab.run(*BATCH)
    assert (code, under_way(lab)) == (2, [])
    assert "The budget at the endpoint" in err


def test_an_endpoint_without_batches_says_so(lab: Lab, provider: BatchServer) -> None:
    provider.takes_batches = False
    lab.llms()
    code, _, err = lab.run(*BATCH)
    assert (code, under_way(lab)) == (2, [])
    assert f"The endpoint {provider.where} takes no batches: leave out --batch." in err


def test_an_interruption_leaves_the_batch_to_the_provider(
    lab: Lab, provider: BatchServer, start: Start
) -> None:
    provider.status = lambda _: "in_progress"
    process = start(lab.database.engine.url.render_as_string(hide_password=False), lab.llms(), *BATCH)
    until(lambda: under_way(lab) and under_way(lab)[0].batch_id)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 2
    assert re.fullmatch(
        rf"Waiting for 12 responses of alpha, handed in on .* at {provider.where} as batch_1.\n", out
    )
    assert err == (
        f"error: Stopped; 1 batch goes on at {provider.where} and will be paid for: the same command fetches "
        "the answers.\n"
    )


def test_an_expired_batch_keeps_its_answers_and_says_why_the_others_are_missing(
    lab: Lab, provider: BatchServer
) -> None:
    provider.n_answered = 5
    provider.status = lambda _: "expired"
    lab.llms()
    code, out, err = lab.run(*BATCH)
    assert (code, err) == (2, "error: 7 responses failed: the same command asks for them again.\n")
    assert "7 responses failed: not answered by its batch 7.\n" in out
    records = lab.collected()
    assert [record.status for record in records.values()].count(AnswerStatus.OK) == 5
    late = "This request could not be executed before the completion window expired"
    assert records["q11"].error == f"The batch at {provider.where} did not answer this (“{late}”)."
    provider.n_answered, provider.status = None, lambda _: "completed"
    assert lab.run(*BATCH)[0] == 0
    assert len(provider.requests("batch_2")) == 7


def test_a_batch_that_failed_as_a_whole_says_why(lab: Lab, provider: BatchServer) -> None:
    lab.llms()
    lab.run("--limit", "1")  # failures of an LLM without any answer are not kept
    provider.status = lambda _: "failed"
    lab.run(*LATER)
    provider.batches["batch_1"]["errors"] = {"data": [{"code": "limit", "message": "Too many tokens."}]}
    assert lab.run(*BATCH)[0] == 2
    [error] = {record.error for record in lab.collected().values()} - {None}
    assert error == (
        f"The batch at {provider.where} ended as “failed” (“Too many tokens”) and has no answer to this."
    )


def test_a_batch_that_its_provider_does_not_know_is_missing_again(lab: Lab, provider: BatchServer) -> None:
    lab.llms()
    lab.run(*LATER)
    provider.forgets = True
    code, _, err = lab.run(*BATCH)
    assert code == 2
    assert (
        f"alpha: The endpoint {provider.where} no longer knows the batch batch_1, so its 12 responses are "
        "missing again: the same command asks for them anew.\n"
    ) in err
    assert (under_way(lab), len(provider.batches)) == ([], 1)
    provider.forgets = False
    assert lab.run(*BATCH)[0] == 0
    assert len(provider.batches) == 2


def test_what_is_handed_in_is_not_asked_for_and_comes_with_any_later_run(
    lab: Lab, provider: BatchServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    provider.status = lambda looks: "completed" if looks >= 2 else "in_progress"
    lab.llms(price_prompt=10)
    code, out, err = lab.run(*LATER, "--limit", "8")
    assert (code, err) == (0, "")
    note = (
        r"note: under way: 8 responses of alpha, handed in on [\d-]+ at [\d:]+ UTC at "
        rf"{provider.where} as batch_1; fetch the answers later with: {FETCH}\n"
    )
    assert re.search(note, out)
    assert re.search(r"alpha +0 of 8 +0 ", out)
    [status] = statuses(lab.database, "mine")
    [command] = status.next_commands()
    assert command.startswith(f"{FETCH}   # under way: 8 responses of alpha, handed in on ")
    monkeypatch.setattr(sys, "argv", ["precompute", "benchmarks", "remove", "mine", "--dry-run"])
    with pytest.raises(SystemExit):
        command_line.main()
    assert "batches under way 1" in capsys.readouterr().out

    assert "  4 " in re.search(r"alpha.*", lab.run("--dry-run")[1])[0]
    code, out, err = lab.run()
    assert (code, err, len(provider.chats)) == (0, "", 4)
    assert re.search(note, out)
    assert lab.run(*LATER)[0] == 0
    assert len(lab.collected()) == 4
    code, out, err = lab.run()
    assert (code, err, len(provider.chats), len(provider.batches)) == (0, "", 4, 1)
    assert re.search(r"alpha +12 of 12 +8 ", out)
    assert len(lab.collected()) == 12


def test_a_budget_that_the_estimate_exceeds_hands_nothing_in(lab: Lab, provider: BatchServer) -> None:
    lab.llms("alpha", "beta", price_completion=100, max_tokens=50, batch_discount=0.75)
    each = 12 * 50 * 100 / 1e6 / 4
    code, _, err = lab.run(*BATCH, "--budget", 1.5 * each)
    assert (code, len(provider.batches)) == (2, 1)
    assert (
        f"beta: 12 were not asked for, as the batch would cost about {each:.4f}, more than the "
        f"{each / 2:.4f} that is left of the budget, and cannot be stopped in the middle: raise --budget, or "
        "ask for fewer with --limit.\n"
    ) in err
    assert len(lab.collected("alpha")) == 12


def test_an_estimate_halves_with_batches(lab: Lab, provider: BatchServer) -> None:
    lab.llms(price_prompt=10, price_completion=100)
    at_once, in_batches = (
        re.search(r"alpha.*", lab.run("--dry-run", *options)[1])[0].split() for options in ((), BATCH)
    )
    cost = 6
    assert float(in_batches[cost]) == pytest.approx(float(at_once[cost]) / 2, abs=1e-4)
    assert in_batches[-2:] == ["24", "h"]
    assert provider.files == {}


def test_a_batch_is_fetched_with_the_settings_that_it_was_handed_in_with(
    lab: Lab, provider: BatchServer
) -> None:
    lab.llms()
    lab.run(*LATER)
    lab.llms(temperature=0.1)
    changed = lab.run(*BATCH)
    lab.write('[alpha]\nurl = "http://127.0.0.1:1/v1"\nmodel = "alpha-model"\n')
    moved = lab.run(*BATCH)
    assert changed[2].startswith(
        "error: The settings of 'alpha' have changed since 12 responses were handed in"
    )
    assert moved[2].startswith(f"error: A batch of 'alpha' was handed in at {provider.url}/v1, and its table")
    lab.llms(title="Another title")
    assert lab.run(*BATCH)[0] == 0
    assert len(provider.batches) == 1


def test_what_is_to_be_replaced_is_fetched_by_the_command_that_is_named(
    lab: Lab, provider: BatchServer
) -> None:
    lab.llms()
    lab.run(*BATCH)
    lab.llms(temperature=0.1)
    assert "have changed since 12 of its stored responses" in lab.run(*BATCH)[2]
    lab.run(*LATER, "--again")
    assert len(lab.collected()) == 12  # the old ones
    before = {record.settings_digest for record in lab.collected().values()}
    assert lab.run(*BATCH)[0] == 0
    after = {record.settings_digest for record in lab.collected().values()}
    assert (len(before), len(after), before & after) == (1, 1, set())


def test_a_failure_of_a_moment_is_waited_out(lab: Lab, provider: BatchServer) -> None:
    lab.llms(timeout=5, retries=0)
    ask = provider._get
    looks = iter([Answer("oops", 503), Answer("oops", 429)])
    provider._get = lambda path: next(looks, None) or ask(path)
    assert lab.run(*BATCH)[::2] == (0, "")


def test_only_endpoints_take_batches(lab: Lab) -> None:
    lab.write('[small]\nprovider = "transformers"\nmodel = "smollm2"\n')
    for options in (BATCH, (*BATCH, "--dry-run")):
        assert lab.run(*options) == (
            2,
            "",
            "error: 'small' runs in this process, and only an endpoint takes batches: choose other LLMs with "
            "--llm, or leave out --batch.\n",
        )
    lab.llms()
    assert "give --no-wait together with --batch" in lab.run("--no-wait")[2]


def test_a_key_that_a_batch_repeats_is_not_stored(
    lab: Lab, provider: BatchServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = "sk-this-is-very-secret-0815"
    monkeypatch.setenv(samples.KEY_VARIABLE, secret)
    provider.behave = lambda asked, *_: (
        Answer({"error": {"message": f"bad {secret}"}}, 400)
        if samples.number_of(asked) == 1
        else Answer(samples.completion(f"Your key is {secret}."))
    )
    lab.llms(api_key_env=samples.KEY_VARIABLE, price_prompt=1)
    printed = "".join(map(str, lab.run(*BATCH)))
    assert provider.keys == {f"Bearer {secret}"}
    assert lab.collected()["q0"].text == "Your key is …."
    lab.database.close()
    kept = b"".join(path.read_bytes() for path in lab.folder.rglob("*") if path.is_file())
    assert secret not in printed + kept.decode(errors="replace")


def test_a_batch_is_split_by_requests_and_by_bytes() -> None:
    settings = EndpointLLMSettings(model="m")
    prompts = [Prompt(f"q{number}", "é" * 100) for number in range(5)]
    by_number = list(batch_files(settings, prompts, max_requests=2))
    assert [[prompt.external_id for prompt in part] for part, _ in by_number] == [
        ["q0", "q1"],
        ["q2", "q3"],
        ["q4"],
    ]
    a_line = len(by_number[-1][1])
    by_size = list(batch_files(settings, prompts, max_bytes=3 * a_line))
    assert [len(part) for part, _ in by_size] == [3, 2]
    assert all(len(content) <= 3 * a_line for _, content in by_size)
    assert [len(part) for part, _ in batch_files(settings, prompts, max_bytes=1)] == [1] * 5
    assert list(batch_files(settings, [])) == []
