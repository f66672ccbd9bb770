"""Duels of rated LLMs on the queries that both answered: what their ratings say of the responses.

Ratings are in Elo points (https://arxiv.org/abs/2403.04132): 400 more are ten times the odds to be preferred.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations, product

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import expit, logit
from torch.nn import functional

from crm.protocol import Floats, probabilities

ELO = np.log(10.0) / 400.0
"""Log-odds of one Elo point."""
_SHARED = 8
"""Queries that two LLMs have both answered, for their ratings to be a target."""
_FORETELLS = 0.02, 0.98
"""Probabilities between which a difference of ratings is foretold."""


@dataclass(frozen=True)
class Duels:
    """M pairs of responses of rated LLMs to the same queries, in P pairs of LLMs.

    Attributes:
        features: φ of N responses ``[N, D]``.
        first: Which response is the first ``[M]``.
        second: Which is the other ``[M]``.
        pair: Which pair of LLMs, on which kind of query, a pair of responses belongs to ``[M]``.
        llms: The LLMs of each pair ``[P, 2]``.
        apart: By how many Elo points people rate the first LLM above the other ``[P]``.
        weight: How much each pair counts ``[P]``.
    """

    features: Floats
    first: NDArray[np.int64]
    second: NDArray[np.int64]
    pair: NDArray[np.int64]
    llms: NDArray[np.int64]
    apart: NDArray[np.float64]
    weight: Floats

    @classmethod
    def between(
        cls,
        features: Floats,
        llm: NDArray[np.int64],
        query: NDArray[np.int64],
        kind: NDArray[np.int64],
        rating: NDArray[np.float64],
    ) -> Duels:
        """Pair the responses of every two LLMs to the same queries.

        Args:
            features: φ of N responses ``[N, D]``.
            llm: Whose each response is ``[N]``.
            query: What it answers ``[N]``.
            kind: What kind of query each query is ``[Q]``.
            rating: How people rate each LLM on each kind, in Elo points ``[L, K]``, NaN where they do not.
        """
        row = np.full((len(rating), len(kind)), -1)
        row[llm, query] = np.arange(len(llm))
        rows, pairs, apart = [], [], []
        for (one, other), of_kind in product(combinations(range(len(rating)), 2), range(rating.shape[1])):
            shared = np.flatnonzero((row[one] >= 0) & (row[other] >= 0) & (kind == of_kind))
            ahead = float(rating[one, of_kind] - rating[other, of_kind])
            if len(shared) >= _SHARED and np.isfinite(ahead):
                rows.append(row[[one, other]][:, shared])
                pairs.append((one, other))
                apart.append(ahead)
        sizes = [found.shape[1] for found in rows]
        first, second = np.concatenate(rows, axis=1) if rows else np.empty((2, 0), dtype=np.int64)
        return cls(
            features,
            first,
            second,
            np.repeat(np.arange(len(sizes)), sizes),
            np.array(pairs, dtype=np.int64).reshape(-1, 2),
            np.array(apart),
            np.sqrt(np.array(sizes, dtype=np.float32)),
        )

    @property
    def target(self) -> Floats:
        """How often people should prefer the first LLM of each pair ``[P]``."""
        return np.asarray(expit(ELO * self.apart), dtype=np.float32)

    def without(self, llm: int) -> Duels:
        """Return the duels with the rating of an LLM taken for unknown."""
        return replace(self, weight=np.where((self.llms == llm).any(axis=1), 0.0, self.weight))

    def foretold(self, direction: Floats, llm: int, rating: NDArray[np.float64]) -> float:
        """Return the rating at which an LLM's duels come out as a direction judges them, in Elo points.

        The mean over its opponents, each taken at its rating, weighted like the pairs; NaN if there are none.

        Args:
            rating: Of each LLM ``[L]``; the LLM's own is not looked at.
        """
        margins = self.features @ direction
        won = np.bincount(self.pair, probabilities(margins[self.first] - margins[self.second]))
        ahead = logit(np.clip(won / np.bincount(self.pair), *_FORETELLS)) / ELO
        is_first, is_second = (self.llms == llm).T
        found = np.concatenate(
            [
                rating[self.llms[is_first, 1]] + ahead[is_first],
                rating[self.llms[is_second, 0]] - ahead[is_second],
            ]
        )
        weight = np.concatenate([self.weight[is_first], self.weight[is_second]])
        known = np.isfinite(found)
        return float(np.average(found[known], weights=weight[known])) if known.any() else float("nan")

    def loss(self) -> Callable[[torch.Tensor], torch.Tensor]:
        """Return the cross-entropy of mean probabilities and targets as a function of a direction ``[D]``."""
        features, apart = torch.from_numpy(self.features), torch.from_numpy(self.target)
        first, second, pair = map(torch.from_numpy, (self.first, self.second, self.pair))
        weight = torch.from_numpy(self.weight / max(float(self.weight.sum()), 1e-9))
        counts = torch.bincount(pair, minlength=len(apart)).clamp(min=1)

        def loss(direction: torch.Tensor) -> torch.Tensor:
            margins = features @ direction
            prob = torch.sigmoid(margins[first] - margins[second])
            means = torch.zeros(len(apart)).index_add(0, pair, prob) / counts
            each = functional.binary_cross_entropy(means.clamp(1e-4, 1 - 1e-4), apart, reduction="none")
            return (weight * each).sum()

        return loss
