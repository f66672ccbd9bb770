import json

import numpy as np
import pytest

from precompute.topics.encoders import distinct_words
from precompute.topics.naming import group_keywords, representative
from tests.crm.backends.scripted_server import Answer
from tests.precompute.collect.samples import completion
from tests.precompute.topics import samples
from tests.precompute.topics.conftest import Lab

SECRET = "sk-this-is-very-secret-0815"
NAMES = {subject.title() for subject in samples.SUBJECTS}
WRONG_CATEGORY = "The LLM answered no JSON object with a short 'name'."
WRONG_ANSWER = "The LLM answered no JSON object with a short 'name' and a 'summary'."


def test_representative_queries_are_those_nearest_the_middle() -> None:
    angles = np.array([0.0, 0.4, 0.1, -0.1, -0.4, 2.0])
    embeddings = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    members = np.arange(5)
    assert representative(embeddings, members, 1) == [0]
    assert set(representative(embeddings, members, 3)) == {0, 2, 3}
    assert set(representative(embeddings, members, 9)) == {0, 1, 2, 3, 4}


def test_an_llm_names_topics_from_their_queries(lab: Lab) -> None:
    lab.llms("writer")
    code, out, err = lab.run("cluster", samples.SLUG, "--config", lab.settings(), "--llm", "writer")
    assert (code, err) == (0, "")
    found = lab.found()
    assert {topic.name for topic in found.topics} >= NAMES
    for topic in found.topics:
        assert topic.named_by == "writer"
        assert topic.summary == f"People ask about {topic.name.split(' (')[0].lower()}."
        assert f"{topic.name} (" in out
    prompt = lab.server.asked[samples.CHAT][0]["messages"][-1]["content"]
    assert prompt.count("--- Query") == 12
    assert "Words that are typical of this group: " in prompt

    categories = [body["messages"][-1]["content"] for body in lab.server.asked[samples.CHAT]]
    assert sum("under one heading" in prompt for prompt in categories) == len(
        {topic.category for topic in found.topics}
    )
    assert {topic.category_named_by for topic in found.topics} == {"writer"}
    before = len(lab.server.asked[samples.CHAT])
    assert lab.run("cluster", samples.SLUG, "--config", lab.settings(), "--llm", "writer")[0] == 0
    assert len(lab.server.asked[samples.CHAT]) == before


@pytest.mark.parametrize(
    "content",
    [
        'Sure!\n```json\n{"name": " Fine name ", "summary": "A summary.", "more": 1}\n```\nBye.',
        '<think>{"name": "no"}</think>{"name": "Fine name", "summary": "A summary."}',
    ],
)
def test_a_json_object_inside_prose_is_an_answer(lab: Lab, content: str) -> None:
    lab.llms("writer")
    lab.server.on(samples.CHAT, Answer(completion(content)))
    assert lab.run("cluster", samples.SLUG, "--config", lab.settings(), "--llm", "writer")[0] == 0
    names = [topic.name for topic in lab.found().topics]
    assert all(name.startswith("Fine name") for name in names)
    by_category = [(topic.category, topic.name) for topic in lab.found().topics]
    assert len(set(by_category)) == len(by_category)


def test_a_name_that_no_database_can_hold_is_mended(lab: Lab) -> None:
    lab.llms("writer")
    lab.server.on(samples.CHAT, Answer(completion('{"name": "Half \\ud83d", "summary": "NUL \\u0000 here"}')))
    code, out, _ = lab.run("cluster", samples.SLUG, "--config", lab.settings(), "--llm", "writer")
    assert code == 0
    assert "Half \ufffd" in out
    assert "NUL \ufffd here" in out


def test_nonsense_is_asked_again_and_then_told(lab: Lab) -> None:
    lab.llms("writer")
    nonsense = [
        Answer(completion("I would rather not.")),
        Answer(completion(json.dumps({"name": "A name alone"}))),
        Answer(completion(json.dumps({"name": "n" * 61, "summary": "Too long a name."}))),
        Answer(completion(json.dumps({"name": "two\nlines", "summary": "Of a name."}))),
        Answer(completion('{"name": ' + "[" * 100_000)),
    ]
    lab.server.on(samples.CHAT, *nonsense, samples.naming)
    code, out, err = lab.run("cluster", samples.SLUG, "--config", lab.settings(), "--llm", "writer")
    assert (code, err) == (0, "")
    assert "note:" not in out
    assert all(topic.named_by == "writer" for topic in lab.found().topics)
    n_topics = len(lab.found().topics)
    n_categories = len({topic.category for topic in lab.found().topics})
    assert len(lab.server.asked[samples.CHAT]) == len(nonsense) + n_topics + n_categories

    lab.server.on(samples.CHAT, Answer(completion("No.")))
    lab.llms("other")
    code, out, _ = lab.run("cluster", samples.SLUG, "--config", lab.settings(), "--llm", "other")
    assert code == 0
    assert out.count(f"keeps its name: {WRONG_ANSWER}") == n_topics
    assert out.count(f"keeps its name: {WRONG_CATEGORY}") == n_categories
    assert all(topic.named_by == "writer" for topic in lab.found().topics)


def test_a_run_that_is_resumed_asks_only_for_what_is_missing(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(samples.KEY_VARIABLE, SECRET)
    lab.llms("writer", api_key_env=samples.KEY_VARIABLE)
    refusal = Answer({"error": {"message": f"The key {SECRET} is not valid"}}, 401)
    lab.server.on(samples.CHAT, samples.naming, samples.naming, refusal)
    command = ("cluster", samples.SLUG, "--config", lab.settings(), "--llm", "writer")
    code, out, err = lab.run(*command)
    assert (code, out) == (2, "")
    assert "refuses the API key" in err
    named = [topic.key for topic in lab.found().topics if topic.named_by]
    assert len(named) == 2

    lab.server.on(samples.CHAT, samples.naming)
    lab.server.asked.clear()
    code, out, err = lab.run(*command)
    assert (code, err) == (0, "")
    n_categories = len({topic.category for topic in lab.found().topics})
    assert len(lab.server.asked[samples.CHAT]) == len(lab.found().topics) - 2 + n_categories
    assert not lab.server.asked[samples.EMBEDDINGS]
    assert all(topic.named_by == "writer" for topic in lab.found().topics)


def test_a_key_is_nowhere_to_be_found(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    monkeypatch.setenv(samples.KEY_VARIABLE, SECRET)
    lab.llms("writer", api_key_env=samples.KEY_VARIABLE)
    encoder = {
        "backend": "openai",
        "model": "embedder",
        "url": f"{lab.server.url}/v1",
        "api_key_env": samples.KEY_VARIABLE,
        "retries": 0,
    }
    command = ("cluster", samples.SLUG, "--config", lab.settings(encoder=encoder), "--llm", "writer")
    lab.server.on(samples.EMBEDDINGS, Answer({"error": {"message": SECRET}}, 403))
    printed = "".join(map(str, lab.run(*command)))
    lab.server.on(samples.EMBEDDINGS, samples.embeddings)
    telling = json.dumps({"name": f"Key {SECRET}", "summary": f"I see {SECRET}."})
    lab.server.on(samples.CHAT, Answer(completion(telling)), Answer({"error": {"message": SECRET}}, 401))
    printed += "".join(map(str, lab.run(*command)))
    assert set(lab.server.keys) == {f"Bearer {SECRET}"}
    assert "status 403" in printed
    assert "refuses the API key" in printed
    assert {topic.name for topic in lab.found().topics if topic.named_by} == {"Key …"}
    lab.database.close()

    kept = b"".join(path.read_bytes() for path in lab.folder.rglob("*") if path.is_file())
    for place in (kept.decode(errors="replace"), printed, caplog.text):
        assert SECRET not in place


COOKING = ["soup salt write", "soup bread write", "bread salt write", "soup dragon write"]
TRAVEL = ["flight hotel write", "hotel train write", "train flight write", "hotel flight write"]


def keywords(words: list[str], groups: list[int], count: int = 3) -> list[tuple[str, ...]]:
    return group_keywords(words, np.array(groups), count, damp_frequent=True)


def test_keywords_tell_a_group_from_the_others() -> None:
    cooking, travel = keywords(COOKING + TRAVEL, [0] * 4 + [1] * 4)
    assert set(cooking) == {"soup", "bread", "salt"}
    assert set(travel) == {"hotel", "flight", "train"}


def test_a_word_of_one_odd_query_is_no_keyword() -> None:
    cooking, _ = keywords(COOKING + TRAVEL, [0] * 4 + [1] * 4, count=10)
    assert "dragon" not in cooking


def test_a_group_without_usual_words_is_described_by_what_two_queries_share() -> None:
    many = [f"{one} {one}{one}" for one in "abcdefghijklmnopqrstuvwxyz" * 2]
    assert len(keywords([*many, *TRAVEL], [0] * len(many) + [1] * 4)[0]) == 3


def test_queries_in_no_group_and_groups_without_queries_are_passed_over() -> None:
    found = keywords([*COOKING, "soup soup2"], [0, 0, 0, 2, -1])
    assert found[0][0] in ("soup", "bread", "salt")
    assert found[1:] == [(), ()]  # the second has no queries, the third a single one


def test_without_words_there_are_no_keywords() -> None:
    assert keywords(["none", "none", "none"], [0, 0, 1]) == [(), ()]
    assert keywords(["soup", "soup", "none"], [0, 0, 1]) == [("soup",), ()]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Dragons fight dragons; DRAGONS win.", "dragons fight win"),
        ("Сколько стоит хлеб?", "сколько стоит хлеб"),
        (r"First line\nsecond\tline", "first line second"),
        ("x = a1 + snake_case2", "none"),
        ("12 + 30 = ?", "none"),
        ("aaa bbbb abba", "abba"),
        ("", "none"),
        ("a" * 21 + " bee", "bee"),
        ("用python写代码", "python 写代码"),
        ("将这个字符串中从左向右数第一个", "none"),
    ],
)
def test_words_are_rows_of_letters_each_once(text: str, words: str) -> None:
    assert distinct_words(text) == words
