"""The jobs in other processes give what they give in this process."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crm.criteria import CriteriaSet
from crm.embedded.representation import MISSING, NAME
from crm.protocol import CRM
from crm.registry import get_crm, judge_maker
from db import Database
from db.records import ScoreKey, ScoreRow
from db.repositories import representations, scores
from db.repositories.benchmarks import find_benchmark
from precompute.embed import EmbedSummary, embed_benchmark
from precompute.engines import Engine, LocalEngine
from precompute.errors import PrecomputeError
from precompute.score import DistributedCRM, distributed_judge, score_benchmark
from tests.checkpoints import make_checkpoint

CONCISE = CriteriaSet.of(["concise and direct"], ["slang"])
CLEARED = ("jester", "brevia")
N_CLEARED = 60
Arrays = dict[str, np.ndarray[Any, Any]]
Copy = Callable[[str], Database]


@pytest.fixture
def copy(filled_file: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Copy:
    """Opens copies of the database of bundled benchmarks."""

    def opened(name: str) -> Database:
        database = Database.open(f"sqlite:///{shutil.copy(filled_file, tmp_path / name)}")
        request.addfinalizer(database.close)
        return database

    return opened


def embedded_again(database: Database, engine: Engine) -> tuple[EmbedSummary, dict[str, Arrays]]:
    """Clears a part of a few LLMs of DailyBench and embeds it."""
    with database.session() as session:
        for llm in CLEARED:
            arrays = stored(database, llm)
            arrays["digest"][:N_CLEARED] = MISSING
            arrays["features"][:N_CLEARED] = 0
            representations.put_representation(
                session, find_benchmark(session, "dailybench"), llm, NAME, arrays
            )
    summary = embed_benchmark(database, "dailybench", engine=engine)
    return summary, {llm: stored(database, llm) for llm in CLEARED}


def stored(database: Database, llm: str) -> Arrays:
    with database.session() as session:
        arrays = representations.get_representation(session, find_benchmark(session, "dailybench"), llm, NAME)
    assert arrays is not None
    return arrays


def test_representations_are_the_same_to_the_bit(elsewhere: Engine, copy: Copy) -> None:
    summary, there = embedded_again(copy("elsewhere.sqlite3"), elsewhere)
    expected, here = embedded_again(copy("local.sqlite3"), LocalEngine())
    assert summary == expected == EmbedSummary(2 * N_CLEARED, 8 * 522 - 2 * N_CLEARED)
    for llm in CLEARED:
        assert there[llm]["digest"].all()
        assert there[llm]["features"].any(axis=1).all()
        for name, array in here[llm].items():
            np.testing.assert_array_equal(there[llm][name], array)


def scored(database: Database, crm: CRM, topics: tuple[str, ...]) -> dict[str, ScoreRow]:
    score_benchmark(database, "dailybench", [crm], [CONCISE], topics=topics)
    with database.session() as session:
        return scores.get_scores(
            session, find_benchmark(session, "dailybench"), ScoreKey(crm.name, crm.version, CONCISE.key)
        )


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Name of a small classifier among the configured judges."""
    make_checkpoint(tmp_path / "checkpoint")
    file = tmp_path / "crms.toml"
    file.write_text('[tiny]\nbackend = "transformers"\nmodel = "checkpoint"\norder_swap = true\n')
    monkeypatch.setenv("USL_CRMS", str(file))
    return "tiny"


def test_scores_are_the_same(elsewhere: Engine, copy: Copy, tiny: str) -> None:
    topics = ("Short fiction",)
    there = scored(copy("elsewhere.sqlite3"), distributed_judge(elsewhere, tiny), topics)
    here = scored(copy("local.sqlite3"), get_crm(tiny), topics)
    assert len(here) == 7
    assert there.keys() == here.keys()
    for llm, row in here.items():
        assert row.judged.sum() == there[llm].judged.sum() > 0
        np.testing.assert_array_equal(there[llm].prob, row.prob)


def test_a_judge_that_has_changed_at_a_worker_is_refused(copy: Copy) -> None:
    longer = DistributedCRM(get_crm("longer"), judge_maker("longer"), LocalEngine())
    longer.version = "0"
    with pytest.raises(PrecomputeError, match="'longer' has the version '1' at a worker and '0' here"):
        score_benchmark(copy("ray.sqlite3"), "dailybench", [longer], [CONCISE])


def test_judges_that_read_representations_stay_here(on_ray: Engine) -> None:
    assert distributed_judge(on_ray, "embedded") is get_crm("embedded")
    assert distributed_judge(LocalEngine(), "longer") is get_crm("longer")
