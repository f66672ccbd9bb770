"""A chat model behind an OpenAI-compatible endpoint: one reply while somebody waits, or many at a time."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from threading import BoundedSemaphore
from time import monotonic, perf_counter
from typing import Annotated, Any

import httpx2
from pydantic import BaseModel, BeforeValidator, Field, ValidationError
from tenacity import AsyncRetrying

from crm.errors import UnavailableError, one_line
from crm.llm.chat_model import (
    FailureKind,
    LLMFailure,
    LLMReply,
    Outcome,
    Prompt,
    ReplyStatus,
    Usage,
    split_thinking,
)
from crm.llm.client import Endpoint, LLMClient, RequestError, retry_policy
from crm.llm.settings import EndpointLLMSettings, Limits, llms_file, read_endpoint_llm

CHAT_PATH = "/chat/completions"
MAX_FAILURES = 25
"""Responses that fail one after another, each with all its retries, before an endpoint is given up."""
_MAX_WAIT = 300.0
"""Seconds that a server may ask to wait; one that asks for more is asked again another day."""
_MAX_INTERACTIVE_RETRIES = 1
"""Of a request that failed for the moment: somebody is looking at the page."""
CONTENT_FILTER = "content_filter"
"""The code of an error, or the reason of an end, by which a filter of the server withholds an answer."""
_MINUTE = 60.0
CHARACTERS_A_TOKEN = 4.0
"""Of English; other languages take up to one token a character."""
_UNBELIEVABLE = 10**9
"""Tokens that no reply has."""
_ROUNDING = 1e-3
"""Log-probabilities may be so far above 0."""
ASSUMED_TOKENS = 600
"""Of an answer, while none of the LLM's has been seen."""


def _only(kind: type, otherwise: Any) -> BeforeValidator:
    """Take values of a type as they are, and anything else for nothing: servers send all sorts of things."""
    return BeforeValidator(lambda value: value if isinstance(value, kind) else otherwise)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _UNBELIEVABLE


_Text = Annotated[str, _only(str, "")]
_Count = Annotated[int | None, BeforeValidator(lambda value: value if _is_count(value) else None)]
_LogProbability = Annotated[float, Field(strict=True, le=_ROUNDING, allow_inf_nan=False)]


class Message(BaseModel):
    """What a model wrote, or why it did not; reasoning may stand in either of two fields."""

    content: _Text = ""
    refusal: _Text = ""
    reasoning_content: _Text = ""
    reasoning: _Text = ""


class TokenProbability(BaseModel):
    """A token and its log-probability, the likeliest others beside it."""

    token: str
    logprob: _LogProbability
    top_logprobs: list[TokenProbability] = []


class LogProbabilities(BaseModel):
    """The tokens of a reply in their order."""

    content: list[TokenProbability] | None = None


class Choice(BaseModel):
    """One reply, and why it ended."""

    message: Message
    finish_reason: _Text = ""
    logprobs: LogProbabilities | None = None


class CompletionDetails(BaseModel):
    """What of the tokens written is reasoning, as far as the server counts it."""

    reasoning_tokens: _Count = None


class CompletionUsage(BaseModel):
    """Tokens read and written, as far as the server counts them."""

    prompt_tokens: _Count = None
    completion_tokens: _Count = None
    completion_tokens_details: Annotated[CompletionDetails, _only(dict, {})] = CompletionDetails()


class Completion(BaseModel):
    """What a chat endpoint answers; of several choices the first is meant."""

    choices: Annotated[list[Choice], Field(min_length=1)]
    model: _Text = ""
    usage: Annotated[CompletionUsage, _only(dict, {})] = CompletionUsage()

    @property
    def tokens(self) -> Usage:
        """Tokens read and written."""
        return Usage(
            self.usage.prompt_tokens,
            self.usage.completion_tokens,
            reasoning=self.usage.completion_tokens_details.reasoning_tokens,
        )

    def reply(self, client: LLMClient) -> LLMReply:
        """Return the reply without the API key; its text is None where the model wrote nothing."""
        choice = self.choices[0]
        message = choice.message
        text, before = split_thinking(message.content)
        apart = message.reasoning_content or message.reasoning
        reasoning = "\n\n".join(filter(None, (apart.strip(), before)))
        status = ReplyStatus.OK
        if message.refusal or choice.finish_reason == CONTENT_FILTER:
            status = ReplyStatus.REFUSED
        elif choice.finish_reason == "length":
            status = ReplyStatus.TRUNCATED
        text = text if text.strip() else message.refusal
        return LLMReply(
            status,
            client.without_key(text) if text.strip() else None,
            client.without_key(reasoning) if reasoning else None,
            one_line(client.without_key(self.model)) if self.model.strip() else None,
        )


def read_completion(answer: object, client: LLMClient) -> Completion:
    """Read a completion. Raises RequestError: There is none in the answer."""
    if isinstance(answer, dict) and answer.get("error"):
        raise client.nonsense("an error in place of a reply")
    try:
        return Completion.model_validate(answer)
    except ValidationError:
        raise client.nonsense("no reply") from None


def endpoint_of(name: str, settings: EndpointLLMSettings, file: str) -> Endpoint:
    """Describe where an LLM of ``llms.toml`` is; ``file`` is for messages."""
    return Endpoint(
        url=settings.url,
        model=settings.model,
        name=name,
        file=file,
        owner="LLM",
        api_key_env=settings.api_key_env,
        timeout=settings.timeout,
        retries=settings.retries,
    )


def request_body(settings: EndpointLLMSettings, prompt: str) -> dict[str, Any]:
    """Make the request for a reply; what is not configured is left to the server."""
    options = {
        settings.max_tokens_key: settings.max_tokens,
        "temperature": settings.temperature,
        "seed": settings.seed,
    }
    given = {key: value for key, value in options.items() if value is not None}
    return {"model": settings.model, "messages": settings.messages(prompt), **given, **settings.extra_body}


class InteractiveLLM:
    """An LLM behind an endpoint that is asked while somebody waits; may be shared between threads."""

    def __init__(self, name: str, settings: EndpointLLMSettings, file: str) -> None:
        """Describe it; the endpoint is asked when there is something to ask."""
        self.name = name
        self._settings = settings
        self._places = BoundedSemaphore(settings.concurrency)
        self._client = LLMClient(endpoint_of(name, settings, file))

    @classmethod
    def configured(cls, name: str, variable: str, *, patience: float | None = None) -> InteractiveLLM:
        """Return the LLM of this name in ``llms.toml``.

        Args:
            variable: The environment variable that names it, for messages.
            patience: Seconds that one request may take at most, whatever the table says; it is not sent again
                then. By default the table decides.

        Raises:
            ConfigError: There is no such table, or it is none of an LLM behind an endpoint.
        """
        file = llms_file()
        settings = read_endpoint_llm(file, name, variable)
        hurried: Mapping[str, float] = {"retries": min(settings.retries, _MAX_INTERACTIVE_RETRIES)}
        if patience is not None:
            hurried = {"timeout": min(settings.timeout, patience), "retries": 0}
        return cls(name, settings.model_copy(update=hurried), file.name)

    @contextmanager
    def place(self) -> Iterator[bool]:
        """Take one of the ``concurrency`` places at the endpoint; yields whether one was free."""
        free = self._places.acquire(blocking=False)
        try:
            yield free
        finally:
            if free:
                self._places.release()

    def ask(self, prompt: str) -> LLMReply:
        """Return what the LLM replies.

        Raises:
            UnavailableError: The endpoint is down, slow, refuses, or answers nonsense.
            ConfigError: The API key is not there.
        """
        try:
            answer = self._client.post(CHAT_PATH, request_body(self._settings, prompt))
        except RequestError as error:
            if error.code == CONTENT_FILTER:
                return LLMReply(ReplyStatus.REFUSED, None)
            raise
        return read_completion(answer, self._client).reply(self._client)


def llm_named_by(variable: str) -> str | None:
    """Return the LLM that an environment variable names; None where it names none."""
    return os.environ.get(variable, "").strip() or None


class RateLimit:
    """The turns of all who ask one server or one LLM; for the coroutines of one event loop."""

    def __init__(self, limits: Limits, within: RateLimit | None = None) -> None:
        """Let so much be under way, and begin so much a minute, evenly spread.

        Args:
            within: The limit of all, where this is that of one LLM.
        """
        self._room = asyncio.Semaphore(limits.concurrency)
        self._interval, self._seconds_a_token = (
            0.0 if a_minute is None else _MINUTE / a_minute
            for a_minute in (limits.requests_per_minute, limits.tokens_per_minute)
        )
        self._within = within
        self._next = 0.0
        self._held_until = 0.0

    @asynccontextmanager
    async def turn(self, tokens: float = 0.0) -> AsyncIterator[None]:
        """Wait for one's turn; it lasts until the request is over.

        Args:
            tokens: That the request is expected to read and write.
        """
        async with self._room:
            await self._start(tokens)
            if self._within is None:
                yield
                return
            async with self._within.turn(tokens):
                yield

    def correct(self, tokens: float) -> None:
        """Note that a request took so many tokens more than was expected, or fewer."""
        self._next += tokens * self._seconds_a_token
        if self._within is not None:
            self._within.correct(tokens)

    def hold(self, seconds: float) -> None:
        """Begin no request for so long, here and where this is within."""
        self._held_until = max(self._held_until, monotonic() + seconds)
        if self._within is not None:
            self._within.hold(seconds)

    async def _start(self, tokens: float) -> None:
        start = max(monotonic(), self._next)
        self._next = start + max(self._interval, tokens * self._seconds_a_token)
        # The server may ask to wait longer while this one is waiting.
        while (wait := max(start, self._held_until) - monotonic()) > 0:
            await asyncio.sleep(wait)


class EndpointChatModel:
    """An LLM behind an endpoint; implements ``ChatModel``."""

    def __init__(self, name: str, settings: EndpointLLMSettings, rate_limit: RateLimit) -> None:
        """Describe an LLM; ``rate_limit`` is its own, within that of its provider.

        Raises ConfigError: The API key is not there.
        """
        self._settings = settings
        self._rate_limit = rate_limit
        self._client = LLMClient(endpoint_of(name, settings, "its table"))
        self._client.connect()
        self._failed_in_a_row = 0
        self._written = _Written(min(settings.max_tokens or ASSUMED_TOKENS, ASSUMED_TOKENS))

    async def ask(self, prompts: Sequence[Prompt], on_outcome: Callable[[Outcome], None]) -> None:
        """Ask for a response to every prompt; each outcome is passed on as soon as it is known.

        Raises:
            UnavailableError: The endpoint refuses the key, has no such model, or answers nothing any more.
        """
        remaining = iter(prompts)
        stopped: list[UnavailableError] = []
        async with self._client.connect_async() as connection:
            try:
                async with asyncio.TaskGroup() as workers:
                    for _ in range(min(self._settings.concurrency, len(prompts))):
                        workers.create_task(self._work(connection, remaining, on_outcome))
            except* UnavailableError as group:
                stopped.extend(error for error in group.exceptions if isinstance(error, UnavailableError))
        if stopped:
            raise stopped[0]

    async def _work(
        self,
        connection: httpx2.AsyncClient,
        remaining: Iterator[Prompt],
        on_outcome: Callable[[Outcome], None],
    ) -> None:
        for prompt in remaining:
            read = sum(map(len, (message["content"] for message in self._settings.messages(prompt.text))))
            expected = read / CHARACTERS_A_TOKEN + self._written.mean
            request = _Request(self._client, connection, self._rate_limit, prompt, expected)
            outcome = await request.outcome(request_body(self._settings, prompt.text))
            self._written.note(outcome)
            on_outcome(outcome)
            self._notice(outcome)

    def _notice(self, outcome: Outcome) -> None:
        """Give the endpoint up when nothing succeeds any more."""
        if isinstance(outcome.result, LLMReply):
            self._failed_in_a_row = 0
            return
        self._failed_in_a_row += 1
        if self._failed_in_a_row >= MAX_FAILURES:
            raise UnavailableError(
                f"{MAX_FAILURES} responses failed one after another, the last because: "
                f"{outcome.result.message}"
            )


class _Written:
    """The mean length of an LLM's answers so far, in tokens."""

    def __init__(self, assumed: float) -> None:
        self.mean = assumed
        self._n = 0

    def note(self, outcome: Outcome) -> None:
        """Take an answer in; what was assumed goes with the first."""
        if isinstance(outcome.result, LLMReply) and outcome.tokens.completion is not None:
            self._n += 1
            self.mean += (outcome.tokens.completion - self.mean) / self._n


def _total(tokens: Usage) -> int:
    return (tokens.prompt or 0) + (tokens.completion or 0)


class _Request:
    """One query on its way to an answer, through as many attempts as it takes."""

    def __init__(
        self,
        client: LLMClient,
        connection: httpx2.AsyncClient,
        rate_limit: RateLimit,
        prompt: Prompt,
        expected: float,
    ) -> None:
        self._client = client
        self._connection = connection
        self._rate_limit = rate_limit
        self._prompt = prompt
        self._expected = expected
        self._tokens = Usage()
        self._seconds = 0.0
        self._failures: list[FailureKind] = []

    async def outcome(self, body: Mapping[str, Any]) -> Outcome:
        """Return the answer, or why there is none after all attempts.

        Raises:
            UnavailableError: No other request has a chance either.
        """
        policy = retry_policy(self._client.endpoint.retries, _is_passing, _MAX_WAIT)
        result: LLMReply | LLMFailure
        try:
            result = await AsyncRetrying(**policy)(self._attempt, body)
        except RequestError as error:
            if error.lasts:
                raise
            result = LLMFailure(error.kind, error.problem)
            self._failures.pop()
        return Outcome(self._prompt, result, self._tokens, self._seconds, tuple(self._failures))

    async def _attempt(self, body: Mapping[str, Any]) -> LLMReply:
        async with self._rate_limit.turn(self._expected):
            start = perf_counter()
            before = self._tokens
            try:
                return await self._reply(body)
            except RequestError as error:
                self._failures.append(error.kind)
                if error.wait is not None:
                    self._hold(error.wait)
                raise
            finally:
                self._seconds = perf_counter() - start
                if (taken := _total(self._tokens) - _total(before)) > 0:
                    self._rate_limit.correct(taken - self._expected)

    async def _reply(self, body: Mapping[str, Any]) -> LLMReply:
        try:
            answer = await self._client.post_once(self._connection, CHAT_PATH, body)
        except RequestError as error:
            if error.code == CONTENT_FILTER:
                return LLMReply(ReplyStatus.REFUSED, None)  # a filter refuses the query itself
            raise
        completion = read_completion(answer, self._client)
        self._tokens += completion.tokens
        reply = completion.reply(self._client)
        if reply.text is None and reply.status == ReplyStatus.OK:
            raise self._client.empty()
        return reply

    def _hold(self, seconds: float) -> None:
        """Let nobody ask the endpoint for so long: whoever waits goes on one by one."""
        if seconds > _MAX_WAIT:
            raise UnavailableError(
                f"The endpoint {self._client.where} asks to wait {seconds / 60:,.0f} minutes: "
                "run the same command again then."
            ) from None
        self._rate_limit.hold(seconds)


def _is_passing(error: RequestError) -> bool:
    """Return whether a reply may come at the next attempt: sampling can end an empty or a broken one, too."""
    return error.passes or error.kind in (FailureKind.NO_JSON, FailureKind.EMPTY)
