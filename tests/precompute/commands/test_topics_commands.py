"""Topics looked at and curated from the command line."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from db import Database
from leaderboard.topics.curation import Curation
from precompute import __main__ as command_line
from tests.leaderboard.topics.samples import POOL, TEXTS, ids, store

Topics = Callable[..., tuple[int, str, str]]


@pytest.fixture
def topics(database: Database, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Topics:
    """Runs “precompute topics …”; returns exit code, standard output and standard error."""
    monkeypatch.setenv("USL_DATABASE_URL", database.engine.url.render_as_string(hide_password=False))
    monkeypatch.setattr("precompute.commands.options.BUNDLED", Path("no such folder"))
    store(database)

    def call(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["precompute", "topics", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            command_line.main()
        printed = capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return ended.value.code, printed.out, printed.err

    return call


def test_the_tree_is_listed_with_sizes(topics: Topics) -> None:
    assert topics("show", POOL) == (
        0,
        "Food (7)\n"
        "  0      Soup (6)\n"
        "  1      Bread (1)\n"
        "Work (2)\n"
        "  10     Mail (2)\n"
        "daily: 10 queries, 3 topics in 2 categories, 1 without a topic, 0 dropped.\n",
        "",
    )


def test_a_topic_is_shown_with_its_queries(topics: Topics) -> None:
    topics("drop", POOL, "--query", ids()[8], "--reason", "not ours")
    _, inside, _ = topics("show", POOL, "10")
    assert inside == f"10     Mail (1)\n  {ids()[7]}  {TEXTS[7]}\n"

    _, every, _ = topics("show", POOL, "10", "--all")
    assert f"  {ids()[8]}  dropped  {TEXTS[8]}\n" in every


def test_a_topic_of_which_all_is_dropped_says_so(topics: Topics) -> None:
    topics("drop", POOL, "10", "--reason", "not ours")
    assert "  10     Mail (0, 2 dropped)\n" in topics("show", POOL)[1]


def test_every_change_is_made_and_logged(topics: Topics, database: Database) -> None:
    changes = (
        (("rename", POOL, "0", "--name", "Broth"), "Renamed “Soup” to “Broth”"),
        (("split", POOL, "0", "--parts", 2), "Split “Broth” into “"),
        (("merge", POOL, "1", "0.1", "0.2"), "Merged “"),
        (("rename", POOL, "--category", "Work", "Office"), "Renamed the category “Work” to “Office”"),
        (("move", POOL, "10", "--category", "Letters"), "Moved “Mail” to the category “Letters”"),
        (("move", POOL, "--query", ids()[9], "--to", "10"), "Moved 1 query to “Mail”"),
        (("drop", POOL, "10", "--query", ids()[0]), "Dropped 4 queries"),
        (("restore", POOL, "10"), "Restored 3 queries"),
    )
    for place, (command, said) in enumerate(changes):
        code, out, err = topics(*command, "--reason", f"reason {place}")
        assert (code, err) == (0, "")
        assert out.startswith(f"daily: {said}")
    _, log, _ = topics("log", POOL)
    assert [line.rsplit(": ", 1)[1] for line in log.splitlines()] == [f"reason {n}" for n in range(8)]
    tree = Curation(database).read(POOL).tree
    assert (tree.size("1"), tree.size("10"), tree.dropped) == (6, 3, {ids()[0]})

    assert topics("undo", POOL) == (0, "daily: undone: Restored 3 queries.\n", "")
    assert "reason 7 (undone 2" in topics("log", POOL)[1]
    assert len(Curation(database).read(POOL).tree.dropped) == 4


def test_a_file_is_exported_reviewed_and_imported(topics: Topics, tmp_path: Path) -> None:
    file = tmp_path / "daily.yaml"
    assert topics("export", POOL, file)[1] == f"daily: 3 topics in {file}.\n"
    assert topics("export", POOL)[1] == file.read_text()
    assert topics("import", POOL, file, "--reason", "x")[1] == (
        "daily: the topics are those of daily.yaml already.\n"
    )

    file.write_text(file.read_text().replace("name: Bread", "name: Baking"))
    _, preview, _ = topics("import", POOL, file, "--reason", "x", "--preview")
    assert preview == ("daily: daily.yaml would change: 1 topic renamed.\n  “Bread” (1) is now “Baking”.\n")
    assert "nothing was changed" in topics("log", POOL)[1]
    assert topics("import", POOL, file, "--reason", "reviewed")[1] == (
        "daily: Import of daily.yaml: 1 topic renamed.\n"
    )
    assert "Baking (1)" in topics("show", POOL)[1]
    assert TEXTS[0] in topics("export", POOL, "--with-texts")[1]


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (("show", "dayly"), "There is no query pool 'dayly'; known are 'daily'."),
        (("show", POOL, "7"), "There is no topic '7': there are, among others, '0', '1', '10'."),
        (("rename", POOL, "0", "--name", "Bread", "--reason", "x"), "already has a topic 'Bread'"),
        (("rename", POOL, "0", "--name", "x", "--reason", " "), "Say why"),
        (("rename", POOL, "0", "--name", "x"), "Missing option '--reason'"),
        (("rename", POOL, "--reason", "x"), "Name either a topic with --name or --summary, or --category"),
        (("rename", POOL, "0", "--category", "Food", "Eat", "--reason", "x"), "Name either a topic with"),
        (("rename", POOL, "--category", "Foo", "Eat", "--reason", "x"), "There is no category 'Foo'"),
        (("rename", POOL, "--category", "Food", "Work", "--reason", "x"), "category 'Work' already"),
        (("move", POOL, "0", "--reason", "x"), "Name either topics and --category, or --query and --to."),
        (("drop", POOL, "--reason", "x"), "Name the queries."),
        (("restore", POOL, "0", "--reason", "x"), "None of these queries is dropped."),
        (("undo", POOL), "There is no change to undo."),
        (("import", POOL, "no.yaml", "--reason", "x"), "no.yaml: it cannot be read: No such file"),
        (("export", POOL, "no/such/folder.yaml"), "it cannot be written: No such file"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_exit_code_2(
    topics: Topics, command: tuple[str, ...], message: str
) -> None:
    code, out, err = topics(*command)
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert message in err
    assert err.count("\n") == 1
