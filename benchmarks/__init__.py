"""Measurements of speed, each a command that prints one table: ``python -m benchmarks.NAME``.

- ``live_rescore``: from a typed criterion to a ranking with intervals, up to 1,000 LLMs × 10,000 queries
- ``first_paint``: from starting the server, or opening a link, to the ranking on the screen
- ``_report``: the table they print and write
"""
