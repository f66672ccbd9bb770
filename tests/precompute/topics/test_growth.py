"""Queries that are added to a pool whose topics people have curated."""

from collections.abc import Sequence

import pytest

from db import Database
from db.repositories.pools import add_to_pool, find_pool
from leaderboard.errors import LeaderboardError
from leaderboard.topics.actions import MoveToCategory, Rename
from leaderboard.topics.curation import CuratedTopics, Curation
from leaderboard.topics.tree import OUTLIER
from tests.precompute.topics import samples
from tests.precompute.topics.conftest import Lab

MORE_SOUP = [f"Which cooking recipe with dumplings tastes good for dinner, number {n}?" for n in range(4)]
TAX = [
    f"Explain the tax return form {form} of a small company, question {n}"
    for n in range(8)
    for form in ("A", "B", "C", "D")
]
ENDPOINT = {"backend": "openai", "model": "embedder", "retries": 0}


def add(database: Database, texts: Sequence[str]) -> None:
    with database.session() as session:
        add_to_pool(session, find_pool(session, samples.SLUG), [(text, "late") for text in texts])


def curated(lab: Lab) -> CuratedTopics:
    return Curation(lab.database).read(samples.SLUG)


def key_of(lab: Lab, subject: str) -> str:
    """The largest topic of a subject."""
    topics = curated(lab)
    of_subject = {query.id for query in topics.queries if samples.subject_of(query.origin) == subject}
    places = [topics.tree.place_of(query) for query in topics.tree.query_ids if query in of_subject]
    return max(set(places), key=places.count)


@pytest.fixture
def command(lab: Lab) -> tuple[object, ...]:
    """The command that finds topics, which were found and then curated."""
    encoder = {**ENDPOINT, "url": f"{lab.server.url}/v1"}
    found = ("cluster", samples.SLUG, "--config", lab.settings(encoder=encoder))
    assert lab.run(*found)[0] == 0
    curation = Curation(lab.database)
    curation.edit(samples.SLUG, Rename(key_of(lab, "cooking"), "Our dishes"), "ours")
    curation.edit(samples.SLUG, MoveToCategory((key_of(lab, "music"),), "Our hobbies"), "ours")
    return found


def test_added_queries_go_to_curated_topics_and_the_rest_forms_new_ones(
    lab: Lab, command: tuple[object, ...]
) -> None:
    before = curated(lab).tree
    add(lab.database, [*MORE_SOUP, *TAX])
    code, out, err = lab.run(*command)
    assert (code, err) == (0, "")
    assert out.startswith("mine: 36 queries were added; the topics stay as they are.\n")

    topics = curated(lab)
    after = topics.tree
    ids = {query.text: query.id for query in topics.queries}
    assert {after.place_of(ids[text]) for text in MORE_SOUP} == {key_of(lab, "cooking")}
    new = [topic for topic in after.topics if topic.key not in before]
    assert new
    assert {after.place_of(ids[text]) for text in TAX} <= {*(topic.key for topic in new), OUTLIER}
    assert all(f"{topic.name} (new)" in out for topic in new)
    # What people made of the others is as it was.
    assert [topic for topic in after.topics if topic.key in before] == list(before.topics)
    assert after.topic_of[: len(before.topic_of)] == before.topic_of
    names = [topic.name.casefold() for topic in after.topics]
    assert len(set(names)) == len(names)
    row = next(line for line in out.splitlines() if "Our dishes" in line)
    confidence = row.split("  ")[-1]
    assert float(confidence.split(",")[0]) >= 0.5


def test_a_second_run_changes_nothing(lab: Lab, command: tuple[object, ...]) -> None:
    add(lab.database, [*MORE_SOUP, *TAX])
    assert lab.run(*command)[0] == 0
    before = curated(lab)
    code, out, _ = lab.run(*command)
    assert code == 0
    assert " found before in 80 queries" in out
    assert "36 queries were added since" in out
    assert curated(lab).version == before.version
    assert curated(lab).tree == before.tree


def test_again_looks_for_topics_in_all_queries(lab: Lab, command: tuple[object, ...]) -> None:
    add(lab.database, [*MORE_SOUP, *TAX])
    assert lab.run(*command)[0] == 0
    assert lab.run(*command, "--again")[0] == 0
    assert curated(lab).history == ()
    assert len(lab.found().topic_of) == 116


def test_growth_is_one_change_in_the_log_and_can_be_undone(lab: Lab, command: tuple[object, ...]) -> None:
    before = curated(lab).tree
    add(lab.database, [*MORE_SOUP, *TAX])
    assert lab.run(*command)[0] == 0
    *earlier, last = curated(lab).history
    assert [edit.reason for edit in earlier] == ["ours", "ours"]
    assert last.what.startswith("Placed ")
    Curation(lab.database).undo(samples.SLUG)
    undone = curated(lab).tree
    assert undone.topics == before.topics
    assert undone.topic_of == (*before.topic_of, *[OUTLIER] * 36)
    for _ in range(2):
        Curation(lab.database).undo(samples.SLUG)
    with pytest.raises(LeaderboardError, match="no change to undo"):
        Curation(lab.database).undo(samples.SLUG)


def test_what_found_no_topic_is_tried_again_when_more_comes(lab: Lab, command: tuple[object, ...]) -> None:
    add(lab.database, TAX[:2])
    _, out, _ = lab.run(*command)
    assert "without a topic" in out
    assert curated(lab).tree.n_outliers == 2
    add(lab.database, TAX[2:])
    assert lab.run(*command)[0] == 0
    tree = curated(lab).tree
    assert tree.place_of(curated(lab).queries[80].id) != OUTLIER
    assert tree.n_outliers < 2 + len(TAX[2:])


def test_every_query_goes_to_a_topic_where_no_confidence_is_asked_for(
    lab: Lab, command: tuple[object, ...]
) -> None:
    add(lab.database, TAX)
    encoder = {**ENDPOINT, "url": f"{lab.server.url}/v1"}
    lab.settings(encoder=encoder, growth={"fits": 0})
    before = curated(lab).tree.topics
    assert lab.run(*command)[0] == 0
    assert curated(lab).tree.topics == before
    assert curated(lab).tree.n_outliers == 0


def test_topics_that_nobody_curated_grow_where_that_is_asked_for(lab: Lab) -> None:
    found = ("cluster", samples.SLUG, "--config", lab.settings())
    assert lab.run(*found)[0] == 0
    topics = lab.found().topics
    add(lab.database, MORE_SOUP)
    code, out, _ = lab.run(*found, "--grow")
    assert code == 0
    assert "4 queries were added; the topics stay" in out
    assert lab.found().topics == topics
    code, _, err = lab.run(*found, "--grow", "--again")
    assert code == 2
    assert "either --again" in err


def test_another_encoder_cannot_place_what_is_added(lab: Lab, command: tuple[object, ...]) -> None:
    add(lab.database, MORE_SOUP)
    before = curated(lab)
    code, out, err = lab.run("cluster", samples.SLUG, "--config", lab.settings())
    assert (code, out) == (2, "")
    assert "were found with the encoder 'embedder at" in err
    assert curated(lab).version == before.version


def test_prompts_of_a_template_are_set_aside_when_they_are_added(lab: Lab) -> None:
    found = (
        "cluster",
        samples.SLUG,
        "--config",
        lab.settings(templates={"set_aside": True, "shared_words": 4}),
    )
    # All of these queries follow templates, so that too few are left.
    code, _, err = lab.run(*found)
    assert code == 2
    assert "follow templates" in err
    assert "set_aside = false" in err

    plain = ("cluster", samples.SLUG, "--config", lab.settings())
    assert lab.run(*plain)[0] == 0
    add(lab.database, TAX)
    found = ("cluster", samples.SLUG, "--grow", "--config", lab.settings(templates={"set_aside": True}))
    code, out, err = lab.run(*found)
    assert (code, err) == (0, "")
    assert "set aside as template prompts" in out
    tree = curated(lab).tree
    assert len(tree.dropped) == len(TAX)
    assert {tree.place_of(query) for query in tree.dropped} == {"templates"}


def test_an_llm_names_the_new_topics(lab: Lab, command: tuple[object, ...]) -> None:
    lab.llms("writer")
    add(lab.database, TAX)
    before = curated(lab).tree
    code, _, err = lab.run(*command, "--llm", "writer")
    assert (code, err) == (0, "")
    new = [topic for topic in curated(lab).tree.topics if topic.key not in before]
    assert new
    assert {topic.named_by for topic in new} == {"writer"}
