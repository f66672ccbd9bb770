import numpy as np
import pytest

from benchmarks._simulated import (
    MAX_CRITERIA,
    MIN_CRITERIA,
    draw_criteria,
    simulated_user,
    strengths,
    wordings,
)
from benchmarks.simulated_users import COUNTS, GAIN, INTERVIEW, VOTES, HalvedBenchmark, curve, field_of
from crm.criteria import Weight
from crm.embedded.model import embedded_crm
from leaderboard.elicitation.choice_model import Choice, ChoiceOutcome, ResponsePair
from leaderboard.elicitation.library import criterion_library
from leaderboard.service import Service

USERS = 12
"""Of so few the mean moves by a tenth with the last digits of a reading, by which pairs are chosen."""
WORDINGS = 200
"""Enough for a few users; to read all of a half takes minutes."""


@pytest.fixture(scope="module")
def texts() -> list[str]:
    return wordings(embedded_crm(), held_out=False, most=WORDINGS)


@pytest.fixture(scope="module")
def field(service: Service) -> HalvedBenchmark:
    return field_of(service, "dailybench", embedded_crm())


def test_held_out_users_have_wordings_of_their_own(texts: list[str]) -> None:
    others = wordings(embedded_crm(), held_out=True, most=WORDINGS)
    library = {item.criterion.text for item in criterion_library()}

    assert set(texts).isdisjoint(others)
    assert library.isdisjoint({*texts, *others})


def test_users_follow_a_few_criteria_the_first_essential(texts: list[str]) -> None:
    random = np.random.default_rng(0)
    drawn = [draw_criteria(texts, random) for _ in range(50)]

    assert {len(criteria) for criteria in drawn} == set(range(MIN_CRITERIA, MAX_CRITERIA + 1))
    assert all(next(iter(criteria)).weight is Weight.ESSENTIAL for criteria in drawn)


def test_users_choose_with_the_probability_that_the_judge_states(
    field: HalvedBenchmark, texts: list[str]
) -> None:
    user = simulated_user(draw_criteria(texts, np.random.default_rng(3)), field.crm, field.benchmark)
    random = np.random.default_rng(0)
    pair = ResponsePair(0, 0, 1)
    ahead = user.utility[0, 0] - user.utility[1, 0]

    answers = [user.answer(pair, random) for _ in range(4000)]
    first, second = answers.count(ChoiceOutcome.FIRST), answers.count(ChoiceOutcome.SECOND)

    # Those more than the tie threshold ahead, after logistic noise.
    assert first / 4000 == pytest.approx(1 / (1 + np.exp(0.4 - ahead)), abs=0.03)
    assert second / 4000 == pytest.approx(1 / (1 + np.exp(0.4 + ahead)), abs=0.03)


def test_a_few_users_are_learnt_sooner_than_from_votes(field: HalvedBenchmark, texts: list[str]) -> None:
    random = np.random.default_rng(1)
    users = [simulated_user(draw_criteria(texts, random), field.crm, field.benchmark) for _ in range(USERS)]
    begun = [number >= 8 for number in COUNTS]

    tau = {how: curve(field, users, how).tau.mean(axis=0) for how in (GAIN, VOTES, INTERVIEW)}
    later = {how: each[begun].mean() for how, each in tau.items()}

    assert later[GAIN] > 0.45
    assert later[GAIN] > later[VOTES] + 0.1
    assert later[GAIN] > tau[GAIN][0] + 0.3
    assert later[INTERVIEW] > tau[INTERVIEW][0]


def test_votes_count_ties_as_half_a_win_each() -> None:
    won = strengths([Choice(ResponsePair(0, 0, 1), ChoiceOutcome.FIRST)], 3)
    tied = strengths([Choice(ResponsePair(0, 0, 1), ChoiceOutcome.BOTH)], 3)

    assert won[0] > won[2] == 0 > won[1]
    np.testing.assert_allclose(tied, 0, atol=1e-9)
