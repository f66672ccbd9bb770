"""Responses collected by workers of Ray."""

import signal
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import psutil
import ray

from db.repositories.benchmarks import find_benchmark, get_benchmark
from precompute.engines import Engine
from tests.checkpoints import make_causal
from tests.crm.backends.scripted_server import Answer
from tests.precompute.collect import conftest, samples
from tests.precompute.collect.conftest import Lab, Start
from tests.precompute.engines.conftest import KEY_VARIABLE, SECRET

# Fixtures of the tests of collecting.
_no_loop_of_a_browser = conftest._no_loop_of_a_browser
server, _run, bare, lab, start = conftest.server, conftest._run, conftest.bare, conftest.lab, conftest.start

ON_RAY = ("--engine", "ray")


def moody(asked: str, model: str, before: int) -> Answer:
    """Fails at first now and then, cuts answers short, and never answers one query."""
    number = samples.number_of(asked)
    if number == 11 or (number % 5 == 3 and before == 0):
        return Answer("oops", 500)
    return Answer(samples.completion(f"{model} on: {asked}", finish="length" if number == 7 else "stop"))


def test_the_same_is_stored(lab: Lab, on_ray: Engine) -> None:
    lab.behave(moody)
    lab.llms(concurrency=3, retries=1, system="Be brief.")
    code, out, _ = lab.run(*ON_RAY)
    there = lab.collected()
    assert code == 2
    assert "1 response failed: server error (5xx) 1." in out

    lab.llms("local-alpha", concurrency=3, retries=1, system="Be brief.")
    lab.behave(lambda asked, _, before: moody(asked, "alpha-model", before))
    lab.run()
    here = lab.collected("local-alpha")
    # The name at the endpoint differs, and with it the digest of the settings.
    assert [replace(record, settings_digest="") for record in there.values()] == [
        replace(record, settings_digest="") for record in here.values()
    ]
    assert there.keys() == here.keys()
    assert len(there) == 12


def test_an_endpoint_that_refuses_the_key_stops_its_llm_alone(lab: Lab, on_ray: Engine) -> None:
    refused = Answer({"error": {"message": "no"}}, 401)
    script = lab.behave(
        lambda asked, model, before: refused if model == "alpha-model" else moody(asked, model, before)
    )
    lab.llms("alpha", "beta", concurrency=2)
    code, _, err = lab.run(*ON_RAY, "--limit", 8)
    assert code == 2
    assert "One LLM could not be asked to the end; alpha: The endpoint" in err
    assert len(lab.collected("beta")) == 8
    assert len([model for _, model in script.asked if model == "alpha-model"]) < 8


def test_a_key_comes_from_the_workers_environment_and_stays_there(lab: Lab, on_ray: Engine) -> None:
    lab.behave(lambda asked, *_: Answer(samples.completion(f"With {SECRET} I answer: {asked}")))
    lab.llms(api_key_env=KEY_VARIABLE)
    printed = "".join(map(str, lab.run(*ON_RAY)))
    assert set(lab.server.keys) == {f"Bearer {SECRET}"}
    assert "With … I answer" in (lab.collected()["q0"].text or "")
    lab.database.close()
    folders = [lab.folder, Path(ray._private.worker._global_node.get_session_dir_path())]
    kept = b"".join(path.read_bytes() for folder in folders for path in folder.rglob("*") if path.is_file())
    assert b"With \xe2\x80\xa6 I answer" in kept
    assert SECRET.encode() not in kept
    assert SECRET not in printed


def test_a_model_answers_the_same(lab: Lab, on_ray: Engine, tmp_path: Path) -> None:
    make_causal(tmp_path / "chat")
    table = 'provider = "transformers"\nmodel = "chat"\ntemperature = 0\nmax_tokens = 10\n'
    (tmp_path / "llms.toml").write_text("".join(f"[{llm}]\n{table}" for llm in ("there", "here")))
    assert lab.run(*ON_RAY, "--llm", "there")[0] == lab.run("--llm", "here")[0] == 0
    assert lab.collected("there") == lab.collected("here")
    assert len(lab.collected("there")) == 12


def test_a_killed_collection_leaves_no_process_and_goes_on(lab: Lab, start: Start) -> None:
    def slowly(asked: str, model: str, _: int) -> Answer:
        return Answer(samples.completion(f"{model} on: {asked}"), delay=0.6)

    lab.behave(slowly)
    llms = lab.llms(concurrency=1)
    url = lab.database.engine.url.render_as_string(hide_password=False)
    process = start(url, llms, *ON_RAY, "--actors", "1")
    wait_for(lambda: process.poll() is not None or "alpha" in entered(lab))
    family = psutil.Process(process.pid).children(recursive=True)
    assert any("raylet" in child.name() for child in family), process.communicate()
    # Two small helpers of Ray look only now and then whether it is still there.
    family = [child for child in family if "Agent" not in " ".join(child.cmdline())]
    process.send_signal(signal.SIGKILL)
    process.wait()
    wait_for(lambda: not [child for child in family if child.is_running() and child.status() != "zombie"])
    kept = lab.collected()
    # Answers are stored by the handful, and handfuls may come in any order.
    assert set() < kept.keys() < {f"q{number}" for number in range(12)}

    script = lab.behave()
    assert lab.run()[0] == 0
    assert len(lab.collected()) == 12
    assert len(script.asked) == 12 - len(kept)


def entered(lab: Lab) -> list[str]:
    """LLMs that the benchmark has by now."""
    with lab.database.session() as session:
        return [llm.name for llm in get_benchmark(session, find_benchmark(session, samples.SLUG)).llms]


def wait_for(condition: Callable[[], object], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.05)
