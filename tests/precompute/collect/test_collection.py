"""Against a local HTTP server that speaks the protocol of chat completions."""

from collections import Counter

import pytest

from crm.embedded.representation import NAME
from db.records import LLMRecord
from db.repositories import benchmarks, contents, representations, scores
from db.source_records import AnswerStatus, CollectedRecord
from tests.crm.backends.scripted_server import Answer
from tests.db.samples import KEY, score_row
from tests.precompute.collect import samples
from tests.precompute.collect.conftest import Lab
from tests.precompute.collect.samples import completion, number_of, query


def test_a_collection_ends_with_a_benchmark_that_can_be_ranked(lab: Lab) -> None:
    lab.behave()
    lab.llms("alpha", "beta", system="Be brief.", temperature=0.5, price_prompt=3, title="A title")
    code, out, err = lab.run()
    assert (code, err) == (0, "")
    assert "mine: representations: 36 computed, 0 already current.\n" in out
    with lab.database.session() as session:
        benchmark = benchmarks.find_benchmark(session, "mine")
        record = benchmarks.get_benchmark(session, benchmark)
        assert record.llms == (
            LLMRecord("base", "Base"),
            *sorted((LLMRecord("alpha", "A title"), LLMRecord("beta", "A title")), key=record.llms.index),
        )
        assert contents.response_texts(session, benchmark, "beta")[3] == f"beta-model on: {query(3)}"
        stored = representations.get_representation(session, benchmark, "beta", NAME)
        assert stored is not None
        assert stored["digest"].all()
    [body, *_] = lab.server.asked[samples.CHAT]
    assert body["messages"][0] == {"role": "system", "content": "Be brief."}
    assert body["temperature"] == 0.5
    assert "max_tokens" not in body
    assert lab.collected()["q0"].cost == pytest.approx(100 * 3 / 1e6)


def test_only_what_is_missing_is_asked_for(lab: Lab) -> None:
    asked = lab.behave().asked
    lab.llms("alpha", "beta")
    lab.run("--llm", "alpha", "--topic", "Odd", "--limit", "2")
    assert [number_of(text) % 2 for text, _ in asked] == [1, 1]
    lab.run("--llm", "alpha")
    assert len(asked) == len(set(asked)) == 12
    code, out, _ = lab.run()
    assert (code, len(asked), len(set(asked))) == (0, 24, 24)
    rows = [line.split()[:5] for line in out.splitlines() if line.startswith(("alpha", "beta"))]
    assert rows == [["alpha", "12", "of", "12", "0"], ["beta", "12", "of", "12", "12"]]
    assert lab.run()[0] == 0
    assert len(asked) == 24


def test_a_limit_draws_across_topics_and_a_larger_one_asks_for_the_rest(lab: Lab) -> None:
    asked = lab.behave().asked
    lab.llms("alpha", "beta")
    lab.run("--limit", "4")
    drawn = {text for text, _ in asked}
    assert sorted(number_of(text) % 2 for text in drawn) == [0, 0, 1, 1]
    assert len(asked) == 8
    lab.run("--limit", "6")
    assert len({text for text, _ in asked} - drawn) == 2
    assert len(asked) == len(set(asked)) == 12


def test_another_seed_draws_other_queries(lab: Lab) -> None:
    asked = lab.behave().asked
    lab.llms()
    for seed in range(3):
        lab.run("--limit", "2", "--seed", seed)
    assert len(asked) > 3


def test_an_imported_response_is_never_asked_for(lab: Lab) -> None:
    asked = lab.behave().asked
    lab.llms("base")
    code, out, _ = lab.run()
    assert (code, asked) == (0, [])
    assert "12 of 12" in out


BAD_DAYS = {
    0: Answer({"error": {"message": "slow down"}}, 429, {"Retry-After": "0.05"}),
    1: Answer({"error": {"message": "slow down"}}, 429),
    2: Answer("oops", 500),
    3: Answer(completion("half of this"), cut=True),
    4: Answer(""),
    5: Answer("<html>no JSON</html>"),
    6: Answer(completion("")),
    7: Answer(completion("late"), delay=2.5),
    8: Answer({"unexpected": True}),
    9: Answer(completion(None, finish="stop")),
}


def test_an_endpoint_on_its_worst_day_gives_every_response_in_the_end(lab: Lab) -> None:
    lab.behave(
        lambda asked, model, before: (
            BAD_DAYS[number_of(asked)]
            if before < 2 and number_of(asked) in BAD_DAYS
            else samples.answer(asked, model)
        )
    )
    lab.llms(timeout=2, retries=2)
    code, out, err = lab.run()
    assert (code, err) == (0, "")
    records = lab.collected()
    assert {record.text for record in records.values()} == {f"alpha-model on: {query(n)}" for n in range(12)}
    assert [records[f"q{n}"].attempts for n in (0, 7, 10)] == [3, 3, 1]
    [line] = [line for line in out.splitlines() if "requests were repeated" in line]
    assert line.startswith("20 requests were repeated: ")
    for kind in (
        "rate limited (429) 4",
        "server error (5xx) 2",
        "cut 2",
        "too slow 2",
        "no JSON 6",
        "empty reply 4",
    ):
        assert kind in line


def test_failed_responses_are_reported_stored_as_failed_and_asked_for_again(lab: Lab) -> None:
    lab.behave(
        lambda asked, model, _: (
            Answer("oops", 503) if number_of(asked) in (4, 5) else samples.answer(asked, model)
        )
    )
    lab.llms(retries=1)
    code, out, err = lab.run()
    assert (code, err) == (2, "error: 2 responses failed: the same command asks for them again.\n")
    assert (
        "2 responses failed: server error (5xx) 2.\n2 requests were repeated: server error (5xx) 2.\n" in out
    )
    assert lab.collected()["q4"] == CollectedRecord(
        AnswerStatus.FAILED,
        lab.collected()["q0"].settings_digest,
        attempts=2,
        error=f"The endpoint {lab.server.where} fails (status 503).",
    )
    asked = lab.behave().asked
    assert lab.run()[0] == 0
    assert sorted(asked) == [(query(4), "alpha-model"), (query(5), "alpha-model")]
    assert lab.collected()["q4"].status == AnswerStatus.OK


def test_refusals_truncations_and_reasoning_are_told_apart(lab: Lab) -> None:
    said = {
        0: completion("<think>\nHm, let me see.\n</think>\n\nShort answer."),
        1: completion("Plain.", reasoning_content="Thought apart."),
        2: completion("Plain too.", reasoning="Thought elsewhere."),
        3: completion("thought without opening</think>Answer."),
        4: completion("<think>never ends", finish="length"),
        5: completion("Cut he", finish="length"),
        6: completion(None, refusal="I cannot help with that."),
        7: completion("Part of", finish="content_filter"),
        8: completion("A tag like <think> in </think> prose."),
        9: completion("No count.", usage=False),
    }
    lab.behave(
        lambda asked, model, _: Answer(said[number_of(asked)]) if number_of(asked) in said else filtered
    )
    filtered = Answer({"error": {"code": "content_filter", "message": "The prompt was filtered."}}, 400)
    lab.llms()
    code, out, _ = lab.run()
    assert code == 0
    found = {
        int(external_id[1:]): (record.status.value, record.text, record.reasoning)
        for external_id, record in lab.collected().items()
    }
    assert found == {
        0: ("ok", "Short answer.", "Hm, let me see."),
        1: ("ok", "Plain.", "Thought apart."),
        2: ("ok", "Plain too.", "Thought elsewhere."),
        3: ("ok", "Answer.", "thought without opening"),
        4: ("truncated", None, "never ends"),
        5: ("truncated", "Cut he", None),
        6: ("refused", "I cannot help with that.", None),
        7: ("refused", "Part of", None),
        8: ("ok", "A tag like <think> in </think> prose.", None),
        9: ("ok", "No count.", None),
        10: ("refused", None, None),
        11: ("refused", None, None),
    }
    assert lab.collected()["q9"].prompt_tokens is None
    [row] = [line.split() for line in out.splitlines() if line.startswith("alpha")]
    assert row[4:8] == ["12", "4", "2", "0"]


def test_refusals_are_told_by_their_wording_as_well(lab: Lab) -> None:
    said = {
        0: "I’m sorry, but I can’t help with that.",
        1: "I can't wait to tell you: yes.",
        2: "Sorry — I can’t write in his voice. Here is a story instead. " + "The sea was calm. " * 60,
    }
    lab.behave(
        lambda asked, model, _: (
            Answer(completion(said[number_of(asked)]))
            if number_of(asked) in said
            else samples.answer(asked, model)
        )
    )
    lab.llms()
    code, out, _ = lab.run()
    found = {key: record.status for key, record in lab.collected().items()}
    assert code == 0
    assert [key for key, status in found.items() if status == AnswerStatus.REFUSED] == ["q0"]
    assert lab.collected()["q0"].text == said[0]
    [row] = [line.split() for line in out.splitlines() if line.startswith("alpha")]
    assert row[4:8] == ["12", "1", "0", "0"]


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (
            Answer({"error": {"message": "bad key"}}, 401),
            "refuses the API key (status 401): check the environment",
        ),
        (
            Answer({"error": {"message": "no"}}, 403),
            "refuses the API key (status 403): check the environment",
        ),
        (
            Answer({"error": {"message": "?"}}, 404),
            "has no model alpha-model: fix 'model' or 'url' in its table.",
        ),
        (
            Answer({"error": {"code": "insufficient_quota", "message": "pay"}}, 429),
            "is spent: fill it up and run again.",
        ),
        (Answer("wait", 429, {"Retry-After": "7200"}), "asks to wait 120 minutes: run the same command"),
    ],
)
def test_an_endpoint_that_refuses_for_good_stops_its_llm_and_no_other(
    lab: Lab, answer: Answer, sentence: str
) -> None:
    asked = lab.behave(
        lambda asked, model, _: answer if model == "alpha-model" else samples.answer(asked, model)
    ).asked
    lab.llms("alpha", "beta", concurrency=2)
    code, _, err = lab.run()
    assert (code, err.count("\n")) == (2, 1)
    assert err.startswith("error: One LLM could not be asked to the end; alpha: The")
    assert sentence in err
    assert sum(model == "alpha-model" for _, model in asked) <= 2
    assert len(lab.collected("beta")) == 12
    with lab.database.session() as session:
        benchmark = benchmarks.find_benchmark(session, "mine")
        assert [llm.name for llm in benchmarks.get_benchmark(session, benchmark).llms] == ["base", "beta"]
        assert benchmarks.get_benchmark(session, benchmark).has_texts


def test_an_endpoint_where_nothing_works_is_given_up(bare: Lab) -> None:
    samples.store(bare.database, 60)
    asked = bare.behave(lambda *_: Answer("oops", 500)).asked
    bare.llms(retries=0, concurrency=1)
    code, _, err = bare.run()
    assert (code, len(asked)) == (2, 25)
    assert "25 responses failed one after another, the last because: The endpoint" in err


def test_a_request_that_is_refused_is_not_repeated(lab: Lab) -> None:
    asked = lab.behave(
        lambda asked, model, _: (
            Answer({"error": {"message": "too long a prompt\nfor this"}}, 400)
            if number_of(asked) == 3
            else samples.answer(asked, model)
        )
    ).asked
    lab.llms()
    assert lab.run()[0] == 2
    assert len(asked) == 12
    assert "(status 400, “too long a prompt”)" in str(lab.collected()["q3"].error)


def test_changed_settings_are_noticed(lab: Lab) -> None:
    asked = lab.behave().asked
    lab.llms(temperature=0.1)
    assert lab.run("--limit", "3")[0] == 0
    with lab.database.session() as session:
        row = {"alpha": score_row(*[0.5] * 12)}
        scores.put_scores(session, benchmarks.find_benchmark(session, "mine"), KEY, [], row)
    lab.llms(temperature=0.1, price_prompt=9, concurrency=1, title="Other")
    assert lab.run("--limit", "3")[0] == 0
    assert len(asked) == 3

    lab.behave(lambda asked, model, _: Answer(completion("warmer")))
    lab.llms(temperature=0.9)
    code, out, err = lab.run()
    assert (code, out) == (2, "")
    assert err == (
        "error: The settings of 'alpha' have changed since 3 of its stored responses were collected: undo "
        "the change, give the table another name, or replace the responses with --again.\n"
    )
    assert all(str(record.text).startswith("alpha-model on: ") for record in lab.collected().values())
    assert lab.run("--again")[0] == 0
    assert {record.text for record in lab.collected().values()} == {"warmer"}
    assert lab.run()[0] == 0
    with lab.database.session() as session:
        assert scores.get_scores(session, benchmarks.find_benchmark(session, "mine"), KEY) == {}


def test_a_failure_with_new_settings_keeps_the_answer_of_the_old(lab: Lab) -> None:
    lab.behave()
    lab.llms()
    lab.run()
    before = lab.collected()
    lab.behave(lambda *_: Answer("oops", 500))
    lab.llms(max_tokens=5, retries=0)
    assert lab.run("--again")[0] == 2
    assert lab.collected() == before


def test_the_first_llm_becomes_the_baseline_where_there_is_none(bare: Lab) -> None:
    samples.store(bare.database, 2, baseline=False)
    bare.behave()
    bare.llms("zeta", "alpha")
    assert "note: zeta is the baseline now, as there was none.\n" in bare.run()[1]


def test_llms_of_one_address_share_its_limits(lab: Lab) -> None:
    from threading import Lock
    from time import monotonic, sleep

    under_way, most, begun, lock = [0], [0], list[float](), Lock()

    def behave(asked: str, model: str, _: int) -> Answer:
        with lock:
            begun.append(monotonic())
            under_way[0] += 1
            most[0] = max(most[0], under_way[0])
        sleep(0.02)
        with lock:
            under_way[0] -= 1
        return samples.answer(asked, model)

    lab.behave(behave)
    lab.llms("alpha", "beta", concurrency=3)
    assert lab.run("--limit", "6")[0] == 0
    assert most[0] == 3
    begun.clear()
    lab.llms("gamma", "delta", requests_per_minute=1200)
    assert lab.run("--limit", "5")[0] == 0
    assert begun[-1] - begun[0] > 9 * 0.05 * 0.9


def test_a_provider_has_one_limit_and_a_slow_llm_keeps_no_other_back(lab: Lab) -> None:
    from threading import Lock
    from time import sleep

    under_way, most, lock = Counter[str](), Counter[str](), Lock()

    def behave(asked: str, model: str, _: int) -> Answer:
        with lock:
            under_way[model] += 1
            most[model] = max(most[model], under_way[model])
            most["all"] = max(most["all"], under_way.total())
        sleep(0.05)
        with lock:
            under_way[model] -= 1
        return samples.answer(asked, model)

    lab.behave(behave)
    lab.write(
        f"""
        [defaults]
        max_tokens = 99

        [provider.acme]
        url = "{lab.server.url}/v1"
        concurrency = 5

        [slow]
        provider = "acme"
        model = "slow"
        concurrency = 1

        [quick]
        provider = "acme"
        model = "quick"

        [other]
        provider = "acme"
        model = "other"
        """
    )
    code, out, err = lab.run()
    assert (code, err) == (0, "")
    assert "36" not in out
    assert most == {"slow": 1, "quick": most["quick"], "other": most["other"], "all": 5}
    assert most["quick"] + most["other"] >= 5
    assert {body["max_tokens"] for body in lab.server.asked[samples.CHAT]} == {99}


def test_tokens_a_minute_are_kept_to_by_what_answers_take(lab: Lab) -> None:
    from time import monotonic

    begun: list[float] = []

    def behave(asked: str, model: str, _: int) -> Answer:
        begun.append(monotonic())
        return samples.answer(asked, model)  # 100 tokens read, 10 written

    lab.behave(behave)
    lab.llms("alpha", "beta", tokens_per_minute=120_000, max_tokens=10)
    assert lab.run()[0] == 0
    # 24 answers of 110 tokens at 2,000 tokens a second; how long the first are is not known before.
    assert 0.8 < begun[-1] - begun[0] < 4


def test_an_endpoint_that_asks_to_wait_is_not_asked_by_anybody(lab: Lab) -> None:
    from email.utils import formatdate
    from time import monotonic, time

    begun: list[float] = []

    def behave(asked: str, model: str, _: int) -> Answer:
        begun.append(monotonic())
        # A date has no fractions of a second: between one and two seconds from now.
        date = formatdate(int(time()) + 2, usegmt=True)
        return Answer("wait", 429, {"Retry-After": date}) if len(begun) == 1 else samples.answer(asked, model)

    lab.behave(behave)
    lab.llms(concurrency=1)
    assert lab.run("--limit", "3")[0] == 0
    assert len(begun) == 4
    assert 0.9 < begun[1] - begun[0] < 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--llm", "alfa"], "There is no LLM 'alfa' in llms.toml; did you mean 'alpha'?"),
        (
            ["--config", "gone.toml"],
            "The file of LLMs gone.toml cannot be read (No such file or directory): fix",
        ),
        (["--topic", "Nonsense"], "There is no topic 'Nonsense"),
        (["--limit", "0"], "--limit"),
        (["--benchmark", "absent"], "There is no benchmark 'absent"),
    ],
)
def test_bad_input_is_one_line(lab: Lab, arguments: list[str], message: str) -> None:
    lab.llms()
    code, out, err = lab.run(*arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err
    assert lab.server.asked == {}


def test_queries_without_texts_cannot_be_asked(bare: Lab) -> None:
    from tests.db import samples as db_samples

    with bare.database.session() as session:
        benchmarks.upsert_benchmark(session, db_samples.INFO)
        contents.upsert_queries(
            session, benchmarks.find_benchmark(session, "tiny"), db_samples.queries(with_text=False)
        )
    bare.llms()
    code, _, err = bare.run("--benchmark", "tiny")
    assert code == 2
    assert "The texts of Tiny are not stored here: “python -m precompute import” imports them." in err
