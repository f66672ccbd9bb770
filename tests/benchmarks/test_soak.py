"""The table of a server that many visit: its last row is of everything."""

from benchmarks._load import Outcome, ProcessFigures
from benchmarks._visitor import Run
from benchmarks.soak import Stretch, in_all


def _stretch(minutes: float, seconds: list[float], errors: list[str], memory: int, files: int) -> Stretch:
    runs = [Run(ranking=ranking, finished=ranking) for ranking in seconds]
    return Stretch(minutes, 3, Outcome(runs=runs, errors=errors), ProcessFigures(memory, 8, files, 1.0))


def test_the_last_row_counts_all_and_has_the_most_held() -> None:
    stretches = [
        _stretch(1.0, [0.1, 0.2], ["lost"], 900_000_000, 90),
        _stretch(2.0, [0.3], [], 800_000_000, 100),
    ]
    row = in_all(stretches)

    assert row[:5] == ("in all", "6", "3", "1", "200 ms")
    assert row[-3:] == ("900 MB", "8", "100")
    assert stretches[1].cells()[:5] == ("2", "3", "1", "0", "300 ms")
