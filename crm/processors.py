"""How many processors there are to work with."""

import os


def n_processors() -> int:
    """Return how many this process may use, where the system says so, else how many there are."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
