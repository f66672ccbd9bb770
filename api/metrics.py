"""Figures on the running server for Prometheus: requests, slow judges, caches, memory, processor time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from time import perf_counter
from typing import TypeAlias

from prometheus_client import CollectorRegistry, Counter, Histogram, PlatformCollector, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import generate_latest
from prometheus_client.registry import Collector
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.http import PATH as API
from leaderboard.logs import tell
from leaderboard.service import Service

PATH = "/metrics"
_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_PARTS = {f"{API}/": "api", "/_stcore/": "streamlit", "/static/": "static", "/media/": "media"}
"""Beginnings of addresses, and what they are counted as; no figure holds what somebody asked for."""
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"})


class Metrics:
    """The figures of one server.

    Args:
        service: Returns what is served, once there is something; its jobs are counted.
    """

    def __init__(self, service: Callable[[], Service]) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "usl_http_requests",
            "Requests that were answered.",
            ("part", "method", "status"),
            registry=self._registry,
        )
        self._seconds = Histogram(
            "usl_http_request_seconds", "Time until an answer was sent.", ("part",), registry=self._registry
        )
        self._registry.register(_Jobs(service))
        self._registry.register(_Caches(service))
        ProcessCollector(registry=self._registry)
        PlatformCollector(registry=self._registry)

    def page(self, _: Request) -> Response:
        """Return all figures in Prometheus' text format."""
        return Response(generate_latest(self._registry), media_type=_TYPE)

    def observe(self, part: str, method: str, status: int, seconds: float) -> None:
        """Count one request."""
        self._requests.labels(part, method if method in _METHODS else "other", status).inc()
        self._seconds.labels(part).observe(seconds)


Observe: TypeAlias = Callable[[str, str, int, float], None]
"""Told of each request: its part, its method, the status of the answer, and the seconds until it was sent."""


def log_request(part: str, method: str, status: int, seconds: float) -> None:
    """Log one request; of an address only its part, as the rest is what somebody asked for."""
    tell("request", seconds, part=part, method=method if method in _METHODS else "other", status=status)


class ObservesRequests:
    """Middleware that tells of requests.

    Args:
        app: What answers.
        observers: Who is told.
    """

    def __init__(self, app: ASGIApp, observers: Sequence[Observe]) -> None:
        self._app, self._observers = app, observers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer as ASGI asks for (asgi.readthedocs.io)."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = perf_counter(), 500

        async def send_counted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, send_counted)
        finally:
            part, seconds = part_of(scope["path"]), perf_counter() - began
            for observe in self._observers:
                observe(part, scope["method"], status, seconds)


def part_of(path: str) -> str:
    """Return what an address is counted as: of the API its route, else a word; never what somebody typed."""
    for beginning, part in _PARTS.items():
        if path.startswith(beginning):
            route = path.removeprefix(beginning)
            return f"api {route}" if part == "api" and route in _ROUTES else part
    return "page"


_ROUTES = frozenset({"benchmarks", "topics", "llms", "rank", "score", "openapi.json"})


class _Jobs(Collector):
    """How many score matrices of slow judges are filled, and how many wait for that."""

    def __init__(self, service: Callable[[], Service]) -> None:
        self._service = service

    def collect(self) -> Iterator[Metric]:
        """Yield the figures."""
        family = GaugeMetricFamily("usl_jobs", "Score matrices of slow judges.", labels=["state"])
        for state, number in self._service().jobs().items():
            family.add_metric([state.value], number)
        yield family


class _Caches(Collector):
    """What the caches of results have done; a ranking whose parts are there takes no time."""

    def __init__(self, service: Callable[[], Service]) -> None:
        self._service = service

    def collect(self) -> Iterator[Metric]:
        """Yield the figures."""
        asked = CounterMetricFamily(
            "usl_cache_results", "Results that were asked for.", labels=["cache", "outcome"]
        )
        kept = GaugeMetricFamily("usl_cache_kept", "Results that are kept in memory.", labels=["cache"])
        size = GaugeMetricFamily("usl_cache_bytes", "Bytes that these take, about.", labels=["cache"])
        for name, figures in self._service().caches().items():
            asked.add_metric([name, "hit"], figures.hits)
            asked.add_metric([name, "miss"], figures.misses)
            kept.add_metric([name], figures.kept)
            size.add_metric([name], figures.size)
        yield asked
        yield kept
        yield size
