"""An LLM judge behind an OpenAI-compatible chat endpoint."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import numpy as np
from openai.types.chat import ChatCompletion
from pydantic import Field

from crm.backends._parallel import in_parallel
from crm.backends._rough_tokenizer import RoughTokenizer
from crm.backends._settings import TextJudgeSettings
from crm.backends._text_judge import TextJudge
from crm.backends._verdict import UNDECIDED, judge_template, probability_of_a, share_of_a
from crm.chat_client import ChatClient, EndpointAddress
from crm.config import JudgeTable
from crm.errors import EndpointError
from crm.prompt import PromptTemplate
from crm.protocol import Floats, Question
from crm.settings import Count, File, Price, Seconds, Tokens, Url, Variable
from crm.usage import Usage
from crm.version import version_of

_PER = 1_000_000
"""Tokens that a configured price is for."""


class EndpointSettings(TextJudgeSettings):
    """Keys of the backend with ``provider = "openai"``.

    Attributes:
        model: The model's name at the endpoint.
        url: The endpoint's base address, with ``/v1`` where it has one.
        api_key_env: Environment variable with the API key.
        prompt: Template file instead of the bundled one.
        logprobs: Read the probability off the log-probabilities of the first token; without, by votes.
        top_logprobs: Likeliest tokens asked for; some endpoints offer fewer than 20.
        samples: Votes on each question where ``logprobs`` is false.
        temperature: Of sampling the votes.
        seeded: Send a seed with each vote, so that they are the same at the next time.
        max_length: Longest prompt in tokens, counted as three characters each; without it none is shortened.
        max_tokens: Longest reply; without it one token, or 16 for a vote. Models that think first need more.
        max_tokens_key: How the endpoint calls that limit.
        extra_body: Further fields of a request, such as those that switch thinking off.
        price_prompt: Money for a million tokens read.
        price_completion: Money for a million tokens written.
        timeout: Seconds that one request may take.
        retries: How often a request that failed for the moment is sent again.
        concurrency: Requests under way at a time.
    """

    provider: Literal["openai"] = "openai"
    model: str
    url: Url = "https://api.openai.com/v1"
    api_key_env: Variable | None = None
    prompt: File | None = None
    logprobs: bool = True
    top_logprobs: Annotated[int, Field(ge=2, le=100)] = 20
    samples: Annotated[int, Field(ge=1, le=100)] = 5
    temperature: Annotated[float, Field(ge=0, le=2)] = 1.0
    seeded: bool = True
    max_length: Tokens | None = None
    max_tokens: Count | None = None
    max_tokens_key: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    extra_body: dict[str, Any] = Field(default_factory=dict)
    price_prompt: Price = 0.0
    price_completion: Price = 0.0
    timeout: Seconds = 60.0
    retries: Annotated[int, Field(ge=0, le=20)] = 4
    concurrency: Annotated[int, Field(ge=1, le=256)] = 8

    @property
    def pairs_at_once(self) -> int:
        """So many that every connection has four requests."""
        return 4 * self.concurrency


class EndpointJudge(TextJudge):
    """An LLM judge behind a chat endpoint; may be shared between threads."""

    def __init__(self, name: str, version: str, settings: EndpointSettings, template: PromptTemplate) -> None:
        """Describe a judge; the endpoint is asked when it first judges."""
        super().__init__(name, version, settings)
        self._endpoint = settings
        self._template = template
        self._lock = threading.Lock()
        self._client = ChatClient(
            EndpointAddress(
                owner="judge",
                name=name,
                file="crms.toml",
                model=settings.model,
                url=settings.url,
                api_key_env=settings.api_key_env,
                timeout=settings.timeout,
                retries=settings.retries,
            )
        )
        self._usage = Usage()

    def usage(self) -> Usage:
        """Everything used since the judge was made."""
        with self._lock:
            return self._usage

    def prob_a(self, questions: Sequence[Question]) -> Floats:
        """Probability that A is preferred ``[N]``; 0.5 where a reply holds no verdict.

        Raises:
            ConfigError: The API key is not there.
            CriteriaTooLongError: The criteria of a question do not fit into ``max_length``.
            EndpointError: The endpoint is down, slow, refuses, or never gives a verdict.
        """
        self._client.connect()
        limit = self._endpoint.max_length
        template = self._template if limit is None else self._template.fit(RoughTokenizer(), limit)
        prompts = [template.pair(question) for question in questions]
        ask = self._by_log_probabilities if self._endpoint.logprobs else self._by_votes
        verdicts = in_parallel(ask, prompts, self._endpoint.concurrency)
        if verdicts and all(verdict is None for verdict in verdicts):
            raise EndpointError(
                f"The model {self._endpoint.model} at {self._client.where} replies with neither A nor B: "
                "use one that follows the prompt, or let it write more with 'max_tokens'."
            )
        return np.array([UNDECIDED if verdict is None else verdict for verdict in verdicts], dtype=np.float32)

    def _by_log_probabilities(self, prompt: str) -> float | None:
        completion = self._complete(
            prompt, 1, logprobs=True, top_logprobs=self._endpoint.top_logprobs, temperature=0.0
        )
        choice = completion.choices[0]
        if choice.logprobs is None or not choice.logprobs.content:
            raise EndpointError(
                f"The endpoint {self._client.where} offers no log-probabilities for {self._endpoint.model}: "
                "write logprobs = false in the judge's table of crms.toml."
            )
        first = choice.logprobs.content[0]
        likeliest = {item.token: item.logprob for item in first.top_logprobs}
        return probability_of_a({first.token: first.logprob} | likeliest)

    def _by_votes(self, prompt: str) -> float | None:
        replies = []
        for number in range(self._endpoint.samples):
            seed = {"seed": number} if self._endpoint.seeded else {}
            completion = self._complete(prompt, 16, temperature=self._endpoint.temperature, **seed)
            replies.append(completion.choices[0].message.content or "")
        return share_of_a(replies)

    def _complete(self, prompt: str, max_tokens: int, **options: Any) -> ChatCompletion:
        options[self._endpoint.max_tokens_key] = self._endpoint.max_tokens or max_tokens
        completion = self._client.complete(
            [{"role": "user", "content": prompt}], self._endpoint.extra_body, **options
        )
        self._count(completion)
        return completion

    def _count(self, completion: ChatCompletion) -> None:
        if (used := completion.usage) is None:
            return
        settings = self._endpoint
        cost = used.prompt_tokens * settings.price_prompt + used.completion_tokens * settings.price_completion
        with self._lock:
            self._usage += Usage(used.prompt_tokens, used.completion_tokens, cost / _PER)


def make(table: JudgeTable) -> EndpointJudge:
    """The judge that a table describes."""
    settings = table.read(EndpointSettings)
    template = judge_template(settings.prompt)
    version = version_of(table.backend, settings.identity(), template.source)
    return EndpointJudge(table.name, version, settings, template)
