"""Stores outcomes as they come in, a few at a time; whatever is stored once is never asked for again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from sqlalchemy.orm import Session

from crm.embedded.counts import declines
from crm.embedded.representation import NAME, representation
from crm.llm.chat_model import LLMFailure, Outcome
from crm.llm.settings import ConfiguredLLM
from db import Database
from db.database import exclusive
from db.records import BenchmarkRecord, BenchmarkRef, LLMRecord
from db.repositories.benchmarks import find_benchmark, get_benchmark, make_own
from db.repositories.collections import put_settings
from db.repositories.contents import upsert_llms
from db.repositories.llm_answers import put_collected
from db.repositories.representations import list_representations, put_representation
from db.source_records import AnswerStatus, CollectedRecord

Records = dict[str, dict[str, CollectedRecord]]
"""What is stored of each LLM, by external id of the query."""


def record_of(outcome: Outcome, llm: ConfiguredLLM) -> CollectedRecord:
    """Return an outcome as it is stored; many endpoints do not say of a refusal that it is one."""
    common = CollectedRecord(
        AnswerStatus.FAILED,
        llm.digest,
        reasoning_tokens=outcome.tokens.reasoning,
        **what_it_took(outcome, llm),
    )
    result = outcome.result
    if isinstance(result, LLMFailure):
        return replace(common, error=result.message)
    status = AnswerStatus(result.status)
    if status == AnswerStatus.OK and result.text is not None and declines(result.text):
        status = AnswerStatus.REFUSED
    return replace(
        common, status=status, text=result.text, reasoning=result.reasoning, replied_as=result.model
    )


def what_it_took(outcome: Outcome, llm: ConfiguredLLM) -> dict[str, Any]:
    """Return tokens, cost, seconds and attempts as an `LLMAnswer` has them."""
    tokens = outcome.tokens
    return {
        "prompt_tokens": tokens.prompt,
        "completion_tokens": tokens.completion,
        "cost": llm.settings.cost(tokens.prompt or 0, tokens.completion or 0),
        "seconds": outcome.seconds,
        "attempts": len(outcome.retried) + 1,
    }


@dataclass
class ResponseWriter:
    """Where the outcomes of a collection go; used by one thread at a time.

    An LLM enters the benchmark with its first text: one without any would be in the way of judges. Failures
    that come before wait for it, and are forgotten if it never comes.

    Attributes:
        llms: The LLMs that are asked, by name.
        entered: Those that the benchmark has.
        waiting: What is still to be stored, by LLM and query.
    """

    database: Database
    slug: str
    llms: Mapping[str, ConfiguredLLM]
    entered: set[str]
    waiting: Records = field(default_factory=dict)

    def add(self, llm: ConfiguredLLM, outcome: Outcome) -> float:
        """Take an outcome, which is stored a moment later; returns what it cost."""
        record = record_of(outcome, llm)
        self.waiting.setdefault(llm.name, {})[outcome.prompt.external_id] = record
        return record.cost

    def take(self) -> Records:
        """Return what can be stored now; it waits no longer."""
        ready = {
            llm: records
            for llm, records in self.waiting.items()
            if llm in self.entered or any(record.text is not None for record in records.values())
        }
        for llm in ready:
            del self.waiting[llm]
        return ready

    def store(self, ready: Records) -> None:
        """Write what ``take`` gave, each LLM's share whole or not at all.

        Raises DatabaseError: The benchmark is gone.
        """
        for llm, records in ready.items():
            if llm in self.entered:
                with self.database.session() as session:
                    self._put(session, llm, records)
                continue
            # An LLM's place in the benchmark is found by looking: not two processes at once.
            with exclusive(self.database.engine), self.database.session() as session:
                add_llm(session, find_benchmark(session, self.slug), self.llms[llm])
                self._put(session, llm, records)
            self.entered.add(llm)

    def _put(self, session: Session, llm: str, records: Mapping[str, CollectedRecord]) -> None:
        put_settings(session, {self.llms[llm].digest: self.llms[llm].settings.in_clear})
        put_collected(session, find_benchmark(session, self.slug), llm, records)


def add_llm(session: Session, benchmark: BenchmarkRef, llm: ConfiguredLLM) -> None:
    """Add an LLM to a benchmark, with representations that are blank until its responses are embedded.

    Without them nobody could look at the benchmark meanwhile. The benchmark becomes the user's own, so that
    a later version of the bundled file does not replace it.
    """
    record = get_benchmark(session, benchmark)
    make_own(session, benchmark)
    upsert_llms(session, benchmark, [_llm_record(llm, record)])
    if llm.name not in list_representations(session, benchmark).get(NAME, ()):
        blank = representation().blank(len(record.queries))
        put_representation(session, benchmark, llm.name, NAME, blank)


def update_description(session: Session, slug: str, llm: ConfiguredLLM) -> None:
    """Give an LLM that the benchmark has the title and note of its table, where it has them."""
    benchmark = find_benchmark(session, slug)
    record = get_benchmark(session, benchmark)
    described = _llm_record(llm, record)
    if described not in record.llms:
        upsert_llms(session, benchmark, [described])


def _llm_record(llm: ConfiguredLLM, record: BenchmarkRecord) -> LLMRecord:
    stored = next((one for one in record.llms if one.name == llm.name), LLMRecord(llm.name, llm.name))
    settings = llm.settings
    return LLMRecord(
        llm.name, settings.title or stored.title, stored.note if settings.note is None else settings.note
    )
