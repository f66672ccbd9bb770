"""Reference judges: what any CRM must beat to be worth its cost.

They read texts, like the large judges, and know nothing of preference data.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from crm.criteria import CriteriaSet
from crm.encoder import sentence_encoder
from crm.protocol import CRM, Contest, Pair, ScoreBlock, Verdicts, probabilities

_COSINE_GAIN = 20.0
"""Log-odds for a difference of one in cosine similarity."""


class LongerCRM:
    """Prefers the longer answer, whatever the criteria say."""

    name = "longer"
    version = "1"
    representation: str | None = None

    def judge(self, criteria: CriteriaSet, pairs: Sequence[Pair]) -> Verdicts:
        """The log-odds for A are the logarithm of the ratio of lengths in characters."""
        ratios = [np.log((len(pair.response_a) + 1) / (len(pair.response_b) + 1)) for pair in pairs]
        prob = probabilities(np.array(ratios, dtype=np.float32))
        return Verdicts(prob, np.repeat(prob[:, None], len(criteria), axis=1))

    def score(self, criteria: CriteriaSet, contest: Contest) -> Iterator[ScoreBlock]:
        """One block an LLM."""
        return score_texts(self, criteria, contest)


class CosineCRM:
    """Prefers the answer whose embedding is more similar to the criteria's; without criteria, the query's."""

    name = "cosine"
    version = "1"
    representation: str | None = None

    def judge(self, criteria: CriteriaSet, pairs: Sequence[Pair]) -> Verdicts:
        """Differences of cosine similarity, summed over criteria with their signed weights."""
        encoder = sentence_encoder()
        difference = encoder.encode([pair.response_a for pair in pairs], bulk=True).embedding
        difference = difference - encoder.encode([pair.response_b for pair in pairs], bulk=True).embedding
        if not criteria:
            queries = encoder.embed([pair.query for pair in pairs])
            prob = probabilities(_COSINE_GAIN * (difference * queries).sum(axis=1))
            return Verdicts(prob, np.empty((len(pairs), 0), dtype=np.float32))
        margins = _COSINE_GAIN * (difference @ encoder.embed([item.text for item in criteria]).T)
        signs = np.array([item.polarity.sign for item in criteria], dtype=np.float32)
        weights = np.array([item.signed_weight for item in criteria], dtype=np.float32)
        return Verdicts(probabilities(margins @ weights), probabilities(margins * signs))

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
            prob[0, given] = crm.judge(criteria, [pair for pair in pairs if pair is not None]).prob_a
        yield ScoreBlock(np.array([index]), queries, prob)
