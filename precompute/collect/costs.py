"""What a collection will cost, before anything is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil

from crm.llm.endpoint import ASSUMED_TOKENS, CHARACTERS_A_TOKEN
from crm.llm.settings import ConfiguredLLM, EndpointLLMSettings, Limits
from crm.report_table import ReportTable
from db.source_records import AnswerStatus, AnswerTotals
from leaderboard.llm_facts.configured import has_price
from leaderboard.scoring_jobs.progress import duration
from precompute.collect.budget import prompt_tokens
from precompute.collect.runner import PromptPlan
from precompute.errors import PrecomputeError

BATCH_SECONDS = 24 * 3600.0
"""What a batch takes at most."""
ASSUMED_SECONDS = 8.0
"""What an answer takes while none of the LLM's has been seen."""


@dataclass(frozen=True)
class Estimate:
    """What asking one LLM will take.

    Attributes:
        requests: That are to be sent.
        there: Responses that are stored already, can be taken over from other benchmarks, or are asked for by
            a batch that is under way.
        prompt_tokens: Tokens that will be read.
        completion_tokens: Tokens that will be written.
        cost: Money; None where the price is not known.
        seconds: As long as no other LLM of the same endpoint is asked.
        observed: Answers of this LLM that the lengths are taken from; 0 where they are assumed.
    """

    llm: ConfiguredLLM
    requests: int
    there: int
    prompt_tokens: int
    completion_tokens: int
    cost: float | None
    seconds: float
    observed: int


def estimate_of(plan: PromptPlan, totals: AnswerTotals) -> Estimate:
    """Return what a plan will take, by what the LLM's answers to this benchmark took so far.

    Before the first, an answer is assumed to have ``ASSUMED_TOKENS``, or as many as the LLM may write.
    """
    settings = plan.llm.settings
    n_answers = sum(n for status, n in totals.n_by_status.items() if status is not AnswerStatus.FAILED)
    observed = n_answers if totals.completion_tokens else 0
    a_prompt = [prompt_tokens(plan.llm, prompt) for prompt in plan.missing]
    an_answer = totals.completion_tokens / observed if observed else _assumed_tokens(plan.llm)
    seconds = totals.seconds / observed if observed and totals.seconds else ASSUMED_SECONDS
    read, written = sum(a_prompt), ceil(an_answer * len(plan.missing))
    limits = settings.limits if isinstance(settings, EndpointLLMSettings) else Limits(1)
    whole = seconds * ceil(len(plan.missing) / limits.concurrency)
    for n, a_minute in (
        (len(plan.missing), limits.requests_per_minute),
        (read + written, limits.tokens_per_minute),
    ):
        if a_minute is not None:
            whole = max(whole, 60 * n / a_minute)
    return Estimate(
        plan.llm,
        len(plan.missing),
        plan.wanted - len(plan.missing),
        read,
        written,
        settings.cost(read, written) if has_price(plan.llm) else None,
        whole,
        observed,
    )


def batch_estimate_of(plan: PromptPlan, totals: AnswerTotals) -> Estimate:
    """Return the same where the plan is handed in as a batch: at its prices, and within a day."""
    return replace(estimate_of(replace(plan, llm=at_batch_prices(plan.llm)), totals), seconds=BATCH_SECONDS)


def at_batch_prices(llm: ConfiguredLLM) -> ConfiguredLLM:
    """Return an LLM with what it costs in a batch. Raises PrecomputeError: It is not behind an endpoint."""
    if not isinstance(llm.settings, EndpointLLMSettings):
        raise PrecomputeError(
            f"{llm.name!r} runs in this process, and only an endpoint takes batches: choose other LLMs with "
            "--llm, or leave out --batch."
        )
    return replace(llm, settings=llm.settings.in_batches)


def _assumed_tokens(llm: ConfiguredLLM) -> int:
    return min(ASSUMED_TOKENS, llm.settings.max_tokens or ASSUMED_TOKENS)


_COLUMNS = ("LLM", "requests", "there", "tokens to read", "to write", "cost", "time")


def estimates_table(slug: str, estimates: Sequence[Estimate]) -> ReportTable:
    """Return one row an LLM, and one of all."""
    rows = [
        (
            each.llm.name,
            f"{each.requests:,}",
            f"{each.there:,}",
            f"{each.prompt_tokens:,}",
            f"{each.completion_tokens:,}{'' if each.observed or not each.requests else ' ?'}",
            "not known" if each.cost is None else f"{each.cost:,.4f}",
            duration(each.seconds) if each.requests else "–",
        )
        for each in estimates
    ]
    if len(estimates) > 1:
        known = sum(each.cost for each in estimates if each.cost is not None)
        some_unknown = any(each.cost is None and each.requests for each in estimates)
        rows.append(
            (
                "all",
                f"{sum(each.requests for each in estimates):,}",
                f"{sum(each.there for each in estimates):,}",
                f"{sum(each.prompt_tokens for each in estimates):,}",
                f"{sum(each.completion_tokens for each in estimates):,}",
                f"{'at least ' if some_unknown else ''}{known:,.4f}",
                "",
            )
        )
    return ReportTable(
        f"What collecting {slug} would take; nothing has been asked",
        _COLUMNS,
        tuple(rows),
        f"Tokens read at {CHARACTERS_A_TOKEN:g} characters each. Lengths and seconds of answers are those of "
        f"the LLM's earlier ones here; ? where there are none yet: {ASSUMED_TOKENS} tokens and "
        f"{ASSUMED_SECONDS:g} s are assumed. Repeated requests cost more.",
    )


def check_prices(llms: Sequence[ConfiguredLLM]) -> None:
    """Make sure that a budget can be kept. Raises PrecomputeError: It is not known what an LLM costs."""
    if unknown := [llm.name for llm in llms if not has_price(llm)]:
        raise PrecomputeError(
            f"The price of {', '.join(unknown)} is not known, so no budget can be kept: give price_prompt "
            "and price_completion in its table, 0 where it is free, or leave out --budget."
        )
