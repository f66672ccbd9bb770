"""The routes below ``/api/v1``: rankings, LLMs, benchmarks, topics and verdicts for programs.

Whatever is wrong with a request is said in one sentence, ``{"error": …}``, with a status of 4xx.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Annotated, Any, TypeAlias

from fastapi import Body, FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware

from api import replies
from api.asked import BenchmarkQuery, RankQuery, ReplyFormat, benchmark_or_first
from api.limits import MAX_BODY, RETRY_SECONDS, Desk, LimitedRoute, client_of
from api.settings import JUDGES_VARIABLE, Settings
from crm.errors import CRMError, UnavailableError
from crm.registry import get_crm
from db import DatabaseError
from db.errors import NotFoundError
from leaderboard.citation import version
from leaderboard.errors import BusyError, ClientBusyError, LeaderboardError
from leaderboard.file_formats import FileFormat, file_of
from leaderboard.ranked import Ranked, rank_view
from leaderboard.scoring_jobs.progress import State
from leaderboard.scoring_jobs.scheduler import subscriber_of
from leaderboard.service import Service
from parsing.messages import shown

PATH = "/api/v1"
"""Where the routes are mounted."""
PATIENCE = 1.0
"""Seconds to wait for a judge that needs time, before the answer is that it is at work."""

Responses: TypeAlias = dict[int | str, dict[str, Any]]

_PROBLEM: dict[str, Any] = {"model": replies.Problem}
_UNABLE: Responses = {
    503: _PROBLEM | {"description": "Too many requests wait, or what is needed does not answer."}
}
_NO_SUCH: Responses = {404: _PROBLEM | {"description": "There is no such benchmark."}}
_WRONG: Responses = {422: _PROBLEM | {"description": "Something is asked for that cannot be."}}
_BODY: Responses = {
    400: _PROBLEM | {"description": "The body is no JSON, or none that is read."},
    413: _PROBLEM | {"description": f"The body has more than {MAX_BODY:,} bytes."},
}
_SAME: Responses = {304: {"description": "It is still what the ETag in If-None-Match stands for."}}
_STATUS: tuple[tuple[type[Exception], int], ...] = (
    (NotFoundError, 404),
    (ClientBusyError, 429),
    (BusyError, 503),
    (UnavailableError, 503),
    (DatabaseError, 503),
    (LeaderboardError, 422),
    (CRMError, 422),
)
"""First match counts."""


def application(service: Callable[[], Service], settings: Settings | None = None) -> FastAPI:
    """Return the application to be mounted at ``PATH``.

    Args:
        service: Returns what rankings are made by; asked at the first request.
        settings: By default what the environment says.
    """
    decided = settings or Settings.from_environment()
    app = FastAPI(
        title="User-centric Subjective Leaderboard",
        version=version(),
        description="Ranks LLMs for one person, by topics and criteria in their own words.",
        docs_url=None,  # they load scripts of other hosts
        redoc_url=None,
        responses={**_WRONG, **_UNABLE},
    )
    app.router.route_class = LimitedRoute
    if decided.origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=decided.origins,
            allow_methods=["GET", "POST"],
            allow_headers=["If-None-Match", "Content-Type"],
            expose_headers=["ETag", "Location", "Retry-After"],
        )
    _add_problems(app)
    _add_routes(app, service, decided, Desk())
    return app


def _add_routes(app: FastAPI, service: Callable[[], Service], settings: Settings, desk: Desk) -> None:
    @app.get("/benchmarks", response_model=replies.Benchmarks, responses=_SAME)
    async def benchmarks(request: Request) -> Response:
        """List the benchmarks."""
        return _unless_known(request, await desk.do(lambda: replies.benchmarks(service())))

    @app.get("/topics", response_model=replies.Topics, responses={**_NO_SUCH, **_SAME})
    async def topics(request: Request, asked: Annotated[BenchmarkQuery, Query()]) -> Response:
        """List categories and topics of a benchmark, by the names that rankings are asked for by."""

        def found() -> replies.Topics:
            return replies.topics(service(), benchmark_or_first(asked.benchmark, service()))

        return _unless_known(request, await desk.do(found))

    @app.get("/llms", response_model=replies.LLMs, responses={**_NO_SUCH, **_SAME})
    async def llms(request: Request, asked: Annotated[BenchmarkQuery, Query()]) -> Response:
        """List the LLMs of a benchmark with what is known of them, each fact with source and date."""

        def found() -> replies.LLMs:
            return replies.llms(service(), benchmark_or_first(asked.benchmark, service()))

        return _unless_known(request, await desk.do(found))

    @app.get(
        "/rank",
        response_model=replies.Ranking,
        responses={
            200: {"content": {"text/csv": {}}},
            202: {
                "model": replies.Ranking,
                "description": "A judge that needs time is at work: this is what there is so far, and "
                "Location says where to ask again.",
            },
            429: _PROBLEM | {"description": "The client has too many rankings at work already."},
            **_NO_SUCH,
            **_SAME,
        },
    )
    async def rank(request: Request, asked: Annotated[RankQuery, Query()]) -> Response:
        """Rank the LLMs of a benchmark for one person; takes the parameters of a link to the page."""
        return await desk.do(lambda: _rank(request, asked, service()))

    @app.post("/score", response_model=replies.Verdicts, responses=_BODY)
    async def score(asked: Annotated[replies.PairsGiven, Body()]) -> Response:
        """Judge pairs of responses by criteria."""
        if asked.crm not in settings.judges:
            able = ", ".join(settings.judges) or "none"
            raise LeaderboardError(
                f"The judge {asked.crm!r} scores no pairs here: choose among {able}, which "
                f"{JUDGES_VARIABLE} names."
            )
        return _written(await desk.do(lambda: replies.verdicts(get_crm(asked.crm), asked)))


def _rank(request: Request, asked: RankQuery, service: Service) -> Response:
    view = asked.view(service)
    asked_for = hashlib.sha256(view.to_link().encode()).hexdigest()
    subscriber = subscriber_of(f"api {client_of(request)}", asked_for)
    ranked = rank_view(service, view, subscriber=subscriber, patience=PATIENCE)
    judging = ranked.leaderboard.judging
    if judging is not None and judging.current.state is State.FAILED:
        raise UnavailableError(judging.current.message or "The judge failed: see the log of the server.")
    if judging is not None and judging.current.state is State.STOPPED:
        service.resume(view, subscriber)  # a judge pauses now and then; a program that asks says “go on”
    if judging is not None and judging.current.state is not State.FINISHED:
        return _at_work(request, ranked)
    if asked.format is ReplyFormat.JSON:
        return _unless_known(request, replies.ranking(ranked))
    listed = ranked.listed
    written = file_of(listed.leaderboard, FileFormat(asked.format.value), facts=listed.facts)
    return _unless_known(request, written, "text/csv; charset=utf-8")


def _at_work(request: Request, ranked: Ranked) -> Response:
    """Return what there is so far, and where to ask again: the same address, which goes on with the work."""
    place = f"{request.url.path}?{request.url.query}"
    found = replies.ranking(ranked).model_copy(update={"ask": place})
    headers = {"Location": place, "Retry-After": str(RETRY_SECONDS), "Cache-Control": "no-store"}
    return _written(found, status=202, headers=headers)


def _written(value: BaseModel, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    content = value.model_dump_json(exclude_unset=True).encode()
    return Response(content, status, headers, media_type="application/json")


def _unless_known(
    request: Request, value: BaseModel | bytes, media_type: str = "application/json"
) -> Response:
    """Return a value, or status 304 to a client that has it already."""
    body = value if isinstance(value, bytes) else value.model_dump_json(exclude_unset=True).encode()
    mark = f'W/"{hashlib.sha256(body).hexdigest()[:32]}"'
    headers = {"ETag": mark, "Cache-Control": "private, no-cache"}
    known = {part.strip() for part in request.headers.get("if-none-match", "").split(",")}
    if mark in known:
        return Response(status_code=304, headers=headers)
    return Response(body, headers=headers, media_type=media_type)


def _add_problems(app: FastAPI) -> None:
    """Have whatever goes wrong said in one sentence."""

    async def of_project(_: Request, error: Exception) -> Response:
        status = next(status for kind, status in _STATUS if isinstance(error, kind))
        return _problem(status, str(error))

    for kind, _ in _STATUS:
        app.add_exception_handler(kind, of_project)

    @app.exception_handler(RequestValidationError)
    async def of_values(_: Request, error: RequestValidationError) -> Response:
        return _problem(422, _in_words(error))

    @app.exception_handler(HTTPException)
    async def of_address(_: Request, error: HTTPException) -> Response:
        headers = dict(error.headers or {})
        return _problem(error.status_code, _ADDRESS.get(error.status_code, error.detail), headers)

    @app.exception_handler(Exception)
    async def unexpected(_: Request, error: Exception) -> Response:
        return _problem(500, f"This failed unexpectedly ({type(error).__name__}): see the log of the server.")


_LATER = frozenset({429, 503})
_ADDRESS = {
    404: f"There is nothing at this address: {PATH}/openapi.json describes what there is.",
    405: f"This address is not asked so: {PATH}/openapi.json describes what there is.",
    413: f"The request is too large: send at most {MAX_BODY:,} bytes.",
}


def _problem(status: int, message: str, headers: dict[str, str] | None = None) -> Response:
    more = {"Retry-After": str(RETRY_SECONDS)} if status in _LATER else {}
    body = replies.Problem(error=" ".join(shown(message).split()))
    return JSONResponse(body.model_dump(), status, {**more, **(headers or {})})


def _in_words(error: RequestValidationError) -> str:
    """Return the first of the values that are wrong, of a value that may be of several kinds the nearest."""
    first = max(error.errors(), key=lambda found: len(found["loc"]))
    place = ".".join(str(part) for part in first["loc"][1:])
    if first["type"] == "extra_forbidden":
        return f"“{place}” is nothing that can be asked for: {PATH}/openapi.json describes what there is."
    said = str(first["msg"]).rstrip(".")
    return f"{f'“{place}”' if place else 'The body'}: {said[0].lower()}{said[1:]}."
