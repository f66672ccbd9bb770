"""Win rates, intervals, rankings and how they compare: pure functions on arrays."""
