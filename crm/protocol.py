"""What every judge offers, whatever it runs on."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from crm.criteria import CriteriaSet, Criterion

Floats = NDArray[np.float32]


def probabilities(log_odds: NDArray[Any]) -> Floats:
    """Return the logistic function, in single precision."""
    return np.asarray(expit(log_odds), dtype=np.float32)


@dataclass(frozen=True)
class Turn:
    """A message of a conversation; ``role`` is ``user``, ``assistant`` or ``system``."""

    role: str
    content: str


@dataclass(frozen=True)
class Pair:
    """Two responses to one query, as texts.

    Attributes:
        query: What the person asked, at first where there are several turns.
        response_a: All that the first LLM answered.
        response_b: All that the second LLM answered.
        turns_a: The whole conversation with the first after the query, where the person wrote more than once;
            else empty.
        turns_b: The same with the second.
    """

    query: str
    response_a: str
    response_b: str
    turns_a: tuple[Turn, ...] = ()
    turns_b: tuple[Turn, ...] = ()

    @property
    def conversations(self) -> tuple[tuple[Turn, ...], tuple[Turn, ...]]:
        """What followed the query on either side: a single turn of the assistant, or several of both."""
        sides = ((self.turns_a, self.response_a), (self.turns_b, self.response_b))
        first, second = (turns or (Turn("assistant", response),) for turns, response in sides)
        return first, second

    def swapped(self) -> Pair:
        """Return the responses in each other's place."""
        return Pair(self.query, self.response_b, self.response_a, self.turns_b, self.turns_a)


@dataclass(frozen=True)
class Question:
    """A pair and the criteria to judge it by."""

    criteria: CriteriaSet
    pair: Pair


@dataclass(frozen=True)
class Verdict:
    """A judge's opinion of one pair under K criteria.

    Attributes:
        prob_a: Probability that A is preferred under all criteria together.
        per_criterion: The same under each criterion alone, polarity included ``[K]``.
    """

    prob_a: float
    per_criterion: tuple[float, ...]


@dataclass(frozen=True)
class ScoreBlock:
    """A part of a score matrix: the LLMs ``llms`` on the queries ``queries``.

    Attributes:
        llms: Indices into the benchmark's LLMs.
        queries: Indices into the benchmark's queries.
        prob: Probability that the LLM's response is preferred to the baseline's,
            ``[len(llms), len(queries)]``; NaN where one of the two is missing.
    """

    llms: NDArray[np.intp]
    queries: NDArray[np.intp]
    prob: Floats


class JudgedBenchmark(Protocol):
    """L LLMs over Q queries, as a rule with a baseline: what a judge may ask for to fill a score matrix."""

    @property
    def llms(self) -> Sequence[str]:
        """Names of the contenders, the baseline not among them."""

    @property
    def n_queries(self) -> int:
        """Number of queries, Q."""

    def pairs(self, llm: str) -> Sequence[Pair | None]:
        """Return the LLM's responses (A) with the baseline's (B), one per query; None where one is missing.

        Raises:
            CRMError: The benchmark was shipped without texts.
        """

    def representation(self, name: str) -> Mapping[str, NDArray[Any]]:
        """Return the arrays stored under ``name``, leading axes ``[R, Q]``: the LLMs', then the baseline's.

        R is L + 1, or L where there is no baseline.

        Raises:
            RepresentationMissingError: Nothing is stored under that name.
        """


UseOfLLM = Callable[[int, Mapping[str, NDArray[Any]]], None]
"""Is given the row of an LLM and arrays of it ``[Q, …]``, by their names; of several LLMs at once."""


@runtime_checkable
class ReadByLLM(Protocol):
    """A representation's arrays that can be read an LLM at a time, as all of them take much memory."""

    @property
    def shape(self) -> tuple[int, int]:
        """R LLMs and Q queries."""

    def each(self, names: Collection[str], use: UseOfLLM) -> None:
        """Pass on some arrays, ``digest`` always among them, of each LLM that has them.

        Threads do so in any order, and the arrays are read-only. ``use`` must not read others of them.
        """


@runtime_checkable
class CRM(Protocol):
    """Given criteria, a query and two responses: the probability that the first is preferred."""

    name: str
    version: str
    representation: str | None
    """Name of the stored representation that ``score`` reads, or None if it reads texts."""

    def judge(self, questions: Sequence[Question]) -> list[Verdict]:
        """Judge pairs of texts, one verdict a question in their order."""

    def score(self, criteria: CriteriaSet, benchmark: JudgedBenchmark) -> Iterator[ScoreBlock]:
        """Fill a score matrix block by block, in an order in which every prefix is a fair sample."""


def reads_criteria(crm: CRM) -> bool:
    """Return whether a judge takes criteria; one that has no ``reads_criteria``, to say no, does."""
    return bool(getattr(crm, "reads_criteria", True))


@dataclass(frozen=True)
class ShownPrompt:
    """What a model is shown, to the character.

    Attributes:
        text: With the marks of a conversation, where it has any.
        tokens: Its length; None where that is not known here.
        needed: The length that it would have if nothing were shortened; None likewise.
    """

    text: str
    tokens: int | None = None
    needed: int | None = None

    @property
    def shortened(self) -> bool:
        """Whether something was left out."""
        return self.tokens is not None and self.needed is not None and self.tokens < self.needed


@dataclass(frozen=True)
class Workings:
    """How a judge that reads texts comes to a verdict, for people who look for what is wrong with it.

    Attributes:
        prompts: All that it is shown of one question: one prompt, or one a response.
        template: Where the prompt's template comes from.
        labels: What the model's outputs mean.
        pooling: Where in the prompt, or after it, the model is read.
        window: Tokens that a prompt may have; None where that is not known here.
        weights: Bytes that the model's weights take here; None where it runs elsewhere.
        doubts: What looks wrong, each in one sentence that says how to mend it.
    """

    prompts: tuple[ShownPrompt, ...]
    template: str
    labels: str
    pooling: str
    window: int | None = None
    weights: int | None = None
    doubts: tuple[str, ...] = ()


@runtime_checkable
class ShowsItsWorkings(Protocol):
    """A judge that can say what it shows a model and how it reads the answer."""

    def prob_a(self, questions: Sequence[Question]) -> Floats:
        """Probability that A is preferred ``[N]``, asked in this order of the responses alone."""

    def workings(self, question: Question) -> Workings:
        """Return what the model is shown of a question; it is loaded for that if it has to be.

        Raises:
            CRMError: The model cannot be had, or the criteria do not fit into its window.
        """


@runtime_checkable
class MayReadNoCriteria(Protocol):
    """A judge of which it depends on its configuration whether it reads criteria or refuses them."""

    reads_criteria: bool


@dataclass(frozen=True)
class Reason:
    """One part of an explanation, in words that stand after “because it is …”.

    Attributes:
        text: What sets response A apart from B, e.g. “shorter by 96 words”.
        contribution: What it adds to A's margin, in log-odds; positive speaks for A.
    """

    text: str
    contribution: float


@runtime_checkable
class Explains(Protocol):
    """A judge that can say which properties of two responses moved its verdict."""

    def explain(
        self,
        criteria: CriteriaSet,
        response_a: Mapping[str, NDArray[Any]],
        response_b: Mapping[str, NDArray[Any]],
    ) -> tuple[float, list[Reason]]:
        """Probability that A is preferred under the criteria, and the reasons, weightiest first.

        The responses are given as stored: the arrays of ``JudgedBenchmark.representation`` at one cell.
        """


@runtime_checkable
class FindsPassages(Protocol):
    """A judge that holds criteria against parts of a response and can say which part was nearest."""

    def nearest_passage(self, criterion: Criterion, text: str) -> str | None:
        """Return the passage of a response that comes nearest to a criterion.

        None where the criterion is judged by something else than passages, or where there is but one.
        """


@dataclass(frozen=True)
class CriterionWarning:
    """Why a ranking under some criteria should not be trusted.

    Attributes:
        criterion: The criterion that the judge cannot judge; None where the warning concerns the whole list.
    """

    criterion: Criterion | None
    reason: str


@runtime_checkable
class ChecksCriteria(Protocol):
    """A judge that knows which criteria it cannot judge."""

    def warnings(self, criteria: CriteriaSet) -> tuple[CriterionWarning, ...]:
        """Return what speaks against trusting a ranking under these criteria; empty where nothing does."""


class ReadAs(Enum):
    """What a judge takes a criterion for."""

    COUNTED = auto()
    """Something that is counted in every answer."""
    STYLE = auto()
    """A style that the judge knows."""
    WORDING = auto()
    """Neither: the judge goes by how it is worded."""


@dataclass(frozen=True)
class Reliability:
    """How a criterion is read, and how far verdicts under it can be trusted.

    Attributes:
        reading: What it is taken to ask for, e.g. “fewer emojis”; where it is judged by its wording, what it
            is probably about, or empty.
        right: Share of right verdicts on pairs that nothing was trained on; NaN where it was not measured.
    """

    read_as: ReadAs
    reading: str
    right: float


@runtime_checkable
class KnowsItsError(Protocol):
    """A judge of which it was measured how often it is mistaken."""

    def reliability(self, criterion: Criterion) -> Reliability:
        """Return how a criterion is read, polarity included, and how far verdicts under it can be trusted."""

    def win_rate_error(self, criteria: CriteriaSet) -> float:
        """Return the standard deviation, in log-odds, by which win rates miss those of a careful reader.

        Without what the draw of queries explains; 0 where it was not measured.
        """


def win_rate_error(crm: CRM, criteria: CriteriaSet) -> float:
    """Return by how much win rates under the criteria are mistaken; 0 of a judge that does not say."""
    return crm.win_rate_error(criteria) if isinstance(crm, KnowsItsError) else 0.0


@dataclass(frozen=True, eq=False)
class Amounts:
    """How much of one property R responses to each of Q queries have.

    Attributes:
        unit: What follows a mean amount, e.g. “emojis an answer”.
        amount: As counted ``[R, Q]``, NaN where there is no response.
        wished: More of it is wished: 1, less: −1, neither: 0.
        limit: What is wished where an amount is named, e.g. “at most 2 sentences”; else empty.
        kept: Whether a response keeps to the limit ``[R, Q]``; None without one.
    """

    unit: str
    amount: Floats
    wished: int = 0
    limit: str = ""
    kept: NDArray[np.bool_] | None = None


@runtime_checkable
class NamesUnits(Protocol):
    """A judge that says what it would count before it has texts."""

    def units(self, criteria: CriteriaSet) -> tuple[str, ...]:
        """Return the units of what the criteria surely ask to be counted, weightiest first, each once."""


@runtime_checkable
class CountsAmounts(Protocol):
    """A judge that counts what some criteria ask for, in numbers that a person can check."""

    def amounts(self, criteria: CriteriaSet, benchmark: JudgedBenchmark) -> tuple[Amounts, ...]:
        """Return what the criteria surely ask to be counted, weightiest first, each property once.

        The rows are all R LLMs of the benchmark, the baseline last if there is one.

        Raises:
            RepresentationMissingError: The benchmark lacks what the judge reads.
        """


@runtime_checkable
class KnowsWhatIsAbsent(Protocol):
    """A judge that sees where a benchmark has nothing to judge a criterion by."""

    def absent(
        self, criteria: CriteriaSet, benchmark: JudgedBenchmark, weights: NDArray[np.floating]
    ) -> tuple[CriterionWarning, ...]:
        """Return the criteria for something that hardly any response has, and that this is so.

        Args:
            criteria: That the ranking is made by.
            benchmark: With the responses.
            weights: How much each query counts ``[Q]``, 0 for one that does not.

        Raises:
            RepresentationMissingError: The benchmark lacks what the judge reads.
        """


@dataclass(frozen=True)
class ResponseMargins:
    """How R responses to each of Q queries stand under K single criteria, in log-odds.

    Attributes:
        margins: The difference of two responses to a query is the log-odds that the first is preferred under
            the criterion ``[R, Q, K]``.
        penalty: What is taken off a response under every criterion ``[R, Q]``.
        present: Where there is a response ``[R, Q]``.
    """

    margins: Floats
    penalty: Floats
    present: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class JointMargins:
    """How R responses to each of Q queries stand under all criteria of a set together, in log-odds.

    Attributes:
        margins: The difference of two responses to a query is the log-odds that the first is preferred, but
            for the penalties ``[R, Q]``.
        penalty: What is taken off a response under any criteria ``[R, Q]``.
        present: Where there is a response ``[R, Q]``.
        alike: Two responses tie that differ by less, in margins or with the penalties taken off.
        surely: Difference of penalties from which it decides between responses of like margins.
    """

    margins: Floats
    penalty: Floats
    present: NDArray[np.bool_]
    alike: float
    surely: float


@runtime_checkable
class MeasuresResponses(Protocol):
    """A judge that says how each response stands on its own, so that any two can be compared at once."""

    name: str
    version: str

    def measure(self, criteria: Sequence[Criterion], benchmark: JudgedBenchmark) -> ResponseMargins:
        """Return the responses of all R LLMs of a benchmark, the baseline last, under single criteria.

        Raises:
            RepresentationMissingError: The benchmark lacks what the judge reads.
        """

    def margins(self, criteria: CriteriaSet, benchmark: JudgedBenchmark) -> JointMargins:
        """Return the same responses under all criteria together; verdicts of ``CRM.score`` follow from it.

        Raises:
            RepresentationMissingError: The benchmark lacks what the judge reads.
        """
