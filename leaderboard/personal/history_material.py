"""How both responses of each past choice stand under the library: computed in memory, from their texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any

from numpy.typing import NDArray

from crm.criteria import Criterion
from crm.encoder import Progress
from crm.protocol import CRM, Pair
from crm.representation import representation
from leaderboard.errors import NotMeasuredError
from leaderboard.personal.history import PastChoice
from leaderboard.personal.material import Material, material

_encoding = Lock()
"""One history is encoded at a time: two would only be half as quick each."""


@dataclass(frozen=True, eq=False)
class PastContest:
    """Past choices as a contest of their first responses against their second ones.

    Attributes:
        choices: C choices, the queries of the contest.
        arrays: Their representation, leading axes ``[2, C]``.
    """

    choices: Sequence[PastChoice]
    arrays: Mapping[str, NDArray[Any]]

    @property
    def llms(self) -> Sequence[str]:
        """The one contender."""
        return ("first",)

    @property
    def n_queries(self) -> int:
        """C."""
        return len(self.choices)

    def pairs(self, llm: str) -> Sequence[Pair | None]:
        """The choices as pairs of texts."""
        return [Pair(choice.query, choice.first, choice.second) for choice in self.choices]

    def representation(self, name: str) -> Mapping[str, NDArray[Any]]:
        """The arrays of all responses."""
        return self.arrays


def past_material(
    choices: Sequence[PastChoice], crm: CRM, criteria: tuple[Criterion, ...], tell: Progress | None = None
) -> Material:
    """The margins of both responses of C choices: R = 2, Q = C, the first responses in row 0.

    Margins are relative to the mean of the two, as nothing is known of other responses to the query.

    Args:
        choices: The choices.
        crm: Judges on stored representations.
        criteria: The library's.
        tell: Told how many of the responses are read.

    Raises:
        NotMeasuredError: The judge does not measure single responses.
    """
    if crm.representation is None:
        raise NotMeasuredError(
            f"The judge {crm.name!r} reads no representation: choose the judge “embedded”."
        )
    sides = [(text, choice.query) for choice in choices for text in (choice.first, choice.second)]
    distinct = list(dict.fromkeys(sides))
    row_of = {side: row for row, side in enumerate(distinct)}
    texts, queries = [text for text, _ in distinct], [query for _, query in distinct]
    with _encoding:
        encoded = representation(crm.representation).encode(texts, queries, tell)
    rows = [row_of[side] for side in sides]
    arrays = {
        key: array[rows].reshape(len(choices), 2, *array.shape[1:]).swapaxes(0, 1)
        for key, array in encoded.items()
    }
    return material(PastContest(choices, arrays), crm, criteria)
