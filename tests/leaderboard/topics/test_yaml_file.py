"""The YAML file of topics: what it looks like, that it comes back, and what is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaderboard.errors import LeaderboardError, UploadError
from leaderboard.topics.actions import apply
from leaderboard.topics.tree import TopicTree, difference
from leaderboard.topics.yaml_file import read_topics, write_topics
from tests.leaderboard.topics.samples import TREE, actions, trees

DIGEST = "d" * 64

WRITTEN = f"""\
format: usl-topics/1
pool: daily
map: {DIGEST}
categories:
- name: Food
  topics:
  - key: '0'
    name: Soup
    summary: About soup.
    keywords: [soup, hot]
    queries:
    - a
    parts:
    - key: '0.1'
      name: Cold soup
      queries:
      - b
    - key: '0.2'
      name: Hot soup
      queries:
      - c
  - key: '1'
    name: Bread
    queries:
    - d
    - e
- name: Work
  topics:
  - key: '10'
    name: Mail
    queries:
    - f
    dropped:
    - g
outliers:
  queries:
  - h
"""


def read(text: str, tree: TopicTree = TREE) -> TopicTree:
    """The tree that the file asks for."""
    action = read_topics(text.encode(), "topics.yaml", tree, DIGEST)
    return tree if action is None else apply(tree, action)


def test_the_file_lists_categories_topics_and_their_queries() -> None:
    assert write_topics(TREE, pool="daily", digest=DIGEST) == WRITTEN


def test_texts_are_written_for_readers_and_not_read() -> None:
    texts = {query: f"Text: {query}\n- 'x'" for query in TREE.query_ids}
    written = write_topics(TREE, pool="daily", digest=DIGEST, texts=texts)

    assert "- id: a\n" in written
    assert read(written.replace("Text: a", "Another")) == TREE


def test_a_file_that_changes_nothing_asks_for_nothing() -> None:
    assert read_topics(WRITTEN.encode(), "topics.yaml", TREE, DIGEST) is None


def test_what_is_changed_in_the_file_is_told_in_words() -> None:
    changed = (
        WRITTEN.replace("name: Bread", "name: Baking")
        .replace("    - d\n", "")
        .replace("    - a\n", "    - a\n    - d\n")
        .replace("    dropped:\n    - g\n", "    - g\n")
        .replace("outliers:\n  queries:", "outliers:\n  dropped:")
    )
    found = difference(TREE, read(changed))

    assert str(found) == "1 topic renamed, 1 query moved, 1 query dropped, 1 query restored"
    assert found.lines == (
        "“Bread” (1) is now “Baking”.",
        "Query d: “Bread” → “Soup”.",
        "Query h of “no topic” is dropped.",
        "Query g of “Mail” is back.",
    )
    assert str(difference(TREE, TREE)) == "nothing changed"


@given(st.data())
def test_every_tree_comes_back_as_it_was(data: st.DataObject) -> None:
    found = data.draw(trees())
    tree = found
    for _ in range(3):
        try:
            tree = apply(tree, data.draw(actions(tree)))
        except LeaderboardError:
            continue
    written = write_topics(tree, pool="p", digest=DIGEST)

    assert read(written, tree) == tree
    # A file can ask for every tree that changes can make, whatever was curated since.
    assert read(written, found) == tree


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (DIGEST, "e" * 64, "exported from other topics than these"),
        ("    - d\n", "", "the id 'd' is missing: list a query under “dropped”"),
        ("    - d\n", "    - d\n    - x\n", "the id 'x' is of no query of this pool"),
        ("    - d\n", "    - d\n    - a\n", "the query 'a' is listed twice"),
        ("  - h\n", "  - h\n  dropped:\n  - h\n", "the query 'h' is listed twice"),
        ("key: '1'", "key: '0'", "the key '0' is that of two topics"),
        ("key: '1'", "key: 1", r"at categories\[1\].topics\[2\].key: .* valid string; put 1 in quotes"),
        ("    - d\n", "    - 12\n", r"topics\[2\].queries\[1\].* put 12 in quotes"),
        ("key: '1'", "key: '-'", r"categories\[1\].topics\[2\].key"),
        ("name: Bread", "name: soup", "already has a topic"),
        ("name: Bread", "name: ''", "must not be blank"),
        ("name: Bread", "nome: Bread", r"at categories\[1\].topics\[2\].name"),
        ("name: Bread", "name: [1]", "valid string"),
        ("format: usl-topics/1", "format: usl-topics/9", "at format: "),
        (WRITTEN, "", "no file of topics: it must begin with “format: usl-topics/1”"),
        (WRITTEN, "- 1", "no file of topics"),
        (WRITTEN, "a: [", "it is no YAML: line 2"),
        (WRITTEN, "\x00", "it is no YAML"),
        (WRITTEN, "a: 2026-13-45", "a value cannot be read"),
        (WRITTEN, "a: " + "9" * 5000, "a value cannot be read"),
        (WRITTEN, "!!python/object/apply:os.system [id]", "it is no YAML"),
        (WRITTEN, "a: &x [1]\nb: *x", r"references \(\*x\) are not allowed"),
        (WRITTEN, "[" * 2000, "nested too deeply"),
        (WRITTEN, "#" * 16_000_001, "has 16 MB"),
    ],
)
def test_a_file_that_cannot_be_taken_over_is_refused(old: str, new: str, message: str) -> None:
    assert old in WRITTEN
    with pytest.raises(UploadError, match=f"^topics.yaml: .*{message}") as raised:
        read(WRITTEN.replace(old, new, 1))
    assert "\n" not in str(raised.value)


def test_a_bomb_of_references_is_refused_at_once() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    with pytest.raises(UploadError, match="reference"):
        read("\n".join(lines))
