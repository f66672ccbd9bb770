"""The picture of a ranking: its size, and that what is written on it is what was ranked."""

import io
from dataclasses import replace
from datetime import date

import numpy as np
import pytest
from PIL import Image, ImageChops

from crm.criteria import CriteriaSet
from leaderboard.answer import Answer, Evidence, make_answer
from leaderboard.listed import list_llms
from leaderboard.llm_facts.catalogue import Catalogue
from leaderboard.llm_facts.listing import Listing, Sort
from leaderboard.render import picture
from leaderboard.render.picture import SIZE, ranking_picture
from leaderboard.result import Leaderboard
from leaderboard.service import Service
from leaderboard.view import View

TODAY = date(2026, 2, 3)
CARD = (0, 90, 530, 560)
ROWS = (530, 125, SIZE[0], 560)
FOOT = (0, 570, SIZE[0], SIZE[1])
Box = tuple[int, int, int, int]


@pytest.fixture(scope="module")
def concise(service: Service) -> Leaderboard:
    return service.leaderboard(View("dailybench", criteria=CriteriaSet.of(["Concise and direct"])))


def drawn(board: Leaderboard, alike: tuple[str, ...] = (), answer: Answer | None = None) -> Image.Image:
    listed = list_llms(board, Catalogue.of(()))
    answer = answer or make_answer(board, listed, Evidence())
    return Image.open(io.BytesIO(ranking_picture(listed.leaderboard, answer, alike, made=TODAY)))


def differ(one: Image.Image, other: Image.Image, box: Box) -> bool:
    return ImageChops.difference(one.crop(box), other.crop(box)).getbbox() is not None


def is_blank(image: Image.Image, box: Box) -> bool:
    return len(image.crop(box).getcolors(1_000_000)) == 1


def renamed(board: Leaderboard, **titles: str) -> Leaderboard:
    llms = tuple(replace(llm, title=titles.get(llm.name, llm.title)) for llm in board.benchmark.llms)
    return replace(board, benchmark=replace(board.benchmark, llms=llms))


def wishing(service: Service, *criteria: str) -> Leaderboard:
    return service.leaderboard(View("dailybench", criteria=CriteriaSet.of(criteria)))


def test_it_is_a_png_of_the_size_that_previews_have(concise: Leaderboard) -> None:
    found = drawn(concise)
    assert (found.format, found.size) == ("PNG", (1200, 630))


def test_names_are_drawn_in_the_rows_of_their_rank(concise: Leaderboard) -> None:
    first, last = concise.ranking.llms[0], concise.ranking.llms[-1]
    before, after = drawn(concise), drawn(renamed(concise, **{last: "Another name"}))
    assert differ(before, after, (ROWS[0], 142 + 6 * 40 - 20, 860, 142 + 6 * 40 + 22))
    assert not differ(before, after, (ROWS[0], 125, SIZE[0], 142 + 6 * 40 - 20))
    assert not differ(before, after, CARD)
    assert differ(before, drawn(renamed(concise, **{first: "Another name"})), CARD)


def test_bars_and_ranges_follow_the_numbers(concise: Leaderboard) -> None:
    ranking = concise.ranking
    wider = replace(concise, ranking=replace(ranking, ci_low=ranking.ci_low - 0.05))
    assert differ(drawn(concise), drawn(wider), ROWS)
    assert not differ(drawn(concise), drawn(wider), CARD)


def test_those_like_the_first_look_different(concise: Leaderboard) -> None:
    alike = concise.ranking.llms[:2]
    assert differ(drawn(concise), drawn(concise, alike), ROWS)
    assert differ(drawn(concise), drawn(concise, alike), FOOT)
    assert not differ(drawn(concise), drawn(concise, alike[:1]), ROWS)


def test_rows_stand_by_rank_in_whatever_order_they_are_listed(concise: Leaderboard) -> None:
    by_name = replace(concise, view=replace(concise.view, listing=Listing(sort=Sort.parse("name"))))
    assert not differ(drawn(concise), drawn(by_name), ROWS)


def test_only_the_first_ten_are_drawn(service: Service) -> None:
    board = service.leaderboard(View("alpaca-eval"))
    eleventh, tenth = board.ranking.llms[10], board.ranking.llms[9]
    assert not differ(drawn(board), drawn(renamed(board, **{eleventh: "Another name"})), (0, 0, *SIZE))
    assert differ(drawn(board), drawn(renamed(board, **{tenth: "Another name"})), ROWS)


def test_criteria_are_drawn_and_there_may_be_none(service: Service, concise: Leaderboard) -> None:
    answer = make_answer(concise, list_llms(concise, Catalogue.of(())), Evidence())
    none = replace(concise, criteria=CriteriaSet())
    assert differ(drawn(concise, answer=answer), drawn(none, answer=answer), CARD)
    assert drawn(service.leaderboard(View("dailybench"))).size == SIZE


def test_long_texts_stay_in_their_place(service: Service, concise: Leaderboard) -> None:
    long = "a wish that goes on and on " * 10
    board = wishing(service, *(f"{number} {long}" for number in range(9)))
    blank = (510, 125, 538, 555)  # between the card and the rows
    left, right = (0, 12, 50, SIZE[1]), (SIZE[0] - 50, 12, *SIZE)
    titles = dict.fromkeys(concise.ranking.llms, "Name after name " * 9)
    for each in (drawn(board), drawn(renamed(concise, **titles))):
        for box in (blank, left, right):
            assert is_blank(each, box)


def test_one_llm(concise: Leaderboard) -> None:
    first = concise.ranking.llms[0]
    one = replace(concise, view=replace(concise.view, listing=Listing(search=first)))
    assert is_blank(drawn(one), (ROWS[0], 175, SIZE[0], 555))
    assert differ(drawn(one), drawn(concise), ROWS)


def test_llms_without_a_rank_are_left_out(oddly_named: Leaderboard) -> None:
    assert np.isnan(oddly_named.ranking.win_rate).any()
    assert drawn(oddly_named).size == SIZE


def test_letters_that_cannot_be_drawn_are_said(concise: Leaderboard, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[str] = []
    text = picture.Canvas.text

    def note(self: picture.Canvas, x: float, y: float, shown: str, *rest: object, **more: object) -> float:
        written.append(shown)
        return text(self, x, y, shown, *rest, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(picture.Canvas, "text", note)
    drawn(concise)
    assert not any("cannot be drawn here" in line for line in written)
    drawn(renamed(concise, **{concise.ranking.llms[1]: "通义千问"}))
    assert any("[…]: letters that cannot be drawn here" in line for line in written)
    assert not any("通" in line for line in written)
