from dataclasses import replace

import numpy as np

from crm.embedded.encoder import DIMENSIONS, sentence_encoder
from crm.embedded.functions import normalised
from crm.embedded.representation import representation
from crm.embedded.token_axes import TOKEN_LAYER, TokenAxes

EPSILON = np.float32(1e-5)
TEXTS = ["Ha! You'll love this one.", "The committee convened in order to deliberate.", "", "Word. " * 400]


def drawn(seed: int = 0, hidden: int = 5, axes: int = 3) -> TokenAxes:
    draw = np.random.default_rng(seed)
    shapes = (DIMENSIONS, hidden), (hidden,), (hidden, axes), (axes,)
    return TokenAxes(*(draw.normal(size=shape).astype(np.float32) for shape in shapes))


def test_rows_have_mean_0_and_variance_1() -> None:
    rows = normalised(np.array([[1, 2, 3, 6], [-5, 0, 0, 5]], dtype=np.float32), EPSILON)
    np.testing.assert_allclose(rows.mean(axis=1), 0, atol=1e-6)
    np.testing.assert_allclose(rows.std(axis=1), 1, rtol=1e-4)


def test_all_of_a_row_alike_stays_finite() -> None:
    assert not normalised(np.ones((1, 4), dtype=np.float32), EPSILON).any()


def test_tokens_are_heard_one_by_one_and_then_averaged() -> None:
    axes, encoder = drawn(), sentence_encoder()
    heard = encoder.encode(TEXTS[:2], listener=axes).heard
    states = encoder.token_states(TEXTS[:2])

    for row, of_text in zip(heard, states, strict=True):
        each = axes.heard(of_text.astype(np.float32))
        assert each.shape == (len(of_text), axes.hidden_size)
        np.testing.assert_allclose(row, each.mean(axis=0), atol=0.03)


def test_one_long_text_is_the_mean_of_all_tokens_of_its_windows() -> None:
    axes, encoder = drawn(), sentence_encoder()
    [whole] = encoder.token_states([TEXTS[3]], max_windows=None)
    [heard] = encoder.encode([TEXTS[3]], max_windows=None, listener=axes).heard

    assert len(whole) > 500
    np.testing.assert_allclose(heard, axes.heard(whole.astype(np.float32)).mean(axis=0), atol=0.03)


def test_bulk_hears_what_full_precision_hears() -> None:
    axes = representation().token_axes
    full, bulk = (sentence_encoder().encode(TEXTS, bulk=bulk, listener=axes) for bulk in (False, True))
    np.testing.assert_allclose(axes.along(full.heard), axes.along(bulk.heard), atol=0.2)


def test_nothing_is_heard_where_nothing_listens() -> None:
    assert sentence_encoder().encode(TEXTS).heard.shape == (len(TEXTS), 0)


def test_order_of_words_is_heard() -> None:
    axes = representation().token_axes
    texts = ["I do not like it, but you do.", "you do not like it, but I do."]
    one, other = axes.along(sentence_encoder().encode(texts, listener=axes).heard)
    assert np.abs(one - other).max() > 0.05


def test_axes_survive_being_stored() -> None:
    axes = drawn()
    again = TokenAxes.from_arrays(axes.arrays())
    for name in ("hidden_weight", "hidden_bias", "output_weight", "output_bias"):
        np.testing.assert_array_equal(getattr(axes, name), getattr(again, name))
    assert again.size == 3


def test_other_axes_make_another_representation() -> None:
    bundled = representation()
    assert replace(bundled, token_axes=drawn()).digest != bundled.digest


def test_states_are_those_of_an_early_layer() -> None:
    encoder = sentence_encoder()
    windows, _ = encoder._windows(TEXTS[:1])
    [states] = encoder.token_states(TEXTS[:1])
    np.testing.assert_allclose(states, encoder._minilm.states(windows)[TOKEN_LAYER], atol=0.1)
