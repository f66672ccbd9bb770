from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit

from crm.criteria import CriteriaSet
from crm.data.pairs import Directions, LabelledPair
from crm.embedded.encoder import sentence_encoder
from crm.embedded.model import members_of
from crm.embedded.passages import MAX_PASSAGES
from crm.embedded.representation import load_arrays
from crm.paths import EMBEDDED_FILE
from crm.protocol import Pair
from crm.training.passages import (
    PassageData,
    PassageEmbeddings,
    PassageOptions,
    fit_space,
    mixed,
    weights_with,
)

SMALL = PassageOptions(size=16, hidden=16, epochs=3, batch=16)
PLACES = (
    "Kyoto",
    "Lima",
    "Oslo",
    "Cairo",
    "Perth",
    "Quito",
    "Accra",
    "Hanoi",
    "Riga",
    "Baku",
    "Turin",
    "Leeds",
)
FILLER = "It was a long day. We talked about nothing in particular. Then the weather changed for the worse."


def directions(one: str, other: str) -> Directions:
    pair = Pair("Tell me of your journey.", f"{FILLER} We saw {one}.", f"{FILLER} We saw {other}.")
    first = CriteriaSet.of([f"mentions {one}"]), CriteriaSet.of([f"mentions {other}"])
    return LabelledPair(pair, first[0], 1), LabelledPair(pair, first[1], -1)


@pytest.fixture(scope="module")
def data() -> PassageData:
    pairs = [directions(one, other) for one in PLACES for other in PLACES if one < other]
    return PassageData.of(pairs, PassageEmbeddings())


def test_a_fitted_space_tells_which_response_mentions_what(data: PassageData) -> None:
    space = fit_space(data, SMALL)
    nearest = data.likeness(space)[:, 0]

    assert space.size == 16
    assert np.mean(nearest * data.sign > 0) > 0.95
    along = (data.embedding.astype(np.float32) - space.mean) @ space.projection
    np.testing.assert_allclose(along.std(axis=0), 1, rtol=1e-3)


def test_the_same_seed_gives_the_same_space(data: PassageData) -> None:
    first, second = fit_space(data, SMALL), fit_space(data, SMALL)

    np.testing.assert_array_equal(first.projection, second.projection)


def test_swapping_the_responses_mirrors_their_likenesses(data: PassageData) -> None:
    space = fit_space(data, SMALL)
    swapped = PassageData(
        *(data.embedding, data.sides[:, ::-1], data.criteria, data.criterion, data.pair, data.sign)
    )

    np.testing.assert_allclose(swapped.likeness(space), -data.likeness(space), atol=1e-5)


def test_passages_are_embedded_once_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [FILLER, "Another text."]
    first, rows = PassageEmbeddings(tmp_path / "kept.npz")(texts)
    monkeypatch.setattr("crm.training.passages.sentence_encoder", lambda: pytest.fail("embedded again"))
    second, same_rows = PassageEmbeddings(tmp_path / "kept.npz")(texts)

    assert rows.shape == (2, MAX_PASSAGES)
    np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(rows, same_rows)
    monkeypatch.undo()
    expected = sentence_encoder().encode(["Another text."], bulk=True).embedding[0]
    np.testing.assert_allclose(first[rows[1, 0]], expected, atol=2e-3)


def test_how_much_each_part_counts_is_found_from_what_people_chose() -> None:
    generator = np.random.default_rng(0)
    read, by_members = generator.normal(size=(2, 20_000))
    likeness = generator.normal(size=(20_000, 3)) / 10
    margins = read + 0.5 * by_members + likeness @ [8, 4, -2]
    sign = np.where(generator.uniform(size=20_000) < expit(margins), 1.0, -1.0)
    share, weights = mixed(*(each.astype(np.float32) for each in (read, by_members, likeness, sign)))

    assert share == pytest.approx(0.5, abs=0.1)
    np.testing.assert_allclose(weights, [8, 4, -2], atol=1)


def test_members_are_scaled_and_the_rest_of_the_weights_stays() -> None:
    arrays = load_arrays(EMBEDDED_FILE)
    weights = np.array([1, 2, 3], dtype=np.float32)
    joined = weights_with(arrays, 0.5, weights)

    for before, after in zip(members_of(arrays), members_of(joined), strict=True):
        np.testing.assert_allclose(after.feature_weight, before.feature_weight / 2)
        np.testing.assert_array_equal(after.hidden_weight, before.hidden_weight)
        assert after.cosine == pytest.approx(before.cosine / 2)
    np.testing.assert_array_equal(joined["general"], arrays["general"])
    np.testing.assert_array_equal(joined["passage_weights"], weights)
