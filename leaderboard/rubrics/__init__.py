"""Responses graded by an LLM under rubrics that it wrote for a person's criteria, after PrefDisco (2025).

- `rubric`: five levels in words for one criterion and one query: asked for and read
- `grade`: one response under one rubric: asked for and read
- `grading`: many responses graded, and what their grades come to: means, PrefAlign with intervals
- `beside_judge`: how a judge grades the same LLMs on the same queries, and orders them
- `command`: ``python -m leaderboard rubric-grades``
"""
