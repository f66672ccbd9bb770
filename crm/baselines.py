"""Baseline judges: what any CRM must beat to be worth its cost.

They read texts, like the large judges, and know nothing of preference data.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from crm.criteria import CriteriaSet
from crm.embedded.encoder import DIMENSIONS, RowCache, sentence_encoder
from crm.protocol import JudgedBenchmark, Question, ScoreBlock, Verdict, probabilities
from crm.scoring import score_texts

_COSINE_GAIN = 20.0
"""Log-odds for a difference of one in cosine similarity."""
_MAX_REMEMBERED = 50_000
"""Responses, 1.5 kB each: a benchmark as large as AlpacaEval is encoded once for all criteria lists."""


class LongerCRM:
    """Prefers the longer answer, whatever the criteria say."""

    name = "longer"
    version = "1"
    representation: str | None = None

    def judge(self, questions: Sequence[Question]) -> list[Verdict]:
        """Return the log-odds for A are the logarithm of the ratio of lengths in characters."""
        verdicts = []
        for question in questions:
            ratio = (len(question.pair.response_a) + 1) / (len(question.pair.response_b) + 1)
            prob = float(probabilities(np.log(ratio)))
            verdicts.append(Verdict(prob, (prob,) * len(question.criteria)))
        return verdicts

    def score(self, criteria: CriteriaSet, benchmark: JudgedBenchmark) -> Iterator[ScoreBlock]:
        """Return all LLMs on a few queries at a time."""
        return score_texts(self, criteria, benchmark)


class CosineCRM:
    """Prefers the answer whose embedding is more similar to the criteria's; without criteria, the query's."""

    name = "cosine"
    version = "1"
    representation: str | None = None

    def __init__(self) -> None:
        """Make a judge, which remembers the responses that it has read."""
        self._read: RowCache[str] = RowCache(_MAX_REMEMBERED)

    def judge(self, questions: Sequence[Question]) -> list[Verdict]:
        """Differences of cosine similarity, summed over criteria with their signed weights.

        Each distinct response and criterion is encoded once, also for later questions.
        """
        responses = _rows(text for item in questions for text in (item.pair.response_a, item.pair.response_b))
        wishes = _rows(text for item in questions for text in _wishes(item))
        encoder = sentence_encoder()
        embedded = _COSINE_GAIN * self._read.rows(
            list(responses), DIMENSIONS, lambda unread: encoder.encode(unread, bulk=True).embedding
        )
        wished = encoder.embed(list(wishes))
        verdicts = []
        for question in questions:
            pair = question.pair
            difference = embedded[responses[pair.response_a]] - embedded[responses[pair.response_b]]
            margins = wished[[wishes[text] for text in _wishes(question)]] @ difference
            weights = [item.signed_weight for item in question.criteria] or [1.0]
            alone = probabilities(
                np.array([item.polarity.sign for item in question.criteria])
                * margins[: len(question.criteria)]
            )
            verdicts.append(Verdict(float(probabilities(margins @ weights)), tuple(map(float, alone))))
        return verdicts

    def score(self, criteria: CriteriaSet, benchmark: JudgedBenchmark) -> Iterator[ScoreBlock]:
        """Return all LLMs on a few queries at a time."""
        return score_texts(self, criteria, benchmark)


def _wishes(question: Question) -> list[str]:
    return [item.text for item in question.criteria] or [question.pair.query]


def _rows(texts: Iterable[str]) -> dict[str, int]:
    """Return the distinct texts, each with its place among them."""
    return {text: row for row, text in enumerate(dict.fromkeys(texts))}
