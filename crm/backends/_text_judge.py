"""Judges that read texts: their keys, both orders, single criteria and their sum."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Annotated, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from scipy.special import logit

from crm.config import Count, File, Model, Seconds, Settings, TokenLimit, Url, Variable, VLLMSettings
from crm.criteria import CriteriaSet
from crm.protocol import Floats, JudgedBenchmark, Question, ScoreBlock, Verdict, probabilities
from crm.scoring import BATCH, score_texts


class TextJudgeSettings(Settings):
    """Keys of every judge that reads texts.

    Attributes:
        order_swap: Judge both orders of the responses and average; twice the work, no position bias.
        mode: ``list`` shows all criteria in one prompt; ``criterion`` asks for each alone and sums their
            log-odds with the criteria's weights.
        per_criterion: In mode ``list``, judge each criterion alone too, for reports; K + 1 times the work.
    """

    order_swap: bool = False
    mode: Literal["list", "criterion"] = "list"
    per_criterion: bool = False

    @property
    def pairs_at_once(self) -> int:
        """Pairs that the judge is best asked about at once."""
        return BATCH


class CheckpointSettings(TextJudgeSettings):
    """Keys of a judge that runs a checkpoint in this process.

    Attributes:
        model: Folder of a checkpoint, or a model's name on a hub.
        revision: Commit or tag of a model on a hub.
        max_length: Longest prompt in tokens, at most what the model reads.
    """

    model: Model
    revision: str | None = None
    max_length: TokenLimit | None = None


class PromptSettings(Settings):
    """Keys of a classifier's prompt.

    Attributes:
        prompt: Template file, where the checkpoint has no ``prompt.txt`` or another is wanted.
        chat: Whether the prompt is a user's turn in the model's chat template.
    """

    prompt: File | None = None
    chat: bool = False


class VLLMJudgeSettings(VLLMSettings):
    """Keys of a judge that vLLM runs in this process."""

    @property
    def pairs_at_once(self) -> int:
        """So many that vLLM can fill a GPU."""
        return 16 * BATCH


class ServerSettings(Settings):
    """Keys of a judge behind a server of one's own.

    Attributes:
        url: Address of the server, such as ``http://127.0.0.1:8000``.
        api_key_env: Environment variable with the server's API key, where it asks for one.
        timeout: Seconds that one request may take.
        retries: How often a request that failed for the moment is sent again.
        concurrency: Requests under way at a time, whoever uses the judge.
        batch_size: Prompts in one request at most.
        batch_tokens: Tokens in one request at most; a longer prompt goes alone.
    """

    url: Url
    api_key_env: Variable | None = None
    timeout: Seconds = 60.0
    retries: Annotated[int, Field(ge=0, le=20)] = 4
    concurrency: Annotated[int, Field(ge=1, le=256)] = 4
    batch_size: Annotated[int, Field(ge=1, le=1024)] = 16
    batch_tokens: Count = 8192

    @property
    def pairs_at_once(self) -> int:
        """So many that every connection has two requests or more."""
        return 2 * self.concurrency * self.batch_size


Item = TypeVar("Item")
Result = TypeVar("Result")


def in_parallel(function: Callable[[Item], Result], items: Iterable[Item], workers: int) -> list[Result]:
    """Return the function's results in the items' order; after an error nothing more is started.

    An item is taken when a worker is free: no more of them are under way than there are workers.
    """
    pool = ThreadPoolExecutor(max_workers=workers, thread_name_prefix="judge")
    found: dict[int, Result] = {}
    pending: dict[Future[Result], int] = {}

    def collect() -> None:
        for future in wait(pending, return_when=FIRST_COMPLETED).done:
            found[pending.pop(future)] = future.result()

    try:
        for place, item in enumerate(items):
            if len(pending) == workers:
                collect()
            pending[pool.submit(function, item)] = place
        while pending:
            collect()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
    return [found[place] for place in range(len(found))]


_SUREST = 1e-6
"""A verdict is at most so close to 0 and 1 when log-odds are summed: one criterion cannot outweigh all."""


class TextJudge(ABC):
    """A judge that is shown texts; a backend says only how probable A is in each of many questions."""

    representation: str | None = None

    def __init__(self, name: str, version: str, settings: TextJudgeSettings) -> None:
        """Name a judge; ``version`` must differ wherever a verdict could."""
        self.name = name
        self.version = version
        self._settings = settings

    @property
    def pairs_at_once(self) -> int:
        """Pairs that the judge is best asked about at once."""
        return self._settings.pairs_at_once

    @abstractmethod
    def prob_a(self, questions: Sequence[Question]) -> Floats:
        """Probability that A is preferred, for every question as it stands ``[N]``."""

    def judge(self, questions: Sequence[Question]) -> list[Verdict]:
        """Judge pairs of texts; a question that occurs twice is asked once.

        ``per_criterion`` of a verdict is empty unless the judge is configured to judge criteria alone.
        """
        summed = self._settings.mode == "criterion"
        asked: dict[Question, None] = {}
        for question in questions:
            if not summed or not question.criteria:
                asked[question] = None
            if summed or self._settings.per_criterion:
                asked.update(dict.fromkeys(_single(question)))
        found = dict(zip(asked, map(float, self._in_both_orders(list(asked))), strict=True))
        return [self._verdict(question, found) for question in questions]

    def score(self, criteria: CriteriaSet, benchmark: JudgedBenchmark) -> Iterator[ScoreBlock]:
        """Blocks of all LLMs on a few queries each."""
        return score_texts(self, criteria, benchmark, batch=self.pairs_at_once)

    def _verdict(self, question: Question, found: Mapping[Question, float]) -> Verdict:
        if self._settings.mode == "criterion" and question.criteria:
            alone = tuple(found[single] for single in _single(question))
            weights = np.array([criterion.weight.value_in_sum for criterion in question.criteria])
            margins = logit(np.clip(alone, _SUREST, 1 - _SUREST))
            return Verdict(float(probabilities(weights @ margins)), alone)
        alone = tuple(found[single] for single in _single(question)) if self._settings.per_criterion else ()
        return Verdict(found[question], alone)

    def _in_both_orders(self, questions: Sequence[Question]) -> NDArray[np.float64]:
        """Probability that A is preferred, averaged over both orders where that is configured ``[N]``."""
        if not questions:
            return np.empty(0)
        if not self._settings.order_swap:
            return self.prob_a(questions).astype(np.float64)
        both = self.prob_a([*questions, *map(_swapped, questions)]).astype(np.float64)
        return (both[: len(questions)] + 1 - both[len(questions) :]) / 2


def _single(question: Question) -> list[Question]:
    return [Question(CriteriaSet((criterion,)), question.pair) for criterion in question.criteria]


def _swapped(question: Question) -> Question:
    return Question(question.criteria, question.pair.swapped())
