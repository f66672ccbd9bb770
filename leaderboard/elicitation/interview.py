"""An interview of at most five questions, each the most informative next one (after PrefDisco).

Questions have a fixed wording, each option standing for criteria of the library. A person takes an option
with a probability that grows with how well its criteria go with their own, measured on the benchmark's
responses: P(o) ∝ exp(SHARPNESS · ρ_o), where ρ_o is the correlation of both utilities over all responses, and
``INDIFFERENCE`` for no preference. Wishes that mean the same thus support each other. The next question is
the one expected to take away most of the uncertainty about the LLMs' ranks; the interview ends when no
question is expected to change the first three by more than ``SETTLED``.

An LLM that ``USL_INTERVIEWER`` names may word the questions for a person's topics.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Annotated

import numpy as np
from cachetools import LRUCache, cachedmethod
from numpy.typing import NDArray
from pydantic import BaseModel, BeforeValidator, ConfigDict

from crm.errors import CriterionError
from crm.llm.chat_model import ReplyStatus
from crm.llm.endpoint import InteractiveLLM, llm_named_by
from crm.llm.prompt import read_prompt
from crm.llm.structured import UnusableReplyError, line_of_text, parse_json
from crm.paths import BUNDLED
from crm.protocol import Floats
from leaderboard.asked_now import place_at
from leaderboard.elicitation.acquisition import CandidatePairs, explained_variance, standardised_ranks
from leaderboard.elicitation.library import LibraryCriterion, criterion_library
from leaderboard.elicitation.posterior import Draws, PreferencePosterior
from leaderboard.errors import LeaderboardError
from leaderboard.limits import ask_llm_once_more
from parsing.documents import read_toml

QUESTIONS_FILE = BUNDLED.parent / "interview.toml"
NO_PREFERENCE = "No preference"
_SIGNS = {"+": 1.0, "-": -1.0}

MAX_QUESTIONS = 5
TOP = 3
"""LLMs at the top of a ranking whose order matters most."""
SHARPNESS = 4.0
INDIFFERENCE = 0.35
"""The correlation at which an option is taken as readily as none."""
SETTLED = 0.05
"""Expected share of the first three that an answer must change for a question to be worth asking."""
_REPLY_LAPSE = 0.05
_DRAWS = 500

VARIABLE = "USL_INTERVIEWER"
"""Environment variable that names the LLM. Nothing is ever sent unless it is set."""
PATIENCE = 5.0
"""Seconds for which somebody waits for a wording, where the LLM's table does not say less."""
_MAX_WORDINGS = 256
QUESTION_WORDS = 20
OPTION_WORDS = 10
_MAX_QUESTION = 200
_MAX_OPTION = 90
_template = read_prompt(Path(__file__).parent / "prompts" / "wording.txt")


@dataclass(frozen=True, eq=False)
class InterviewQuestion:
    """A question with its options, the last of which is “No preference”.

    Attributes:
        weights: Signed weights that each option stands for, zeros for no preference ``[O, K]``.
    """

    text: str
    options: tuple[str, ...]
    weights: Floats


@cache
def interview_questions() -> tuple[InterviewQuestion, ...]:
    """Return the bundled questions."""
    return read_questions(QUESTIONS_FILE, criterion_library())


def read_questions(path: Path, library: Sequence[LibraryCriterion]) -> tuple[InterviewQuestion, ...]:
    """Read the questions of a file in its order; a CriterionError says what is wrong in it."""
    try:
        tables = read_toml(path.read_bytes())
    except (OSError, ValueError) as error:
        raise CriterionError(f"The questions {path} cannot be read: {error}.") from error
    index_of = {item.label: index for index, item in enumerate(library)}
    questions = tables.get("question")
    if not isinstance(questions, list) or not questions:
        raise CriterionError(f"{path} has no questions: write [[question]] above each.")
    return tuple(
        _question(f"{path}, question {number}", table, index_of)
        for number, table in enumerate(questions, start=1)
    )


def _question(place: str, table: object, index_of: Mapping[str, int]) -> InterviewQuestion:
    text, options = _text_and_list(table, "option")
    if text is None or not options:
        raise CriterionError(f"{place}: give it a text and at least one [[question.option]].")
    weights = np.zeros((len(options) + 1, len(index_of)), dtype=np.float32)
    texts = []
    for row, option in enumerate(options):
        wish, names = _text_and_list(option, "criteria")
        if wish is None or not names:
            raise CriterionError(f"{place}: each option has a text and criteria.")
        texts.append(wish)
        for name in names:
            if not isinstance(name, str) or name[:1] not in _SIGNS or name[1:] not in index_of:
                raise CriterionError(f"{place}: {name!r} is no label of the library after “+” or “-”.")
            weights[row, index_of[name[1:]]] = _SIGNS[name[:1]]
    return InterviewQuestion(text, (*texts, NO_PREFERENCE), weights)


def _text_and_list(table: object, key: str) -> tuple[str | None, list[object]]:
    """Return the text of a table and the list under a key; None and an empty list where they are not such."""
    if not isinstance(table, dict):
        return None, []
    text, values = table.get("text"), table.get(key)
    return (text if isinstance(text, str) else None), (values if isinstance(values, list) else [])


@dataclass(frozen=True, eq=False)
class InterviewReply:
    """A person's answer to a question; ``text`` is the option as they read it."""

    question: InterviewQuestion
    option: int
    text: str


@dataclass(frozen=True, eq=False)
class ObservedReply:
    """A reply as the model sees it.

    Attributes:
        gram: Mean products of the library's margins over the responses ``[K, K]``.
    """

    question: InterviewQuestion
    option: int
    gram: NDArray[np.float64]

    @property
    def indifferent(self) -> bool:
        """Whether it was “No preference”."""
        return self.option == len(self.question.options) - 1

    def log_likelihood(self, draws: Draws) -> NDArray[np.float64]:
        """Return the log probability of the reply under each person ``[N]``."""
        prob = option_probabilities(draws, self.question, self.gram)[self.option]
        return np.asarray(np.log(prob), dtype=np.float64)


def option_probabilities(draws: Draws, question: InterviewQuestion, gram: NDArray[np.float64]) -> Floats:
    """Return the probability that each person takes each option ``[O, N]``."""
    weights = draws.coefficients[:, :-1]
    products = question.weights @ gram
    length = np.sqrt(np.maximum((products * question.weights).sum(axis=1), np.finfo(float).tiny))
    own = np.sqrt(np.maximum(((weights @ gram) * weights).sum(axis=1), np.finfo(float).tiny))
    correlation = (products @ weights.T) / length[:, None] / own
    return option_softmax(correlation)


def option_softmax(correlation: NDArray[np.floating]) -> Floats:
    """Return probabilities of options from correlations with a person's utility ``[O, …]``; none is last."""
    correlation = np.concatenate([correlation[:-1], np.full_like(correlation[:1], INDIFFERENCE)])
    odds = np.exp(SHARPNESS * correlation)
    each = odds / odds.sum(axis=0)
    return np.asarray((1 - _REPLY_LAPSE) * each + _REPLY_LAPSE / len(each), dtype=np.float32)


def next_question(
    posterior: PreferencePosterior, candidates: CandidatePairs, questions: Sequence[InterviewQuestion]
) -> InterviewQuestion | None:
    """Return the question to ask next after the answers so far; None when the interview is over."""
    asked = {id(item.question) for item in posterior.observed if isinstance(item, ObservedReply)}
    left = [question for question in questions if id(question) not in asked]
    if len(asked) >= MAX_QUESTIONS or not left:
        return None
    draws = posterior.sample(_DRAWS)
    ranks = standardised_ranks(draws, candidates)
    score = candidates.scores(draws)
    worth: list[tuple[float, InterviewQuestion]] = []
    for question in left:
        prob = option_probabilities(draws, question, candidates.margins.gram)
        if expected_top_change(prob, score) > SETTLED:
            worth.append((float(explained_variance(prob[..., None], ranks)[0]), question))
    return max(worth, key=lambda item: item[0])[1] if worth else None


def expected_top_change(prob: Floats, score: Floats) -> float:
    """Return the expected share of the first three LLMs that the answer to a question reranks.

    Args:
        prob: Probability of each option for each of N equally weighted draws ``[O, N]``.
        score: What each draw gives the LLMs ``[N, L]``.
    """
    ranks = score.argsort(axis=1).argsort(axis=1)
    size = min(TOP, score.shape[1])
    before = set(np.argsort(-ranks.mean(axis=0))[:size].tolist())
    changed = 0.0
    for option in prob:
        after = set(np.argsort(-(option @ ranks))[:size].tolist())
        changed += float(option.mean()) * len(before - after) / size
    return changed


@dataclass(frozen=True)
class QuestionWording:
    """What a person reads: a question, and its options in their order, “No preference” last."""

    text: str
    options: tuple[str, ...]

    @classmethod
    def fixed(cls, question: InterviewQuestion) -> QuestionWording:
        """Return the wording as it is bundled."""
        return cls(question.text, question.options)


def wording_prompt(question: InterviewQuestion, topics: Sequence[str]) -> str:
    """Return what an LLM is asked."""
    return _template.render(
        topics=", ".join(topics),
        question=question.text,
        options=question.options[:-1],
        question_words=QUESTION_WORDS,
        option_words=OPTION_WORDS,
    )


def parse_wording(reply: str, question: InterviewQuestion) -> QuestionWording:
    """Return the wording in a reply, words around its JSON ignored; a LeaderboardError if there is none.

    What an option stands for is known by its place alone, so there are exactly as many as in the question.
    """
    unfit = "It has no question and options that can be shown."
    try:
        worded = parse_json(reply, _WordingReply, lambda _: unfit)
    except UnusableReplyError as error:
        raise LeaderboardError(f"The reply {str(error).removeprefix('It ')}") from None
    expected = len(question.options) - 1
    if len(worded.options) != expected:
        raise LeaderboardError(f"The reply has {len(worded.options)} options, not {expected}.")
    if len({option.casefold() for option in (*worded.options, NO_PREFERENCE)}) <= expected:
        raise LeaderboardError("The reply has the same option twice.")
    return QuestionWording(worded.question, (*worded.options, NO_PREFERENCE))


def _line_of_text(most: int) -> BeforeValidator:
    return BeforeValidator(lambda value: line_of_text(value, most))


class _WordingReply(BaseModel):
    model_config = ConfigDict(frozen=True, hide_input_in_errors=True)

    question: Annotated[str, _line_of_text(_MAX_QUESTION)]
    options: list[Annotated[str, _line_of_text(_MAX_OPTION)]]


class Interviewer:
    """An LLM that words questions; may be shared between threads."""

    def __init__(self, llm: InteractiveLLM) -> None:
        self.name = llm.name
        self._llm = llm
        self._wordings: LRUCache[tuple[str, tuple[str, ...]], QuestionWording] = LRUCache(_MAX_WORDINGS)
        self._lock = Lock()

    @cachedmethod(
        lambda self: self._wordings,
        key=lambda self, question, topics: (question.text, topics),
        lock=lambda self: self._lock,
    )
    def word(self, question: InterviewQuestion, topics: tuple[str, ...]) -> QuestionWording:
        """Return a wording for some topics, kept for others who choose the same; the LLM is asked once.

        Raises:
            LeaderboardError: The reply is of no use, cut or withheld, or the LLM is asked too much at once.
            UnavailableError: The endpoint is down, slow, refuses, or answers nonsense.
            ConfigError: The API key is not there.
        """
        with place_at(self._llm):
            ask_llm_once_more()
            reply = self._llm.ask(wording_prompt(question, topics))
        if reply.status != ReplyStatus.OK:
            raise LeaderboardError(f"The reply of {self.name} was cut or withheld.")
        return parse_wording(reply.text or "", question)


def interviewer_name() -> str | None:
    """Return the LLM that ``USL_INTERVIEWER`` names; None where questions keep their fixed wording."""
    return llm_named_by(VARIABLE)


def configured_interviewer(name: str) -> Interviewer:
    """Return the interviewer of this name in ``llms.toml``; a ConfigError if it is behind no endpoint."""
    return Interviewer(InteractiveLLM.configured(name, VARIABLE, patience=PATIENCE))
