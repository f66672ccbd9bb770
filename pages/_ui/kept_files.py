"""How much the files have that visitors sent and Streamlit keeps in memory, and an end to it.

Streamlit limits each file, not how many a session sends, and keeps them until the session has ended.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import streamlit as st
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from streamlit import runtime

from leaderboard.limits import Limits

_PATH = "/_stcore/upload_file/"
_MB = 2**20
_DIGITS = 18


def kept_by_session() -> dict[str, int]:
    """Return how many bytes the files of each session have that Streamlit keeps."""
    if not runtime.exists():
        return {}
    manager = runtime.get_instance().uploaded_file_mgr
    kept: Mapping[str, Mapping[str, Any]] = getattr(manager, "file_storage", {})
    return {session: sum(len(file.data) for file in [*files.values()]) for session, files in [*kept.items()]}


class LimitsKeptFiles:
    """Middleware that refuses a file where a session, or all together, would have too much kept.

    Args:
        app: What takes files.
        kept: Returns the bytes that are kept of each session.
    """

    def __init__(self, app: ASGIApp, kept: Callable[[], Mapping[str, int]] = kept_by_session) -> None:
        self._app, self._kept = app, kept
        self._arriving: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer as ASGI asks for (asgi.readthedocs.io)."""
        _, is_file, place = scope.get("path", "").partition(_PATH)
        if scope["type"] != "http" or not is_file or scope["method"] != "PUT":
            await self._app(scope, receive, send)
            return
        session, size = place.split("/")[0], _size(Headers(scope=scope))
        if refused := self._refusal(session, size):
            await PlainTextResponse(refused, 413)(scope, receive, send)
            return
        self._arriving[session] += size
        try:
            await self._app(scope, receive, send)
        finally:
            self._arriving[session] -= size
            if not self._arriving[session]:
                del self._arriving[session]

    def _refusal(self, session: str, size: int) -> str:
        """Return why a file of this size is not taken, in a sentence; empty if it is."""
        limits, kept = Limits.from_environment(), Counter(self._kept()) + self._arriving
        of_one, of_all = limits.upload_megabytes, limits.upload_megabytes_of_all
        if kept[session] + size > of_one * _MB:
            return f"A session keeps files of up to {of_one:,} MB: reload the page to begin anew."
        if kept.total() + size > of_all * _MB:
            return (
                f"All visitors together keep files of up to {of_all:,} MB, which is reached: wait a little."
            )
        return ""


def _size(headers: Headers) -> int:
    """Return how many bytes a request says that it has; as many as a file may have if it does not say."""
    most = int(st.get_option("server.maxUploadSize")) * _MB
    said = headers.get("content-length", "")
    return min(int(said), most) if said.isascii() and said.isdigit() and len(said) <= _DIGITS else most
