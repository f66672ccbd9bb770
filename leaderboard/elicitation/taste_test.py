"""A blind taste test of a ranking: its first LLM's answers beside those of its rivals, without names.

Six pairs, the first LLM in each: against the second, the third and the best of the default ranking in turn.
The questions are drawn at random from those that count, not where the judge tells most, so that the test may
go either way; answers of a pair are about equally long where there are enough such, unless length is what is
asked for. The ranking expects of each pair what its judge says: the probability that the first LLM's answer
is preferred. “No difference” counts half.

As questions are drawn at random, the answers also correct what the judge says of all that could have been
drawn: how often the first LLM's answer is preferred to its rivals' (`statistics.prediction_powered`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from crm.embedded.evidence import counted_in
from crm.embedded.representation import MISSING, NAME, representation
from crm.protocol import CountsAmounts
from leaderboard.benchmark import LoadedBenchmark, missing_texts_message
from leaderboard.elicitation.acquisition import READABLE
from leaderboard.elicitation.choice_model import Choice, ChoiceOutcome, ResponsePair
from leaderboard.errors import LeaderboardError
from leaderboard.result import Leaderboard
from leaderboard.scored import Scored
from leaderboard.service import Service
from leaderboard.statistics.prediction_powered import CorrectedMean, corrected_mean, trust_before_votes
from leaderboard.statistics.prediction_powered import n_agreeing as count_agreeing

N_PAIRS = 6
_RIVALS = 2
"""So many LLMs after the first are rivals, besides the best of the default ranking."""
_ALIKE = float(np.log(1.25))
"""Answers up to a quarter longer are about equally long."""
_LENGTHS = ("words", "sentences", "paragraphs")
"""Countable properties that are an answer's length."""
MANY_QUESTIONS = 10 * N_PAIRS
"""From so many on it makes no difference that a test asks none of them twice."""
_FEW = 0.05
"""A count that chance would make so low or high, or more so, is not what the ranking expects."""


class Taste(StrEnum):
    """What a person says of a pair."""

    FIRST = "first"
    SECOND = "second"
    ALIKE = "alike"


@dataclass(frozen=True)
class BlindPair:
    """Two answers without names, and what the ranking expects of them.

    Attributes:
        pair: By their rows among the benchmark's respondents; ``first`` is shown as A.
        tested_first: Whether A is the answer of the LLM that is tested.
        rival: Whose the other one is.
        expected: Probability that the tested LLM's answer is preferred.
        usually: The mean of that over all questions that could have been drawn instead; None where these
            are too few, or not about equally long answers to be read without effort.
    """

    pair: ResponsePair
    tested_first: bool
    rival: str
    expected: float
    usually: float | None = None


@dataclass(frozen=True)
class TasteTest:
    """A test and what was said so far; each step makes another one.

    Attributes:
        llm: Who is tested.
        pairs: At most ``N_PAIRS``.
    """

    llm: str
    pairs: tuple[BlindPair, ...]
    tastes: tuple[Taste, ...] = ()

    @property
    def is_over(self) -> bool:
        """Whether all pairs are answered."""
        return len(self.tastes) == len(self.pairs)

    @property
    def current(self) -> BlindPair:
        """The pair to be answered next; an IndexError where all are."""
        return self.pairs[len(self.tastes)]

    def said(self, taste: Taste) -> TasteTest:
        """Return the test after the next pair's answer."""
        return replace(self, tastes=(*self.tastes, taste))

    def without_last(self) -> TasteTest:
        """Return the test without the last answer, if there is any."""
        return replace(self, tastes=self.tastes[:-1])

    @property
    def won(self) -> float:
        """How often the tested LLM's answer was chosen so far, “no difference” as a half."""
        return float(sum(map(_won, self.pairs, self.tastes)))

    @property
    def n_alike(self) -> int:
        """How often no difference was seen."""
        return self.tastes.count(Taste.ALIKE)

    @property
    def expected(self) -> float:
        """How often the ranking expects the tested LLM's answer to be chosen, of the pairs answered."""
        return float(sum(pair.expected for pair in self.pairs[: len(self.tastes)]))

    @property
    def surprise(self) -> int:
        """1 where it was chosen surely more often than expected, −1 where less often, else 0.

        By the distribution of the number of successes with these probabilities, one-sided, at 5 %.
        """
        number = count_distribution([pair.expected for pair in self.pairs[: len(self.tastes)]])
        counts = np.arange(len(number))
        if number[counts <= self.won].sum() < _FEW:
            return -1
        return int(number[counts >= self.won].sum() < _FEW)

    @property
    def choices(self) -> tuple[Choice, ...]:
        """The decided answers as choices to learn from: “no difference” says nothing of what is good."""
        outcome = {Taste.FIRST: ChoiceOutcome.FIRST, Taste.SECOND: ChoiceOutcome.SECOND}
        return tuple(
            Choice(blind.pair, outcome[taste])
            for blind, taste in zip(self.pairs, self.tastes, strict=False)
            if taste in outcome
        )


@dataclass(frozen=True)
class CorrectedTaste:
    """How often the tested LLM's answers are preferred to its rivals', by judge and votes.

    Attributes:
        judged: By the judge, over all questions that could have been drawn.
        corrected: By judge and votes.
        n_votes: Answers to pairs drawn at random.
        n_agreeing: Of them went as the judge expected, half of one for “no difference”.
    """

    judged: float
    corrected: CorrectedMean
    n_votes: int
    n_agreeing: float


def corrected_taste(tests: Sequence[TasteTest]) -> CorrectedTaste | None:
    """Return what the answers of one or more tests of an LLM by the same ranking correct.

    None where fewer than ``N_PAIRS`` of the pairs answered were drawn at random from many questions.
    """
    votes = [
        (_won(blind, taste), blind.expected, blind.usually)
        for test in tests
        for blind, taste in zip(test.pairs, test.tastes, strict=False)
        if blind.usually is not None
    ]
    if len(votes) < N_PAIRS:
        return None
    outcome, forecast, expected = np.array(votes, dtype=np.float64).T
    trust = trust_before_votes(outcome, forecast)[:-1]
    found = corrected_mean(outcome, forecast, expected, trust)
    return CorrectedTaste(float(expected.mean()), found, len(votes), count_agreeing(outcome, forecast))


def _won(blind: BlindPair, taste: Taste) -> float:
    if taste is Taste.ALIKE:
        return 0.5
    return float((taste is Taste.FIRST) == blind.tested_first)


def count_distribution(prob: Sequence[float]) -> NDArray[np.float64]:
    """Return the probabilities of 0 to n successes ``[n + 1]`` with n probabilities of one each."""
    number = np.ones(1)
    for one in prob:
        number = np.convolve(number, [1 - one, one])
    return number


def make_taste_test(
    service: Service, leaderboard: Leaderboard, listed: Sequence[str], *, seed: int = 0
) -> TasteTest:
    """Return a test of a ranking's first LLM among those that are listed.

    Args:
        leaderboard: The whole one.
        listed: Names of LLMs.
        seed: Of questions and sides; the same one always gives the same test.

    Raises:
        LeaderboardError: There are no texts; fewer than two LLMs are ranked and listed; no question has
            answers of the first and a rival.
        RepresentationMissingError: The answers' lengths are not known.
        LeaderboardError, CRMError, DatabaseError: As ``Service.leaderboard``.
    """
    scored = service.scored(leaderboard.view.whole)
    benchmark = scored.request.benchmark
    if not benchmark.readable.any():
        raise LeaderboardError(missing_texts_message(benchmark.record))
    rivals = rivals_of(leaderboard, listed)
    pairs = _draw_pairs(scored, rivals, np.random.default_rng(seed)) if rivals else ()
    if not pairs:
        raise LeaderboardError(
            "No two LLMs at the top of this ranking have answered a question here that can be read: choose "
            "other topics."
        )
    return TasteTest(rivals[0], pairs)


def rivals_of(leaderboard: Leaderboard, listed: Sequence[str]) -> tuple[str, ...]:
    """Return the first LLM that is ranked and listed, the next two, and the best by default besides."""
    names = set(listed)
    ranked = [llm for llm in leaderboard.ranking.ranks if llm in names]
    by_default = [llm for llm in leaderboard.default.ranks if llm in ranked] if leaderboard.default else []
    return tuple(dict.fromkeys([*ranked[: 1 + _RIVALS], *by_default[:1]])) if len(ranked) > 1 else ()


def _draw_pairs(scored: Scored, llms: Sequence[str], random: np.random.Generator) -> tuple[BlindPair, ...]:
    """Return pairs of the first LLM with each of the others in turn, each on a question of its own."""
    rows = [scored.request.llms.index(llm) for llm in llms]
    found = {
        rival: _questions(scored, rows[0], row, random) for rival, row in zip(llms[1:], rows[1:], strict=True)
    }
    waiting = {rival: order for rival, (order, _) in found.items()}
    fitting = {rival: first for rival, (_, first) in found.items()}
    standing = scored.standing
    pairs: list[BlindPair] = []
    while len(pairs) < N_PAIRS and any(waiting.values()):
        for rival, row in zip(llms[1:], rows[1:], strict=True):
            used = {blind.pair.query for blind in pairs}
            left = [query for query in waiting[rival] if query not in used]
            waiting[rival] = left[1:]
            if not left or len(pairs) == N_PAIRS:
                continue
            query, first = left[0], bool(random.random() < 1 / 2)
            sides = (rows[0], row) if first else (row, rows[0])
            expected = expit(standing[rows[0]] - standing[row])
            usually = _mean_of_drawn(expected, [each for each in left if each in fitting[rival]], scored)
            pair = ResponsePair(query, *sides)
            pairs.append(BlindPair(pair, first, rival, float(expected[query]), usually))
    return tuple(pairs)


def _mean_of_drawn(expected: NDArray[np.float64], drawn_from: Sequence[int], scored: Scored) -> float | None:
    """Return the mean of what is expected ``[Q]`` over the questions drawn from; None if these are few."""
    if len(drawn_from) < MANY_QUESTIONS:
        return None
    return float(np.average(expected[list(drawn_from)], weights=scored.weights[list(drawn_from)]))


def _questions(
    scored: Scored, tested: int, rival: int, random: np.random.Generator
) -> tuple[list[int], frozenset[int]]:
    """Return the questions that two LLMs have answered differently, as they are to be asked, and the first.

    In random order, heavier ones earlier; first those with answers that are read without effort and, unless
    the criteria ask for a length, about equally long: of them the next is a random one, each as likely as it
    is heavy. Then by how far they are from that.
    """
    benchmark, both = scored.request.benchmark, [tested, rival]
    asked = benchmark.readable[both].all(axis=0) & (scored.weights > 0)
    asked &= ~np.isnan(scored.standing[both]).any(axis=0)
    words, digest = _words_and_digests(benchmark)
    asked &= (digest[both] != MISSING).all(axis=0) & (digest[tested] != digest[rival])
    queries = np.flatnonzero(asked)
    lottery = random.exponential(size=len(queries)) / scored.weights[queries]
    length = np.log1p(words[both][:, queries])
    too_far = 0.0 if _asks_for_length(scored) else np.maximum(np.abs(length[0] - length[1]) - _ALIKE, 0)
    too_long = np.maximum(length.max(axis=0) - np.log1p(READABLE), 0)
    order = [int(query) for query in queries[np.lexsort((lottery, too_far + too_long))]]
    return order, frozenset(queries[too_far + too_long == 0].tolist())


def _asks_for_length(scored: Scored) -> bool:
    """Return whether the criteria surely ask for long or short answers: equally long ones would hide it."""
    request = scored.request
    if not isinstance(request.crm, CountsAmounts):
        return False
    counted = (counted_in(item.unit) for item in request.crm.amounts(request.criteria, request.benchmark))
    return any(item is not None and item.name in _LENGTHS for item in counted)


def _words_and_digests(benchmark: LoadedBenchmark) -> tuple[NDArray[np.float64], NDArray[np.integer]]:
    """Return the length of each response in words and what tells its text from others, each ``[R, Q]``."""
    stored = benchmark.representation(NAME)
    words = stored["style"][..., representation(NAME).sheet.words]
    return words.astype(np.float64), stored["digest"]
