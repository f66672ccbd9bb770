"""The three commands, with an LLM behind a real server and the bundled benchmarks."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crm.criteria import CriteriaSet, Criterion
from leaderboard.__main__ import main
from leaderboard.query_checklists.asking import most_requests
from leaderboard.query_checklists.checklist import QueryChecklist, QueryCriterion, read_checklist
from leaderboard.query_checklists.command import drawn_queries
from leaderboard.query_checklists.foretelling import BY_JUDGE, BY_ONE_LIST, BY_REWARD, BY_TOPIC, LONGER
from leaderboard.query_checklists.ranking import rank_by_checklists
from leaderboard.service import Service
from leaderboard.statistics.win_rate import outcomes, weighted_means
from leaderboard.view import View
from tests.conftest import Run
from tests.crm.backends.scripted_server import Answer, ScriptedServer
from tests.leaderboard.critique_samples import CHAT, KEY, says
from tests.leaderboard.query_checklists.scripted_llm import (
    LONG,
    QUERIES,
    SHORT,
    choices_file,
    reply,
)

DAILYBENCH = ("--benchmark", "dailybench")
TWO = {"ann": SHORT, "bo": LONG}


@pytest.fixture
def options(tmp_path: Path) -> tuple[object, ...]:
    return "--llm", "writer", "--kept", tmp_path / "kept"


def test_a_query_gets_the_checklist_of_the_person(
    run_main: Run, server: ScriptedServer, tmp_path: Path, options: tuple[object, ...]
) -> None:
    file = choices_file(tmp_path, TWO)
    asked = ("query-checklists", file, *options, "--person", "ann", "--query", "What is good about cheese?")
    code, out, err = run_main(main, *asked, "--format", "json")

    assert code == 0
    found = json.loads(out)
    assert SHORT in found["general_preference"]
    assert found["examples"] == 6
    [only] = found["checklists"]
    assert only["query"] == "What is good about cheese?"
    assert only["checklist"][0] == {"evidence": "taste", "criterion": SHORT, "weight": "Essential"}
    assert (found["ranking"], found["failed"]) == ([], {})
    announced = re.search(r"At most (\d+) requests to writer, or a few more\.", err)
    assert announced is not None
    assert len(server.asked[CHAT]) <= int(announced[1]) == most_requests(6, 1) + 1

    before = len(server.asked[CHAT])
    code, out, _ = run_main(main, *asked)
    assert len(server.asked[CHAT]) == before  # all of it is kept
    assert "Written after checklists of 6 past choices." in out
    assert re.search(rf"^Essential +{SHORT} +taste$", out, re.MULTILINE)


def test_the_other_person_gets_another_one(
    run_main: Run, server: ScriptedServer, tmp_path: Path, options: tuple[object, ...]
) -> None:
    file = choices_file(tmp_path, TWO)
    asked = ("query-checklists", file, *options, "--person", "bo", "--query", "Why?", "--examples", 2)
    _, out, _ = run_main(main, *asked)

    assert re.search(rf"^Essential +{LONG}", out, re.MULTILINE)


def test_llms_are_ranked_by_the_checklist_of_each_query(
    run_main: Run, server: ScriptedServer, tmp_path: Path, options: tuple[object, ...]
) -> None:
    file = choices_file(tmp_path, {"ann": SHORT})
    asked = ("query-checklists", file, *options, *DAILYBENCH, "--queries", 40, "--examples", 0)
    code, out, err = run_main(main, *asked, "--format", "json")

    assert code == 0, err
    assert "At most 41 requests" in err
    found = json.loads(out)
    assert len(found["checklists"]) == 40
    assert found["ranking"][0]["llm"] == "brevia"
    rates = [row["win_rate"] for row in found["ranking"]]
    assert rates == sorted(rates, reverse=True)
    assert all(row["ci_low"] <= row["win_rate"] <= row["ci_high"] for row in found["ranking"])

    _, out, _ = run_main(main, *asked)
    assert "By the checklist of each query" in out
    assert "Share of 40 queries on which" in out


def checklist(text: str, query: str = "q") -> QueryChecklist:
    return QueryChecklist(query, (QueryCriterion(Criterion(text), "e"),))


def test_one_list_for_every_query_ranks_as_the_list_does(service: Service) -> None:
    benchmark = service.benchmark("dailybench")
    places = list(drawn_queries(benchmark, (), 60))
    ranked = rank_by_checklists(
        service, benchmark, {place: checklist("Short answers") for place in places}, "embedded"
    )
    scored = service.scored(View("dailybench", criteria=CriteriaSet((Criterion("Short answers"),))))
    whole = outcomes(np.asarray(scored.judged))[:, places]

    np.testing.assert_allclose(ranked.won, whole)
    rate = dict(zip(benchmark.llms, weighted_means(whole), strict=True))
    assert {llm: mean for llm, mean, _, _ in ranked.rows()} == pytest.approx(rate)


def test_each_query_is_judged_by_its_own_list(service: Service) -> None:
    benchmark = service.benchmark("dailybench")
    places = list(drawn_queries(benchmark, (), 40))
    lists = {
        place: checklist("Short answers" if at % 2 else "Long answers") for at, place in enumerate(places)
    }
    won = rank_by_checklists(service, benchmark, lists, "embedded").won[benchmark.llms.index("brevia")]

    assert won[1::2].mean() > 0.9
    assert won[::2].mean() < 0.2


def test_a_judge_that_compares_texts_ranks_too(service: Service) -> None:
    benchmark = service.benchmark("dailybench")
    places = list(drawn_queries(benchmark, (), 5))
    longer = rank_by_checklists(
        service, benchmark, {place: checklist("Long answers") for place in places}, "longer"
    )
    length = {
        llm: np.array([len(benchmark.text_at(llm, place) or "") for place in places])
        for llm in benchmark.respondents
    }
    expected = [np.sign(length[llm] - length[benchmark.baseline]) / 2 + 0.5 for llm in benchmark.llms]
    assert longer.won.tolist() == np.array(expected).tolist()


def test_later_choices_are_foretold(
    run_main: Run, server: ScriptedServer, tmp_path: Path, options: tuple[object, ...]
) -> None:
    queries = [f"{query} And what of number {n}?" for n in range(3) for query in QUERIES]
    file = choices_file(tmp_path, TWO, queries)
    asked = ("foretell-choices", file, *options, "--person", "bo", "--examples", 2)
    code, out, err = run_main(main, *asked, "--format", "json")

    assert code == 0, err
    found = json.loads(out)
    assert found["choices"] == 6
    assert found["foretold"] == dict.fromkeys((BY_REWARD, BY_JUDGE, BY_TOPIC, BY_ONE_LIST, LONGER), 1.0)
    assert found["failed"] == {}
    # Nothing was learnt from what is foretold.
    learnt = [asked["messages"][-1]["content"] for asked in server.asked[CHAT]]
    [general] = [
        each for each in learnt if "Find out what this person" in each and "on. </taken>" in each
    ] or [""]
    assert "number 2" not in general

    _, out, _ = run_main(main, *asked)
    assert "Learnt from 12 earlier choices with writer" in out
    assert re.search(rf"{re.escape(LONGER)} +100 % +61 to 100 %", out)


def test_what_a_writer_is_trained_on_is_a_file_of_prompts_and_completions(
    run_main: Run, server: ScriptedServer, tmp_path: Path, options: tuple[object, ...]
) -> None:
    file, output = choices_file(tmp_path, TWO), tmp_path / "training.jsonl"
    code, _, err = run_main(main, "checklist-training", file, output, *options, "--examples", 3)

    assert code == 0
    assert f"6 checklists in {output}." in err
    tastes = []
    for line in output.read_text().splitlines():
        found = json.loads(line)
        [question], [answer] = found["prompt"], found["completion"]
        assert (question["role"], answer["role"]) == ("user", "assistant")
        tastes.append(read_checklist(answer["content"], "q").lines[0].criterion.text)
        assert tastes[-1] in question["content"]  # of the general preference
        assert "Once the person was asked" not in question["content"]
    assert sorted(tastes) == [LONG] * 3 + [SHORT] * 3


def test_a_query_whose_checklist_fails_is_left_out_and_said(
    run_main: Run, server: ScriptedServer, tmp_path: Path, options: tuple[object, ...]
) -> None:
    def script(asked: Any) -> Answer:
        prompt = asked["messages"][-1]["content"]
        return (
            says("No.")
            if "Which wine?" in prompt and "Now the person asks" in prompt
            else says(reply(prompt))
        )

    server.on(CHAT, script)
    file = choices_file(tmp_path, {"ann": SHORT})
    two = ("--query", "Which wine?", "--query", "Which cheese?", "--examples", 0)
    code, out, _ = run_main(main, "query-checklists", file, *options, *two)

    assert code == 0
    assert "Which cheese?" in out
    assert "Left out: 1 query, the last because: The reply could not be used: it is no JSON object." in out
    code, out, err = run_main(main, "query-checklists", file, *options, *two[:2], *two[4:])
    assert (code, out) == (2, "")
    assert "No checklist was written. The reply could not be used" in err


@pytest.mark.parametrize(
    "refused",
    [
        ("query-checklists", ("--query", " "), "A query is empty: write what you would ask."),
        ("query-checklists", ("--benchmark", "alpaca-eval"), "The texts of AlpacaEval"),
        ("query-checklists", ("--topic", "Sailing"), "Sailing"),
        ("query-checklists", ("--benchmark", "none"), "none"),
        ("query-checklists", ("--person", "eve"), "it has no choices by “eve”"),
        ("query-checklists", ("--llm", "nobody"), "nobody"),
        ("query-checklists", ("--writer", "nobody"), "nobody"),
        ("foretell-choices", ("--person", "eve"), "it has no choices by “eve”"),
    ],
)
def test_what_cannot_be_had_is_said_before_anything_is_sent(
    run_main: Run,
    server: ScriptedServer,
    tmp_path: Path,
    options: tuple[object, ...],
    refused: tuple[str, tuple[str, ...], str],
) -> None:
    command, given, said = refused
    file = choices_file(tmp_path, {"ann": SHORT})
    code, out, err = run_main(main, command, file, *options, *given)

    assert (code, out) == (2, "")
    assert said in err.splitlines()[-1]
    assert not server.asked[CHAT]


def test_one_choice_leaves_none_to_foretell(
    run_main: Run, server: ScriptedServer, tmp_path: Path, options: tuple[object, ...]
) -> None:
    file = choices_file(tmp_path, {"ann": SHORT}, QUERIES[:1])
    code, _, err = run_main(main, "foretell-choices", file, *options)

    assert code == 2
    assert "Of these 1 choice none is left to foretell" in err
    assert not server.asked[CHAT]


def test_an_endpoint_that_refuses_is_one_sentence_without_the_key(
    run_main: Run, server: ScriptedServer, tmp_path: Path, options: tuple[object, ...]
) -> None:
    server.on(CHAT, Answer("no", status=401))
    code, out, err = run_main(
        *(main, "query-checklists", choices_file(tmp_path, {"ann": SHORT}), *options, "--query", "Why?")
    )

    assert (code, out) == (2, "")
    assert err.splitlines()[-1].startswith("error: ")
    assert KEY not in err
