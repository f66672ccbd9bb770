"""The wishes by which is measured what the judge leaves out."""

import re
from pathlib import Path

import pytest

from benchmarks.refused_wishes import WISHES, WishOfKind, left_out, read_wishes_of_kinds
from crm.embedded.model import embedded_crm
from crm.embedded.validity import JUDGEABLE
from crm.errors import CRMError
from crm.training.safeguards import read_wishes


def _plain(text: str) -> str:
    return re.sub(r"\W+", " ", text.casefold()).strip()


def test_nothing_is_trained_on_them() -> None:
    trained = set(map(_plain, read_wishes()[0]))
    all_wishes = [wish for file in WISHES for wish in read_wishes_of_kinds(file)]
    wishes = [wish for wish in all_wishes if len(wish.text.split()) > 3]

    assert len(wishes) > 300
    assert not {_plain(wish.text) for wish in wishes} & trained


@pytest.mark.parametrize("line", ["truth", "truth\t", "beauty\tlovely", "no made up stuff"])
def test_a_line_that_is_none_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "wishes.tsv"
    path.write_text(f"{JUDGEABLE}\twitty\n{line}\n", "utf-8")

    with pytest.raises(CRMError, match=r"wishes\.tsv, row 2: write a kind and a wish"):
        read_wishes_of_kinds(path)


def test_near_misses_are_told_from_what_no_text_shows() -> None:
    wishes = [
        WishOfKind("truth", "every court case it cites has to have been decided for real"),
        WishOfKind(JUDGEABLE, "cites a court case or two"),
        WishOfKind("process", "answers within two seconds"),
        WishOfKind(JUDGEABLE, "gets to the point within two sentences"),
    ]

    assert left_out(embedded_crm(), wishes) == [True, False, True, False]
