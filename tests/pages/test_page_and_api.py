"""What the page shows is what programs are told of the same view."""

import re
from html import unescape
from typing import Any
from urllib.parse import urlencode

import pytest
from starlette.testclient import TestClient
from streamlit.testing.v1 import AppTest

from api.http import application
from api.settings import Settings
from leaderboard.service import Service
from tests.pages.opening import open_view

WISH = "Short answers\nAvoid: emojis"
TOPICS = ["Education & Learning", "Lifestyle & Hobbies"]
_ROW = re.compile(r'<tr data-llm="([^"]*)">(.*?)</tr>', re.DOTALL)
_CELL = re.compile(r"<t[dh]\b[^>]*>(.*?)</t[dh]>", re.DOTALL)


@pytest.fixture(scope="module")
def client(service: Service) -> TestClient:
    """The API with a service of its own, so that nothing that the page computed answers for it."""
    return TestClient(application(lambda: service, Settings()), "http://testserver/")


def cells(row: str) -> list[str]:
    """What stands in a row of a table, as it is read."""
    return [unescape(re.sub(r"<[^>]*>", "", cell)).strip() for cell in _CELL.findall(row)]


def shown(page: AppTest, table: str) -> list[dict[str, str]]:
    """The rows of a table, each as its cells by heading, and its LLM as “llm”."""
    [body] = [element.body for element in page.get("html") if f'data-testid="{table}"' in element.body]
    headings = cells(body.partition("</thead>")[0])
    return [
        {"llm": unescape(llm), **dict(zip(headings, cells(row), strict=True))}
        for llm, row in _ROW.findall(body)
    ]


def told(client: TestClient, page: AppTest) -> list[dict[str, Any]]:
    """What the API answers to the page's own link."""
    answer = client.get(f"rank?{urlencode(dict(page.query_params), doseq=True)}")
    assert answer.status_code == 200, answer.text
    rows: list[dict[str, Any]] = answer.json()["ranking"]
    return rows


def percent(share: float, digits: int = 0) -> Any:
    """A share of the API, which has two digits of a percent, as one of the page, which has fewer."""
    return pytest.approx(100 * share, abs=0.5 * 10**-digits + 0.006)


def test_a_typed_wish_has_the_ranks_win_rates_and_intervals_of_the_api(
    app: AppTest, client: TestClient
) -> None:
    open_view(app, benchmark="alpaca-eval", topic=TOPICS)
    app.text_area(key="criteria_text").set_value(WISH).run()
    assert not app.exception
    rows = told(client, app)
    listed = [row for row in rows if not row["under_floor"]]
    apart = [row for row in rows if row["under_floor"]]
    assert (len(listed), len(apart)) == (25, 22)

    for row, seen in zip(listed, shown(app, "ranking"), strict=True):
        assert (seen["llm"], int(seen["Rank"])) == (row["llm"], row["rank"])
        assert float(seen["Score"]) == percent(row["win_rate"], 1)
        low, high = map(float, seen["Likely range"].split("–"))
        assert (low, high) == (percent(row["ci_low"]), percent(row["ci_high"]))
        assert [float(seen[topic]) for topic in TOPICS] == [percent(row["categories"][t]) for t in TOPICS]
    for row, seen in zip(apart, shown(app, "under-floor"), strict=True):
        assert (seen["llm"], int(seen["Would be"])) == (row["llm"], row["rank_without_floor"])
        assert float(seen["Score"]) == percent(row["win_rate"], 1)
