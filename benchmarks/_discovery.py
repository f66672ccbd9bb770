"""Ways of learning what people want in each context, and what the LLM is worth that each puts first.

P people, X contexts, L LLMs, Q queries, halved within each context: interviews choose their questions by the
responses to one half, and LLMs are ranked and measured on the other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from benchmarks._contexts import Person, passive_option
from benchmarks._free_interview import Interviewees, interviews
from benchmarks._simulated import simulated_user
from crm.criteria import CriteriaSet
from crm.embedded.model import EmbeddedCRM
from crm.llm.tasks import AskedLLM
from leaderboard.benchmark import LoadedBenchmark, missing_texts_message
from leaderboard.elicitation.acquisition import CandidatePairs
from leaderboard.elicitation.checklist import criteria_of
from leaderboard.elicitation.library import criterion_library
from leaderboard.elicitation.margins import CriterionMargins, benchmark_margins
from leaderboard.elicitation.session import ElicitationSession, session_checklist
from leaderboard.errors import LeaderboardError
from leaderboard.rubrics.grading import GradedQuery, graded, graded_queries
from leaderboard.service import filled
from leaderboard.statistics.win_rate import outcomes, win_rates

BASELINE, ORACLE = "baseline", "oracle"
EACH, FREE = "interview in each context", "questions by an LLM"
ONCE, ONCE_COMMON = "one interview, on the whole", "one interview, common part"
NOBODY = -1
"""In the place of an LLM: the interview failed."""
_SOFT = 1e-3
"""How much a mean probability counts beside a win rate, so that equal win rates are told apart."""

Floats = NDArray[np.floating]
Mask = NDArray[np.bool_]
Show = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class Field:
    """A benchmark with its queries halved within each context.

    Attributes:
        contexts: Names of the categories that people are asked about.
        measured: The queries on which LLMs are ranked and PrefAlign is taken ``[Q]``.
        default: Probability that each LLM beats the baseline under the default ranking ``[L, Q]``.
    """

    benchmark: LoadedBenchmark
    crm: EmbeddedCRM
    margins: CriterionMargins
    contexts: tuple[str, ...]
    measured: Mask
    default: Floats

    @classmethod
    def of(cls, benchmark: LoadedBenchmark, crm: EmbeddedCRM, contexts: Sequence[str] = ()) -> Field:
        """Halve a benchmark, once and for all.

        Args:
            contexts: Names of categories; none are all.

        Raises:
            LeaderboardError: There is no such category, or one has fewer than two queries; or no baseline.
        """
        _ = benchmark.baseline
        for name in contexts:
            if name not in benchmark.category_names:
                known = ", ".join(benchmark.category_names)
                raise LeaderboardError(f"There is no category {name!r}: choose among {known}.")
        chosen = tuple(dict.fromkeys(contexts)) or benchmark.category_names
        random, measured = np.random.default_rng(0), np.zeros(benchmark.n_queries, np.bool_)
        for place, name in enumerate(benchmark.category_names):
            here = random.permutation(np.flatnonzero(benchmark.category_index == place))
            if len(here) < 2 and name in chosen:
                raise LeaderboardError(f"{name!r} has too few queries to be halved: choose other categories.")
            measured[here[: len(here) // 2]] = True
        [block] = crm.score(CriteriaSet(), benchmark)
        return cls(benchmark, crm, benchmark_margins(benchmark, crm), chosen, measured, block.prob)

    def within(self, context: str) -> Mask:
        """Return the queries of a context ``[Q]``."""
        place = self.benchmark.category_names.index(context)
        return np.asarray(self.benchmark.category_index == place)

    @cached_property
    def candidates(self) -> Mapping[str, CandidatePairs]:
        """What an interview about each context goes by: the half of its queries that is not measured."""
        asked = {name: self.within(name) & ~self.measured for name in self.contexts}
        return {name: CandidatePairs.of(self.margins, queries) for name, queries in asked.items()}

    @cached_property
    def all_candidates(self) -> CandidatePairs:
        """What one interview about all contexts together goes by."""
        asked = np.any([self.within(name) for name in self.contexts], axis=0)
        return CandidatePairs.of(self.margins, asked & ~self.measured)

    def first(self, context: str, prob: Floats) -> int:
        """Return which LLM is put first in a context, by probabilities against the baseline ``[L, Q]``."""
        here = prob[:, self.within(context) & self.measured]
        return int(np.nanargmax(win_rates(outcomes(here)) + _SOFT * np.nanmean(here, axis=1)))

    def by_criteria(self, criteria: CriteriaSet) -> Floats:
        """Return probabilities ``[L, Q]`` by those of the criteria that can be judged, else by default."""
        unjudged = {warning.criterion for warning in self.crm.warnings(criteria)}
        left = CriteriaSet(tuple(criterion for criterion in criteria if criterion not in unjudged))
        return filled(self.benchmark, self.crm, left) if left else self.default

    def by_checklist(self, session: ElicitationSession) -> Floats:
        """Return probabilities ``[L, Q]`` by what an interview found out; by default if nothing."""
        lines = session_checklist(session, criterion_library())
        if not lines:
            return self.default
        return filled(self.benchmark, self.crm, criteria_of(lines))


@dataclass(frozen=True, eq=False)
class Condition:
    """What came of one way of learning about P people in X contexts.

    Attributes:
        first: Which LLM is put first ``[P, X]``; −1 where the interview failed.
        questions: How many were asked in an interview ``[P, X]``; None where there is none.
        named: Share of the profile's weight on wishes that the options taken name ``[P, X]``; None where
            there are no options.
    """

    name: str
    first: NDArray[np.int64]
    questions: NDArray[np.int64] | None = None
    named: Floats | None = None


def interviewed(candidates: CandidatePairs, wants: Floats, seed: int) -> ElicitationSession:
    """Return the session of a passive user at the end of the page's interview.

    Args:
        wants: Signed weights of what they want by attribute ``[K]``.
    """
    session = ElicitationSession.start(candidates, seed=seed)
    while (question := session.question) is not None:
        session = session.replied(passive_option(wants, question))
    return session


def named_weight(session: ElicitationSession, wants: Floats) -> float:
    """Return the share of what somebody wants ``[K]`` that the options they took name, direction included."""
    taken = np.array([reply.question.weights[reply.option] for reply in session.replies])
    if not len(taken):
        return 0.0
    named = (taken * wants > 0).any(axis=0)
    return float(np.abs(wants[named]).sum() / np.abs(wants).sum())


def fixed_interviews(field: Field, people: Sequence[Person], show: Show) -> list[Condition]:
    """Interview everybody with the page's questions: in each context by itself, and twice once for all.

    Once for all they answer by what they want on the whole, and by what they want everywhere alone.
    """
    n_attributes = field.margins.n_criteria
    first = np.zeros((3, len(people), len(field.contexts)), np.int64)
    asked, named = np.zeros_like(first), np.zeros(first.shape)
    for row, person in enumerate(people):
        show(f"Interviews: {row:,} of {len(people):,} people")
        at_once = [
            interviewed(field.all_candidates, wants, row)
            for wants in (person.overall(n_attributes), person.everywhere(n_attributes))
        ]
        by_one = [field.by_checklist(session) for session in at_once]
        for column, name in enumerate(field.contexts):
            wants = person.profiles[name].signed(n_attributes)
            each = interviewed(field.candidates[name], wants, row)
            sessions, probs = [each, *at_once], [field.by_checklist(each), *by_one]
            first[:, row, column] = [field.first(name, prob) for prob in probs]
            asked[:, row, column] = [len(session.replies) for session in sessions]
            named[:, row, column] = [named_weight(session, wants) for session in sessions]
    return [
        Condition(name, first[place], asked[place], named[place])
        for place, name in enumerate((EACH, ONCE, ONCE_COMMON))
    ]


def free_interviews(
    field: Field, people: Sequence[Person], interviewer: AskedLLM, passive: AskedLLM, show: Show
) -> tuple[Condition, list[str]]:
    """Have an LLM interview everybody in each context; also why interviews failed."""
    places = [(row, column) for row in range(len(people)) for column in range(len(field.contexts))]
    topics = {
        category.name: ", ".join(topic.name for topic in category.topics)
        for category in field.benchmark.record.categories
    }
    said = {name: f"{name} ({topics[name]})" if topics.get(name) else name for name in field.contexts}
    found = interviews(
        interviewer,
        passive,
        Interviewees(
            {place: people[place[0]].profiles[field.contexts[place[1]]] for place in places},
            {place: said[field.contexts[place[1]]] for place in places},
        ),
        lambda what, done, of: show(f"{what}: {done:,} of {of:,}"),
    )
    first = np.full((len(people), len(field.contexts)), NOBODY)
    asked = np.zeros_like(first)
    for (row, column), dialogue in found.items():
        asked[row, column] = len(dialogue.turns)
        if dialogue.criteria is not None:
            first[row, column] = field.first(field.contexts[column], field.by_criteria(dialogue.criteria))
    problems = [dialogue.problem for dialogue in found.values() if dialogue.problem]
    return Condition(FREE, first, asked), problems


def ends(field: Field, people: Sequence[Person], show: Show) -> tuple[Condition, Condition, Floats]:
    """Return baseline and oracle, and PrefAlign of every LLM by the judge ``[P, X, L]``."""
    align = np.zeros((len(people), len(field.contexts), len(field.benchmark.llms)))
    highest = np.zeros(align.shape[:2], np.int64)
    for row, person in enumerate(people):
        show(f"Profiles: {row:,} of {len(people):,} people")
        for column, name in enumerate(field.contexts):
            user = simulated_user(person.profiles[name].criteria, field.crm, field.benchmark)
            here = field.within(name) & field.measured
            highest[row, column] = field.first(name, user.prob)
            align[row, column] = [user.alignment(llm, here) for llm in range(align.shape[2])]
    lowest = np.array([field.first(name, field.default) for name in field.contexts])
    return Condition(BASELINE, np.tile(lowest, (len(people), 1))), Condition(ORACLE, highest), align


def graded_by_llm(
    field: Field,
    people: Sequence[Person],
    conditions: Sequence[Condition],
    *,
    grader: AskedLLM,
    n_queries: int,
    show: Show,
) -> tuple[Floats, int]:
    """Return PrefAlign under rubrics of the LLMs that a condition puts first ``[P, X, L]``, NaN of others.

    Also in how many contexts of people nothing was graded.

    Raises:
        UnavailableError: The LLM cannot be asked any more; what it graded is kept.
    """
    llms = field.benchmark.llms
    align = np.full((len(people), len(field.contexts), len(llms)), np.nan)
    failed = 0
    for row, person in enumerate(people):
        for column, name in enumerate(field.contexts):
            show(f"Grades: {row * len(field.contexts) + column:,} of {align[..., 0].size:,}")
            chosen = sorted({int(each.first[row, column]) for each in conditions} - {NOBODY})
            queries = readable_queries(field, name, n_queries, [llms[llm] for llm in chosen])
            try:
                found = graded(grader, tuple(person.profiles[name].criteria), queries)
            except LeaderboardError:
                failed += 1
                continue
            align[row, column, chosen] = found.pref_align.mean(axis=1)
    return align, failed


def readable_queries(field: Field, context: str, most: int, llms: Sequence[str]) -> list[GradedQuery]:
    """Return some measured queries of a context with the responses of LLMs.

    Raises:
        LeaderboardError: No texts are stored.
    """
    rows = [field.benchmark.respondents.index(llm) for llm in llms]
    there = field.benchmark.readable[rows].all(axis=0) & field.within(context) & field.measured
    if not there.any():
        raise LeaderboardError(missing_texts_message(field.benchmark.record))
    return graded_queries(field.benchmark, llms, np.flatnonzero(there)[:most].tolist())


def chosen_align(align: Floats, condition: Condition) -> Floats:
    """Return PrefAlign of the LLM that a condition puts first ``[P, X]``; NaN where there is none."""
    found = np.take_along_axis(align, np.maximum(condition.first, 0)[..., None], axis=2)[..., 0]
    return np.asarray(np.where(condition.first == NOBODY, np.nan, found))
