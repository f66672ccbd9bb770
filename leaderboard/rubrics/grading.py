"""Responses of several LLMs graded under rubrics, and what their grades come to.

L LLMs, n criteria, Q queries. PrefAlign of a response is Σ_j w_j g_j with Σ_j w_j = 1 (PrefDisco, Li et al.
2025, eq. 1), where g_j is the grade under criterion j, 1 to 5, and w_j how much the criterion weighs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from crm.criteria import Criterion
from crm.llm.tasks import AskedLLM
from leaderboard.alignment import pref_align
from leaderboard.benchmark import LoadedBenchmark
from leaderboard.errors import LeaderboardError
from leaderboard.rubrics.grade import Grade, grade_task
from leaderboard.rubrics.rubric import Rubric, rubric_task
from leaderboard.statistics.bootstrap import percentile_interval

_REDRAWN = 2000

OnProgress = Callable[[str, int, int], None]
"""Told what is asked for, how many of them are there, and of how many."""


@dataclass(frozen=True)
class GradedQuery:
    """A query with what is to be graded.

    Attributes:
        name: Its external id.
        responses: By the name of the LLM.
    """

    name: str
    text: str
    responses: Mapping[str, str]


def graded_queries(
    benchmark: LoadedBenchmark, llms: Sequence[str], queries: Sequence[int]
) -> list[GradedQuery]:
    """Return queries with the responses of the LLMs, all of which are stored."""
    texts = benchmark.query_texts
    return [
        GradedQuery(
            benchmark.record.queries[query].external_id,
            texts[query] or "",
            {llm: benchmark.text_at(llm, query) or "" for llm in llms},
        )
        for query in queries
    ]


@dataclass(frozen=True, eq=False)
class RubricGrades:
    """Grades by an LLM.

    Attributes:
        grader: Its name.
        queries: External ids of those that everything was graded of.
        rubrics: By query and place of the criterion.
        grades: By query, place of the criterion, and LLM.
        failed: Why other queries are left out, by their external id.
    """

    grader: str
    llms: tuple[str, ...]
    criteria: tuple[Criterion, ...]
    queries: tuple[str, ...]
    rubrics: Mapping[tuple[str, int], Rubric]
    grades: Mapping[tuple[str, int, str], Grade]
    failed: Mapping[str, str]

    @cached_property
    def levels(self) -> NDArray[np.float64]:
        """The grades as numbers from 1 to 5 ``[L, Q, n]``."""
        return np.array(
            [
                [
                    [self.grades[name, place, llm].grade for place in range(len(self.criteria))]
                    for name in self.queries
                ]
                for llm in self.llms
            ],
            dtype=np.float64,
        )

    @property
    def mean_grades(self) -> NDArray[np.float64]:
        """Mean over queries ``[L, n]``."""
        return np.asarray(self.levels.mean(axis=1))

    @property
    def pref_align(self) -> NDArray[np.float64]:
        """PrefAlign of every response ``[L, Q]``."""
        responses = self.levels.reshape(-1, len(self.criteria))
        return pref_align(responses, self.criteria).reshape(self.levels.shape[:2])

    def interval(self, seed: int = 0) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the 95 % bootstrap interval over queries of each LLM's mean PrefAlign, ``[L]`` each.

        NaN with a single query, which says nothing of others.
        """
        n_queries = len(self.queries)
        if n_queries < 2:  # noqa: PLR2004
            return np.full(len(self.llms), np.nan), np.full(len(self.llms), np.nan)
        rows = np.random.default_rng(seed).integers(0, n_queries, (_REDRAWN, n_queries))
        return percentile_interval(self.pref_align.T[rows].mean(axis=1))


def graded(
    grader: AskedLLM,
    criteria: Sequence[Criterion],
    queries: Sequence[GradedQuery],
    on_progress: OnProgress = lambda *_: None,
) -> RubricGrades:
    """Have rubrics written for each criterion and query, and the responses graded under them.

    A query of which one rubric or grade failed is left out for all LLMs, with the reason.

    Raises:
        LeaderboardError: None is left.
        UnavailableError: The LLM cannot be asked any more; what it answered is kept, where that is wanted.
        CRMError: As ``AskedLLM.answers``.
    """
    written = grader.answers(
        {
            (query.name, place): rubric_task(query.text, criterion)
            for query in queries
            for place, criterion in enumerate(criteria)
        },
        lambda done, of: on_progress("Rubrics", done, of),
    )
    failed = {
        name: f"the rubric for “{criteria[place]}” failed: {why}"
        for (name, place), why in written.failed.items()
    }
    given = grader.answers(
        {
            (query.name, place, llm): grade_task(written.found[query.name, place], response)
            for query in queries
            if query.name not in failed
            for place in range(len(criteria))
            for llm, response in query.responses.items()
        },
        lambda done, of: on_progress("Grades", done, of),
    )
    failed |= {
        name: f"the grade of {llm} under “{criteria[place]}” failed: {why}"
        for (name, place, llm), why in given.failed.items()
    }
    left = tuple(query.name for query in queries if query.name not in failed)
    if not left:
        raise LeaderboardError(_nothing(grader.name, failed))
    llms = tuple(queries[0].responses)
    return RubricGrades(grader.name, llms, tuple(criteria), left, written.found, given.found, failed)


def _nothing(grader: str, failed: Mapping[str, str]) -> str:
    name, why = list(failed.items())[-1]
    return f"{grader} graded no query in full; of {name} {why}"
