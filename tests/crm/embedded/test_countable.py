"""Criteria that can be counted:
what the bundled judge makes of wordings that none of its training wishes is."""

import numpy as np
import pytest

from crm.criteria import CriteriaSet, Criterion, Polarity, Weight
from crm.embedded.concepts import concept_classifier
from crm.embedded.countable import counted_margins, counted_wishes
from crm.embedded.counts import count_names, exact_counts
from crm.embedded.known import KnownConcepts
from crm.embedded.model import embedded_crm
from crm.embedded.representation import representation
from crm.protocol import Amounts, CountsAmounts, KnowsItsError, Pair, Question, ReadAs
from crm.training.concepts import read_concept_wishes
from tests.crm.samples import ArrayBenchmark

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
    "words": ("a really long answer", "I like my answers short and snappy"),
}


def prob(wish: str, response_a: str, response_b: str) -> float:
    [verdict] = embedded_crm().judge(
        [Question(CriteriaSet.of([wish]), Pair("How do I boil eggs?", response_a, response_b))]
    )
    return verdict.prob_a


def test_none_of_these_wordings_was_trained_on() -> None:
    known = {wish.text.casefold() for wish in read_concept_wishes()}

    assert not known & {wording.casefold() for pair in WORDINGS.values() for wording in pair}


@pytest.mark.parametrize(("wish", "stays"), [("more paragraphs", (0, 1)), ("warm", (1, 1))])
def test_what_networks_make_of_a_wish_must_not_speak_against_what_is_counted(
    wish: str, stays: tuple[float, float]
) -> None:
    classifier = concept_classifier()
    ones = np.ones(len(count_names()), np.float32)
    n_styles = len(classifier.names) - classifier.countable
    concepts = KnownConcepts(concept_classifier, gains=ones, directions=np.ones((n_styles, 1), np.float32))
    counts = np.zeros((2, 4, len(count_names())), np.float32)
    counts[0, :, count_names().index("paragraphs")] = [1, 2, 3, 4]
    differences = np.array([[1.0], [2.0], [3.0], [4.0]], np.float32)
    unread = np.array([[-1.0], [1.0]], np.float32)

    found = concepts.not_opposed([Criterion(wish)] * 2, unread, differences, counts)

    assert found.tolist() == list(stays)


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
            [*counted_wishes(wish, concept_classifier().read([Criterion(wish)]).wanted[0])], counts, gains
        )
        for wish in ("lots of emojis", "no emojis")
    }

    assert (np.diff(margins["lots of emojis"]) > 0).all()
    assert (np.diff(margins["no emojis"]) < 0).all()


@pytest.mark.parametrize(
    "wish", ["talks about table manners", "mentions the gold link bracelet", "the plot of the film"]
)
def test_a_word_in_another_meaning_is_not_counted(wish: str) -> None:
    reading = concept_classifier().read([Criterion(wish)])
    counted = np.abs(reading.wanted[0, : concept_classifier().countable]).sum()

    assert counted < 0.5


def test_explanations_quote_the_counts() -> None:
    crm = embedded_crm()
    stored = representation().encode([PAIRS["emojis"], PLAIN], ["", ""])
    one, other = ({name: array[row] for name, array in stored.items()} for row in (0, 1))
    _, reasons = crm.explain(CriteriaSet.of(["lots of emojis"]), one, other)

    assert reasons[0].text == "3 emojis against none"
    assert reasons[0].contribution > 0


@pytest.mark.parametrize(
    ("criterion", "read_as", "reading"),
    [
        ("no emojis", ReadAs.COUNTED, "fewer emojis"),
        ("Avoid: emojis", ReadAs.COUNTED, "fewer emojis"),
        ("uses tables", ReadAs.COUNTED, "more tables"),
        ("at most two sentences", ReadAs.COUNTED, "at most 2 sentences"),
        ("exactly one sentence", ReadAs.COUNTED, "exactly 1 sentence"),
        ("Avoid: at most two sentences", ReadAs.COUNTED, "anything but at most 2 sentences"),
        ("Keep it to two sentences or less", ReadAs.COUNTED, "at most 2 sentences"),
        ("one table, not more", ReadAs.COUNTED, "at most 1 table"),
        ("short sentences", ReadAs.COUNTED, "fewer words a sentence"),
        ("tables and emojis please", ReadAs.COUNTED, "more tables and more emojis"),
        ("bullet points only", ReadAs.COUNTED, "more bullet points"),
        ("just a table", ReadAs.COUNTED, "more tables"),
        ("sentences longer than 15 words lose me", ReadAs.COUNTED, "at most 15 words a sentence"),
        ("paragraphs of two or three lines", ReadAs.COUNTED, "24 to 36 words a paragraph"),
        ("genau fünf Stichpunkte", ReadAs.COUNTED, "exactly 5 bullet points"),
        ("si pasa de 150 palabras no lo leo", ReadAs.COUNTED, "at most 150 words"),
        ("half of the links lead to a 404, so leave them out", ReadAs.COUNTED, "fewer links"),
        ("only use emojis when needed", ReadAs.COUNTED, "fewer emojis"),
        ("only formal language", ReadAs.STYLE, "formal"),
        ("funny", ReadAs.STYLE, "funny"),
        ("Avoid: formal", ReadAs.STYLE, "less formal"),
        ("Warm and funny", ReadAs.STYLE, "funny and warm"),
        ("the hero of the tale is a lighthouse keeper", ReadAs.WORDING, ""),
        ("Written in Finnish", ReadAs.WORDING, ""),
        ("finds the weaknesses in my work", ReadAs.WORDING, "challenging and corrects me"),
    ],
)
def test_it_says_how_a_criterion_is_read(criterion: str, read_as: ReadAs, reading: str) -> None:
    judge = embedded_crm()
    assert isinstance(judge, KnowsItsError)
    found = judge.reliability(Criterion.parse(criterion))

    assert (found.read_as, found.reading) == (read_as, reading)
    assert 0.6 < found.right < 0.95


YOURS = "You know that your eggs are done when you can spin them."


class TestAmounts:
    """Of an LLM that has answered only the first of two queries, one that has answered both, the baseline."""

    ANSWERS = ((PAIRS["emojis"], PAIRS["tables"]), (YOURS, YOURS), (PLAIN, YOURS))

    def found(self, criteria: CriteriaSet) -> tuple[Amounts, ...]:
        counts = np.stack([exact_counts(row) for row in self.ANSWERS])
        features = np.zeros((3, 2, representation().size), dtype=np.int8)
        features[..., : counts.shape[-1]] = counts
        judge = embedded_crm()
        assert isinstance(judge, CountsAmounts)
        return judge.amounts(criteria, ArrayBenchmark(features, missing=[(0, 1)]))

    def amounts(self, criteria: CriteriaSet) -> list[tuple[str, list[list[float]]]]:
        return [(each.unit, each.amount.tolist()) for each in self.found(criteria)]

    def test_are_what_anyone_can_count(self) -> None:
        [emojis] = self.amounts(CriteriaSet.of(["no emojis"]))
        [yours] = self.amounts(CriteriaSet.of(["addresses me as “you”"]))

        np.testing.assert_array_equal(emojis[1], [[3, np.nan], [0, 0], [0, 0]])
        np.testing.assert_array_equal(yours[1], [[0, np.nan], [3, 3], [0, 3]])
        assert (emojis[0], yours[0]) == ("emojis an answer", "words like “you” and “your” an answer")

    def test_of_a_measure_are_not_an_answers(self) -> None:
        assert [unit for unit, _ in self.amounts(CriteriaSet.of(["sentence length"]))] == ["words a sentence"]

    @pytest.mark.parametrize(
        ("wishes", "limit", "kept"),
        [
            (["at most two emojis"], "at most 2 emojis", [[False, False], [True, True], [True, True]]),
            (["at least three emojis"], "at least 3 emojis", [[True, False], [False, False], [False, False]]),
        ],
    )
    def test_of_a_limit_say_which_answers_keep_to_it(
        self, wishes: list[str], limit: str, kept: list[list[bool]]
    ) -> None:
        [found] = self.found(CriteriaSet.of(wishes))

        assert (found.limit, found.wished) == (limit, 0)
        assert found.kept is not None
        np.testing.assert_array_equal(
            found.kept[~np.isnan(found.amount)], np.array(kept)[~np.isnan(found.amount)]
        )

    @pytest.mark.parametrize(
        "criteria",
        [
            [Criterion("no emojis")],
            [Criterion("at most two emojis"), Criterion("at most five emojis")],
            [Criterion("at most two emojis"), Criterion("no emojis")],
            [Criterion("at most two emojis", polarity=Polarity.AVOID)],
        ],
    )
    def test_without_one_limit_nothing_is_kept_to(self, criteria: list[Criterion]) -> None:
        assert [(each.limit, each.kept) for each in self.found(CriteriaSet(tuple(criteria)))] == [("", None)]

    def test_come_weightiest_first_and_each_once(self) -> None:
        criteria = [
            Criterion("uses tables", Weight.OPTIONAL),
            Criterion("at most two sentences", Weight.IMPORTANT),
            Criterion("lots of emojis", Weight.OPTIONAL, Polarity.AVOID),
            Criterion("no emojis"),
        ]

        assert [unit for unit, _ in self.amounts(CriteriaSet(tuple(criteria)))] == [
            "emojis an answer",
            "sentences an answer",
            "tables an answer",
        ]

    def test_of_what_is_not_surely_asked_for_are_not_given(self) -> None:
        assert self.amounts(CriteriaSet.of(["funny", "the hero of the tale is a lighthouse keeper"])) == []
        assert self.amounts(CriteriaSet()) == []
