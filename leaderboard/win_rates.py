"""``python -m leaderboard win-rates``: win rates under many criteria lists, stored or against all others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Annotated

import numpy as np
import typer

from crm.criteria import CriteriaSet, Criterion, popular_criteria
from db.records import ScoreKey, StoredScores, WinRateRecord
from db.repositories.benchmarks import find_benchmark
from db.repositories.scores import ALL_QUERIES, get_win_rates, list_win_rates
from leaderboard.benchmark import LoadedBenchmark
from leaderboard.errors import LeaderboardError
from leaderboard.export import win_rates_csv
from leaderboard.service import Service
from leaderboard.view import DEFAULT_BENCHMARK, DEFAULT_CRM, View

Part = tuple[StoredScores, Sequence[WinRateRecord]]


def win_rates(
    benchmark: Annotated[str, typer.Option(help="Slug of the benchmark.")] = DEFAULT_BENCHMARK,
    crm: Annotated[list[str] | None, typer.Option(help="Only this judge; repeatable.")] = None,
) -> None:
    """Print win rates under the popular criteria as CSV: by judge, criteria list, category and LLM.

    Against a baseline they are those that are stored: some come with the bundled benchmarks, and “python -m
    precompute score” stores others. Where a benchmark has none they are computed now, against all other
    LLMs, in a minute or two.
    """
    service = Service.open()
    loaded = service.benchmark(benchmark)
    has_baseline = loaded.record.baseline is not None
    parts = stored_parts(service, benchmark, crm) if has_baseline else parts_against_all(service, loaded, crm)
    printed = False
    for scores, rates in parts:
        typer.echo(win_rates_csv(scores, rates, header=not printed), nl=False)
        printed = True
    if not printed:
        command = f"python -m precompute score --benchmark {benchmark} --crm {(crm or [DEFAULT_CRM])[0]}"
        raise LeaderboardError(f"No such win rates of {benchmark!r} are stored: run “{command}”.")


def stored_parts(service: Service, benchmark: str, crms: Sequence[str] | None = None) -> Iterator[Part]:
    """Yield the win rates that are stored, by judge and criteria list."""
    with service.database.session() as session:
        found = find_benchmark(session, benchmark)
        for stored in list_win_rates(session, found):
            if not crms or stored.key.crm in crms:
                yield stored, get_win_rates(session, found, stored.key)


def parts_against_all(
    service: Service, benchmark: LoadedBenchmark, crms: Sequence[str] | None = None
) -> Iterator[Part]:
    """Yield win rates against all other LLMs, without criteria and under each of the popular lists.

    Args:
        crms: Judges that need no time; by default the bundled one.

    Raises:
        LeaderboardError: A judge cannot compare every LLM with every other.
        CRMError: There is no such judge.
    """
    lists = dict.fromkeys((CriteriaSet(), *(popular.criteria for popular in popular_criteria())))
    for crm in crms or (DEFAULT_CRM,):
        for criteria in lists:
            view = View(benchmark.record.info.slug, crm=crm, criteria=criteria)
            version = service.leaderboard(view, subscriber=None).crm_version
            of_list = StoredScores(
                ScoreKey(crm, version, criteria.key), tuple(map(Criterion.to_json, criteria))
            )
            yield of_list, list(_records(service, benchmark, view))


def _records(service: Service, benchmark: LoadedBenchmark, view: View) -> Iterator[WinRateRecord]:
    """Yield the win rates of all queries, then of each category, by LLM in the benchmark's order."""
    in_use = sorted(set(benchmark.category_index.tolist()))
    for category in (ALL_QUERIES, *(benchmark.category_names[index] for index in in_use)):
        within = replace(view, topics=(category,) if category else ())
        hard, soft = (
            service.leaderboard(replace(within, soft=soft), subscriber=None).ranking for soft in (False, True)
        )
        mean_prob = dict(zip(soft.llms, soft.win_rate.tolist(), strict=True))
        row_of = {llm: row for row, llm in enumerate(hard.llms) if np.isfinite(hard.win_rate[row])}
        for llm in filter(row_of.__contains__, benchmark.llms):
            row = row_of[llm]
            yield WinRateRecord(
                llm,
                category,
                float(hard.win_rate[row]),
                mean_prob[llm],
                float(hard.ci_low[row]),
                float(hard.ci_high[row]),
                int(hard.n_queries[row]),
            )
