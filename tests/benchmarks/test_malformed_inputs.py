"""The run with malformed inputs: readers read what is well formed, and what goes wrong is told apart."""

from itertools import islice
from pathlib import Path

import pytest

from benchmarks._malformed import as_json, as_toml, changed_values, damaged
from benchmarks.malformed_inputs import READ, REFUSED, Reader, Tally, outcome, readers
from leaderboard.errors import LeaderboardError


@pytest.mark.parametrize("reader", readers(), ids=lambda reader: reader.name)
def test_every_reader_reads_what_is_as_it_should_be(reader: Reader, tmp_path: Path) -> None:
    first = [content for what, content in islice(reader.cases(), 1) if what == "as it should be"]
    assert [outcome(reader, content, tmp_path) for content in first] == [READ] * len(first)


def raising(error: Exception) -> Reader:
    def read(content: bytes, folder: Path) -> object:
        raise error

    return Reader("any", read, lambda: iter(()))


@pytest.mark.parametrize(
    ("error", "found"),
    [
        (LeaderboardError("This is wrong: mend it."), REFUSED),
        (KeyError("x"), "KeyError"),
        (RecursionError("x"), "RecursionError"),
        (LeaderboardError(""), "message ''"),
    ],
)
def test_only_sentences_for_people_are_refusals(tmp_path: Path, error: Exception, found: str) -> None:
    assert outcome(raising(error), b"", tmp_path).startswith(found)


def test_damages_are_the_same_every_time_and_of_many_kinds() -> None:
    content = as_json({"a": [1, {"b": "c"}]})
    cases = list(damaged(content, 1))
    assert cases == list(damaged(content, 1)) != list(damaged(content, 2))
    assert len(cases) > 300
    changed = list(changed_values({"a": [1, {"b": "c"}]}, as_json, 1))
    assert len(changed) == 4 * 5  # places: a, a/0, a/1, a/1/b
    assert as_toml({"a": {"b": [1, {"c": "d"}]}}) == b'["a"]\n"b" = [1, {"c" = "d"}]'


def test_a_run_is_good_if_nothing_hung_or_failed_or_took_too_much() -> None:
    good = Tally("any")
    good.add(READ, 1.0, 10**8)
    good.add(REFUSED, 2.0, 10**7)
    assert (good.cases, good.slowest, good.memory, good.good) == (2, 2.0, 10**8, True)
    for bad in (Tally("any", hangs=1), Tally("any", wrong=("KeyError",)), Tally("any", memory=2 * 10**9)):
        assert not bad.good
