"""One line on standard error that changes, or now and then a new one where that is a log."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from time import monotonic

from rich.console import Console
from rich.live import Live
from rich.text import Text

_LOG_SECONDS = 10.0


def changing_line() -> AbstractContextManager[Callable[[str], None]]:
    """A context that yields a function which shows what the line says now."""
    console = Console(stderr=True)
    return _terminal_line(console) if console.is_terminal else _log_lines(console)


@contextmanager
def _terminal_line(console: Console) -> Iterator[Callable[[str], None]]:
    with Live(console=console, transient=True, refresh_per_second=4) as live:
        yield lambda line: live.update(Text(line))


@contextmanager
def _log_lines(console: Console) -> Iterator[Callable[[str], None]]:
    written_at = monotonic()

    def write(line: str) -> None:
        nonlocal written_at
        if monotonic() - written_at >= _LOG_SECONDS:
            console.print(Text(line), soft_wrap=True)
            written_at = monotonic()

    yield write
