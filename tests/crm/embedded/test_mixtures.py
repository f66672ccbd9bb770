from dataclasses import replace

import numpy as np
import pytest

from crm.criteria import Criterion, Polarity
from crm.embedded.concepts import ConceptClassifier, concept_classifier
from crm.embedded.mixtures import MixtureHead
from crm.embedded.model import embedded_crm
from crm.errors import UnavailableError


def head(seed: int = 0) -> MixtureHead:
    """Return one of 4 numbers and 2 concepts, with 3 hidden units."""
    rng = np.random.default_rng(seed)
    shapes = ((6, 3), (3,), (3, 3), (6, 3), (3,))
    return MixtureHead(*(rng.standard_normal(shape).astype(np.float32) for shape in shapes))


OUTPUT = ("output_weight", "direct_weight", "output_bias")
"""What a head's output is proportional to."""


def mixture(wish: str, polarity: Polarity = Polarity.WANT) -> dict[str, float]:
    classifier = concept_classifier()
    [row] = classifier.read([Criterion(wish, polarity=polarity)]).mixture
    return dict(zip(classifier.names, row[:-1].tolist(), strict=True))


def test_mixtures_are_of_unit_length_and_what_is_unsaid_is_a_share() -> None:
    vectors, named = np.split(
        3 * np.random.default_rng(1).standard_normal((50, 6)).astype(np.float32), [4], axis=1
    )
    found = head().read(vectors, named)

    np.testing.assert_allclose(np.linalg.norm(found[:, :-2], axis=1), 1.0, rtol=1e-5)
    assert found[:, -2].min() == 0.0
    assert found[:, -2].max() == 1.0
    doubled = replace(head(), **{part: 2 * getattr(head(), part) for part in OUTPUT}).read(vectors, named)
    np.testing.assert_allclose(doubled[:, :-2], found[:, :-2], rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(doubled[:, -1], 2 * found[:, -1], rtol=1e-5)
    np.testing.assert_array_equal(head().read(vectors[7:8], named[7:8])[0], found[7])


def test_a_head_is_stored_and_read_again() -> None:
    again = MixtureHead.from_arrays(head().arrays())
    vectors, named = np.eye(4, dtype=np.float32), np.zeros((4, 2), dtype=np.float32)
    np.testing.assert_allclose(again.read(vectors, named), head().read(vectors, named), atol=5e-3)


@pytest.mark.parametrize(
    ("wish", "more", "less"),
    [
        ("like a grandfather who has seen it all and does not judge you", "warm", "moralising"),
        ("explain it so that my nan would get it", "plain", "technical_terms"),
        ("don't just nod along with whatever I say", "challenging", "agreeable"),
    ],
)
def test_a_wish_for_several_things_is_read_as_all_of_them(wish: str, more: str, less: str) -> None:
    found = mixture(wish)
    assert found[more] > 0.1
    assert found[less] < 0.0


def test_a_complaint_that_is_to_be_avoided_is_the_contrary_of_what_avoids_it() -> None:
    avoided, wished = mixture("clutter", Polarity.AVOID), mixture("avoid clutter")
    assert max(wished.values()) > 0.2
    assert avoided == pytest.approx({name: -weight for name, weight in wished.items()}, abs=1e-4)


def test_what_else_is_to_be_avoided_is_what_is_named() -> None:
    assert mixture("emojis in every line", Polarity.AVOID) == pytest.approx(
        mixture("emojis in every line"), abs=1e-4
    )


@pytest.mark.parametrize("wish", ["no emojis", "use tables", "under 100 words", "exactly three examples"])
def test_what_is_counted_is_no_mixture(wish: str) -> None:
    reading = concept_classifier().read([Criterion(wish)])
    np.testing.assert_array_equal(reading.wanted, reading.named)


def test_a_mixture_contradicts_what_is_named_where_it_is_surely_read() -> None:
    classifier = concept_classifier()
    texts = ("characters flat as chapatis, every single one", "like a grandfather who has seen it all")
    reading = classifier.read([Criterion(text) for text in texts])
    named = np.abs(reading.named).argmax(axis=1)
    contrary = reading.mixture.copy()
    contrary[[0, 1], named] = -np.sign(reading.named[[0, 1], named])

    for strength, expected in ((0.3, False), (1.2, True)):
        changed = replace(reading, mixture=contrary, strength=np.full(2, strength, dtype=np.float32))
        assert changed.is_contradicted.tolist() == [expected] * 2


def test_what_is_named_stands_alone_as_far_as_the_mixture_does_not_second_it() -> None:
    reading = concept_classifier().read([Criterion("funny"), Criterion("under 100 words")])
    [funny, limited] = reading.alone.tolist()
    assert 0.0 < funny < 0.9
    assert limited == 0.0
    opposed = replace(reading, mixture=-reading.mixture)
    assert opposed.alone[0] == pytest.approx(np.abs(reading.named[0]).max())


def test_of_another_language_the_mixture_is_no_reason_to_doubt() -> None:
    reading = concept_classifier().read([Criterion("viele Emojis bitte"), Criterion("many emojis please")])
    assert reading.strength[0] in {0.0, 1.0}
    assert reading.strength[1] not in {0.0, 1.0}


def test_a_mixture_is_a_part_of_what_is_wanted() -> None:
    reading = concept_classifier().read([Criterion("like a colleague you would have lunch with")])
    assert not np.array_equal(reading.wanted, reading.named)
    between = reading.wanted[0] @ reading.mixture[0, :-1]
    assert between > reading.named[0] @ reading.mixture[0, :-1]


def test_concepts_that_prefer_the_same_responses_are_alike() -> None:
    margins = embedded_crm().concept_margins()
    names = concept_classifier().names
    assert margins.shape[1] == len(names)
    likeness = np.corrcoef(margins.T)
    casual, friend, formal = (names.index(name) for name in ("casual", "friend", "formal"))
    assert likeness[casual, friend] > 0.5
    assert likeness[casual, formal] < -0.5


def test_without_a_language_model_what_is_named_is_all() -> None:
    whole = concept_classifier()
    small = ConceptClassifier(whole.names, whole.networks, whole.spelling, mixtures=whole.mixtures)
    wishes = [Criterion("like a wise old friend"), Criterion("waffle", polarity=Polarity.AVOID)]
    reading = small.read(wishes)
    np.testing.assert_array_equal(reading.wanted, reading.named)
    with pytest.raises(UnavailableError, match="has no language model"):
        small.read_many_with_states(wishes)


def test_many_wishes_are_heard_as_one_is() -> None:
    wishes = [Criterion("like a wise old friend"), Criterion("no emojis"), Criterion("spare me the pep talk")]
    classifier = concept_classifier()
    reading, states = classifier.read_many_with_states(wishes)
    assert classifier.mixtures is not None
    found = classifier.mixtures.read(states, reading.named)
    np.testing.assert_allclose(found[0, 100:-1], classifier.read(wishes[:1]).mixture[0, 100:], atol=0.02)
    np.testing.assert_allclose(reading.named, classifier.read(wishes).named, atol=0.05)
