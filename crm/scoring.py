"""Score matrices of judges that read texts, filled so that every prefix is a fair sample of the queries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from crm.criteria import CriteriaSet
from crm.errors import CRMError
from crm.protocol import CRM, JudgedBenchmark, Pair, Question, ScoreBlock

BATCH = 64
"""Pairs in a block once a judge has warmed up, unless its backend names another number."""


@runtime_checkable
class HasTopics(Protocol):
    """A benchmark that knows the topics of its queries."""

    @property
    def topic_index(self) -> NDArray[np.intp]:
        """Topic of every query, as an index ``[Q]``."""


@runtime_checkable
class HasBatch(Protocol):
    """A judge that is best asked about so many pairs at once."""

    @property
    def pairs_at_once(self) -> int:
        """Pairs in a block once the judge has warmed up."""


@dataclass(frozen=True, eq=False)
class QuestionBlock:
    """A part of a score matrix that is still to be judged.

    Attributes:
        queries: Indices of the block's queries ``[B]``.
        cells: Row and column in the block of every question; the other cells lack a response.
        questions: To be judged all at once.
    """

    n_llms: int
    queries: NDArray[np.intp]
    cells: tuple[tuple[int, int], ...]
    questions: tuple[Question, ...]

    def answered(self, prob_a: Sequence[float]) -> ScoreBlock:
        """Return the block with a probability for every question."""
        prob = np.full((self.n_llms, len(self.queries)), np.nan, dtype=np.float32)
        for (row, column), value in zip(self.cells, prob_a, strict=True):
            prob[row, column] = value
        return ScoreBlock(np.arange(self.n_llms), self.queries, prob)


def score_texts(
    crm: CRM, criteria: CriteriaSet, benchmark: JudgedBenchmark, *, batch: int = BATCH, seed: int = 0
) -> Iterator[ScoreBlock]:
    """Fill a score matrix by judging the blocks of ``question_blocks`` one after another.

    Raises CRMError: No LLM has a text to any query that the baseline has one to.
    """
    for block in question_blocks(criteria, benchmark, batch=batch, seed=seed):
        verdicts = crm.judge(block.questions) if block.questions else []
        yield block.answered([verdict.prob_a for verdict in verdicts])


def question_blocks(
    criteria: CriteriaSet, benchmark: JudgedBenchmark, *, batch: int = BATCH, seed: int = 0
) -> Iterator[QuestionBlock]:
    """Cut a benchmark into blocks of all LLMs on a few queries; cells without both texts are NaN in the end.

    After any number of blocks all LLMs stand compared on the same queries, drawn by ``query_order``. The
    first block holds one query and each next one twice the pairs of the last, up to ``batch``: a slow
    judge's first results come soon, and later it works at its best speed.

    Args:
        batch: Pairs that the judge is best asked about at once; a block has at least one query.

    Raises:
        CRMError: No LLM has a text to any query that the baseline has one to.
    """
    pairs = [benchmark.pairs(llm) for llm in benchmark.llms]
    given = np.array([[pair is not None for pair in row] for row in pairs], dtype=np.bool_)
    if not given.any():
        raise CRMError(
            "There is no query to which both an LLM and the baseline have a text: import the texts first."
        )
    for queries in _blocks(query_order(benchmark, seed), given.sum(axis=0), batch):
        cells = tuple(
            (row, column)
            for row in range(len(pairs))
            for column, query in enumerate(queries)
            if given[row, query]
        )
        questions = (Question(criteria, _pair(pairs[row][queries[column]])) for row, column in cells)
        yield QuestionBlock(len(pairs), queries, cells, tuple(questions))


def _pair(pair: Pair | None) -> Pair:
    assert pair is not None
    return pair


def query_order(benchmark: JudgedBenchmark, seed: int = 0) -> NDArray[np.intp]:
    """Return the benchmark's queries in random order ``[Q]``, every topic spread evenly over it.

    The k-th of a topic's n queries comes (k + u) / n of the way through, u uniform in [0, 1): any prefix
    holds about the same share of every topic (systematic sampling, Cochran 1977, chapter 8).
    """
    rng = np.random.default_rng(seed)
    n_queries = benchmark.n_queries
    topics = benchmark.topic_index if isinstance(benchmark, HasTopics) else np.zeros(n_queries, dtype=np.intp)
    shuffled = rng.permutation(n_queries)
    place = np.empty(n_queries)
    for topic in np.unique(topics):
        members = shuffled[topics[shuffled] == topic]
        place[members] = (np.arange(len(members)) + rng.random(len(members))) / len(members)
    return np.argsort(place, kind="stable")


def _blocks(order: NDArray[np.intp], pairs: NDArray[np.intp], batch: int) -> Iterator[NDArray[np.intp]]:
    """Cut the order ``[Q]`` into runs of queries with 1, 2, 4, … and at last about ``batch`` pairs."""
    start, held, most = 0, 0, 1
    for stop, query in enumerate(order):
        if held and held + pairs[query] > most:
            yield order[start:stop]
            start, held, most = stop, 0, min(2 * max(held, most), batch)
        held += int(pairs[query])
    if start < len(order):
        yield order[start:]
