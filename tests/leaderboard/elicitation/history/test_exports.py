"""Files as other programs export them, each a small one of its published form in `exports`."""

import copy
import io
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from leaderboard.__main__ import main
from leaderboard.elicitation.choice_model import ChoiceOutcome
from leaderboard.elicitation.history import comparia, open_webui, promptfoo, ratings, rows
from leaderboard.elicitation.history.choices import DAMAGED, OTHER_PEOPLE, ChoiceHistory
from leaderboard.elicitation.history.read import read_history
from leaderboard.errors import UploadError
from tests.conftest import Run

EXPORTS = Path(__file__).parent / "exports"
FILES = sorted(file.name for file in EXPORTS.iterdir())


def history(name: str, person: str = "") -> ChoiceHistory:
    return read_history((EXPORTS / name).read_bytes(), name, person)


def pairs(found: ChoiceHistory) -> list[tuple[str, str]]:
    return [(choice.first, choice.second) for choice in found.choices]


def test_open_webui_compares_siblings_and_not_two_liked_ones() -> None:
    found = history("open-webui-feedback.json")
    leek, many, pumpkin = (
        "Leek and potato.",
        "There are a great many soups to think about.",
        "Pumpkin, with ginger.",
    )
    assert pairs(found) == [(leek, many), (pumpkin, many), (leek, many), (pumpkin, many)]
    assert dict(found.left_out) == {
        ratings.ALONE: 1,
        ratings.ALIKE: 1,
        open_webui.NOT_RATED: 1,
        DAMAGED: 1,
    }
    assert found.people == (("ann", 2), ("ben", 2))
    assert found.choices[0].query == "Which soup for a cold evening?"


def test_the_choices_of_one_person_are_taken() -> None:
    found = history("open-webui-feedback.json", "ben")
    assert {choice.person for choice in found.choices} == {"ben"}
    assert dict(found.left_out)[OTHER_PEOPLE] == 2
    with pytest.raises(UploadError, match="no choices by “eve”; it has some by ann, ben"):
        history("open-webui-feedback.json", "eve")
    with pytest.raises(UploadError, match="it does not say who chose"):
        history("comparia-account.json", "eve")


def test_comparia_account() -> None:
    found = history("comparia-account.json")
    assert [(choice.outcome, choice.turns) for choice in found.choices] == [
        (ChoiceOutcome.SECOND, 1),
        (ChoiceOutcome.BOTH, 2),
        (ChoiceOutcome.FIRST, 1),
        (ChoiceOutcome.NEITHER, 2),
    ]
    reasons = (comparia.UNDECIDED, comparia.NOT_CHOSEN, comparia.ONE_ANSWER, DAMAGED)
    assert dict(found.left_out) == dict.fromkeys(reasons, 1)


def as_parquet(name: str) -> bytes:
    table = pyarrow.Table.from_pylist(
        [json.loads(line) for line in (EXPORTS / name).read_text().splitlines()]
    )
    parquet.write_table(table, written := io.BytesIO())
    return written.getvalue()


def test_comparia_votes_also_as_parquet() -> None:
    name = "comparia-votes.jsonl"
    for found in (history(name), read_history(as_parquet(name), "votes.parquet")):
        assert [choice.outcome for choice in found.choices] == [
            ChoiceOutcome.FIRST,
            ChoiceOutcome.SECOND,
            ChoiceOutcome.BOTH,
        ]
        assert found.people == (("x", 2), ("y", 1))
        left_out = dict(found.left_out)
        assert left_out.pop(rows.NO_VOTE) == 1
        [(reason, count)] = left_out.items()
        assert count == 2
        assert reason.startswith(f"{DAMAGED}; the first is row 5: 'chosen_model_name' is neither")


def test_lmarena_with_parts_also_as_parquet() -> None:
    name = "lmarena-140k.jsonl"
    for found in (history(name), read_history(as_parquet(name), "votes.parquet")):
        assert [choice.outcome for choice in found.choices] == list(ChoiceOutcome)
        assert found.choices[0].query == "Which soup?"
        assert [count for _, count in found.left_out] == [1]


PRISM = ("prism-utterances.jsonl", "prism-conversations.jsonl")


@pytest.mark.parametrize("name", PRISM)
def test_prism_compares_the_chosen_answer_with_each_other_to_its_prompt(name: str) -> None:
    for found in (history(name), read_history(as_parquet(name), "prism.parquet")):
        assert pairs(found) == [
            ("Leek.", "There are many soups."),
            ("Leek.", "Tomato, with basil."),
            ("Half an hour.", "It depends on the soup."),
        ]
        assert [(choice.query, choice.turns, choice.llms) for choice in found.choices] == [
            ("Which soup?", 1, ("m1", "m2")),
            ("Which soup?", 1, ("m1", "m3")),
            ("How long?", 2, ("m1", "m1")),
        ]
        assert found.people == (("user0", 3),)
        assert dict(found.left_out) == {DAMAGED: 1, ratings.ALONE: 1}


def test_prism_says_when_only_in_its_conversations() -> None:
    assert {choice.moment for choice in history(PRISM[0]).choices} == {None}
    noon = datetime(2023, 12, 1, 10, tzinfo=UTC).timestamp()
    assert {choice.moment for choice in history(PRISM[1]).choices} == {noon}


def test_who_answered_and_when_is_kept() -> None:
    assert history("open-webui-feedback.json").choices[0].llms == ("m1", "m2")
    votes = history("comparia-votes.jsonl").choices[0]
    assert (votes.llms, votes.moment) == (("m1", "m2"), datetime(2025, 5, 1, tzinfo=UTC).timestamp())
    assert history("lmarena-140k.jsonl").choices[0].llms == ("m1", "m2")
    account = history("comparia-account.json").choices[0]
    assert account.llms == ("m1", "m2")
    assert account.moment == datetime(2026, 5, 1, 10, tzinfo=UTC).timestamp()


def test_promptfoo_counts_only_what_a_person_rated() -> None:
    found = history("promptfoo-eval.json")
    assert pairs(found) == [("Leek.", "There are many soups."), ('{"soup": "leek"}', "no")]
    assert [choice.query for choice in found.choices] == ["Which soup?", "As JSON?"]
    assert dict(found.left_out) == {promptfoo.NOT_BY_A_PERSON: 1, ratings.ALONE: 1}


@pytest.mark.parametrize("name", FILES)
def test_each_goes_through_the_command_line(run_main: Run, name: str) -> None:
    code, out, err = run_main(main, "criteria-from", EXPORTS / name, "--format", "json")
    assert code == 0, err
    assert json.loads(out)["choices"] == len(history(name).choices)


@given(st.data(), st.sampled_from([file for file in FILES if file.endswith(".json")]))
def test_malformed_parts_are_refused_or_passed_over(data: st.DataObject, name: str) -> None:
    broken: Any = copy.deepcopy(json.loads((EXPORTS / name).read_text()))
    place = broken
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = data.draw(st.sampled_from(keys))
        if not (isinstance(place[key], dict | list) and place[key]) or data.draw(st.integers(0, 3)) == 0:
            break
        place = place[key]
    place[key] = data.draw(st.sampled_from([None, True, 7, "x", [], {}, [None], {"a": []}, [[]]]))
    try:
        read_history(json.dumps(broken).encode(), name)
    except UploadError as refused:
        assert "\n" not in str(refused)
