"""Is what people choose by another matter than what they reject by? Section 3 of the USL paper asks this.

Every pair of responses has criteria under which the one is preferred, and criteria for the other. Where it is
known which one people chose, all criteria are those of chosen or of rejected responses. If people agreed on
what is good, criteria alone would tell which.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crm.criteria import CriteriaSet
from crm.data.corpora import read_json_lines
from crm.embedded.encoder import ProgressCallback, sentence_encoder
from crm.errors import CRMError
from crm.protocol import Floats
from crm.report_table import ReportTable
from parsing.messages import quantity

_SIDES = ("a", "b")
_STARTS = 10
_FOLDS = 5
_REDRAWN = 500
_PERCENT = (2.5, 97.5)


@dataclass(frozen=True)
class SidedCriterion:
    """A criterion of one side of a pair.

    Attributes:
        query: What was asked, or what stands for it.
        pair: What no other pair is called.
        chosen: Whether people chose the response that is preferred under it.
    """

    text: str
    query: str
    pair: str
    chosen: bool


@dataclass(frozen=True)
class Separation:
    """How far criteria of chosen and of rejected responses are apart.

    Attributes:
        n_chosen, n_rejected: Criteria.
        n_pairs: That they belong to.
        rand_index: Adjusted Rand index (Hubert & Arabie 1985) between two clusters of all criteria by K-means
            and the two sides: 0 by chance, 1 where they are the same.
        by_chance: Its 95 % range where the sides of each pair are dealt anew.
        told: Share of criteria whose side a linear classifier of embeddings tells, learnt from other queries.
        told_interval: 95 %, queries drawn with replacement.
    """

    n_chosen: int
    n_rejected: int
    n_pairs: int
    rand_index: float
    by_chance: tuple[float, float]
    told: float
    told_interval: tuple[float, float]


def read_sided_criteria(path: Path) -> list[SidedCriterion]:
    """Read the criteria of pairs of which people chose one side.

    Args:
        path: Criteria annotations that say what is ``typical``, or CRM training data with a ``winner``. Ties
            are left out.

    Raises:
        CRMError: A row is neither, or people chose in none.
    """
    found: list[SidedCriterion] = []
    for number, row in read_json_lines(path):
        try:
            found += _of_annotation(row) if "criteria_a" in row else _of_training_line(row)
        except (KeyError, TypeError, ValueError) as error:
            raise CRMError(
                f"{path.name}, row {number}: neither an annotation nor CRM training data ({error})."
            ) from error
    if not found:
        raise CRMError(
            f"{path.name} does not say which responses people chose: it takes annotations with “typical”, or "
            "training data with a “winner”."
        )
    return found


def _of_annotation(row: Mapping[str, Any]) -> Iterator[SidedCriterion]:
    query = str(row["instruction_sha256"])
    pair = f"{query} {row['model_a']} {row['model_b']}"
    for side in _SIDES:
        if row.get("typical") in _SIDES:
            for item in CriteriaSet.from_json(row[f"criteria_{side}"]):
                yield SidedCriterion(item.text, query, pair, row["typical"] == side)


def _of_training_line(row: Mapping[str, Any]) -> Iterator[SidedCriterion]:
    query, pair, preferred = str(row["prompt"]), str(row["idx"]), row["preference"]
    if row.get("winner", "tie") != "tie":
        for item in CriteriaSet.from_json(row["criteria"]):
            yield SidedCriterion(item.text, query, pair, row["winner"] == preferred)


def separation(
    criteria: Sequence[SidedCriterion], seed: int = 0, progress: ProgressCallback | None = None
) -> Separation:
    """Say how far the criteria of chosen responses are from those of rejected ones.

    Args:
        criteria: Of both sides.
        seed: Of clusters, of the sides dealt anew, and of the queries that are drawn.
        progress: Told how many criteria are embedded.

    Raises:
        CRMError: Fewer than five queries, or one side alone.
    """
    from sklearn.cluster import KMeans  # noqa: PLC0415  # takes a second
    from sklearn.metrics import adjusted_rand_score  # noqa: PLC0415

    chosen = np.array([item.chosen for item in criteria], dtype=bool)
    queries = _numbered([item.query for item in criteria])
    pairs = _numbered([item.pair for item in criteria])
    if queries.max(initial=-1) + 1 < _FOLDS or chosen.all() or not chosen.any():
        raise CRMError(
            f"Criteria of chosen and of rejected responses to at least {_FOLDS} queries are needed: there "
            f"are {chosen.sum()} and {(~chosen).sum()}, of {quantity(queries.max(initial=-1) + 1, 'query')}."
        )
    texts = list(dict.fromkeys(item.text for item in criteria))
    place = {text: number for number, text in enumerate(texts)}
    embedded = sentence_encoder().encode(texts, progress=progress).embedding
    embeddings = embedded[[place[item.text] for item in criteria]].astype(np.float64)

    random = np.random.default_rng(seed)
    clusters = KMeans(2, n_init=_STARTS, random_state=seed).fit_predict(embeddings)
    dealt = (random.random((_REDRAWN, pairs.max() + 1)) < 1 / 2)[:, pairs] ^ chosen
    right = _told(embeddings, chosen, queries)
    n_right = np.bincount(queries, weights=right)
    n_of = np.bincount(queries)
    drawn = random.integers(0, len(n_of), (_REDRAWN, len(n_of)))
    return Separation(
        n_chosen=int(chosen.sum()),
        n_rejected=int((~chosen).sum()),
        n_pairs=int(pairs.max()) + 1,
        rand_index=float(adjusted_rand_score(chosen, clusters)),
        by_chance=_range([float(adjusted_rand_score(sides, clusters)) for sides in dealt]),
        told=float(right.mean()),
        told_interval=_range(n_right[drawn].sum(axis=1) / n_of[drawn].sum(axis=1)),
    )


def _told(
    embeddings: NDArray[np.float64], chosen: NDArray[np.bool_], queries: NDArray[np.intp]
) -> NDArray[np.bool_]:
    """Return whether each criterion's side is told by what was learnt from other queries."""
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415
    from sklearn.model_selection import GroupKFold, cross_val_predict  # noqa: PLC0415

    classifier = LogisticRegression(class_weight="balanced", max_iter=1000)
    told = cross_val_predict(classifier, embeddings, chosen, groups=queries, cv=GroupKFold(_FOLDS))
    right: NDArray[np.bool_] = told == chosen
    return right


def _numbered(names: Sequence[str]) -> NDArray[np.intp]:
    return np.unique(np.asarray(names, dtype=object), return_inverse=True)[1]


def _range(values: Sequence[float] | Floats) -> tuple[float, float]:
    least, most = np.percentile(values, _PERCENT).tolist()
    return least, most


def separation_table(found: Mapping[str, Separation]) -> ReportTable:
    """Return one row a source of criteria."""
    rows = (
        (
            name,
            f"{each.n_pairs:,}",
            f"{each.n_chosen:,}",
            f"{each.n_rejected:,}",
            f"{each.rand_index:.3f}",
            f"{each.by_chance[0]:.3f} to {each.by_chance[1]:.3f}",
            f"{each.told:.1%} ({each.told_interval[0]:.1%} to {each.told_interval[1]:.1%})",
        )
        for name, each in found.items()
    )
    return ReportTable(
        "Criteria of chosen and of rejected responses",
        ("", "pairs", "chosen by", "rejected by", "Rand index", "by chance", "told apart"),
        tuple(rows),
        "Rand index: adjusted, between two clusters of all criteria by K-means and the two sides; by chance: "
        "its 95 % range where the sides of each pair are dealt anew. Told apart: criteria whose side a "
        "linear classifier of embeddings tells, learnt from other queries, with 95 % interval; guessing "
        "tells 50 %.",
    )
