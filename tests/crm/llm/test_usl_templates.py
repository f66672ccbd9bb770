"""The layout of the USL paper's authors, to the character, in a chat template as Qwen3 has it."""

import json
from pathlib import Path
from typing import Any

import pytest

from crm.backends._classifier import read_checkpoint_info
from crm.criteria import CriteriaSet
from crm.errors import UnavailableError
from crm.llm.conversation import ConversationTokenizer
from crm.llm.prompt import KnownWords, PromptTemplate
from crm.protocol import Pair, Question, Turn
from tests.checkpoints import make_tokenizer

CHAT = (
    "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
EXPECTED = Path(__file__).with_name("golden") / "usl_pair_qwen3.txt"
PAIR = Pair('Is "a < b" &\nwahr?', "Ja – <b>klar</b>.\n", "Nein.")
CRITERIA = CriteriaSet.of(["Short & plain", "No <b>HTML</b>"])


def in_chat() -> ConversationTokenizer:
    tokenizer = make_tokenizer()
    tokenizer.chat_template = CHAT
    return ConversationTokenizer(tokenizer, opens_answer=False)


SHOWN = in_chat()


def dialogue(*turns: dict[str, str]) -> str:
    """As Python writes it: no escapes for HTML, two spaces."""
    return json.dumps(list(turns), indent=2)


def expected(criteria: list[str], pair: Pair, first: str, second: str) -> str:
    marked = "\n".join(f"* {one}" for one in criteria)
    query = json.dumps({"User": pair.query})
    return (
        f"\n## Criteria\n{marked}\n\n## User Query\n{query}\n\n"
        f"## Follow-up Conversation with Model A\n{first}\n\n"
        f"## Follow-up Conversation with Model B\n{second}\n<|im_end|>\n"
    )


def test_a_pair_is_rendered_to_the_character() -> None:
    shown = SHOWN.rendered(PromptTemplate.bundled("usl-pair").pair(Question(CRITERIA, PAIR)))
    assert shown == EXPECTED.read_bytes().decode()


def test_without_criteria_a_phrase_stands_in_their_place() -> None:
    shown = SHOWN.rendered(PromptTemplate.bundled("usl-pair").pair(Question(CriteriaSet(), PAIR)))
    sides = [dialogue({"Model": text}) for text in (PAIR.response_a, PAIR.response_b)]
    assert shown.endswith(expected(["General user preference"], PAIR, *sides))


def test_a_template_marks_turns_by_calling_for_them() -> None:
    assert PromptTemplate.bundled("usl-pair").has_turns
    assert PromptTemplate.bundled("usl-single").has_turns
    assert not PromptTemplate.bundled("pair").has_turns
    named_alike = "{% for turn in conversation_a %}{{ turn.content }}{% endfor %} {% raw %}turn(){% endraw %}"
    assert not PromptTemplate(named_alike).has_turns


def test_further_messages_stand_in_their_place() -> None:
    turns = (Turn("assistant", "A."), Turn("user", "Why?"), Turn("assistant", "So."))
    pair = Pair("Q?", "A.\n\nSo.", "B.", turns, (Turn("assistant", "B."),))
    first = dialogue({"Model": "A."}, {"User": "Why?"}, {"Model": "So."})
    shown = SHOWN.rendered(PromptTemplate.bundled("usl-pair").pair(Question(CRITERIA, pair)))
    listed = ["Short & plain", "No <b>HTML</b>"]
    assert shown.endswith(expected(listed, pair, first, dialogue({"Model": "B."})))
    single = SHOWN.rendered(PromptTemplate.bundled("usl-single").single(CRITERIA, pair.query, turns))
    assert single.endswith(
        "The criteria are:\n* Short & plain\n* No <b>HTML</b>\n<|im_end|>\n"
        "<|im_start|>user\nQ?<|im_end|>\n<|im_start|>assistant\nA.<|im_end|>\n"
        "<|im_start|>user\nWhy?<|im_end|>\n<|im_start|>assistant\nSo.<|im_end|>\n"
    )
    assert single.startswith("<|im_start|>system\nYou are")
    bare = SHOWN.rendered(PromptTemplate.bundled("usl-single").single(CriteriaSet(), "Q?", "B."))
    assert bare == "<|im_start|>user\nQ?<|im_end|>\n<|im_start|>assistant\nB.<|im_end|>\n"


def described(folder: Path, **keys: Any) -> Path:
    (folder / "crm.json").write_text(json.dumps({"format": 1, "loss": "classification", **keys}))
    return folder


def test_only_our_own_layouts_have_words_for_what_to_avoid_and_for_weights(tmp_path: Path) -> None:
    def words(template: PromptTemplate, **keys: Any) -> KnownWords:
        return read_checkpoint_info(str(described(tmp_path, **keys))).words(template)

    ours, foreign = PromptTemplate.bundled("pair"), PromptTemplate.bundled("usl-pair")
    in_turn = PromptTemplate(f"{{% raw %}}<|im_start|>{{% endraw %}}{ours.source.rstrip()}<|im_end|>")
    assert words(ours) == words(in_turn) == KnownWords(avoid=True, weights=True)
    assert words(foreign) == words(PromptTemplate.bundled("usl-single")) == KnownWords(False, False)
    assert words(foreign, avoid_in_words=True) == KnownWords(avoid=True, weights=False)
    assert words(ours, weights_in_words=False) == KnownWords(avoid=True, weights=False)
    by_us = {"name": "mine", "version": "1"}
    assert words(foreign, **by_us) == KnownWords(avoid=True, weights=True)
    assert words(foreign, **by_us, prompt="usl-pair") == KnownWords(avoid=False, weights=False)


def test_a_checkpoint_names_its_template_and_what_differs(tmp_path: Path) -> None:
    keys = {"prompt": "usl-pair", "chat": True, "generation_prompt": False, "truncate": False}
    info = read_checkpoint_info(str(described(tmp_path, **keys)))
    assert info.template == PromptTemplate.bundled("usl-pair")
    assert (info.chat, info.generation_prompt, info.truncate, info.max_length) == (True, False, False, None)
    (tmp_path / "ours.jinja").write_text("{{ response_a }} or {{ response_b }}")
    own = read_checkpoint_info(str(described(tmp_path, prompt="ours.jinja")))
    assert own.template == PromptTemplate("{{ response_a }} or {{ response_b }}")
    assert (own.chat, own.generation_prompt, own.truncate) == (False, True, True)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"prompt": "../secret"}, "is no name of a file beside it"),
        ({"chat": "yes"}, "chat must be true or false"),
        ({"avoid_in_words": 1}, "avoid_in_words must be true or false"),
    ],
)
def test_what_it_cannot_say_is_refused(tmp_path: Path, keys: dict[str, Any], message: str) -> None:
    with pytest.raises(UnavailableError, match=message):
        read_checkpoint_info(str(described(tmp_path, **keys)))
