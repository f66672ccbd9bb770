import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leaderboard.personal.choice import Answer, Choice, Pair
from leaderboard.personal.course import Course
from leaderboard.personal.person import GRADES, MOST_CRITERIA, Draws, Observed, Person
from tests.leaderboard.personal.samples import (
    CRITERIA,
    LIBRARY,
    QUERIES,
    RESPONDERS,
    choice_by,
    small_material,
    small_shown,
)

MATERIAL = small_material()
PAIRS = st.builds(
    lambda query, two: Pair(query, *two),
    st.integers(0, QUERIES - 1),
    st.lists(st.integers(0, RESPONDERS - 1), min_size=2, max_size=2, unique=True),
)
MIRRORED = {Answer.FIRST: Answer.SECOND, Answer.SECOND: Answer.FIRST}


def person_after(*choices: Choice, n_draws: int = 1500) -> Person:
    """The posterior after some choices."""
    person = Person.unknown(CRITERIA, n_draws=n_draws)
    for choice in choices:
        person = person.after(Observed.of(choice, MATERIAL))
    return person


def by_one_criterion(criterion: int, count: int, seed: int = 5) -> list[Choice]:
    """Choices on random pairs by somebody who looks at one criterion only."""
    random = np.random.default_rng(seed)
    pairs = [
        Pair(int(random.integers(QUERIES)), *map(int, random.choice(RESPONDERS, 2, replace=False)))
        for _ in range(count)
    ]
    return [choice_by(MATERIAL, pair, criterion) for pair in pairs]


class TestPrior:
    def test_persons_follow_one_to_so_many_criteria_of_known_grades(self) -> None:
        draws = Person.unknown(CRITERIA).draws
        count = (draws.weights != 0).sum(axis=1)

        assert set(count) == set(range(1, min(MOST_CRITERIA, CRITERIA) + 1))
        assert set(np.abs(draws.weights[draws.weights != 0]).tolist()) == set(
            np.array(GRADES, np.float32).tolist()
        )

    def test_no_criterion_is_more_probable_than_another(self) -> None:
        person = Person.unknown(CRITERIA)

        np.testing.assert_allclose(person.followed, person.followed.mean(), atol=0.03)
        assert person.effective == pytest.approx(len(person.log_weight))

    def test_fewer_criteria_than_a_person_may_follow_will_do(self) -> None:
        assert (Person.unknown(2).draws.weights != 0).sum(axis=1).max() == 2

    def test_moves_alone_leave_the_prior_as_it_was(self) -> None:
        unknown = Person.unknown(CRITERIA, n_draws=6000)
        moved = unknown._refreshed()

        sizes = [(person.draws.weights != 0).sum(axis=1) for person in (unknown, moved)]
        shares = [np.bincount(size, minlength=CRITERIA + 1)[1:] / len(size) for size in sizes]
        assert (moved.draws.weights != unknown.draws.weights).any(axis=1).mean() > 0.5
        np.testing.assert_allclose(shares[1], shares[0], atol=0.03)
        np.testing.assert_allclose(moved.mean, unknown.mean, atol=0.03)


class TestPosterior:
    @pytest.mark.parametrize("criterion", range(CRITERIA))
    def test_finds_the_criterion_that_choices_go_by(self, criterion: int) -> None:
        person = person_after(*by_one_criterion(criterion, 15))

        assert person.mean.argmax() == criterion
        assert person.followed[criterion] > 0.8

    def test_finds_a_criterion_that_is_avoided(self) -> None:
        against = [Choice(item.pair, MIRRORED[item.answer]) for item in by_one_criterion(2, 15)]

        assert person_after(*against).mean.argmin() == 2

    def test_is_the_prior_reweighted_by_the_likelihood(self) -> None:
        choice = by_one_criterion(3, 1)[0]
        unknown, known = Person.unknown(CRITERIA, n_draws=1500), person_after(choice)
        likelihood = np.exp(unknown.draws.log_likelihood([Observed.of(choice, MATERIAL)]))

        np.testing.assert_allclose(known.probability, likelihood / likelihood.sum())

    def test_is_always_the_same_for_the_same_choices(self) -> None:
        one, other = (person_after(*by_one_criterion(1, 12)) for _ in range(2))

        np.testing.assert_array_equal(one.draws.weights, other.draws.weights)
        np.testing.assert_array_equal(one.probability, other.probability)

    @settings(max_examples=30)
    @given(PAIRS, st.sampled_from(Answer))
    def test_hangs_not_on_which_response_is_shown_on_the_left(self, pair: Pair, answer: Answer) -> None:
        turned = Choice(Pair(pair.query, pair.second, pair.first), MIRRORED.get(answer, answer))

        np.testing.assert_allclose(
            person_after(Choice(pair, answer), n_draws=200).probability,
            person_after(turned, n_draws=200).probability,
            rtol=1e-4,
        )

    @settings(max_examples=20)
    @given(st.lists(st.tuples(PAIRS, st.sampled_from(Answer)), min_size=1, max_size=6))
    def test_is_a_probability_whatever_is_answered(self, answers: list[tuple[Pair, Answer]]) -> None:
        person = person_after(*(Choice(*item) for item in answers), n_draws=300)

        assert person.probability.sum() == pytest.approx(1)
        assert (np.abs(person.mean) <= 1).all()
        assert ((person.followed >= 0) & (person.followed <= 1 + 1e-9)).all()
        assert 1 <= person.effective <= 300 + 1e-6


class TestUndo:
    @settings(max_examples=10)
    @given(st.lists(st.sampled_from(Answer), min_size=1, max_size=4), st.sampled_from(Answer))
    def test_what_is_undone_was_never_said(self, answers: list[Answer], regretted: Answer) -> None:
        course = Course.start(small_shown())
        for answer in answers:
            course = course.chosen(answer)
        back = course.chosen(regretted).without_last(Choice)

        assert back.choices == course.choices
        assert back.pair == course.pair
        np.testing.assert_array_equal(back.person.draws.weights, course.person.draws.weights)
        np.testing.assert_array_equal(back.person.probability, course.person.probability)

    def test_before_the_first_choice_there_is_nothing_to_undo(self) -> None:
        course = Course.start(small_shown())

        assert course.without_last(Choice) is course


def test_utilities_of_a_person_have_the_judges_scale() -> None:
    draws = Draws(np.array([[1, 0.7, 0]]), np.ones(1, np.float32), np.ones(1, np.float32))

    np.testing.assert_allclose(np.linalg.norm(draws.folded[0, :-1]), 1, rtol=1e-6)
    assert draws.folded[0, -1] == 1
    assert len(LIBRARY) == CRITERIA
