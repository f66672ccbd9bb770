"""The odd wishes by which the reading is measured, and what counts as meant."""

import re
from pathlib import Path

import numpy as np
import pytest

from benchmarks.odd_wishes import LIMITS, WISHES, OddWish, likenesses, read_limits_and_more, read_odd_wishes
from crm.embedded.concepts import concept_names
from crm.embedded.counts import count_names
from crm.embedded.limits import Limit
from crm.errors import CRMError
from crm.training.concepts import read_concept_wishes
from crm.training.mixtures import read_weighed_wishes
from crm.training.reliability import MEANT


def _plain(text: str) -> str:
    return re.sub(r"\W+", " ", text.casefold()).strip()


def test_no_judge_is_trained_on_them() -> None:
    later = read_odd_wishes(WISHES.with_name("odd_later.tsv"))
    wishes = [*read_odd_wishes(WISHES), *later, *(each.more for each in read_limits_and_more(LIMITS))]

    assert len(wishes) > 710
    weighed = [*read_weighed_wishes(), *read_weighed_wishes(MEANT)]
    trained = {_plain(wish.text) for wish in (*read_concept_wishes(), *weighed)}
    assert not {_plain(wish.text) for wish in wishes} & trained


def test_each_is_of_known_concepts_and_counts() -> None:
    odd, limited = read_odd_wishes(WISHES), read_limits_and_more(LIMITS)

    assert {concept for wish in odd for concept in wish.weights} <= set(concept_names())
    assert {each.count for each in limited} <= set(count_names())
    assert {each.more.kind for each in limited} == {"wish", "-", "?"}


def test_a_wish_is_as_near_to_what_is_meant_as_both_prefer_the_same() -> None:
    margins = np.random.default_rng(0).standard_normal((50, len(concept_names())))
    funny, warm = (concept_names().index(name) for name in ("funny", "warm"))
    meant = [OddWish("", "a laugh", {"funny": 2.0}), OddWish("", "not warm", {"warm": -3.0})]
    prefers = np.stack([margins[:, funny], margins[:, warm]], axis=1)

    np.testing.assert_allclose(likenesses(prefers, margins, meant), [1.0, -1.0])


def test_a_file_is_read_and_a_malformed_line_named(tmp_path: Path) -> None:
    odd, limited = tmp_path / "odd.tsv", tmp_path / "limits.tsv"
    odd.write_text("image\tsoup\t0\twarm:3 funny:-1\nimage\tsoup\t4\twarm:3\n", "utf-8")
    limited.write_text("two words, warm\twords\t2\t2\twarm:3\ntwo words\twords\ttwo\t2\t-\n", "utf-8")

    for read, path in ((read_odd_wishes, odd), (read_limits_and_more, limited)):
        with pytest.raises(CRMError, match=rf"{path.name}, row 2: write"):
            read(path)
        path.write_text(path.read_text("utf-8").splitlines()[0], "utf-8")
    assert read_odd_wishes(odd) == [OddWish("image", "soup", {"warm": 3.0, "funny": -1.0})]
    [one] = read_limits_and_more(limited)
    assert (one.count, one.limit, one.more.weights) == ("words", Limit(2.0, 2.0), {"warm": 3.0})
