"""How the C library keeps memory that threads have freed."""

from __future__ import annotations

import ctypes
import os
import sys

_ARENAS = 2
"""As many as the pages that are drawn at a time on a small server: more keep what they have been freed of."""
_M_ARENA_MAX = -8
"""Of glibc's mallopt."""
_VARIABLE = "MALLOC_ARENA_MAX"


def share_arenas() -> None:
    """Have threads share a few arenas, where glibc would give each of fifty visitors' threads one of its own.

    An operator's own ``MALLOC_ARENA_MAX`` holds; without glibc nothing happens.
    """
    if sys.platform != "linux" or _VARIABLE in os.environ:
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_ARENA_MAX, _ARENAS)
