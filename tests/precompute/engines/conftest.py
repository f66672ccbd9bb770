import os
from collections.abc import Iterator

import pytest

from precompute.engines import Engine, EngineKind, EngineOptions, LocalEngine, open_engine

KEY_VARIABLE = "USL_TEST_KEY_OF_RAY"
SECRET = "sk-for-the-actors-alone-4711"


@pytest.fixture(scope="session")
def on_ray() -> Iterator[Engine]:
    """Ray on this computer with two actors; commands that ask for Ray use it while it runs."""
    os.environ[KEY_VARIABLE] = SECRET
    with open_engine(EngineOptions(EngineKind.RAY, workers=2)) as engine:
        del os.environ[KEY_VARIABLE]
        yield engine


@pytest.fixture(scope="session")
def in_processes() -> Iterator[Engine]:
    """Two processes of this computer."""
    with open_engine(EngineOptions(EngineKind.PROCESSES, workers=2)) as engine:
        yield engine


@pytest.fixture(params=["processes", "ray"])
def elsewhere(request: pytest.FixtureRequest) -> Engine:
    """Each engine that works in other processes."""
    opened: Engine = request.getfixturevalue("on_ray" if request.param == "ray" else "in_processes")
    return opened


@pytest.fixture(params=["local", "processes", "ray"])
def engine(request: pytest.FixtureRequest) -> Engine:
    """Each engine in turn."""
    if request.param == "local":
        return LocalEngine()
    opened: Engine = request.getfixturevalue("on_ray" if request.param == "ray" else "in_processes")
    return opened
