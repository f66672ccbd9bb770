"""A slow judge's progress on standard error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol, TypeVar

from leaderboard.errors import JudgingError
from leaderboard.judging.changing_line import changing_line
from leaderboard.judging.progress import Progress


class CountsPairs(Protocol):
    """How far something is that judges pairs."""

    @property
    def pairs_done(self) -> int:
        """Pairs that are judged."""

    @property
    def pairs_all(self) -> int:
        """Pairs there are."""

    @property
    def percentage(self) -> str:
        """The share as “34 %”."""


P = TypeVar("P", bound=CountsPairs)


def progress_line(judge: str) -> AbstractContextManager[Callable[[Progress], None]]:
    """``judging_line`` of one judge and one score matrix."""
    return judging_line(lambda progress: f"Judging with {judge}: {progress.percentage}, {progress}")


@contextmanager
def judging_line(words: Callable[[P], str]) -> Iterator[Callable[[P], None]]:
    """Yields a function that takes how far the judge is; an interruption says what is kept.

    Args:
        words: What the line says of it.

    Raises:
        JudgingError: The person interrupted the work with Ctrl-C.
    """
    latest: list[P] = []
    try:
        with changing_line() as write:

            def tell(progress: P) -> None:
                latest[:] = [progress]
                if progress.pairs_done < progress.pairs_all:
                    write(words(progress))

            yield tell
    except KeyboardInterrupt:
        share = latest[0].percentage if latest else "0 %"
        raise JudgingError(
            f"Stopped at {share} of the pairs, which are kept: the same command continues there."
        ) from None
