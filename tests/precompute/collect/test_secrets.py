"""An API key is sent to its endpoint and is nowhere else, even if the endpoint repeats it."""

import pytest

from tests.crm.backends.scripted_server import Answer
from tests.precompute.collect import samples
from tests.precompute.collect.conftest import Lab

SECRET = "sk-this-is-very-secret-0815"


def test_a_key_is_nowhere_to_be_found(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    monkeypatch.setenv(samples.KEY_VARIABLE, SECRET)
    echoes = {
        0: Answer(samples.completion(f"Your key is {SECRET}.", reasoning=f"I see {SECRET}")),
        1: Answer(samples.completion(None, refusal=f"Not with {SECRET}")),
        2: Answer({"error": {"message": f"Bad request by {SECRET}"}}, 400),
        3: Answer(f"Server error for {SECRET}", 500),
    }
    refused = Answer({"error": {"message": SECRET}}, 401)
    lab.behave(lambda asked, model, _: echoes.get(samples.number_of(asked), refused))
    lab.llms(api_key_env=samples.KEY_VARIABLE, retries=1, concurrency=1)
    printed = "".join(map(str, (*lab.run(), *lab.run())))
    assert set(lab.server.keys) == {f"Bearer {SECRET}"}
    assert lab.collected()["q0"].text == "Your key is …."
    assert "refuses the API key" in printed
    lab.database.close()

    kept = b"".join(path.read_bytes() for path in lab.folder.rglob("*") if path.is_file())
    assert b"Your key is" in kept
    for place in (kept.decode(errors="replace"), printed, caplog.text):
        assert SECRET not in place


def test_a_key_that_is_missing_or_in_the_wrong_place_is_one_sentence(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(samples.KEY_VARIABLE, raising=False)
    lab.llms(api_key_env=samples.KEY_VARIABLE)
    missing = "error: The LLM 'alpha' finds no API key: set the environment variable"
    assert lab.run()[2] == f"{missing} {samples.KEY_VARIABLE}.\n"
    lab.llms(api_key_env="AKIAIOSFODNN7EXAMPLE")  # a key in place of its variable's name
    assert lab.run()[2] == f"{missing} that its api_key_env names.\n"
    lab.llms(api_key=SECRET)
    code, out, err = lab.run()
    assert (code, out) == (2, "")
    assert "llms.toml, LLM 'alpha': an API key does not belong in a file" in err
    assert SECRET not in err


def test_a_key_of_the_environment_goes_nowhere_unless_its_table_names_it(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    lab.behave()
    lab.llms()
    assert lab.run("--limit", "1")[0] == 0
    assert lab.server.keys == ["Bearer none"]
