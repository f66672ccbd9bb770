"""A log that programs read: one JSON object a line for each request, page, ranking and job.

It has how long things took and how large they were, and never what people typed or uploaded: no criterion,
address, name of an LLM or text of an error, only its kind and the places in the code that it came from.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from traceback import extract_tb
from typing import Any

from leaderboard.errors import LeaderboardError

FORMAT_VARIABLE = "USL_LOG_FORMAT"
"""Environment variable: ``json`` for a log that programs read; ``text``, the default, for failures only."""
_FORMATS = ("text", "json")
_PLACES = 12
"""So many calls of a failure are told, those nearest to it."""
_EVENTS = logging.getLogger("usl.events")


def json_wanted(environment: Mapping[str, str] = os.environ) -> bool:
    """Return whether the environment asks for JSON; a LeaderboardError where it asks for something else."""
    asked = environment.get(FORMAT_VARIABLE, "").strip().casefold() or _FORMATS[0]
    if asked not in _FORMATS:
        raise LeaderboardError(f"{FORMAT_VARIABLE} is {asked!r}: write text or json.")
    return asked == "json"


def set_up() -> None:
    """Write events, and whatever else is logged by whom, as lines of JSON to standard error from now on."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    _EVENTS.setLevel(logging.INFO)


def tell(event: str, seconds: float, **about: Any) -> None:
    """Log that something was done.

    Args:
        event: What, in one word: ``request``, ``page``, ``ranking``, ``job``, ``upload``.
        seconds: How long it took.
        about: Numbers, switches and words of the project's own, nothing that somebody typed; None for what
            is not known.
    """
    if _EVENTS.isEnabledFor(logging.INFO):
        known = {name: value for name, value in about.items() if value is not None}
        _EVENTS.info(event, extra={"about": {"event": event, "seconds": round(seconds, 4), **known}})


@contextmanager
def told(event: str, **about: Any) -> Iterator[dict[str, Any]]:
    """Log how long the block took and, if it failed, by which kind of error.

    Yields:
        What else is told; the block may add to it.
    """
    began, found = perf_counter(), dict(about)
    try:
        yield found
    except Exception as error:
        found["error"] = type(error).__name__
        raise
    finally:
        tell(event, perf_counter() - began, **found)


class JsonLines(logging.Formatter):
    """One JSON object a line; of what other packages log the text without what is filled into it."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
        }
        about = getattr(record, "about", None)
        if about is None:
            about = {"event": "log", "logger": record.name, "message": str(record.msg)}
        line |= about
        if record.exc_info and record.exc_info[1] is not None:
            line |= _failure(record.exc_info[1])
        return json.dumps(line, ensure_ascii=False)


def _failure(error: BaseException) -> dict[str, Any]:
    """Return the kind of an error and where it came from, the innermost call last; not what it says."""
    calls = extract_tb(error.__traceback__)[-_PLACES:]
    places = [f"{Path(call.filename).name}:{call.lineno} {call.name}" for call in calls]
    return {"error": type(error).__name__, "places": places}
