"""Win rates that lie beside the bundled benchmarks."""

import csv
import io
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from crm.criteria import CriteriaSet, popular_criteria
from crm.registry import get_crm
from db import Database
from db.bundle import (
    bundle_digest,
    read_bundle,
    read_win_rates,
    win_rates_file,
    write_bundle,
    write_win_rates,
)
from db.errors import BundleError
from db.repositories import scores
from db.repositories.benchmarks import find_benchmark, set_baseline
from leaderboard.__main__ import main
from leaderboard.service import Service
from leaderboard.statistics.win_rate import outcomes, win_rates
from leaderboard.view import View
from precompute.bundles import save_win_rates
from precompute.commands.options import BUNDLED
from precompute.score import score_benchmark
from tests.conftest import Run
from tests.db import samples

DAILYBENCH = BUNDLED / "dailybench.usl.zip"
ALPACA_EVAL = BUNDLED / "alpaca-eval.usl.zip"
MOST_BYTES = 45_000_000
"""Of a bundled benchmark and its win rates."""


def test_a_fresh_install_answers_with_what_the_page_shows(run_main: Run, service: Service) -> None:
    for slug, n_llms, crms in (
        ("dailybench", 7, {"cosine", "embedded", "longer"}),
        ("alpaca-eval", 47, {"embedded"}),
    ):
        code, printed, _ = run_main(main, "win-rates", "--benchmark", slug)
        every = list(csv.DictReader(io.StringIO(printed)))
        assert code == 0
        assert {row["crm"] for row in every} == crms
        for crm in crms:
            assert len({row["criteria_key"] for row in every if row["crm"] == crm}) == 41
        rows = [row for row in every if row["crm"] == "embedded"]
        for criteria in (CriteriaSet(), popular_criteria()[7].criteria):
            board = service.leaderboard(View(slug, criteria=criteria), subscriber=None)
            page = dict(zip(board.ranking.llms, board.ranking.win_rate.tolist(), strict=True))
            if not criteria and board.n_by_votes:  # which what is stored is not held to
                by_judge = service.score_matrix(service.benchmark(slug), get_crm("embedded"), criteria)
                llms = service.benchmark(slug).llms
                page = dict(zip(llms, win_rates(outcomes(by_judge)).tolist(), strict=True))
            printed_rates = {
                row["llm"]: float(row["win_rate"])
                for row in rows
                if (row["criteria_key"], row["category"]) == (criteria.key, "")
            }
            assert len(printed_rates) == n_llms
            wrong = f"bundled/{slug}.win-rates.zip is out of date: make it again as bundled/README.md says"
            assert printed_rates == pytest.approx({llm: page[llm] for llm in printed_rates}, abs=2e-3), wrong


def test_the_longer_answer_is_preferred_whatever_is_wished(run_main: Run, service: Service) -> None:
    code, printed, _ = run_main(main, "win-rates", "--benchmark", "dailybench", "--crm", "longer")
    rows = [row for row in csv.DictReader(io.StringIO(printed)) if not row["category"]]
    pairs = service.benchmark("dailybench").pairs("brevia")
    longer = [np.sign(len(pair.response_a) - len(pair.response_b)) for pair in pairs if pair is not None]

    assert code == 0
    assert {row["win_rate"] for row in rows if row["llm"] == "brevia"} == {f"{(np.mean(longer) + 1) / 2:.4f}"}


def test_a_bundle_stays_small_with_its_win_rates() -> None:
    for bundle in (DAILYBENCH, ALPACA_EVAL):
        assert bundle.stat().st_size + win_rates_file(bundle).stat().st_size < MOST_BYTES


def test_they_count_only_beside_the_bundle_they_were_made_of(tmp_path: Path) -> None:
    copied = tmp_path / "dailybench.usl.zip"
    shutil.copy(win_rates_file(DAILYBENCH), win_rates_file(copied))
    bundle = read_bundle(DAILYBENCH)
    write_bundle(copied, replace(bundle, info=replace(bundle.info, title="Another")))
    database = Database.open(f"sqlite:///{tmp_path / 'usl.sqlite3'}", bundles=[copied])
    with database.session() as session:
        assert scores.list_win_rates(session, find_benchmark(session, "dailybench")) == []
    database.close()


def test_those_of_llms_that_are_not_there_are_refused(tmp_path: Path) -> None:
    digest = bundle_digest(DAILYBENCH)
    found = read_win_rates(win_rates_file(DAILYBENCH), read_bundle(DAILYBENCH), digest)
    write_win_rates(tmp_path / "x.win-rates.zip", found, digest)
    with pytest.raises(BundleError, match=r"win_rates/0\.jsonl: the LLM 'brevia' is not in manifest\.json"):
        read_win_rates(tmp_path / "x.win-rates.zip", samples.bundle(), digest)


@pytest.fixture
def fresh(filled_file: Path, tmp_path: Path) -> Database:
    shutil.copy(filled_file, tmp_path / "usl.sqlite3")
    return Database.open(f"sqlite:///{tmp_path / 'usl.sqlite3'}", bundles=[DAILYBENCH])


def test_scoring_stores_the_matrices_all_the_same_and_comes_to_the_same(
    fresh: Database, tmp_path: Path
) -> None:
    with fresh.session() as session:
        benchmark = find_benchmark(session, "dailybench")
        [key] = [
            item.key
            for item in scores.list_win_rates(session, benchmark)
            if item.criteria == () and item.key.crm == "embedded"
        ]
        shipped = scores.get_win_rates(session, benchmark, key)
        # What nobody scored here is not counted among what may be pruned.
        assert scores.prune_scores(session, keep=0) == 0
        assert scores.list_scores(session, benchmark) == []
    [summary] = score_benchmark(fresh, "dailybench", [get_crm("embedded")], [CriteriaSet()])
    assert (summary.judged, summary.stored, summary.sets_complete) == (522 * 7, 0, 1)
    with fresh.session() as session:
        assert len(scores.list_scores(session, benchmark)) == 1
        scored = scores.get_win_rates(session, benchmark, key)
    assert [rate.hard for rate in scored] == pytest.approx([rate.hard for rate in shipped], abs=2e-3)
    written = save_win_rates(fresh, "dailybench", tmp_path / "out.win-rates.zip")
    assert len(written) == 3 * 41
    read = read_win_rates(tmp_path / "out.win-rates.zip", read_bundle(DAILYBENCH), bundle_digest(DAILYBENCH))
    assert list(read) == written


def test_another_baseline_makes_them_void_for_good(fresh: Database) -> None:
    url = str(fresh.engine.url)
    with fresh.session() as session:
        set_baseline(session, find_benchmark(session, "dailybench"), "verity")
    fresh.close()
    again = Database.open(url, bundles=[DAILYBENCH])
    with again.session() as session:
        assert scores.list_win_rates(session, find_benchmark(session, "dailybench")) == []
    again.close()
