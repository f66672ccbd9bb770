"""Asynchronous work, waited for by callers that are not asynchronous."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

ReturnedT = TypeVar("ReturnedT")


def run_to_end(work: Coroutine[Any, Any, ReturnedT]) -> ReturnedT:
    """Return what the work returns, also where the calling thread already runs an event loop.

    A notebook does, and `asyncio.run` refuses to start a second one there; the work then runs in a thread
    of its own while the caller waits.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="asyncio") as executor:
        return executor.submit(asyncio.run, work).result()
