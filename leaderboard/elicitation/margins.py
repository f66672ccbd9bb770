"""How every response stands under each criterion of the library, in a benchmark or in pairs of texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import Any

import numpy as np
from cachetools import LRUCache, cached
from numpy.typing import NDArray

from crm.criteria import Criterion
from crm.embedded.encoder import ProgressCallback
from crm.embedded.representation import representation
from crm.protocol import CRM, Floats, JudgedBenchmark, MeasuresResponses, Pair
from leaderboard.benchmark import LoadedBenchmark
from leaderboard.elicitation.library import criterion_library
from leaderboard.errors import LeaderboardError
from leaderboard.limits import in_time, reading


@dataclass(frozen=True, eq=False)
class CriterionMargins:
    """The margins of R responses to each of Q queries under K criteria.

    Attributes:
        values: Log-odds of each response under each criterion, and in the last column what the judge takes
            off it under all of them ``[R, Q, K + 1]``. Only differences between responses to a query mean
            anything.
        present: Where there is a response ``[R, Q]``.
    """

    values: Floats
    present: NDArray[np.bool_]

    @property
    def n_criteria(self) -> int:
        """K."""
        return int(self.values.shape[2]) - 1

    @cached_property
    def relative(self) -> Floats:
        """The margins less their mean over the responses to the query ``[R, Q, K + 1]``."""
        present = self.present[..., None]
        count = np.maximum(present.sum(axis=0), 1)
        mean = np.where(present, self.values, 0).sum(axis=0) / count
        return np.asarray(np.where(present, self.values - mean, 0), dtype=np.float32)

    @cached_property
    def gaming(self) -> NDArray[np.bool_]:
        """Responses that the judge holds back as gaming ``[R, Q]``."""
        return np.asarray(self.values[..., -1] < 0)

    @cached_property
    def spread(self) -> Floats:
        """Standard deviation of the responses to a query under each criterion, over all queries ``[K]``."""
        squares = self.relative[self.present][:, :-1] ** 2
        return np.asarray(np.sqrt(squares.mean(axis=0)) if len(squares) else np.zeros(self.n_criteria))

    @cached_property
    def gram(self) -> NDArray[np.float64]:
        """Mean product of the relative margins under every two criteria ``[K, K]``."""
        margins = self.relative[self.present][:, :-1].astype(np.float64)
        return margins.T @ margins / max(len(margins), 1)


def criterion_margins(
    benchmark: JudgedBenchmark, crm: CRM, criteria: tuple[Criterion, ...]
) -> CriterionMargins:
    """Return the margins of all responses of a benchmark under single criteria.

    Raises:
        LeaderboardError: The judge does not measure single responses.
        RepresentationMissingError: The benchmark lacks what the judge reads.
    """
    if not isinstance(crm, MeasuresResponses):
        raise _wrong_judge(crm, "does not measure single responses")
    measured = crm.measure(criteria, benchmark)
    margins = np.concatenate([measured.margins, -measured.penalty[..., None]], axis=2)
    return CriterionMargins(margins, measured.present)


@cached(LRUCache(2), key=lambda benchmark, crm: (benchmark.identity, crm.version), lock=Lock())
def benchmark_margins(benchmark: LoadedBenchmark, crm: CRM) -> CriterionMargins:
    """Return a benchmark's margins under the library, the last few kept; raises as ``criterion_margins``."""
    return criterion_margins(benchmark, crm, tuple(item.criterion for item in criterion_library()))


def pair_margins(
    pairs: Sequence[Pair],
    crm: CRM,
    criteria: tuple[Criterion, ...],
    on_progress: ProgressCallback | None = None,
    on_place: Callable[[int], None] = lambda _: None,
) -> CriterionMargins:
    """Return the margins of both responses of C pairs of texts: R = 2, Q = C, the first responses in row 0.

    They are relative to the mean of the two, as nothing is known of other responses to the query. Everything
    is computed in memory. Raises as ``read_pairs``, and a LeaderboardError where the judge does not measure
    single responses.
    """
    return criterion_margins(read_pairs(pairs, crm, on_progress, on_place), crm, criteria)


def read_pairs(
    pairs: Sequence[Pair],
    crm: CRM,
    on_progress: ProgressCallback | None = None,
    on_place: Callable[[int], None] = lambda _: None,
) -> JudgedBenchmark:
    """Return C pairs of texts as a benchmark of one LLM, the first responses, and its baseline.

    Raises:
        LeaderboardError: The judge reads no representation; or as ``limits.reading`` and ``limits.in_time``.
    """
    if crm.representation is None:
        raise _wrong_judge(crm, "reads no representation")
    sides = [(text, pair.query) for pair in pairs for text in (pair.response_a, pair.response_b)]
    distinct = list(dict.fromkeys(sides))
    row_of = {side: row for row, side in enumerate(distinct)}
    texts, queries = [text for text, _ in distinct], [query for _, query in distinct]
    with reading(on_place):
        encoded = representation(crm.representation).encode(texts, queries, in_time(on_progress))
    rows = [row_of[side] for side in sides]
    arrays = {
        key: array[rows].reshape(len(pairs), 2, *array.shape[1:]).swapaxes(0, 1)
        for key, array in encoded.items()
    }
    return _PairBenchmark(pairs, arrays)


@dataclass(frozen=True, eq=False)
class _PairBenchmark:
    """C pairs of texts as a benchmark: one LLM's responses against a baseline's, arrays ``[2, C, …]``."""

    texts: Sequence[Pair]
    arrays: Mapping[str, NDArray[Any]]

    @property
    def llms(self) -> Sequence[str]:
        """The one contender."""
        return ("first",)

    @property
    def n_queries(self) -> int:
        """C."""
        return len(self.texts)

    def pairs(self, llm: str) -> Sequence[Pair | None]:
        """Return the pairs of texts."""
        return self.texts

    def representation(self, name: str) -> Mapping[str, NDArray[Any]]:
        """Return the arrays of all responses."""
        return self.arrays


def _wrong_judge(crm: CRM, why: str) -> LeaderboardError:
    return LeaderboardError(f"The judge {crm.name!r} {why}: choose the judge “embedded”.")
