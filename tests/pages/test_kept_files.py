"""Files that Streamlit keeps in memory: so much for a session, and so much for all."""

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.testclient import TestClient

from pages._ui.kept_files import LimitsKeptFiles, kept_by_session

MB = 2**20


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    monkeypatch.setenv("USL_UPLOAD_MEGABYTES", "2")
    monkeypatch.setenv("USL_UPLOAD_MEGABYTES_OF_ALL", "3")
    return {}


@pytest.fixture
def client(kept: dict[str, int]) -> TestClient:
    async def take(request: Request) -> Response:
        session = request.path_params["session"]
        kept[session] = kept.get(session, 0) + len(await request.body())
        return Response(status_code=204)

    app = Starlette(
        routes=[
            Route("/_stcore/upload_file/{session}/{file}", take, methods=["PUT", "DELETE"]),
            Route("/other/{session}", take, methods=["PUT"]),
        ]
    )
    return TestClient(LimitsKeptFiles(app, lambda: kept))


def put(
    client: TestClient, session: str, size: int, path: str = "/_stcore/upload_file/{}/a"
) -> tuple[int, str]:
    answer = client.put(path.format(session), content=bytes(size))
    return answer.status_code, answer.text


def test_a_session_sends_only_so_much_and_all_together_so_much(
    client: TestClient, kept: dict[str, int]
) -> None:
    assert [put(client, "one", MB)[0] for _ in range(2)] == [204, 204]
    assert put(client, "one", 1) == (
        413,
        "A session keeps files of up to 2 MB: reload the page to begin anew.",
    )
    assert put(client, "two", MB)[0] == 204
    status, said = put(client, "three", MB)
    assert (status, "All visitors together keep files of up to 3 MB" in said) == (413, True)
    assert put(client, "one", MB, "/other/{}")[0] == 204
    assert client.delete("/_stcore/upload_file/one/a").status_code == 204
    kept.clear()  # as when the sessions have ended
    assert put(client, "three", MB)[0] == 204


def test_a_file_that_does_not_say_its_size_counts_as_the_largest(client: TestClient) -> None:
    answer = client.put("/_stcore/upload_file/one/a", content=iter([b"x"]))
    assert answer.status_code == 413


def test_without_streamlit_nothing_is_kept() -> None:
    assert kept_by_session() == {}
