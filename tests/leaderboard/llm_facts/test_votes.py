from collections.abc import Mapping

import numpy as np
import pytest

from leaderboard.llm_facts.catalogue import OVERALL, Catalogue, Fact, HumanRatings, LLMFacts, Rating
from leaderboard.llm_facts.files import load_catalogue
from leaderboard.llm_facts.votes import CREATIVE, KINDS, kind_of, known_of, ratings_on, votes_agreement

N = 40
NAMES = [f"llm-{number}" for number in range(N)]
SCORES = dict(zip(NAMES, np.linspace(0, 1, N).tolist(), strict=True))


def rated(ratings: Mapping[str, np.ndarray], differs: int = 0) -> Catalogue:
    """LLMs rated by category; the first ``differs`` of them under other conditions."""
    llms = []
    for row, name in enumerate(NAMES):
        by = {category: Rating(values[row], 0, 0) for category, values in ratings.items()}
        words = "rated at high effort" if row < differs else ""
        llms.append(LLMFacts(name, name, ratings=Fact(HumanRatings(name, words, by), "us", "2026-01")))
    return Catalogue.of(llms)


def noisy(error: float, seed: int = 0) -> np.ndarray:
    return np.arange(N) + np.random.default_rng(seed).normal(0, error, N)


def test_one_kind_that_is_surely_the_closest_is_named_with_how_many_llms() -> None:
    far = {kind: noisy(40, seed) for seed, kind in enumerate(KINDS) if kind != "creative_writing"}
    found = votes_agreement(SCORES, rated({OVERALL: noisy(5), "creative_writing": noisy(1), **far}))

    assert (
        found.sentence()
        == "Your ranking agrees most with the votes on creative writing (ρ = 1.00 on 40 LLMs)."
    )
    assert found.unclear == ()
    assert found.overall.n == N
    assert found.date == "2026-01"


def test_a_kind_that_is_not_surely_closer_than_another_is_said_with_that() -> None:
    found = votes_agreement(
        SCORES, rated({"creative_writing": noisy(3, 1), "coding": noisy(3, 2), "math": noisy(60, 3)})
    )
    assert found.surely_less == ("maths",)
    assert (found.sentence() or "").endswith(
        ("though not clearly more than with those on creative writing.", "those on coding.")
    )


def test_kinds_that_are_all_alike_are_called_so() -> None:
    found = votes_agreement(SCORES, rated({"coding": noisy(3, 2), "math": noisy(3, 3)}))
    assert "on all kinds of question alike" in (found.sentence("This ranking") or "")


def test_a_ranking_without_relation_to_the_votes_is_not_said_to_agree() -> None:
    shuffled = {"coding": np.random.default_rng(3).permutation(N) * 1.0, "math": noisy(1)[::-1]}
    found = votes_agreement(SCORES, rated(shuffled))
    assert (found.sentence() or "").startswith(
        "Your ranking does not clearly agree with the votes on any kind of question (closest: "
    )


def test_a_ranking_against_the_votes_is_called_so() -> None:
    found = votes_agreement(SCORES, rated({"coding": noisy(3)[::-1], "math": noisy(9)[::-1]}))
    assert (found.sentence() or "").startswith(
        "Your ranking runs against the votes on every kind of question"
    )
    assert "ρ = −0." in (found.sentence() or "")


def test_nothing_is_said_of_fewer_than_ten_llms() -> None:
    few = dict(list(SCORES.items())[:9])
    found = votes_agreement(few, rated({OVERALL: noisy(1), "coding": noisy(1), "math": noisy(2)}))
    assert (found.sentence(), found.overall.rho, found.overall.n) == (None, None, 9)
    assert votes_agreement({}, rated({})).sentence() is None


def test_ratings_under_other_conditions_count_only_if_asked_for() -> None:
    catalogue = rated({OVERALL: noisy(1), "coding": noisy(1), "math": noisy(2)}, differs=7)
    assert votes_agreement(SCORES, catalogue).overall.n == N - 7
    assert votes_agreement(SCORES, catalogue, near=True).overall.n == N


def test_an_unranked_llm_and_one_without_rating_are_left_out() -> None:
    scores = {**SCORES, NAMES[0]: np.nan, "unheard-of": 0.5}
    assert votes_agreement(scores, rated({OVERALL: noisy(1)})).overall.n == N - 1


def test_a_kind_with_few_votes_does_not_take_llms_from_the_comparison() -> None:
    scarce = np.where(np.arange(N) < 20, np.nan, noisy(1))
    catalogue = rated({"coding": noisy(2), "math": noisy(3), "if": noisy(3, 1)})
    llms = [
        LLMFacts(llm.name, llm.name, ratings=llm.ratings if row < 20 else scarce_too(llm, scarce[row]))
        for row, llm in enumerate(catalogue)
    ]
    found = votes_agreement(SCORES, Catalogue.of(llms))
    assert found.closest is not None
    assert found.closest.n == N
    assert next(kind.n for kind in found.kinds if kind.category == "long_user") == 20


def scarce_too(llm: LLMFacts, rating: float) -> Fact[HumanRatings]:
    assert llm.ratings is not None
    by = {**llm.ratings.value.by_category, "long_user": Rating(rating, 0, 0)}
    return Fact(HumanRatings(llm.name, "", by), "us", "2026-01")


def test_bundled_ratings_have_every_kind() -> None:
    categories = {
        category
        for llm in load_catalogue()
        if llm.ratings is not None
        for category in llm.ratings.value.by_category
    }
    assert {OVERALL, *KINDS} <= categories


@pytest.mark.parametrize(("sign", "expected"), [(1, 1.0), (-1, -1.0)])
def test_the_overall_votes_agree_with_themselves(sign: int, expected: float) -> None:
    catalogue = load_catalogue()
    own = {
        llm.name: sign * llm.ratings.value.by_category[OVERALL].rating
        for llm in catalogue
        if llm.ratings is not None
    }
    found = votes_agreement(own, catalogue)
    assert found.overall.rho == pytest.approx(expected)
    assert found.overall.n >= 80


def test_categories_of_fiction_go_by_the_votes_on_creative_writing() -> None:
    creative = [
        "Stories: fantasy",
        "Story plans",
        "Political satire and fiction",
        "Poetry",
        "Creative Writing",
    ]

    assert {kind_of(category) for category in creative} == {CREATIVE}
    assert {kind_of(category) for category in ("History", "Riddles", "Recreation")} == {OVERALL}


def test_who_has_no_votes_on_a_kind_of_question_is_taken_by_all_votes() -> None:
    catalogue = load_catalogue()
    llms = [*catalogue.llms, "nobody's"]
    overall, creative = (ratings_on(kind, llms, catalogue) for kind in (OVERALL, CREATIVE))

    np.testing.assert_array_equal(np.isnan(overall), np.isnan(creative))
    assert np.isnan(creative[-1])
    assert 0 < np.nanmax(np.abs(creative - overall)) < 100


def test_what_is_known_of_an_llm_is_in_comparable_numbers() -> None:
    catalogue = Catalogue.of(
        [
            LLMFacts(
                "open",
                "Open",
                parameters=Fact(70.0, "us", "2026"),
                open_weights=Fact(True, "us", "2026"),
                released=Fact("2025-07-01", "us", "2026"),
                alpaca_eval=Fact(50.0, "us", "2026"),
            ),
            LLMFacts(
                "closed",
                "Closed",
                open_weights=Fact(False, "us", "2026"),
                released=Fact("2025", "us", "2026"),
            ),
            LLMFacts("monthly", "Monthly", released=Fact("2025-01", "us", "2026")),
        ]
    )
    nothing = np.nan
    known = known_of(["open", "closed", "monthly", "nobody"], catalogue)

    np.testing.assert_allclose(
        known,
        [
            (np.log(70.0), 1.0, 2025.5, 0.0),
            (nothing, 0.0, 2025.5, nothing),
            (nothing, nothing, 2025 + 0.5 / 12, nothing),
            (nothing, nothing, nothing, nothing),
        ],
    )
