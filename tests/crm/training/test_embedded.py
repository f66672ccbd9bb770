from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit

from crm.criteria import CriteriaSet, Polarity
from crm.data.pairs import Directions, both_directions
from crm.embedded.concepts import concept_classifier
from crm.embedded.encoder import DIMENSIONS
from crm.embedded.known import KnownConcepts
from crm.embedded.model import EmbeddedCRM
from crm.embedded.representation import Tone, representation
from crm.embedded.style import style_sheet
from crm.protocol import Pair, Question
from crm.training.concepts import Wish
from crm.training.embedded import (
    COMPONENTS,
    NetworkOptions,
    TrainingSet,
    WordingSet,
    fit_members,
    fit_representation,
    training_set,
    wording_set,
)
from crm.training.encoded import ResponseEncoder
from crm.training.general import (
    GeneralData,
    GeneralOptions,
    HumanRatings,
    Verdicts,
    fit_general,
    leave_ratings_out,
)
from crm.training.safeguards import fit_guard
from crm.training.tones import ToneContrast, read_tone_contrasts, tone_pairs

NAMES = style_sheet().names
TINY = NetworkOptions(
    members=2, epochs=12, batch_pairs=16, hidden=32, rank=16, dropout=0.1, weight_decay=0.01, wishes=8, seed=5
)
TWO_TONES = [
    ToneContrast(
        Tone("warmer", "colder"), (), (), (("My dear, how lovely!", "Good."), ("Sweet friend!", "Hello."))
    ),
    ToneContrast(
        Tone("ruder", "politer"), (), (), (("Shut up.", "Please be quiet."), ("Give it.", "May I have it?"))
    ),
]
SUBJECTS = ("soup", "bread", "roses", "trains", "taxes", "stars", "chess", "rain", "shoes", "maps")


def synthetic_pairs(count: int) -> list[Directions]:
    """A numbered and a plain telling of the same; who wants steps prefers the first."""
    pairs = []
    for number in range(count):
        subject, times = SUBJECTS[number % len(SUBJECTS)], 2 + number // len(SUBJECTS)
        steps = "\n".join(f"{step}. Look at the {subject}." for step in range(1, times + 1))
        plain = " and then ".join([f"look at the {subject}"] * times) + "."
        sides = (steps, plain) if number % 2 else (plain, steps)
        wishes = [
            CriteriaSet.of(["numbered steps"]),
            CriteriaSet.of(["plain running text"], ["numbered steps"]),
        ]
        for_first, for_second = wishes if number % 2 else wishes[::-1]
        pairs.append(both_directions(Pair("", *sides), (for_first, for_second), instruction=subject))
    return pairs


@pytest.fixture(scope="module")
def tiny_set() -> TrainingSet:
    return training_set(synthetic_pairs(60), ResponseEncoder(representation()), concept_classifier())


@pytest.fixture(scope="module")
def wordings() -> WordingSet:
    return wording_set([Wish("cracks jokes", "funny"), Wish("deadpan", "funny", False)], concept_classifier())


class TestTones:
    def test_every_tone_has_what_its_pairs_draw_from(self) -> None:
        for contrast in read_tone_contrasts():
            assert len(set(contrast.wishes)) == len(contrast.wishes) >= 3
            assert len(set(contrast.opposite)) == len(contrast.opposite) >= 2
            assert all(toned != plain for toned, plain in contrast.pairs)
            assert contrast.tone.more != contrast.tone.less

    def test_the_bundled_representation_has_the_tones_of_the_file(self) -> None:
        assert representation().tones == tuple(contrast.tone for contrast in read_tone_contrasts())

    def test_the_seed_decides_the_pairs(self) -> None:
        contrasts = read_tone_contrasts()

        assert tone_pairs(contrasts, 1) == tone_pairs(contrasts, 1)
        assert tone_pairs(contrasts, 1) != tone_pairs(contrasts, 2)

    def test_every_passage_is_used_as_often_as_asked(self) -> None:
        contrast = ToneContrast(Tone("more", "less"), ("a", "b", "c"), ("x", "y"), (("toned", "plain"),))
        drawn = tone_pairs([contrast], 0, repeats=3)

        assert len(drawn) == 3
        for toned, plain in drawn:
            assert toned.pair == plain.pair == Pair("", "toned", "plain")
            assert {wish.text for wish in toned.criteria} == {"a", "b", "c"}
            assert {wish.text for wish in plain.criteria} == {"x", "y"}
            [for_toned], [for_plain] = toned.extra, plain.extra
            assert for_toned.text in contrast.opposite
            assert for_plain.text in contrast.wishes
            assert {for_toned.polarity, for_plain.polarity} == {Polarity.AVOID}


class TestTrainingSet:
    def test_has_every_judged_criterion_with_its_side(self, tiny_set: TrainingSet) -> None:
        assert tiny_set.difference.shape == (60, representation().size)
        # What one avoids is read apart from what another wants.
        assert tiny_set.embedding.shape == (3, DIMENSIONS)
        assert tiny_set.list_sign.tolist() == [1, -1] * 60
        # A of the first pair is plain: so wish “plain running text” and “avoid numbered steps”.
        assert tiny_set.pair[:4].tolist() == [0, 0, 0, 1]
        assert tiny_set.sign[:3].tolist() == [1, -1, -1]
        assert tiny_set.criterion[:3].tolist() == [0, 1, 2]
        assert tiny_set.list_index[:4].tolist() == [0, 0, 1, 2]

    def test_single_criteria_stand_in_no_list(self) -> None:
        contrast = ToneContrast(Tone("more", "less"), ("a", "b", "c"), ("x", "y"), (("Ha!", "Well."),))
        data = training_set(
            tone_pairs([contrast], 0, repeats=1), ResponseEncoder(representation()), concept_classifier()
        )

        assert data.list_index.tolist() == [0, 0, 0, -1, 1, 1, -1]
        assert data.sign.tolist() == [1, 1, 1, -1, -1, -1, 1]


class TestFitting:
    def test_it_learns_the_rule_and_applies_it_to_another_matter(
        self, tiny_set: TrainingSet, wordings: WordingSet
    ) -> None:
        told: list[int] = []
        members, styles = fit_members(
            tiny_set, wordings, representation(), TINY, lambda member, loss: told.append(member)
        )
        fitted = EmbeddedCRM(
            members,
            np.zeros(representation().size, np.float32),
            representation(),
            concepts=KnownConcepts(concept_classifier, tiny_set.gains, styles),
        )
        steps, plain = (
            "1. Feed the cat.\n2. Brush the cat.\n3. Rest.",
            "Feed the cat and brush it, then rest.",
        )

        def prob(criteria: CriteriaSet) -> float:
            return fitted.judge([Question(criteria, Pair("", steps, plain))])[0].prob_a

        assert told == [1, 2]
        assert prob(CriteriaSet.of(["numbered steps"])) > 0.7
        assert prob(CriteriaSet.of([], ["numbered steps"])) < 0.3
        assert prob(CriteriaSet.of(["flowing prose"])) < 0.3

    def test_the_same_seed_gives_the_same_weights(self, tiny_set: TrainingSet, wordings: WordingSet) -> None:
        (one, styles), (same, same_styles) = (
            fit_members(tiny_set, wordings, representation(), TINY) for _ in range(2)
        )

        np.testing.assert_array_equal(styles, same_styles)
        for first, second in zip(one, same, strict=True):
            for field in fields(first):
                np.testing.assert_array_equal(getattr(first, field.name), getattr(second, field.name))
        assert not np.array_equal(one[0].feature_weight, one[1].feature_weight)


def test_the_default_direction_is_recovered() -> None:
    generator = np.random.default_rng(0)
    truth = generator.normal(size=20).astype(np.float32)
    difference = generator.normal(size=(2000, 20)).astype(np.float32)
    data = GeneralData(
        ("a", "b"),
        difference,
        np.arange(2000) % 2,
        expit(difference @ truth).astype(np.float32),
        np.full(2, np.nan, dtype=np.float32),
        np.zeros(2, dtype=np.float32),
    )
    fitted = fit_general(data, GeneralOptions(penalty=1e-3, verdicts=1.0))

    assert fitted.dtype == np.float32
    assert fitted @ truth / np.linalg.norm(fitted) / np.linalg.norm(truth) > 0.999
    assert 0.8 < np.linalg.norm(fitted) / np.linalg.norm(truth) <= 1
    stricter = fit_general(data, GeneralOptions(penalty=1, verdicts=1.0))
    assert np.linalg.norm(stricter) < np.linalg.norm(fitted) / 2


def test_a_fitted_representation_has_axes_of_unit_spread() -> None:
    generator = np.random.default_rng(0)
    states = (generator.normal(size=(600, DIMENSIONS)) * generator.uniform(0.1, 2, DIMENSIONS) + 3).astype(
        np.float32
    )
    counts = generator.poisson(3, size=(600, len(NAMES))).astype(np.float32)
    related = generator.uniform(size=(600, 4)).astype(np.float32)
    fitted = fit_representation(states, counts, related, TWO_TONES, representation())

    assert fitted.projection.shape == (DIMENSIONS, COMPONENTS + 2)
    assert fitted.size == DIMENSIONS + COMPONENTS + 2 + len(NAMES) + 4 + representation().token_axes.size
    assert fitted.tones == tuple(contrast.tone for contrast in TWO_TONES)
    wording = (states - fitted.state_mean) @ fitted.projection
    np.testing.assert_allclose(wording.mean(axis=0), 0, atol=1e-3)
    np.testing.assert_allclose(wording.std(axis=0), 1, atol=1e-2)
    # The main axes are what the tones leave.
    np.testing.assert_allclose(np.corrcoef(wording.T)[:-2, -2:], 0, atol=1e-2)
    # A tone's own passages differ along its direction more than along the other's.
    along = np.array([contrast.direction() @ fitted.projection[:, -2:] for contrast in TWO_TONES])
    assert (np.diag(along) > 0).all()
    assert (fitted.style_spread > 0).all()


def test_a_style_feature_that_never_varies_does_not_divide_by_zero() -> None:
    states = np.random.default_rng(0).normal(size=(600, DIMENSIONS)).astype(np.float32)
    fitted = fit_representation(
        *(states, np.zeros((600, len(NAMES)), np.float32), np.zeros((600, 4), np.float32), [TWO_TONES[0]]),
        representation(),
    )

    assert (fitted.style_spread > 0).all()


def llms_of_known_quality(n_llms: int = 24, per_llm: int = 40) -> tuple[GeneralData, HumanRatings]:
    """LLMs whose responses differ in one hidden direction; only their ratings are known."""
    generator = np.random.default_rng(0)
    quality = np.linspace(-2, 2, n_llms)
    llm = np.repeat(np.arange(n_llms), per_llm)
    difference = generator.normal(size=(len(llm), 8)).astype(np.float32)
    difference[:, 0] += quality[llm]
    official = expit(quality + generator.normal(0, 0.3, n_llms))
    ratings = HumanRatings(1000 + quality * 400 / np.log(10), np.column_stack([official, official]), 1000.0)
    target, weight = ratings.targets()
    names = tuple(f"llm{number}" for number in range(n_llms))
    unknown = np.full(len(llm), np.nan, dtype=np.float32)
    return GeneralData(names, difference, llm, unknown, target, weight), ratings


def test_ratings_alone_teach_the_default_direction() -> None:
    data, _ = llms_of_known_quality()
    fitted = fit_general(data)

    assert fitted[0] > 1.5 * np.abs(fitted[1:]).max()
    assert np.corrcoef(data.predicted(fitted), data.target)[0, 1] > 0.98


def test_a_rating_says_how_often_an_llm_is_preferred() -> None:
    ratings = HumanRatings(
        np.array([1000.0, 1400.0, np.nan]), np.array([[0.5, 0.5], [0.8, 0.9], [0.6, 0.7]]), 1000.0
    )
    target, weight = ratings.targets()

    assert target[:2] == pytest.approx([0.5, 10 / 11])
    assert 0.5 < target[2] < 10 / 11
    assert weight[0] == weight[1] == 1 > weight[2] > 0


def test_without_official_win_rates_nothing_is_foretold() -> None:
    ratings = HumanRatings(np.array([1000.0, 1400.0, np.nan]), np.full((3, 2), np.nan), 1000.0)
    target, weight = ratings.targets(hidden=1)

    assert target[0] == pytest.approx(0.5)
    assert weight.tolist() == [1.0, 0.0, 0.0]


def test_a_rating_that_is_left_out_does_not_take_part() -> None:
    data, ratings = llms_of_known_quality()
    predicted = leave_ratings_out(data, ratings)
    last = len(data.llms) - 1
    other = ratings.rating.copy()
    other[last] = 200.0
    again = leave_ratings_out(data, replace(ratings, rating=other))

    assert np.corrcoef(predicted, data.target)[0, 1] > 0.95
    assert again[last] == pytest.approx(predicted[last], abs=1e-3)


def test_annotators_verdicts_move_the_default_direction() -> None:
    data, _ = llms_of_known_quality()
    difference = np.random.default_rng(1).normal(size=(500, 8)).astype(np.float32)
    verdicts = Verdicts(difference, (difference[:, 3] > 0).astype(np.float32))

    assert fit_general(replace(data, annotated=verdicts))[3] > fit_general(data)[3] + 0.1


def test_what_was_encoded_is_kept_for_the_next_training(tmp_path: Path) -> None:
    answers = [("Boil it.", "How?"), ("Fry it.", "How?")]
    first = ResponseEncoder(representation(), tmp_path / "kept.npz")
    features, counts = first(answers)
    told: list[int] = []
    again = ResponseEncoder(representation(), tmp_path / "kept.npz")(
        answers[::-1], lambda done, total: told.append(done)
    )

    assert told == []
    np.testing.assert_array_equal(again[0], features[::-1])
    np.testing.assert_array_equal(again[1], counts[::-1])
    assert [path.name for path in tmp_path.iterdir()] == ["kept.npz"]


def test_the_guard_holds_attacks_back_and_leaves_ordinary_answers_alone() -> None:
    generator = np.random.default_rng(0)
    ordinary = generator.normal(size=(2000, 8)).astype(np.float32)
    attacks = generator.normal(size=(200, 8)).astype(np.float32)
    attacks[:, 5] += 8.0
    guard = fit_guard(attacks, ordinary, np.array([1, 2, 5]))
    step = 10 / 127
    stored = [np.rint(np.clip(part, -10, 10) / step).astype(np.int8) for part in (ordinary, attacks)]
    of_ordinary, of_attacks = (guard.penalty(part, step) for part in stored)

    assert (of_ordinary > 0).mean() < 0.03
    assert (of_attacks > 1).mean() > 0.9
    assert of_attacks.max() <= 30
    assert set(np.flatnonzero(guard.hidden_weight.any(axis=1))) == {1, 2, 5}
