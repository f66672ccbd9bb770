import math
from collections import Counter

import numpy as np
import torch

from crm.criteria import CriteriaSet, Criterion
from crm.data.noise import Noise, Noiser
from crm.data.pairs import LabelledPair
from crm.training.classifier.examples import by_pair
from crm.training.classifier.options import Loss
from crm.training.classifier.questions import (
    DrawnQuestions,
    QuestionDrawer,
    all_questions,
)
from crm.training.classifier.trainer import margins, preference_loss
from tests.crm.training.classifier.samples import examples, without_criteria


def _drawn(epoch: int = 0, single_share: float = 0.3, seed: int = 0) -> list[LabelledPair]:
    drawer = QuestionDrawer(Noiser({}, [Criterion("something else")]), Noise.ADD, single_share)
    dataset = DrawnQuestions(by_pair(examples(100)), drawer, lambda asked: asked, seed)
    dataset.set_epoch(epoch)
    assert len(dataset) == 100
    return [asked for index in range(len(dataset)) for asked in dataset[index]]


def _is_right(asked: LabelledPair) -> bool:
    """Whether the label names the response that the criteria ask for."""
    wish = str(asked.question.criteria)
    about_cats = "cats" in wish or "purring" in wish or wish in {"a cat", "Avoid: dogs"}
    cat_first = "cat" in asked.question.pair.response_a
    return (asked.label > 0) == (about_cats == cat_first)


def test_the_label_follows_the_response_that_changes_places() -> None:
    for asked in (*_drawn(), *all_questions(examples(20), seed=0)):
        assert _is_right(asked)
        assert _is_right(asked.swapped())
        assert asked.swapped().label == -asked.label
        assert asked.swapped().swapped() == asked


def test_each_place_and_each_response_is_preferred_equally_often() -> None:
    drawn = [asked for epoch in range(5) for asked in _drawn(epoch)]
    assert abs(np.mean([asked.label > 0 for asked in drawn]) - 0.5) < 0.06
    assert abs(np.mean(["cat" in asked.question.pair.response_a for asked in drawn]) - 0.5) < 0.06


def test_a_pair_is_asked_about_in_both_directions_alike() -> None:
    drawn = _drawn()
    for one, other in zip(drawn[::2], drawn[1::2], strict=True):
        assert one.question.pair == other.question.pair
        assert one.label == -other.label
        assert (one.kind == "list") == (other.kind == "list")


def test_every_epoch_draws_anew_and_the_same_seed_the_same() -> None:
    assert _drawn(epoch=0) == _drawn(epoch=0)
    assert _drawn(epoch=0) != _drawn(epoch=1)
    assert _drawn(seed=0) != _drawn(seed=1)


def test_a_share_of_the_questions_is_about_one_criterion() -> None:
    kinds = Counter(asked.kind for asked in _drawn(single_share=1.0))
    assert set(kinds) == {"criterion", "keyword", "avoid"}
    assert kinds["criterion"] > kinds["keyword"]
    assert Counter(asked.kind for asked in _drawn(single_share=0.0)) == {"list": 200}


def test_lists_are_noised() -> None:
    assert {len(asked.question.criteria) for asked in _drawn(single_share=0.0)} == {3}


def test_a_pair_without_criteria_is_asked_about_without_any() -> None:
    drawer = QuestionDrawer(Noiser({}, [Criterion("something else")]), Noise.RANDOM, single_share=0.5)
    dataset = DrawnQuestions(by_pair(without_criteria(40)), drawer, lambda asked: asked, seed=0)
    drawn = [asked for index in range(40) for asked in dataset[index]]

    assert {(asked.question.criteria, asked.kind) for asked in drawn} == {(CriteriaSet(), "list")}
    assert {asked.label for asked in drawn} == {1.0, -1.0}
    assert all((asked.label > 0) == ("cat" in asked.pair.response_a) for asked in drawn)


def test_evaluation_asks_for_every_list_and_every_criterion() -> None:
    kinds = Counter(asked.kind for asked in all_questions(examples(10), seed=0))
    assert kinds == {"list": 20, "criterion": 40, "keyword": 10, "avoid": 10}


SIGNS = torch.tensor([1.0, -1.0])


def test_the_classification_loss_is_cross_entropy_with_label_0_for_a() -> None:
    logits = torch.tensor([[2.0, -1.0], [0.5, 0.25]])
    expected = torch.nn.functional.cross_entropy(logits, torch.tensor([0, 1]))
    assert torch.isclose(preference_loss(margins(logits, Loss.CLASSIFICATION), SIGNS), expected)


def test_the_ranking_loss_is_that_of_bradley_and_terry() -> None:
    scores = torch.tensor([[3.0], [1.0], [0.5], [2.0]])  # A and B of the first question, then of the second
    margin = margins(scores, Loss.RANKING)
    assert margin.tolist() == [2.0, -1.5]
    expected = (math.log1p(math.exp(-2.0)) + math.log1p(math.exp(-1.5))) / 2
    assert math.isclose(float(preference_loss(margin, SIGNS)), expected, rel_tol=1e-6)


def test_swapping_the_responses_mirrors_the_ranking_margin() -> None:
    scores = torch.randn(10, 1)
    swapped = scores.reshape(-1, 2).flip(1).reshape(-1, 1)
    assert torch.equal(margins(swapped, Loss.RANKING), -margins(scores, Loss.RANKING))
