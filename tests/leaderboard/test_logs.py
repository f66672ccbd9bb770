"""Lines of JSON for programs, in which nobody's words stand."""

import json
import logging
from collections.abc import Iterator
from io import StringIO

import pytest

from crm.criteria import CriteriaSet
from leaderboard import logs
from leaderboard.errors import LeaderboardError
from leaderboard.limits import reading
from leaderboard.service import Service
from leaderboard.view import View
from tests.judges import SlowCRM, register

SECRET = "Zebrafish metaphors"


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> Iterator[StringIO]:
    """What is logged as JSON."""
    stream = StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    root, events = logging.getLogger(), logging.getLogger("usl.events")
    handlers, level = root.handlers[:], root.level
    logs.set_up()
    yield stream
    for handler in root.handlers[:]:
        root.removeHandler(handler)
    for handler in handlers:
        root.addHandler(handler)
    root.setLevel(level)
    events.setLevel(logging.NOTSET)


def lines(written: StringIO) -> list[dict[str, object]]:
    return [json.loads(line) for line in written.getvalue().splitlines()]


def test_a_ranking_is_told_with_its_size_and_whether_it_was_there(
    service: Service, written: StringIO
) -> None:
    view = View("dailybench", criteria=CriteriaSet.of([SECRET, "Warm"]), keep_unjudged=True)
    service.leaderboard(view)
    service.leaderboard(view)

    first, second = lines(written)
    assert first["event"] == "ranking"
    sizes = {name: first[name] for name in ("benchmark", "judge", "llms", "queries", "criteria", "topics")}
    assert sizes == {
        "benchmark": "dailybench",
        "judge": "embedded",
        "llms": 7,
        "queries": 522,
        "criteria": 2,
        "topics": 0,
    }
    assert (first["cached"], second["cached"]) == (False, True)
    assert float(str(first["seconds"])) >= 0
    assert str(first["time"]).endswith("+00:00")
    assert "zebrafish" not in written.getvalue().casefold()


def test_a_failure_is_told_by_its_kind(service: Service, written: StringIO) -> None:
    with pytest.raises(LeaderboardError):
        service.leaderboard(View("dailybench", topics=(SECRET,)))

    [line] = lines(written)
    assert line["error"] == "LeaderboardError"
    assert "benchmark" not in line
    assert "zebrafish" not in written.getvalue().casefold()


def test_a_job_is_told_when_it_pauses_or_ends(
    service: Service, written: StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    register(monkeypatch, SlowCRM())
    view = View("dailybench", crm="slow", criteria=CriteriaSet.of([SECRET]))
    service.leaderboard(view, patience=30)

    jobs = [line for line in lines(written) if line["event"] == "job"]
    assert jobs
    assert jobs[0]["judge"] == "slow"
    assert int(str(jobs[0]["verdicts"])) > 0
    assert "zebrafish" not in written.getvalue().casefold()


def test_an_upload_is_told_with_how_long_it_waited(written: StringIO) -> None:
    with pytest.raises(LeaderboardError), reading():
        raise LeaderboardError(f"{SECRET}.csv, row 3: no response.")

    [line] = [line for line in lines(written) if line["event"] == "upload"]
    assert line["error"] == "LeaderboardError"
    assert float(str(line["waited"])) >= 0
    assert "zebrafish" not in written.getvalue().casefold()


def test_what_others_log_has_neither_arguments_nor_the_words_of_an_error(written: StringIO) -> None:
    logger = logging.getLogger("somebody.else")
    try:
        raise ValueError(SECRET)
    except ValueError:
        logger.exception("It failed for %s", SECRET)

    [line] = lines(written)
    assert (line["event"], line["logger"], line["level"]) == ("log", "somebody.else", "error")
    assert (line["message"], line["error"]) == ("It failed for %s", "ValueError")
    assert "test_logs.py" in str(line["places"])
    assert "zebrafish" not in written.getvalue().casefold()


def test_without_the_setting_nothing_is_told(service: Service, caplog: pytest.LogCaptureFixture) -> None:
    service.leaderboard(View("dailybench"))

    assert not caplog.records


@pytest.mark.parametrize(
    ("value", "wanted"), [("", False), ("text", False), ("json", True), (" JSON ", True)]
)
def test_the_format_is_a_setting(value: str, wanted: bool) -> None:
    assert logs.json_wanted({logs.FORMAT_VARIABLE: value}) is wanted


def test_another_format_is_refused() -> None:
    with pytest.raises(LeaderboardError, match="USL_LOG_FORMAT is 'xml': write text or json"):
        logs.json_wanted({logs.FORMAT_VARIABLE: "xml"})
