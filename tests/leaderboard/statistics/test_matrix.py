import numpy as np
import pytest

from crm.protocol import ScoreBlock
from leaderboard.errors import ProbabilityError
from leaderboard.statistics.matrix import ScoreMatrix
from tests.db.samples import score_row

ANSWERED = np.array([[True, True, True, False], [True, False, True, False]])
ALL = np.ones(4, dtype=bool)
NAN = np.nan


def block(queries: list[int], prob: list[list[float]]) -> ScoreBlock:
    return ScoreBlock(np.arange(2), np.array(queries), np.array(prob, dtype=np.float32))


def test_a_missing_response_is_told_from_one_that_waits() -> None:
    empty = ScoreMatrix.empty(ANSWERED)
    matrix = empty.with_block(block([2, 1, 3], [[0.25, 0.5, NAN], [1, NAN, NAN]]))

    np.testing.assert_array_equal(matrix.prob, [[NAN, 0.5, 0.25, NAN], [NAN, NAN, 1, NAN]])
    assert matrix.todo.tolist() == [[True, False, False, False], [True, False, False, False]]
    assert (matrix.count(ALL), empty.count(ALL)) == ((3, 5), (0, 5))
    assert empty.n_judged == 0


def test_an_undecided_judge_is_not_asked_again() -> None:
    matrix = ScoreMatrix.empty(ANSWERED).with_block(block([0], [[NAN], [0.5]]))

    assert not matrix.todo[:, 0].any()
    assert np.isnan(matrix.prob[0, 0])


def test_what_is_judged_stays() -> None:
    first = ScoreMatrix.empty(ANSWERED).with_block(block([0], [[0.25], [0.5]]))
    second = first.with_block(block([0, 2], [[1, 1], [1, 1]]))

    assert second.prob[:, 0].tolist() == [0.25, 0.5]
    assert second.prob[:, 2].tolist() == [1, 1]
    assert np.isnan(first.prob[:, 2]).all()


def test_llms_are_compared_on_queries_judged_for_all_who_answered() -> None:
    matrix = ScoreMatrix.empty(ANSWERED)
    matrix = matrix.with_block(ScoreBlock(np.array([0]), np.array([0, 1]), np.ones((1, 2), np.float32)))
    assert matrix.comparable(ALL).tolist() == [False, True, False, False]
    matrix = matrix.with_block(block([0, 2, 3], [[1, 1, NAN]] * 2))

    assert matrix.comparable(ALL).tolist() == [True, True, True, False]
    assert matrix.comparable(np.arange(4) == 2).tolist() == [False, False, True, False]


def test_stored_rows_are_taken_over_and_given_back() -> None:
    rows = {"b": score_row(0.5, None, 0.25, None)}
    matrix = ScoreMatrix.empty(ANSWERED).with_rows(("a", "b"), rows)

    assert matrix.judged.tolist() == [[False] * 4, [True, False, True, False]]
    back = matrix.rows(("a", "b"))["b"]
    np.testing.assert_array_equal(back.prob, rows["b"].prob)
    np.testing.assert_array_equal(back.judged, rows["b"].judged)


@pytest.mark.parametrize("value", [3.2, -0.1, np.inf])
def test_a_number_that_is_no_probability_is_refused(value: float) -> None:
    with pytest.raises(ProbabilityError, match=r"probability (3\.2|-0\.1|inf), which is not between 0 and 1"):
        ScoreMatrix.empty(ANSWERED).with_block(block([0], [[0.5], [value]]))
