"""The table of many visitors: processes, database and proxy are named, who was led elsewhere is counted."""

from collections import Counter

from benchmarks._load import Outcome, ProcessFigures
from benchmarks._visitor import Run
from benchmarks.load import Case

_FIGURES = ProcessFigures(1_400_000_000, 22, 68, processor=3.0)


def _outcome() -> Outcome:
    runs = [Run(ranking=0.2, finished=0.4), Run(ranking=0.4, finished=0.6)]
    met = Outcome(runs=runs, errors=["lost"], returns=4, elsewhere=1)
    met.processes = Counter({"one": 4, "other": 6})
    return met


def test_a_row_says_what_was_measured() -> None:
    case = Case(2, "PostgreSQL 15.8", "Caddy 2.6.2", _outcome(), _FIGURES, proxy_processor=0.5)

    assert case.cells(10)[:7] == ("10", "2", "PostgreSQL 15.8", "Caddy 2.6.2", "2", "1", "1 of 4")
    assert case.cells(10)[11:] == ("1.50 s", "1.40 GB", "22", "68")
    said = " Of 10 visitors the proxy gave the 2 processes 6 and 4 pages, and took 0.5 s of processors."
    assert case.remark(10) == said


def test_without_a_proxy_nobody_is_led_anywhere() -> None:
    case = Case(1, "SQLite", "–", _outcome(), _FIGURES)

    assert case.cells(10)[:7] == ("10", "1", "SQLite", "–", "2", "1", "–")
    assert case.remark(10) == ""
