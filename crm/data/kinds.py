"""Five broad kinds of criteria, those of the USL paper's Table 6: content, style, structure, tone and logic.

Readers put some of this project's criteria into kinds (``crm/training/criterion_kinds.tsv``). A linear
classifier of embeddings and parts of words learns from them what kind others are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from crm.criteria import normalise
from crm.data.clustering import adjective_counts, each_in_one
from crm.embedded.encoder import ProgressCallback, sentence_encoder
from crm.errors import CRMError
from crm.protocol import Floats
from crm.report_table import ReportTable

KINDS = ("content", "style", "structure", "tone", "logic")
READ_FILE = Path(__file__).resolve().parent.parent / "training" / "criterion_kinds.tsv"
_PARTS = {"analyzer": "char_wb", "ngram_range": (2, 5), "sublinear_tf": True, "min_df": 2}
_INVERSE_PENALTY = 3.0
_MOST = 5000
_ADJECTIVES = 30
_SHOWN_ADJECTIVES = 10


@lru_cache(maxsize=1)
def read_kinds() -> Mapping[str, str]:
    """Return the kinds that readers gave, by criterion."""
    rows = (line.split("\t") for line in READ_FILE.read_text(encoding="utf-8").splitlines())
    return {text: kind for kind, text in rows}


class KindClassifier:
    """Says of what kind criteria are, as a reader would."""

    def __init__(self, known: Mapping[str, str]) -> None:
        """Learn from known kinds, by criterion."""
        from sklearn.feature_extraction.text import TfidfVectorizer  # noqa: PLC0415  # takes a second
        from sklearn.linear_model import LogisticRegression  # noqa: PLC0415

        self._known = known
        self._parts = TfidfVectorizer(**_PARTS)
        self._parts.fit(known)
        classifier = LogisticRegression(C=_INVERSE_PENALTY, max_iter=2000)
        self._classifier = classifier.fit(self._features(list(known)), list(known.values()))
        self._order = [list(classifier.classes_).index(kind) for kind in KINDS]

    def prob(self, texts: Sequence[str], progress: ProgressCallback | None = None) -> Floats:
        """Return how probable each kind is for N criteria ``[N, 5]``; 1 where a reader said so."""
        texts = list(map(normalise, texts))
        prob = np.zeros((len(texts), len(KINDS)), dtype=np.float32)
        for row, text in enumerate(texts):
            if text in self._known:
                prob[row, KINDS.index(self._known[text])] = 1.0
        new = [row for row, text in enumerate(texts) if text not in self._known]
        if new:
            features = self._features([texts[row] for row in new], progress)
            prob[new] = self._classifier.predict_proba(features)[:, self._order]
        return prob

    def _features(self, texts: Sequence[str], progress: ProgressCallback | None = None) -> Any:
        from scipy.sparse import csr_matrix, hstack  # noqa: PLC0415

        embedded = sentence_encoder().encode(texts, progress=progress).embedding
        return hstack([csr_matrix(embedded.astype(np.float64)), self._parts.transform(texts)]).tocsr()


@lru_cache(maxsize=1)
def kind_classifier() -> KindClassifier:
    """Return the classifier that knows all that readers said; it takes half a minute to learn."""
    return KindClassifier(read_kinds())


@dataclass(frozen=True)
class KindShare:
    """One kind among some criteria.

    Attributes:
        share: Expected share of all occurrences.
        adjectives: The most frequent ones with their occurrences; none is in two kinds.
    """

    kind: str
    share: float
    adjectives: tuple[tuple[str, int], ...]


def kind_shares(
    lists: Sequence[Sequence[str]], seed: int = 0, progress: ProgressCallback | None = None
) -> tuple[KindShare, ...]:
    """Say of what kinds criteria are, in the order of ``KINDS``.

    Args:
        lists: Lists of criteria. Of more than 5,000 different ones so many are drawn.
        seed: Of this draw.
        progress: Told how many criteria are embedded.

    Raises:
        CRMError: There are no criteria.
        UnavailableError: The tagger that finds adjectives is not installed.
    """
    occurrences = Counter(normalise(text) for criteria in lists for text in criteria)
    if not occurrences:
        raise CRMError("There are no criteria to find kinds of.")
    texts = sorted(occurrences)
    if len(texts) > _MOST:
        drawn = np.random.default_rng(seed).choice(len(texts), _MOST, replace=False)
        texts = [texts[row] for row in np.sort(drawn)]
    prob = kind_classifier().prob(texts, progress)
    n = np.array([occurrences[text] for text in texts], dtype=np.float64)
    share = n @ prob / n.sum()
    likeliest = prob.argmax(axis=1)
    members = [
        {text: occurrences[text] for text, kind in zip(texts, likeliest, strict=True) if kind == number}
        for number in range(len(KINDS))
    ]
    adjectives = each_in_one(list(map(adjective_counts, members)), _ADJECTIVES)
    return tuple(map(KindShare, KINDS, share.tolist(), adjectives))


def kinds_table(shares: Sequence[KindShare], source: str) -> ReportTable:
    """Return one row a kind: share and adjectives."""
    rows = (
        (one.kind, f"{one.share:.1%}", ", ".join(word for word, _ in one.adjectives[:_SHOWN_ADJECTIVES]))
        for one in shares
    )
    return ReportTable(
        f"Kinds of criteria: {source}",
        ("Kind", "share", "most frequent adjectives"),
        tuple(rows),
        f"Of at most {_MOST:,} different criteria. An adjective stands in the kind that has it most often.",
    )
