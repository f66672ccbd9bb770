"""Benchmarks of one's own, imported and deleted as the browser does it."""

import pytest

from db import BenchmarkNotFoundError
from leaderboard.errors import OwnDataError
from leaderboard.service import Service
from leaderboard.view import View
from leaderboard.yours.own_data import delete_benchmark, import_table, own_benchmarks

TABLE = """query,topic,llm,response
Which soup?,Soup,alpha,Tomato soup.
Which soup?,Soup,beta,"Onion soup, hot and brown, with bread."
Which bread?,Bread,alpha,Rye.
Which bread?,Bread,beta,A sourdough loaf that was baked this morning.
"""


def test_a_table_becomes_a_benchmark_that_is_ready_to_rank_and_can_be_deleted(
    own_service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("USL_ADMIN_TOKEN", "a token that nobody guesses")
    database = own_service.database
    said = import_table(
        database, TABLE.encode(), "answers.csv", "mine", baseline="beta", title="--mine, it is"
    )

    assert said.startswith("mine: 2 queries, 2 LLMs, baseline beta; responses: 4 imported")
    assert own_benchmarks(database) == {"mine": "--mine, it is"}
    assert own_service.leaderboard(View("mine")).ranking.llms == ("alpha",)

    delete_benchmark(database, "mine")
    assert own_benchmarks(database) == {}
    with pytest.raises(BenchmarkNotFoundError):
        delete_benchmark(database, "mine")


@pytest.mark.parametrize(
    ("content", "file", "slug", "message"),
    [
        (TABLE, "answers.exe", "mine", "none of the files that can be imported: csv, jsonl, parquet"),
        ("query,llm\nx,y\n", "answers.csv", "mine", "^answers.csv, row 1: the column 'topic' is missing"),
        (TABLE, "answers.csv", "not a slug", "not a slug"),
        (TABLE, "answers.csv", "--help", "--help"),
    ],
)
def test_what_cannot_be_imported_is_refused_in_the_words_of_the_command(
    own_service: Service, content: str, file: str, slug: str, message: str
) -> None:
    with pytest.raises(OwnDataError, match=message) as raised:
        import_table(own_service.database, content.encode(), file, slug)
    assert "/" not in str(raised.value)
    assert own_benchmarks(own_service.database) == {}


def test_a_bundled_benchmark_is_not_deleted(own_service: Service) -> None:
    with pytest.raises(OwnDataError, match="'dailybench' is bundled"):
        delete_benchmark(own_service.database, "dailybench")
    assert len(own_service.contest("dailybench").record.queries) == 522
