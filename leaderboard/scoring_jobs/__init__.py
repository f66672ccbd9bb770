"""Slow judges at work: score matrices filled in the background.

- `task`: fills one score matrix, stored part by part; `rounds`: several of them, on the same queries first
- `scheduler`: which matrix is filled, for all who wait for it
- `progress`: how far a judge is
"""
