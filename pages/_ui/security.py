"""What browsers are told about the pages, so that a flaw in them does less harm (OWASP Secure Headers)."""

from __future__ import annotations

from urllib.parse import parse_qs

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

# Streamlit runs the scripts of elements in the page, loads those of components from blobs, and compiles
# WebAssembly. It needs no eval and nothing of another host: it asks Google for icons of pages, in vain.
_POLICY = {
    "default-src": "'self'",
    "script-src": "'self' 'unsafe-inline' 'wasm-unsafe-eval' blob:",
    "style-src": "'self' 'unsafe-inline'",
    "img-src": "'self' data: blob:",
    "font-src": "'self' data:",
    "connect-src": "'self'",
    "object-src": "'none'",
    "base-uri": "'self'",
    "form-action": "'self'",
}
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "Cross-Origin-Opener-Policy": "same-origin",
}


class SecurityHeaders:
    """Middleware that adds the headers to every answer, and to pages the content security policy."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer as ASGI asks for (asgi.readthedocs.io)."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        policy = content_security_policy(framed=_may_be_framed(scope))

        async def send_safer(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("Content-Security-Policy", policy)
            await send(message)

        await self._app(scope, receive, send_safer)


def content_security_policy(*, framed: bool) -> str:
    """Return the policy; pages of others may show a page in a frame only if it is made for that."""
    parts = _POLICY | {"frame-ancestors": "*" if framed else "'self'"}
    return "; ".join(f"{name} {value}" for name, value in parts.items())


def _may_be_framed(scope: Scope) -> bool:
    """Return whether this is the part of a page that “Embed” gives the address of."""
    asked = parse_qs(scope.get("query_string", b"").decode("latin-1"))
    return "true" in asked.get("embed", [])
