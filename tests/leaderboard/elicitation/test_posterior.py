import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leaderboard.elicitation.choice_model import Choice, ChoiceOutcome, ResponsePair
from leaderboard.elicitation.posterior import (
    GRADES,
    MAX_CRITERIA,
    Draws,
    ObservedChoices,
    PreferencePosterior,
)
from leaderboard.elicitation.session import ElicitationSession
from tests.leaderboard.elicitation.samples import (
    CRITERIA,
    LIBRARY,
    QUERIES,
    RESPONDERS,
    choice_by,
    small_candidates,
    small_margins,
)

MARGINS = small_margins()
PAIRS = st.builds(
    lambda query, two: ResponsePair(query, *two),
    st.integers(0, QUERIES - 1),
    st.lists(st.integers(0, RESPONDERS - 1), min_size=2, max_size=2, unique=True),
)
MIRRORED = {ChoiceOutcome.FIRST: ChoiceOutcome.SECOND, ChoiceOutcome.SECOND: ChoiceOutcome.FIRST}


def person_after(*choices: Choice, n_draws: int = 1500) -> PreferencePosterior:
    """The posterior after some choices."""
    posterior = PreferencePosterior.prior(CRITERIA, n_draws=n_draws)
    for choice in choices:
        posterior = posterior.after(ObservedChoices.of([choice], MARGINS))
    return posterior


def by_one_criterion(criterion: int, count: int, seed: int = 5) -> list[Choice]:
    """Choices on random pairs by somebody who looks at one criterion only."""
    random = np.random.default_rng(seed)
    pairs = [
        ResponsePair(int(random.integers(QUERIES)), *map(int, random.choice(RESPONDERS, 2, replace=False)))
        for _ in range(count)
    ]
    return [choice_by(MARGINS, pair, criterion) for pair in pairs]


class TestPrior:
    def test_persons_follow_one_to_so_many_criteria_of_known_grades(self) -> None:
        draws = PreferencePosterior.prior(CRITERIA).draws
        count = (draws.weights != 0).sum(axis=1)

        assert set(count) == set(range(1, min(MAX_CRITERIA, CRITERIA) + 1))
        assert set(np.abs(draws.weights[draws.weights != 0]).tolist()) == set(
            np.array(GRADES, np.float32).tolist()
        )

    def test_no_criterion_is_more_probable_than_another(self) -> None:
        posterior = PreferencePosterior.prior(CRITERIA)

        np.testing.assert_allclose(posterior.followed, posterior.followed.mean(), atol=0.03)
        assert posterior.effective_size == pytest.approx(len(posterior.log_weight))

    def test_fewer_criteria_than_a_person_may_follow_will_do(self) -> None:
        assert (PreferencePosterior.prior(2).draws.weights != 0).sum(axis=1).max() == 2

    def test_moves_alone_leave_the_prior_as_it_was(self) -> None:
        unknown = PreferencePosterior.prior(CRITERIA, n_draws=6000)
        moved = unknown._rejuvenated()

        sizes = [(posterior.draws.weights != 0).sum(axis=1) for posterior in (unknown, moved)]
        shares = [np.bincount(size, minlength=CRITERIA + 1)[1:] / len(size) for size in sizes]
        assert (moved.draws.weights != unknown.draws.weights).any(axis=1).mean() > 0.5
        np.testing.assert_allclose(shares[1], shares[0], atol=0.03)
        np.testing.assert_allclose(moved.mean, unknown.mean, atol=0.03)
        for noise in np.unique(unknown.draws.noise):
            one_wish = [
                float((size[posterior.draws.noise == noise] == 1).mean())
                for size, posterior in zip(sizes, (unknown, moved), strict=True)
            ]
            assert one_wish[1] == pytest.approx(one_wish[0], abs=0.05)

    def test_who_errs_less_follows_fewer(self) -> None:
        draws = PreferencePosterior.prior(20, n_draws=20_000).draws
        mean = [draws.n_followed[draws.noise == noise].mean() for noise in np.unique(draws.noise)]

        assert 1.5 < mean[0] < mean[1] < mean[2] == pytest.approx(4.5, abs=0.15)
        assert mean[3] == pytest.approx(4.5, abs=0.15)


class TestPosterior:
    @pytest.mark.parametrize("criterion", range(CRITERIA))
    def test_finds_the_criterion_that_choices_go_by(self, criterion: int) -> None:
        posterior = person_after(*by_one_criterion(criterion, 15))

        assert posterior.mean.argmax() == criterion
        assert posterior.followed[criterion] > 0.8

    def test_finds_a_criterion_that_is_avoided(self) -> None:
        against = [Choice(item.pair, MIRRORED[item.outcome]) for item in by_one_criterion(2, 15)]

        assert person_after(*against).mean.argmin() == 2

    def test_is_the_prior_reweighted_by_the_likelihood(self) -> None:
        choice = by_one_criterion(3, 1)[0]
        unknown, known = PreferencePosterior.prior(CRITERIA, n_draws=1500), person_after(choice)
        likelihood = np.exp(unknown.draws.log_likelihood([ObservedChoices.of([choice], MARGINS)]))

        np.testing.assert_allclose(known.probability, likelihood / likelihood.sum())

    def test_is_always_the_same_for_the_same_choices(self) -> None:
        one, other = (person_after(*by_one_criterion(1, 12)) for _ in range(2))

        np.testing.assert_array_equal(one.draws.weights, other.draws.weights)
        np.testing.assert_array_equal(one.probability, other.probability)

    @settings(max_examples=30)
    @given(PAIRS, st.sampled_from(ChoiceOutcome))
    def test_hangs_not_on_which_response_is_shown_on_the_left(
        self, pair: ResponsePair, answer: ChoiceOutcome
    ) -> None:
        turned = Choice(ResponsePair(pair.query, pair.second, pair.first), MIRRORED.get(answer, answer))

        np.testing.assert_allclose(
            person_after(Choice(pair, answer), n_draws=200).probability,
            person_after(turned, n_draws=200).probability,
            rtol=1e-4,
        )

    @settings(max_examples=20)
    @given(st.lists(st.tuples(PAIRS, st.sampled_from(ChoiceOutcome)), min_size=1, max_size=6))
    def test_is_a_probability_whatever_is_answered(
        self, answers: list[tuple[ResponsePair, ChoiceOutcome]]
    ) -> None:
        posterior = person_after(*(Choice(*item) for item in answers), n_draws=300)

        assert posterior.probability.sum() == pytest.approx(1)
        assert (np.abs(posterior.mean) <= 1).all()
        assert ((posterior.followed >= 0) & (posterior.followed <= 1 + 1e-9)).all()
        assert 1 <= posterior.effective_size <= 300 + 1e-6


class TestUndo:
    @settings(max_examples=10)
    @given(st.lists(st.sampled_from(ChoiceOutcome), min_size=1, max_size=4), st.sampled_from(ChoiceOutcome))
    def test_what_is_undone_was_never_said(
        self, answers: list[ChoiceOutcome], regretted: ChoiceOutcome
    ) -> None:
        session = ElicitationSession.start(small_candidates())
        for answer in answers:
            session = session.chosen(answer)
        back = session.chosen(regretted).without_last(Choice)

        assert back.choices == session.choices
        assert back.pair == session.pair
        np.testing.assert_array_equal(back.posterior.draws.weights, session.posterior.draws.weights)
        np.testing.assert_array_equal(back.posterior.probability, session.posterior.probability)

    def test_before_the_first_choice_there_is_nothing_to_undo(self) -> None:
        session = ElicitationSession.start(small_candidates())

        assert session.without_last(Choice) is session


def test_utilities_of_a_person_have_the_judges_scale() -> None:
    draws = Draws(np.array([[1, 0.7, 0]]), np.ones(1, np.float32), np.ones(1, np.float32))

    np.testing.assert_allclose(np.linalg.norm(draws.coefficients[0, :-1]), 1, rtol=1e-6)
    assert draws.coefficients[0, -1] == 1
    assert len(LIBRARY) == CRITERIA
