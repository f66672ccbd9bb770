"""Figures for Prometheus: counted by part, never by what somebody asked for."""

import pytest
from prometheus_client.parser import text_string_to_metric_families
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.testclient import TestClient

from api.http import application
from api.metrics import Metrics, ObservesRequests, part_of
from api.settings import Settings
from leaderboard.service import Service


def fail(_: Request) -> Response:
    raise RuntimeError


@pytest.fixture
def client(service: Service) -> TestClient:
    metrics = Metrics(lambda: service)
    routes = [
        Mount("/api/v1", app=application(lambda: service, Settings())),
        Route("/metrics", metrics.page),
        Route("/fails", fail),
        Route("/", lambda _: PlainTextResponse("page")),
    ]
    app = Starlette(routes=routes, middleware=[Middleware(ObservesRequests, observers=[metrics.observe])])
    return TestClient(app, raise_server_exceptions=False)


def figures(client: TestClient) -> dict[tuple[str, ...], float]:
    """All figures by their name and labels, in the order of the labels' names."""
    answer = client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    return {
        (sample.name, *(sample.labels[name] for name in sorted(sample.labels))): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


def test_what_caches_had_and_what_was_computed_is_counted(client: TestClient) -> None:
    def asked(outcome: str) -> float:
        return figures(client)["usl_cache_results_total", "benchmarks", outcome]

    client.get("/api/v1/rank?benchmark=dailybench&criterion=Warm")
    hits, misses = asked("hit"), asked("miss")
    client.get("/api/v1/rank?benchmark=dailybench&criterion=Friendly")
    assert asked("hit") > hits
    assert asked("miss") == misses >= 1
    found = figures(client)
    assert found["usl_cache_kept", "benchmarks"] >= 1
    assert found["usl_cache_bytes", "benchmarks"] > 1_000_000
    assert found["usl_cache_bytes", "leaderboards"] > found["usl_cache_kept", "leaderboards"] >= 2


def test_requests_are_counted_with_their_status_and_time(client: TestClient) -> None:
    client.get("/")
    client.get("/api/v1/rank?benchmark=dailybench&criterion=Warm")
    client.get("/api/v1/rank?benchmark=nope")
    client.get("/api/v1/secret")
    client.get("/fails")
    found = figures(client)

    assert found["usl_http_requests_total", "GET", "page", "200"] == 1
    assert found["usl_http_requests_total", "GET", "api rank", "200"] == 1
    assert found["usl_http_requests_total", "GET", "api rank", "404"] == 1
    assert found["usl_http_requests_total", "GET", "api", "404"] == 1
    assert found["usl_http_requests_total", "GET", "page", "500"] == 1
    assert found["usl_http_request_seconds_count", "api rank"] == 2
    assert found["usl_http_request_seconds_sum", "api rank"] > 0


def test_jobs_and_memory_are_told(client: TestClient) -> None:
    found = figures(client)

    assert (found["usl_jobs", "running"], found["usl_jobs", "waiting"]) == (0, 0)
    assert found[("process_resident_memory_bytes",)] > 1e7


@pytest.mark.parametrize(
    ("path", "part"),
    [
        ("/", "page"),
        ("/llm", "page"),
        ("/whatever/I/typed", "page"),
        ("/_stcore/health", "streamlit"),
        ("/static/js/x.js", "static"),
        ("/api/v1/rank", "api rank"),
        ("/api/v1/my secret", "api"),
    ],
)
def test_addresses_are_counted_by_part(path: str, part: str) -> None:
    assert part_of(path) == part


def test_nothing_that_was_typed_is_told(client: TestClient) -> None:
    client.request("SECRET", "/secret?criterion=secret")

    assert "secret" not in client.get("/metrics").text.casefold()
