"""What is stored of benchmarks, what of them is missing, and the commands that complete them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from crm.report_table import ReportTable
from db import Database
from db.database import is_under_way
from db.repositories.batches import batches_under_way
from db.repositories.benchmarks import find_benchmark
from db.source_records import AnswerStatus, BatchRecord
from precompute.collect.batches import batch_in_words, fetch_command
from precompute.collect.collection import collecting
from precompute.lifecycle import ListedLLM, list_llms


@dataclass(frozen=True)
class BenchmarkStatus:
    """What is stored of a benchmark.

    Attributes:
        llms: That are in it.
        being_collected: Names of those that a process asks at this moment.
        batches: That were handed in and are not fetched yet.
    """

    slug: str
    llms: tuple[ListedLLM, ...]
    being_collected: tuple[str, ...]
    batches: tuple[BatchRecord, ...] = ()

    @property
    def n_queries(self) -> int:
        """How many queries it has."""
        return self.llms[0].n_queries

    def count(self, status: AnswerStatus) -> int:
        """Return how many collected answers have a status."""
        return sum(llm.collection.totals.n_by_status.get(status, 0) for llm in self.llms)

    @property
    def n_answers(self) -> int:
        """How many answers are there."""
        return sum(llm.n_answers for llm in self.llms)

    @property
    def n_outdated(self) -> int:
        """How many answers the embedded judge cannot read yet."""
        return sum(llm.n_outdated for llm in self.llms)

    @property
    def cost(self) -> float:
        """What was paid for its answers."""
        return sum(llm.collection.totals.cost for llm in self.llms)

    def next_commands(self) -> Iterator[str]:
        """Yield what completes it, in the order in which to type it, each with its reason."""
        handed_in = dict.fromkeys(batch.llm for batch in self.batches)
        for name in handed_in:
            if name not in self.being_collected:
                batches = [batch_in_words(batch) for batch in self.batches if batch.llm == name]
                yield f"{fetch_command(self.slug, name)}   # under way: {'; '.join(batches)}"
        for llm in self.llms:
            if llm.llm.name in handed_in:
                continue
            collection = llm.collection
            was_asked = bool(collection.totals.n_by_status)
            lacking = llm.n_queries - llm.n_answers + collection.n_ask_again
            if was_asked and lacking > 0 and llm.llm.name not in self.being_collected:
                answers = "1 answer is" if lacking == 1 else f"{lacking:,} answers are"
                yield (
                    f"python -m precompute collect --benchmark {self.slug} --llm {llm.llm.name}"
                    f"   # {answers} missing"
                )
        if self.n_outdated and not self.being_collected:
            answers = "1 answer is" if self.n_outdated == 1 else f"{self.n_outdated:,} answers are"
            yield f"python -m precompute embed --benchmark {self.slug}   # {answers} not represented yet"


def nothing_next(found: Iterable[BenchmarkStatus]) -> str:
    """Say why no command comes next: answers may be missing of LLMs that are not asked from here."""
    lacking = [each for each in found if each.n_answers < each.n_queries * len(each.llms)]
    if not lacking:
        return "Nothing is missing."
    if any(each.being_collected for each in lacking):
        return "Nothing to do: what is missing is being collected."
    return "Nothing to do: the answers that are missing are of LLMs whose answers were imported."


def statuses(database: Database, slug: str | None = None) -> list[BenchmarkStatus]:
    """Return the state of a benchmark, or of all that have LLMs.

    Raises:
        NotFoundError: No benchmark has this slug.
    """
    with database.session() as session:
        listed = list(list_llms(session, slug))
        batches = {
            name: tuple(batches_under_way(session, find_benchmark(session, name)))
            for name in dict.fromkeys(llm.benchmark for llm in listed)
        }
    found = []
    for benchmark, of_benchmark in groupby(listed, key=lambda llm: llm.benchmark):
        llms = tuple(of_benchmark)
        handed_in = batches[benchmark]
        names = dict.fromkeys((*(llm.llm.name for llm in llms), *(batch.llm for batch in handed_in)))
        being_collected = tuple(_being_collected(database, benchmark, names))
        found.append(BenchmarkStatus(benchmark, llms, being_collected, handed_in))
    return found


def _being_collected(database: Database, slug: str, names: Iterable[str]) -> Iterator[str]:
    return (name for name in names if is_under_way(database.engine, collecting(name, slug)))


_COLUMNS = (
    *("benchmark", "queries", "LLMs", "answers", "complete", "failed", "refused"),
    *("not represented", "cost", "being collected"),
)


def status_table(found: Sequence[BenchmarkStatus]) -> ReportTable:
    """Return one row a benchmark."""
    return ReportTable(
        "What is stored",
        _COLUMNS,
        tuple(
            (
                each.slug,
                f"{each.n_queries:,}",
                f"{len(each.llms):,}",
                f"{each.n_answers:,}",
                f"{each.n_answers / (each.n_queries * len(each.llms)):.0%}" if each.n_queries else "–",
                f"{each.count(AnswerStatus.FAILED):,}",
                f"{each.count(AnswerStatus.REFUSED):,}",
                f"{each.n_outdated:,}",
                f"{each.cost:,.4f}" if each.cost else "–",
                ", ".join(each.being_collected) or "–",
            )
            for each in found
        ),
        "“precompute llms list” tells more of every LLM.",
    )
