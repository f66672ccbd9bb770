"""A baseline that wins or loses nearly everything, by the bundled judge on real representations."""

import re

import pytest

from db import Database
from db.repositories.benchmarks import find_benchmark, set_baseline
from precompute.collect.collection import baseline_warning
from precompute.importers import ImportedQuery
from precompute.load import import_benchmark
from tests.precompute import samples

QUERIES = tuple(
    ImportedQuery(f"How do I {what}?", category="Home", topic="Home")
    for what in ("boil an egg", "prune roses", "mend a sock", "bake bread", "clean a window", "plan a trip")
)
GOOD = (
    "Start with what you need and set it out. Then go step by step, and take your time: the first attempt "
    "rarely works. A good rule is to keep it simple, look at the result, and change one thing at a time. If "
    "something goes wrong, it usually helps to begin again with a little less of everything."
)


@pytest.fixture
def judged(database: Database) -> Database:
    answers = {
        "curt": dict.fromkeys(range(6), "no"),
        "kind": dict.fromkeys(range(6), GOOD),
        "kinder": {
            number: f"{GOOD} You will manage to {query.text[9:-1]}." for number, query in enumerate(QUERIES)
        },
    }
    import_benchmark(database, samples.imported(answers, QUERIES, "curt", "mine"))
    return database


def choose(database: Database, llm: str | None) -> None:
    with database.session() as session:
        set_baseline(session, find_benchmark(session, "mine"), llm)


def test_one_that_loses_nearly_everything_is_told(judged: Database) -> None:
    warning = baseline_warning(judged, "mine") or ""
    lost = re.match(r"the baseline curt loses (\d+)% of its comparisons", warning)
    assert lost and int(lost[1]) >= 95, warning


def test_one_in_the_middle_or_none_is_not(judged: Database) -> None:
    choose(judged, "kind")
    assert baseline_warning(judged, "mine") is None
    choose(judged, None)
    assert baseline_warning(judged, "mine") is None
