"""A visitor without a browser: one page of the app over Streamlit's own protocol, as a browser speaks it.

The page is a WebSocket: the browser sends a ``BackMsg`` with the address and with what was typed, and the
server answers by ``ForwardMsg``, each a piece of the page, until the run is finished.
"""

from __future__ import annotations

import re
import ssl
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from http.cookies import SimpleCookie
from time import perf_counter
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlencode, urlsplit

import httpx2
from google.protobuf.message import Message
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Common_pb2 import FileURLs
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import WebSocketException
from websockets.typing import Subprotocol

from crm.criteria import CriteriaSet

_STREAM, _HEALTH = "_stcore/stream", "_stcore/health"
_FORGERY_COOKIE, _FORGERY_HEADER = "_streamlit_xsrf", "X-Xsrftoken"
"""A browser that sends a file says again what the server's cookie says, which no stranger's page can read."""
_HTTP_PATIENCE = 60.0
_NO_TOKEN = "PLACEHOLDER_AUTH_TOKEN"
"""Stands where a browser sends its cookie against forged requests, which only people who log in have."""
_RUNS_KEPT = 2
"""A piece of the page that came in one of the last runs is not sent again, as the browser has it."""
_SHOWN = re.compile(r'data-criteria="([^"]*)"')
_TRACEBACK = re.compile(r"Traceback \(most recent|File \"[^\"]+\", line \d+")


class VisitError(Exception):
    """The page did not come; the message says what came instead."""


@dataclass
class Run:
    """What one run of the page brought.

    Attributes:
        began: When it was asked for, of ``perf_counter``.
        ranking: Seconds until the ranking of the wanted criteria came; None if it did not.
        finished: Seconds until the run ended.
        n_bytes: That the server sent, uncompressed.
        errors: What the page said in red, and exceptions.
        exceptions: Those of them that the page did not expect.
        tracebacks: Texts that look like one.
        shown: Keys of the criteria whose rankings came.
        widgets: Widgets of the page: its id and what it is.
        texts: All that was sent to be read.
        files: Where the page offers files to download, as paths of its server.
    """

    began: float = field(default_factory=perf_counter)
    ranking: float | None = None
    finished: float = 0.0
    n_bytes: int = 0
    errors: list[str] = field(default_factory=list)
    exceptions: list[str] = field(default_factory=list)
    tracebacks: list[str] = field(default_factory=list)
    shown: list[str] = field(default_factory=list)
    widgets: dict[str, str] = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)

    def add_text(self, text: str, wanted: str | None) -> None:
        """Take a text of the page."""
        self.texts.append(text)
        if _TRACEBACK.search(text):
            self.tracebacks.append(text)
        for key in _SHOWN.findall(text):
            self.shown.append(key)
            if key == wanted and self.ranking is None:
                self.ranking = perf_counter() - self.began


class Visitor:
    """One page of the app; to be used by one task.

    Attributes:
        session: Name of the session at the server, by which a browser that lost it comes back.
        widgets: Widgets of the page by their own key or their label, with their ids.
        cookies: What servers and proxies told this browser to say from then on.
    """

    def __init__(
        self,
        address: str,
        query: str = "",
        page: str = "",
        *,
        trusted: ssl.SSLContext | None = None,
        loads: bool = False,
    ) -> None:
        """Visit the app at an address, e.g. ``http://localhost:8501``, with what stands behind its ``?``.

        Args:
            page: Name of another page than the ranking, as it stands in its address, e.g. ``about``.
            trusted: Whose certificates an address of https may have; those that the system trusts by default.
            loads: Whether the page itself is loaded before the first connection, as browsers do, which is
                when a proxy sets its cookies.
        """
        self._address, self._query, self._page, self._page_name = address, query, "", page
        self._trusted, self._loads = trusted, loads
        self._connection: ClientConnection | None = None
        self._kept: dict[str, tuple[ForwardMsg, int]] = {}
        self._runs = 0
        self._parts: dict[str, str] = {}  # which part of the page is run again when a widget is changed
        self.session = ""
        self.widgets: dict[str, str] = {}
        self.cookies: dict[str, str] = {}

    async def __aenter__(self) -> Self:
        await self.connect()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.leave()

    async def connect(self) -> None:
        """Open the connection, with the session there was if there was one; raises a VisitError."""
        if self._loads and not self.cookies:
            await self._request("GET", f"/?{self._query}")
        parts = urlsplit(self._address)
        secure = parts.scheme == "https"
        protocols = ["streamlit", _NO_TOKEN, *([self.session] if self.session else [])]
        try:
            self._connection = await connect(
                f"{'wss' if secure else 'ws'}://{parts.netloc}/{_STREAM}",
                subprotocols=[Subprotocol(name) for name in protocols],
                additional_headers=self._said_cookies(),
                ssl=self._certificates() if secure else None,
                max_size=None,
                compression=None,
                open_timeout=60,
                origin=None,
            )
        except (OSError, WebSocketException, TimeoutError) as error:
            raise VisitError(f"The server took no connection: {error}") from None
        if (response := self._connection.response) is not None:
            self._keep_cookies(response.headers.get_all("Set-Cookie"))

    async def lose(self) -> None:
        """Lose the connection as a browser does without a network: nobody says goodbye."""
        if self._connection is not None:
            self._connection.transport.abort()
            with suppress(WebSocketException):
                await self._connection.wait_closed()
            self._connection = None

    async def leave(self) -> None:
        """Close the page."""
        if self._connection is not None:
            await self._connection.close()
            self._connection = None

    async def open(self, wanted: CriteriaSet | None = None) -> Run:
        """Open the page, or ask for it again; raises a VisitError."""
        return await self._run([], wanted)

    async def type_criteria(self, text: str) -> Run:
        """Type criteria, one a line, in place of what stands in the box; raises a VisitError."""
        typed = WidgetState(id=self._widget("criteria_text"), string_value=text)
        part = self._parts.get(typed.id, "")
        return await self._run([typed], CriteriaSet.from_lines(text), part)

    async def press(self, key: str) -> Run:
        """Press a button by its key or label; raises a VisitError."""
        return await self._run([WidgetState(id=self._widget(key), trigger_value=True)], None)

    async def open_tab(self, key: str, label: str) -> Run:
        """Open one of several tabs, by their key and its label; raises a VisitError."""
        return await self._run([WidgetState(id=self._widget(key), string_value=label)], None)

    async def submit(
        self, button: str, fields: Mapping[str, str], files: Mapping[str, tuple[str, bytes]] | None = None
    ) -> Run:
        """Fill in a form and send it; raises a VisitError.

        Args:
            button: Its label, which other forms of the page do not have.
            fields: What is typed, by the fields' labels or keys.
            files: Names and contents of files, by the labels or keys of the fields that take them.
        """
        filled = [WidgetState(id=self._widget(key), string_value=text) for key, text in fields.items()]
        for key, (name, content) in (files or {}).items():
            chosen = WidgetState(id=self._widget(key))
            kept = chosen.file_uploader_state_value.uploaded_file_info.add()
            place = await self._upload(name, content)
            kept.name, kept.size, kept.file_id = name, len(content), place.file_id
            kept.file_urls.CopyFrom(place)
            filled.append(chosen)
        pressed = WidgetState(id=self._button(button), trigger_value=True)
        return await self._run([*filled, pressed], None)

    async def _upload(self, name: str, content: bytes) -> FileURLs:
        """Send a file, and return where the server keeps it."""
        asked = BackMsg()
        asked.file_urls_request.request_id = name
        asked.file_urls_request.session_id = self.session
        asked.file_urls_request.file_names.append(name)
        try:
            await self._of_connection().send(asked.SerializeToString())
            while (message := await self._received(Run())).WhichOneof("type") != "file_urls_response":
                pass
        except (OSError, WebSocketException) as error:
            raise VisitError(f"The file did not arrive: {error}") from None
        place: FileURLs = message.file_urls_response.file_urls[0]
        await self._request("GET", f"/{_HEALTH}")
        said = {_FORGERY_HEADER: self.cookies.get(_FORGERY_COOKIE, "")}
        await self._request("PUT", place.upload_url, headers=said, files={"file": (name, content)})
        return place

    async def download(self, path: str) -> bytes:
        """Fetch a file that the page offers; raises a VisitError."""
        return (await self._request("GET", path)).content

    async def _request(
        self, method: str, path: str, headers: Mapping[str, str] | None = None, **sent: Any
    ) -> httpx2.Response:
        """Ask for something beside the connection, with the cookies there are, and keep those it sets."""
        said = {**self._said_cookies(), **(headers or {})}
        try:
            async with httpx2.AsyncClient(
                base_url=self._address, timeout=_HTTP_PATIENCE, verify=self._certificates()
            ) as client:
                answer = await client.request(method, path, headers=said, **sent)
        except (OSError, httpx2.HTTPError) as error:
            raise VisitError(f"No answer to {method} {urlsplit(path).path}: {error}") from None
        self._keep_cookies(answer.headers.get_list("set-cookie"))
        if not answer.is_success:
            refused = f"{method} {urlsplit(path).path} was refused ({answer.status_code})"
            raise VisitError(f"{refused}: {answer.text}")
        return answer

    def _certificates(self) -> ssl.SSLContext:
        return self._trusted or _trusted_by_system()

    def _said_cookies(self) -> dict[str, str]:
        """Return the header with the cookies; empty without any."""
        said = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        return {"Cookie": said} if said else {}

    def _keep_cookies(self, set_by: Iterable[str]) -> None:
        for header in set_by:
            for name, cookie in SimpleCookie(header).items():
                self.cookies[name] = cookie.value

    def _button(self, label: str) -> str:
        """Return the id of a form's button, whose key ends with its label."""
        ids = [
            widget
            for key, widget in self.widgets.items()
            if key.startswith("FormSubmitter:") and key.endswith(f"-{label}")
        ]
        return ids[-1] if ids else self._widget(label)

    def _widget(self, key: str) -> str:
        if key not in self.widgets:
            raise VisitError(f"The page has no widget {key!r}, but {', '.join(sorted(self.widgets))}.")
        return self.widgets[key]

    async def _run(self, changed: list[WidgetState], wanted: CriteriaSet | None, part: str = "") -> Run:
        asked, run = BackMsg(), Run()
        self._runs += 1
        oldest = self._runs - _RUNS_KEPT
        self._kept = {name: kept for name, kept in self._kept.items() if kept[1] >= oldest}
        state = asked.rerun_script
        state.query_string, state.page_script_hash = self._query, self._page
        state.page_name = "" if self._page else self._page_name
        state.fragment_id = part
        state.widget_states.widgets.extend(changed)
        state.cached_message_hashes.extend(self._kept)
        state.context_info.url = self._address
        state.context_info.color_scheme = "light"
        try:
            await self._of_connection().send(asked.SerializeToString())
            while not self._take(await self._received(run), run, wanted.key if wanted is not None else None):
                pass
        except (OSError, WebSocketException) as error:
            raise VisitError(f"The connection broke: {error}") from None
        run.finished = perf_counter() - run.began
        self.widgets.update(run.widgets)
        return run

    def _of_connection(self) -> ClientConnection:
        if self._connection is None:
            raise VisitError("There is no connection.")
        return self._connection

    async def _received(self, run: Run) -> ForwardMsg:
        data = await self._of_connection().recv()
        run.n_bytes += len(data)
        message = ForwardMsg()
        message.ParseFromString(data if isinstance(data, bytes) else data.encode())
        return message

    def _take(self, message: ForwardMsg, run: Run, wanted: str | None) -> bool:
        """Take a message, and return whether it is the last one of the run."""
        if message.WhichOneof("type") == "ref_hash":
            message = self._kept[message.ref_hash][0]
        if message.metadata.cacheable and message.hash:
            self._kept[message.hash] = message, self._runs
        match message.WhichOneof("type"):
            case "new_session":
                self.session = message.new_session.initialize.session_id
                self._page = message.new_session.page_script_hash
            case "navigation":
                self._page = message.navigation.page_script_hash
            case "page_info_changed":
                self._query = message.page_info_changed.query_string
            case "session_event" if message.session_event.HasField("script_compilation_exception"):
                run.errors.append(message.session_event.script_compilation_exception.message)
            case "delta":
                self._take_delta(message, run, wanted)
            case "script_finished":
                early = ForwardMsg.ScriptFinishedStatus.FINISHED_EARLY_FOR_RERUN
                return bool(message.script_finished != early)
        return False

    def _take_delta(self, message: ForwardMsg, run: Run, wanted: str | None) -> None:
        element = message.delta.new_element
        kind = element.WhichOneof("type")
        if kind is None:
            block = message.delta.add_block
            if block.HasField("tab_container") and block.id:
                run.widgets[_own_key(block.id)] = block.id
            return
        found: Message = getattr(element, kind)
        if kind == "exception":
            run.exceptions.append(f"{element.exception.type}: {element.exception.message}")
            run.errors.append(run.exceptions[-1])
            run.tracebacks += ["\n".join(element.exception.stack_trace)] * bool(element.exception.stack_trace)
        if kind == "alert" and element.alert.format == element.alert.ERROR:
            run.errors.append(element.alert.body)
        if kind == "download_button" and element.download_button.url:
            run.files.append(element.download_button.url)
        if widget := getattr(found, "id", ""):
            self._parts[widget] = message.delta.fragment_id
            run.widgets[_own_key(widget) or getattr(found, "label", "")] = widget
        for text in _texts(found):
            run.add_text(text, wanted)


@cache
def _trusted_by_system() -> ssl.SSLContext:
    return ssl.create_default_context()


def _own_key(widget: str) -> str:
    """Return the key that the page gave a widget, from its id; empty if it gave none."""
    key = widget.split("-", 2)[-1] if widget.startswith("$$ID-") else ""
    return "" if key == "None" else key


def _texts(message: Message) -> Iterator[str]:
    """Yield the texts that an element has at its top."""
    for about, value in message.ListFields():
        if about.type == about.TYPE_STRING and isinstance(value, str):
            yield value


def query_of(benchmark: str, criteria: CriteriaSet | None = None) -> str:
    """Return what stands behind the ``?`` of a link to a benchmark's ranking."""
    wishes = [("criterion", str(criterion)) for criterion in criteria or ()]
    return urlencode([("benchmark", benchmark), *wishes])
