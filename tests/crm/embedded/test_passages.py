from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crm.embedded.encoder import sentence_encoder
from crm.embedded.passages import MAX_PASSAGES, PassageSpace, passages
from crm.embedded.representation import representation

WEIGHTS = np.array([2.0, 1.0, 0.0], dtype=np.float32)
GUIDE = (
    "Pack light and leave early. Take the train to Kyoto and stay near the river. "
    "Visit the Fushimi Inari shrine at dawn. Eat at the market around noon. Rest in the afternoon."
)


def space() -> PassageSpace:
    return representation().passages


def margins(texts: list[str], wishes: list[str], weights: np.ndarray = WEIGHTS) -> np.ndarray:
    asked = space().asked(sentence_encoder().embed(wishes))
    return space().margins(space().encode(texts), asked, weights)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", [""]),
        ("One sentence only", ["One sentence only"]),
        (
            "It was a dark night. Nobody slept in the house!\n\n- a list of things\n- and another item",
            [
                "It was a dark night.",
                "Nobody slept in the house!",
                "- a list of things",
                "- and another item",
            ],
        ),
        ("No. That is not how it works here.", ["No. That is not how it works here."]),
    ],
)
def test_a_text_is_cut_at_the_ends_of_sentences_and_lines(text: str, expected: list[str]) -> None:
    assert passages(text) == expected


def test_a_long_text_has_passages_of_about_equal_length() -> None:
    text = " ".join(f"This is sentence number {number} of many." for number in range(50))
    lengths = [len(passage.split()) for passage in passages(text)]

    assert len(lengths) == MAX_PASSAGES
    assert max(lengths) <= 2 * min(lengths)


@given(st.lists(st.sampled_from(["A short one.", "Something longer than that!", "x", "\n"]), max_size=60))
def test_nothing_but_blanks_is_lost(pieces: list[str]) -> None:
    text = " ".join(pieces)
    cut = passages(text)

    assert 1 <= len(cut) <= MAX_PASSAGES
    assert " ".join(cut).split() == text.split()


def test_one_sentence_that_meets_a_wish_is_found_in_a_long_text() -> None:
    without = GUIDE.replace("Visit the Fushimi Inari shrine at dawn. ", "Walk around a little at dawn. ")
    [[with_it], [without_it]] = margins([GUIDE, without], ["mentions a famous shrine"])

    assert with_it > without_it


def test_where_fewer_passages_are_their_repetition_changes_no_nearest_one() -> None:
    [once, twice] = space().encode(
        ["The cat sat on the mat.", "The cat sat on the mat. The cat sat on the mat."]
    )

    np.testing.assert_array_equal(once, twice)


def test_what_is_nearest_is_no_less_than_soft_maximum_and_mean() -> None:
    stored = np.random.default_rng(0).integers(-127, 128, (7, MAX_PASSAGES, space().size)).astype(np.int8)
    asked = np.random.default_rng(1).normal(size=(3, space().size)).astype(np.float32) / 10
    nearest, softly, mean = space().likenesses(stored, asked)

    assert nearest.shape == (7, 3)
    assert (nearest >= softly - 1e-5).all()
    assert (softly >= mean - 1e-4).all()
    np.testing.assert_allclose(
        space().margins(stored, asked, WEIGHTS), 2 * nearest + softly, rtol=1e-4, atol=1e-4
    )


def test_many_responses_are_judged_as_one_by_one() -> None:
    stored = (
        np.random.default_rng(0).integers(-127, 128, (50, 50, MAX_PASSAGES, space().size)).astype(np.int8)
    )
    asked = np.random.default_rng(1).normal(size=(2, space().size)).astype(np.float32) / 10
    together = space().margins(stored, asked, WEIGHTS)

    assert together.shape == (50, 50, 2)
    np.testing.assert_allclose(together[49, 3], space().margins(stored[49, 3], asked, WEIGHTS), rtol=1e-5)


def test_scaling_the_axes_changes_no_similarity() -> None:
    embedding = sentence_encoder().embed([*passages(GUIDE), "Something else entirely."])
    fitted = space()
    stretched = replace(
        fitted,
        projection=fitted.projection * np.float32(7),
        queries=fitted.queries / np.float32(7),
        output_weight=fitted.output_weight / np.float32(7),
        output_bias=fitted.output_bias / np.float32(7),
    ).of_unit_spread(embedding)
    along = (embedding - stretched.mean) @ stretched.projection
    asked = sentence_encoder().embed(["mentions a famous shrine"])

    np.testing.assert_allclose(along.std(axis=0), 1, rtol=1e-4)
    np.testing.assert_allclose(
        along @ stretched.asked(asked).T,
        (embedding - fitted.mean) @ fitted.projection @ fitted.asked(asked).T,
        rtol=1e-3,
        atol=1e-4,
    )
