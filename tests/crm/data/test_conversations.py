"""Conversations of several turns, from the file to what a judge is shown."""

import json
from pathlib import Path
from typing import Any

import pytest

from crm.criteria import CriteriaSet
from crm.data.conversations import Turns
from crm.data.pairs import read_labelled_pairs, read_pairs
from crm.errors import CRMError
from crm.evaluation.sets import Subset, read_sets, write_sets
from crm.llm.prompt import PromptTemplate
from crm.protocol import Pair, Question, Turn
from tests.checkpoints import make_tokenizer

ASKED = ("Soup?", "Without cream, please.")


def conversation(*answers: str, asked: tuple[str, ...] = ASKED) -> list[dict[str, str]]:
    return [
        {"role": role, "content": text}
        for question, answer in zip(asked, answers, strict=True)
        for role, text in (("user", question), ("assistant", answer))
    ]


LINE: dict[str, Any] = {
    "idx": 1,
    "prompt": "Soup?",
    "model_a": conversation("Leek.", "Leek broth."),
    "model_b": conversation("Tomato.", "Clear tomato soup."),
    "criteria": ["warm"],
    "preference": "model_a",
}


def read(tmp_path: Path, turns: Turns = Turns.ALL, **changed: Any) -> Pair:
    path = tmp_path / "pairs.jsonl"
    path.write_text(json.dumps(LINE | changed))
    [item] = read_labelled_pairs(path, tmp_path, None, turns=turns)
    return item.pair


def test_what_the_person_wrote_later_is_kept(tmp_path: Path) -> None:
    pair = read(tmp_path)
    assert (pair.query, pair.response_a) == ("Soup?", "Leek.\n\nLeek broth.")
    assert pair.turns_b == (
        Turn("assistant", "Tomato."),
        Turn("user", "Without cream, please."),
        Turn("assistant", "Clear tomato soup."),
    )
    assert pair.swapped().turns_a == pair.turns_b


@pytest.mark.parametrize("name", ["pair", "judge", "short", "single"])
def test_every_prompt_shows_it_in_its_place(tmp_path: Path, name: str) -> None:
    pair, template = read(tmp_path), PromptTemplate.bundled(name)
    criteria = CriteriaSet.of(["warm"])
    if template.compares:
        prompts = [template.pair(Question(criteria, pair))]
    else:
        prompts = [template.single(criteria, pair.query, turns) for turns in pair.conversations]
    shown = "\n".join(prompts)
    assert shown.count("Without cream, please.") == 2
    assert "Assistant: Leek.\n\nUser: Without cream, please.\n\nAssistant: Leek broth." in shown
    if name == "pair":  # counted is what the LLM wrote
        assert "Answer A (words: 3): Assistant: Leek." in shown


def test_the_longest_turns_are_shortened_first(tmp_path: Path) -> None:
    pair = read(tmp_path, model_a=conversation("word " * 400, "Leek broth."))
    prompt = PromptTemplate.bundled("pair").fit(make_tokenizer(), 256).pair(Question(CriteriaSet(), pair))
    assert prompt.count("Without cream, please.") == 2
    assert " …" in prompt
    assert "Assistant: Leek broth." in prompt
    assert len(make_tokenizer()(prompt)["input_ids"]) <= 256


def test_the_last_answer_alone_can_be_judged(tmp_path: Path) -> None:
    assert read(tmp_path, Turns.LAST) == Pair(
        "Soup?\n\nWithout cream, please.", "Leek broth.", "Clear tomato soup."
    )


def test_files_of_earlier_versions_say_nothing_twice(tmp_path: Path) -> None:
    joined = "\n\n".join(("Be kind.", *ASKED))
    assert read(tmp_path, prompt=joined) == read(tmp_path, prompt="Be kind.\n\nSoup?")
    assert read(tmp_path, Turns.LAST, prompt=joined).query == joined


def test_a_single_turn_is_a_pair_of_texts(tmp_path: Path) -> None:
    single = {side: conversation(side, asked=("Soup?",)) for side in ("model_a", "model_b")}
    for turns in Turns:
        assert read(tmp_path, turns, **single) == Pair("Soup?", "model_a", "model_b")


def test_pairs_to_score_may_be_conversations(tmp_path: Path) -> None:
    line = {"id": 1, "query": "Soup?", "response_a": LINE["model_a"], "response_b": "Tea.", "criteria": []}
    path = tmp_path / "in.jsonl"
    path.write_text(json.dumps(line))
    [item] = read_pairs(path)
    assert item.pair == Pair(
        "Soup?", "Leek.\n\nLeek broth.", "Tea.", read(tmp_path).turns_a, (Turn("assistant", "Tea."),)
    )
    path.write_text(json.dumps(line | {"response_b": LINE["model_a"][:1]}))
    with pytest.raises(CRMError, match="row 1: the field 'response_b' has no answer in it"):
        read_pairs(path)


def test_evaluation_sets_hold_whole_conversations(tmp_path: Path) -> None:
    path = tmp_path / "pairs.jsonl"
    path.write_text(json.dumps(LINE))
    items = read_labelled_pairs(path, tmp_path, None)
    manifest = write_sets(tmp_path / "sets", dict.fromkeys(Subset, items), 0, "embedded 7")
    assert {entry.turns for entry in manifest.statistics} == {4.0}
    assert read_sets(tmp_path / "sets").sets[Subset.TOPIC_PLUS][0].pair == items[0].pair
