"""Against a local HTTP server that speaks the protocol of chat completions."""

import json
from pathlib import Path
from typing import Any

import pytest

from crm.criteria import CriteriaSet
from crm.errors import CRMError
from crm.llm.structured import TRIES, UnusableReplyError
from leaderboard.critique import Critiqued, configured_critic, critic_name, read_edit, review
from leaderboard.critique_scores import read_assessment
from leaderboard.errors import LeaderboardError
from leaderboard.service import Service
from leaderboard.view import View
from tests.crm.backends.scripted_server import Answer, ScriptedServer
from tests.leaderboard.critique_samples import (
    ASSESSED,
    ASSESSED_EDIT,
    CHAT,
    EDIT,
    EDITED,
    GOOD,
    KEY,
    says,
    write_llms,
)

ORIGINAL = "Hello! Boil the egg."


def test_an_edit_is_found_among_words_and_fences() -> None:
    assert read_edit(f"Here it is:\n```json\n{json.dumps(EDIT)}\n```", ORIGINAL) == EDITED


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"edited": "\x00 "}, "Its “edited” is blank."),
        ({"edited": 7}, "Its “edited” is not of the kind asked for."),
        ({"edited": "x" * 40_001}, "Its “edited” has 40001 characters"),
        ({"edited": " Hello!  Boil the egg.\n"}, "Its edited response is the original, unchanged."),
    ],
)
def test_what_is_no_edit_is_refused_with_the_reason(changed: dict[str, Any], reason: str) -> None:
    with pytest.raises(UnusableReplyError) as refused:
        read_edit(json.dumps(changed), ORIGINAL)

    assert str(refused.value).startswith(reason)


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("", "It is no JSON object."),
        ("I would rather not.", "It is no JSON object."),
        ('{"helpfulness": 1,}', "It is no valid JSON."),
        ('{"helpfulness": 1}', "It has no “suggestions”."),
        ('{"a": {"b": "\\ud800"}}', "It is no valid JSON."),
    ],
)
def test_so_is_what_is_no_json(reply: str, reason: str) -> None:
    with pytest.raises(UnusableReplyError) as refused:
        read_assessment(reply)

    assert str(refused.value) == reason


def test_an_edit_is_text_that_a_page_can_show() -> None:
    assert read_edit(json.dumps({"edited": "a\u0007\tb\n\u0000c<script>"}), ORIGINAL) == "a\tb\nc<script>"


EGG = Critiqued("How do I boil an egg?", "Hello! Boil the egg.", CriteriaSet.of(["brief"], ["greetings"]))


def complaint() -> str:
    with pytest.raises((CRMError, LeaderboardError)) as refused:
        configured_critic("writer").critique(EGG)
    assert KEY not in str(refused.value)
    return str(refused.value)


def test_it_is_asked_with_query_response_and_criteria(server: ScriptedServer) -> None:
    server.on(CHAT, says(ASSESSED), says(EDIT), says(ASSESSED_EDIT))
    critique = configured_critic("writer").critique(EGG)
    prompts = [asked["messages"][-1]["content"] for asked in server.asked[CHAT]]

    assert critique.edited == EDITED
    assert critique.suggestions == ("Name the minutes.", "Leave the greeting out.")
    assert server.keys == [f"Bearer {KEY}"] * 3
    for prompt in prompts:
        assert "How do I boil an egg?" in prompt
        assert "- brief (essential)\n- Avoid: greetings (essential)\n" in prompt
        assert "An earlier reply" not in prompt
    assessed, edited, assessed_edit = prompts
    assert "Hello! Boil the egg." in assessed
    assert "- too_brief (2 to 3): " in assessed
    assert "- Name the minutes.\n- Leave the greeting out.\n" in edited
    # Who scores the edit sees nothing but the edit, put as any response is.
    assert assessed_edit == assessed.replace("Hello! Boil the egg.", EDITED)


def test_original_and_edit_are_scored_apart(server: ScriptedServer) -> None:
    server.on(CHAT, says(ASSESSED), says(EDIT), says(ASSESSED_EDIT))
    critique = configured_critic("writer").critique(EGG)
    before, after = critique.scores, critique.edited_scores

    assert (before.helpfulness, before.personalization, before.naturalness) == (2, -3, 0)
    assert before.final == pytest.approx(0.35 * 2 - 0.40 * 3)
    assert after.final == pytest.approx(0.35 * 4 + 0.40 * 3 + 0.25 * 2)
    assert critique.gain == pytest.approx(after.final - before.final)


def test_reasoning_in_front_is_no_part_of_the_reply(server: ScriptedServer) -> None:
    server.on(
        CHAT, says(f"<think>{{not this}}</think> {says(GOOD).body['choices'][0]['message']['content']}")
    )

    assert configured_critic("writer").critique(EGG).edited == EDITED


def test_a_reply_of_no_use_is_asked_for_again_with_the_reason(server: ScriptedServer) -> None:
    server.on(
        CHAT, says("Sure!"), says(ASSESSED | {"helpfulness": 9}), says(ASSESSED), says("No."), says(GOOD)
    )
    critique = configured_critic("writer").critique(EGG)
    reasons = [
        asked["messages"][-1]["content"].partition("could not be used: ")[2] for asked in server.asked[CHAT]
    ]

    assert critique.scores.helpfulness == 2
    assert [reason.partition(" Write a reply")[0] for reason in reasons] == [
        "",
        "It is no JSON object.",
        "Its score for helpfulness is no whole number from -5 to 5.",
        "",
        "It is no JSON object.",
        "",
    ]


def test_nonsense_without_end_is_refused(server: ScriptedServer) -> None:
    server.on(CHAT, says("Sure!"))

    assert complaint().startswith(
        "writer was asked 3 times and wrote no critique that can be used. It is no JSON"
    )
    assert len(server.asked[CHAT]) == TRIES


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (Answer("<html>"), "answers nonsense"),
        (Answer({"choices": []}), "answers nonsense (no reply)"),
        (Answer({"choices": ["x"]}), "answers nonsense (no reply)"),
        (Answer({"error": {"message": f"bad key {KEY}"}}, 401), "refuses the API key"),
        (Answer({"error": {"message": f"bad {KEY}"}}, 400), "refuses the request (status 400, “"),
        (Answer({}, 500), "fails (status 500)"),
        (Answer(says(GOOD).body, cut=True), "cannot be reached"),
        (says(GOOD, finish_reason="length"), "was cut: raise 'max_tokens'"),
        (says("", finish_reason="content_filter"), "refuses to write about this: choose something else"),
    ],
)
def test_what_goes_wrong_is_one_sentence(server: ScriptedServer, answer: Answer, sentence: str) -> None:
    server.on(CHAT, answer)

    assert sentence in complaint()


def test_a_slow_endpoint_is_not_waited_for(
    server: ScriptedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("USL_LLMS", str(write_llms(tmp_path, server.url, timeout=0.2, retries=0)))
    server.on(CHAT, Answer(says(GOOD).body, delay=1.5))

    assert (
        "did not answer within 0.2 seconds: try again later, or raise 'timeout' in llms.toml." in complaint()
    )


def test_a_key_that_is_not_set_is_said_by_its_variable(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CRITIC_KEY")

    assert complaint().endswith("finds no API key: set the environment variable CRITIC_KEY.")
    assert not server.asked[CHAT]


def test_no_more_are_written_at_once_than_the_table_allows(
    server: ScriptedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("USL_LLMS", str(write_llms(tmp_path, server.url, concurrency=1)))
    critic = configured_critic("writer")
    refused = []

    def meanwhile(_: object) -> Answer:
        with pytest.raises(LeaderboardError) as error:
            critic.critique(EGG)
        refused.append(str(error.value))
        return says(GOOD)

    server.on(CHAT, meanwhile)
    assert critic.critique(EGG).edited == EDITED
    assert critic.critique(EGG).edited == EDITED
    # Three calls a critique: scores, edit, scores of the edit.
    assert refused == ["Too many critiques are being written: try again in a moment."] * 6


def test_only_an_llm_behind_an_endpoint_can_be_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "llms.toml"
    path.write_text('[here]\nprovider = "transformers"\nmodel = "smollm2"\n')
    monkeypatch.setenv("USL_LLMS", str(path))

    with pytest.raises(CRMError, match="'here', which is not behind an endpoint"):
        configured_critic("here")
    with pytest.raises(CRMError, match=r"an LLM that llms.toml does not have: name one of here\."):
        configured_critic("gone")
    monkeypatch.delenv("USL_CRITIC", raising=False)
    assert critic_name() is None


def test_the_judge_compares_the_edit_with_the_original(server: ScriptedServer, service: Service) -> None:
    view = View("dailybench", criteria=CriteriaSet.of(["Concise and direct"]))
    report = service.pair_report(view, "scholia", "01-1")
    server.on(CHAT, says(GOOD | {"edited": "The letter named his daughter."}))
    found = review(configured_critic("writer"), view, report)

    assert found.verdict is not None
    assert found.verdict.prob_a > 0.9
    assert len(found.verdict.per_criterion) == 1


def test_a_critique_needs_criteria_and_texts(server: ScriptedServer, service: Service) -> None:
    critic, view = configured_critic("writer"), View("dailybench")
    with pytest.raises(LeaderboardError, match="needs criteria"):
        review(critic, view, service.pair_report(view, "scholia", "01-1"))
    real = View("alpaca-eval", criteria=CriteriaSet.of(["brief"]))
    query = service.benchmark("alpaca-eval").record.queries[0].external_id
    with pytest.raises(LeaderboardError, match="texts are not stored"):
        review(critic, real, service.pair_report(real, "gpt4", query))
    assert not server.asked[CHAT]
