import re
import zlib
from collections.abc import Mapping
from pathlib import Path

import pytest
import streamlit
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from pages._ui.first_page import FirstPage, charts_ahead, elements_ahead, style_element

CODE = Path(streamlit.__file__).parent / "static" / "static" / "js"
STYLE = "h1 { color: “green” }"
PAGE = "<html><body><div id='root'>ü</div></body></html>"
STYLED = f"<html><body><div id='root'>ü</div><style>{STYLE}</style></body></html>"
BROWSER = {"accept": "text/html,application/xhtml+xml;q=0.9", "accept-encoding": "gzip"}


def page(request: Request) -> Response:
    if request.headers.get("if-none-match") == "mark":
        return Response(status_code=304, headers={"etag": "mark"})
    return HTMLResponse(PAGE, headers={"etag": "mark"})


async def in_parts(_: Request) -> Response:
    async def parts():
        for start in range(0, len(PAGE), 7):
            yield PAGE[start : start + 7]

    return StreamingResponse(parts(), media_type="text/html")


def packed(_: Request) -> Response:
    compressor = zlib.compressobj(wbits=31)
    body = compressor.compress(PAGE.encode()) + compressor.flush()
    return Response(body, media_type="text/html", headers={"content-encoding": "gzip"})


@pytest.fixture
def client() -> TestClient:
    answers = {
        "/": page,
        "/parts": in_parts,
        "/packed": packed,
        "/data": lambda _: JSONResponse({"page": PAGE}),
        "/piece": lambda _: HTMLResponse("<p>no body</p>"),
    }
    middleware = [Middleware(FirstPage, end=style_element(STYLE)), Middleware(GZipMiddleware, minimum_size=1)]
    return TestClient(Starlette(routes=[Route(*route) for route in answers.items()], middleware=middleware))


def got(client: TestClient, path: str, more: Mapping[str, str] = {}) -> str:
    answer = client.get(path, headers={**BROWSER, **more})
    assert answer.status_code == 200
    if "content-encoding" not in answer.headers:
        assert int(answer.headers.get("content-length", len(answer.content))) == len(answer.content)
    return answer.text


@pytest.mark.parametrize("path", ["/", "/parts"])
def test_stands_at_the_end_of_a_page(client: TestClient, path: str) -> None:
    assert got(client, path) == STYLED


def test_a_page_is_never_taken_for_the_one_without_it(client: TestClient) -> None:
    assert got(client, "/", {"if-none-match": "mark"}) == STYLED
    assert "etag" not in client.get("/", headers=BROWSER).headers


def test_what_has_no_body_or_is_packed_all_the_same_is_as_it_was(client: TestClient) -> None:
    assert got(client, "/piece") == "<p>no body</p>"
    assert got(client, "/packed") == PAGE


def test_what_is_no_page_is_as_it_was(client: TestClient) -> None:
    assert client.get("/data", headers=BROWSER).json() == {"page": PAGE}
    plain = client.get("/", headers={"accept": "*/*", "accept-encoding": "gzip"})
    assert (plain.text, plain.headers["etag"]) == (PAGE, "mark")
    assert plain.headers["content-encoding"] == "gzip"


def test_the_code_of_charts_is_where_the_page_looks_for_it() -> None:
    found = re.search(r'import\("\./static/js/(.+?)"\)', charts_ahead())
    assert found is not None
    assert (CODE / found[1]).is_file()


def test_the_code_of_elements_is_where_the_page_looks_for_it() -> None:
    names = re.findall(r'href="\./static/js/(.+?)"', elements_ahead())
    assert all((CODE / name).is_file() for name in names)
    assert {name.partition(".")[0] for name in names} > {"Button", "Checkbox", "Selectbox", "TextArea"}
    assert len(names) == len(set(names))
