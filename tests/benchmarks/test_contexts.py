import numpy as np
import pytest

from benchmarks._contexts import (
    COMMON,
    OWN,
    RELEVANT,
    Attributes,
    Person,
    Profile,
    Wish,
    held_out_wordings,
    passive_option,
    spread_by_context,
)
from crm.criteria import Criterion, Polarity, Weight
from crm.data.taxonomy import criterion_clusters
from crm.embedded.model import embedded_crm
from leaderboard.elicitation.interview import NO_PREFERENCE, InterviewQuestion
from leaderboard.elicitation.library import criterion_library
from leaderboard.elicitation.margins import CriterionMargins, benchmark_margins
from leaderboard.service import Service

K = 12
ATTRIBUTES = Attributes(
    {place: (f"wish {place} so", f"wish {place} or so") for place in range(K)},
    {"Recipes": tuple(range(8)), "Poems": tuple(range(4, K)), "Games": tuple(range(2, 10))},
)
# The first option says 0 and 1, the second 2 and not 1, the third 3.
QUESTION = InterviewQuestion(
    "Which?",
    ("first", "second", "third", NO_PREFERENCE),
    np.array([[1, 1, 0, 0], [0, -1, 1, 0], [0, 0, 0, 1], [0, 0, 0, 0]], dtype=np.float32),
)


@pytest.fixture(scope="module")
def people() -> list[Person]:
    return [ATTRIBUTES.person(np.random.default_rng(seed)) for seed in range(60)]


@pytest.mark.parametrize(
    ("wants", "option"),
    [
        ((0.6, 0.0, 0.4, 0.0), "first"),
        ((0.4, 0.0, 0.6, 0.0), "second"),
        ((0.0, -1.0, 0.0, 0.0), "second"),
        ((0.0, 0.0, 0.0, 0.1), "third"),
        ((0.0, 0.0, 0.0, -1.0), NO_PREFERENCE),
        ((-1.0, 0.0, 0.0, 0.0), NO_PREFERENCE),
        ((0.5, -0.5, 0.0, 0.0), "second"),
        ((0.0, 0.0, 0.0, 0.0), NO_PREFERENCE),
    ],
)
def test_a_passive_user_takes_what_says_their_wish_and_nothing_else(
    wants: tuple[float, ...], option: str
) -> None:
    assert QUESTION.options[passive_option(np.array(wants), QUESTION)] == option


def test_weights_of_a_profile_sum_to_1_and_signs_are_polarities() -> None:
    profile = Profile(
        (
            Wish(3, Criterion("a", Weight.ESSENTIAL), common=True),
            Wish(0, Criterion("b", Weight.OPTIONAL, Polarity.AVOID), common=False),
            Wish(1, Criterion("c", Weight.IMPORTANT), common=False),
        )
    )

    np.testing.assert_allclose(profile.weights, [0.5, 0.15, 0.35])
    np.testing.assert_allclose(profile.signed(4), [-0.15, 0.35, 0, 0.5])
    assert [str(each) for each in profile.criteria] == ["a", "Avoid: b", "c"]


def test_people_have_a_common_part_and_others_of_each_context(people: list[Person]) -> None:
    for person in people:
        assert person.profiles.keys() == {"Recipes", "Poems", "Games"}
        commons = {tuple(wish for wish in each.wishes if wish.common) for each in person.profiles.values()}
        assert len(commons) == 1  # the same everywhere, words and weights included
        [common] = commons
        assert COMMON[0] <= len(common) <= COMMON[1]
        for name, profile in person.profiles.items():
            own = [wish for wish in profile.wishes if not wish.common]
            assert OWN[0] <= len(own) <= OWN[1]
            assert {wish.attribute for wish in profile.wishes} <= set(ATTRIBUTES.relevant[name])
            assert len({wish.attribute for wish in profile.wishes}) == len(profile.wishes)
            assert len(profile.criteria) == len(profile.wishes) == len(profile.weights)
            assert profile.weights.sum() == pytest.approx(1)


def test_contexts_of_a_person_differ_and_some_wishes_turn_round(people: list[Person]) -> None:
    differ = [len({each.criteria for each in person.profiles.values()}) > 1 for person in people]
    turned = [min(one.profiles["Recipes"].signed(K) * one.profiles["Games"].signed(K)) < 0 for one in people]

    assert all(differ)
    assert any(turned)


def test_what_is_wanted_on_the_whole_is_the_mean_of_the_contexts(people: list[Person]) -> None:
    expected = np.mean([each.signed(K) for each in people[0].profiles.values()], axis=0)

    np.testing.assert_allclose(people[0].overall(K), expected)


def test_what_is_wanted_everywhere_is_the_common_part(people: list[Person]) -> None:
    for person in people:
        wants = person.everywhere(K)
        wishes = next(iter(person.profiles.values())).wishes
        assert set(np.flatnonzero(wants)) == {wish.attribute for wish in wishes if wish.common}
        assert np.abs(wants).sum() == pytest.approx(1)


def test_only_what_is_relevant_everywhere_is_common() -> None:
    assert ATTRIBUTES.everywhere == (4, 5, 6, 7)


def test_spread_is_of_the_responses_to_a_query_in_the_context() -> None:
    # Two responses to each of three queries, 4 apart, 2 apart and alike; levels of queries do not count.
    values = np.array([[[2.0, 0.0], [11.0, 0.0], [7.0, 0.0]], [[-2.0, 0.0], [9.0, 0.0], [7.0, 0.0]]])
    margins = CriterionMargins(values.astype(np.float32), np.ones((2, 3), np.bool_))

    spread = spread_by_context(margins, np.array([0, 1, 2]), 4)
    np.testing.assert_allclose(spread[:, 0], [2, 1, 0, 0])
    assert spread[0, 0] > RELEVANT


def test_wordings_are_held_out_of_the_attributes_cluster_and_not_the_librarys(service: Service) -> None:
    benchmark, crm = service.benchmark("dailybench"), embedded_crm()
    library = [item.criterion.text for item in criterion_library()]
    found = held_out_wordings(benchmark, crm, benchmark_margins(benchmark, crm), most=60)
    texts = [text for own in found.values() for text in own]

    assert len(texts) >= 10
    assert len(set(texts)) == len(texts)
    assert set(texts).isdisjoint(library)
    clusters = criterion_clusters()
    for place, own in found.items():
        [cluster, *others] = clusters.assigned([library[place], *own])
        assert set(others) == {cluster}
