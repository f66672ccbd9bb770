import pytest

from benchmarks._report import Report, duration, size


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.00421, "4.21 ms"), (0.0421, "42.1 ms"), (0.3124, "312 ms"), (0.9999, "1.00 s"), (75.3, "75.3 s")],
)
def test_duration_keeps_three_digits(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0.00 B"), (999, "999 B"), (999_900, "1.00 MB"), (5_120_000_000, "5.12 GB"), (3e15, "3,000 TB")],
)
def test_size_is_in_decimal_units(count: float, text: str) -> None:
    assert size(count) == text


def test_markdown_names_every_cell() -> None:
    report = Report("Speed", ("case", "time"), (("8 | 522", "4.21 ms"),), "Median of 5.")
    assert report.to_markdown() == (
        "# Speed\n\n| case | time |\n| --- | ---: |\n| 8 \\| 522 | 4.21 ms |\n\nMedian of 5.\n"
    )
