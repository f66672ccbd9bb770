"""Reasoning and answer told apart in what an LLM wrote."""

from __future__ import annotations

OPENING, CLOSING = "<think>", "</think>"


def split_thinking(content: str) -> tuple[str, str | None]:
    """The answer, and the reasoning in front of it or None.

    Reasoning stands between ``<think>`` and ``</think>`` at the start. Where a model's chat template
    writes the opening mark itself, only the closing one is found. Reasoning without an end is all there is.
    """
    text = content.lstrip()
    if text.startswith(OPENING):
        reasoning, _, answer = text.removeprefix(OPENING).partition(CLOSING)
        return answer.strip(), reasoning.strip() or None
    before, closed, answer = text.partition(CLOSING)
    if closed and OPENING not in before:
        return answer.strip(), before.strip() or None
    return content, None
