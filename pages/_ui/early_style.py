"""The style sheet in the page that the browser loads first.

Streamlit has no place for a style sheet but among what a page draws, which the browser shows half a second
after the grey bars and the title: whatever the sheet moves, such as the bar over all pages, jumps then.
"""

from __future__ import annotations

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_END = b"</body>"
_OF_THE_WHOLE = ("accept-encoding", "if-none-match", "if-modified-since", "range")
"""Headers that ask for less than the page as it is: compressed, only if it has changed, or a part of it."""


class EarlyStyle:
    """Middleware that puts a style sheet at the end of every page of HTML.

    There it comes after those that Streamlit writes into the head, and wins over rules as specific.

    Args:
        app: What answers.
        style: CSS.
    """

    def __init__(self, app: ASGIApp, style: str) -> None:
        self._app = app
        self._element = f"<style>{style}</style>".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer as ASGI asks for (asgi.readthedocs.io)."""
        if scope["type"] == "http" and "text/html" in Headers(scope=scope).get("accept", ""):
            asked = {**scope, "headers": list(scope["headers"]), "extensions": {}}
            for name in _OF_THE_WHOLE:
                del MutableHeaders(scope=asked)[name]
            await self._app(asked, receive, _Styled(send, self._element))
        else:
            await self._app(scope, receive, send)


class _Styled:
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
                await self._send_styled(self._start)

    async def _send_styled(self, start: Message) -> None:
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
