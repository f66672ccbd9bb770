"""Streamlit's own log among the lines of JSON, and how long each run of a page took."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from streamlit import logger as streamlit_logger
from streamlit.navigation.page import Page

from leaderboard import logs

_SERVER = ("uvicorn", "uvicorn.error", "uvicorn.access", "uvicorn.asgi")


def set_up_log() -> None:
    """Have everything that this server logs written as JSON, where the environment asks for it.

    Raises:
        LeaderboardError: The environment asks for another format than there is.
    """
    if not logs.json_wanted():
        return
    logs.set_up()
    # Streamlit gives each of its loggers, also later ones, a handler of its own by this function.
    streamlit_logger.setup_formatter = _leave_to_root
    streamlit_logger.update_formatter()
    for name in _SERVER:
        _leave_to_root(logging.getLogger(name))


def _leave_to_root(logger: logging.Logger) -> None:
    logger.handlers.clear()
    logger.propagate = True


@contextmanager
def run_told(page: Page, waited: float) -> Iterator[None]:
    """Log one run of a page: which, how long it waited for its turn, how long it took, and by which kind of
    error it ended."""
    with logs.told("page", page=page.url_path or "leaderboard", waited=round(waited, 4)):
        yield
