"""Asks a judge about plain pairs in both orders, and about a long one, and measures it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from crm.data.pairs import LabelledPair
from crm.doctor.pairs import SHOWN, general_pairs, long_questions, plain_pairs
from crm.errors import CRMError
from crm.evaluation.metrics import Numbers, PositionBias, position_bias, right
from crm.llm.chat_model import Metered
from crm.protocol import CRM, MayReadNoCriteria, Question, ShowsItsWorkings, Workings
from crm.report_table import peak_memory


@dataclass(frozen=True, eq=False)
class Verdicts:
    """What a judge said of N plain pairs.

    Attributes:
        prob: Probability that A is preferred ``[N]``.
        exchanged: The same with A and B in each other's place ``[N]``.
        label: +1 where A is preferred, −1 where B ``[N]``.
        alone: Probability of the shown pair's A when it was asked about alone, before.
        contrary: Whether each pair is followed by the same one under a contrary wish.
        seconds: A question, both orders counted.
    """

    prob: Numbers
    exchanged: Numbers
    label: Numbers
    alone: float
    contrary: bool
    seconds: float

    @property
    def agreed(self) -> float:
        """On how many pairs both orders together say what is expected; undecided ones count half."""
        return sum(map(right, (self.prob + 1 - self.exchanged) / 2, self.label))

    @property
    def position(self) -> PositionBias:
        """What changes when A and B change places."""
        return position_bias(self.prob, self.exchanged)


@dataclass(frozen=True, eq=False)
class LongAnswers:
    """What a judge said of a pair of long responses.

    Attributes:
        prob: Probability of A, whose last words are others each time.
        workings: How it was shown; None of a judge that does not say.
        counted: How many tokens a character the server counts, against the same of a short pair; None where
            it does not count.
    """

    prob: Numbers
    workings: Workings | None
    counted: float | None


@dataclass(eq=False)
class Examination:
    """All that was found of a judge before it failed, if it did.

    Attributes:
        question: The pair whose prompt is shown.
        workings: How it is shown; None of a judge that does not say.
        loading: Seconds until the first verdict, what is loaded for it included.
        own_gap: Mean gap of a single order, where the judge averages both; else None.
        memory: The most bytes this process has held, and how many of them came with the judge.
        gpu: The most bytes of a GPU that were held; None without one.
        trouble: Why it could not be examined to the end; empty if it could.
    """

    name: str
    version: str
    question: Question
    workings: Workings | None = None
    loading: float | None = None
    verdicts: Verdicts | None = None
    own_gap: float | None = None
    long: LongAnswers | None = None
    memory: tuple[int, int] = (0, 0)
    gpu: int | None = None
    trouble: str = ""


def examine(crm: CRM) -> Examination:
    """Ask a judge some fifty questions; what it fails with is part of the result."""
    refuses = isinstance(crm, MayReadNoCriteria) and not crm.reads_criteria
    asked = general_pairs() if refuses else plain_pairs()
    found = Examination(crm.name, crm.version, asked[SHOWN].question)
    before = peak_memory()
    try:
        _fill(found, crm, asked, contrary=not refuses)
    except CRMError as error:
        found.trouble = str(error)
    found.memory = (peak_memory(), peak_memory() - before)
    found.gpu = _gpu_memory()
    return found


def _fill(found: Examination, crm: CRM, asked: Sequence[LabelledPair], *, contrary: bool) -> None:
    began = perf_counter()
    if isinstance(crm, ShowsItsWorkings):
        found.workings = crm.workings(found.question)
    alone, short = _metered(crm, [found.question])
    found.loading = perf_counter() - began

    began = perf_counter()
    exchanged = [item.swapped() for item in asked]
    both = _prob(crm, [item.question for item in (*asked, *exchanged)])
    found.verdicts = Verdicts(
        prob=both[: len(asked)],
        exchanged=both[len(asked) :],
        label=np.array([item.label for item in asked]),
        alone=float(alone[0]),
        contrary=contrary,
        seconds=(perf_counter() - began) / len(both),
    )
    found.own_gap = _own_gap(crm, asked, exchanged, found.verdicts)
    found.long = _long_answers(crm, found, short)


def _own_gap(
    crm: CRM, asked: Sequence[LabelledPair], exchanged: Sequence[LabelledPair], verdicts: Verdicts
) -> float | None:
    """Return the gap of single orders, where verdicts have none although a model was asked."""
    if verdicts.position.mean_gap > _NO_GAP or not isinstance(crm, ShowsItsWorkings):
        return None
    one, other = (
        crm.prob_a([item.question for item in items]).astype(np.float64) for items in (asked, exchanged)
    )
    gap = position_bias(one, other).mean_gap
    return gap if gap > _NO_GAP else None


_NO_GAP = 1e-6


def _long_answers(crm: CRM, found: Examination, short: float | None) -> LongAnswers:
    questions = long_questions(found.question.criteria)
    workings = crm.workings(questions[0]) if isinstance(crm, ShowsItsWorkings) else None
    first, long = _metered(crm, questions[:1])
    prob = np.concatenate([first, _prob(crm, questions[1:])])
    counted = None
    if short and long and workings is not None and found.workings is not None:
        counted = (long / _characters(workings)) / (short / _characters(found.workings))
    return LongAnswers(prob, workings, counted)


def _characters(workings: Workings) -> int:
    return sum(len(prompt.text) for prompt in workings.prompts)


def _metered(crm: CRM, questions: Sequence[Question]) -> tuple[Numbers, float | None]:
    """Return probabilities of A, and the tokens that a server counted in the questions, if it counts them."""
    before = crm.usage().prompt if isinstance(crm, Metered) else None
    prob = _prob(crm, questions)
    after = crm.usage().prompt if isinstance(crm, Metered) else None
    return prob, None if not after else float(after - (before or 0))


def _prob(crm: CRM, questions: Sequence[Question]) -> Numbers:
    return np.array([verdict.prob_a for verdict in crm.judge(questions)], dtype=np.float64)


def _gpu_memory() -> int | None:
    torch = sys.modules.get("torch")
    return int(torch.cuda.max_memory_allocated()) if torch is not None and torch.cuda.is_available() else None
