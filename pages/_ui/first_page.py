"""What the server puts into the page that the browser loads first.

Streamlit has no place for a style sheet but among what a page draws, which the browser shows half a second
after the grey bars and the title: whatever the sheet moves, such as the bar over all pages, jumps then.
And it loads the code of each kind of element when it meets the first of that kind, and shows grey bars of
other sizes until then; that of charts, the largest of all, when somebody has clicked and waits for one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_END = b"</body>"
_OF_THE_WHOLE = ("accept-encoding", "if-none-match", "if-modified-since", "range")
"""Headers that ask for less than the page as it is: compressed, only if it has changed, or a part of it."""


_PAGE = "static/index.html"
_CODE = "static/static/js"
"""Where Streamlit ships code; a page asks for it below ``./static``."""
_CHARTS = "PlotlyChart"
_ELEMENTS = (
    "Html",
    "Selectbox",
    "Button",
    "TextInput",
    "Checkbox",
    "TextArea",
    "ButtonGroup",
    "PageLink",
    "DownloadButton",
)
"""What the leaderboard is drawn with, by Streamlit's names."""
_FILE = re.compile(r"[\w.-]+\.js")
_IMPORTED = re.compile(r"""(?:from|import)\s*["']\./([\w.-]+\.js)["']""")
"""Another file that a file of code cannot do without."""
_LOAD_AHEAD = """
let typed = 0, waiting;
const load = () => {
  clearInterval(waiting);
  removeEventListener("pointerover", approach);
  import("CODE").catch(() => {});
};
const approach = (event) => {
  if (event.target.closest?.("a[href$='/topics'], [role=tab]")) load();
};
const look = () => {
  if (Date.now() - typed < 2000) return;
  if (!document.querySelector("[data-test-script-state=notRunning] .usl-ranking")) return;
  clearInterval(waiting);
  (window.requestIdleCallback ?? setTimeout)(load);
};
if (!navigator.connection?.saveData && !matchMedia("(hover: none)").matches) {
  addEventListener("keydown", () => { typed = Date.now(); }, { capture: true });
  addEventListener("pointerover", approach);
  waiting = setInterval(look, 2000);
}
"""
"""Loads a file when a ranking stands and nobody types, or when the pointer comes to where there are charts;
but not where data is scarce, as on phones."""


def style_element(style: str) -> str:
    """Return a style sheet as HTML.

    At the end of a page it comes after those that Streamlit writes into the head, and wins over rules as
    specific.
    """
    return f"<style>{style}</style>"


def elements_ahead() -> str:
    """Return as HTML what loads the code of the leaderboard's elements before the first of them is drawn.

    Empty where Streamlit keeps it elsewhere.
    """
    pages = [folder / _PAGE for folder in _streamlit() if (folder / _PAGE).exists()]
    loaded = {name for page in pages for name in _FILE.findall(page.read_text(encoding="utf-8"))}
    wanted = [path for name in _ELEMENTS for path in _code_of(name)]
    names = dict.fromkeys(path.name for path in wanted)
    for path in wanted:  # grows while it is gone through
        for name in _IMPORTED.findall(path.read_text(encoding="utf-8")):
            if name not in loaded and name not in names:
                names[name] = None
                wanted.append(path.parent / name)
    return "".join(f'<link rel="modulepreload" crossorigin href="./static/js/{name}">' for name in names)


def charts_ahead() -> str:
    """Return as HTML what loads the code of charts in good time; empty where Streamlit keeps it elsewhere."""
    names = [path.name for path in _code_of(_CHARTS)]
    return "".join(
        f'<script type="module">{_LOAD_AHEAD.replace("CODE", f"./static/js/{name}")}</script>'
        for name in names[:1]
    )


def _code_of(element: str) -> Iterator[Path]:
    for folder in _streamlit():
        yield from folder.glob(f"{_CODE}/{element}.*.js")


def _streamlit() -> Iterator[Path]:
    found = find_spec("streamlit")
    yield from map(Path, (found and found.submodule_search_locations) or ())


class FirstPage:
    """Middleware that puts HTML at the end of every page.

    Args:
        app: What answers.
        end: What is put before the end of the body.
    """

    def __init__(self, app: ASGIApp, end: str) -> None:
        self._app = app
        self._element = end.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer as ASGI asks for (asgi.readthedocs.io)."""
        if scope["type"] == "http" and "text/html" in Headers(scope=scope).get("accept", ""):
            asked = {**scope, "headers": list(scope["headers"]), "extensions": {}}
            for name in _OF_THE_WHOLE:
                del MutableHeaders(scope=asked)[name]
            await self._app(asked, receive, _Longer(send, self._element))
        else:
            await self._app(scope, receive, send)


class _Longer:
    """Sends an answer on, one in HTML when it is complete."""

    def __init__(self, send: Send, element: bytes) -> None:
        self._send, self._element = send, element
        self._start: Message | None = None
        self._body = b""

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start" and _is_html(message):
            self._start = message
        elif self._start is None:
            await self._send(message)
        else:
            self._body += message.get("body", b"")
            if not message.get("more_body", False):
                await self._send_longer(self._start)

    async def _send_longer(self, start: Message) -> None:
        page, end, rest = self._body.rpartition(_END)
        body = page + self._element + end + rest if end else self._body
        headers = MutableHeaders(scope=start)
        if "content-length" in headers and body != self._body:
            headers["content-length"] = str(len(body))
        for name in ("etag", "last-modified"):
            del headers[name]
        await self._send(start)
        await self._send({"type": "http.response.body", "body": body})


def _is_html(start: Message) -> bool:
    headers = Headers(raw=start["headers"])
    return headers.get("content-type", "").startswith("text/html") and "content-encoding" not in headers
