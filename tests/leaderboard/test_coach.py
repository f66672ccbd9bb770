"""Wishes made testable: broad ones, those that tell nobody apart, and answers that show a difference."""

import numpy as np
import pytest

from benchmarks._counts import COUNTERS
from crm.criteria import CriteriaSet, Criterion, Polarity, Weight
from leaderboard.amounts import MeanAmount
from leaderboard.coach import MOST_WORDS, alike_sentences, example_pair, may_mean, split_broad
from leaderboard.elicitation.library import criterion_library
from leaderboard.ranked import rank_view
from leaderboard.service import Service
from leaderboard.view import View


@pytest.mark.parametrize(
    "wish", ["good", "Better writing", "A very good answer", "high-quality", "Sounds natural!", "great tone"]
)
def test_a_broad_wish_may_mean_something_testable(wish: str) -> None:
    assert len(may_mean(Criterion(wish.replace("-", " ")))) > 3


@pytest.mark.parametrize("item", criterion_library(), ids=lambda item: item.label)
def test_nothing_of_the_library_is_broad(item: object) -> None:
    assert may_mean(item.criterion) == ()  # type: ignore[attr-defined]


@pytest.mark.parametrize("wish", ["Good examples", "short", "friendly tone", "no jokes", "答えは短く", "42"])
def test_a_wish_that_says_what_it_wants_is_left_alone(wish: str) -> None:
    assert may_mean(Criterion(wish)) == ()


def test_the_closest_meaning_goes_first() -> None:
    writing, quality = may_mean(Criterion("better writing")), may_mean(Criterion("better"))

    assert writing == may_mean(Criterion("writing"))
    assert writing != quality


def test_what_is_meant_stands_in_the_place_of_the_broad_wish() -> None:
    broad = Criterion("good writing", Weight.IMPORTANT, Polarity.WANT, ("Gaming",))
    criteria = CriteriaSet((Criterion("Short"), broad, Criterion("Warm")))
    meant = ["Short sentences", "Active voice"]

    found = split_broad(criteria, broad, meant).criteria
    assert [item.text for item in found] == ["Short", *meant, "Warm"]
    assert {(item.weight, item.only_for) for item in found[1:3]} == {(Weight.IMPORTANT, ("Gaming",))}


def test_a_limit_that_all_keep_to_tells_nobody_apart() -> None:
    def limited(kept: float) -> MeanAmount:
        shares = {"ann": 1.0, "bob": kept, "cleo": np.nan}
        return MeanAmount("words an answer", shares, 1.0, -1, "at most 900 words", shares)

    llms = ("ann", "bob", "cleo")
    assert "at most 900 words" in alike_sentences([limited(0.99)], {}, llms)[0]
    assert alike_sentences([limited(0.5)], {}, llms) == ()
    assert alike_sentences([limited(0.99)], {}, ("ann",)) == ()


def test_a_wish_under_which_all_win_alike_tells_nobody_apart() -> None:
    warm = Criterion("Warm")

    [said] = alike_sentences([], {warm: {"ann": 0.5, "bob": 0.54}}, ("ann", "bob"))
    assert said == "All LLMs here are about alike in “Warm”: that tells none apart."
    assert alike_sentences([], {warm: {"ann": 0.5, "bob": 0.6}}, ("ann", "bob")) == ()


def test_the_answer_says_what_all_llms_do(service: Service) -> None:
    view = View("dailybench", criteria=CriteriaSet.of(["at most 5000 words"]))

    said = " ".join(rank_view(service, view).answer.limits)
    assert "All LLMs here give" in said


@pytest.mark.parametrize(
    ("wish", "polarity", "counted"),
    [
        ("Short answers", Polarity.WANT, lambda text: -COUNTERS["words"](text)),
        ("Bullet points", Polarity.WANT, COUNTERS["bullets"]),
        ("Bullet points", Polarity.AVOID, lambda text: -COUNTERS["bullets"](text)),
        ("Asks questions", Polarity.WANT, COUNTERS["questions"]),
        ("Exclamation marks", Polarity.WANT, COUNTERS["exclamations"]),
    ],
)
def test_two_answers_differ_in_the_wish(
    service: Service, wish: str, polarity: Polarity, counted: object
) -> None:
    """Counted in the texts by code that the judge does not share."""
    pair = example_pair(service, "dailybench", Criterion(wish, polarity=polarity))

    assert pair is not None
    assert counted(pair.more) > counted(pair.less)  # type: ignore[operator]
    assert max(len(text.split()) for text in (pair.more, pair.less)) <= 1.2 * MOST_WORDS


def test_where_no_texts_are_stored_examples_are_of_another_benchmark(service: Service) -> None:
    criterion = Criterion("Short answers")

    assert example_pair(service, "alpaca-eval", criterion) == example_pair(service, "dailybench", criterion)
