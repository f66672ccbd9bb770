"""The training of what foretells how often verdicts under a criterion are right."""

from dataclasses import replace

import numpy as np
import pytest

from crm.criteria import CriteriaSet, Criterion
from crm.data.pairs import Directions, LabelledPair
from crm.embedded.model import EmbeddedCRM, embedded_crm
from crm.embedded.reliability import OF_MEANING, SIGNS, ForetoldReliability, KindsOfReliability
from crm.errors import CRMError, UnavailableError
from crm.protocol import Pair
from crm.training.mixtures import WeighedWish
from crm.training.reliability import (
    SingleVerdicts,
    UnderstoodWishes,
    fit_meant,
    fit_reliability,
    found_meant,
    found_reliability,
    of_kinds,
    read_as_meant,
    single_verdicts,
)

N = 2000


@pytest.fixture(scope="module")
def drawn() -> tuple[SingleVerdicts, np.ndarray]:
    """Verdicts of which the first sign says how often they are right, and that share."""
    rng = np.random.default_rng(0)
    seen = rng.normal(3.0, 2.0, (N, len(SIGNS))).astype(np.float32)
    share = 1 / (1 + np.exp(-(seen[:, 0] - 3.0)))
    right = rng.random(N) < share
    return SingleVerdicts(seen, right, rng.integers(0, 50, N), rng.integers(0, 2, N)), share


def test_what_goes_with_right_verdicts_foretells_them(drawn: tuple[SingleVerdicts, np.ndarray]) -> None:
    verdicts, share = drawn
    fitted = fit_reliability(verdicts)

    assert np.abs(fitted.right(verdicts.seen) - share).mean() < 0.05
    assert np.abs(fitted.weight[0]) > 5 * np.abs(fitted.weight[1:-1]).max()


def test_it_is_measured_on_other_queries(drawn: tuple[SingleVerdicts, np.ndarray]) -> None:
    verdicts, _ = drawn
    found = found_reliability(verdicts)
    by_chance = found_reliability(
        replace(verdicts, right=np.random.default_rng(1).permutation(verdicts.right))
    )

    assert found.area > 0.8
    assert found.loss < found.loss_of_mean - 0.1
    assert by_chance.loss > by_chance.loss_of_mean - 0.005
    for mean, right in found.by_parts(verdicts.right):
        assert right.mean() == pytest.approx(mean, abs=0.08)


def test_kinds_that_nothing_was_judged_of_are_not_measured(
    drawn: tuple[SingleVerdicts, np.ndarray],
) -> None:
    verdicts, _ = drawn
    right = of_kinds(verdicts)

    assert right[0] == pytest.approx(verdicts.right[verdicts.kind == 0].mean())
    assert np.isnan(right[2])


def test_verdicts_that_are_all_right_say_nothing(drawn: tuple[SingleVerdicts, np.ndarray]) -> None:
    verdicts, _ = drawn
    with pytest.raises(CRMError, match="are alike"):
        fit_reliability(replace(verdicts, right=np.ones(N, dtype=bool)))
    with pytest.raises(CRMError, match="10 queries"):
        found_reliability(replace(verdicts, query=np.zeros(N, dtype=int)))


def _annotated(wish: str, contrary: str) -> Directions:
    pair = Pair("What is a bean?", "A seed. 🙂🙂🙂", "A seed.")
    one = LabelledPair(pair, CriteriaSet.of([wish]), 1.0)
    return one, replace(one, criteria=CriteriaSet.of([contrary]), label=-1.0)


def test_every_criterion_of_both_sides_is_judged_alone() -> None:
    judge = embedded_crm()
    verdicts = single_verdicts(judge, [_annotated("lots of emojis", "no emojis")])

    assert verdicts.right.tolist() == [True] * 2
    assert verdicts.query.tolist() == [0] * 2
    assert verdicts.seen.shape == (2, len(SIGNS))
    assert not np.allclose(verdicts.seen[0], verdicts.seen[1])


def test_weights_keep_what_was_fitted(drawn: tuple[SingleVerdicts, np.ndarray]) -> None:
    verdicts, _ = drawn
    fitted = fit_reliability(verdicts)
    kept = KindsOfReliability(np.full(3, 0.8), np.zeros(4), fitted)
    read = KindsOfReliability.from_arrays(kept.arrays())

    assert read is not None
    assert read.of(0, "", verdicts.seen[0]).right == pytest.approx(fitted.right(verdicts.seen[:1])[0])
    assert read.of(0, "").right == pytest.approx(0.8)


def test_a_plain_wish_is_trusted_more_than_one_that_nothing_is_known_of() -> None:
    judge = embedded_crm()
    plain, vague = (
        judge.reliability(Criterion(text)).right
        for text in ("formal language", "the sort of thing my uncle would nod at")
    )

    assert 0.5 < vague < plain - 0.05 < 0.95


@pytest.fixture(scope="module")
def heard() -> UnderstoodWishes:
    """Wishes that are the oftener read as they are meant, the surer they are read."""
    rng = np.random.default_rng(2)
    seen = rng.normal(0.8, 0.2, (N, len(SIGNS))).astype(np.float32)
    share = 1 / (1 + np.exp(-6 * (seen[:, SIGNS.index("strength")] - 0.6)))
    return UnderstoodWishes(seen, np.where(rng.random(N) < share, 0.5, -0.5).astype(np.float32))


def test_how_surely_wishes_are_read_foretells_how_often_they_are_as_meant(heard: UnderstoodWishes) -> None:
    foretold = found_meant(heard)
    sure = np.argsort(foretold)

    assert foretold.mean() == pytest.approx(heard.as_meant.mean(), abs=0.02)
    assert heard.as_meant[sure[: N // 4]].mean() < heard.as_meant[sure[-N // 4 :]].mean() - 0.3
    fitted = fit_meant(heard)
    assert np.flatnonzero(fitted.weight[:-1]).tolist() == sorted(OF_MEANING)


def test_wishes_that_are_all_read_as_meant_say_nothing(heard: UnderstoodWishes) -> None:
    with pytest.raises(CRMError, match="are read alike"):
        fit_meant(replace(heard, likeness=np.ones(N, dtype=np.float32)))


def test_wishes_are_read_as_their_writers_mean_them() -> None:
    plain = [WeighedWish("lots of jokes", (("funny", weight),), 0.0, typed=True) for weight in (3.0, -3.0)]
    read = read_as_meant(embedded_crm(), [*plain, WeighedWish("a good one", (), 1.0, typed=True)])

    assert read.as_meant.tolist() == [True, False]
    assert read.likeness[0] == pytest.approx(-read.likeness[1], abs=1e-4)


def test_what_may_be_read_the_wrong_way_round_is_trusted_less(
    drawn: tuple[SingleVerdicts, np.ndarray], heard: UnderstoodWishes
) -> None:
    verdicts, _ = drawn
    by_verdicts, seen = fit_reliability(verdicts), heard.seen[:200].copy()
    seen[:, 0] = 4.0
    kinds = KindsOfReliability(np.full(3, 0.8), np.zeros(4), by_verdicts, fit_meant(heard), 0.9)
    before = replace(kinds, meant=None)
    order = np.argsort(kinds.as_meant(seen))
    lost = [before.of(0, "", row).right - kinds.of(0, "", row).right for row in seen[order]]

    assert np.mean(lost[:50]) > 0.05
    assert lost[-1] == pytest.approx(0.0)
    assert all(kinds.of(0, "", row).right >= 0.5 for row in seen)
    unheard = seen[order[:1]].copy()
    unheard[:, SIGNS.index("mixed")] = 0.0
    assert kinds.as_meant(unheard) == 1.0
    read = KindsOfReliability.from_arrays(kinds.arrays())
    assert read is not None
    np.testing.assert_array_equal(read.as_meant(seen), kinds.as_meant(seen))
    assert read.usually_meant == pytest.approx(0.9)


def test_weights_of_other_signs_are_refused(drawn: tuple[SingleVerdicts, np.ndarray]) -> None:
    verdicts, _ = drawn
    fitted = fit_reliability(replace(verdicts, seen=verdicts.seen[:, 1:]))
    kept = KindsOfReliability(np.full(3, 0.8), np.zeros(4), fitted)

    with pytest.raises(UnavailableError, match="by other signs: fit it again"):
        KindsOfReliability.from_arrays(kept.arrays())


def test_it_does_not_depend_on_what_is_asked_beside_it() -> None:
    judge: EmbeddedCRM = embedded_crm()
    wishes = CriteriaSet.of(["warm", "uses tables", "Avoid: jokes"])
    together = judge.signs(wishes)

    assert together is not None
    for row, criterion in zip(together, wishes, strict=True):
        alone = judge.signs(CriteriaSet((criterion,)))
        assert alone is not None
        assert alone[0] == pytest.approx(row, abs=1e-4)


def test_foretold_shares_lie_between_none_and_all() -> None:
    fitted = ForetoldReliability(np.zeros(1), np.ones(1), np.array([2.0, 0.5]))

    assert fitted.right(np.array([[-50.0], [0.0], [50.0]])) == pytest.approx([0.0, 0.622, 1.0], abs=1e-3)
