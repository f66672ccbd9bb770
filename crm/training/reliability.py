"""Fit what foretells how often verdicts under a single criterion are right.

On annotated pairs of instructions that the judge was not trained on, every verdict under a single criterion
is right or wrong; a logistic regression says how that goes with what can be seen of the criterion. Another
one says how often a wish is read the right way round: on ``wishes/meant/*.tsv``, whose writer said as in
``wishes/mixtures`` what each asks for, and which nothing else is fitted to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import GroupKFold, KFold

from crm.criteria import MAX_CRITERIA, CriteriaSet, Criterion
from crm.data.pairs import Directions, LabelledPair
from crm.embedded.concepts import concept_names
from crm.embedded.encoder import ProgressCallback
from crm.embedded.model import EmbeddedCRM
from crm.embedded.reliability import COUNTED, KNOWN, OF_MEANING, SIGNS, WORDING, ForetoldReliability
from crm.errors import CRMError
from crm.protocol import Floats, Question
from crm.training.concepts import WISHES
from crm.training.mixtures import WeighedWish, preferred_as_asked, weights_of

MEANT = WISHES / "meant"
_STRENGTH = 0.03
"""Inverse of the penalty, chosen by instructions kept apart."""
_STRENGTH_OF_MEANT = 1.0
_FOLDS = 10
_AT_ONCE = 200
"""Questions that are judged together."""
_EVEN = 0.5


@dataclass(frozen=True)
class SingleVerdicts:
    """N verdicts under single criteria.

    Attributes:
        seen: Signs of their criteria ``[N, S]``.
        right: Which are as the annotator's ``[N]``.
        query: Number of the query ``[N]``.
        kind: Kind of each criterion, as in ``crm.embedded.reliability`` ``[N]``.
    """

    seen: Floats
    right: NDArray[np.bool_]
    query: NDArray[np.int64]
    kind: NDArray[np.int64]

    def only(self, rows: NDArray[np.int64]) -> SingleVerdicts:
        """Return some of them."""
        return SingleVerdicts(self.seen[rows], self.right[rows], self.query[rows], self.kind[rows])


@dataclass(frozen=True)
class FoundReliability:
    """How well it is foretold of queries that nothing was fitted to.

    Attributes:
        foretold: Share of right verdicts, by the rest of the queries ``[N]``.
        area: Under the receiver operating characteristic: how often a right verdict is taken for surer than a
            wrong one.
        loss: Cross-entropy of the verdicts, in nats.
        loss_of_mean: The same where all are taken for alike.
    """

    foretold: Floats
    area: float
    loss: float
    loss_of_mean: float

    def by_parts(self, right: NDArray[np.bool_], parts: int = 5) -> list[tuple[float, NDArray[np.bool_]]]:
        """Return what was foretold on average, and which verdicts were right, of equal parts, least first."""
        order = np.argsort(self.foretold, kind="stable")
        return [(float(self.foretold[some].mean()), right[some]) for some in np.array_split(order, parts)]


def single_verdicts(
    judge: EmbeddedCRM, pairs: Sequence[Directions], progress: ProgressCallback | None = None
) -> SingleVerdicts:
    """Judge annotated pairs under each of their criteria alone.

    Raises:
        CRMError: The judge lacks what the signs are seen by.
    """
    items = list(chain.from_iterable(map(_alone, chain.from_iterable(pairs))))
    prob = []
    for start in range(0, len(items), _AT_ONCE):
        some = items[start : start + _AT_ONCE]
        prob += [each.prob_a for each in judge.judge([Question(item.criteria, item.pair) for item in some])]
        if progress is not None:
            progress(start + len(some), len(items))
    place = {query: number for number, query in enumerate(dict.fromkeys(item.pair.query for item in items))}
    return SingleVerdicts(
        seen=_seen(judge, [next(iter(item.criteria)) for item in items]),
        right=np.array(
            [(p > _EVEN) == (item.label > 0) for p, item in zip(prob, items, strict=True)], dtype=np.bool_
        ),
        query=np.array([place[item.pair.query] for item in items], dtype=np.int64),
        kind=np.array([judge.kind(next(iter(item.criteria))) for item in items], dtype=np.int64),
    )


def _alone(item: LabelledPair) -> list[LabelledPair]:
    return [item.alone(criterion) for criterion in (*item.criteria, *item.extra)]


def _seen(judge: EmbeddedCRM, criteria: Sequence[Criterion]) -> Floats:
    """Return the signs of N criteria ``[N, S]``; each wording is read once."""
    distinct = list({criterion.wording: criterion for criterion in criteria}.values())
    rows: list[Floats] = []
    for start in range(0, len(distinct), MAX_CRITERIA):
        seen = judge.signs(CriteriaSet(tuple(distinct[start : start + MAX_CRITERIA])))
        if seen is None:
            raise CRMError("These weights have no concepts or no ordinary pairs: train them first.")
        rows.extend(seen)
    place = {criterion.wording: number for number, criterion in enumerate(distinct)}
    return np.stack(rows)[[place[criterion.wording] for criterion in criteria]]


def of_kinds(verdicts: SingleVerdicts) -> Floats:
    """Return the share of right verdicts by kind of criterion ``[3]``, NaN where there are none."""
    shares = [verdicts.right[verdicts.kind == kind] for kind in (COUNTED, KNOWN, WORDING)]
    return np.array([each.mean() if len(each) else np.nan for each in shares], dtype=np.float32)


def fit_reliability(verdicts: SingleVerdicts) -> ForetoldReliability:
    """Return what foretells how often verdicts are right.

    Raises:
        CRMError: All verdicts are right, or all wrong.
    """
    if len(np.unique(verdicts.right)) == 1:
        raise CRMError(f"All of {len(verdicts.right)} verdicts are alike: reliability needs more of them.")
    return _fitted(verdicts.seen, verdicts.right, _STRENGTH)


def _fitted(seen: Floats, right: NDArray[np.bool_], strength: float) -> ForetoldReliability:
    middle, scale = seen.mean(axis=0), seen.std(axis=0)
    scale = np.where(scale > 0, scale, np.float32(1.0))
    fitted: Any = LogisticRegression(C=strength, max_iter=1000)
    fitted.fit((seen - middle) / scale, right)
    weight = np.append(fitted.coef_[0], fitted.intercept_).astype(np.float32)
    return ForetoldReliability(middle, scale, weight)


@dataclass(frozen=True)
class UnderstoodWishes:
    """N wishes of which it is known what they mean.

    Attributes:
        seen: Signs of each ``[N, S]``.
        likeness: Correlation of what the judge prefers of ordinary pairs of responses with what the writer
            meant ``[N]``.
    """

    seen: Floats
    likeness: Floats

    @property
    def as_meant(self) -> NDArray[np.bool_]:
        """Which are read the right way round ``[N]``."""
        return self.likeness > 0


def read_as_meant(judge: EmbeddedCRM, weighed: Sequence[WeighedWish]) -> UnderstoodWishes:
    """Return how a judge reads those weighed wishes of which it judges by a mixture of concepts.

    Raises:
        CRMError: The judge lacks what the signs are seen by; or a wish names an unknown concept.
    """
    said = [wish for wish in weighed if wish.weights]
    wishes = [Criterion(wish.text) for wish in said]
    seen = _seen(judge, wishes)
    prefers = np.concatenate([judge.ordinary_margins(CriteriaSet((wish,))) for wish in wishes], axis=1)
    likeness = preferred_as_asked(prefers, judge.concept_margins(), weights_of(said, concept_names()))
    heard = seen[:, SIGNS.index("mixed")] > 0
    return UnderstoodWishes(seen[heard], likeness[heard].astype(np.float32))


def fit_meant(read: UnderstoodWishes) -> ForetoldReliability:
    """Return what foretells how often wishes are read the right way round.

    Raises:
        CRMError: All are, or none.
    """
    as_meant = read.as_meant
    if len(np.unique(as_meant)) == 1:
        raise CRMError(f"All of {len(as_meant)} wishes are read alike: this needs more of them.")
    of_some = _fitted(read.seen[:, OF_MEANING], as_meant, _STRENGTH_OF_MEANT)
    places, n_signs = [*OF_MEANING], len(SIGNS)
    middle, scale, weight = np.zeros(n_signs), np.ones(n_signs), np.zeros(n_signs + 1)
    middle[places], scale[places], weight[[*places, -1]] = of_some.middle, of_some.scale, of_some.weight
    return ForetoldReliability(*(each.astype(np.float32) for each in (middle, scale, weight)))


def found_meant(read: UnderstoodWishes) -> Floats:
    """Return how often wishes are foretold to be read the right way round by others of them ``[N]``.

    Raises:
        CRMError: As ``fit_meant``, where a tenth is left out.
    """
    foretold = np.zeros(len(read.likeness), dtype=np.float32)
    for others, own in KFold(_FOLDS, shuffle=True, random_state=0).split(read.seen):
        fitted = fit_meant(UnderstoodWishes(read.seen[others], read.likeness[others]))
        foretold[own] = fitted.right(read.seen[own])
    return foretold


def found_reliability(verdicts: SingleVerdicts) -> FoundReliability:
    """Return how well reliability is foretold of queries that are left out in turn.

    Raises:
        CRMError: As ``fit_reliability``; or there are fewer than 10 queries.
    """
    if len(np.unique(verdicts.query)) < _FOLDS:
        raise CRMError(f"Reliability needs verdicts on {_FOLDS} queries at least.")
    foretold = np.zeros(len(verdicts.right), dtype=np.float32)
    for others, own in GroupKFold(_FOLDS).split(verdicts.seen, groups=verdicts.query):
        foretold[own] = fit_reliability(verdicts.only(others)).right(verdicts.seen[own])
    same = np.full(len(foretold), verdicts.right.mean())
    return FoundReliability(
        foretold=foretold,
        area=float(roc_auc_score(verdicts.right, foretold)),
        loss=float(log_loss(verdicts.right, foretold)),
        loss_of_mean=float(log_loss(verdicts.right, same)),
    )
