from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest

from crm.baselines import LongerCRM
from crm.criteria import CriteriaSet
from crm.data.pairs import LabelledPair
from crm.errors import CRMError
from crm.evaluation.metrics import calibration_error
from crm.evaluation.run import evaluate, evaluate_judge
from crm.evaluation.sets import TABLE, EvaluationSets, Subset
from crm.llm.chat_model import Usage
from crm.protocol import JudgedBenchmark, Pair, Question, ScoreBlock, Verdict
from tests.crm.evaluation.samples import small_sets
from tests.crm.samples import KnownVerdicts


def case(verdict: str, label: float, kind: str = "list") -> LabelledPair:
    """A pair on which the judge gives the verdict written out."""
    return LabelledPair(Pair(verdict, "a", "b"), CriteriaSet.of(["a wish"]), label, kind)


def accuracy_of(cases: list[LabelledPair]) -> dict[str, tuple[int, float]]:
    result = evaluate(KnownVerdicts(), cases)
    return {accuracy.subset: (accuracy.n, accuracy.value) for accuracy in result.accuracies}


def test_a_verdict_is_right_when_it_is_on_the_side_of_the_label() -> None:
    cases = [case("0.9 0.9", 1), case("0.2 0.1", -1), case("0.6 0.7", -1), case("0.51 0.4", 1)]

    assert accuracy_of(cases) == {"criteria list": (4, 0.75), "criterion": (4, 0.5)}


def test_an_undecided_verdict_counts_half() -> None:
    assert accuracy_of([case("0.5 0.5", 1), case("0.9 0.5", 1)]) == {
        "criteria list": (2, 0.75),
        "criterion": (2, 0.5),
    }


def test_ties_are_left_out() -> None:
    assert accuracy_of([case("0.9 0.9", 0), case("0.9 0.9", 1)])["criteria list"] == (1, 1.0)
    assert evaluate(KnownVerdicts(), [case("0.9 0.9", 0)]).accuracies == ()


def test_single_extra_criteria_are_counted_by_their_kind() -> None:
    cases = [case("0.9 0.9", 1), case("0.9 0.9", -1, "avoid"), case("0.9 0.9", 1, "keyword")]

    assert accuracy_of(cases) == {
        "criteria list": (1, 1.0),
        "criterion": (1, 1.0),
        "avoid": (1, 0.0),
        "keyword": (1, 1.0),
    }


def test_lists_without_criteria_have_no_accuracy_by_criterion() -> None:
    assert accuracy_of([case("0.9", 1)]) == {"criteria list": (1, 1.0)}


@pytest.mark.parametrize(
    ("right", "wrong", "low", "high"), [(8, 2, 0.4902, 0.9433), (10, 0, 0.7225, 1.0), (0, 5, 0.0, 0.4345)]
)
def test_the_interval_is_wilsons(right: int, wrong: int, low: float, high: float) -> None:
    [accuracy, _] = evaluate(
        KnownVerdicts(), [case("0.9 0.9", 1)] * right + [case("0.9 0.9", -1)] * wrong
    ).accuracies

    assert accuracy.value == right / (right + wrong)
    assert (accuracy.low, accuracy.high) == (pytest.approx(low, abs=1e-4), pytest.approx(high, abs=1e-4))


def test_the_result_names_the_judge_and_its_calibration_over_lists() -> None:
    result = evaluate(
        KnownVerdicts(), [case("0.75 0.1", 1), case("0.75 0.1", -1), case("0.1 0.1", 1, "avoid")]
    )

    assert result.crm == "known"
    assert result.calibration_error == pytest.approx(0.25)


class TestCalibrationError:
    def test_is_none_for_probabilities_that_come_true(self) -> None:
        prob = np.repeat([0.25, 0.75], 4)
        won = np.array([1, 0, 0, 0, 1, 1, 1, 0], dtype=bool)

        assert calibration_error(prob, won) == pytest.approx(0)
        assert calibration_error(np.array([0.0, 1.0]), np.array([False, True])) == 0

    def test_is_the_gap_of_one_constant_probability(self) -> None:
        assert calibration_error(np.full(10, 0.9), np.arange(10) < 6) == pytest.approx(0.3)

    def test_weighs_bins_by_their_size(self) -> None:
        prob, won = np.array([0.95, 0.15, 0.15, 0.15]), np.array([False, False, False, False])

        assert calibration_error(prob, won) == pytest.approx(0.95 / 4 + 0.15 * 3 / 4)

    def test_of_nothing_is_unknown(self) -> None:
        assert np.isnan(calibration_error(np.array([]), np.array([], dtype=bool)))


@dataclass
class Reader:
    """Prefers reports where depth or facts are asked for, poems otherwise; leans to the first place."""

    lean: float = 0.0
    cost: float = 0.0
    name: str = "reader"
    version: str = "3"
    representation: str | None = None
    asked: int = 0
    queries: set[str] = field(default_factory=set)

    def judge(self, questions: Sequence[Question]) -> list[Verdict]:
        self.asked += len(questions)
        self.queries |= {question.pair.query for question in questions}
        return [Verdict(min(1.0, self._prob(question) + self.lean), ()) for question in questions]

    def score(self, criteria: CriteriaSet, benchmark: JudgedBenchmark) -> Iterator[ScoreBlock]:
        raise NotImplementedError

    def usage(self) -> Usage:
        return Usage(cost=self.cost * self.asked)

    def _prob(self, question: Question) -> float:
        deep = ("detailed", "thorough", "deep", "in depth", "dates", "sources")
        wishes = [item.text in deep for item in question.criteria]
        return (
            0.9 if (2 * sum(wishes) > len(wishes)) == question.pair.response_a.startswith("A report") else 0.1
        )


@pytest.fixture
def data(tmp_path: Path) -> EvaluationSets:
    return small_sets(tmp_path / "sets")


def test_a_judge_that_reads_the_criteria_is_right_everywhere(data: EvaluationSets) -> None:
    result = evaluate_judge(Reader(), data)

    assert (result.judge, result.version, result.data) == ("reader", "3", data.manifest.digest)
    assert [result.average(kind) for kind in TABLE] == [1.0, 1.0]
    assert [result.gap(kind) for kind in TABLE] == [0.0, 0.0]
    assert result.position.mean_gap == pytest.approx(0)
    assert result.position.n == 16
    assert result.calibration_error == pytest.approx(0.1)
    assert result.accuracies["criterion"].n == 56


def test_the_longer_answer_is_right_on_plus_and_wrong_on_minus(data: EvaluationSets) -> None:
    result = evaluate_judge(LongerCRM(), data)

    assert {result.accuracies[names[0]].value for names in TABLE.values()} == {1.0}
    assert {result.accuracies[name].value for names in TABLE.values() for name in names[1:]} == {0.0}
    assert [result.gap(kind) for kind in TABLE] == [1.0, 1.0]
    assert result.length is not None
    assert result.length.correlation > 0.9


def test_a_lean_to_the_first_place_is_found(data: EvaluationSets) -> None:
    position = evaluate_judge(Reader(lean=0.45), data).position

    assert position.flipped == 1.0
    assert position.first_place == 1.0
    assert position.mean_gap == pytest.approx(0.55)


def test_every_question_is_answered_once_and_counted(data: EvaluationSets) -> None:
    told: list[tuple[int, int]] = []
    judge = Reader()
    evaluate_judge(judge, data, progress=lambda done, total: told.append((done, total)))
    questions = sum(map(len, data.sets.values())) + 16

    assert told[-1] == (questions, questions)
    assert judge.asked == questions + 1  # the first one, which loads the judge, is not timed


def test_held_out_criteria_may_be_left_to_a_judge_trained_without_them(data: EvaluationSets) -> None:
    result = evaluate_judge(Reader(), data, held_out_judge=LongerCRM())

    assert result.held_out_judge == "longer 1"
    assert result.average("topic") == 1.0
    assert result.gap("criterion") == 1.0
    assert result.accuracies["keyword"].value == 0.5


class TestDrawing:
    def test_takes_the_same_pairs_from_every_set(self, data: EvaluationSets) -> None:
        judge = Reader()
        result = evaluate_judge(judge, data, limit=5)

        assert {result.accuracies[name].n for names in TABLE.values() for name in names} == {5}
        assert (result.limit, result.seed, result.position.n) == (5, 0, 10)
        assert judge.asked == 1 + 10 * 5 + 3 * 5 + 10

    def test_another_seed_takes_others(self, data: EvaluationSets) -> None:
        queries = []
        for seed in (0, 0, 1):
            judge = Reader()
            evaluate_judge(judge, data, limit=4, seed=seed)
            queries.append(judge.queries)

        assert queries[0] == queries[1] != queries[2]


class TestCost:
    def test_is_the_judges_own_account(self, data: EvaluationSets) -> None:
        assert evaluate_judge(Reader(cost=0.002), data, price_per_hour=9.0).speed.cost_per_1000 == (
            pytest.approx(2.0)
        )

    def test_is_else_that_of_the_machine(self, data: EvaluationSets) -> None:
        speed = evaluate_judge(LongerCRM(), data, price_per_hour=3600.0).speed

        assert speed.pairs == 8
        assert speed.cost_per_1000 == pytest.approx(speed.seconds_per_1000)

    def test_is_else_unknown(self, data: EvaluationSets) -> None:
        assert evaluate_judge(LongerCRM(), data).speed.cost_per_1000 is None


def test_sets_without_new_topics_are_refused(data: EvaluationSets) -> None:
    empty = replace(data, sets={**data.sets, Subset.TOPIC_PLUS: []})
    with pytest.raises(CRMError, match="no question on new topics"):
        evaluate_judge(LongerCRM(), empty)
