"""Tables of results, on the terminal or as Markdown, and the machine that they were measured on."""

from __future__ import annotations

import platform
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table

from crm.processors import n_processors

_CPU_DESCRIPTION = Path("/proc/cpuinfo")


def describe_machine() -> str:
    """Processor, usable cores, GPU where there is one in use, and Python of this machine, for a note."""
    return ", ".join(
        [_processor(), f"{n_processors()} cores", *_gpu(), f"Python {platform.python_version()}"]
    )


def _processor() -> str:
    if _CPU_DESCRIPTION.is_file():
        for line in _CPU_DESCRIPTION.read_text(encoding="utf-8").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    return platform.machine()


def _gpu() -> list[str]:
    """Return the first GPU, if PyTorch has been loaded and sees one."""
    torch = sys.modules.get("torch")
    return [torch.cuda.get_device_name(0)] if torch is not None and torch.cuda.is_available() else []


def peak_memory() -> int:
    """Return the most bytes that this process has held so far; it never falls."""
    import resource  # noqa: PLC0415  # not on Windows

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


_WIDEST = 1000


@dataclass(frozen=True)
class ReportTable:
    """Results as text, one row a case.

    Attributes:
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
        console = Console(markup=False)
        # At its full width even where the terminal is narrower: a cut number is worse than a broken line.
        unbounded = console.options.update(max_width=_WIDEST)
        width = Measurement.get(console, unbounded, table).maximum
        Console(markup=False, width=max(width, console.width)).print(table)
        console.print(self.note, style="dim", soft_wrap=True)

    def to_markdown(self, level: int = 1) -> str:
        """Return the same as a Markdown section under a heading of this level."""
        alignment = ("---",) + ("---:",) * (len(self.columns) - 1)
        lines = [f"| {' | '.join(_escaped(cells))} |" for cells in (self.columns, alignment, *self.rows)]
        return "\n".join([f"{'#' * level} {self.title}", "", *lines, "", self.note, ""])


def _escaped(cells: Sequence[str]) -> list[str]:
    return [cell.replace("|", "\\|") for cell in cells]
