"""One person's elicitation on a benchmark: choices and replies with undo, and the checklist they lead to.

What a person states outright, in the interview or when asked which of several wishes they went by, belongs on
their checklist (``clarifying.with_stated``).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from crm import registry
from crm.embedded.representation import representation
from db.records import BenchmarkSummary
from leaderboard.benchmark import LoadedBenchmark, missing_texts_message
from leaderboard.elicitation.acquisition import CandidatePairs, expected_agreement, next_pair
from leaderboard.elicitation.checking import Check, draw_check, is_check
from leaderboard.elicitation.checklist import (
    ChecklistLine,
    checklist,
    supporting_replies,
)
from leaderboard.elicitation.choice_model import (
    Choice,
    ChoiceOutcome,
    Draw,
    ResponsePair,
    chosen_and_rejected,
)
from leaderboard.elicitation.clarifying import (
    ClarifyingQuestion,
    ClarifyingReply,
    SignedCriterion,
    clarifying_question,
    followed_of,
    with_stated,
)
from leaderboard.elicitation.interview import (
    InterviewQuestion,
    InterviewReply,
    ObservedReply,
    interview_questions,
    next_question,
)
from leaderboard.elicitation.library import LibraryCriterion
from leaderboard.elicitation.margins import CriterionMargins, benchmark_margins
from leaderboard.elicitation.posterior import Observation, ObservedChoices, PreferencePosterior
from leaderboard.errors import LeaderboardError
from leaderboard.selection import queries_with
from leaderboard.service import Service

PAIRS_APART = 3
"""Pairs that tell wishes apart before it is the LLMs' turn again."""


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


Step = Choice | InterviewReply | ClarifyingReply


@dataclass(frozen=True, eq=False)
class ElicitationSession:
    """What a person chose and replied so far, and what follows from it; each step makes another session.

    Attributes:
        undone: A choice that was undone, whose pair is shown again; None for the pair whose turn it is.
        checks: The choices between pairs drawn at random, with what was foretold of them.
        draw_seed: Of these draws, the person's own.
        apart: Wishes that the next pairs are to tell apart, in place of LLMs.
        apart_until: Number of choices up to which they are.
    """

    candidates: CandidatePairs
    posterior: PreferencePosterior
    steps: tuple[Step, ...] = ()
    undone: Choice | None = None
    checks: tuple[Check, ...] = ()
    draw_seed: int = 0
    apart: tuple[SignedCriterion, ...] = ()
    apart_until: int = 0

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
    def clarified(self) -> tuple[ClarifyingReply, ...]:
        """What was said of which wishes the choices were made by."""
        return tuple(step for step in self.steps if isinstance(step, ClarifyingReply))

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
        apart = partial(followed_of, criteria=self.apart) if n_choices < self.apart_until else None
        return next_pair(self.posterior, self.candidates, seen, apart), None

    @cached_property
    def question(self) -> InterviewQuestion | None:
        """What is to be asked next; None where the interview is over."""
        return next_question(self.posterior, self.candidates, interview_questions())

    @cached_property
    def to_clarify(self) -> ClarifyingQuestion | None:
        """Which wishes to ask about that the choices do not tell apart; None for none."""
        margins = self.candidates.margins
        return clarifying_question(self.posterior, chosen_and_rejected(self.choices, margins), margins.spread)

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

    def clarify(self, named: Iterable[SignedCriterion]) -> ElicitationSession:
        """Return the session after the person said which wishes they went by; a ValueError if not asked."""
        if self.to_clarify is None:
            raise ValueError("There is nothing to clarify.")
        return self._after(ClarifyingReply(self.to_clarify, frozenset(named)))

    def telling_apart(self) -> ElicitationSession:
        """Return the session whose next pairs tell apart what it would ask about; as it is without that."""
        if self.to_clarify is None:
            return self
        return replace(
            self,
            undone=None,
            apart=self.to_clarify.offered,
            apart_until=len(self.choices) + PAIRS_APART,
        )

    def without_last(self, kind: type[Step]) -> ElicitationSession:
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
        observed: Observation
        if isinstance(step, Choice):
            observed = ObservedChoices.of([step], margins)
        elif isinstance(step, InterviewReply):
            observed = ObservedReply(step.question, step.option, margins.gram)
        else:
            observed = step
        checks = self.checks
        if isinstance(step, Choice) and step.draw is not None:
            checks = (*checks, Check.of(step, step.draw, self.posterior))
        return ElicitationSession(
            self.candidates,
            self.posterior.after(observed),
            (*self.steps, step),
            checks=checks,
            draw_seed=self.draw_seed,
            apart=self.apart,
            apart_until=self.apart_until,
        )


def session_checklist(
    session: ElicitationSession, library: Sequence[LibraryCriterion]
) -> tuple[ChecklistLine, ...]:
    """Return what is known of the person, the weightiest line first; none before the first step."""
    posterior, margins = session.posterior, session.candidates.margins
    sides = chosen_and_rejected(session.choices, margins)
    learnt = checklist(posterior, margins, library, sides)
    wishes = [wish for reply in session.replies if (wish := _named_criteria(reply))]
    lines = with_stated(
        learnt, posterior, margins, library, sides, clarified=session.clarified, wishes=wishes
    )
    if lines is learnt:
        return learnt
    return tuple(_with_replies(line, margins, session.replies) for line in lines)


def _with_replies(
    line: ChecklistLine, margins: CriterionMargins, replies: Sequence[InterviewReply]
) -> ChecklistLine:
    found = supporting_replies(line.index, line.criterion.polarity, margins, replies)
    evidence = line.evidence
    return replace(line, evidence=replace(evidence, replies=(*evidence.replies, *found)))


def _named_criteria(reply: InterviewReply) -> dict[int, float]:
    """Return the criteria that the option taken names, and whether it wants (1) or avoids (−1) them."""
    weights = reply.question.weights[reply.option]
    return {int(index): float(np.sign(weights[index])) for index in np.flatnonzero(weights)}
