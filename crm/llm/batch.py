"""Batches at an OpenAI-compatible endpoint: requests handed in as a file, which it answers within a day."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Annotated, Any
from urllib.parse import quote

from pydantic import BaseModel, BeforeValidator, ValidationError

from crm.errors import UnavailableError, one_line
from crm.llm.chat_model import FailureKind, LLMFailure, LLMReply, Outcome, Prompt, ReplyStatus, Usage
from crm.llm.client import LLMClient, RequestError
from crm.llm.endpoint import CHAT_PATH, CONTENT_FILTER, endpoint_of, read_completion, request_body
from crm.llm.settings import EndpointLLMSettings
from parsing.documents import read_json

MAX_REQUESTS = 50_000
"""Of one batch."""
MAX_BYTES = 100_000_000
"""Of the file of one batch."""
_FILES, _BATCHES = "/files", "/batches"
_ASKED_PATH = f"/v1{CHAT_PATH}"
"""As the protocol names it inside a batch, whatever the base address is."""
_WINDOW = "24h"
_ENDED = frozenset(("completed", "expired", "cancelled", "failed"))
_LISTED = 100
"""Batches that an endpoint lists at a time."""
_OK = 200

_Text = Annotated[str, BeforeValidator(lambda value: value if isinstance(value, str) else "")]
_Table = Annotated[dict[str, Any], BeforeValidator(lambda value: value if isinstance(value, dict) else {})]


class Batch(BaseModel):
    """A batch as its endpoint describes it.

    Attributes:
        id: Its name there.
        status: Where it stands.
        input_file_id: The file with its requests.
        output_file_id: The file with answers; empty where there is none.
        error_file_id: The file with requests that failed; empty where there is none.
        errors: Why it failed as a whole.
        request_counts: How far it is.
    """

    id: str
    status: _Text = ""
    input_file_id: _Text = ""
    output_file_id: _Text = ""
    error_file_id: _Text = ""
    errors: _Table = {}
    request_counts: _Table = {}

    @property
    def has_ended(self) -> bool:
        """Whether nothing more comes of it."""
        return self.status in _ENDED

    @property
    def problem(self) -> str:
        """Why it failed as a whole, in the endpoint's words; empty where it says nothing."""
        listed = self.errors.get("data")
        first = listed[0] if isinstance(listed, list) and listed else {}
        message = first.get("message") if isinstance(first, dict) else None
        return message if isinstance(message, str) else ""


class _Line(BaseModel):
    """One line of a file that a batch has written."""

    custom_id: _Text = ""
    response: _Table = {}
    error: _Table = {}


def batch_files(
    settings: EndpointLLMSettings,
    prompts: Sequence[Prompt],
    max_requests: int = MAX_REQUESTS,
    max_bytes: int = MAX_BYTES,
) -> Iterator[tuple[tuple[Prompt, ...], bytes]]:
    """Yield the files that ask for a response to every prompt, each with its prompts in their order."""
    taken: list[Prompt] = []
    lines: list[bytes] = []
    size = 0
    for prompt in prompts:
        line = _line(len(taken), settings, prompt)
        if taken and (len(taken) == max_requests or size + len(line) > max_bytes):
            yield tuple(taken), b"".join(lines)
            taken, lines, size = [], [], 0
            line = _line(0, settings, prompt)
        taken.append(prompt)
        lines.append(line)
        size += len(line)
    if taken:
        yield tuple(taken), b"".join(lines)


def _line(place: int, settings: EndpointLLMSettings, prompt: Prompt) -> bytes:
    body = request_body(settings, prompt.text)
    # By its place: a query's own id may hold what an endpoint does not take.
    request = {"custom_id": str(place), "method": "POST", "url": _ASKED_PATH, "body": body}
    return json.dumps(request).encode() + b"\n"


class BatchEndpoint:
    """An LLM behind an endpoint that takes batches."""

    def __init__(self, name: str, settings: EndpointLLMSettings) -> None:
        """Describe an LLM. Raises ConfigError: The API key is not there."""
        self._client = LLMClient(endpoint_of(name, settings, "its table"))
        self._client.connect()
        self.where = self._client.where

    def upload(self, content: bytes) -> str:
        """Store a file of requests at the endpoint, which costs nothing; return its name there.

        Raises UnavailableError: The endpoint is down, refuses, or takes no batches.
        """
        try:
            answer = self._client.upload(_FILES, "requests.jsonl", content, {"purpose": "batch"})
        except RequestError as error:
            raise self._without_batches(error) from None
        name = answer.get("id") if isinstance(answer, dict) else None
        if not isinstance(name, str) or not name:
            raise self._client.nonsense("no name of a file")
        return name

    def begin(self, file: str) -> Batch:
        """Have a file's requests answered, from now on for money: it is asked once.

        Raises UnavailableError: The endpoint is down, refuses, or takes no batches.
        """
        body = {"input_file_id": file, "endpoint": _ASKED_PATH, "completion_window": _WINDOW}
        try:
            return self._read(self._client.post(_BATCHES, body, repeat=False))
        except RequestError as error:
            raise self._without_batches(error) from None

    def look(self, batch: str) -> Batch | None:
        """Return where a batch stands; None if the endpoint does not know it.

        Raises UnavailableError: The endpoint is down or refuses.
        """
        try:
            return self._read(self._client.get(f"{_BATCHES}/{quote(batch, safe='')}"))
        except RequestError as error:
            if error.kind is FailureKind.NOT_FOUND:
                return None
            raise

    def find(self, file: str) -> Batch | None:
        """Return the batch of a file's requests; None if there is none.

        Raises UnavailableError: The endpoint is down or refuses.
        """
        after, seen = "", set[str]()
        while True:
            try:
                answer = self._client.get(f"{_BATCHES}?limit={_LISTED}{after}")
            except RequestError as error:
                if error.kind is FailureKind.NOT_FOUND:
                    return None
                raise
            listed = answer.get("data") if isinstance(answer, dict) else None
            if not isinstance(listed, list):
                raise self._client.nonsense("no list of batches")
            batches = list(map(self._read, listed))
            found = next((batch for batch in batches if batch.input_file_id == file), None)
            more = bool(answer.get("has_more")) and not seen.issuperset(batch.id for batch in batches)
            if found is not None or not more:
                return found
            seen.update(batch.id for batch in batches)
            after = f"&after={quote(batches[-1].id, safe='')}"

    def outcomes(self, batch: Batch, prompts: Sequence[Prompt]) -> list[Outcome]:
        """Return what came of each prompt of a batch that has ended.

        Raises UnavailableError: The endpoint is down, refuses, or no longer has the answers.
        """
        found: dict[str, Outcome] = {}
        known = {str(place): prompt for place, prompt in enumerate(prompts)}
        for file in filter(None, (batch.output_file_id, batch.error_file_id)):
            for line in self._lines(file):
                if line.custom_id in known and line.custom_id not in found:
                    found[line.custom_id] = self._outcome(line, known[line.custom_id])
        why = f"ended as “{batch.status}”{self._quoted(batch.problem)} and has no answer to this"
        unanswered = self._not_answered(why)
        return [found.get(place) or Outcome(prompt, unanswered) for place, prompt in known.items()]

    def _lines(self, file: str) -> Iterator[_Line]:
        # Only at line feeds: a text may hold other characters that end a line.
        for line in self._client.download(f"{_FILES}/{quote(file, safe='')}/content").split(b"\n"):
            try:
                yield _Line.model_validate(read_json(line))
            except ValueError:
                continue

    def _outcome(self, line: _Line, prompt: Prompt) -> Outcome:
        """Read a line as the same answer is read that comes at once."""
        status = line.response.get("status_code")
        if not isinstance(status, int) or (status == _OK and "body" not in line.response):
            return Outcome(prompt, self._not_answered(f"did not answer this{self._said(line)}"))
        tokens = Usage()
        result: LLMReply | LLMFailure
        try:
            completion = read_completion(
                self._client.answer_in(status, line.response.get("body")), self._client
            )
            tokens = completion.tokens
            result = completion.reply(self._client)
            if result.text is None and result.status == ReplyStatus.OK:
                raise self._client.empty()
        except RequestError as error:
            result = LLMFailure(error.kind, error.problem)
            if error.code == CONTENT_FILTER:
                result = LLMReply(ReplyStatus.REFUSED, None)
        return Outcome(prompt, result, tokens)

    def _not_answered(self, why: str) -> LLMFailure:
        return LLMFailure(FailureKind.BATCH_ENDED, f"The batch at {self.where} {why}.")

    def _said(self, line: _Line) -> str:
        message = line.error.get("message")
        return self._quoted(message if isinstance(message, str) else "")

    def _quoted(self, message: str) -> str:
        return f" (“{one_line(self._client.without_key(message))}”)" if message.strip() else ""

    def _read(self, answer: object) -> Batch:
        try:
            return Batch.model_validate(answer)
        except ValidationError:
            raise self._client.nonsense("no batch") from None

    def _without_batches(self, error: RequestError) -> UnavailableError:
        """Return the error that an endpoint refuses batches, where that is what its answer means."""
        if error.kind is not FailureKind.NOT_FOUND:
            return error
        problem = f"The endpoint {self.where} takes no batches"
        return RequestError(
            f"{problem}: leave out --batch.", FailureKind.NOT_FOUND, f"{problem}.", lasts=True
        )
