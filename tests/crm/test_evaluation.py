import numpy as np
import pytest

from crm.criteria import CriteriaSet
from crm.dataset import JudgedPair
from crm.evaluation import calibration_error, evaluate
from crm.protocol import Pair, Question
from tests.crm.samples import KnownVerdicts


def case(verdict: str, label: float, kind: str = "list") -> JudgedPair:
    """A pair on which the judge gives the verdict written out."""
    return JudgedPair(verdict, Question(CriteriaSet.of(["a wish"]), Pair(verdict, "a", "b")), label, kind)


def accuracy_of(cases: list[JudgedPair]) -> dict[str, tuple[int, float]]:
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
