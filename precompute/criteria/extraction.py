"""Extracts the criteria that a set of preferences lacks: the plan, the storing of replies, and the report."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice

from sqlalchemy.orm import Session

from crm.llm import make_chat_models
from crm.llm.chat_model import LLMFailure, LLMReply, Outcome, ReplyStatus
from crm.llm.running import run_to_end
from crm.llm.settings import ConfiguredLLM
from crm.llm.structured import CUT, StructuredChatModel, UnusableReplyError
from crm.report_table import ReportTable
from db import Database
from db.database import job_locks
from db.repositories.llm_answers import extraction_states, extraction_totals, put_extracted
from db.repositories.preferences import find_preference_set, preference_counts, preferences_of
from db.source_records import AnswerState, AnswerStatus, AnswerTotals, ExtractedRecord, SideKey, Winner
from parsing.messages import quantity
from precompute.collect.runner import PromptPlan, ask_all
from precompute.collect.stats import LLMStats, TaskWords
from precompute.collect.writer import what_it_took
from precompute.criteria.question import Call, ExtractionQuestion, digest_of, questions_about
from precompute.errors import PrecomputeError

WORDS = {
    Call.PAIR: TaskWords("Extracting criteria", "pair with its criteria", "pairs with their criteria"),
    Call.SIDE: TaskWords("Extracting criteria", "list of criteria", "lists of criteria"),
}


@dataclass(frozen=True)
class ExtractionSummary:
    """What an extraction did.

    Attributes:
        stats: What came of it.
        totals: What is stored of the set in all.
    """

    slug: str
    plan: ExtractionPlan
    stats: LLMStats
    totals: AnswerTotals

    @property
    def words(self) -> TaskWords:
        """What is counted."""
        return WORDS[self.plan.call]


def extract_criteria(
    database: Database,
    slug: str,
    llm: ConfiguredLLM,
    *,
    call: Call = Call.PAIR,
    limit: int | None = None,
    again: bool = False,
    on_progress: Callable[[Collection[LLMStats]], None] = lambda _: None,
) -> ExtractionSummary:
    """Ask an LLM for the criteria of both sides of every pair that is no tie, and stores them as they come.

    Stored list by list, so an interrupted run continues where it was. Lists that failed are asked for again
    by the next run.

    Args:
        call: whether both sides of a pair are asked for at once, or each by itself.
        again: replace what was extracted by another LLM, with other settings, another prompt or call.
        on_progress: called with what came in, after every list.

    Raises:
        DatabaseError: another process is extracting criteria from the set.
        NotFoundError: no set has this slug.
        PrecomputeError: the set has no pair of which one side was preferred; criteria were extracted
            otherwise, and ``again`` is not given.
        ConfigError: an API key is not there.
    """
    with job_locks(database.engine, [f"extracting criteria from {slug!r}"]):
        with database.session() as session:
            planned = extraction_plan(session, slug, llm, limit, call=call, again=again)
        stats = LLMStats(len(planned.plan.missing))
        if planned.plan.missing:
            questions = planned.questions
            model = StructuredChatModel(
                make_chat_models([llm])[llm.name],
                check=lambda prompt, reply: problem_of(reply, questions[prompt.external_id]),
                rephrase=lambda prompt, why: questions[prompt.external_id].prompt(why),
            )
            storage = CriteriaWriter(database, slug, questions, digest_of(llm, call))
            by_name = {llm.name: stats}
            asked = ask_all([planned.plan], {llm.name: model}, storage, by_name, lambda: on_progress([stats]))
            run_to_end(asked)
        with database.session() as session:
            totals = extraction_totals(session, find_preference_set(session, slug))
        return ExtractionSummary(slug, planned, stats, totals)


@dataclass(frozen=True)
class ExtractionPlan:
    """What is to be asked about a set of preferences.

    Attributes:
        plan: The same as prompts for the LLM.
        questions: Those that are to be asked, by the name of their prompt.
        n_pairs: Number of preferences that are looked at.
        n_ties: Number of preferences of the set that are left out, as nobody preferred anything.
    """

    plan: PromptPlan
    questions: Mapping[str, ExtractionQuestion]
    n_pairs: int
    n_ties: int
    call: Call


def extraction_plan(
    session: Session, slug: str, llm: ConfiguredLLM, limit: int | None, *, call: Call, again: bool
) -> ExtractionPlan:
    """Return what the LLM is to be asked about the first ``limit`` preferences that are no tie.

    Args:
        again: Also ask what other settings, or an older prompt, have answered.

    Raises:
        NotFoundError: No set has this slug.
        PrecomputeError: The set has no preference that is no tie; other settings have answered some, and they
            are not to be asked again.
    """
    preference_set = find_preference_set(session, slug)
    n_ties = preference_counts(session, preference_set).winners[Winner.TIE]
    decided = list(
        islice((one for one in preferences_of(session, preference_set) if one.winner != Winner.TIE), limit)
    )
    if not decided:
        raise PrecomputeError(
            f"The preference data {slug!r} has no pair of which one side was preferred: import some first."
        )
    states, digest = extraction_states(session, preference_set), digest_of(llm, call)
    asked = [question for one in decided for question in questions_about(one, call)]
    changed = sum(_is_of_others(states.get(key), digest) for question in asked for key in question.keys)
    if changed and not again:
        raise PrecomputeError(
            f"{changed:,} lists of criteria of {slug!r} were extracted by another LLM than {llm.name!r}, or "
            "before its settings, the prompt or --call changed: undo that, or replace them with --again."
        )
    missing = {
        one.name: one for one in asked if any(_is_missing(states.get(key), digest) for key in one.keys)
    }
    prompts = tuple(question.prompt() for question in missing.values())
    return ExtractionPlan(PromptPlan(llm, len(asked), prompts), missing, len(decided), n_ties, call)


def _is_missing(state: AnswerState | None, digest: str) -> bool:
    return state is None or state.status == AnswerStatus.FAILED or state.settings_digest != digest


def _is_of_others(state: AnswerState | None, digest: str) -> bool:
    return state is not None and state.status != AnswerStatus.FAILED and state.settings_digest != digest


Records = dict[SideKey, ExtractedRecord]


def problem_of(reply: LLMReply, question: ExtractionQuestion) -> str | None:
    """What is wrong with a reply, in one sentence; None if it holds criteria, or if the LLM refuses."""
    if reply.status == ReplyStatus.REFUSED:
        return None
    try:
        question.criteria(reply.text or "")
    except UnusableReplyError as error:
        # What is wrong with half an answer is that it ends too early.
        cut = reply.status == ReplyStatus.TRUNCATED
        return CUT if cut else str(error)
    return None


def records_of(outcome: Outcome, question: ExtractionQuestion, llm: ConfiguredLLM, digest: str) -> Records:
    """Return an outcome whose reply has been checked, as it is stored; sides share what it took."""
    taken = what_it_took(outcome, llm)
    result, keys = outcome.result, question.keys
    records: Records = {}
    for place, key in enumerate(keys):
        common = ExtractedRecord(
            AnswerStatus.FAILED,
            digest,
            first_shown=question.first_shown,
            llm=llm.name,
            prompt_tokens=_share(taken["prompt_tokens"], place, len(keys)),
            completion_tokens=_share(taken["completion_tokens"], place, len(keys)),
            cost=taken["cost"] / len(keys),
            seconds=taken["seconds"] / len(keys),
            attempts=taken["attempts"],
        )
        if isinstance(result, LLMFailure):
            records[key] = replace(common, error=result.message)
        elif result.status == ReplyStatus.REFUSED:
            records[key] = replace(common, status=AnswerStatus.REFUSED)
        else:
            criteria = question.criteria(result.text or "")
            records[key] = replace(common, status=AnswerStatus.OK, criteria=criteria[key.side])
    return records


def _share(tokens: int | None, place: int, sides: int) -> int | None:
    """Return one side's tokens of a call, so that those of all sides add up to what the call took."""
    return None if tokens is None else tokens // sides + (place < tokens % sides)


@dataclass
class CriteriaWriter:
    """Where the outcomes of an extraction go; used by one thread at a time.

    Attributes:
        questions: What was asked, by the name of its prompt.
        digest: Of the settings with which it is asked.
        waiting: What is still to be stored.
    """

    database: Database
    slug: str
    questions: Mapping[str, ExtractionQuestion]
    digest: str
    waiting: Records = field(default_factory=dict)

    def add(self, llm: ConfiguredLLM, outcome: Outcome) -> float:
        """Take an outcome, which is stored a moment later; returns what it cost."""
        question = self.questions[outcome.prompt.external_id]
        records = records_of(outcome, question, llm, self.digest)
        self.waiting |= records
        return sum(record.cost for record in records.values())

    def take(self) -> Records:
        """Return what is to be stored now; it waits no longer."""
        ready, self.waiting = self.waiting, {}
        return ready

    def store(self, ready: Records) -> None:
        """Write what ``take`` gave, whole or not at all.

        Raises DatabaseError: The set or a preference is gone.
        """
        if ready:
            with self.database.session() as session:
                put_extracted(session, find_preference_set(session, self.slug), ready)


_ASKED = {Call.PAIR: ("pairs", "s/pair"), Call.SIDE: ("lists of criteria", "s/list")}


def extraction_table(summary: ExtractionSummary) -> ReportTable:
    """Return one row: the LLM that was asked."""
    plan, stats, totals = summary.plan.plan, summary.stats, summary.totals
    there = plan.wanted - stats.asked + stats.n_answered
    row = (
        plan.llm.name,
        f"{there:,} of {plan.wanted:,}",
        f"{stats.n_answered:,}",
        f"{totals.n_by_status.get(AnswerStatus.REFUSED, 0):,}",
        f"{stats.n_failed:,}",
        f"{stats.retried.total():,}",
        f"{totals.prompt_tokens:,}",
        f"{totals.completion_tokens:,}",
        f"{totals.cost:,.4f}" if totals.cost else "–",
        f"{stats.seconds / stats.n_answered:.2f}" if stats.n_answered else "–",
    )
    n_pairs, (asked, pace) = summary.plan.n_pairs, _ASKED[summary.plan.call]
    columns = ("LLM", asked, "new", "refused", "failed", "repeated", "tokens read", "written", "cost", pace)
    return ReportTable(
        f"Criteria of {summary.slug}, both sides of {quantity(n_pairs, 'pair')}",
        columns,
        (row,),
        "New, failed, repeated requests and seconds are of this run; refused, tokens and cost of all that is "
        f"stored. Ties are left out: {summary.plan.n_ties:,}.",
    )
