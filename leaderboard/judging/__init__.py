"""Slow judges at work: score matrices filled in the background, their progress, and what remains."""
