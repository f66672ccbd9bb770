"""Curves of rankings that are corrected by votes."""

from pathlib import Path

from benchmarks.corrected_by_votes import _means, save_curves

ROWS = [
    ("criteria", "12 choices", "3", "the judge", "+19", "18", "48 %", "18", "0.58"),
    ("criteria", "50 choices", "22", "the judge", "+14", "14", "58 %", "18", "0.73"),
    ("criteria and favourites", "12 choices", "3", "the judge", "+16", "16", "44 %", "17", "0.62"),
    ("criteria", "blind tests", "25", "the judge", "+18", "29", "–", "–", "–"),
    ("criteria", "blind tests", "when convinced", "corrected", "-2", "7", "100 %", "39", "–"),
]


def test_curves_are_means_over_kinds_of_people_where_something_is_known() -> None:
    assert _means(ROWS, "choices", "the judge", 5) == [(12, 17.0), (50, 14.0)]
    assert _means(ROWS, "choices", "the judge", 6) == [(12, 46.0), (50, 58.0)]
    assert _means(ROWS, "blind tests", "the judge", 5) == [(25, 29.0)]
    assert _means(ROWS, "blind tests", "the judge", 6) == []
    assert _means(ROWS, "blind tests", "corrected", 5) == []  # when convinced is no number


def test_they_are_drawn(tmp_path: Path) -> None:
    save_curves(ROWS, tmp_path / "curves.png")
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")
