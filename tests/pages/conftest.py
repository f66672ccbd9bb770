"""The app on the bundled benchmarks, for tests that change nothing stored."""

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

APP = str(Path(__file__).parents[2] / "app.py")


@pytest.fixture(scope="session")
def bundled_url(bundled_file: Path) -> str:
    """The address of the shared database of bundled benchmarks."""
    return f"sqlite:///{bundled_file}"


@pytest.fixture
def app(bundled_url: str, monkeypatch: pytest.MonkeyPatch) -> AppTest:
    """A new session of the app. A page link needs the navigation, so pages are opened through the app."""
    monkeypatch.setenv("USL_DATABASE_URL", bundled_url)
    app = AppTest.from_file(APP, default_timeout=120)
    app.session_state["draw_seed"] = 0  # what is drawn for a visitor is else drawn anew for each
    return app
