"""LLMs, benchmarks and pools after they were stored: what there is of them, asking again, and removing them.

Whatever is removed goes in one transaction, while no collection of it runs; a running app sees it at once, as
what it keeps in memory belongs to the moment at which a benchmark last changed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from sqlalchemy.orm import Session

from crm.embedded.representation import MISSING, NAME, text_digest
from crm.report_table import ReportTable
from db import Database
from db.database import exclusive, job_locks
from db.records import BenchmarkRef, LLMRecord
from db.repositories.benchmarks import find_benchmark, get_benchmark, list_benchmarks, set_baseline
from db.repositories.collections import collection_of, mark_to_ask_again
from db.repositories.contents import response_texts
from db.repositories.pools import delete_pool, find_pool
from db.repositories.removal import (
    benchmark_contents,
    benchmarks_with_llm,
    check_removable,
    llm_contents,
    llm_names,
    pool_contents,
    remove_benchmark,
    remove_llm,
)
from db.repositories.repacking import repack, stored_places
from db.repositories.representations import get_representation
from db.source_records import AnswerStatus, CollectionRecord
from parsing.messages import quantity
from precompute.collect.collection import collecting
from precompute.errors import PrecomputeError, unknown_llm


@dataclass(frozen=True, slots=True)
class ListedLLM:
    """What is stored of one LLM in one benchmark.

    Attributes:
        n_queries: Of the benchmark.
        n_embedded: Answers whose representation is that of their text; those without text count where they
            have any.
        n_outdated: Answers whose representation is missing, or of another text.
    """

    benchmark: str
    llm: LLMRecord
    is_baseline: bool
    n_queries: int
    collection: CollectionRecord
    n_embedded: int
    n_outdated: int

    @property
    def n_answers(self) -> int:
        """Answers that are there; without texts, those that have a representation."""
        return max(self.collection.n_answers, self.n_embedded)


def list_llms(session: Session, slug: str | None = None) -> Iterator[ListedLLM]:
    """Yield the LLMs of a benchmark, or of all. Raises NotFoundError: no benchmark has this slug."""
    for one in [slug] if slug is not None else [found.slug for found in list_benchmarks(session)]:
        benchmark = find_benchmark(session, one)
        record = get_benchmark(session, benchmark)
        for llm in record.llms:
            embedded, outdated = _representation_state(session, benchmark, llm.name)
            yield ListedLLM(
                one,
                llm,
                llm.name == record.baseline,
                len(record.queries),
                collection_of(session, benchmark, llm.name),
                embedded,
                outdated,
            )


def _representation_state(session: Session, benchmark: BenchmarkRef, llm: str) -> tuple[int, int]:
    """Return how many answers have a current representation, and how many with a text have none."""
    texts = response_texts(session, benchmark, llm)
    stored = get_representation(session, benchmark, llm, NAME)
    digests = np.full(len(texts), MISSING, dtype=np.uint64)
    if stored is not None:
        # One that is too short was made before the last queries were added.
        digests[: len(stored["digest"])] = stored["digest"]
    outdated = np.array(
        [
            text is not None and text_digest(text) != digest
            for text, digest in zip(texts, digests.tolist(), strict=True)
        ],
        dtype=np.bool_,
    )
    return int(((digests != MISSING) & ~outdated).sum()), int(outdated.sum())


_COLUMNS = (
    *("LLM", "benchmark", "answers", "failed", "refused", "truncated", "to ask again", "represented"),
    *("collected", "replied as", "tokens written", "of it reasoning", "cost"),
)


def llms_table(listed: Sequence[ListedLLM]) -> ReportTable:
    """Return one row an LLM of a benchmark."""
    return ReportTable(
        "Stored LLMs",
        _COLUMNS,
        tuple(map(_row, listed)),
        "* the baseline. Represented: answers that the embedded judge can read as they are; "
        "“precompute embed” computes the others.",
    )


def _row(item: ListedLLM) -> tuple[str, ...]:
    collection = item.collection
    of_status = collection.totals.n_by_status.get
    represented = f"{item.n_embedded:,}"
    if item.n_outdated:
        represented += f", {item.n_outdated:,} outdated"
    reasoning = collection.reasoning_tokens
    return (
        f"{item.llm.name}{' *' if item.is_baseline else ''}",
        item.benchmark,
        f"{item.n_answers:,} of {item.n_queries:,}",
        *(
            f"{of_status(status, 0):,}"
            for status in (AnswerStatus.FAILED, AnswerStatus.REFUSED, AnswerStatus.TRUNCATED)
        ),
        f"{collection.n_ask_again:,}",
        represented,
        collection.days or ("imported" if collection.n_imported else "–"),
        ", ".join(collection.replied_as) or "–",
        f"{collection.totals.completion_tokens:,}",
        "–" if reasoning is None else f"{reasoning:,}",
        f"{collection.totals.cost:,.4f}" if collection.totals.cost else "–",
    )


def settings_lines(listed: Iterable[ListedLLM]) -> Iterator[str]:
    """Yield for each LLM that was asked here with which settings, in clear."""
    for item in listed:
        for digest, settings, n in item.collection.settings:
            known = "not recorded" if settings is None else settings_in_words(settings)
            answers = quantity(n, "answer")
            yield f"{item.llm.name} in {item.benchmark}: {answers} with settings {digest}: {known}."


def settings_in_words(settings: Mapping[str, object]) -> str:
    """Return “model gpt-x, temperature 0.7”."""
    return ", ".join(f"{key} {' '.join(str(value).split())}" for key, value in sorted(settings.items()))


def ask_again(database: Database, slug: str, llm: str, queries: Collection[str] | None) -> int:
    """Mark an LLM's collected answers to be asked for again by the next collection; return how many.

    Args:
        queries: Ids of queries; None for all.

    Raises:
        NotFoundError: the benchmark, the LLM or a query is not there.
        PrecomputeError: none of these answers was collected.
        DatabaseError: responses of the LLM are being collected.
    """
    with job_locks(database.engine, [collecting(llm, slug)]), database.session() as session:
        n_marked = mark_to_ask_again(session, find_benchmark(session, slug), llm, queries)
    if not n_marked:
        raise PrecomputeError(
            f"None of these answers of {llm!r} in {slug!r} was collected here: imported ones are never asked "
            "for; import them again, or remove the LLM and collect its answers."
        )
    return n_marked


def choose_baseline(database: Database, slug: str, llm: str | None) -> bool:
    """Make an LLM the baseline, or none; return whether it was another, so that stored scores are void.

    Raises NotFoundError: the benchmark or the LLM is not there.
    """
    with exclusive(database.engine), database.session() as session:
        benchmark = find_benchmark(session, slug)
        before = get_benchmark(session, benchmark).baseline
        set_baseline(session, benchmark, llm)
    return before != llm


@dataclass(frozen=True)
class Removal:
    """What is to be removed: kind and name, and what goes with it, in words."""

    what: str
    contents: Mapping[str, int]

    def __str__(self) -> str:
        listed = ", ".join(f"{words} {n:,}" for words, n in self.contents.items())
        return f"{self.what}: {listed or 'nothing else belongs to it'}"


def remove_llm_of(database: Database, llm: str, slugs: Sequence[str], *, dry: bool) -> list[Removal]:
    """Remove an LLM from some benchmarks, or all that have it; return what went, or would if `dry`.

    Raises:
        NotFoundError: one of the benchmarks is not there, or does not have the LLM.
        PrecomputeError: no benchmark has the LLM.
        DatabaseError: it is the baseline of one of them, or its responses are being collected.
    """
    with database.session() as session:
        found = tuple(dict.fromkeys(slugs)) or tuple(each.slug for each in benchmarks_with_llm(session, llm))
        if not found:
            raise unknown_llm(llm, "any benchmark", llm_names(session))
    removals = []
    with _alone(database, [collecting(llm, slug) for slug in found]) as session:
        for slug in found:
            benchmark = find_benchmark(session, slug)
            check_removable(session, benchmark, llm)
            removals.append(Removal(f"the LLM {llm} of {slug}", llm_contents(session, benchmark, llm)))
            if not dry:
                remove_llm(session, benchmark, llm)
    return removals


def remove_benchmarks(database: Database, slugs: Sequence[str], *, dry: bool) -> list[Removal]:
    """Remove benchmarks; return what went, or would if `dry`.

    Raises:
        NotFoundError: one of them is not there.
        DatabaseError: responses to one of them are being collected.
    """
    with database.session() as session:
        records = {slug: get_benchmark(session, find_benchmark(session, slug)) for slug in slugs}
    jobs = [collecting(llm.name, slug) for slug, record in records.items() for llm in record.llms]
    removals = []
    with _alone(database, jobs) as session:
        for slug in records:
            benchmark = find_benchmark(session, slug)
            removals.append(Removal(f"the benchmark {slug}", benchmark_contents(session, benchmark)))
            if not dry:
                remove_benchmark(session, benchmark)
    return removals


def remove_pools(database: Database, slugs: Sequence[str], *, dry: bool) -> list[Removal]:
    """Remove pools of queries; return what went, or would if `dry`.

    Raises NotFoundError: one of them is not there.
    """
    removals = []
    with _alone(database, ()) as session:
        for slug in dict.fromkeys(slugs):
            pool = find_pool(session, slug)
            removals.append(Removal(f"the pool {slug}", pool_contents(session, pool)))
            if not dry:
                delete_pool(session, pool)
    return removals


@contextmanager
def _alone(database: Database, jobs: Iterable[str]) -> Iterator[Session]:
    """Yield one transaction beside which none of the jobs runs, and nothing is imported or embedded."""
    with job_locks(database.engine, jobs), exclusive(database.engine), database.session() as session:
        yield session


@dataclass(frozen=True, slots=True)
class Repacked:
    """What `repack_all` did.

    Attributes:
        n_stored: How many sets of arrays there are.
        n_changed: How many of them were packed otherwise.
        before: Bytes that these took.
        after: Bytes that they take now.
    """

    n_stored: int
    n_changed: int
    before: int
    after: int


def repack_all(database: Database, on_progress: Callable[[int, int], None]) -> Repacked:
    """Store all representations as they would be stored now; whatever rests on them stays as it is.

    An older version compressed all arrays, which costs each ranking time. One set is written at a time: after
    an interruption the command goes on, and a running app is not kept waiting.

    Args:
        on_progress: Told how many sets are done, of how many.

    Raises:
        DatabaseError: Stored bytes are damaged.
    """
    with database.session() as session:
        places = stored_places(session)
    n_changed = before = after = 0
    for done, place in enumerate(places):
        on_progress(done, len(places))
        with exclusive(database.engine), database.session() as session:
            sizes = repack(session, place)
        if sizes is not None:
            n_changed, before, after = n_changed + 1, before + sizes[0], after + sizes[1]
    on_progress(len(places), len(places))
    return Repacked(len(places), n_changed, before, after)
