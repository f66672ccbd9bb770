from dataclasses import replace

import numpy as np
import pytest

from crm.embedded.encoder import DIMENSIONS
from crm.embedded.representation import representation
from crm.embedded.token_axes import TokenAxes
from crm.training.token_axes import (
    HeardVerdicts,
    TokenAxesOptions,
    TokenStates,
    fit_token_axes,
    of_unit_spread,
    without_axes,
)

OPTIONS = TokenAxesOptions(
    hidden=16, axes=2, tokens=24, epochs=30, batch=32, dropout=0.0, token_dropout=0.0, learning_rate=5e-3
)
RESPONSES, FEATURES, STYLES = 240, 6, 3


def compared(seed: int) -> HeardVerdicts:
    """Responses of which style 0 is how many of their tokens are of one sort, which no feature says, and
    style 1 the first feature; of style 2 nobody speaks."""
    sorts = np.random.default_rng(0).normal(size=(2, DIMENSIONS)) * 2
    draw = np.random.default_rng(seed + 1)
    share = draw.uniform(0, 1, RESPONSES)
    states = [
        (sorts[(draw.random(length) < of_sort).astype(int)] + draw.normal(size=(length, DIMENSIONS))).astype(
            np.float16
        )
        for of_sort, length in zip(share, draw.integers(10, 60, RESPONSES), strict=True)
    ]
    features = draw.normal(size=(RESPONSES, FEATURES)).astype(np.float32)
    pairs = draw.integers(0, RESPONSES, (500, 2))
    score = np.stack([share * 4, features[:, 0], share * 0], axis=1)
    said = np.sign(score[pairs[:, 0]] - score[pairs[:, 1]]).astype(np.int8)
    return HeardVerdicts(TokenStates(states), features, pairs, said)


@pytest.fixture(scope="module")
def data() -> HeardVerdicts:
    return compared(0)


@pytest.fixture(scope="module")
def fitted(data: HeardVerdicts) -> TokenAxes:
    return fit_token_axes(np.zeros((STYLES, FEATURES), np.float32), data, OPTIONS)


def _along(axes: TokenAxes, data: HeardVerdicts) -> np.ndarray:
    heard = [axes.heard(states.astype(np.float32)).mean(axis=0) for states in data.states.whole()]
    return axes.along(np.stack(heard))


def test_what_no_feature_says_is_heard_in_other_responses_too(fitted: TokenAxes) -> None:
    unseen = compared(1)
    along = _along(fitted, unseen)
    differs = along[unseen.pairs[:, 0]] - along[unseen.pairs[:, 1]]
    right = []
    for said in unseen.said.T[:2].astype(float):
        weights, *_ = np.linalg.lstsq(differs, said, rcond=None)
        right.append((np.sign(differs @ weights) == said).mean())
    assert right[0] > 0.85
    assert right[1] < 0.65


def test_axes_have_unit_spread(data: HeardVerdicts, fitted: TokenAxes) -> None:
    along = _along(fitted, data)
    np.testing.assert_allclose(along.mean(axis=0), 0, atol=1e-3)
    np.testing.assert_allclose(along.std(axis=0), 1, atol=1e-3)
    again = of_unit_spread(fitted, data.states)
    np.testing.assert_allclose(again.output_weight, fitted.output_weight, rtol=1e-3, atol=1e-4)


def test_the_same_seed_gives_the_same_axes(data: HeardVerdicts) -> None:
    short = replace(OPTIONS, epochs=2)
    start = np.zeros((STYLES, FEATURES), np.float32)
    one, same, other = (fit_token_axes(start, data, replace(short, seed=seed)) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one.output_weight, same.output_weight)
    assert np.abs(one.output_weight - other.output_weight).max() > 0


def test_every_step_is_reported(data: HeardVerdicts) -> None:
    reported: list[tuple[int, int]] = []
    start = np.zeros((STYLES, FEATURES), np.float32)
    fit_token_axes(start, data, replace(OPTIONS, epochs=1), lambda *step: reported.append(step))
    assert reported == [(step, 15) for step in range(1, 16)]


def test_of_long_responses_two_places_are_drawn_and_short_ones_are_whole() -> None:
    long = np.arange(1, 101, dtype=np.float16)[:, None].repeat(DIMENSIONS, axis=1)
    states = TokenStates([long, long[:3], long[:0]])
    drawn, there = states.drawn(np.array([0, 1, 2]), 10, np.random.default_rng(0))

    assert drawn.shape == (3, 10, DIMENSIONS)
    np.testing.assert_array_equal(there.sum(axis=1), [10, 3, 1])
    tokens = drawn[0, :, 0]
    np.testing.assert_array_equal(np.diff(tokens[:5]), 1)
    np.testing.assert_array_equal(np.diff(tokens[5:]), 1)
    np.testing.assert_array_equal(drawn[1, :, 0], [1, 2, 3, *[0] * 7])
    assert not drawn[2].any()


def test_weights_go_by_other_axes_only_after_they_are_fitted() -> None:
    before = representation()
    fewer = replace(before, token_axes=replace_axes(before.token_axes, 4))
    arrays = {
        "general": np.ones(before.size, np.float32),
        "guard_hidden_weight": np.ones((before.size, 3), np.float32),
        "concept_directions": np.ones((5, before.size), np.float16),
        "passage_weights": np.ones(3, np.float32),
    }
    changed = without_axes(arrays, before, fewer)

    assert str(changed["representation_digest"]) == fewer.digest != before.digest
    assert changed["general"].shape == (fewer.size,)
    assert changed["guard_hidden_weight"].shape == (fewer.size, 3)
    assert changed["concept_directions"].shape == (5, fewer.size)
    assert "passage_weights" not in changed
    for name in ("general", "guard_hidden_weight"):
        assert not changed[name][fewer.manner].any()
        assert (changed[name][: fewer.manner.start] == 1).all()
    assert not changed["concept_directions"][:, fewer.manner].any()


def replace_axes(axes: TokenAxes, count: int) -> TokenAxes:
    return TokenAxes(
        *(axes.hidden_weight, axes.hidden_bias),
        *(axes.output_weight[:, :count], axes.output_bias[:count]),
    )
