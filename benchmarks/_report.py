"""The one table a measurement ends with: printed, and written as Markdown where it is to be kept."""

from __future__ import annotations

from pathlib import Path

from crm.evaluation.metrics import Accuracy
from crm.report_table import ReportTable

_UNITS = ("B", "kB", "MB", "GB", "TB")


class Report(ReportTable):
    """The result of a measurement, one row a case."""

    def finish(self, output: Path | None) -> None:
        """Print the table and, where a file is named, write it there as Markdown."""
        self.print()
        if output is not None:
            output.parent.mkdir(parents=True, exist_ok=True)
            output.write_text(self.to_markdown(), encoding="utf-8")


def with_interval(found: Accuracy) -> str:
    """Return a share with its 95 % interval, “84.4% (75.8%–90.3%)”."""
    return f"{found.value:.1%} ({found.low:.1%}–{found.high:.1%})"


def duration(seconds: float) -> str:
    """Three significant digits in ms below one second, else in s: ``4.21 ms``, ``312 ms``, ``2.5 s``."""
    return f"{_three_digits(seconds * 1e3)} ms" if seconds < 0.9995 else f"{_three_digits(seconds)} s"


def size(count: float) -> str:
    """Return bytes in decimal units to three significant digits: ``5.12 GB``."""
    unit = 0
    while count >= 999.5 and unit < len(_UNITS) - 1:
        count /= 1000
        unit += 1
    return f"{_three_digits(count)} {_UNITS[unit]}"


def _three_digits(value: float) -> str:
    return f"{value:,.0f}" if value >= 99.95 else f"{value:.1f}" if value >= 9.995 else f"{value:.2f}"
