"""Against a local HTTP server that speaks the protocol of chat completions."""

import json
import re
from typing import Any

import numpy as np
import pytest

from leaderboard.__main__ import main
from leaderboard.critique_scores import SCORE_WEIGHTS
from leaderboard.errors import LeaderboardError
from leaderboard.many_critiques import drawn_queries
from leaderboard.service import Service
from tests.conftest import Run
from tests.crm.backends.scripted_server import Answer, ScriptedServer
from tests.leaderboard.critique_samples import ASSESSED, CHAT, KEY, says

WISH = ("--criterion", "short answers")
ALL = ("--benchmark", "dailybench", *WISH)


@pytest.fixture(autouse=True)
def critic_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("USL_CRITIC", "writer")


@pytest.fixture(scope="module")
def short(service: Service) -> dict[str, str]:
    """The shortest assistant's answer to each query of DailyBench."""
    benchmark = service.benchmark("dailybench")
    found = {text: benchmark.text_at("brevia", row) for row, text in enumerate(benchmark.query_texts)}
    return {text: answer for text, answer in found.items() if text and answer}


def critic(short: dict[str, str], refuses: str = "\0") -> Any:
    """Edits every response into a short one, likes that better, and says originals ignore wishes."""

    def answer(asked: Any) -> Answer:
        prompt = asked["messages"][-1]["content"]
        query = max((text for text in short if text in prompt), key=len)
        if query == refuses:
            return says("I would rather not.")
        if "Carry the suggestions out" in prompt:
            return says({"edited": short[query]})
        edit = short[query] in prompt
        scored = dict.fromkeys(SCORE_WEIGHTS, 3 if edit else 1)
        faults = [] if edit else [{"fault": "ignores_wishes", "points": 1}]
        return says(ASSESSED | scored | {"faults": faults, "simple_query": False})

    return answer


def test_twenty_responses_are_drawn_and_their_gain_is_a_table(
    run_main: Run, server: ScriptedServer, short: dict[str, str]
) -> None:
    server.on(CHAT, critic(short))
    code, out, err = run_main(main, "critiques", "scholia", *ALL)

    assert code == 0
    assert "60 requests to writer, or a few more." in err
    assert len(server.asked[CHAT]) == 60
    rows = {
        line.split()[0]: line for line in out.splitlines() if line.startswith(("help", "pers", "natu", "all"))
    }
    assert "+1.00" in rows["helpfulness"] and "+2.00 (+2.00 to +2.00)" in rows["helpfulness"]
    assert "+0.00" in rows["personalization"] and "+3.00 (+3.00 to +3.00)" in rows["personalization"]
    assert "+2.40 (+2.40 to +2.40)" in rows["all"]
    preferred = re.search(r"The judge embedded prefers the edit in (\d+) of 20\.", out)
    assert preferred is not None and int(preferred[1]) >= 18  # it does not like every short answer
    assert "Points lost, originals 20, edits 0: a wish that matters here is left out." in out


def test_the_same_seed_draws_the_same_and_json_has_all_of_it(
    run_main: Run, server: ScriptedServer, short: dict[str, str]
) -> None:
    server.on(CHAT, critic(short))
    options = ("lumen", *ALL, "--responses", 3, "--format", "json")
    first, again, others = (
        json.loads(run_main(main, "critiques", *options, "--seed", seed)[1]) for seed in (1, 1, 2)
    )

    assert first == again
    assert [each["query"] for each in first["responses"]] != [each["query"] for each in others["responses"]]
    assert first["judge"]["compared"] == 3
    for each in first["responses"]:
        assert each["edited"] in short.values()
        assert each["original"]["final"] == pytest.approx(0.35 * 1 + 0.40 * 0 + 0.25 * 1)
        assert 0.5 < each["prob_edit"] < 1
    assert first["gain"]["final"]["mean"] == pytest.approx(0.35 * 2 + 0.40 * 3 + 0.25 * 2)
    assert first["failed"] == {}


def test_what_fails_on_the_way_is_left_out_and_said(
    run_main: Run, server: ScriptedServer, service: Service, short: dict[str, str]
) -> None:
    benchmark = service.benchmark("dailybench")
    queries = drawn_queries(benchmark, ["verity"], (), 4)
    refused = benchmark.query_texts[queries[2]]
    assert refused is not None
    server.on(CHAT, critic(short, refuses=refused))
    code, out, _ = run_main(main, "critiques", "verity", *ALL, "--responses", 4)

    assert code == 0
    assert "3 responses of verity, critiqued by writer" in out
    assert "Left out: 1 response, the last because: writer was asked 3 times" in out


def test_where_the_first_fails_so_does_the_command(run_main: Run, server: ScriptedServer) -> None:
    server.on(CHAT, Answer("no", status=401))
    code, out, err = run_main(main, "critiques", "verity", *ALL)

    assert (code, out) == (2, "")
    assert len(server.asked[CHAT]) == 1
    assert err.splitlines()[-1].startswith("error: ")
    assert KEY not in err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nobody", *ALL), "dailybench has no LLM 'nobody': choose among brevia, "),
        (("verity", "--benchmark", "dailybench"), "A critique needs criteria"),
        (("verity", *ALL, "--topic", "Sailing"), "Sailing"),
        (("gpt4", "--benchmark", "alpaca-eval", *WISH), "The texts of AlpacaEval"),
    ],
)
def test_what_cannot_be_critiqued_is_refused_before_anything_is_sent(
    run_main: Run, server: ScriptedServer, arguments: tuple[str, ...], said: str
) -> None:
    code, _, err = run_main(main, "critiques", *arguments)

    assert code == 2
    assert said in err
    assert not server.asked[CHAT]


def test_nothing_is_sent_unless_it_was_set_up(
    run_main: Run, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("USL_CRITIC")
    code, _, err = run_main(main, "critiques", "verity", *ALL)

    assert code == 2
    assert "No LLM for critiques is set up: USL_CRITIC names one of llms.toml" in err
    assert not server.asked[CHAT]


def test_texts_that_are_not_stored_are_said_to_be_missing(service: Service) -> None:
    benchmark = service.benchmark("alpaca-eval")

    with pytest.raises(LeaderboardError, match="texts"):
        drawn_queries(benchmark, benchmark.llms[:1], (), 20)


def test_queries_are_drawn_without_repetition_from_the_topics(service: Service) -> None:
    benchmark = service.benchmark("dailybench")
    category = benchmark.category_names[0]
    drawn = drawn_queries(benchmark, ["fabula"], (category,), 500)

    assert len(drawn) == len(set(drawn)) < 100
    assert np.unique(benchmark.category_index[drawn]).tolist() == [0]
