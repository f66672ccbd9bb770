"""The training of what tells which numbers in wishes are limits."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks.everyday_wishes import WISHES as HELD_OUT
from benchmarks.limit_readings import WISHES as MEASURED
from benchmarks.limit_readings import read_limited_wishes
from crm.embedded.limit_cues import Kind, LimitReader
from crm.embedded.limits import limit_in
from crm.embedded.numerals import numerals
from crm.errors import CRMError
from crm.training.concepts import Wish
from crm.training.limits import LimitWish, fit_limits, limits_among, read_limit_wishes, share_read_right

_THINGS = ("words", "links", "tables", "jokes", "steps", "quotes")
WISHES = [
    *(LimitWish(f"{number} {thing} will do", None, number) for number in (3, 40) for thing in _THINGS),
    *(
        LimitWish(f"give me {number} {thing} or I leave", number, None)
        for number in (3, 40)
        for thing in _THINGS
    ),
    *(LimitWish(f"my {number} kids like {thing}", None, None) for number in (3, 40) for thing in _THINGS),
    *(LimitWish(f"{number} {thing}, sharp", number, number) for number in (3, 40) for thing in _THINGS),
]


@pytest.fixture(scope="module")
def reader() -> LimitReader:
    return fit_limits(WISHES)


def test_limits_are_learnt_from_wishes(reader: LimitReader) -> None:
    assert share_read_right(reader, WISHES) == 1.0
    others = [
        LimitWish("7 riddles will do", None, 7),
        LimitWish("give me 7 riddles or I leave", 7, None),
        LimitWish("my 7 kids like riddles", None, None),
    ]
    assert share_read_right(reader, others) == 1.0
    assert share_read_right(reader, [LimitWish("7 riddles will do", 7, None)]) == 0.0


def test_the_same_wishes_give_the_same_model_and_a_file_keeps_it(reader: LimitReader) -> None:
    np.testing.assert_array_equal(reader.weight, fit_limits(WISHES).weight)
    kept = LimitReader.from_arrays(reader.arrays())
    assert limit_in("40 jokes will do", kept) == limit_in("40 jokes will do", reader)


@pytest.mark.parametrize(
    ("wish", "kinds"),
    [
        (LimitWish("under 100 words, not 500", None, 99), [Kind.FEWER, Kind.NONE]),
        (LimitWish("one is fine, two at most", None, 2), [Kind.NONE, Kind.MOST]),
        (LimitWish("3 to 5", 3, 5), [Kind.WITHIN, Kind.WITHIN]),
        (LimitWish("more than 2", 3, None), [Kind.MORE]),
        (LimitWish("I am 8", None, None), [Kind.NONE]),
    ],
)
def test_each_number_has_its_kind(wish: LimitWish, kinds: list[Kind]) -> None:
    assert wish.kinds(numerals(wish.plain)) == kinds


def test_limits_of_countable_wishes_are_among_them() -> None:
    wishes = [
        Wish("two at most", "tables", limit="<=2"),
        Wish("about 7", "tables", limit="~7"),
        Wish("no tables", "tables", more=False),
    ]
    assert limits_among(wishes) == [LimitWish("two at most", None, 2), LimitWish("about 7", 7, 7)]


@pytest.mark.parametrize("line", ["two tables", "two tables\t2", "two tables\ttwo\t-", "two\ttables\t2\t2"])
def test_a_line_that_is_not_as_described_is_named(line: str, tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text(f"one table\t1\t1\n{line}\n", encoding="utf-8")
    with pytest.raises(CRMError, match=r"a\.tsv, row 2: write wish, least and most amount"):
        read_limit_wishes(tmp_path)


def test_a_folder_without_wishes_is_said(tmp_path: Path) -> None:
    with pytest.raises(CRMError, match="has no wishes"):
        read_limit_wishes(tmp_path)


def test_no_wish_that_is_measured_by_was_learnt_from() -> None:
    learnt = {wish.text.casefold() for wish in read_limit_wishes()}
    held_out = HELD_OUT.read_text("utf-8").casefold()
    assert len(learnt) > 5000
    assert not learnt & {text.casefold() for _, text, _ in read_limited_wishes(MEASURED)}
    assert not [text for text in learnt if f'"{text}"' in held_out]
