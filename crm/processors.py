"""How many processors there are to work with, how NumPy and SciPy share them, and work beside other work."""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Lock
from typing import Protocol, TypeVar

from threadpoolctl import threadpool_limits

T = TypeVar("T")
_BESIDE = Lock()


class Start(Protocol):
    """Starts something, and returns what waits for it."""

    def __call__(self, work: Callable[[], T], /) -> Callable[[], T]:
        """Start it; its errors are raised where it is waited for."""
        ...


@contextmanager
def beside() -> Iterator[Start]:
    """Give what starts work in another thread, on another processor if one is free, for as long as the block.

    One block at a time in a process has that thread: with several at once all processors are at work anyhow.
    In the others, work is done when it is waited for.
    """
    if not _BESIDE.acquire(blocking=False):
        yield lambda work: work
        return
    try:
        with ThreadPoolExecutor(1) as pool:
            yield lambda work: pool.submit(work).result
    finally:
        _BESIDE.release()


def n_processors() -> int:
    """Return how many this process may use, where the system says so, else how many there are."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def compute_in_one_thread() -> None:
    """Have NumPy and SciPy compute each product in the thread that asks for it, from now on.

    Threads of a product wait for each other: beside one other program, two of them made a ranking of 1.9
    seconds take 8.5.
    """
    threadpool_limits(1, user_api="blas")
