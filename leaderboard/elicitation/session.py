"""One person's elicitation on a benchmark: choices and replies with undo, and the checklist they lead to.

What a person states outright belongs on their checklist, whatever else could describe a benchmark's responses
as well. The posterior knows only which responses an answer goes with, so a checklist made from it alone would
tell somebody who asked for numbered steps that they like checklists or thoroughness. After an interview the
lines are therefore the criteria that the chosen options name, and those lines of the posterior's checklist
that the choices support. Weights are fitted to the posterior as there, so that they still say how much each
matters; a wish that the fit can do without comes last.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from crm import registry
from crm.embedded.representation import representation
from db.records import BenchmarkSummary
from leaderboard.benchmark import LoadedBenchmark, missing_texts_message
from leaderboard.elicitation.acquisition import CandidatePairs, expected_agreement, next_pair
from leaderboard.elicitation.checking import Check, draw_check, is_check
from leaderboard.elicitation.checklist import (
    ChecklistLine,
    checklist,
    count_evidence,
    fit_weights,
    grade_shares,
    polarity_of,
    supporting_replies,
)
from leaderboard.elicitation.choice_model import (
    Choice,
    ChoiceOutcome,
    Draw,
    ResponsePair,
    chosen_and_rejected,
)
from leaderboard.elicitation.interview import (
    InterviewQuestion,
    InterviewReply,
    ObservedReply,
    interview_questions,
    next_question,
)
from leaderboard.elicitation.library import LibraryCriterion
from leaderboard.elicitation.margins import benchmark_margins
from leaderboard.elicitation.posterior import ObservedChoices, PreferencePosterior
from leaderboard.errors import LeaderboardError
from leaderboard.selection import queries_with
from leaderboard.service import Service

_MIN_WEIGHT = 1e-3
"""Of the fit's largest weight: what a wish counts that the fit can do without."""


@dataclass(frozen=True)
class PairTexts:
    """A pair as a person reads it."""

    query: str
    first: str
    second: str


def readable_benchmarks(service: Service) -> list[BenchmarkSummary]:
    """Return the benchmarks whose texts are stored: choices need something to read."""
    return [summary for summary in service.benchmarks() if summary.has_texts]


def candidate_pairs(service: Service, slug: str, topics: Sequence[str]) -> CandidatePairs:
    """Return the pairs of a benchmark that may be shown, with their margins under the library.

    Raises:
        NotFoundError: There is no such benchmark.
        LeaderboardError: The benchmark lacks one of the topics; the topics hold no two responses with their
            texts.
        RepresentationMissingError: A response has not been embedded.
    """
    benchmark = service.benchmark(slug)
    crm = registry.get_crm(registry.DEFAULT)
    margins = benchmark_margins(benchmark, crm)
    if not benchmark.readable.any():
        raise LeaderboardError(missing_texts_message(benchmark.record))
    name = crm.representation or ""
    words = benchmark.representation(name)["style"][..., representation(name).sheet.words]
    return CandidatePairs.of(
        margins,
        queries_with(benchmark.record, topics),
        words,
        benchmark.readable,
        with_baseline=benchmark.record.baseline is not None,
    )


def pair_texts(benchmark: LoadedBenchmark, pair: ResponsePair) -> PairTexts:
    """Return the texts of a pair; a LeaderboardError where one has been taken away meanwhile."""
    asked = benchmark.query_texts[pair.query]
    first, second = (_response_text(benchmark, row, pair.query) for row in (pair.first, pair.second))
    if asked is None or first is None or second is None:
        raise LeaderboardError(missing_texts_message(benchmark.record))
    return PairTexts(asked, first, second)


def _response_text(benchmark: LoadedBenchmark, row: int, query: int) -> str | None:
    """Return the response in a row of the margins."""
    return benchmark.text_at(benchmark.respondents[row], query)


Step = Choice | InterviewReply


@dataclass(frozen=True, eq=False)
class ElicitationSession:
    """What a person chose and replied so far, and what follows from it; each step makes another session.

    Attributes:
        undone: A choice that was undone, whose pair is shown again; None for the pair whose turn it is.
        checks: The choices between pairs drawn at random, with what was foretold of them.
        draw_seed: Of these draws, the person's own.
    """

    candidates: CandidatePairs
    posterior: PreferencePosterior
    steps: tuple[Step, ...] = ()
    undone: Choice | None = None
    checks: tuple[Check, ...] = ()
    draw_seed: int = 0

    @classmethod
    def start(cls, candidates: CandidatePairs, *, seed: int = 0, draw_seed: int = 0) -> ElicitationSession:
        """Return the session before the first step; the same seeds and steps always give the same pairs."""
        prior = PreferencePosterior.prior(candidates.margins.n_criteria, seed=seed)
        return cls(candidates, prior, draw_seed=draw_seed)

    @property
    def choices(self) -> tuple[Choice, ...]:
        """The choices between responses."""
        return tuple(step for step in self.steps if isinstance(step, Choice))

    @property
    def replies(self) -> tuple[InterviewReply, ...]:
        """The replies to questions."""
        return tuple(step for step in self.steps if isinstance(step, InterviewReply))

    @property
    def pair(self) -> ResponsePair:
        """What is to be chosen from next."""
        return self._shown[0]

    @cached_property
    def _shown(self) -> tuple[ResponsePair, Draw | None]:
        """What is to be chosen from next, and how it was drawn, if it was."""
        if self.undone is not None:
            return self.undone.pair, self.undone.draw
        n_choices = len(self.choices)
        if is_check(n_choices):
            return draw_check(self.candidates, np.random.default_rng([self.draw_seed, n_choices]))
        seen = frozenset(choice.pair.query for choice in self.choices)
        return next_pair(self.posterior, self.candidates, seen), None

    @cached_property
    def question(self) -> InterviewQuestion | None:
        """What is to be asked next; None where the interview is over."""
        return next_question(self.posterior, self.candidates, interview_questions())

    @property
    def agreement(self) -> float:
        """Share of pairs of LLMs that the ranking expected by now is expected to have the right way round."""
        return expected_agreement(self.posterior, self.candidates)

    def chosen(self, outcome: ChoiceOutcome) -> ElicitationSession:
        """Return the session after one more choice."""
        pair, draw = self._shown
        return self._after(Choice(pair, outcome, draw))

    def with_choices(self, choices: Sequence[Choice]) -> ElicitationSession:
        """Return the session after choices between pairs that it did not show, those it knows left out."""
        session = self
        for choice in choices:
            if choice not in self.choices:
                session = session._after(choice)
        return session

    def replied(self, option: int, text: str = "") -> ElicitationSession:
        """Return the session after a reply, by default in fixed words; a ValueError without a question."""
        if self.question is None:
            raise ValueError("There is no question to reply to.")
        return self._after(InterviewReply(self.question, option, text or self.question.options[option]))

    def without_last(self, kind: type[Choice] | type[InterviewReply]) -> ElicitationSession:
        """Return the session without the last choice, whose pair is shown again, or without the last reply.

        The posterior is computed again from all other steps. Where there is nothing to undo, it stays the
        session as it is.
        """
        places = [place for place, step in enumerate(self.steps) if isinstance(step, kind)]
        if not places:
            return self
        last = self.steps[places[-1]]
        session = ElicitationSession.start(
            self.candidates, seed=self.posterior.seed, draw_seed=self.draw_seed
        )
        for step in (*self.steps[: places[-1]], *self.steps[places[-1] + 1 :]):
            session = session._after(step)
        return replace(session, undone=last) if isinstance(last, Choice) else session

    def on(self, candidates: CandidatePairs) -> ElicitationSession:
        """Return the session with the same steps on other topics of the same benchmark."""
        return replace(self, candidates=candidates, undone=None)

    def _after(self, step: Step) -> ElicitationSession:
        margins = self.candidates.margins
        observed = (
            ObservedChoices.of([step], margins)
            if isinstance(step, Choice)
            else ObservedReply(step.question, step.option, margins.gram)
        )
        checks = self.checks
        if isinstance(step, Choice) and step.draw is not None:
            checks = (*checks, Check.of(step, step.draw, self.posterior))
        return ElicitationSession(
            self.candidates,
            self.posterior.after(observed),
            (*self.steps, step),
            checks=checks,
            draw_seed=self.draw_seed,
        )


def session_checklist(
    session: ElicitationSession, library: Sequence[LibraryCriterion]
) -> tuple[ChecklistLine, ...]:
    """Return what is known of the person, the weightiest line first; none before the first step."""
    posterior, margins = session.posterior, session.candidates.margins
    sides = chosen_and_rejected(session.choices, margins)
    learnt = checklist(posterior, margins, library, sides)
    wishes = [wish for reply in session.replies if (wish := _named_criteria(reply))]
    if not wishes:
        return learnt
    signs = {line.index: line.criterion.polarity.sign for line in learnt if line.evidence.supporting}
    for wish in wishes:
        signs |= wish
    indices, sign = np.array(list(signs)), np.array(list(signs.values()))
    among = margins.gram[np.ix_(indices, indices)] * np.outer(sign, sign)
    fitted = fit_weights(among, sign * (margins.gram[indices] @ posterior.mean))
    weight = _with_minimum(indices, fitted, wishes)
    order = [place for place in np.argsort(-weight, kind="stable") if weight[place] > 0]
    share = weight[order] / weight.sum()
    chosen = [int(index) for index in indices[order]]
    polarity = [polarity_of(signs[index]) for index in chosen]
    counted = count_evidence(chosen, polarity, sides, margins.spread)
    evidence = [
        replace(counts, replies=supporting_replies(index, each, margins, session.replies))
        for index, each, counts in zip(chosen, polarity, counted, strict=True)
    ]
    rows = zip(chosen, polarity, grade_shares(share), share.tolist(), evidence, strict=True)
    return tuple(ChecklistLine.of(*row, library=library, posterior=posterior) for row in rows)


def _named_criteria(reply: InterviewReply) -> dict[int, float]:
    """Return the criteria that the option taken names, and whether it wants (1) or avoids (−1) them."""
    weights = reply.question.weights[reply.option]
    return {int(index): float(np.sign(weights[index])) for index in np.flatnonzero(weights)}


def _with_minimum(
    indices: NDArray[np.intp], weight: NDArray[np.float64], wishes: Sequence[dict[int, float]]
) -> NDArray[np.float64]:
    """Return the weights, with a little for the first criterion of every wish that has none."""
    kept = weight.copy()
    least = _MIN_WEIGHT * (float(weight.max()) or 1.0)
    for wish in wishes:
        rows = np.flatnonzero(np.isin(indices, list(wish)))
        if not (kept[rows] > 0).any():
            kept[rows[0]] = least
    return kept
