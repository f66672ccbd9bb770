import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crm.criteria import CriteriaSet, Criterion, Polarity, Weight
from crm.data.noise import Noise, Noiser, Strength

CLUSTERS = {f"wish {number}": number // 4 for number in range(40)}
NOISER = Noiser(CLUSTERS)

single = st.builds(Criterion, st.sampled_from(list(CLUSTERS)), st.sampled_from(Weight))
lists = st.lists(single, max_size=7, unique_by=lambda item: item.text)
seeds = st.integers(0, 2**32 - 1)


@st.composite
def two_sides(draw: st.DrawFn) -> tuple[CriteriaSet, CriteriaSet]:
    """The criteria of a pair's two sides; no criterion speaks for both."""
    first, second = draw(lists), draw(lists)
    taken = {item.text for item in first}
    return CriteriaSet(tuple(first)), CriteriaSet(tuple(item for item in second if item.text not in taken))


def weight(criteria: CriteriaSet) -> float:
    return sum(item.weight.value_in_sum for item in criteria)


def texts(criteria: CriteriaSet) -> list[str]:
    return [item.text for item in criteria]


def noised(sides: tuple[CriteriaSet, CriteriaSet], noise: Noise, seed: int) -> CriteriaSet:
    return NOISER.noised(*sides, noise, np.random.default_rng(seed))


@given(two_sides(), st.sampled_from(Noise), seeds)
def test_the_same_seed_gives_the_same_list(
    sides: tuple[CriteriaSet, CriteriaSet], noise: Noise, seed: int
) -> None:
    assert noised(sides, noise, seed) == noised(sides, noise, seed)


@given(two_sides(), seeds)
def test_none_changes_nothing(sides: tuple[CriteriaSet, CriteriaSet], seed: int) -> None:
    assert noised(sides, Noise.NONE, seed) == sides[0]


@given(two_sides(), seeds)
def test_removal_leaves_the_majority_of_the_weight_in_its_order(
    sides: tuple[CriteriaSet, CriteriaSet], seed: int
) -> None:
    left = noised(sides, Noise.REMOVE, seed)

    assert list(left) == [item for item in sides[0] if item in left.criteria]
    assert weight(left) > weight(sides[0]) / 2 or not sides[0]


@given(two_sides(), seeds)
def test_addition_keeps_the_list_and_adds_nothing_of_the_opposite_clusters(
    sides: tuple[CriteriaSet, CriteriaSet], seed: int
) -> None:
    criteria, opposite = sides
    more = noised(sides, Noise.ADD, seed)
    added = [item for item in more if item not in criteria.criteria]

    assert [item for item in more if item in criteria.criteria] == list(criteria)
    assert sum(item.weight.value_in_sum for item in added) <= weight(criteria) / 2 + 1e-9
    assert {CLUSTERS[item.text] for item in added}.isdisjoint(CLUSTERS[item.text] for item in opposite)


@given(two_sides(), seeds)
def test_replacement_leaves_the_strict_majority_and_takes_from_the_opposite(
    sides: tuple[CriteriaSet, CriteriaSet], seed: int
) -> None:
    criteria, opposite = sides
    mixed = noised(sides, Noise.REPLACE, seed)
    swapped = [(old, new) for old, new in zip(criteria, mixed, strict=True) if old != new]

    assert {new.text for _, new in swapped} <= set(texts(opposite))
    assert all(old.weight == new.weight for old, new in swapped)
    if criteria:
        kept = weight(criteria) - sum(old.weight.value_in_sum for old, _ in swapped)
        assert kept > weight(criteria) / 2


@pytest.mark.parametrize(
    ("noise", "lengths"),
    [
        (Noise.REMOVE, [0, 1, 2, 2, 3, 3, 4]),
        (Noise.ADD, [0, 1, 3, 4, 6, 7, 9]),
        (Noise.REPLACE, [0, 1, 2, 3, 4, 5, 6]),
    ],
)
def test_lengths_of_lists_of_equal_weight(noise: Noise, lengths: list[int]) -> None:
    opposite = CriteriaSet.of([f"wish {number}" for number in range(30, 37)])
    for length, expected in enumerate(lengths):
        criteria = CriteriaSet.of([f"wish {number}" for number in range(length)])
        assert len(noised((criteria, opposite), noise, seed=3)) == expected


@pytest.mark.parametrize(("length", "swapped"), [(1, 0), (2, 0), (3, 1), (4, 1), (5, 2), (7, 3)])
def test_as_many_are_swapped_as_leave_a_majority(length: int, swapped: int) -> None:
    criteria = CriteriaSet.of([f"wish {number}" for number in range(length)])
    opposite = CriteriaSet.of([f"wish {number}" for number in range(30, 37)])
    mixed = noised((criteria, opposite), Noise.REPLACE, seed=5)

    assert len(set(texts(mixed)) & set(texts(opposite))) == swapped


PAPER = Noiser(CLUSTERS, strength=Strength.PAPER)


@pytest.mark.parametrize(
    ("length", "kept", "added", "swapped"),
    [(0, 0, 0, 0), (1, 1, 0, 0), (2, 1, 1, 0), (3, 1, 1, 0), (4, 2, 2, 1), (5, 2, 2, 1), (7, 3, 3, 2)],
)
def test_in_the_papers_strength_as_many_go_as_in_its_experiments(
    length: int, kept: int, added: int, swapped: int
) -> None:
    criteria = CriteriaSet.of([f"wish {number}" for number in range(length)])
    opposite = CriteriaSet.of([f"wish {number}" for number in range(30, 37)])
    removed, more, mixed = (
        PAPER.noised(criteria, opposite, noise, np.random.default_rng(5))
        for noise in (Noise.REMOVE, Noise.ADD, Noise.REPLACE)
    )

    assert len(removed) == kept
    assert list(removed) == [item for item in criteria if item in removed.criteria]
    assert len(more) == length + added
    assert len(mixed) == length
    assert len(set(texts(mixed)) & set(texts(opposite))) == swapped


@given(two_sides(), seeds)
def test_in_the_papers_strength_too_replacement_leaves_the_strict_majority_of_the_weight(
    sides: tuple[CriteriaSet, CriteriaSet], seed: int
) -> None:
    mixed = PAPER.noised(*sides, Noise.REPLACE, np.random.default_rng(seed))
    kept = sum(item.weight.value_in_sum for item in mixed if item in sides[0].criteria)

    assert kept > weight(sides[0]) / 2 or not sides[0]


LISTS = [CriteriaSet.of([f"wish {number}" for number in range(length)]) for length in (1, 2, 3, 4)]
OTHER = CriteriaSet.of(["wish 30", "wish 31"])


@pytest.mark.parametrize(
    ("strength", "unchanged"),
    [
        (Strength.STRICT_MAJORITY, {Noise.REMOVE: 2, Noise.ADD: 1, Noise.REPLACE: 3}),
        (Strength.PAPER, {Noise.REMOVE: 1, Noise.ADD: 1, Noise.REPLACE: 3}),
    ],
)
def test_every_noise_says_how_many_lists_it_leaves_as_they_are(
    strength: Strength, unchanged: dict[Noise, int]
) -> None:
    noiser = Noiser(CLUSTERS, strength=strength)
    sides = [(own, OTHER if len(own) != 3 else CriteriaSet()) for own in LISTS]
    reach = noiser.reach(sides, Noise.RANDOM)

    assert (reach.lists, reach.one_sided, reach.unchanged) == (4, 1, unchanged)
    assert noiser.reach(sides, Noise.REPLACE).unchanged == {Noise.REPLACE: 3}
    assert noiser.reach(sides, Noise.NONE).unchanged == {}


def test_what_noise_cannot_be_applied_to_is_one_sentence() -> None:
    sides = [(own, CriteriaSet()) for own in LISTS]
    told = "noise (strict-majority) leaves of 4 criteria lists as they are: remove 2, add 1, replace 4"

    assert str(NOISER.reach(sides, Noise.RANDOM)) == f"{told}; 4 have no list of the other side"
    assert str(NOISER.reach([(LISTS[3], OTHER)], Noise.ADD)) == (
        "noise (strict-majority) leaves of 1 criteria lists as they are: add 0"
    )


def test_a_criterion_to_avoid_stays_one_when_it_is_swapped_in() -> None:
    criteria = CriteriaSet.of(["wish 1", "wish 2", "wish 3"])
    opposite = CriteriaSet.of([], ["wish 30"])
    mixed = noised((criteria, opposite), Noise.REPLACE, seed=0)

    assert [item.polarity for item in mixed if item.text == "wish 30"] == [Polarity.AVOID]


def test_random_draws_every_noise() -> None:
    criteria = CriteriaSet.of(["wish 1", "wish 2", "wish 3"])
    opposite = CriteriaSet.of(["wish 30", "wish 31"])
    rng = np.random.default_rng(0)
    seen = set()
    for _ in range(60):
        result = NOISER.noised(criteria, opposite, Noise.RANDOM, rng)
        seen.add((len(result), "wish 30" in texts(result) or "wish 31" in texts(result)))

    assert seen == {(3, False), (2, False), (4, False), (3, True)}


def test_only_the_pool_is_added() -> None:
    pool = [Criterion("slang", polarity=Polarity.AVOID)]
    criteria = CriteriaSet.of(["wish 1", "wish 2"])
    added = Noiser(CLUSTERS, pool).noised(criteria, CriteriaSet(), Noise.ADD, np.random.default_rng(0))

    assert set(added) - set(criteria) == set(pool)


def test_nothing_is_added_where_the_opposite_covers_the_pool() -> None:
    criteria, opposite = CriteriaSet.of(["wish 1", "wish 2"]), CriteriaSet.of(["wish 4"])
    pool = [Criterion("wish 5"), Criterion("wish 6"), Criterion("wish 1")]
    rng = np.random.default_rng(0)

    assert Noiser(CLUSTERS, pool).noised(criteria, opposite, Noise.ADD, rng) == criteria
    assert Noiser({}, []).noised(criteria, opposite, Noise.ADD, rng) == criteria
