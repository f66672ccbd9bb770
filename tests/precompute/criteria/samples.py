"""Pairs of conversations, an endpoint that finds criteria in them, and a process that a test may kill."""

import json
import os
import re
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from db import Database
from db.records import StepCount
from db.repositories import preferences
from db.source_records import Message, PreferenceRecord, PreferenceSetInfo, Winner
from precompute import __main__ as command_line
from tests.crm.backends.scripted_server import Answer
from tests.precompute.collect import samples as collect_samples

SLUG = "arena"
WINNERS = (Winner.A, Winner.B, Winner.TIE)
MANNERS = ("warm", "brief")
"""Of the answers of A and of B."""
Behave = Callable[[str, int], Answer]
"""From the prompt and how often the same was asked before to what the endpoint answers."""


def conversation(number: int, manner: str, turns: int = 1) -> tuple[Message, ...]:
    return tuple(
        message
        for turn in range(turns)
        for message in (
            Message("user", f"Question {number}.{turn}: what about thing {number}?"),
            Message("assistant", f"In {manner} words, {number}.{turn}: so it is."),
        )
    )


def preference(number: int, turns: int = 1) -> PreferenceRecord:
    first, second = (conversation(number, manner, turns) for manner in MANNERS)
    winner = WINNERS[number % len(WINNERS)]
    return PreferenceRecord(f"p{number}", first, second, "lumen-9b", "verity@1", winner, "English", {})


def store(database: Database, n: int = 6, slug: str = SLUG) -> None:
    """Preferences of which every third is a tie."""
    info = PreferenceSetInfo(slug, "Arena", "arena.parquet", "0" * 64, {}, (StepCount("rows", n),))
    with database.session() as session:
        preferences.put_preference_set(session, info)
        preferences.add_preferences(
            session,
            preferences.find_preference_set(session, slug),
            0,
            [preference(number) for number in range(n)],
        )


def number_of(prompt: str) -> int:
    return int(re.findall(r"Question (\d+)\.0:", prompt)[0])


def preferred_in(prompt: str) -> str:
    """The manner of the side that the prompt calls preferred."""
    [place] = re.findall(r"prefers the (first|second) answer", prompt)
    return re.findall(rf"<{place}_answer>\nIn (\w+) words", prompt)[0]


def reply(criteria: Sequence[Any], **options: Any) -> Answer:
    return Answer(collect_samples.completion(json.dumps({"criteria": criteria}), **options))


def criteria_of(manner: str) -> list[str]:
    return [f"Uses {manner} words", "Says how it is", f"Stays {manner} to the end"]


def well_behaved(prompt: str, _before: int = 0) -> Answer:
    return reply(criteria_of(preferred_in(prompt)))


class Endpoint:
    """A script for a server: behaves by prompt and how often it was asked."""

    def __init__(self, behave: Behave) -> None:
        self.behave = behave
        self.asked: list[str] = []

    def __call__(self, body: Any) -> Answer:
        prompt = body["messages"][-1]["content"]
        before = self.asked.count(prompt)
        self.asked.append(prompt)
        return self.behave(prompt, before)


if __name__ == "__main__":  # the process that the tests kill
    collect_samples.without_models(setattr, Path(os.devnull))
    sys.argv[0] = "precompute"
    # A shell that starts tests in the background lets them ignore the interruption.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    command_line.main()
