import random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from precompute.topics.templates import NO_TEMPLATE, template_families

ENTAILS = "In this task, decide whether the second sentence follows from the first one. Sentence: {}"
GUESTS = "I like to host guests, and I collect recipes of dishes from everywhere. Tell me about {}."
DISHES = ("soup", "bread", "cake", "salad", "curry", "stew")
OWN = ("How do I boil an egg?", "Why is the sky blue?", "In this task, I am lost: what does it ask for?")


def families(texts: list[str], words: int = 8, by: int = 5) -> list[int]:
    return template_families(texts, words, by).tolist()


def test_prompts_around_one_instruction_are_a_family_and_others_are_not() -> None:
    texts = [*(ENTAILS.format(dish) for dish in DISHES), *OWN, *(GUESTS.format(dish) for dish in DISHES[:5])]
    assert families(texts) == [0] * 6 + [NO_TEMPLATE] * 3 + [1] * 5


def test_too_few_prompts_or_too_short_a_run_of_words_are_no_template() -> None:
    four = [ENTAILS.format(dish) for dish in DISHES[:4]]
    assert families(four) == [NO_TEMPLATE] * 4
    assert families(four, by=4) == [0] * 4
    short = [f"Write a poem about {dish}, please" for dish in DISHES]
    assert families(short) == [NO_TEMPLATE] * 6


def test_case_and_punctuation_do_not_matter() -> None:
    texts = [ENTAILS.format(dish) for dish in DISHES]
    texts[0] = texts[0].upper().replace(",", " --")
    assert families(texts) == [0] * 6


def test_no_texts_have_no_families() -> None:
    assert families([]) == []
    assert families(["", " ", "\n"]) == [NO_TEMPLATE] * 3


@given(st.randoms(use_true_random=False))
def test_another_order_of_the_texts_gives_the_same_families(chance: random.Random) -> None:
    texts = [*(ENTAILS.format(dish) for dish in DISHES), *OWN, *(GUESTS.format(dish) for dish in DISHES[:5])]
    order = list(range(len(texts)))
    chance.shuffle(order)
    found = np.array(families([texts[place] for place in order]))
    assert found[np.argsort(order)].tolist() == families(texts)
