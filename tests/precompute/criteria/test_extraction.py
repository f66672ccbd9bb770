"""Against a local HTTP server that speaks the protocol of chat completions.

Processes that are killed, and processes that do the same at the same time, on both databases."""

import random
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from crm.llm import structured
from db import Database
from db.repositories import llm_answers
from db.repositories.llm_answers import get_extracted
from db.repositories.preferences import find_preference_set
from db.source_records import AnswerStatus, ExtractedRecord, SideKey, Winner
from tests.crm.backends.scripted_server import Answer
from tests.db.conftest import empty_url, postgres
from tests.precompute.collect.samples import completion
from tests.precompute.criteria import samples
from tests.precompute.criteria.conftest import Lab, Start
from tests.precompute.criteria.samples import criteria_of, number_of, preferred_in, reply, well_behaved

DECIDED = [0, 1, 3, 4]
"""Numbers of the six pairs that are no tie."""
AGAIN = "An earlier reply could not be used"


def test_both_sides_of_every_pair_that_is_no_tie_get_criteria(lab: Lab) -> None:
    asked = lab.behave().asked
    lab.llms(price_prompt=3, price_completion=10)
    code, out, err = lab.run()
    assert (code, err) == (0, "")
    assert "8 of 8" in out
    assert len(asked) == 8
    extracted = lab.extracted()
    assert list(extracted) == [SideKey(f"p{n}", side) for n in DECIDED for side in (Winner.A, Winner.B)]
    for key, record in extracted.items():
        assert record.status == AnswerStatus.OK
        assert record.criteria == tuple(criteria_of("warm" if key.side == Winner.A else "brief"))
        assert (record.llm, record.prompt_tokens, record.completion_tokens) == ("alpha", 100, 10)
        assert record.cost == pytest.approx(0.0004)
    assert {record.first_shown for record in extracted.values()} == {Winner.A, Winner.B}
    with lab.database.session() as session:
        totals = llm_answers.extraction_totals(session, find_preference_set(session, samples.SLUG))
    assert (dict(totals.n_by_status), totals.prompt_tokens) == ({AnswerStatus.OK: 8}, 800)


def test_only_what_is_missing_is_asked_for(lab: Lab) -> None:
    asked = lab.behave().asked
    lab.llms()
    assert lab.run("--limit", 1)[0] == 0
    assert sorted(map(number_of, asked)) == [0, 0]
    assert lab.run("--limit", 2)[0] == 0
    assert sorted(map(number_of, asked)) == [0, 0, 1, 1]
    assert lab.run()[0] == lab.run()[0] == 0
    assert len(asked) == len(set(asked)) == 8


def test_a_reply_of_no_use_is_asked_for_again_with_the_reason(lab: Lab) -> None:
    first = {0: Answer(completion("The warm one is better.")), 1: reply(["Warm", "Warm", "Kind"])}
    asked = lab.behave(
        lambda prompt, before: (
            first[number_of(prompt)]
            if AGAIN not in prompt and number_of(prompt) in first
            else well_behaved(prompt, before)
        )
    ).asked
    lab.llms()
    code, out, err = lab.run()
    assert (code, err) == (0, "")
    assert "4 requests were repeated: reply of no use 4." in out
    assert sum("It is no JSON object." in prompt for prompt in asked) == 2
    assert sum("It says the same twice." in prompt for prompt in asked) == 2
    record = lab.extracted()[SideKey("p0", Winner.A)]
    assert (record.criteria, record.attempts, record.prompt_tokens) == (tuple(criteria_of("warm")), 2, 200)


def test_a_reply_that_stays_useless_is_stored_as_failed_and_asked_for_by_the_next_run(lab: Lab) -> None:
    useless = reply(["Better than Response A", "b", "c"])
    asked = lab.behave(
        lambda prompt, before: useless if number_of(prompt) == 3 else well_behaved(prompt, before)
    ).asked
    lab.llms()
    code, out, err = lab.run()
    assert code == 2
    assert err == "error: 2 lists of criteria failed: the same command asks for them again.\n"
    assert "2 lists of criteria failed: reply of no use 2." in out
    assert len(asked) == 6 + 2 * structured.TRIES
    record = lab.extracted()[SideKey("p3", Winner.B)]
    assert (record.status, record.criteria, record.attempts) == (AnswerStatus.FAILED, (), 3)
    assert record.error == ("The reply could not be used: criterion 1 speaks of one of the two answers.")
    asked = lab.behave().asked
    assert lab.run()[0] == 0
    assert [number_of(prompt) for prompt in asked] == [3, 3]


def test_where_nothing_was_extracted_the_reason_is_told(lab: Lab, tmp_path: Path) -> None:
    lab.behave(lambda _prompt, _before: Answer(completion("I had rather not.")))
    lab.llms()
    out = tmp_path / "pairs.jsonl"
    code, _, err = lab.run("--limit", 1, "--out", out)
    assert (code, out.exists()) == (2, False)
    assert err == "error: 2 lists of criteria failed: the same command asks for them again.\n"


def test_a_cut_reply_says_so(lab: Lab) -> None:
    lab.behave(lambda prompt, _: Answer(completion('{"criteria": ["Warm", "Ki', finish="length")))
    lab.llms()
    assert lab.run("--limit", 1)[0] == 2
    record = lab.extracted()[SideKey("p0", Winner.A)]
    assert record.error == "The reply could not be used: it was cut off at the limit of tokens."


BAD_DAYS = {
    0: Answer({"error": {"message": "slow down"}}, 429, {"Retry-After": "0.05"}),
    1: Answer("oops", 500),
    3: Answer(completion("half of this"), cut=True),
    4: Answer("<html>no JSON</html>"),
}


def test_an_endpoint_on_its_worst_day_gives_every_list_in_the_end(lab: Lab) -> None:
    lab.behave(
        lambda prompt, before: BAD_DAYS[number_of(prompt)] if before < 2 else well_behaved(prompt, before)
    )
    lab.llms(retries=2, timeout=5)
    code, out, err = lab.run()
    assert (code, err) == (0, "")
    [line] = [line for line in out.splitlines() if "requests were repeated" in line]
    for kind in ("16 requests", "(429) 4", "(5xx) 4", "cut 4", "no JSON 4"):
        assert kind in line
    assert {record.status for record in lab.extracted().values()} == {AnswerStatus.OK}


def test_an_endpoint_that_fails_leaves_lists_that_say_why(lab: Lab) -> None:
    lab.behave(lambda prompt, before: Answer("oops", 503) if number_of(prompt) == 1 else well_behaved(prompt))
    lab.llms(retries=1)
    code, _, err = lab.run()
    assert (code, err[:41]) == (2, "error: 2 lists of criteria failed: the sa")
    record = lab.extracted()[SideKey("p1", Winner.A)]
    assert record.error == f"The endpoint {lab.server.where} fails (status 503)."


def test_a_refusal_is_kept_and_not_asked_for_again(lab: Lab) -> None:
    refused = Answer(completion(None, refusal="I will not."))
    asked = lab.behave(lambda prompt, _: refused if number_of(prompt) == 0 else well_behaved(prompt)).asked
    lab.llms()
    assert lab.run()[0] == lab.run()[0] == 0
    assert len(asked) == 8
    assert lab.extracted()[SideKey("p0", Winner.A)].status == AnswerStatus.REFUSED


def test_an_llm_that_does_not_understand_is_given_up_soon(lab: Lab) -> None:
    samples.store(lab.database, 60, "many")
    asked = lab.behave(lambda *_: Answer(completion("What a nice pair!"))).asked
    lab.llms(concurrency=1)
    code, _, err = lab.command(
        "extract-criteria", "--preferences", "many", "--llm", "alpha", "--call", "side"
    )
    assert (code, len(asked)) == (2, structured.MAX_UNUSABLE)
    assert "alpha: 25 replies one after another could not be used, the last because: It is no JSON" in err


def test_other_settings_or_llms_replace_criteria_only_when_told_so(lab: Lab) -> None:
    lab.behave()
    lab.llms()
    lab.run()
    lab.llms("alpha", "beta", temperature=0.5)
    before = lab.extracted()
    for llm in ("alpha", "beta"):
        code, _, err = lab.run(llm=llm)
        assert code == 2
        assert err.startswith("error: 8 lists of criteria of 'arena' were extracted by another LLM than")
    assert lab.extracted() == before
    lab.behave(lambda prompt, _: reply([f"{preferred_in(prompt)} {n}" for n in range(5)]))
    assert lab.run("--again", llm="beta")[0] == 0
    assert {record.llm for record in lab.extracted().values()} == {"beta"}
    assert all(len(record.criteria) == 5 for record in lab.extracted().values())


def test_a_failure_never_takes_the_place_of_criteria(lab: Lab) -> None:
    lab.behave()
    lab.llms()
    lab.run()
    before = lab.extracted()
    lab.behave(lambda *_: Answer("oops", 500))
    lab.llms(temperature=0.1, retries=0)
    assert lab.run("--again")[0] == 2
    assert lab.extracted() == before


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--preferences", "absent", "--llm", "alpha"), "There is no preference data 'absent'"),
        (("--preferences", "arena", "--llm", "gamma"), "There is no LLM 'gamma' in llms.toml"),
        (("--preferences", "ties", "--llm", "alpha"), "'ties' has no pair of which one side was preferred"),
    ],
)
def test_bad_input_is_one_sentence(lab: Lab, arguments: tuple[str, ...], said: str) -> None:
    samples.store(lab.database, 0, "ties")
    lab.llms()
    code, out, err = lab.command("extract-criteria", *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert said in err
    assert err.count("\n") == 1


def test_the_key_is_sent_and_nowhere_else(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    key = "sk-very-secret-0123456789"
    monkeypatch.setenv("MY_ENDPOINT_KEY", key)
    lab.behave(
        lambda prompt, _: (
            Answer({"error": {"message": f"bad key {key}"}}, 400)
            if number_of(prompt) == 0
            else reply([f"Says {key}", "Kind", "Brief"])
        )
    )
    lab.llms(api_key_env="MY_ENDPOINT_KEY")
    _, out, err = lab.run()
    assert set(lab.server.keys) == {f"Bearer {key}"}
    assert key not in out + err
    assert key not in str(lab.extracted())
    assert lab.extracted()[SideKey("p1", Winner.A)].criteria[0] == "Says …"


__all__ = ["empty_url", "postgres"]  # fixtures

N_PAIRS = 60
N_LISTS = 2 * N_PAIRS * 2 // 3
CONCURRENCY = 3
KILLS = {"sqlite": 3, "postgresql": 2}


@pytest.fixture
def opened(empty_url: str) -> Iterator[Database]:
    database = Database.open(empty_url)
    samples.store(database, N_PAIRS)
    yield database
    database.close()


def slow_and_moody(prompt: str, before: int) -> Answer:
    """Answers after a while; now and then of no use at first, or only at the second time."""
    number = samples.number_of(prompt)
    if number % 10 == 3 and before == 0:
        return Answer("oops", 500, delay=0.03)
    if number % 10 == 7 and "could not be used" not in prompt:
        return Answer(completion("Hm."), delay=0.03)
    return replace(samples.well_behaved(prompt), delay=0.05)


def contents_of(database: Database) -> dict[SideKey, ExtractedRecord]:
    """All that is stored, but for how long it took; attempts before a kill may be in place of later ones."""
    with database.session() as session:
        records = get_extracted(session, find_preference_set(session, samples.SLUG))
    plain = {"seconds": 0.0, "attempts": 1, "prompt_tokens": 0, "completion_tokens": 0}
    return {key: replace(record, **plain) for key, record in records.items()}


def url_of(database: Database) -> str:
    return database.engine.url.render_as_string(hide_password=False)


def wait_until_asked(script: samples.Endpoint, n: int, process: subprocess.Popen[str]) -> None:
    while len(script.asked) < n and process.poll() is None:
        time.sleep(0.01)
    assert process.poll() is None, process.communicate()


def test_a_killed_extraction_goes_on_where_it_was(bare: Lab, opened: Database, start: Start) -> None:
    script = bare.behave(slow_and_moody)
    llms = bare.llms(concurrency=CONCURRENCY)
    chance = random.Random(5)
    kills = KILLS[opened.engine.dialect.name]
    kept = 0
    for _ in range(kills):
        process = start(url_of(opened), llms)
        wait_until_asked(script, len(script.asked) + chance.randint(5, (N_LISTS - kept) // 2), process)
        process.kill()
        process.wait()
        assert len(contents_of(opened)) >= kept
        kept = len(contents_of(opened))
    last = start(url_of(opened), llms)
    out, err = last.communicate(timeout=60)
    assert (last.returncode, err) == (0, ""), out
    n_asked = len(script.asked)

    samples.store(bare.database, N_PAIRS)
    bare.behave(slow_and_moody)
    assert bare.run()[0] == 0
    assert contents_of(opened) == contents_of(bare.database)
    assert len(contents_of(opened)) == N_LISTS
    # Asked again is what was under way, came in during the last moment, or could not be used before a kill.
    repeated = N_LISTS // 5 * (kills + 1)
    unstored = 0.5 / 0.05 * CONCURRENCY + 3 * CONCURRENCY
    assert n_asked <= N_LISTS + repeated + kills * unstored


def test_two_at_once_do_not_ask_twice(bare: Lab, opened: Database, start: Start) -> None:
    script = bare.behave(lambda prompt, _: replace(samples.well_behaved(prompt), delay=0.05))
    llms = bare.llms(concurrency=CONCURRENCY)
    both = [start(url_of(opened), llms) for _ in range(2)]
    ends = [(process.communicate(timeout=60), process.returncode) for process in both]
    [first, second] = sorted(ends, key=lambda end: end[1])
    assert first[1] == 0, first
    if second[1] != 0:  # else the second began when the first had ended
        said = "Another process is extracting criteria from 'arena'; run the command again when it is done."
        assert second == (("", f"error: {said}\n"), 2)
    assert len(script.asked) == len(set(script.asked)) == N_LISTS == len(contents_of(opened))


def test_an_interruption_keeps_what_came_in(bare: Lab, opened: Database, start: Start) -> None:
    if opened.engine.dialect.name != "sqlite":
        pytest.skip("the same on every database")
    script = bare.behave(lambda prompt, _: replace(samples.well_behaved(prompt), delay=0.05))
    process = start(url_of(opened), bare.llms(concurrency=CONCURRENCY))
    wait_until_asked(script, 20, process)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    stored = len(contents_of(opened))
    assert (process.returncode, out) == (2, "")
    said = f"Stopped after {stored} lists of criteria, which are kept: the same command continues there."
    assert err == f"error: {said}\n"
    assert stored > 10
