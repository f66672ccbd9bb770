import numpy as np
import pytest

from crm.embedded.encoder import (
    DIMENSIONS,
    MAX_WINDOWS,
    WINDOW,
    Adaptation,
    attentive_encoder,
    sentence_encoder,
)

SENTENCES = [
    "How do I boil an egg?",
    "Put the egg into boiling water for seven minutes.",
    "The stock market fell sharply today.",
    "",
    "簡潔に答えてください 🎉",
]
LONG = " ".join(f"Chapter {number} tells of the sea." for number in range(200))


def test_embeddings_have_unit_length() -> None:
    encoded = sentence_encoder().encode([*SENTENCES, LONG])

    assert encoded.embedding.shape == encoded.state.shape == (6, DIMENSIONS)
    np.testing.assert_allclose(np.linalg.norm(encoded.embedding, axis=1), 1, rtol=1e-5)
    assert np.isfinite(encoded.state).all()


def test_texts_on_the_same_matter_are_near() -> None:
    egg, boiling, market, *_ = sentence_encoder().embed(SENTENCES)

    assert egg @ boiling > 0.5
    assert egg @ market < 0.2


def test_bulk_hardly_differs_from_full_precision() -> None:
    texts = [*SENTENCES, LONG]
    full, bulk = (sentence_encoder().encode(texts, bulk=bulk) for bulk in (False, True))

    assert ((full.embedding * bulk.embedding).sum(axis=1) > 0.999).all()


def test_a_text_is_embedded_alike_alone_and_in_any_company() -> None:
    texts = [*SENTENCES, LONG, *(f"filler {'word ' * number}" for number in range(12))]
    together = sentence_encoder().encode(texts)
    reversed_order = sentence_encoder().encode(texts[::-1])

    np.testing.assert_allclose(together.embedding, reversed_order.embedding[::-1], atol=1e-5)
    np.testing.assert_allclose(together.state, reversed_order.state[::-1], atol=1e-4)
    for index in (0, 5):
        np.testing.assert_allclose(
            together.embedding[index], sentence_encoder().embed([texts[index]])[0], atol=1e-5
        )


def test_a_long_text_is_read_in_so_many_windows_and_no_more() -> None:
    window = WINDOW - 2
    sea, law, egg = (" ".join([word] * window) for word in ("sea", "law", "egg"))
    some, more, other = sentence_encoder().embed(
        [" ".join([sea] * MAX_WINDOWS), " ".join([sea] * 2 * MAX_WINDOWS), " ".join([sea, law, egg])]
    )

    np.testing.assert_allclose(some, more, atol=1e-5)
    assert some @ other < 0.99


def test_windows_are_spread_from_the_beginning_of_a_text_to_its_end() -> None:
    words = ("sea", "law", "egg", "tax", "owl", "ice")
    parts = [" ".join([word] * (WINDOW - 2)) for word in words]
    text, encoder = " ".join(parts), sentence_encoder()

    states = encoder.encode(parts).state
    for most, read in ((1, [0]), (2, [0, 5]), (3, [0, 2, 5]), (4, [0, 2, 3, 5]), (None, [0, 1, 2, 3, 4, 5])):
        found = encoder.encode(["sea", text], max_windows=most).state[1]
        np.testing.assert_allclose(found, states[read].mean(axis=0), atol=1e-3)
    assert encoder.count_windows([text, "", parts[0]]).tolist() == [6, 1, 1]


def test_a_long_text_is_the_mean_of_its_windows_by_tokens() -> None:
    first, second = " ".join(["sea"] * (WINDOW - 2)), "law and order"
    encoded = sentence_encoder().encode([first, second, f"{first} {second}"])

    tokens = np.array([WINDOW, 5])
    np.testing.assert_allclose(encoded.state[2], tokens @ encoded.state[:2] / tokens.sum(), atol=1e-3)


def test_no_texts_give_no_rows() -> None:
    assert sentence_encoder().encode([]).embedding.shape == (0, DIMENSIONS)


def test_progress_ends_with_all_texts() -> None:
    told: list[tuple[int, int]] = []
    sentence_encoder().encode([*SENTENCES] * 40, progress=lambda done, total: told.append((done, total)))

    assert told[-1] == (200, 200)
    assert told == sorted(told)


def test_a_text_with_half_a_character_is_embedded_all_the_same() -> None:
    broken, whole = sentence_encoder().embed(["boil \ud83d an egg", "boil an egg"])

    assert broken @ whole == pytest.approx(1, abs=0.3)


def test_a_text_is_pooled_by_its_mean_and_by_each_query() -> None:
    queries = np.random.default_rng(0).normal(size=(2, DIMENSIONS)).astype(np.float32)
    encoder = attentive_encoder(Adaptation({}, queries))
    pooled = encoder.pool([*SENTENCES, LONG]).reshape(6, 3, DIMENSIONS)

    np.testing.assert_allclose(np.linalg.norm(pooled, axis=2), 1, rtol=1e-4)
    np.testing.assert_allclose(pooled[:5, 0], sentence_encoder().embed(SENTENCES), atol=1e-4)
    assert (np.abs(pooled[:3, 1] - pooled[:3, 2]).max(axis=1) > 0.01).all()
    np.testing.assert_allclose(encoder.pool([SENTENCES[1]])[0], pooled[1].ravel(), atol=1e-4)
    assert encoder.pool([]).shape == (0, 3 * DIMENSIONS)
    averaging = attentive_encoder(Adaptation({}, queries[:0]))
    np.testing.assert_allclose(averaging.pool(SENTENCES), pooled[:5, 0], atol=1e-4)
