"""An LLM behind an OpenAI-compatible chat endpoint, asked for many responses at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from time import perf_counter
from typing import Any
from urllib.parse import urlsplit

import openai
from openai.types import CompletionUsage
from openai.types.chat import ChatCompletion, ChatCompletionMessage
from openai.types.chat.chat_completion import Choice
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_attempt
from tenacity.wait import wait_exponential_jitter

from crm.settings import api_key
from crm.thinking import split_thinking
from db import CollectedStatus
from precompute.llms.endpoint_errors import Explainer, RequestError
from precompute.llms.pace import Pace
from precompute.llms.reply import Failure, FailureKind, LLMStoppedError, Outcome, Prompt, Reply, Tokens
from precompute.llms.settings import EndpointLLMSettings

HOPELESS = 25
"""Responses that fail one after another, each with all its retries, before an endpoint is given up."""
_PLACEHOLDER_KEY = "none"
"""Sent to servers that ask for no API key; the client insists on having one."""
_SHORTEST_SECRET = 8
_LONGEST_BACKOFF = 30.0
_JITTER = 0.5
_backoff = wait_exponential_jitter(multiplier=0.5, max=_LONGEST_BACKOFF, jitter=_JITTER)


class EndpointLLM:
    """An LLM behind an endpoint; implements ``Provider``."""

    def __init__(self, name: str, settings: EndpointLLMSettings, pace: Pace) -> None:
        """Describe an LLM; ``pace`` is shared by all of one address.

        Raises:
            ConfigError: The API key is not there.
        """
        self._settings = settings
        self._pace = pace
        key = api_key(settings.api_key_env, name, "LLM")
        # A short one is a word like “none” or “EMPTY”, which answers may well contain.
        secret = key if key is not None and len(key) >= _SHORTEST_SECRET else None
        self._key = key or _PLACEHOLDER_KEY
        self._explain = Explainer(settings, urlsplit(settings.url).netloc, secret)
        self._failed_in_a_row = 0

    async def ask(self, prompts: Sequence[Prompt], tell: Callable[[Outcome], None]) -> None:
        """Ask for a response to every prompt and tell each outcome as soon as it is known.

        Raises:
            LLMStoppedError: The endpoint refuses the key, has no such model, or answers nothing any more.
        """
        remaining = iter(prompts)
        stopped: list[LLMStoppedError] = []
        async with self._client() as client:
            try:
                async with asyncio.TaskGroup() as workers:
                    for _ in range(min(self._settings.concurrency, len(prompts))):
                        workers.create_task(self._work(client, remaining, tell))
            except* LLMStoppedError as group:
                stopped.extend(error for error in group.exceptions if isinstance(error, LLMStoppedError))
        if stopped:
            raise stopped[0]

    def _client(self) -> openai.AsyncOpenAI:
        return openai.AsyncOpenAI(
            base_url=self._settings.url,
            api_key=self._key,
            timeout=self._settings.timeout,
            max_retries=0,
            # A redirect could carry the queries to somebody who is not configured.
            http_client=openai.DefaultAsyncHttpxClient(follow_redirects=False),
        )

    async def _work(
        self, client: openai.AsyncOpenAI, remaining: Iterator[Prompt], tell: Callable[[Outcome], None]
    ) -> None:
        for prompt in remaining:
            outcome = await _Request(client, prompt, self._settings, self._pace, self._explain).outcome()
            tell(outcome)
            self._notice(outcome)

    def _notice(self, outcome: Outcome) -> None:
        """Give the endpoint up when nothing succeeds any more."""
        if isinstance(outcome.result, Reply):
            self._failed_in_a_row = 0
            return
        self._failed_in_a_row += 1
        if self._failed_in_a_row >= HOPELESS:
            raise LLMStoppedError(
                f"{HOPELESS} responses failed one after another, the last because: {outcome.result.message}"
            )


class _Request:
    """One query on its way to an answer, through as many attempts as it takes."""

    def __init__(
        self,
        client: openai.AsyncOpenAI,
        prompt: Prompt,
        settings: EndpointLLMSettings,
        pace: Pace,
        explain: Explainer,
    ) -> None:
        self._client = client
        self._prompt = prompt
        self._settings = settings
        self._pace = pace
        self._explain = explain
        self._tokens = Tokens()
        self._seconds = 0.0
        self._failures: list[FailureKind] = []

    async def outcome(self) -> Outcome:
        """The answer, or why there is none after all attempts."""
        attempts = AsyncRetrying(
            stop=stop_after_attempt(self._settings.retries + 1),
            wait=_pause,
            retry=retry_if_exception(_is_passing),
            reraise=True,
        )
        result: Reply | Failure
        try:
            result = await attempts(self._attempt)
        except RequestError as error:
            result = error.failure
            self._failures.pop()
        return Outcome(self._prompt, result, self._tokens, self._seconds, tuple(self._failures))

    async def _attempt(self) -> Reply:
        async with self._pace.turn():
            start = perf_counter()
            try:
                # The client's own limit is for each piece that arrives: a server could drip for ever.
                async with asyncio.timeout(self._settings.timeout):
                    return self._read(await self._send())
            except TimeoutError:
                error = self._explain.too_slow()
            except RequestError as failed:
                error = failed
            finally:
                self._seconds = perf_counter() - start
            self._failures.append(error.failure.kind)
            if error.wait is not None:
                self._pace.hold(error.wait)
        raise error

    async def _send(self) -> object:
        settings = self._settings
        options: dict[str, Any] = {
            settings.max_tokens_key: settings.max_tokens,
            "temperature": settings.temperature,
            "seed": settings.seed,
        }
        try:
            return await self._client.chat.completions.create(
                model=settings.model,
                messages=settings.messages(self._prompt.text),  # type: ignore[arg-type]  # plain dicts
                extra_body=settings.extra_body,
                **{key: value for key, value in options.items() if value is not None},
            )
        except openai.APIStatusError as error:
            if error.code == "content_filter":
                return _withheld()
            raise self._explain.explained(error) from None
        except openai.APIError as error:
            raise self._explain.explained(error) from None  # the original may quote the request with its key
        except ValueError:
            raise self._explain.nonsense("no JSON") from None

    def _read(self, completion: object) -> Reply:
        if isinstance(completion, Reply):
            return completion
        if not isinstance(completion, ChatCompletion):
            raise self._explain.nonsense("no JSON")
        if isinstance(used := completion.usage, CompletionUsage):
            self._tokens += Tokens(_count(used.prompt_tokens), _count(used.completion_tokens))
        choice = _first_choice(completion)
        if choice is None:
            raise self._explain.nonsense("no reply")
        text, reasoning = _text_and_reasoning(choice.message)
        refusal = _text(choice.message.refusal)
        status = _status(choice.finish_reason, refusal)
        text = text if text.strip() else refusal
        if not text.strip() and status == CollectedStatus.OK:
            raise self._explain.empty()
        clean = self._explain.without_key
        return Reply(status, clean(text) if text.strip() else None, clean(reasoning) if reasoning else None)


def _first_choice(completion: ChatCompletion) -> Choice | None:
    """The first choice if there is a message in it; the client does not check what servers send."""
    choices: Any = completion.choices
    choice = choices[0] if isinstance(choices, list) and choices else None
    whole = isinstance(choice, Choice) and isinstance(choice.message, ChatCompletionMessage)
    return choice if whole else None


def _text_and_reasoning(message: ChatCompletionMessage) -> tuple[str, str | None]:
    """The answer, and the reasoning that stands in front of it or in a field of its own."""
    text, before = split_thinking(_text(message.content))
    fields = message.model_extra or {}
    apart = _text(fields.get("reasoning_content")) or _text(fields.get("reasoning"))
    return text, "\n\n".join(filter(None, (apart.strip(), before))) or None


def _status(finish_reason: object, refusal: str) -> CollectedStatus:
    if refusal or finish_reason == "content_filter":
        return CollectedStatus.REFUSED
    return CollectedStatus.TRUNCATED if finish_reason == "length" else CollectedStatus.OK


def _withheld() -> Reply:
    """What it means that a filter refuses the query itself."""
    return Reply(CollectedStatus.REFUSED, None)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _count(value: object) -> int | None:
    return value if isinstance(value, int) else None


def _is_passing(error: BaseException) -> bool:
    return isinstance(error, RequestError) and error.passing


def _pause(state: RetryCallState) -> float:
    """Seconds before the next attempt: what the server asked for, else twice as long each time."""
    error = state.outcome.exception() if state.outcome else None
    if isinstance(error, RequestError) and error.wait is not None:
        # Everybody has been asked to wait: the pace holds them back and lets them go one by one.
        return error.wait
    return float(_backoff(state))
