"""Small benchmarks and judges that several tests use."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crm.criteria import CriteriaSet
from crm.embedded.counts import count_names
from crm.embedded.passages import MAX_PASSAGES
from crm.embedded.representation import MISSING, representation
from crm.protocol import JudgedBenchmark, Pair, Question, ScoreBlock, Verdict
from crm.scoring import score_texts

BOIL, STOCKS = "Put the egg into boiling water.", "The stock market fell sharply today."


@dataclass(frozen=True)
class ArrayBenchmark:
    """Contenders of whom only features are known, ``[L + 1, Q, D]``, the baseline last."""

    features: NDArray[np.int8]
    missing: Sequence[tuple[int, int]] = ()

    @property
    def llms(self) -> Sequence[str]:
        return [f"llm{index}" for index in range(len(self.features) - 1)]

    @property
    def n_queries(self) -> int:
        return self.features.shape[1]

    def pairs(self, llm: str) -> Sequence[Pair | None]:
        raise NotImplementedError

    def representation(self, name: str) -> Mapping[str, NDArray[Any]]:
        digest = np.ones(self.features.shape[:2], dtype=np.uint64)
        for cell in self.missing:
            digest[cell] = MISSING
        # Counts and passages that follow from the features, so that equal responses have equal ones.
        counts = np.abs(self.features[..., : len(count_names())]).astype(np.float16)
        columns = np.arange(MAX_PASSAGES * representation().passages.size) % self.features.shape[-1]
        passages = self.features[..., columns].reshape(*self.features.shape[:2], MAX_PASSAGES, -1)
        return {"features": self.features, "counts": counts, "passages": passages, "digest": digest}


@dataclass(frozen=True)
class TextBenchmark:
    """Contenders by name, with their pairs."""

    given: Mapping[str, Sequence[Pair | None]]

    @property
    def llms(self) -> Sequence[str]:
        return list(self.given)

    @property
    def n_queries(self) -> int:
        return len(next(iter(self.given.values())))

    def pairs(self, llm: str) -> Sequence[Pair | None]:
        return self.given[llm]

    def representation(self, name: str) -> Mapping[str, NDArray[Any]]:
        raise NotImplementedError


@dataclass(frozen=True)
class KnownVerdicts:
    """A judge whose verdict on a pair is written in the query: “0.8” or “0.8 0.3 0.9” with criteria."""

    name: str = "known"
    version: str = "1"
    representation: str | None = None

    def judge(self, questions: Sequence[Question]) -> list[Verdict]:
        numbers = [tuple(map(float, question.pair.query.split())) for question in questions]
        return [Verdict(together, tuple(alone)) for together, *alone in numbers]

    def score(self, criteria: CriteriaSet, benchmark: JudgedBenchmark) -> Iterator[ScoreBlock]:
        return score_texts(self, criteria, benchmark)


def random_features(*shape: int, seed: int = 0) -> NDArray[np.int8]:
    """Features of responses, spread like real ones."""
    drawn = np.random.default_rng(seed).normal(0, 25, (*shape, representation().size))
    return np.clip(drawn, -127, 127).astype(np.int8)
