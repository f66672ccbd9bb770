import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from db import Database
from tests.precompute import samples


@pytest.fixture(scope="session")
def empty_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("template") / "usl.sqlite3"
    Database.open(f"sqlite:///{path}").close()
    return path


@pytest.fixture
def database(empty_file: Path, tmp_path: Path) -> Iterator[Database]:
    opened = Database.open(f"sqlite:///{shutil.copy(empty_file, tmp_path / 'usl.sqlite3')}")
    yield opened
    opened.close()


@pytest.fixture
def fitted() -> samples.RecordingRepresentation:
    return samples.RecordingRepresentation(**samples.fitted())


@pytest.fixture
def embed() -> samples.WordEmbedding:
    return samples.WordEmbedding()
