"""A profile: what a person chose, as a file that lasts.

It is a JSON object with a format and a version. Keys that this version does not know, at the top, in a
criterion or among the settings, stay as they are when a profile is changed, so that other versions and other
parts of the program may keep their own there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from crm.criteria import CriteriaSet, Criterion, Polarity
from crm.errors import CRMError
from db import storable_text
from leaderboard.errors import LeaderboardError, ProfileFileError
from leaderboard.view import View

FORMAT = "usl-profile"
VERSION = 1
MOST_KILOBYTES = 512
"""Size of a profile as a file: 200 criteria of 300 letters in any script fit."""
_OWN_KEYS = {"benchmark": "benchmark", "topic": "topics", "criterion": "criteria"}
"""Parameters of a view that have keys of their own; all others are settings."""


@dataclass(frozen=True)
class Profile:
    """What a person chose, with all that its JSON object holds besides.

    Attributes:
        payload: The JSON object, which has been checked.
    """

    payload: Mapping[str, Any]

    @classmethod
    def of(cls, view: View) -> Profile:
        """The profile of a view."""
        return cls({}).with_view(view)

    @classmethod
    def read(cls, content: bytes, file: str) -> Profile:
        """Read a file.

        Raises:
            ProfileFileError: It is too large, no profile, or one of a later version.
        """
        if len(content) > MOST_KILOBYTES * 1024:
            raise ProfileFileError(file, f"it is larger than {MOST_KILOBYTES} kB, which no profile is.")
        try:
            payload = json.loads(content.decode("utf-8-sig"), parse_constant=_refuse_constant)
            # What the database or a file cannot hold: infinite numbers, halves of surrogate pairs.
            json.dumps(payload, allow_nan=False, ensure_ascii=False).encode()
        except (ValueError, RecursionError):
            raise ProfileFileError(file, "this is not valid JSON in UTF-8.") from None
        return cls.from_json(payload, file)

    @classmethod
    def from_json(cls, payload: object, file: str = "profile") -> Profile:
        """Check a JSON value.

        Raises:
            ProfileFileError: It is no profile, of a later version, or has criteria that no judge can take.
        """
        if not isinstance(payload, dict) or payload.get("format") != FORMAT:
            raise ProfileFileError(file, "this is no profile; download one on the page “Yours”.")
        version = payload.get("version")
        if not isinstance(version, int) or isinstance(version, bool) or version < 1:
            raise ProfileFileError(file, f"its version is {version!r}, not a number from 1 up.")
        if version > VERSION:
            raise ProfileFileError(file, f"it is of version {version}; this program reads up to {VERSION}.")
        if not isinstance(payload.get("benchmark", ""), str):
            raise ProfileFileError(file, "'benchmark' is not a text.")
        if not _are_texts(payload.get("topics", [])):
            raise ProfileFileError(file, "'topics' is not a list of texts.")
        settings = payload.get("settings", {})
        if not isinstance(settings, dict):
            raise ProfileFileError(file, "'settings' is not an object.")
        profile = cls(payload)
        try:
            _ = profile.view
        except (CRMError, LeaderboardError) as error:
            raise ProfileFileError(file, str(error)) from None
        return profile

    @property
    def view(self) -> View:
        """What it stands for; what it does not say takes its default."""
        parameters = _parameters(self.payload.get("settings", {}))
        if benchmark := self.payload.get("benchmark"):
            parameters["benchmark"] = [storable_text(benchmark)]
        parameters["topic"] = list(map(storable_text, self.payload.get("topics", [])))
        criteria = View(criteria=CriteriaSet.from_json(self.payload.get("criteria", [])))
        parameters["criterion"] = [value for name, value in criteria.to_query() if name == "criterion"]
        return View.from_query(parameters)

    def with_view(self, view: View) -> Profile:
        """The same profile for another view; what the view does not know of stays."""
        earlier = self._earlier_criteria()
        settings: dict[str, list[str]] = {}
        for name, value in view.to_query():
            if name not in _OWN_KEYS:
                settings.setdefault(name, []).append(value)
        return Profile(
            {
                **self.payload,
                "format": FORMAT,
                "version": VERSION,
                "benchmark": view.benchmark,
                "topics": list(view.topics),
                "criteria": [
                    {**earlier.get((criterion.text, criterion.polarity), {}), **criterion.to_json()}
                    for criterion in view.criteria
                ],
                "settings": {**self._unknown_settings(), **settings},
            }
        )

    def to_text(self) -> str:
        """The file that ``read`` reads."""
        return json.dumps(self.payload, ensure_ascii=False, indent=2) + "\n"

    @property
    def size(self) -> int:
        """Bytes of the file."""
        return len(self.to_text().encode())

    def _earlier_criteria(self) -> dict[tuple[str, Polarity], Mapping[str, Any]]:
        """The criteria as the payload has them, with the keys that are unknown here."""
        values = [value for value in self.payload.get("criteria", []) if isinstance(value, dict)]
        read = map(Criterion.from_json, values)
        return {
            (criterion.text, criterion.polarity): value for criterion, value in zip(read, values, strict=True)
        }

    def _unknown_settings(self) -> dict[str, Any]:
        settings = self.payload.get("settings", {})
        known = {name for name, _ in View.from_query(_parameters(settings)).to_query()}
        return {name: value for name, value in settings.items() if name not in known}


def read_profile(path: Path) -> Profile:
    """Read a profile's file.

    Raises:
        ProfileFileError: It cannot be read, or as ``Profile.read``.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ProfileFileError(str(path), f"it cannot be read ({error.strerror}).") from None
    return Profile.read(content, str(path))


def _parameters(settings: Mapping[str, Any]) -> dict[str, list[str]]:
    """Those settings that could be a view's, as a link has them."""
    return {
        name: list(map(storable_text, values))
        for name, values in settings.items()
        if name not in _OWN_KEYS and _are_texts(values)
    }


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")
