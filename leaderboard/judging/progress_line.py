"""A slow judge's progress on standard error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from leaderboard.errors import JudgingError
from leaderboard.judging.changing_line import changing_line
from leaderboard.judging.progress import Progress


@contextmanager
def progress_line(judge: str) -> Iterator[Callable[[Progress], None]]:
    """Yields a function that takes how far the judge is; an interruption says what is kept.

    Raises:
        JudgingError: The person interrupted the work with Ctrl-C.
    """
    latest: list[Progress] = []
    try:
        with changing_line() as write:

            def tell(progress: Progress) -> None:
                latest[:] = [progress]
                if progress.pairs_done < progress.pairs_all:
                    write(f"Judging with {judge}: {progress.percentage}, {progress}")

            yield tell
    except KeyboardInterrupt:
        share = latest[0].percentage if latest else "0 %"
        raise JudgingError(
            f"Stopped at {share} of the pairs, which are kept: the same command continues there."
        ) from None
