"""Gaming responses: seeded, of every kind, and different in training and in tests."""

import os
import random
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crm.criteria import CriteriaSet, Polarity
from crm.data.pairs import Directions, both_directions
from crm.errors import CRMError
from crm.protocol import Pair
from crm.training.adversarial import (
    HELD_OUT,
    HELD_OUT_WRAPPERS,
    TRAINING,
    TRAINING_WRAPPERS,
    Attack,
    Kind,
    Wrapper,
    as_list,
    excerpt,
    gaming_answers,
    ordinary_answers,
)
from crm.training.tones import read_tone_contrasts, style_pairs, unusual_answers

QUERY = "How do I get {soup} out of a carpet?"
POOL = ("Rain is water. It falls from clouds! Why?", "Chess has kings. They hardly move.")
SPLITS = {"training": TRAINING, "held out": HELD_OUT}
NEED_NO_TEXTS = {"empty", "query echo", "answer to another query", "sentences of other answers"}
"""Attacks that have one way of being written whatever the texts: their responses may be the same."""


def named(attacks: Sequence[Attack], name: str) -> Attack:
    return next(attack for attack in attacks if attack.name == name)


def written(attack: Attack, seeds: int = 60) -> set[str]:
    return {attack.write(QUERY, ["concise"], POOL, seed) for seed in range(seeds)}


@pytest.mark.parametrize("attacks", SPLITS.values(), ids=SPLITS)
class TestAttacks:
    def test_each_kind_is_there_under_names_of_its_own(self, attacks: Sequence[Attack]) -> None:
        assert {attack.kind for attack in attacks} == set(Kind)
        assert len({attack.name for attack in attacks}) == len(attacks)

    def test_the_seed_and_the_query_decide_the_text(self, attacks: Sequence[Attack]) -> None:
        bold = named(attacks, "bold")

        assert bold.write(QUERY, seed=3) == bold.write(QUERY, seed=3)
        assert len({bold.write(QUERY, seed=seed) for seed in range(9)}) == 9
        assert bold.write(QUERY) != bold.write("What is rain?")

    def test_only_what_echoes_the_criteria_changes_with_them(self, attacks: Sequence[Attack]) -> None:
        """So that a judge reads the texts of the others once for all criteria sets."""
        echoing = {Kind.CRITERION_REPEATED, Kind.AFFIRMATION, Kind.JUDGE_ADDRESSED, Kind.INJECTION}
        changing = {
            attack.kind
            for attack in attacks
            for seed in range(20)
            if attack.write(QUERY, ["warm"], POOL, seed) != attack.write(QUERY, ["dry"], POOL, seed)
        }

        assert changing == echoing

    def test_without_criteria_something_is_claimed_all_the_same(self, attacks: Sequence[Attack]) -> None:
        assert "helpful" in named(attacks, "affirmation").write(QUERY)

    def test_criteria_to_avoid_are_claimed_to_be_avoided(self, attacks: Sequence[Attack]) -> None:
        text = named(attacks, "affirmation").write(QUERY, ["Concise.", "warm", "Avoid: jokes"])

        assert "concise, warm and free of jokes" in text

    def test_repeated_criteria_are_about_as_long_as_they_say(self, attacks: Sequence[Attack]) -> None:
        repeated = [attack for attack in attacks if attack.kind is Kind.CRITERION_REPEATED]
        lengths = [int(attack.name.split()[2]) for attack in repeated]

        assert len(repeated) >= 2
        for attack, length in zip(repeated, lengths, strict=True):
            text = attack.write(QUERY, ["one two three"]).replace("/", " ").replace(" and ", " ")
            assert length - 3 < len(text.split()) <= length

    def test_the_query_is_echoed_as_it_is(self, attacks: Sequence[Attack]) -> None:
        for name in ("query echo", "generic advice on the query"):
            assert all(QUERY in text for text in written(named(attacks, name)))

    def test_constants_are_the_same_for_every_query(self, attacks: Sequence[Attack]) -> None:
        constants = [attack for attack in attacks if attack.kind is Kind.CONSTANT]

        assert len(constants) >= 6
        for attack in constants:
            assert attack.write(QUERY, ["warm"], POOL, 1) == attack.write("Why?", [], (), 2) != ""

    def test_answers_to_other_queries_come_from_the_pool(self, attacks: Sequence[Attack]) -> None:
        assert written(named(attacks, "answer to another query")) == set(POOL)
        mosaic = named(attacks, "sentences of other answers").write(QUERY, [], POOL)
        sentences = (
            "Rain is water.",
            "It falls from clouds!",
            "Why?",
            "Chess has kings.",
            "They hardly move.",
        )
        for sentence in sentences:
            mosaic = mosaic.replace(sentence, "")
        assert mosaic.strip() == ""

    def test_an_empty_pool_is_refused_where_one_is_needed(self, attacks: Sequence[Attack]) -> None:
        for attack in attacks:
            if attack.kind is Kind.OTHER_ANSWER:
                with pytest.raises(CRMError, match="give a pool of responses"):
                    attack.write(QUERY)
            else:
                assert isinstance(attack.write(QUERY), str)

    @given(query=st.text(), wishes=st.lists(st.text(min_size=1), max_size=4), seed=st.integers(0, 99))
    def test_any_query_and_criteria_will_do(
        self, attacks: Sequence[Attack], query: str, wishes: list[str], seed: int
    ) -> None:
        for attack in attacks:
            assert isinstance(attack.write(query, wishes, POOL, seed), str)


def test_held_out_responses_are_none_of_training() -> None:
    """Constants are compared by text; others by all that sixty seeds write."""
    seen = {text for attack in TRAINING if attack.name not in NEED_NO_TEXTS for text in written(attack)}
    held_out = {text for attack in HELD_OUT if attack.name not in NEED_NO_TEXTS for text in written(attack)}

    assert len(seen) > 250
    assert len(held_out) > 250
    assert seen & held_out == set()


def test_braces_in_a_query_are_text() -> None:
    """A query that quotes a placeholder is not filled in a second time."""
    query = "Is {criteria} a word?"

    assert all(
        query in named(TRAINING, "generic advice on the query").write(query, ["warm"], seed=seed)
        for seed in range(20)
    )


@pytest.mark.parametrize("wrappers", [TRAINING_WRAPPERS, HELD_OUT_WRAPPERS], ids=["training", "held out"])
def test_wrapping_keeps_the_answer_whole(wrappers: Sequence[Wrapper]) -> None:
    answer = "Dab it with cold water.\n\nThen let it dry."
    kinds = {wrapper.addition.kind for wrapper in wrappers}

    assert kinds == {Kind.CRITERION_REPEATED, Kind.AFFIRMATION, Kind.JUDGE_ADDRESSED, Kind.INJECTION}
    for wrapper in wrappers:
        addition = wrapper.addition.write(QUERY, ["warm"], seed=2)
        parts = (addition, answer) if wrapper.placement == "before" else (answer, addition)
        assert wrapper.wrap(answer, QUERY, ["warm"], seed=2) == "\n\n".join(parts)
        assert wrapper.name == f"{wrapper.addition.name} {wrapper.placement} the answer"


def test_another_process_writes_the_same() -> None:
    """Python's own hashes of texts differ from process to process; the seeds must not."""
    code = (
        "from crm.training.adversarial import HELD_OUT\n"
        f"print([attack.write({QUERY!r}, ['warm'], {POOL!r}, 5) for attack in HELD_OUT])"
    )
    printed = subprocess.run(
        [sys.executable, "-X", "utf8", "-c", code],
        env={**os.environ, "PYTHONHASHSEED": "17"},
        cwd=Path(__file__).resolve().parents[3],
        capture_output=True,
        encoding="utf-8",
        check=True,
    ).stdout

    assert printed.strip() == str([attack.write(QUERY, ["warm"], POOL, 5) for attack in HELD_OUT])


UNUSUAL = [(item.answer, item.query) for item in unusual_answers()]
STORY = (
    "The kettle sings on the stove. Steam climbs to the ceiling and hangs there. Nobody speaks. "
    "Then the door opens, and in comes the cold. Tea is poured into four cups. It is far too hot to drink."
)


def pairs(count: int) -> list[Directions]:
    """Pairs about things that have nothing in common; the last one has no query."""
    things = [f"thing{number}" for number in range(count)]
    queries = [f"What is {thing} good for?" for thing in things[:-1]] + [""]
    return [
        both_directions(
            Pair(query, *(f"{STORY} {thing} does it {how}. {STORY}" for how in ("well", "badly"))),
            (CriteriaSet.of(["praise"]), CriteriaSet.of([], ["praise"])),
            instruction=thing,
        )
        for query, thing in zip(queries, things, strict=True)
    ]


class TestReshaping:
    @pytest.mark.parametrize("seed", range(20))
    def test_an_excerpt_is_a_passage_of_whole_sentences(self, seed: int) -> None:
        short = excerpt(STORY, random.Random(seed))

        assert short is not None
        assert short in STORY.replace("Nobody speaks. ", "")
        assert 8 <= len(short.split()) < len(STORY.split())
        assert short.endswith(".")

    @pytest.mark.parametrize("seed", range(20))
    def test_a_list_has_every_sentence_as_an_item(self, seed: int) -> None:
        listed = as_list(STORY, random.Random(seed))

        assert listed is not None
        items = [line for line in listed.splitlines() if line.startswith(("-", "1", "2", "3", "4", "5"))]
        assert len(items) == 5
        assert items[-1].replace("*", "").endswith("It is far too hot to drink.")

    def test_all_kinds_of_lists_are_made(self) -> None:
        made = {(as_list(STORY, random.Random(seed)) or "")[:2] for seed in range(20)}

        assert made == {"1.", "- ", "##"}

    def test_marks_of_a_list_are_not_doubled(self) -> None:
        for seed in range(6):
            listed = as_list("1. Boil the water.\n2. Pour the tea.\n3. Wait a minute.", random.Random(seed))
            assert listed is not None
            assert "1. 1." not in listed
            assert "- 1." not in listed

    @pytest.mark.parametrize("text", ["", "Yes.", "a b\nc d"])
    def test_what_is_too_short_has_no_other_shape(self, text: str) -> None:
        assert excerpt(text, random.Random(0)) is None
        assert as_list(text, random.Random(0)) is None


class TestWhatTheGuardLearnsFrom:
    def test_every_attack_is_there_on_a_real_query(self) -> None:
        given = pairs(40)
        made = gaming_answers(given, 4 * len(TRAINING), seed=0)
        real = {item.pair.query: item.instruction for item, _ in given if item.pair.query}

        assert len(made) > 5 * len(TRAINING)
        assert {query for _, query in made} <= real.keys() | {query for _, query in UNUSUAL}
        assert any(not text for text, _ in made)
        assert any("praise" in text.casefold() for text, _ in made)
        # No attack is an answer to its own query: none has both the story and the thing.
        assert not [
            text
            for text, query in made
            if query in real and STORY in text and f" {real[query]} does it" in text
        ]
        assert not set(UNUSUAL) & set(made)

    def test_ordinary_are_all_real_answers_and_more_shapes_of_them(self) -> None:
        given = pairs(40)
        *made, last = ordinary_answers(given, 100, seed=0)
        real = [
            (text, item.pair.query)
            for item, _ in given[:-1]
            for text in (item.pair.response_a, item.pair.response_b)
        ]

        assert made[: len(real)] == real
        assert last == UNUSUAL[-1]
        reshaped = [answer for answer in made[len(real) :] if answer not in set(UNUSUAL)]
        assert len(reshaped) == 100
        whole = dict.fromkeys(real)
        for text, query in reshaped:
            assert (text, query) not in whole
            assert query

    def test_the_seed_decides(self) -> None:
        given = pairs(10)

        assert gaming_answers(given, 60, 1) == gaming_answers(given, 60, 1) != gaming_answers(given, 60, 2)
        assert (
            ordinary_answers(given, 60, 1) == ordinary_answers(given, 60, 1) != ordinary_answers(given, 60, 2)
        )


ANSWERS = unusual_answers()
TONES = read_tone_contrasts()


def test_answers_and_queries_are_all_different() -> None:
    assert (
        len({item.answer for item in ANSWERS}) == len({item.query for item in ANSWERS}) == len(ANSWERS) > 150
    )
    assert all(item.answer.strip() and item.query.strip() for item in ANSWERS)


def test_every_side_of_a_pair_is_wished_for_by_its_own_tone() -> None:
    wishes_of = {wish: contrast.tone.more for contrast in TONES for wish in contrast.wishes}
    style_of = {item.answer: item.style for item in ANSWERS}
    styles_of: dict[str, set[str]] = {}
    for for_a, for_b in style_pairs(ANSWERS, TONES, 300, seed=0):
        for response, item in ((for_a.pair.response_a, for_a), (for_b.pair.response_b, for_b)):
            [tone] = {wishes_of[wish.text] for wish in item.criteria}
            [avoided] = item.extra
            assert avoided.polarity is Polarity.AVOID
            assert {wishes_of[avoided.text]} == {wishes_of[wish.text] for wish in item.opposite} != {tone}
            styles_of.setdefault(tone, set()).add(style_of[response])

    assert styles_of["more vivid imagery"] == {"poem", "lyrical prose"}
    assert styles_of["a more direct manner"] == {"terse"}
    assert len(styles_of) == 7


def test_the_seed_decides() -> None:
    assert style_pairs(ANSWERS, TONES, 20, 1) == style_pairs(ANSWERS, TONES, 20, 1)
    assert style_pairs(ANSWERS, TONES, 20, 1) != style_pairs(ANSWERS, TONES, 20, 2)
