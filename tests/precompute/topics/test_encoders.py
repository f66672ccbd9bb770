from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from crm.embedded.encoder import sentence_encoder
from crm.errors import ConfigError, UnavailableError
from db import Database
from precompute.topics.encoders import embed_queries, make_encoder
from precompute.topics.settings import EncoderSettings
from tests.crm.backends.scripted_server import Answer, ScriptedServer
from tests.crm.llm.test_lying_endpoints import ENDLESS, OK, RawServer
from tests.lies import is_a_sentence, lies
from tests.precompute.topics import samples
from tests.precompute.topics.test_discovery import queries

TEXTS = ["How do I make soup?", "When do I prune roses?", "A flight to Lima, please."]
SECRET = "sk-this-is-very-secret-0815"


def endpoint(server: ScriptedServer, **keys: Any) -> EncoderSettings:
    given = {"backend": "openai", "model": "embedder", "url": f"{server.url}/v1", "retries": 0, **keys}
    return EncoderSettings(**given)


def test_minilm_reads_a_text_alike_whatever_stands_beside_it() -> None:
    encoder = make_encoder(EncoderSettings())
    together = encoder.embed(TEXTS)
    assert together.shape == (3, 384)
    assert np.array_equal(encoder.embed(TEXTS[1:2]), together[1:2])
    assert np.allclose(together, sentence_encoder().embed(TEXTS), atol=1e-6)
    told = make_encoder(EncoderSettings(instruction="Subject of: "))
    assert np.array_equal(told.embed(TEXTS[:1]), encoder.embed([f"Subject of: {TEXTS[0]}"]))
    assert (encoder.name, told.name) == ("all-MiniLM-L6-v2", "all-MiniLM-L6-v2 after 'Subject of: '")


def test_a_folder_of_sentence_transformers_embeds_as_its_weights_do(minilm_folder: Path) -> None:
    settings = EncoderSettings(backend="sentence-transformers", model=str(minilm_folder), device="cpu")
    encoder = make_encoder(settings)
    assert np.allclose(encoder.embed(TEXTS), sentence_encoder().embed(TEXTS), atol=1e-5)
    assert str(minilm_folder) not in encoder.name
    cut = make_encoder(settings.model_copy(update={"dimensions": 64, "max_length": 4}))
    assert cut.embed(TEXTS).shape == (3, 64)
    assert cut.name == f"{encoder.name} cut to 64 tokens 4"
    # Four tokens are the first two words of the text and the two that frame it.
    first_words = make_encoder(settings.model_copy(update={"dimensions": 64})).embed(["How do"])
    assert np.allclose(cut.embed(TEXTS[:1]), first_words, atol=1e-5)


def test_what_is_no_model_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    encoder = make_encoder(EncoderSettings(backend="sentence-transformers", model=str(tmp_path)))
    with pytest.raises(UnavailableError, match="cannot be loaded"):
        encoder.embed(TEXTS)


def test_a_model_that_the_hub_must_give_needs_a_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)  # the tests stay on this machine
    encoder = make_encoder(EncoderSettings(backend="sentence-transformers", model="nobody/no-such-model"))
    with pytest.raises(UnavailableError, match="'nobody/no-such-model' cannot be loaded"):
        encoder.embed(TEXTS)


EMBEDDINGS: dict[str, Any] = {
    "object": "list",
    "model": "embedder",
    "data": [
        {"object": "embedding", "index": index, "embedding": [0.5, -0.25, 1.0 + index]} for index in range(3)
    ],
    "usage": {"prompt_tokens": 9, "total_tokens": 9},
}


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(answer=lies(EMBEDDINGS))
def test_an_endpoint_that_answers_anything_gives_embeddings_or_a_sentence(
    server: ScriptedServer, answer: object
) -> None:
    server.on(samples.EMBEDDINGS, Answer(answer))
    try:
        vectors = make_encoder(endpoint(server)).embed(TEXTS)
    except UnavailableError as error:
        assert is_a_sentence(error), str(error)
    else:
        assert vectors.dtype == np.float32
        assert len(vectors) == len(TEXTS)
        assert np.all(np.linalg.norm(vectors, axis=1) > 0)
        assert np.isfinite(vectors).all()


@pytest.mark.parametrize(
    "vector", [["0.5", "1", "2"], [True, False, True], [0, 0.0, 0], [1e30, 1e30, 1.0], [10**200, 1, 1]]
)
def test_what_only_looks_like_an_embedding_is_none(server: ScriptedServer, vector: list[object]) -> None:
    server.on(
        samples.EMBEDDINGS,
        Answer({"data": [{"index": index, "embedding": vector} for index in range(len(TEXTS))]}),
    )
    with pytest.raises(UnavailableError, match="answers no embedding"):
        make_encoder(endpoint(server)).embed(TEXTS)


def test_an_endpoint_is_asked_for_what_the_settings_say(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(samples.KEY_VARIABLE, SECRET)
    encoder = make_encoder(
        endpoint(server, api_key_env=samples.KEY_VARIABLE, instruction="Subject: ", dimensions=8)
    )
    vectors = encoder.embed(TEXTS)
    assert np.allclose(vectors, samples.embed([f"Subject: {text}" for text in TEXTS], 8))
    [asked] = server.asked[samples.EMBEDDINGS]
    assert asked == {
        "model": "embedder",
        "input": [f"Subject: {text}" for text in TEXTS],
        "encoding_format": "float",
        "dimensions": 8,
    }
    assert server.keys == [f"Bearer {SECRET}"]
    assert encoder.name == f"embedder at {server.where} cut to 8 after 'Subject: '"


def test_a_key_that_is_missing_is_told_before_anything_is_asked(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(samples.KEY_VARIABLE, raising=False)
    with pytest.raises(ConfigError, match="finds no API key"):
        make_encoder(endpoint(server, api_key_env=samples.KEY_VARIABLE))
    assert not server.asked


def test_what_fails_for_the_moment_is_asked_again(server: ScriptedServer) -> None:
    server.on(samples.EMBEDDINGS, Answer("oops", 500), Answer("slower", 429), samples.embeddings)
    vectors = make_encoder(endpoint(server, retries=2)).embed(TEXTS)
    assert np.allclose(vectors, samples.embed(TEXTS))
    assert len(server.asked[samples.EMBEDDINGS]) == 3


def rows(*embeddings: object) -> Answer:
    data = [{"object": "embedding", "index": index, "embedding": row} for index, row in enumerate(embeddings)]
    return Answer({"object": "list", "model": "m", "data": data})


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (Answer({"error": {"message": f"No {SECRET}"}}, 401), "refuses to embed (status 401)"),
        (Answer({"error": {"message": f"Too long, {SECRET}"}}, 400), "refuses to embed (status 400)"),
        (Answer(status=302, headers={"Location": "http://127.0.0.1:9/v1"}), "refuses to embed (status 302)"),
        (Answer("oops", 500), "refuses to embed (status 500)"),
        (Answer(rows([0.1]).body, cut=True), "cannot be reached"),
        (Answer("<html>Welcome</html>"), "answers no embeddings"),
        (Answer("{"), "answers no embeddings"),
        (Answer({}), "answers no embeddings"),
        (Answer([1, 2]), "answers no embeddings"),
        (Answer({"data": "AAAA"}), "answers no embeddings"),
        (rows([0.1], [0.2]), "answers no embedding for each text"),
        (rows([0.1], [0.2], [0.3], [0.4]), "answers no embedding for each text"),
        (rows([0.1, 0.2], [0.2], [0.3]), "answers no embeddings"),
        (rows([0.1], [None], [0.3]), "answers no embedding"),
        (rows([], [], []), "answers no embedding for each text"),
        (rows([10**400], [0.2], [0.3]), "answers no embeddings"),
        (rows("AAAA", "AAAA", "AAAA"), "answers no embeddings"),
        (Answer({"data": [{"index": 0, "embedding": [0.1]}] * 3}), "answers no embedding for each text"),
    ],
)
def test_an_endpoint_that_does_not_embed_is_one_sentence(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch, answer: Answer, said: str
) -> None:
    monkeypatch.setenv(samples.KEY_VARIABLE, SECRET)
    server.on(samples.EMBEDDINGS, answer)
    encoder = make_encoder(endpoint(server, api_key_env=samples.KEY_VARIABLE))
    with pytest.raises(UnavailableError) as raised:
        encoder.embed(TEXTS)
    assert said in str(raised.value)
    assert SECRET not in str(raised.value)
    assert raised.value.__cause__ is None


def test_a_reply_without_end_is_not_read_to_its_end() -> None:
    settings = {"backend": "openai", "model": "embedder", "retries": 0, "timeout": 60}
    with RawServer(OK + ENDLESS[0], *ENDLESS[1:]) as endless:
        encoder = make_encoder(EncoderSettings(url=endless.url, **settings))
        with pytest.raises(UnavailableError, match="more than is read of a reply: lower 'batch_size'"):
            encoder.embed(TEXTS)
        assert endless.sent < 100 * 2**20


def test_nobody_at_the_address_is_one_sentence(server: ScriptedServer) -> None:
    settings = endpoint(server)
    server.__exit__()
    with pytest.raises(UnavailableError, match="cannot be reached"):
        make_encoder(settings).embed(TEXTS)
    server.__enter__  # noqa: B018


def test_a_text_is_embedded_once_whichever_pool_it_is_in(database: Database, server: ScriptedServer) -> None:
    encoder = make_encoder(endpoint(server, batch_size=2))
    first = embed_queries(database, queries(TEXTS), encoder)
    assert [len(asked["input"]) for asked in server.asked[samples.EMBEDDINGS]] == [2, 1]
    assert np.allclose(np.linalg.norm(first.vectors, axis=1), 1)
    again = embed_queries(database, queries(TEXTS[::-1]), encoder)
    assert np.array_equal(again.vectors, first.vectors[::-1])
    assert len(server.asked[samples.EMBEDDINGS]) == 2
    other = make_encoder(endpoint(server, batch_size=2, instruction="Subject: "))
    embed_queries(database, queries(TEXTS), other)
    assert len(server.asked[samples.EMBEDDINGS]) == 4


def test_an_endpoint_that_fails_midway_keeps_what_came_in(database: Database, server: ScriptedServer) -> None:
    server.on(samples.EMBEDDINGS, samples.embeddings, Answer("oops", 500), samples.embeddings)
    encoder = make_encoder(endpoint(server, batch_size=1))
    told: list[tuple[int, int]] = []
    with pytest.raises(UnavailableError):
        embed_queries(database, queries(TEXTS), encoder)
    resumed = embed_queries(database, queries(TEXTS), encoder, lambda *how_far: told.append(how_far))
    asked = [body["input"] for body in server.asked[samples.EMBEDDINGS]]
    assert asked == [[TEXTS[0]], [TEXTS[1]], [TEXTS[1]], [TEXTS[2]]]
    assert told == [(0, 3), (1, 3), (2, 3), (3, 3)]
    expected = samples.embed(TEXTS)
    assert np.allclose(resumed.vectors, expected / np.linalg.norm(expected, axis=1, keepdims=True), atol=1e-6)


def test_embeddings_of_different_lengths_are_one_sentence(database: Database, server: ScriptedServer) -> None:
    server.on(samples.EMBEDDINGS, rows([0.1, 0.2]), rows([0.1]))
    with pytest.raises(UnavailableError, match="different lengths"):
        embed_queries(database, queries(TEXTS[:2]), make_encoder(endpoint(server, batch_size=1)))
