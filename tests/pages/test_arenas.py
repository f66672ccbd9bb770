"""Memory that threads have freed goes back to the operating system."""

import asyncio
import platform
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import numpy as np
import pytest

from pages._ui.arenas import gives_back_memory

MEGABYTES = 200
T = TypeVar("T")


def run_apart(serve: Callable[[], Coroutine[None, None, T]]) -> T:
    """Run it in a thread of its own: a browser's tests may have left a loop running in this one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(lambda: asyncio.run(serve())).result()


def resident() -> float:
    """MB of memory that this process has to itself."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    [line] = [line for line in status.splitlines() if line.startswith("RssAnon:")]
    return int(line.split()[1]) / 1024


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc keeps what is freed")
def test_what_is_freed_in_the_middle_is_given_back() -> None:
    taken = [np.ones(8192, dtype=np.uint8) for _ in range(MEGABYTES * 128)]
    last = taken[-1]  # without it glibc would give back what lies before
    taken.clear()
    freed = resident()

    async def serve() -> None:
        async with gives_back_memory(every=0.01):
            for _ in range(1000):
                await asyncio.sleep(0.01)
                if resident() < freed - MEGABYTES / 2:
                    return

    run_apart(serve)
    assert resident() < freed - MEGABYTES / 2
    assert last.all()


def test_it_ends_with_its_block() -> None:
    async def serve() -> int:
        async with gives_back_memory(every=0.01):
            await asyncio.sleep(0.05)
        return len(asyncio.all_tasks())

    assert run_apart(serve) == 1
