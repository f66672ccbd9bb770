"""Several lists in one person: what is summed over, and which categories share one."""

from itertools import product

import numpy as np
import pytest

from leaderboard.elicitation.choice_model import (
    Choice,
    ChoiceOutcome,
    ResponsePair,
    observed_probability,
    outcome_probabilities,
)
from leaderboard.elicitation.tastes import (
    MAX_LISTS,
    CategoryChoices,
    TastePosterior,
    _Evidence,
    _Lists,
    _moved,
    groups_of,
)
from tests.leaderboard.elicitation.samples import CRITERIA, QUERIES, RESPONDERS, choice_by, small_margins

SHORT, WARM = 0, 1


def by_category(size: int, *, second: int) -> tuple[list[Choice], np.ndarray]:
    """Choices in four categories by turns: by SHORT in the first two, by another criterion in the others."""
    margins, random = small_margins(), np.random.default_rng(3)
    choices, categories = [], []
    for place in range(size):
        category = place % 4
        one, two = random.permutation(RESPONDERS)[:2].tolist()
        pair = ResponsePair(int(random.integers(QUERIES)), one, two)
        choices.append(choice_by(margins, pair, SHORT if category < 2 else second))
        categories.append(category)
    return choices, np.array(categories)


def posterior(size: int, *, second: int) -> TastePosterior:
    choices, categories = by_category(size, second=second)
    seen = CategoryChoices.of(choices, small_margins(), categories, 4)
    return TastePosterior.given(seen, CRITERIA, n_draws=1000)


def test_what_was_answered_has_the_probability_that_the_four_answers_share() -> None:
    random = np.random.default_rng(0)
    first, second = random.normal(size=(2, 50, 8)).astype(np.float32)
    noise, tie = (random.random((2, 50)) + 0.1).astype(np.float32)
    outcome = np.arange(8) % len(ChoiceOutcome)

    of_four = outcome_probabilities(first, second, noise, tie)
    expected = of_four[outcome, :, np.arange(8)].T
    np.testing.assert_allclose(observed_probability(first, second, outcome, noise, tie), expected, rtol=1e-5)


def test_the_list_of_a_category_is_summed_over() -> None:
    """As if every assignment of categories to the lists in use were tried."""
    choices, categories = by_category(9, second=WARM)
    seen = CategoryChoices.of(choices, small_margins(), categories, 4)
    persons = _Lists.prior(CRITERIA, 20, np.random.default_rng(1))
    found = _Evidence(seen, ()).of(persons)

    for draw, n in enumerate(persons.n):
        total = sum(
            np.exp(sum(found.by_list[draw, row, category] for category, row in enumerate(assigned)))
            for assigned in product(range(n), repeat=4)
        )
        assert found.total[draw] == pytest.approx(np.log(total / n**4), rel=1e-6)


def test_two_tastes_part_the_categories_and_each_gets_its_own() -> None:
    found, gram = posterior(40, second=WARM), small_margins().gram
    groups = groups_of(found.likes(gram), gram)

    assert found.one_taste < 0.05
    assert groups == [[0, 1], [2, 3]]
    for group, criterion in zip(groups, (SHORT, WARM), strict=True):
        assert int(found.of(group, ()).mean.argmax()) == criterion


def test_one_taste_stays_one_list() -> None:
    found, gram = posterior(40, second=SHORT), small_margins().gram

    assert found.one_taste > 0.6
    assert groups_of(found.likes(gram), gram) == [[0, 1, 2, 3]]


def test_before_any_choice_the_prior_is_untouched() -> None:
    choices, categories = by_category(4, second=WARM)
    nothing = CategoryChoices.of(choices, small_margins(), categories, 4).before(0)
    found = TastePosterior.given(nothing, CRITERIA, n_draws=4000)

    assert found.one_taste == pytest.approx(0.6, abs=0.03)
    np.testing.assert_allclose(found.probability, 1 / 4000)


def test_moves_alone_leave_the_prior_as_it_was() -> None:
    choices, categories = by_category(4, second=WARM)
    nothing = _Evidence(CategoryChoices.of(choices, small_margins(), categories, 4).before(0), ())
    unknown = _Lists.prior(CRITERIA, 8000, np.random.default_rng(5))
    moved, _ = _moved(unknown, nothing, np.random.default_rng(6))

    np.testing.assert_allclose(np.bincount(moved.n), np.bincount(unknown.n), atol=250)
    for before, after in zip(unknown.lists, moved.lists, strict=True):
        assert (before.weights != after.weights).any(axis=1).mean() > 0.5
        for noise in np.unique(before.noise):
            share = [float((each.n_followed[each.noise == noise] == 1).mean()) for each in (before, after)]
            assert share[1] == pytest.approx(share[0], abs=0.05)


def test_a_category_without_choices_goes_by_the_lists_in_use_alike() -> None:
    choices, categories = by_category(12, second=WARM)
    seen = CategoryChoices.of(choices, small_margins(), categories, 5)
    found = TastePosterior.given(seen, CRITERIA, n_draws=500)

    used = np.arange(MAX_LISTS) < found.persons.n[:, None]
    np.testing.assert_allclose(found.goes_by[:, :, 4], used / found.persons.n[:, None])
    np.testing.assert_allclose(found.goes_by.sum(axis=1), 1)


def test_the_same_choices_always_tell_the_same() -> None:
    one, two = (posterior(12, second=WARM) for _ in range(2))

    np.testing.assert_array_equal(one.likes(small_margins().gram), two.likes(small_margins().gram))


def test_categories_part_only_where_a_shared_list_would_cost_one_of_them() -> None:
    gram = np.eye(2)
    alike = np.array([[0.9, 0.1], [0.8, 0.0], [0.1, 0.9]])

    assert groups_of(alike, gram) == [[0, 1], [2]]
    assert groups_of(alike, gram, different=1.0) == [[0, 1, 2]]
    assert groups_of(alike[:1], gram) == [[0]]
