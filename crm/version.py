"""Versions of judges: stored scores are found by them, so they change whenever a verdict could."""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache
from pathlib import Path
from typing import Any

_LENGTH = 12
_SUFFIXES = frozenset((".json", ".safetensors", ".bin", ".gguf", ".txt", ".model", ".jinja"))
"""Of the files that a model may consist of; a read-me or a picture is none."""
_FORMAT = 1
"""Raised when the code shows or reads prompts differently than before."""


def version_of(*parts: Any) -> str:
    """Return a short digest of everything that a verdict depends on; the parts are what JSON can hold."""
    canonical = json.dumps([_FORMAT, *parts], sort_keys=True)
    return hashlib.sha256(canonical.encode()).hexdigest()[:_LENGTH]


def model_identity(model: str) -> str:
    """What tells a model from another: of a folder its files' contents, of any other model its name."""
    folder = Path(model)
    if not folder.is_dir():
        return model
    files = sorted(path for path in folder.iterdir() if path.suffix in _SUFFIXES and path.is_file())
    return version_of({path.name: file_identity(str(path)) for path in files})


def file_identity(file: str) -> str:
    """Return what tells a file's content from another's."""
    status = Path(file).stat()
    return _digest(file, status.st_size, status.st_mtime_ns)


@lru_cache(maxsize=256)
def _digest(file: str, size: int, changed: int) -> str:  # a changed file is read again
    with Path(file).open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
