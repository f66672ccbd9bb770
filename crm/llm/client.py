"""The HTTP client of all LLMs and model servers: requests, retries, errors, and keys that stay hidden."""

from __future__ import annotations

import asyncio
import json
import math
import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from time import monotonic, time
from typing import Any, Final, Literal
from urllib.parse import urlsplit

import httpx2
from tenacity import RetryCallState, Retrying, retry_if_exception, stop_after_attempt
from tenacity.wait import wait_exponential_jitter

from crm.config import api_key
from crm.errors import UnavailableError, one_line
from crm.llm.chat_model import FailureKind
from parsing.documents import read_json
from parsing.limits import ParseError

_PASSING = frozenset((408, 409, 425, 429))
"""Status codes beside those of failing servers (5xx) that may be over in a moment."""
_OVERLOADED = frozenset((429, 503, 529))
_SAYS_TOO_LONG = re.compile(r"too (long|large|many tokens)|(context|model|sequence) len|out of memory", re.I)
"""In a server's words on a request that it refuses."""
_SERVER_ERROR = 500
_MAX_REPLY = 32 * 2**20
"""Bytes of a reply, unpacked; the longest that LLMs write have less than one hundredth."""
_MAX_FILE = 512 * 2**20
"""Bytes of a file of replies, of which providers take 200 MB at a time."""
_MAX_COMPLAINT = 2**20
"""Bytes of an answer that is none, such as the page of a proxy."""
_MAX_WAIT = 30.0
"""Seconds between two attempts at most, whatever a server asks for."""
_MAX_CONNECT = 10.0
_MIN_SECRET = 8
"""Characters of a key that is hidden; a shorter one is a word like “none”, which texts may well contain."""
_PLACEHOLDER_KEY = "none"
"""Sent to chat endpoints that ask for no API key, as clients of the protocol do."""
_backoff = wait_exponential_jitter(multiplier=0.5, max=_MAX_WAIT, jitter=0.5)

_ADVICE: Final = {
    FailureKind.TOO_SLOW: "try again later, or raise 'timeout' in {file}",
    FailureKind.CUT: "start it, or fix its 'url' in {file}",
    FailureKind.RATE_LIMITED: "try again later, or lower 'concurrency' in {file}",
    FailureKind.SERVER_ERROR: "try again later",
    FailureKind.NO_JSON: "check the {owner}'s 'url' in {file}",
    FailureKind.TOO_LARGE: "check the {owner}'s 'url' in {file}",
    FailureKind.REFUSED_REQUEST: "check the {owner}'s keys in {file}",
    FailureKind.REFUSED_KEY: "check the environment variable that the {owner}'s api_key_env names",
    FailureKind.SPENT: "fill it up and run again",
    FailureKind.NOT_FOUND: "fix 'model' or 'url' in {file}",
}
_POOLING_ADVICE: Final = _ADVICE | {
    FailureKind.TOO_SLOW: (
        "try again later, or raise 'timeout' or lower 'batch_tokens', 'batch_size' or 'concurrency' in {file}"
    ),
    FailureKind.RATE_LIMITED: "try again later, or lower 'concurrency' in {file}",
    FailureKind.SERVER_ERROR: "try again later, or lower 'batch_tokens' or 'concurrency' in {file}",
    FailureKind.TOO_LONG: "lower 'max_length' or 'batch_tokens' in {file}",
    FailureKind.NO_JSON: "check that it runs the configured model",
    FailureKind.TOO_LARGE: "check that it runs the configured model",
    FailureKind.NOT_FOUND: "start a vLLM server with --runner pooling there",
}


@dataclass(frozen=True)
class Endpoint:
    """Where a model is asked, and who asks.

    Attributes:
        url: Base address.
        model: The model's name there.
        name: The name of its table.
        file: The file with its table, in messages.
        owner: What asks, in messages: “judge” or “LLM”.
        api_key_env: Environment variable with the API key.
        timeout: Seconds that one request may take.
        retries: How often a request that failed for the moment is sent again.
        kind: “chat” for an OpenAI-compatible endpoint, “pooling” for a vLLM server that classifies.
    """

    url: str
    model: str
    name: str
    file: str
    owner: str
    api_key_env: str | None
    timeout: float
    retries: int
    kind: Literal["chat", "pooling"] = "chat"

    @property
    def where(self) -> str:
        """Host and port."""
        return urlsplit(self.url).netloc


class RequestError(UnavailableError):
    """One request that failed: for a moment, for its content, or as every other one will.

    Attributes:
        problem: That in one sentence without advice.
        code: The server's own name of the error; empty where it has none.
        passes: Whether it may be over in a moment.
        lasts: Whether no other request has a chance.
        wait: Seconds that the server asks to wait.
        status: The status code of an answer that is none; None where there was no answer, or nonsense.
    """

    def __init__(
        self,
        message: str,
        kind: FailureKind,
        problem: str,
        *,
        code: str = "",
        passes: bool = False,
        lasts: bool = False,
        wait: float | None = None,
    ) -> None:
        """Note what failed."""
        super().__init__(message)
        self.kind = kind
        self.problem = problem
        self.code = code
        self.passes = passes
        self.lasts = lasts
        self.wait = wait
        self.status: int | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Let the error pass between processes."""
        return type(self), (str(self), self.kind, self.problem), self.__dict__


@dataclass(frozen=True)
class _Answer:
    """What a server answers, read to its end."""

    status: int
    content: bytes
    retry_after: str = ""


class LLMClient:
    """Talks JSON with one endpoint; may be shared between threads."""

    def __init__(self, endpoint: Endpoint) -> None:
        """Describe a client; nothing is sent, and no key looked for, before the first request."""
        self.endpoint = endpoint
        self.where = endpoint.where
        self._lock = threading.Lock()
        self._client: httpx2.Client | None = None
        self._secret: str | None = None

    def connect(self) -> httpx2.Client:
        """Make the client ready to ask. Raises ConfigError: The API key is not there."""
        with self._lock:
            if self._client is None:
                self._client = httpx2.Client(**self._options())
            return self._client

    def connect_async(self) -> httpx2.AsyncClient:
        """Make a client for the coroutines of one event loop, which they close.

        Raises ConfigError: The API key is not there.
        """
        return httpx2.AsyncClient(**self._options())

    def get(self, path: str) -> Any:
        """Return what the server answers, tried twice: whether it is there at all should be known soon.

        Raises UnavailableError: It is down, slow, refuses, or answers nonsense.
        """
        return self._json(self._patiently(min(self.endpoint.retries, 1), "GET", path))

    def post(self, path: str, body: Mapping[str, Any], *, repeat: bool = True) -> Any:
        """Return what the server answers to a JSON body, asked again where it failed for the moment.

        Args:
            repeat: Whether it is; what a server should do only once is not to be sent twice.

        Raises UnavailableError: It is down, slow, refuses, or answers nonsense; as ``RequestError``.
        """
        return self._json(self._patiently(self.endpoint.retries if repeat else 0, "POST", path, json=body))

    def upload(self, path: str, name: str, content: bytes, fields: Mapping[str, str]) -> Any:
        """Return what the server answers to a form with a file, sent again where it failed for the moment.

        Raises UnavailableError: It is down, slow, refuses, or answers nonsense; as ``RequestError``.
        """
        form: dict[str, Any] = {"files": {"file": (name, content, "application/jsonl")}, "data": dict(fields)}
        return self._json(self._patiently(self.endpoint.retries, "POST", path, **form))

    def download(self, path: str) -> bytes:
        """Return a file's content, asked for again where it failed for the moment.

        Raises UnavailableError: The server is down, slow or refuses; as ``RequestError``.
        """
        return self._patiently(self.endpoint.retries, "GET", path, most=_MAX_FILE).content

    def answer_in(self, status: int, body: Any) -> Any:
        """Return the answer that stands in a file, as if the server gave it now.

        Raises RequestError: By its status it is none.
        """
        return self._read(_Answer(status, json.dumps(body).encode()), "")

    async def post_once(self, client: httpx2.AsyncClient, path: str, body: Mapping[str, Any]) -> Any:
        """Return what the server answers to a JSON body at the first attempt.

        Raises:
            RequestError: It is down, slow, refuses, or answers nonsense.
        """
        try:
            # The client's own limit is for each piece that arrives: a server could drip for ever.
            async with (
                asyncio.timeout(self.endpoint.timeout),
                client.stream("POST", path, json=body) as response,
            ):
                content = bytearray()
                async for piece in response.aiter_bytes():
                    content += piece
                    self._check_size(len(content), response.status_code, _MAX_REPLY)
        except TimeoutError:
            raise self._too_slow() from None
        except httpx2.HTTPError as error:
            raise self._unreachable(error) from None
        return self._read(_answer(response, bytes(content)), path)

    def without_key(self, text: str) -> str:
        """Return what an endpoint wrote, without the API key if it should repeat it."""
        return text.replace(self._secret, "…") if self._secret else text

    def nonsense(self, what: str, kind: FailureKind = FailureKind.NO_JSON) -> RequestError:
        """Make the error that an answer cannot be used."""
        return self._error(kind, f"answers nonsense ({what})")

    def empty(self) -> RequestError:
        """Make the error that the model answers nothing."""
        return self._error(FailureKind.EMPTY, "gives an empty reply")

    def _options(self) -> dict[str, Any]:
        endpoint = self.endpoint
        key = api_key(endpoint.api_key_env, endpoint.name, endpoint.owner)
        self._secret = key if key is not None and len(key) >= _MIN_SECRET else None
        if key is None and endpoint.kind == "chat":
            key = _PLACEHOLDER_KEY
        return {
            "base_url": endpoint.url,
            "timeout": httpx2.Timeout(endpoint.timeout, connect=min(endpoint.timeout, _MAX_CONNECT)),
            "headers": {} if key is None else {"Authorization": f"Bearer {key}"},
            "limits": httpx2.Limits(max_connections=None),
            # A redirect could carry the texts to somebody who is not configured.
            "follow_redirects": False,
        }

    def _patiently(
        self, retries: int, method: str, path: str, *, most: int = _MAX_REPLY, **sent: Any
    ) -> _Answer:
        client = self.connect()
        attempts = Retrying(**retry_policy(retries, lambda error: error.passes, _MAX_WAIT))
        return attempts(self._once, client, method, path, sent, most)

    def _once(
        self, client: httpx2.Client, method: str, path: str, sent: Mapping[str, Any], most: int
    ) -> _Answer:
        content = bytearray()
        try:
            with client.stream(method, path, **sent) as response:
                # The client's own limit is for each piece that arrives: a server could drip for ever. A file
                # takes its time.
                until = monotonic() + self.endpoint.timeout if most == _MAX_REPLY else math.inf
                for piece in response.iter_bytes():
                    content += piece
                    self._check_size(len(content), response.status_code, most)
                    if monotonic() > until:
                        raise self._too_slow()
        except httpx2.HTTPError as error:
            raise self._unreachable(error) from None
        return self._checked(_answer(response, bytes(content)), path)

    def _check_size(self, size: int, status: int, most: int) -> None:
        """Return if so many bytes of an answer may be read; they are counted as they are unpacked."""
        most = most if status == httpx2.codes.OK else _MAX_COMPLAINT
        if size > most:
            raise self.nonsense(f"more than {most // 2**20:,} MB", FailureKind.TOO_LARGE)

    def _read(self, answer: _Answer, path: str) -> Any:
        return self._json(self._checked(answer, path))

    def _checked(self, answer: _Answer, path: str) -> _Answer:
        """Return an answer that is one."""
        if answer.status != httpx2.codes.OK:
            error = self._of_status(answer, path)
            error.status = answer.status
            raise error
        return answer

    def _json(self, answer: _Answer) -> Any:
        try:
            return read_json(answer.content)
        except ParseError:
            raise self.nonsense("no JSON") from None

    def _of_status(self, answer: _Answer, path: str) -> RequestError:
        status, wait = answer.status, _asked_to_wait(answer.retry_after)
        message, code = _own_words(answer.content)
        if status in (401, 403):
            what = f"refuses the API key (status {status})"
            return self._error(FailureKind.REFUSED_KEY, what, lasts=True)
        if status == httpx2.codes.PAYMENT_REQUIRED or code == "insufficient_quota":
            subject = f"The budget at {self._subject} is spent"
            return self._error(FailureKind.SPENT, "", lasts=True, subject=subject)
        if status == httpx2.codes.NOT_FOUND:
            missing = path if self.endpoint.kind == "pooling" else f"model {self.endpoint.model}"
            return self._error(FailureKind.NOT_FOUND, f"has no {missing}", lasts=True)
        if status in _PASSING or status >= _SERVER_ERROR:
            limited = status == httpx2.codes.TOO_MANY_REQUESTS
            kind = FailureKind.RATE_LIMITED if limited else FailureKind.SERVER_ERROR
            what = "limits the rate" if limited else "fails"
            if self.endpoint.kind == "pooling" and status in _OVERLOADED:
                what = "is overloaded"
            return self._error(kind, f"{what} (status {status})", passes=True, wait=wait)
        reason = f", “{one_line(self.without_key(message))}”" if message.strip() else ""
        what = f"refuses the request (status {status}{reason})"
        too_long = status == httpx2.codes.CONTENT_TOO_LARGE or _SAYS_TOO_LONG.search(message)
        long_prompts = self.endpoint.kind == "pooling" and too_long
        kind = FailureKind.TOO_LONG if long_prompts else FailureKind.REFUSED_REQUEST
        return self._error(kind, what, code=code)

    def _too_slow(self) -> RequestError:
        what = f"did not answer within {self.endpoint.timeout:g} seconds"
        return self._error(FailureKind.TOO_SLOW, what, passes=True)

    def _unreachable(self, error: httpx2.HTTPError) -> RequestError:
        if isinstance(error, httpx2.TimeoutException) and not isinstance(error, httpx2.ConnectTimeout):
            return self._too_slow()
        refused = isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout)
        what = "cannot be reached" if refused else "cannot be reached, or cut the connection"
        return self._error(FailureKind.CUT, what, passes=True)

    @property
    def _subject(self) -> str:
        return f"the {'endpoint' if self.endpoint.kind == 'chat' else 'server at'} {self.where}"

    def _error(self, kind: FailureKind, what: str, *, subject: str = "", **known: Any) -> RequestError:
        """Make an error of one sentence: what is wrong, and how to fix it."""
        problem = subject or f"{self._subject[0].upper()}{self._subject[1:]} {what}"
        advice = (_ADVICE if self.endpoint.kind == "chat" else _POOLING_ADVICE).get(kind)
        how = advice.format(file=self.endpoint.file, owner=self.endpoint.owner) if advice else ""
        return RequestError(f"{problem}{how and f': {how}'}.", kind, f"{problem}.", **known)


def retry_policy(retries: int, again: Callable[[RequestError], bool], max_wait: float) -> dict[str, Any]:
    """Make tenacity's options: so many retries after errors that ask for them.

    The pause is what the server asked for, at most ``max_wait`` seconds, else twice as long each time.
    """

    def pause(state: RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        asked = error.wait if isinstance(error, RequestError) else None
        return float(_backoff(state)) if asked is None else min(asked, max_wait)

    return {
        "stop": stop_after_attempt(retries + 1),
        "wait": pause,
        "retry": retry_if_exception(lambda error: isinstance(error, RequestError) and again(error)),
        "reraise": True,
    }


def _answer(response: httpx2.Response, content: bytes) -> _Answer:
    return _Answer(response.status_code, content, response.headers.get("Retry-After", ""))


def _own_words(answered: bytes) -> tuple[str, str]:
    """Return the server's message on an error, and its code; empty where there is none."""
    try:
        content = read_json(answered)
    except ParseError:
        text = answered.decode(errors="replace").strip()
        return ("" if text.startswith("<") else text), ""
    error = content.get("error", content) if isinstance(content, dict) else content
    if not isinstance(error, dict):
        return (error if isinstance(error, str) else ""), ""
    return str(error.get("message") or error.get("detail") or ""), str(error.get("code") or "")


def _asked_to_wait(header: str) -> float | None:
    """Return the seconds of the header Retry-After, given as a number or a date; None if as neither."""
    try:
        seconds = float(header)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(header).timestamp() - time()
        except (ValueError, OverflowError):
            return None
    return max(0.0, seconds) if math.isfinite(seconds) else None
