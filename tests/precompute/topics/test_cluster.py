"""Processes that are killed while they look for topics, and processes that do so at the same time."""

import random
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator
from multiprocessing import get_context
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import adjusted_mutual_info_score, normalized_mutual_info_score

from db import Database
from db.database import exclusive, job_locks
from db.repositories.benchmarks import find_benchmark, get_benchmark
from db.repositories.pools import (
    add_curation,
    add_to_pool,
    curation_of,
    find_pool,
    get_topic_map,
    pool_queries,
    put_pool,
    undo_curation,
)
from precompute.topics.cluster import ClusterSummary, cluster_pool, clustering_report, tree_lines
from precompute.topics.discovery import members
from tests.crm.backends.scripted_server import Answer, ScriptedServer
from tests.db.conftest import empty_url, postgres
from tests.db.samples import all_rows
from tests.precompute.collect.samples import write_llms
from tests.precompute.topics import samples, warm
from tests.precompute.topics.conftest import DAILY, DEFAULTS, Lab, cluster_daily


def test_the_topics_of_real_queries(daily: ClusterSummary, daily_file: Path) -> None:
    found = daily.found
    assert daily.is_new
    assert len(found.topic_of) == len(found.step_of) == len(found.xy) == 522
    assert np.mean(found.topic_of < 0) < 0.01
    assert np.isfinite(found.xy).all()
    tops = [topic for topic in found.topics if topic.parent is None]
    sizes = [len(members(found, topic)) for topic in tops]
    assert len(tops) >= 5
    assert min(sizes) >= 5
    assert sizes == sorted(sizes, reverse=True)
    assert sum(sizes) == 522
    named = [topic.name.casefold() for topic in found.topics]
    assert len(set(named)) == len(named)
    assert found.quality["stability"]["ari_mean"] > 0.3


def test_topics_agree_with_categories(daily: ClusterSummary, daily_file: Path) -> None:
    """A person gave DailyBench its categories, which the clustering does not see."""
    database = Database.open(f"sqlite:///{daily_file}")
    with database.session() as session:
        queries = pool_queries(session, find_pool(session, DAILY))
        known = get_benchmark(session, find_benchmark(session, "dailybench")).queries
    database.close()
    category_of = {f"dailybench:{query.external_id}": query.category for query in known}
    category = [category_of[query.origin] for query in queries]
    top_of = [daily.found.topics[topic].key.split(".")[0] for topic in daily.found.topic_of.tolist()]
    assert adjusted_mutual_info_score(category, top_of) > 0.15
    assert normalized_mutual_info_score(category, top_of) > 0.3
    found_category = [daily.found.topics[topic].category for topic in daily.found.topic_of.tolist()]
    assert adjusted_mutual_info_score(category, found_category) > 0.15


def test_a_second_database_gets_the_same_tree(
    daily: ClusterSummary, filled_file: Path, tmp_path: Path
) -> None:
    again = cluster_daily(Path(shutil.copy(filled_file, tmp_path / "usl.sqlite3"))).found
    assert again.digest == daily.found.digest
    assert again.topics == daily.found.topics
    assert np.array_equal(again.topic_of, daily.found.topic_of)
    assert np.array_equal(again.xy, daily.found.xy)
    assert again.quality == daily.found.quality


def test_what_is_found_already_is_not_looked_for_again(daily: ClusterSummary, daily_file: Path) -> None:
    database = Database.open(f"sqlite:///{daily_file}")
    told: list[str] = []
    again = cluster_pool(database, DAILY, DEFAULTS, on_progress=lambda what, _done, _total: told.append(what))
    database.close()
    assert not again.is_new
    assert not told
    assert again.found.digest == daily.found.digest
    assert "found before in 522 queries" in next(clustering_report(again))


def test_the_report_shows_figures_and_tree(daily: ClusterSummary) -> None:
    lines = list(clustering_report(daily))
    n_tops = sum(topic.parent is None for topic in daily.found.topics)
    assert lines[0].startswith(f"daily: {n_tops} topics and ")
    assert "0.0% after reassignment" in lines[1]
    assert "over 2 seeds: adjusted Rand index " in lines[2]
    tree = list(tree_lines(daily.found))
    assert lines[4:] == tree
    categories = {topic.category for topic in daily.found.topics}
    assert sum(line.startswith("- **") for line in tree) == len(categories)
    assert sum(line.startswith("  - ") for line in tree) == n_tops


def test_subjects_are_told_apart(lab: Lab) -> None:
    code, out, err = lab.run("cluster", samples.SLUG, "--config", lab.settings())
    assert (code, err) == (0, "")
    found = lab.found()
    assert out.startswith(f"mine: {len(found.topics)} topics and 0 parts of topics found in 80 queries.\n")
    with lab.database.session() as session:
        origins = [query.origin for query in pool_queries(session, find_pool(session, samples.SLUG))]
    for topic in found.topics:
        assert len({samples.subject_of(origins[row]) for row in members(found, topic).tolist()}) == 1
    assert len(found.topics) >= len(samples.SUBJECTS)
    categories = {"Food & Drink", "Home & Hobbies", "Art, Music & Design", "Travel & Places"}
    assert {topic.category for topic in found.topics} >= categories
    grouped = lab.settings(categories={"how": "grouped"})
    assert lab.run("cluster", samples.SLUG, "--config", grouped)[0] == 0
    topics = lab.found().topics
    assert len({topic.category for topic in topics}) == len(topics) // 2


def test_topics_guided_by_the_list_stay_within_subjects(lab: Lab) -> None:
    """The whole way with the list of topics beside the embeddings, as it is by default."""
    assert lab.run("cluster", samples.SLUG, "--config", lab.settings())[0] == 0
    unguided = lab.found()
    guided = lab.settings(topics={"guided": 0.5})
    code, out, err = lab.run("cluster", samples.SLUG, "--config", guided)
    assert (code, err) == (0, "")
    assert " found in 80 queries" in out
    found = lab.found()
    assert (unguided.settings["topics"]["guided"], found.settings["topics"]["guided"]) == (0.0, 0.5)
    assert not np.array_equal(found.topic_of, unguided.topic_of)
    with lab.database.session() as session:
        origins = [query.origin for query in pool_queries(session, find_pool(session, samples.SLUG))]
    # Which query strays depends on the processor's last digits.
    strayed = 0
    for topic in found.topics:
        subjects = Counter(samples.subject_of(origins[row]) for row in members(found, topic).tolist())
        strayed += subjects.total() - max(subjects.values())
    assert strayed <= len(origins) // 20
    assert " found before in 80 queries" in lab.run("cluster", samples.SLUG, "--config", guided)[1]

    followed = lab.settings(topics={"guided": 1.0})
    assert lab.run("cluster", samples.SLUG, "--config", followed)[0] == 0
    assert len(lab.found().topics) >= len(samples.SUBJECTS)


def test_more_queries_and_other_settings_give_new_topics(lab: Lab) -> None:
    command = ("cluster", samples.SLUG, "--config", lab.settings())
    assert " found in 80 queries" in lab.run(*command)[1]
    assert " found before in 80 queries" in lab.run(*command)[1]
    with lab.database.session() as session:
        add_to_pool(
            session,
            find_pool(session, samples.SLUG),
            [("Which cooking recipe is best with soup and salt?", "late")],
        )
    assert " found in 81 queries" in lab.run(*command)[1]
    assert len(lab.found().topic_of) == 81
    assert " found in 81 queries" in lab.run(*command, "--seed", "7")[1]
    assert lab.found().settings["topics"]["seed"] == 7


def test_dailybenchs_categories_are_needed_where_they_are_asked_for(lab: Lab) -> None:
    settings = lab.settings(categories={"how": "dailybench"})
    code, out, err = lab.run("cluster", samples.SLUG, "--config", settings)
    assert (code, out) == (2, "")
    assert 'set how = "grouped"' in err


def test_what_is_all_alike_is_one_sentence(lab: Lab) -> None:
    settings = lab.settings(topics={"smallest_cluster": 26, "density_neighbours": 70})
    code, out, err = lab.run("cluster", samples.SLUG, "--config", settings)
    assert (code, out) == (2, "")
    assert "No 26 queries mean so much alike" in err


def test_curated_topics_stay_unless_told_otherwise(lab: Lab) -> None:
    command = ("cluster", samples.SLUG, "--config", lab.settings())
    assert lab.run(*command)[0] == 0
    before = lab.found()
    with exclusive(lab.database.engine), lab.database.session() as session:
        add_curation(session, find_pool(session, samples.SLUG), {"do": "rename"}, "a better name")
    assert " found before " in lab.run(*command)[1]
    code, out, err = lab.run(*command, "--seed", "5")
    assert (code, out) == (2, "")
    assert "were curated" in err
    assert "--again" in err
    assert lab.found().settings == before.settings

    assert lab.run(*command, "--seed", "5", "--again")[0] == 0
    with lab.database.session() as session:
        assert curation_of(session, find_pool(session, samples.SLUG)) == ()
    with exclusive(lab.database.engine), lab.database.session() as session:
        pool = find_pool(session, samples.SLUG)
        add_curation(session, pool, {"do": "rename"}, "a better name")
        undo_curation(session, pool)
    assert lab.run(*command)[0] == 0  # what was undone is no loss


def test_a_pool_is_looked_at_by_one_process_at_a_time(lab: Lab) -> None:
    with job_locks(lab.database.engine, [f"looking for topics in {samples.SLUG!r}"]):
        code, out, err = lab.run("cluster", samples.SLUG, "--config", lab.settings())
    assert (code, out) == (2, "")
    assert "Another process is looking for topics in 'mine'" in err


@pytest.mark.parametrize("text", ["{} + {} = ?", "who are you?{}{}"])
def test_queries_without_words_are_clustered_by_meaning_alone(lab: Lab, text: str) -> None:
    with lab.database.session() as session:
        put_pool(session, "numbers")
        made = [text.format(one, other) for one in range(8) for other in range(8)]
        add_to_pool(session, find_pool(session, "numbers"), [(query, "made") for query in made])
    code, out, err = lab.run("cluster", "numbers", "--config", lab.settings())
    assert (code, err) == (0, "")
    assert "0 parts of topics found in 64 queries" in out


__all__ = ["empty_url", "postgres"]  # fixtures

BATCH = 4
N_BATCHES = 80 // BATCH
KILLS = {"sqlite": 3, "postgresql": 2}
Start = Callable[[str], ForkServerProcess]


def slowly(answer: Callable[[Any], Answer]) -> Callable[[Any], Answer]:
    def after_a_while(body: Any) -> Answer:
        time.sleep(0.03)
        return answer(body)

    return after_a_while


@pytest.fixture
def slow_server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as started:
        started.on(samples.EMBEDDINGS, slowly(samples.embeddings))
        started.on(samples.CHAT, slowly(samples.naming))
        yield started


@pytest.fixture(scope="module")
def _warm_processes() -> Iterator[None]:
    """The process to fork from imports what it warms, with one thread each: a fork copies no others."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
            patch.setenv(name, "1")
        patch.setenv(warm.WARM, "yes")
        patch.setenv("NUMBA_THREADING_LAYER", "workqueue")  # the other one refuses forks
        get_context("forkserver").set_forkserver_preload([warm.__name__])
        yield


@pytest.fixture
def start(slow_server: ScriptedServer, tmp_path: Path, _warm_processes: None) -> Iterator[Start]:
    """Starts “precompute cluster mine” on a database, in a process of its own."""
    encoder = {
        "backend": "openai",
        "model": "embedder",
        "url": f"{slow_server.url}/v1",
        "batch_size": BATCH,
        "retries": 0,
    }
    settings = samples.write_settings(tmp_path, encoder=encoder)
    llms = write_llms(tmp_path, slow_server.url, "writer", concurrency=1, retries=0)
    started: list[ForkServerProcess] = []

    def call(url: str) -> ForkServerProcess:
        arguments = ["cluster", samples.SLUG, "--config", str(settings), "--llm", "writer"]
        environment = {"USL_DATABASE_URL": url, "USL_LLMS": str(llms)}
        process = get_context("forkserver").Process(
            target=warm.main, args=(arguments, environment, str(output(tmp_path, len(started))))
        )
        process.start()
        started.append(process)
        return process

    yield call
    for process in started:
        process.kill()
        process.join()


def output(folder: Path, number: int) -> Path:
    """What the process of this number has printed."""
    return folder / f"printed-{number}.txt"


@pytest.fixture
def opened(empty_url: str) -> Iterator[Database]:
    database = Database.open(empty_url)
    samples.store(database)
    yield database
    database.close()


def url_of(database: Database) -> str:
    return database.engine.url.render_as_string(hide_password=False)


def finish(process: ForkServerProcess, printed: Path) -> int | None:
    process.join(120)
    assert process.exitcode is not None, printed.read_text()
    return process.exitcode


def n_asked(server: ScriptedServer) -> int:
    return len(server.asked[samples.EMBEDDINGS]) + len(server.asked[samples.CHAT])


def n_categories(database: Database) -> int:
    with database.session() as session:
        return len(
            {topic.category for topic in get_topic_map(session, find_pool(session, samples.SLUG)).topics}
        )


def test_a_killed_job_goes_on_where_it_was(
    opened: Database, slow_server: ScriptedServer, start: Start, tmp_path: Path
) -> None:
    chance = random.Random(4)
    n_topics = len(samples.SUBJECTS)
    kills = KILLS[opened.engine.dialect.name]
    moments = sorted(chance.sample(range(1, N_BATCHES), kills - 1))
    moments.append(N_BATCHES + chance.randint(0, n_topics))
    for number, moment in enumerate(moments):
        process = start(url_of(opened))
        # A batch that is asked for again by the process before this one counts once more.
        while n_asked(slow_server) < moment + number and process.is_alive():
            time.sleep(0.005)
        time.sleep(chance.random() * 0.03)
        assert process.is_alive(), output(tmp_path, number).read_text()
        process.kill()
        process.join()
    last = start(url_of(opened))
    assert finish(last, output(tmp_path, kills)) == 0, output(tmp_path, kills).read_text()
    # Asked again is only what was under way.
    least = N_BATCHES + n_topics + n_categories(opened)
    assert least <= n_asked(slow_server) <= least + kills

    undisturbed = Database.open(f"sqlite:///{tmp_path / 'undisturbed.sqlite3'}")
    samples.store(undisturbed)
    assert finish(start(url_of(undisturbed)), output(tmp_path, kills + 1)) == 0
    with opened.session() as session, undisturbed.session() as other:
        found, expected = all_rows(session), all_rows(other)
    undisturbed.close()
    assert len(expected["topic_map"]) == 1
    assert len(expected["text_embedding"]) == 2 * 80  # by the endpoint, and by MiniLM for the names
    assert found == expected


def test_two_at_once_do_not_do_the_same(
    opened: Database, slow_server: ScriptedServer, start: Start, tmp_path: Path
) -> None:
    both = [start(url_of(opened)), start(url_of(opened))]
    ends = sorted(
        (finish(process, output(tmp_path, number)), output(tmp_path, number).read_text())
        for number, process in enumerate(both)
    )
    assert [code for code, _ in ends] == [0, 2], ends
    assert ends[0][1].startswith("mine: 4 topics and 0 parts of topics found in 80 queries.")
    assert ends[1][1] == (
        "error: Another process is looking for topics in 'mine'; run the command again when it is done.\n"
    )
    assert len(slow_server.asked[samples.EMBEDDINGS]) == N_BATCHES
    assert len(slow_server.asked[samples.CHAT]) == len(samples.SUBJECTS) + n_categories(opened)
