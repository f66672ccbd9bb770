"""Batches of a collection: handed in, waited for, fetched, and taken up again by a later run.

A batch is stored before the provider is asked to begin it, and with its name as soon as there is one:
whatever ends this process, no request is paid for twice.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from crm.errors import CRMError
from crm.llm.batch import Batch, BatchEndpoint, batch_files
from crm.llm.chat_model import FailureKind, Prompt
from crm.llm.client import RequestError
from crm.llm.endpoint import MAX_FAILURES
from crm.llm.settings import ConfiguredLLM, EndpointLLMSettings
from db import Database
from db.repositories.batches import add_batch, batches_under_way, drop_batch, end_batch, name_batch
from db.repositories.benchmarks import find_benchmark, make_own
from db.repositories.collections import put_settings
from db.source_records import AnswerTotals, BatchRecord, BatchState
from leaderboard.scoring_jobs.progress import JOB_LOG
from precompute.collect.costs import at_batch_prices, batch_estimate_of
from precompute.collect.runner import PromptPlan
from precompute.collect.stats import RESPONSES, LLMStats
from precompute.collect.writer import ResponseWriter
from precompute.errors import PrecomputeError


@dataclass(frozen=True)
class BatchOptions:
    """How batches are waited for.

    Attributes:
        poll: Seconds between two looks at them.
        wait: Whether to wait at all.
        on_wait: Called with each that is to be waited for.
    """

    poll: float = 60.0
    wait: bool = True
    on_wait: Callable[[BatchRecord], None] = lambda _: None


def batch_in_words(batch: BatchRecord) -> str:
    """“12 responses of alpha, handed in on 2026-11-25 at 13:00 UTC at api.example.org as batch_1”."""
    return (
        f"{RESPONSES.count(len(batch.queries))} of {batch.llm}, handed in on "
        f"{batch.created_at:%Y-%m-%d at %H:%M} UTC at {urlsplit(batch.url).netloc} as "
        f"{batch.batch_id or 'a batch that it has not confirmed'}"
    )


def fetch_command(slug: str, llm: str) -> str:
    """Return the command that fetches an LLM's batches."""
    return f"python -m precompute collect --benchmark {slug} --llm {llm} --batch"


def queries_under_way(batches: Sequence[BatchRecord], llm: str) -> frozenset[str]:
    """Return the queries that batches ask an LLM."""
    return frozenset(query for batch in batches if batch.llm == llm for query in batch.queries)


@dataclass
class CollectionBatches:
    """The batches of the LLMs that a collection asks; used by one thread.

    Attributes:
        llms: By name.
        queries: All that the benchmark has.
        wanted: What the collection misses, by LLM: of batches, only this is counted in ``stats``.
        on_progress: Called when something came in.
        under_way: Those that are not fetched yet.
    """

    database: Database
    slug: str
    llms: Mapping[str, ConfiguredLLM]
    queries: Collection[str]
    wanted: Mapping[str, Collection[str]]
    storage: ResponseWriter
    stats: Mapping[str, LLMStats]
    on_progress: Callable[[], None]
    under_way: list[BatchRecord] = field(default_factory=list)
    _endpoints: dict[str, BatchEndpoint] = field(default_factory=dict)
    _failures: dict[int, int] = field(default_factory=dict)

    def take_up(self, *, patient: bool) -> Mapping[str, frozenset[str]]:
        """Look at what earlier runs handed in, and store what has ended; return what it asks for, by LLM.

        Args:
            patient: Whether they are looked at again, so that a failure may be over then.

        Raises:
            PrecomputeError: It was handed in with other settings, or at another address.
            ConfigError: An API key is not there.
        """
        with self.database.session() as session:
            stored = batches_under_way(session, find_benchmark(session, self.slug))
        self.under_way = [batch for batch in stored if batch.llm in self.llms]
        for batch in self.under_way:
            self._check(batch)
        asked = {llm: queries_under_way(self.under_way, llm) for llm in self.llms}
        for batch in tuple(self.under_way):
            if not self._confirmed(batch):  # the provider never began it
                asked[batch.llm] -= frozenset(batch.queries)
        for batch in tuple(self.under_way):
            self._look(batch, patient=patient)
        return asked

    def hand_in(
        self, plans: Sequence[PromptPlan], totals: Mapping[str, AnswerTotals], budget: float | None
    ) -> None:
        """Hand in what plans miss, as far as the estimates are within a budget.

        Args:
            plans: What is to be asked of LLMs behind endpoints.
            totals: What the LLMs' answers so far took, by name.
            budget: Money for all of it; None for any.

        Raises:
            PrecomputeError: The person interrupted the work with Ctrl-C.
        """
        left = budget
        with self._interruptible():
            for plan in plans:
                cost = batch_estimate_of(plan, totals.get(plan.llm.name, AnswerTotals({}))).cost or 0.0
                if left is not None and cost > left:
                    self._stop(
                        plan.llm.name,
                        f"{len(plan.missing):,} were not asked for, as the batch would cost about "
                        f"{cost:,.4f}, more than the {left:,.4f} that is left of the budget, and cannot be "
                        "stopped in the middle: raise --budget, or ask for fewer with --limit.",
                    )
                    continue
                left = left and left - cost
                try:
                    self._hand_in(plan)
                except CRMError as error:
                    self._stop(plan.llm.name, str(error))

    def wait(self, options: BatchOptions) -> None:
        """Look at the batches now and then until each has ended, and store what came of them.

        Raises:
            PrecomputeError: The person interrupted the work with Ctrl-C.
        """
        with self._interruptible():
            for batch in self.under_way:
                options.on_wait(batch)
            given_up: set[int] = set()
            while waiting := [batch for batch in self.under_way if batch.id not in given_up]:
                time.sleep(options.poll)
                given_up |= {batch.id for batch in waiting if not self._look(batch, patient=True)}

    @contextmanager
    def _interruptible(self) -> Iterator[None]:
        try:
            yield
        except KeyboardInterrupt:
            with self.database.session() as session:
                stored = batches_under_way(session, find_benchmark(session, self.slug))
            left = [batch for batch in stored if batch.llm in self.llms]
            if not left:
                raise
            places = ", ".join(dict.fromkeys(urlsplit(batch.url).netloc for batch in left))
            batches = "1 batch goes" if len(left) == 1 else f"{len(left):,} batches go"
            raise PrecomputeError(
                f"Stopped; {batches} on at {places} and will be paid for: "
                "the same command fetches the answers."
            ) from None

    def _check(self, batch: BatchRecord) -> None:
        """Make sure that a batch can be fetched with the LLM's table as it is."""
        llm = self.llms[batch.llm]
        if llm.digest != batch.settings_digest:
            raise PrecomputeError(
                f"The settings of {llm.name!r} have changed since {RESPONSES.count(len(batch.queries))} were "
                "handed in as a batch that is not fetched yet: undo the change until it is, or give the "
                "table another name."
            )
        assert isinstance(llm.settings, EndpointLLMSettings)
        if llm.settings.url != batch.url:
            raise PrecomputeError(
                f"A batch of {llm.name!r} was handed in at {batch.url}, and its table has another 'url' now: "
                "set it back until the batch is fetched."
            )

    def _endpoint(self, llm: str) -> BatchEndpoint:
        if llm not in self._endpoints:
            settings = self.llms[llm].settings
            assert isinstance(settings, EndpointLLMSettings)
            self._endpoints[llm] = BatchEndpoint(llm, settings)
        return self._endpoints[llm]

    def _confirmed(self, batch: BatchRecord) -> bool:
        """Find the provider's name of a batch that was begun when a process ended; return whether it was."""
        if batch.batch_id is not None:
            return True
        endpoint = self._endpoint(batch.llm)
        try:
            found = endpoint.find(batch.file_id)
        except CRMError as error:
            self._stop(batch.llm, str(error))
            return True
        if found is not None:
            self._name(batch, found)
            return True
        with self.database.session() as session:
            drop_batch(session, batch)
        self.under_way.remove(batch)
        return False

    def _hand_in(self, plan: PromptPlan) -> None:
        llm = plan.llm
        settings = llm.settings
        assert isinstance(settings, EndpointLLMSettings)
        endpoint = self._endpoint(llm.name)
        for prompts, content in batch_files(settings, plan.missing):
            file = endpoint.upload(content)
            with self.database.session() as session:
                benchmark = find_benchmark(session, self.slug)
                # A later version of a bundled file would take the batch away with the benchmark.
                make_own(session, benchmark)
                put_settings(session, {llm.digest: settings.in_clear})
                batch = add_batch(
                    session,
                    benchmark,
                    llm.name,
                    url=settings.url,
                    settings_digest=llm.digest,
                    queries=[prompt.external_id for prompt in prompts],
                    file_id=file,
                )
            try:
                begun = endpoint.begin(file)
            except RequestError as error:
                # Of what may have been begun all the same, the next run finds out.
                if error.passes or error.kind in (FailureKind.NO_JSON, FailureKind.TOO_LARGE):
                    self.under_way.append(batch)
                else:
                    with self.database.session() as session:
                        drop_batch(session, batch)
                raise
            self.under_way.append(batch)
            self._name(batch, begun)

    def _name(self, batch: BatchRecord, found: Batch) -> None:
        with self.database.session() as session:
            named = name_batch(session, batch, found.id)
        self.under_way[self.under_way.index(batch)] = named
        JOB_LOG.info("handed in: %s", batch_in_words(named))

    def _look(self, batch: BatchRecord, *, patient: bool = False) -> bool:
        """Store what came of a batch if it has ended; return whether it is worth looking at again.

        Args:
            patient: Whether a failure that may be over in a moment is one.
        """
        if batch.batch_id is None:
            return False
        endpoint = self._endpoint(batch.llm)
        try:
            found = endpoint.look(batch.batch_id)
            if found is None:
                self._lose(batch, "no longer knows")
            elif found.has_ended:
                self._store(batch, found)
            else:
                JOB_LOG.info("%s: %s %s", batch.batch_id, found.status, found.request_counts)
        except RequestError as error:
            if error.kind is FailureKind.NOT_FOUND:
                self._lose(batch, "no longer has the answers of")
                return True
            self._failures[batch.id] = self._failures.get(batch.id, 0) + 1
            if patient and error.passes and self._failures[batch.id] < MAX_FAILURES:
                return True
            self._stop(batch.llm, str(error))
            return False
        self._failures.pop(batch.id, None)
        return True

    def _store(self, batch: BatchRecord, found: Batch) -> None:
        """Store what came of a batch that has ended, then that it is fetched."""
        llm = at_batch_prices(self.llms[batch.llm])
        prompts = [Prompt(query, "") for query in batch.queries]  # what was asked is at the provider
        for outcome in self._endpoint(batch.llm).outcomes(found, prompts):
            query = outcome.prompt.external_id
            if query not in self.queries:
                continue
            cost = self.storage.add(llm, outcome)
            if query in self.wanted[llm.name]:
                self.stats[llm.name].add(outcome, cost)
        self.storage.store(self.storage.take())
        self._end(batch, BatchState.DONE)
        self.on_progress()

    def _lose(self, batch: BatchRecord, what: str) -> None:
        self._end(batch, BatchState.LOST)
        self._stop(
            batch.llm,
            f"The endpoint {self._endpoint(batch.llm).where} {what} the batch {batch.batch_id}, so its "
            f"{len(batch.queries):,} responses are missing again: the same command asks for them anew.",
        )

    def _end(self, batch: BatchRecord, state: BatchState) -> None:
        with self.database.session() as session:
            end_batch(session, batch, state)
        self.under_way.remove(batch)

    def _stop(self, llm: str, why: str) -> None:
        JOB_LOG.info("stopped: %s: %s", llm, why)
        self.stats[llm].stop(why)
