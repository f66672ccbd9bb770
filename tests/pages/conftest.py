"""A database filled from the bundled benchmarks, shared by the pages' tests."""

import pytest

from leaderboard.service import Service


@pytest.fixture(scope="session")
def bundled_url(tmp_path_factory: pytest.TempPathFactory) -> str:
    url = f"sqlite:///{tmp_path_factory.mktemp('pages') / 'usl.sqlite3'}"
    Service.open(url).database.close()
    return url
