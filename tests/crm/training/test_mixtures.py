import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.everyday_wishes import WISHES as HELD_OUT
from benchmarks.graded_llms import GRADED, read_graded_wishes
from crm.embedded.concepts import concept_names as bundled_names
from crm.errors import CRMError
from crm.training.mixtures import (
    MixtureOptions,
    ReadWishes,
    WeighedWish,
    agreement,
    fit_mixtures,
    likeness_of,
    read_weighed_wishes,
)

NAMES = ("tables", "funny", "warm")
GRANDMA, PUB = (("tables", 2.0), ("funny", -1.0)), (("funny", 3.0), ("warm", 1.0))
WEIGHED = [
    *(WeighedWish(f"{each} for my grandma", GRANDMA, 0.0, typed=True) for each in "abcd"),
    *(WeighedWish(f"{each} at the pub", PUB, 2 / 3, typed=False) for each in "abcd"),
    WeighedWish("who wrote this", (), 1.0, typed=False),
]
_RNG = np.random.default_rng(0)
_KINDS = np.repeat(_RNG.standard_normal((3, 8)), (4, 4, 1), axis=0)
READ = ReadWishes(
    (_KINDS + 0.1 * _RNG.standard_normal(_KINDS.shape)).astype(np.float32),
    np.tile(np.array([1.0, 0.0, 0.0], dtype=np.float32), (9, 1)),
)
OPTIONS = MixtureOptions(members=2, hidden=16, epochs=80, batch=4, dropped=(0.0, 0.0))


def test_mixtures_are_learnt_from_what_readers_weighed() -> None:
    likeness = np.eye(3, dtype=np.float32)
    fitted = fit_mixtures(READ, WEIGHED, NAMES, likeness, OPTIONS)
    found = fitted.read(READ.vectors, READ.named)

    agreed = agreement(found[:, :-2], WEIGHED, NAMES, likeness)
    assert np.nanmin(agreed) > 0.95
    assert np.isnan(agreed[-1])
    assert np.nanmax(agreement(READ.named[4:], WEIGHED[4:], NAMES, likeness)) == 0.0
    np.testing.assert_allclose(found[:8, -2], [wish.unsaid for wish in WEIGHED[:8]], atol=0.2)


def test_several_heads_are_one_that_gives_their_mean_and_the_same_seed_gives_the_same() -> None:
    likeness = np.eye(3, dtype=np.float32)
    both = fit_mixtures(READ, WEIGHED, NAMES, likeness, replace(OPTIONS, epochs=2))
    each = [
        fit_mixtures(READ, WEIGHED, NAMES, likeness, replace(OPTIONS, epochs=2, members=1, seed=seed))
        for seed in (0, 1)
    ]
    assert both.hidden_weight.shape == (8 + 3, 2 * 16)
    mean = np.mean([head.output_weight for head in each], axis=0)
    np.testing.assert_allclose(both.output_weight.reshape(2, 16, 4).sum(axis=0), mean, atol=1e-6)
    np.testing.assert_array_equal(
        each[1].direct_weight,
        fit_mixtures(
            READ, WEIGHED, NAMES, likeness, replace(OPTIONS, epochs=2, members=1, seed=1)
        ).direct_weight,
    )


def test_likeness_is_by_what_is_preferred() -> None:
    margins = np.array([[1.0, 2.0, 0.0], [-1.0, -2.0, 0.1], [2.0, 4.0, -0.1]], dtype=np.float32)
    likeness = likeness_of(margins)
    np.testing.assert_allclose(likeness, likeness.T)
    assert likeness[0, 1] > 0.5
    assert abs(likeness[0, 2]) < 0.1


def test_an_unknown_concept_is_named() -> None:
    with pytest.raises(CRMError, match="“odd” names the concept tabels, which there is not"):
        agreement(
            np.ones((1, 1), dtype=np.float32),
            [WeighedWish("odd", (("tabels", 1.0),), 0.0, typed=True)],
            ["tables"],
            np.eye(1, dtype=np.float32),
        )


@pytest.mark.parametrize(
    "line", ["warm\twarm:3\t0", "warm\t0\twarm:4", "warm\t0\t", "warm\t4\twarm:1", "warm\t0"]
)
def test_a_line_that_is_none_is_named(tmp_path: Path, line: str) -> None:
    (tmp_path / "typed.tsv").write_text(f"kind\t0\twarm:3 blunt:-1\n{line}\n", "utf-8")
    with pytest.raises(CRMError, match=r"typed\.tsv, row 2: write wish"):
        read_weighed_wishes(tmp_path)


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CRMError, match="has no weighed wishes"):
        read_weighed_wishes(tmp_path)


def _plain(text: str) -> str:
    return re.sub(r"\W+", " ", text.casefold()).strip()


def test_the_bundled_weighed_wishes_are_known_concepts_and_no_wish_of_a_benchmark() -> None:
    weighed = read_weighed_wishes()
    assert len(weighed) > 9_000
    assert {concept for wish in weighed for concept, _ in wish.weights} <= set(bundled_names())
    texts = {_plain(wish.text) for wish in weighed}
    assert len(texts) > 0.99 * len(weighed)
    later = GRADED.with_name("graded_llms_development.jsonl")
    graded = {_plain(wish.wish) for path in (GRADED, later) for wish in read_graded_wishes(path)}
    assert not graded & texts
    held = {_plain(each) for each in re.findall(r'"([^"]+)"', HELD_OUT.read_text("utf-8"))}
    assert not held & texts
