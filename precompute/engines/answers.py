"""What a worker in another process answers: the result of an item, or the error that it raised, as bytes."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import cloudpickle

from crm.errors import one_line
from precompute.errors import PrecomputeError


class Answerer:
    """Answers items. It makes its worker at the first one, so that errors of that are answers too."""

    def __init__(self, recipe: bytes) -> None:
        """Take what makes the worker, pickled."""
        self._recipe = recipe
        self._work: Callable[[Any], Any] | None = None

    def __call__(self, item: bytes) -> bytes:
        """Answer an item, pickled, with a pickled pair of result and error."""
        try:
            if self._work is None:
                self._work = pickle.loads(self._recipe)()
            return _pickled(self._work(pickle.loads(item)), None)
        except Exception as error:
            return _pickled_error(error)


def _pickled_error(error: Exception) -> bytes:
    """Return an error as an answer; one that would not survive the way becomes a ``PrecomputeError``."""
    try:
        pickled = _pickled(None, error)
        pickle.loads(pickled)
    except Exception:
        return _pickled(None, PrecomputeError(f"{type(error).__name__}: {one_line(str(error))}"))
    return pickled


def _pickled(result: object, error: Exception | None) -> bytes:
    pickled: bytes = cloudpickle.dumps((result, error))
    return pickled
