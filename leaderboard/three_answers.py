"""Three answers to one question: the person's best LLM, the default ranking's best, and a contrast.

What a ranking means is seen in answers. Questions are shown on which the criteria tell the three most
clearly apart: they are ordered by the smallest difference between any two of them, in log-odds, as much as
the question counts. The contrast is, of the lower half of the ranking, the LLM whose answer the criteria like
least. Answers that the judge holds back as gaming are not shown: that they are liked less says nothing of the
criteria.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from crm.embedded.counts import Countable
from crm.embedded.evidence import counted_in
from crm.embedded.reasons import UNNAMED
from crm.embedded.representation import MISSING
from crm.protocol import CountsAmounts, Explains, MeasuresResponses
from leaderboard.errors import LeaderboardError
from leaderboard.result import Leaderboard
from leaderboard.scored import Scored
from leaderboard.service import Service
from leaderboard.statistics.duels import Margins
from leaderboard.statistics.win_rate import Mask
from leaderboard.view import View

MOST_AMOUNTS = 3
"""That are named of one answer."""
_MOST_REASONS = 2
_THREE = 3


class Role(StrEnum):
    """Why an answer is among the three."""

    BEST = "best"
    OTHER = "other"
    CONTRAST = "contrast"


@dataclass(frozen=True)
class Trio:
    """One question and who answers it.

    Attributes:
        query: Index of the question in the benchmark.
        contrast: Name of the contrast.
        separation: The smallest difference of any two answers, in log-odds; negative where the best one's is
            not the best.
    """

    query: int
    contrast: str
    separation: float


@dataclass(frozen=True)
class ThreeLLMs:
    """Who is compared, on which questions.

    Attributes:
        best: The person's best LLM.
        other: The best of the default ranking, or the next of it that differs and answered the same.
        by_default: Whether that is the default ranking; else the person's own, where there is no other.
        place: The rank of the other one there.
        trios: The questions, the one that tells most first.
        readable: Whether there are texts to read.
    """

    best: str
    other: str
    by_default: bool
    place: int
    trios: tuple[Trio, ...]
    readable: bool


@dataclass(frozen=True)
class AmountInAnswer:
    """How much of what is counted one answer has."""

    counted: Countable
    amount: float


@dataclass(frozen=True)
class ShownAnswer:
    """One of three answers.

    Attributes:
        text: None where it is not stored.
        amounts: What the criteria count in it.
        prob: Probability that it is preferred: the best one's to the better of the others, theirs to its.
        reasons: What sets it apart from the best one's, or that from the contrast, in its disfavour or
            favour; none where amounts say it.
    """

    role: Role
    llm: str
    text: str | None
    amounts: tuple[AmountInAnswer, ...]
    prob: float
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class ShownQuestion:
    """A question and three answers to it; its text is None where it is not stored."""

    title: str
    text: str | None
    answers: tuple[ShownAnswer, ...]


def find_three(service: Service, leaderboard: Leaderboard, listed: Sequence[str]) -> ThreeLLMs:
    """Return who is compared on which questions, of the LLMs that are listed.

    Args:
        leaderboard: The whole one.
        listed: Names of LLMs.

    Raises:
        LeaderboardError: Fewer than three LLMs are ranked and listed, or no question has an answer of three.
        LeaderboardError, CRMError, DatabaseError: As ``Service.leaderboard``.
    """
    rivals = [llm for llm in leaderboard.ranking.ranks if llm in set(listed)]
    if len(rivals) < _THREE:
        raise LeaderboardError(
            "Three answers take three LLMs that are ranked and listed: change topics or filters."
        )
    answers = _Answers.of(service, service.scored(leaderboard.view.whole))
    default = leaderboard.default if leaderboard.criteria else None
    ranks = (default or leaderboard.ranking).ranks
    best = rivals[0]
    for other in (llm for llm in ranks if llm in rivals and llm != best):
        pool = [llm for llm in rivals[len(rivals) // 2 :] if llm not in (best, other)] or [
            llm for llm in rivals if llm not in (best, other)
        ]
        if trios := answers.trios((best, other), pool):
            readable = bool(answers.scored.request.benchmark.readable.any())
            return ThreeLLMs(best, other, default is not None, ranks[other], trios, readable)
    raise LeaderboardError("No question here was answered by three LLMs of this ranking: choose more topics.")


@dataclass(frozen=True, eq=False)
class _Answers:
    """How the answers of L LLMs stand, and which can be shown.

    Attributes:
        standing: Log-odds ``[L, Q]``: a difference is that of one answer being preferred.
        usable: Those that count, are honest, and have texts where there are any ``[L, Q]``.
    """

    scored: Scored
    standing: NDArray[np.float64]
    usable: Mask

    @classmethod
    def of(cls, service: Service, scored: Scored) -> _Answers:
        standing, honest = _standing(service, scored)
        usable = honest & (scored.weights > 0) & ~np.isnan(standing)
        readable = scored.request.benchmark.readable
        if readable.any():
            usable &= readable[: len(usable)]
        return cls(scored, standing, np.asarray(usable))

    def trios(self, two: tuple[str, str], pool: Sequence[str]) -> tuple[Trio, ...]:
        """Return the questions that both answered and one of the pool, the clearest first.

        Those on which the first one's answer is the best, if there are any.
        """
        llms = self.scored.request.llms
        rows = np.array([llms.index(llm) for llm in pool])
        first, other = (llms.index(llm) for llm in two)
        usable = self.usable
        queries = np.flatnonzero(usable[first] & usable[other] & usable[rows].any(axis=0))
        if not len(queries):
            return ()
        among = np.ix_(rows, queries)
        liked = np.where(usable[among], self.standing[among], np.inf)
        apart = _separation(self.standing[first, queries], self.standing[other, queries], liked.min(axis=0))
        apart = apart * self.scored.weights[queries] / self.scored.weights.max()
        order = np.argsort(-apart, kind="stable")
        clear = [place for place in order if apart[place] > 0] or list(order)
        contrast = liked.argmin(axis=0)
        return tuple(
            Trio(int(queries[place]), pool[int(contrast[place])], float(apart[place])) for place in clear
        )


def _standing(service: Service, scored: Scored) -> tuple[NDArray[np.float64], Mask]:
    """Return how answers stand in what is asked, and which are not held back, each ``[L, Q]``."""
    request, judged = scored.request, scored.judged
    if isinstance(request.crm, MeasuresResponses) and not isinstance(judged, Margins):
        judged = service.response_margins(request)
    if not isinstance(judged, Margins):
        return scored.standing, np.ones(judged.shape, dtype=np.bool_)
    rows = slice(len(request.llms))
    return judged.asked[rows].astype(np.float64), np.asarray(judged.taken_off[rows] <= 0)


def _separation(
    first: NDArray[np.float64], other: NDArray[np.float64], contrast: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the smallest difference of three answers to each question ``[Q]``."""
    ahead = np.minimum(first - other, first - contrast)
    return np.asarray(np.minimum(ahead, np.abs(other - contrast)))


def show_trio(service: Service, view: View, three: ThreeLLMs, trio: Trio) -> ShownQuestion:
    """Return one question with its three answers; raises as ``Service.leaderboard``."""
    scored = service.scored(view.whole)
    benchmark, query = scored.request.benchmark, trio.query
    llms = dict(zip(Role, (three.best, three.other, trio.contrast), strict=True))
    of_query = _standing(service, scored)[0][:, query]
    standing = {role: float(of_query[scored.request.llms.index(llm)]) for role, llm in llms.items()}
    best_of_others = max(standing[Role.OTHER], standing[Role.CONTRAST])
    answers = []
    for role, llm in llms.items():
        against = best_of_others if role is Role.BEST else standing[Role.BEST]
        rival = trio.contrast if role is Role.BEST else three.best
        amounts = amounts_in(scored, llm, query)
        reasons = _reasons(scored, (llm, rival), query, in_favour=role is Role.BEST)
        prob = float(expit(standing[role] - against))
        text = benchmark.text_at(llm, query)
        answers.append(ShownAnswer(role, llm, text, amounts, prob, () if amounts else reasons))
    title = benchmark.query_titles[query]
    return ShownQuestion(title, benchmark.query_texts[query], tuple(answers))


def amounts_in(scored: Scored, llm: str, query: int) -> tuple[AmountInAnswer, ...]:
    """Return how much of what the criteria count is in one answer, the weightiest first."""
    request = scored.request
    if not isinstance(request.crm, CountsAmounts):
        return ()
    row = request.benchmark.respondents.index(llm)
    found = []
    for amounts in request.crm.amounts(request.list_at(query), request.benchmark)[:MOST_AMOUNTS]:
        counted, amount = counted_in(amounts.unit), float(amounts.amount[row, query])
        if counted is not None and not np.isnan(amount):
            found.append(AmountInAnswer(counted, amount))
    return tuple(found)


def _reasons(scored: Scored, pair: tuple[str, str], query: int, *, in_favour: bool) -> tuple[str, ...]:
    """Return what speaks for the first LLM's answer beside the second's, or against it, if anything."""
    request, crm = scored.request, scored.request.crm
    if not isinstance(crm, Explains) or crm.representation is None:
        return ()
    first, second = (request.benchmark.arrays_at(crm.representation, llm, query) for llm in pair)
    if MISSING in (first["digest"], second["digest"]):
        return ()
    _, reasons = crm.explain(request.list_at(query), first, second)
    speak = [reason.text for reason in reasons if (reason.contribution > 0) == in_favour]
    return tuple(text for text in speak if text not in UNNAMED)[:_MOST_REASONS]
