"""Reference judges: what any CRM must beat to be worth its cost.

They read texts, like the large judges, and know nothing of preference data.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from crm.criteria import CriteriaSet
from crm.encoder import sentence_encoder
from crm.protocol import CRM, Contest, Question, ScoreBlock, Verdict, probabilities

_COSINE_GAIN = 20.0
"""Log-odds for a difference of one in cosine similarity."""


class LongerCRM:
    """Prefers the longer answer, whatever the criteria say."""

    name = "longer"
    version = "1"
    representation: str | None = None

    def judge(self, questions: Sequence[Question]) -> list[Verdict]:
        """The log-odds for A are the logarithm of the ratio of lengths in characters."""
        verdicts = []
        for question in questions:
            ratio = (len(question.pair.response_a) + 1) / (len(question.pair.response_b) + 1)
            prob = float(probabilities(np.log(ratio)))
            verdicts.append(Verdict(prob, (prob,) * len(question.criteria)))
        return verdicts

    def score(self, criteria: CriteriaSet, contest: Contest) -> Iterator[ScoreBlock]:
        """One block an LLM."""
        return score_texts(self, criteria, contest)


class CosineCRM:
    """Prefers the answer whose embedding is more similar to the criteria's; without criteria, the query's."""

    name = "cosine"
    version = "1"
    representation: str | None = None

    def judge(self, questions: Sequence[Question]) -> list[Verdict]:
        """Differences of cosine similarity, summed over criteria with their signed weights."""
        pairs = [question.pair for question in questions]
        encoder = sentence_encoder()
        first = encoder.encode([pair.response_a for pair in pairs], bulk=True).embedding
        second = encoder.encode([pair.response_b for pair in pairs], bulk=True).embedding
        verdicts = []
        for question, difference in zip(questions, _COSINE_GAIN * (first - second), strict=True):
            wishes = [item.text for item in question.criteria] or [question.pair.query]
            margins = encoder.embed(wishes) @ difference
            weights = [item.signed_weight for item in question.criteria] or [1.0]
            alone = probabilities(
                np.array([item.polarity.sign for item in question.criteria])
                * margins[: len(question.criteria)]
            )
            verdicts.append(Verdict(float(probabilities(margins @ weights)), tuple(map(float, alone))))
        return verdicts

    def score(self, criteria: CriteriaSet, contest: Contest) -> Iterator[ScoreBlock]:
        """One block an LLM."""
        return score_texts(self, criteria, contest)


def score_texts(crm: CRM, criteria: CriteriaSet, contest: Contest) -> Iterator[ScoreBlock]:
    """Fill a score matrix by judging the texts of one LLM after another; cells without both are NaN."""
    queries = np.arange(contest.n_queries)
    for index, llm in enumerate(contest.llms):
        pairs = contest.pairs(llm)
        given = [number for number, pair in enumerate(pairs) if pair is not None]
        prob = np.full((1, contest.n_queries), np.nan, dtype=np.float32)
        if given:
            questions = [Question(criteria, pair) for pair in pairs if pair is not None]
            prob[0, given] = [verdict.prob_a for verdict in crm.judge(questions)]
        yield ScoreBlock(np.array([index]), queries, prob)
