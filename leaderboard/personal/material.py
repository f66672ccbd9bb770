"""How every response of a benchmark stands under each criterion of the library."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from crm.criteria import Criterion
from crm.protocol import CRM, Contest, Floats, Measures
from leaderboard.errors import NotMeasuredError


@dataclass(frozen=True, eq=False)
class Material:
    """The margins of R responses to each of Q queries under K criteria.

    Attributes:
        margins: Log-odds of each response under each criterion, and in the last column what the judge takes
            off it under all of them ``[R, Q, K + 1]``. Only differences between responses to a query mean
            anything.
        answered: Where there is a response ``[R, Q]``.
    """

    margins: Floats
    answered: NDArray[np.bool_]

    @property
    def n_criteria(self) -> int:
        """K."""
        return int(self.margins.shape[2]) - 1

    @cached_property
    def relative(self) -> Floats:
        """The margins less their mean over the responses to the query ``[R, Q, K + 1]``."""
        present = self.answered[..., None]
        count = np.maximum(present.sum(axis=0), 1)
        mean = np.where(present, self.margins, 0).sum(axis=0) / count
        return np.asarray(np.where(present, self.margins - mean, 0), dtype=np.float32)

    @cached_property
    def suspected(self) -> NDArray[np.bool_]:
        """Responses that the judge holds back as gaming ``[R, Q]``."""
        return np.asarray(self.margins[..., -1] < 0)

    @cached_property
    def spread(self) -> Floats:
        """Standard deviation of the responses to a query under each criterion, over all queries ``[K]``."""
        squares = self.relative[self.answered][:, :-1] ** 2
        return np.asarray(np.sqrt(squares.mean(axis=0)) if len(squares) else np.zeros(self.n_criteria))

    @cached_property
    def gram(self) -> NDArray[np.float64]:
        """Mean product of the relative margins under every two criteria ``[K, K]``."""
        margins = self.relative[self.answered][:, :-1].astype(np.float64)
        return margins.T @ margins / max(len(margins), 1)


def material(contest: Contest, crm: CRM, criteria: tuple[Criterion, ...]) -> Material:
    """What the judge says of all responses of a contest under single criteria.

    Raises:
        NotMeasuredError: The judge does not measure single responses.
        RepresentationMissingError: The contest lacks what the judge reads.
    """
    if not isinstance(crm, Measures):
        raise NotMeasuredError(
            f"The judge {crm.name!r} does not measure single responses: choose the judge “embedded”."
        )
    measured = crm.measure(criteria, contest)
    margins = np.concatenate([measured.margins, -measured.penalty[..., None]], axis=2)
    return Material(margins, measured.present)
