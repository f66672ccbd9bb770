"""Judges that are slow, or fail, on purpose; each says what “longer” says."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence

import pytest

from crm import registry
from crm.baselines import LongerCRM
from crm.criteria import CriteriaSet
from crm.protocol import CRM, CriterionWarning, JudgedBenchmark, Question, ScoreBlock, Verdict
from crm.scoring import score_texts

BATCH = 70


class SlowCRM(LongerCRM):
    """Takes its time over every pair."""

    name = "slow"

    def __init__(self, seconds_a_pair: float = 0.0) -> None:
        self.seconds_a_pair = seconds_a_pair
        self.asked: list[Question] = []

    def judge(self, questions: Sequence[Question]) -> list[Verdict]:
        time.sleep(self.seconds_a_pair * len(questions))
        self.asked.extend(questions)
        return super().judge(questions)

    def score(self, criteria: CriteriaSet, benchmark: JudgedBenchmark) -> Iterator[ScoreBlock]:
        return score_texts(self, criteria, benchmark, batch=BATCH)


class GatedCRM(SlowCRM):
    """Judges as many blocks as it is let, and fails in between if it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.failure: Exception | None = None
        self._gate = threading.Semaphore(0)

    def let(self, blocks: int) -> None:
        """Let it judge so many blocks more."""
        self._gate.release(blocks)

    def judge(self, questions: Sequence[Question]) -> list[Verdict]:
        if not self._gate.acquire(timeout=60):
            raise TimeoutError
        if self.failure is not None:
            raise self.failure
        return super().judge(questions)


class WarningCRM(SlowCRM):
    """Warns of every criterion that names a number, and lists of more than three."""

    def warnings(self, criteria: CriteriaSet) -> tuple[CriterionWarning, ...]:
        warned = [
            CriterionWarning(item, "It tells no number from another.")
            for item in criteria
            if any(letter.isdigit() for letter in item.text)
        ]
        too_many = (
            [CriterionWarning(None, "These criteria ask for contrary things.")] if len(criteria) > 3 else []
        )
        return (*warned, *too_many)


def register(monkeypatch: pytest.MonkeyPatch, judge: CRM) -> None:
    """Let the judge be had by its name for the time of a test."""
    monkeypatch.setitem(registry._BUILT_IN, judge.name, lambda: judge)
    monkeypatch.setitem(registry._made, judge.name, (None, judge))


def wait_until(condition: Callable[[], object], seconds: float = 20.0) -> None:
    """Wait for what another thread does."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.005)
