from pathlib import Path

import numpy as np
import pytest

from crm.criteria import Criterion
from crm.embedded import concepts
from crm.embedded.concepts import ConceptClassifier, concept_classifier, lacks_decoder
from crm.embedded.model import EmbeddedCRM
from crm.embedded.wish_decoder import WishDecoder
from crm.paths import CONCEPTS_FILE, EMBEDDED_FILE


def decoder() -> WishDecoder:
    found = concept_classifier().decoder
    assert found is not None
    return found


def test_a_wish_is_read_alike_alone_and_among_others() -> None:
    wishes = [
        "every reply is longer than my dissertation",
        "",
        "x" * 4000,
        *(f"number {i}" for i in range(99)),
    ]
    vectors = decoder().vectors(wishes)
    together, many = decoder().prob(vectors), decoder().prob(vectors, bulk=True)

    assert np.isfinite(together).all()
    np.testing.assert_allclose(many, together, atol=1e-5)
    for row in (0, 1, 57):
        alone = decoder().prob(decoder().vectors([wishes[row]]))[0]
        np.testing.assert_allclose(alone, together[row], atol=1e-5)


def test_it_is_stored_and_read_again() -> None:
    again = WishDecoder.from_arrays(decoder().arrays())
    wishes = again.vectors(["more like an essay than a text message", "no tables"])

    np.testing.assert_allclose(again.prob(wishes), decoder().prob(wishes), atol=1e-6)
    assert again.sharpened(2.0).prob(wishes).max() > again.prob(wishes).max()


@pytest.mark.parametrize(
    ("wish", "concept", "more"),
    [
        ("I'd rather scroll for ages than get a stub of an answer", "words", True),
        ("my eyes glaze over after the third line", "sentences", False),
        ("spare me the pep talk", "encouraging", False),
    ],
)
def test_it_knows_more_of_the_world_than_the_networks(wish: str, concept: str, more: bool) -> None:
    names = concept_classifier().names
    prob = decoder().prob(decoder().vectors([wish]))[0]

    assert prob.argmax() == 1 + 2 * names.index(concept) + (not more)


def test_without_its_weights_the_networks_read_alone_and_the_judge_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = EmbeddedCRM.load(EMBEDDED_FILE)
    assert not whole.lacking
    monkeypatch.setattr(concepts, "smollm2_file", lambda: None)
    small = ConceptClassifier.load(CONCEPTS_FILE)
    assert small.decoder is None
    assert lacks_decoder()
    prob = small.read([Criterion("no tables")]).prob[0]
    assert prob.argmax() == 2 * small.names.index("tables") + 1
    assert EmbeddedCRM.load(EMBEDDED_FILE).version == f"{whole.version}-without-smollm2"


def test_a_file_without_a_decoder_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    networks = ConceptClassifier(
        concept_classifier().names, concept_classifier().networks, concept_classifier().spelling
    )
    path = tmp_path / "concepts.npz"
    np.savez(path, **networks.arrays())  # type: ignore[arg-type]
    monkeypatch.setattr(concepts, "smollm2_file", lambda: None)
    assert not lacks_decoder(path)
