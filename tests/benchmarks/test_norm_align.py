import numpy as np
import pytest

from benchmarks._norm_align import SMALLEST_ROOM, norm_align, ratio_of_sums

# Four people, one context each: room 1, 4, 0 and −1.
BASELINE = np.array([[2.0], [1.0], [2.0], [3.0]])
ORACLE = np.array([[3.0], [5.0], [2.0], [2.0]])
DISCOVERY = np.array([[2.5], [0.0], [1.0], [3.0]])


def test_the_ratio_of_means_counts_everybody_by_their_room() -> None:
    found = norm_align(DISCOVERY, BASELINE, ORACLE).ratio_of_means

    # Gains 0.5 − 1 − 1 + 0 of a room of 1 + 4 + 0 − 1.
    assert found.value == pytest.approx(100 * -1.5 / 4)
    # What each departs by from −0.375 of their room: 0.875, 0.5, −1, −0.375.
    rest = np.array([0.875, 0.5, -1, -0.375])
    assert found.error == pytest.approx(100 * np.sqrt((rest**2).sum() / 12))


def test_the_mean_of_ratios_counts_everybody_alike_who_has_room() -> None:
    found = norm_align(DISCOVERY, BASELINE, ORACLE)

    assert found.mean_of_ratios.value == pytest.approx(100 * (0.5 / 1 - 1 / 4) / 2)
    assert found.mean_of_ratios.error == pytest.approx(100 * 0.375)  # of the two who have one
    assert (found.n_ratios, found.n_left_out) == (2, 2)
    assert found.left_out == "2 of 4"
    assert found.below_zero.value == pytest.approx(50)
    assert found.cells == ("-38 ± 83", "12 ± 74", "50 %")


def test_where_everybody_has_a_ratio_its_error_is_that_of_a_mean() -> None:
    ratios = np.array([0.2, 0.5, 1.0, -0.4, 0.9])
    room = np.array([1.0, 0.5, 2.0, 1.0, 3.0])
    found = norm_align((ratios * room)[:, None], np.zeros((5, 1)), room[:, None]).mean_of_ratios

    assert found.value == pytest.approx(100 * ratios.mean())
    assert found.error == pytest.approx(100 * ratios.std(ddof=1) / np.sqrt(5))


def test_hardly_any_room_makes_no_ratio_but_is_in_the_ratio_of_means() -> None:
    room = np.array([[1.0], [1.0], [SMALLEST_ROOM / 2]])
    gain = np.array([[1.0], [1.0], [-1.0]])
    found = norm_align(gain, np.zeros((3, 1)), room)

    assert found.mean_of_ratios.value == pytest.approx(100)
    assert found.below_zero.value == 0
    assert found.n_left_out == 1
    assert found.ratio_of_means.value == pytest.approx(100 * 1 / (2 + SMALLEST_ROOM / 2))
    at_the_limit = np.array([[SMALLEST_ROOM]])
    assert norm_align(at_the_limit, np.zeros((1, 1)), at_the_limit).n_ratios == 1


def test_contexts_of_one_person_are_no_people_of_their_own() -> None:
    room = np.ones((3, 1))
    gain = np.array([[0.0], [0.5], [1.0]])
    once = norm_align(gain, np.zeros((3, 1)), room)
    copied = [np.repeat(each, 10, axis=1) for each in (gain, np.zeros((3, 1)), room)]
    often = norm_align(*copied)

    for one, other in (
        (once.ratio_of_means, often.ratio_of_means),
        (once.mean_of_ratios, often.mean_of_ratios),
    ):
        assert other.value == pytest.approx(one.value)
        assert other.error == pytest.approx(one.error)


def test_what_was_not_measured_counts_nowhere() -> None:
    discovery = np.array([[1.0, np.nan], [0.5, 0.5]])
    found = norm_align(discovery, np.zeros((2, 2)), np.ones((2, 2)))

    assert found.ratio_of_means.value == pytest.approx(100 * 2 / 3)
    assert found.mean_of_ratios.value == pytest.approx(100 * 2 / 3)
    assert (found.n_ratios, found.n_left_out) == (3, 1)


def test_without_any_room_there_is_no_value() -> None:
    found = norm_align(np.ones((2, 1)), np.ones((2, 1)), np.ones((2, 1)))

    assert np.isnan(found.ratio_of_means.value)
    assert found.cells == ("–", "–", "–")
    assert np.isnan(ratio_of_sums(np.array([1.0]), np.array([2.0]))[1])  # one person has no spread
