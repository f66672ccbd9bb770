"""How far a command is: a bar on the terminal, and elsewhere, such as in a log, a line every few seconds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic

from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, TimeRemainingColumn

SECONDS = 10.0
"""Between two lines in a log."""


@contextmanager
def progress_bar(what: str) -> Iterator[Callable[[int, int], None]]:
    """Yield what is told how much is done, and how much there is in all."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _line(what, console)
        return
    columns = (*Progress.get_default_columns()[:2], MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _line(what: str, console: Console) -> Callable[[int, int], None]:
    """Return what writes lines; the first comes when so much time has passed that one is due."""
    written = monotonic()

    def tell(done: int, total: int) -> None:
        nonlocal written
        if monotonic() - written >= SECONDS:
            written = monotonic()
            console.print(
                f"{what}: {done:,} of {total:,}", soft_wrap=True, highlight=False, markup=False, emoji=False
            )

    return tell
