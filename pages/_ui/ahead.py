"""What a server does before anybody comes."""

from __future__ import annotations

from contextlib import suppress
from threading import Thread

from leaderboard.view import View
from pages._ui.session import SHOWN_ERRORS, shared_service


def prepare_first_page() -> None:
    """Have the database opened, the code of the first page loaded and its ranking made, in the background.

    The first browser loads Streamlit's code meanwhile. What fails here is said on the page.
    """
    Thread(target=_prepare, name="first page", daemon=True).start()


def _prepare() -> None:
    import pages._ui.ranking_tabs  # noqa: F401, PLC0415  # takes long to import

    with suppress(*SHOWN_ERRORS):
        service = shared_service()
        service.leaderboard(View(service.first_benchmark()))
