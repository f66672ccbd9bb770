"""Work for an engine, in a module that processes of Ray can import."""

import os
import time
from pathlib import Path

from crm.errors import ConfigError


class Square:
    """Squares numbers, and says where; leaves a file for each."""

    def __init__(self, folder: Path, seconds: float = 0.0) -> None:
        self._folder = folder
        self._seconds = seconds

    def __call__(self, number: int) -> tuple[int, int]:
        time.sleep(self._seconds)
        (self._folder / str(number)).touch()
        return number * number, os.getpid()


class DiesOnce(Square):
    """Its process ends at once with the first item that is 5, with no time for an error."""

    def __call__(self, number: int) -> tuple[int, int]:
        died = self._folder / "died"
        if number == 5 and not died.exists():
            died.touch()
            os._exit(1)
        return super().__call__(number)


def die(_: int) -> int:
    """End the process every time."""
    os._exit(1)


class TwoWordsError(Exception):
    """An error that cannot be pickled: it is made of two words and knows one."""

    def __init__(self, first: str, second: str) -> None:
        super().__init__(f"{first} {second}")


def fail(number: int) -> int:
    """Fail as jobs do, or in a way of one's own."""
    if number:
        raise TwoWordsError("no", "luck")
    raise ConfigError("llms.toml: fix it.")


def no_worker() -> None:
    raise ConfigError("There is no API key.")


def variable(name: str) -> str | None:
    return os.environ.get(name)
