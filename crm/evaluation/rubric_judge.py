"""An LLM that marks single responses by a rubric, 0, 1 or 2 for each aspect: the judge of the downstream
evaluation of “Personalized RewardBench” (Ma et al. 2026, figure 5, after LaMP-QA), in words of our own.

A response's mark is the mean over the aspects, divided by 2. Of two responses the one with the higher mark is
preferred, so that it is a judge like others and can be evaluated as one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np

from crm.criteria import CriteriaSet
from crm.errors import CriterionError, UnavailableError
from crm.llm import make_chat_models
from crm.llm.chat_model import FailureKind, LLMFailure, LLMReply, Outcome, Prompt
from crm.llm.prompt import PromptTemplate
from crm.llm.running import run_to_end
from crm.llm.settings import ConfiguredLLM
from crm.llm.structured import StructuredChatModel
from crm.protocol import JudgedBenchmark, Question, ScoreBlock, Verdict, probabilities
from crm.scoring import score_texts
from crm.version import version_of
from parsing.documents import read_json

MOST = 2
"""The mark of an aspect that is covered very well."""
_GAIN = 4.0
"""Log-odds for a difference of one between two marks; which response is preferred does not depend on it."""
_LIST = re.compile(r"\[[^\[\]]*\]")

Marked = tuple[CriteriaSet, str, str]
"""Rubric, query and response."""


class RubricJudge:
    """Marks responses by an LLM of ``llms.toml``; each one is marked once, however often it is asked about.

    Attributes:
        unusable: Responses that the LLM gave no marks of, which count as undecided.
    """

    representation: str | None = None

    def __init__(self, llm: ConfiguredLLM) -> None:
        """Describe a judge; the LLM is asked when it first judges."""
        template = PromptTemplate.bundled("rubric")
        self.name = f"{llm.name}, by rubric"
        self.version = version_of("rubric", llm.settings.identity(), template.source)
        self._llm = llm
        self._template = template
        self._marks: dict[Marked, tuple[int, ...] | None] = {}

    @property
    def unusable(self) -> int:
        """Return how many responses have no marks."""
        return sum(marks is None for marks in self._marks.values())

    def judge(self, questions: Sequence[Question]) -> list[Verdict]:
        """Judge pairs by the difference of their marks; equal marks, and missing ones, are undecided.

        Raises:
            CriterionError: A question has no rubric.
            ConfigError: An API key is not there.
            UnavailableError: The LLM cannot be asked, or gives no marks of any response.
        """
        sides = [
            (question.criteria, question.pair.query, response)
            for question in questions
            for response in (question.pair.response_a, question.pair.response_b)
        ]
        marks = self.aspect_marks(sides)
        return [_verdict(*pair) for pair in zip(marks[::2], marks[1::2], strict=True)]

    def score(self, criteria: CriteriaSet, benchmark: JudgedBenchmark) -> Iterator[ScoreBlock]:
        """Return all LLMs on a few queries at a time."""
        return score_texts(self, criteria, benchmark)

    def mark(self, responses: Sequence[Marked]) -> list[float | None]:
        """Return the mark of every response, 0 to 1; None where the LLM gave none. Raises as ``judge``."""
        return [
            None if marks is None else sum(marks) / (MOST * len(marks))
            for marks in self.aspect_marks(responses)
        ]

    def aspect_marks(self, responses: Sequence[Marked]) -> list[tuple[int, ...] | None]:
        """Return the marks of every response, one an aspect; None where the LLM gave none.

        Raises as ``judge``.
        """
        if not all(rubric for rubric, _, _ in responses):
            raise CriterionError(
                "The judge by rubric marks aspects of a rubric, but a prompt has none: "
                "take a benchmark with rubrics."
            )
        missing = [one for one in dict.fromkeys(responses) if one not in self._marks]
        if missing:
            self._ask(missing)
        return [self._marks[one] for one in responses]

    def _ask(self, responses: Sequence[Marked]) -> None:
        by_name = {str(place): one for place, one in enumerate(responses)}
        failures: list[LLMFailure] = []

        def take(outcome: Outcome) -> None:
            one = by_name[outcome.prompt.external_id]
            if isinstance(outcome.result, LLMReply):
                self._marks[one] = read_marks(outcome.result.text or "", len(one[0]))
            elif outcome.result.kind is FailureKind.UNUSABLE:
                self._marks[one] = None
            else:
                failures.append(outcome.result)

        def wrong(prompt: Prompt, reply: LLMReply) -> str | None:
            n_aspects = len(by_name[prompt.external_id][0])
            usable = read_marks(reply.text or "", n_aspects) is not None
            return None if usable else f"It is no list of {n_aspects} numbers from 0 to {MOST}."

        def again(prompt: Prompt, why: str) -> Prompt:
            text = self._template.single(*by_name[prompt.external_id])
            return Prompt(prompt.external_id, f"{text}\nYour last reply could not be used: {why}")

        model = StructuredChatModel(make_chat_models([self._llm])[self._llm.name], wrong, again)
        prompts = [Prompt(name, self._template.single(*one)) for name, one in by_name.items()]
        run_to_end(model.ask(prompts, take))
        if failures:
            raise UnavailableError(failures[0].message)
        if all(marks is None for marks in self._marks.values()):
            raise UnavailableError(
                f"{self._llm.name} gave no marks of any response: "
                "choose an LLM that follows instructions better."
            )


def read_marks(reply: str, n_aspects: int) -> tuple[int, ...] | None:
    """Return the marks in a reply: its only list, of whole numbers from 0 to 2, one an aspect; else None."""
    lists = _LIST.findall(reply)
    if len(lists) != 1:
        return None
    try:
        marks = read_json(lists[0])
    except ValueError:
        return None
    whole = all(isinstance(mark, int) and not isinstance(mark, bool) for mark in marks)
    return tuple(marks) if whole and len(marks) == n_aspects and set(marks) <= {0, 1, MOST} else None


def _verdict(first: tuple[int, ...] | None, second: tuple[int, ...] | None) -> Verdict:
    if first is None or second is None:
        return Verdict(0.5, ())
    differences = (np.array(first) - np.array(second)) / MOST
    alone = probabilities(_GAIN * differences)
    return Verdict(float(probabilities(_GAIN * differences.mean())), tuple(map(float, alone)))
