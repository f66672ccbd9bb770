"""From a stored benchmark to what may be shown to a person, and the texts of a pair."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crm import registry
from crm.protocol import CRM
from crm.representation import representation
from db import BenchmarkSummary
from leaderboard.contest import StoredContest, missing_texts_message
from leaderboard.errors import NoPairsError
from leaderboard.personal.choice import Pair
from leaderboard.personal.library import criterion_library
from leaderboard.personal.material import Material, material
from leaderboard.personal.pairs import Shown
from leaderboard.recent import Recent
from leaderboard.selection import queries_with
from leaderboard.service import Service

_MATERIALS: Recent[Material] = Recent(2)


@dataclass(frozen=True)
class ShownTexts:
    """A pair as a person reads it."""

    query: str
    first: str
    second: str


def readable_benchmarks(service: Service) -> list[BenchmarkSummary]:
    """The benchmarks whose texts are stored: choices need something to read."""
    return [summary for summary in service.benchmarks() if summary.has_texts]


def shown_of(service: Service, slug: str, topics: Sequence[str]) -> Shown:
    """What of a benchmark may be shown, and what its responses are under the library.

    Raises:
        BenchmarkNotFoundError: There is no such benchmark.
        UnknownTopicError: The benchmark lacks one of the topics.
        NoPairsError: The topics hold no two responses with their texts.
        RepresentationMissingError: A response has not been embedded.
    """
    contest = service.contest(slug)
    crm = registry.get_crm(registry.DEFAULT)
    found = material_of(contest, crm)
    if not contest.readable.any():
        raise NoPairsError(missing_texts_message(contest.record))
    return Shown.of(found, queries_with(contest.record, topics), _words(contest, crm), contest.readable)


def material_of(contest: StoredContest, crm: CRM) -> Material:
    """How the responses of a benchmark stand under the library; kept in memory for the last few.

    Raises:
        NotMeasuredError: The judge does not measure single responses.
        RepresentationMissingError: A response has not been embedded.
    """
    criteria = tuple(item.criterion for item in criterion_library())
    return _MATERIALS.get((contest.identity, crm.version), lambda: material(contest, crm, criteria))


def texts_of(contest: StoredContest, pair: Pair) -> ShownTexts:
    """The texts of a pair.

    Raises:
        NoPairsError: One of them has been taken away meanwhile.
    """
    asked = contest.query_texts[pair.query]
    first, second = (_response(contest, row, pair.query) for row in (pair.first, pair.second))
    if asked is None or first is None or second is None:
        raise NoPairsError(missing_texts_message(contest.record))
    return ShownTexts(asked, first, second)


def _response(contest: StoredContest, row: int, query: int) -> str | None:
    """The response in a row of the material, the last of which is the baseline's."""
    if row < len(contest.llms):
        return contest.texts_at(contest.llms[row], query)[0]
    return contest.texts_at(contest.llms[0], query)[1]


def _words(contest: StoredContest, crm: CRM) -> NDArray[np.integer]:
    """Lengths in words ``[R, Q]``."""
    name = crm.representation or ""
    counts: NDArray[np.integer] = contest.representation(name)["style"][..., representation(name).sheet.words]
    return counts
