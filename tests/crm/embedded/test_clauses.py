"""“No jokes, be warm” asks for warmth: a turn of less says nothing of the clause after it.

None of these wishes was looked at while the rule was made.
"""

import numpy as np
import pytest

from crm.criteria import Criterion
from crm.embedded.concepts import concept_classifier
from crm.embedded.forms import enumerated, turns_round

PLAINLY = 0.25

TURNING = [
    ("don't ramble, ask me something at the end", "+asks_back"),
    ("no bullet points, write flowing prose", "+prose"),
    ("no emojis but keep it friendly", "+warm -emojis"),
    ("never say sorry, just be honest and be funny", "+funny -apologies"),
    ("stop using jargon and give me concrete examples", "+examples -technical_terms"),
    ("I hate headings, please use short sentences", "-headings -sentence_length"),
    ("no disclaimers, recommend one option", "+recommendation -disclaimers"),
    ("please don’t use exclamation marks; add emojis", "+emojis -exclamations"),
    ("not too long, include numbers", "+numbers -words"),
    ("leave out the history and use code blocks", "+code_blocks -history"),
    ("no slang and write formally", "+formal -slang"),
    ("avoid long sentences and use headings", "+headings -sentence_length"),
    ("no waffle pls, tell me what YOU would pick", "+recommendation +concise"),
    ("keine Listen, nenne ein Beispiel", "+examples -list_items"),
    ("keine Emojis und erkläre Schritt für Schritt", "+step_by_step -emojis"),
    ("ohne Fachbegriffe, sei humorvoll", "+funny -technical_terms"),
    ("pas de listes, donne des exemples", "+examples -list_items"),
    ("sans emojis, utilise des tableaux", "+tables -emojis"),
    ("sin listas, usa tablas", "+tables -list_items"),
    ("nada de emojis y haz preguntas", "+questions -emojis"),
]
GOING_ON = [
    ("no jokes or puns", "-funny"),
    ("don't use emojis or ask questions", "-questions -emojis"),
    ("no tables, lists or headings", "-tables -headings -list_items"),
    ("never use bold or start with a greeting", "-greetings -bold"),
    ("without emojis, exclamation marks and bold", "-emojis -exclamations -bold"),
    ("no apologies, no hedging, no disclaimers", "-hedges -disclaimers -apologies"),
    ("don't be formal or use headings", "-headings -formal"),
    ("neither tables nor lists", "-tables -list_items"),
    ("avoid emojis, slang and exclamation marks", "-emojis -exclamations -slang"),
]


@pytest.mark.parametrize(("wish", "meant"), [*TURNING, *GOING_ON])
def test_each_clause_is_read_the_right_way_round(wish: str, meant: str) -> None:
    classifier = concept_classifier()
    wanted = dict(zip(classifier.names, classifier.read([Criterion(wish)]).wanted[0].tolist(), strict=True))

    for signed in meant.split():
        assert wanted[signed[1:]] * (1 if signed[0] == "+" else -1) > PLAINLY, signed


@pytest.mark.parametrize("wish", [wish for wish, _ in GOING_ON])
def test_a_list_is_no_other_clause(wish: str) -> None:
    assert not turns_round(wish)


def test_a_clause_begins_with_what_is_to_be_done_unless_it_is_one_of_several_not_to_do() -> None:
    assert enumerated("no jokes, be warm") == ("no jokes", "be warm")
    assert enumerated("no jokes, puns") == ("no jokes", "no puns")
    assert enumerated("don’t joke or be warm") == ("don't joke", "don't be warm")
    assert not turns_round("be warm, no jokes")
    assert not turns_round("use tables, be warm")


def test_a_wish_in_two_clauses_is_left_as_it_is_read() -> None:
    """Of one concept only: taken apart, neither half would say it."""
    classifier = concept_classifier()
    [wanted] = classifier.read([Criterion("“a lot” tells me nothing, give me the number")]).wanted
    assert wanted[classifier.names.index("numbers")] > PLAINLY
    assert np.all(wanted > -PLAINLY)


SEVERAL = [
    ("Short. I have a toddler on my arm.", "-words"),
    ("emojis yes, tables no", "+emojis -tables"),
    ("headings yes, tables no, my screen reader turns tables into soup", "+headings -tables"),
    ("emojis yes, tables no. I read on the bus", "+emojis -tables"),
    ("emojis are fine but not in every line", "-emojis"),
    ("a bit of humour, but not too much", "+funny"),
    ("un peu d'humour svp, mais pas trop", "+funny"),
    ("analogies please, but not another car analogy", "+analogies"),
    ("use slang but no cringe slang", "+slang"),
    pytest.param(
        "hedge where the law is open, but don't hedge everything",
        "+hedges",
        marks=pytest.mark.xfail(
            strict=True, reason="its mixture, read just surely enough to decide (0.83), asks for fewer hedges"
        ),
    ),
    ("More like a chat with my sister than like a Wikipedia article", "+friend"),
    ("grams, not cups", "+measures"),
    ("tell me why the sauce splits, not just how to fix it", "+explains_why"),
    ("less wordy than chatgpt", "-words"),
    ("Get to the point but tell me what can go wrong", "+concise +warnings"),
    ("Never make me feel like a bad mom", "+nonjudgmental"),
    ("Please stop telling me to consult a professional. I am one.", "-disclaimers"),
    ("stop calling me buddy", "-friend"),
    ("Ich will konkrete Beispiele statt allgemeiner Ratschläge", "+gives_examples"),
]
"""Kinds of wishes by which people wrote of themselves, and that were read the wrong way round or hardly."""


@pytest.mark.parametrize(("wish", "meant"), SEVERAL)
def test_what_is_said_beside_a_wish_does_not_turn_it_round(wish: str, meant: str) -> None:
    classifier = concept_classifier()
    wanted = dict(zip(classifier.names, classifier.read([Criterion(wish)]).wanted[0].tolist(), strict=True))

    for signed in meant.split():
        assert wanted[signed[1:]] * (1 if signed[0] == "+" else -1) > PLAINLY, signed
