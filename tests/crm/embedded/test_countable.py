"""Criteria that can be counted:
what the bundled judge makes of wordings that none of its training wishes is."""

import numpy as np
import pytest

from crm.criteria import CriteriaSet
from crm.embedded.concepts import concept_classifier
from crm.embedded.countable import counted_margins, counted_wishes
from crm.embedded.counts import count_names, exact_counts
from crm.embedded.model import embedded_crm
from crm.embedded.representation import representation
from crm.protocol import Pair, Question
from crm.training.concepts import read_concept_wishes

PLAIN = "Boil the eggs for seven minutes, cool them under the tap and peel them."
PAIRS = {
    "tables": PLAIN + "\n\n| size | minutes |\n| --- | --- |\n| small | 6 |\n| large | 8 |",
    "emojis": PLAIN + " 🥚🍳😊",
    "bullets": "- Boil the eggs.\n- Cool them.\n- Peel them.",
    "bold": "**Boil** the eggs for **seven minutes**, cool them and peel them.",
    "headings": "# Eggs\n\n" + PLAIN + "\n\n## Salt\n\nAdd some.",
    "asks_back": PLAIN + " How soft do you like them?",
    "refusals": "I'm sorry, but I can't help with boiling eggs.",
    "exclamations": "Boil the eggs for seven minutes! Cool them under the tap, then peel them!",
    "words": PLAIN + " " + "Then eat them with salt, butter and fresh bread while they are still warm. " * 8,
}
WORDINGS = {
    "tables": ("I'd appreciate a table somewhere", "please don't put anything into tables"),
    "emojis": ("sprinkle plenty of emojis in", "I really cannot stand emojis"),
    "bullets": ("bullet points would be lovely", "no bullet lists in my answers"),
    "bold": ("make the key terms bold", "bold type annoys me"),
    "headings": ("give each part its own heading", "headings aren't needed"),
    "asks_back": ("finish by asking me something", "never end with a question for me"),
    "refusals": ("turns my request down", "doesn't refuse what I ask"),
    "exclamations": ("exclamation marks everywhere!", "keep the exclamation marks out"),
    "words": ("a really long answer", "keep your answers short"),
}


def prob(wish: str, response_a: str, response_b: str) -> float:
    [verdict] = embedded_crm().judge(
        [Question(CriteriaSet.of([wish]), Pair("How do I boil eggs?", response_a, response_b))]
    )
    return verdict.prob_a


def test_none_of_these_wordings_was_trained_on() -> None:
    known = {wish.text.casefold() for wish in read_concept_wishes()}

    assert not known & {wording.casefold() for pair in WORDINGS.values() for wording in pair}


@pytest.mark.parametrize("name", WORDINGS)
def test_more_and_less_of_it_are_told_apart(name: str) -> None:
    more, less = WORDINGS[name]

    assert prob(more, PAIRS[name], PLAIN) > 0.6
    assert prob(less, PAIRS[name], PLAIN) < 0.4


def test_a_limit_decides_however_much_more_there_is() -> None:
    two, three = "Boil the eggs. Peel them.", "Boil the eggs. Cool them. Peel them."

    assert prob("two sentences at most", two, three) > 0.7
    assert prob("at least three sentences", two, three) < 0.3
    assert prob("exactly two sentences", two, three) > 0.7


def test_margins_follow_the_count_and_the_direction() -> None:
    counts = exact_counts([PLAIN, PLAIN + " 😊", PLAIN + " 😊😊😊"])
    gains = np.full(len(count_names()), 2.0, dtype=np.float32)
    margins = {
        wish: counted_margins(
            [*counted_wishes(wish, concept_classifier().read([wish]).wanted[0])], counts, gains
        )
        for wish in ("lots of emojis", "no emojis")
    }

    assert (np.diff(margins["lots of emojis"]) > 0).all()
    assert (np.diff(margins["no emojis"]) < 0).all()


@pytest.mark.parametrize(
    "wish", ["talks about table manners", "mentions the gold link bracelet", "the plot of the film"]
)
def test_a_word_in_another_meaning_is_not_counted(wish: str) -> None:
    reading = concept_classifier().read([wish])
    counted = np.abs(reading.wanted[0, : concept_classifier().countable]).sum()

    assert counted < 0.5


def test_explanations_quote_the_counts() -> None:
    crm = embedded_crm()
    stored = representation().encode([PAIRS["emojis"], PLAIN], ["", ""])
    one, other = ({name: array[row] for name, array in stored.items()} for row in (0, 1))
    _, reasons = crm.explain(CriteriaSet.of(["lots of emojis"]), one, other)

    assert reasons[0].text == "3 emojis against none"
    assert reasons[0].contribution > 0
