import numpy as np
import pytest

from crm.training.styles import StyleComparisons, StyleOptions, fit_styles, widening

OPTIONS = StyleOptions(steps=400, fits=2, axes=4, shared=1.0, own=1.0, learning_rate=0.03)
PAIRS, SIZE, STYLES = 600, 20, 5


@pytest.fixture(scope="module")
def data() -> tuple[StyleComparisons, np.ndarray]:
    draw = np.random.default_rng(0)
    true = draw.normal(size=(STYLES, SIZE)).astype(np.float32)
    difference = draw.normal(size=(PAIRS, SIZE)).astype(np.float32) * draw.uniform(0.5, 3.0, SIZE)
    difference = difference.astype(np.float32)
    said = np.sign(difference @ true.T).astype(np.int8)
    said[draw.random(said.shape) < 0.5] = 0
    said[:, -1] = 0
    return StyleComparisons(difference, said), true


def test_directions_come_nearer_to_what_was_said_and_hold_on_other_pairs(
    data: tuple[StyleComparisons, np.ndarray],
) -> None:
    compared, true = data
    start = np.roll(true, 1, axis=0)
    fitted = fit_styles(start, compared, OPTIONS)
    other = np.random.default_rng(1).normal(size=(400, SIZE)).astype(np.float32)
    unseen = StyleComparisons(other, np.sign(other @ true.T).astype(np.int8) * (np.arange(STYLES) < 4))

    assert compared.right(start) < 0.7
    assert unseen.right(start) < 0.7
    assert compared.right(fitted) > 0.93
    assert unseen.right(fitted) > 0.88


def test_a_style_that_nobody_named_stays_as_it_was(data: tuple[StyleComparisons, np.ndarray]) -> None:
    compared, true = data
    fitted = fit_styles(true, compared, OPTIONS)
    np.testing.assert_allclose(fitted[-1], true[-1], rtol=1e-5)


def test_the_same_seed_gives_the_same_directions(data: tuple[StyleComparisons, np.ndarray]) -> None:
    compared, true = data
    one, other = (fit_styles(-true, compared, OPTIONS) for _ in range(2))
    np.testing.assert_array_equal(one, other)
    elsewhere = fit_styles(-true, compared, StyleOptions(**(vars(OPTIONS) | {"seed": 7})))
    assert np.abs(elsewhere - one).max() > 0


def test_a_heavier_penalty_keeps_nearer_to_the_start(data: tuple[StyleComparisons, np.ndarray]) -> None:
    compared, true = data
    light, heavy = (
        np.abs(fit_styles(-true, compared, StyleOptions(**(vars(OPTIONS) | penalty))) + true).mean()
        for penalty in ({}, {"shared": 1e5, "own": 1e5})
    )
    assert heavy < light / 5


def test_every_fit_is_reported(data: tuple[StyleComparisons, np.ndarray]) -> None:
    reported: list[tuple[int, int]] = []
    fit_styles(data[1], data[0], StyleOptions(steps=2, fits=3), lambda *done: reported.append(done))
    assert reported == [(1, 3), (2, 3), (3, 3)]


def test_what_attacks_gain_is_held(data: tuple[StyleComparisons, np.ndarray]) -> None:
    compared, true = data
    attacks = 10 * np.random.default_rng(2).normal(size=(3, SIZE)).astype(np.float32)
    held = StyleComparisons(compared.difference, compared.said, attacks)
    start = np.roll(true, 1, axis=0)
    gained, kept = (
        np.abs(attacks @ (fit_styles(start, each, OPTIONS) - start).T).mean() for each in (compared, held)
    )
    assert kept < gained / 10
    assert held.right(fit_styles(start, held, OPTIONS)) > 0.8


def test_a_feature_that_never_varies_gets_no_weight(data: tuple[StyleComparisons, np.ndarray]) -> None:
    compared, true = data
    difference = compared.difference.copy()
    difference[:, 0] = 0.0
    fitted = fit_styles(true, StyleComparisons(difference, compared.said), OPTIONS)
    np.testing.assert_allclose(fitted[:, 0], true[:, 0], atol=0.05)


def test_what_becomes_wider_is_told(data: tuple[StyleComparisons, np.ndarray]) -> None:
    compared, true = data
    assert widening(3 * true, true, compared.difference) == pytest.approx(3)
    assert widening(3 * np.roll(true, 1, axis=0), true, compared.difference) == pytest.approx(3)
