"""What one client may ask for, so that programs cannot make the pages slow."""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Any, TypeVar

from anyio import CapacityLimiter, to_thread
from fastapi import HTTPException, Request
from fastapi.routing import APIRoute
from starlette.types import Receive, Scope, Send

from leaderboard.errors import BusyError
from parsing.documents import read_json
from parsing.limits import ParseError

MAX_CRITERIA = 50
"""Wanted ones and ones to avoid, each."""
MAX_CRITERION = 340
"""Characters of a criterion with its flags, as a link has it; of its text as of any, 300."""
MAX_WITH_NAMES = 4000
"""The same with the categories that it is for."""
MAX_NAME = 200
"""Characters of the name of a topic, an LLM, a judge, an organisation."""
MAX_NAMES = 100
"""Names in one list."""
MAX_PAIRS = 32
"""To be scored in one request."""
MAX_TEXT = 20_000
"""Characters of a query or a response that is to be scored."""
MAX_BODY = 2_000_000
"""Bytes of a request."""
AT_ONCE = 2
"""Requests that are worked on at the same time."""
MOST_WAITING = 32
RETRY_SECONDS = 5

_NETWORK = 64
"""Bits that the addresses of one connection have in common under IPv6."""

T = TypeVar("T")


def client_of(request: Request) -> str:
    """Return who asks: their address, or of IPv6 the network from which they can take any.

    Behind a proxy that the server trusts this is the address that the proxy tells (docs/deploying.md).
    """
    if request.client is None:
        return ""
    try:
        address = ip_address(request.client.host)
    except ValueError:  # a socket of this machine
        return request.client.host
    if not isinstance(address, IPv6Address):
        return str(address)
    mapped = address.ipv4_mapped
    return str(mapped or ip_network((address, _NETWORK), strict=False))


class Desk:
    """Where requests that need work are dealt with, a few at a time, each in a thread."""

    def __init__(self, at_once: int = AT_ONCE, most_waiting: int = MOST_WAITING) -> None:
        """Let so many be worked on at the same time, and so many wait for that."""
        self._limiter = CapacityLimiter(at_once)
        self._most_waiting = most_waiting

    async def do(self, work: Callable[[], T]) -> T:
        """Return what the work returns; a BusyError if too many wait already."""
        if self._limiter.statistics().tasks_waiting >= self._most_waiting:
            raise BusyError(f"Too many requests are waiting: ask again in {RETRY_SECONDS} seconds.")
        return await to_thread.run_sync(work, limiter=self._limiter)


class LimitedRequest(Request):
    """A request whose body is read within limits, its JSON within those of ``parsing``."""

    async def body(self) -> bytes:
        """Return the body; an HTTPException of status 413 if it is larger than ``MAX_BODY``."""
        if not hasattr(self, "_body"):
            read = bytearray()
            async for chunk in self.stream():
                read += chunk
                if len(read) > MAX_BODY:
                    raise HTTPException(413)
            self._body = bytes(read)
        return self._body

    async def json(self) -> Any:
        """Return the value in the body; an HTTPException of status 400 if it is none that is read."""
        try:
            return read_json(await self.body(), finite=True)
        except ParseError as error:
            raise HTTPException(400, f"The body cannot be read as JSON: {error}.") from None


class LimitedRoute(APIRoute):
    """A route whose requests are ``LimitedRequest``."""

    def get_route_handler(self) -> Callable[[Request], Any]:
        """Return the handler of FastAPI for such requests."""
        handler = super().get_route_handler()

        async def limited(request: Request) -> Any:
            scope: Scope = request.scope
            receive: Receive = request.receive
            send: Send = request._send
            return await handler(LimitedRequest(scope, receive, send))

        return limited
