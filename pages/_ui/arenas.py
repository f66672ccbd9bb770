"""How the C library keeps memory that threads have freed."""

from __future__ import annotations

import asyncio
import ctypes
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

_ARENAS = 2
"""As many as the pages that are drawn at a time on a small server: more keep what they have been freed of."""
_M_ARENA_MAX = -8
"""Of glibc's mallopt."""
_VARIABLE = "MALLOC_ARENA_MAX"
_SECONDS = 5.0
"""Between two times that freed memory is given back, which takes some 5 ms and pages later take anew."""


def share_arenas() -> None:
    """Have threads share a few arenas, where glibc would give each of fifty visitors' threads one of its own.

    An operator's own ``MALLOC_ARENA_MAX`` holds; without glibc nothing happens.
    """
    if sys.platform != "linux" or _VARIABLE in os.environ:
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_ARENA_MAX, _ARENAS)


@asynccontextmanager
async def gives_back_memory(every: float = _SECONDS) -> AsyncIterator[None]:
    """Give back to the operating system, every so many seconds within this block, what has been freed.

    Of its own, glibc gives back only what lies at the end of an arena: after many pages were drawn, an eighth
    of a server's memory would be kept for nothing.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is None:
        yield
        return

    async def give_back() -> None:
        while True:
            await asyncio.sleep(every)
            await asyncio.to_thread(trim, 0)

    task = asyncio.create_task(give_back())
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
