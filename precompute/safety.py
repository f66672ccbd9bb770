"""Words that keep a query out of a benchmark, by theme."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from crm.version import version_of
from parsing.documents import read_toml
from parsing.files import MAX_SETTINGS, read_bytes
from parsing.limits import ParseError
from precompute.errors import PrecomputeError

BUNDLED_SAFETY_LIST = Path(__file__).parent / "safety.toml"


@dataclass(frozen=True)
class SafetyList:
    """Words and phrases by theme.

    A phrase is found whatever its case, as whole words, with any white space between them. A star at its end
    stands for any ending: “poison*” finds “poisoning”.
    """

    phrases: Mapping[str, tuple[str, ...]]

    @property
    def version(self) -> str:
        """Changes with the words."""
        return version_of({theme: list(words) for theme, words in self.phrases.items()})

    def theme_of(self, text: str) -> str | None:
        """Return the first theme that a text touches, None if it touches none."""
        return next((theme for theme, pattern in self._patterns.items() if pattern.search(text)), None)

    @cached_property
    def _patterns(self) -> dict[str, re.Pattern[str]]:
        return {
            theme: re.compile("|".join(map(_pattern, words)), re.IGNORECASE)
            for theme, words in self.phrases.items()
            if words
        }


def read_safety_list(file: Path = BUNDLED_SAFETY_LIST) -> SafetyList:
    """Return the list in a TOML file: each key is a theme, its value a list of words and phrases.

    Raises:
        PrecomputeError: The file cannot be read, or is none.
    """
    try:
        themes = read_toml(read_bytes(file, MAX_SETTINGS))
    except OSError as error:
        raise _list_error(file.name, f"cannot be read ({error.strerror})") from error
    except ParseError as error:
        raise _list_error(file.name, f"is no TOML ({error})") from error
    for theme, words in themes.items():
        if not isinstance(words, list) or not all(map(_is_phrase, words)):
            raise _list_error(file.name, f"has something else than a list of words under {theme!r}")
    return SafetyList({theme: tuple(words) for theme, words in themes.items()})


def _is_phrase(word: object) -> bool:
    return isinstance(word, str) and bool(word.strip("* "))


def _pattern(phrase: str) -> str:
    words = r"\s+".join(map(re.escape, phrase.rstrip("*").split()))
    return rf"(?<!\w){words}" + (r"\w*" if phrase.endswith("*") else r"(?!\w)")


def _list_error(name: str, problem: str) -> PrecomputeError:
    return PrecomputeError(
        f"The safety list {name} {problem}: it is a TOML file with a list of words under each theme."
    )
