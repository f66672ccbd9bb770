"""The database that the pages' tests open."""

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def bundled_url(bundled_file: Path) -> str:
    """The address of the shared database of bundled benchmarks."""
    return f"sqlite:///{bundled_file}"
