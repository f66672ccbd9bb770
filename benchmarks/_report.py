"""The one table a measurement ends with: printed, and written as Markdown where it is to be kept."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

_UNITS = ("B", "kB", "MB", "GB", "TB")
_CPU_DESCRIPTION = Path("/proc/cpuinfo")


@dataclass(frozen=True)
class Report:
    """Results as text, one row a case.

    Attributes:
        title: What was measured.
        columns: Headings; the first column names the case.
        rows: One cell a column.
        note: How it was measured.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str

    def print(self) -> None:
        """Show the table on the terminal."""
        table = Table(title=self.title, title_justify="left", box=None, pad_edge=False)
        for index, heading in enumerate(self.columns):
            table.add_column(heading, justify="left" if index == 0 else "right")
        for row in self.rows:
            table.add_row(*row)
        console = Console()
        console.print(table)
        console.print(self.note, style="dim", soft_wrap=True)

    def to_markdown(self) -> str:
        """The same as a Markdown section."""
        alignment = ("---",) + ("---:",) * (len(self.columns) - 1)
        lines = [f"| {' | '.join(_escaped(cells))} |" for cells in (self.columns, alignment, *self.rows)]
        return "\n".join([f"# {self.title}", "", *lines, "", self.note, ""])

    def finish(self, output: Path | None) -> None:
        """Print the table and, where a file is named, write it there as Markdown."""
        self.print()
        if output is not None:
            output.parent.mkdir(parents=True, exist_ok=True)
            output.write_text(self.to_markdown(), encoding="utf-8")


def duration(seconds: float) -> str:
    """Three significant digits in ms below one second, else in s: ``4.21 ms``, ``312 ms``, ``2.5 s``."""
    return f"{_three_digits(seconds * 1e3)} ms" if seconds < 0.9995 else f"{_three_digits(seconds)} s"


def size(count: float) -> str:
    """Bytes in decimal units to three significant digits: ``5.12 GB``."""
    unit = 0
    while count >= 999.5 and unit < len(_UNITS) - 1:
        count /= 1000
        unit += 1
    return f"{_three_digits(count)} {_UNITS[unit]}"


def machine() -> str:
    """Processor, usable cores and Python of this machine, for a note."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{_processor()}, {cores} cores, Python {platform.python_version()}"


def _processor() -> str:
    if _CPU_DESCRIPTION.is_file():
        for line in _CPU_DESCRIPTION.read_text(encoding="utf-8").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    return platform.machine()


def _three_digits(value: float) -> str:
    return f"{value:,.0f}" if value >= 99.95 else f"{value:.1f}" if value >= 9.995 else f"{value:.2f}"


def _escaped(cells: Sequence[str]) -> list[str]:
    return [cell.replace("|", "\\|") for cell in cells]
