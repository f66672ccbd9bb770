import threading
import time
from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from scipy.special import expit, logit

from crm.backends._text_judge import TextJudge, TextJudgeSettings, in_parallel
from crm.criteria import CriteriaSet, Criterion, Polarity, Weight
from crm.protocol import CRM, Floats, Pair, Question


class Biased(TextJudge):
    """Prefers what contains a criterion's text, shuns what contains one to avoid, and leans to the first."""

    def __init__(self, **keys: object) -> None:
        super().__init__("biased", "1", TextJudgeSettings(**keys))  # type: ignore[arg-type]
        self.asked: list[Question] = []

    def prob_a(self, questions: Sequence[Question]) -> Floats:
        self.asked += questions
        return np.array([expit(0.5 + _margin(question)) for question in questions], dtype=np.float32)


def _margin(question: Question) -> float:
    pair = question.pair
    return sum(
        criterion.polarity.sign * ((criterion.text in pair.response_a) - (criterion.text in pair.response_b))
        for criterion in question.criteria
    )


TEA = Criterion("tea")
NO_MILK = Criterion("milk", Weight.OPTIONAL, Polarity.AVOID)
PAIR = Pair("q", "tea", "milk")


def test_a_list_is_one_question() -> None:
    judge = Biased()
    [verdict] = judge.judge([Question(CriteriaSet((TEA, NO_MILK)), PAIR)])

    assert isinstance(judge, CRM)
    assert verdict.prob_a == pytest.approx(expit(2.5))
    assert verdict.per_criterion == ()
    assert len(judge.asked) == 1


def test_both_orders_average_to_a_judge_without_position_bias() -> None:
    question = Question(CriteriaSet((TEA,)), PAIR)
    mirrored = Question(CriteriaSet((TEA,)), Pair("q", "milk", "tea"))
    one_order, both = Biased(), Biased(order_swap=True)
    first, second = (verdict.prob_a for verdict in one_order.judge([question, mirrored]))
    third, fourth = (verdict.prob_a for verdict in both.judge([question, mirrored]))

    assert first + second > 1.1
    assert third + fourth == pytest.approx(1)
    assert third == pytest.approx((first + 1 - second) / 2)


def test_single_criteria_are_judged_where_a_report_wants_them() -> None:
    judge = Biased(per_criterion=True)
    [verdict] = judge.judge([Question(CriteriaSet((TEA, NO_MILK)), PAIR)])

    assert verdict.per_criterion == pytest.approx((expit(1.5), expit(1.5)))
    assert verdict.prob_a == pytest.approx(expit(2.5))
    assert [len(question.criteria) for question in judge.asked] == [2, 1, 1]


def test_criteria_asked_alone_are_summed_with_their_weights() -> None:
    judge = Biased(mode="criterion", order_swap=True)
    [verdict, without] = judge.judge(
        [Question(CriteriaSet((TEA, NO_MILK)), PAIR), Question(CriteriaSet(), PAIR)]
    )
    tea, no_milk = verdict.per_criterion

    assert tea > 0.5
    assert no_milk > 0.5
    assert logit(verdict.prob_a) == pytest.approx(logit(tea) + 0.3 * logit(no_milk), rel=1e-5)
    assert without.per_criterion == ()
    assert without.prob_a == pytest.approx(0.5)


def test_what_occurs_twice_is_asked_once() -> None:
    judge = Biased(per_criterion=True)
    verdicts = judge.judge([Question(CriteriaSet((TEA,)), PAIR)] * 3)

    assert len(judge.asked) == 1
    assert {verdict.per_criterion for verdict in verdicts} == {(verdicts[0].prob_a,)}
    assert judge.judge([]) == []


def test_one_criterion_that_is_certain_does_not_outweigh_all() -> None:
    class Certain(Biased):
        def prob_a(self, questions: Sequence[Question]) -> Floats:
            return np.array([float(_margin(question) > 0) for question in questions], dtype=np.float32)

    wishes = CriteriaSet.of(["tea"], ["tea"])
    [verdict] = Certain(mode="criterion").judge([Question(wishes, PAIR)])

    assert verdict.per_criterion == (1.0, 0.0)
    assert verdict.prob_a == pytest.approx(0.5)


class TestInParallel:
    """What judges behind a server ask with."""

    def test_the_results_stand_in_the_items_order_whichever_is_ready_first(self) -> None:
        def ready_late(item: int) -> int:
            time.sleep(0.01 * (5 - item))
            return item * item

        assert in_parallel(ready_late, range(5), 3) == [0, 1, 4, 9, 16]
        assert in_parallel(ready_late, [], 3) == []

    def test_no_more_is_taken_than_workers_are_free(self) -> None:
        lock, answered, waiting = threading.Lock(), 0, []

        def items() -> Iterator[int]:
            for taken in range(30):
                with lock:
                    waiting.append(taken - answered)
                yield taken

        def answer(item: int) -> int:
            nonlocal answered
            time.sleep(0.001 * (item % 3))
            with lock:
                answered += 1
            return item

        assert in_parallel(answer, items(), 4) == list(range(30))
        assert max(waiting) <= 4

    def test_an_error_is_noticed_while_an_earlier_item_is_under_way(self) -> None:
        started: list[int] = []

        def answer(item: int) -> int:
            started.append(item)
            if item == 1:
                raise ValueError("no answer")
            time.sleep(0.2 if item == 0 else 0)
            return item

        with pytest.raises(ValueError, match="no answer"):
            in_parallel(answer, range(50), 2)
        assert started == [0, 1]
