"""Profiles: what a person chose, as a file that lasts or under a private link."""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NoReturn

from crm.criteria import CriteriaSet, Criterion, Polarity
from crm.errors import CRMError
from db import Database
from db.repositories import profiles
from db.serialization import storable_text
from leaderboard.errors import LeaderboardError, UploadError
from leaderboard.view import View
from parsing.documents import read_json

FORMAT = "usl-profile"
VERSION = 1
MAX_KILOBYTES = 512
"""Size of a profile as a file: 200 criteria of 300 letters in any script fit."""
_Line = tuple[str, Polarity, tuple[str, ...]]
"""What tells a criterion from the others of a view."""
_OWN_KEYS = {"benchmark": "benchmark", "topic": "topics", "criterion": "criteria"}
"""Parameters of a view that have keys of their own; all others are settings."""


@dataclass(frozen=True)
class Profile:
    """What a person chose, as a JSON object that has been checked, with all that it holds besides."""

    payload: Mapping[str, Any]

    @classmethod
    def of(cls, view: View) -> Profile:
        """Return the profile of a view."""
        return cls({}).with_view(view)

    @classmethod
    def read(cls, content: bytes, file: str) -> Profile:
        """Read a file; an UploadError if it is too large, no profile, or one of a later version."""
        if len(content) > MAX_KILOBYTES * 1024:
            raise UploadError(file, f"it is larger than {MAX_KILOBYTES} kB, which no profile is.")
        try:
            payload = read_json(content, finite=True, keep_halves=True)
            json.dumps(payload, ensure_ascii=False).encode()  # which halves of surrogate pairs cannot be
        except ValueError:
            raise UploadError(file, "this is not valid JSON in UTF-8.") from None
        return cls.from_json(payload, file)

    @classmethod
    def from_json(cls, payload: object, file: str = "profile") -> Profile:
        """Check a JSON value; an UploadError if it is no profile, a later one, or has impossible criteria."""
        if not isinstance(payload, dict) or payload.get("format") != FORMAT:
            raise UploadError(file, "this is not a profile; download one on the page “My data”.")
        version = payload.get("version")
        if not isinstance(version, int) or isinstance(version, bool) or version < 1:
            raise UploadError(file, f"its version is {version!r}, not a number from 1 up.")
        if version > VERSION:
            raise UploadError(file, f"it is of version {version}; this program reads up to {VERSION}.")
        if not isinstance(payload.get("benchmark", ""), str):
            raise UploadError(file, "'benchmark' is not a text.")
        if not _are_texts(payload.get("topics", [])):
            raise UploadError(file, "'topics' is not a list of texts.")
        settings = payload.get("settings", {})
        if not isinstance(settings, dict):
            raise UploadError(file, "'settings' is not an object.")
        profile = cls(payload)
        try:
            _ = profile.view
        except (CRMError, LeaderboardError) as error:
            raise UploadError(file, str(error)) from None
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
        """Return the same profile for another view; what the view does not know of stays."""
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
                    {**earlier.get(_of(criterion), {}), **criterion.to_json()} for criterion in view.criteria
                ],
                "settings": {**self._unknown_settings(), **settings},
            }
        )

    def to_text(self) -> str:
        """Return the file that ``read`` reads."""
        return json.dumps(self.payload, ensure_ascii=False, indent=2) + "\n"

    @property
    def size(self) -> int:
        """Bytes of the file."""
        return len(self.to_text().encode())

    def _earlier_criteria(self) -> dict[_Line, Mapping[str, Any]]:
        """Return the criteria as the payload has them, with the keys that are unknown here."""
        values = [value for value in self.payload.get("criteria", []) if isinstance(value, dict)]
        read = map(Criterion.from_json, values)
        return {_of(criterion): value for criterion, value in zip(read, values, strict=True)}

    def _unknown_settings(self) -> dict[str, Any]:
        settings = self.payload.get("settings", {})
        known = {name for name, _ in View.from_query(_parameters(settings)).to_query()}
        return {name: value for name, value in settings.items() if name not in known}


def _of(criterion: Criterion) -> _Line:
    return (*criterion.wording, criterion.only_for)


def read_profile(path: Path) -> Profile:
    """Read a profile's file; an UploadError if it cannot be read, or as ``Profile.read``."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UploadError(str(path), f"it cannot be read ({error.strerror}).") from None
    return Profile.read(content, str(path))


def _parameters(settings: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return those settings that could be a view's, as a link has them."""
    return {
        name: list(map(storable_text, values))
        for name, values in settings.items()
        if name not in _OWN_KEYS and _are_texts(values)
    }


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


MAX_PROFILES = 100_000
UNUSED_DAYS = 730
"""Profiles that were not opened for so long make room for new ones, once there is no room left."""
_UNKNOWN = "This private link opens no profile: it was deleted, or the link is not complete."
_CHANGED = "The profile was changed elsewhere meanwhile: open its private link again."
_TOKEN_BYTES = 32
_TOKEN = re.compile(r"[A-Za-z0-9_-]{43}")


@dataclass(frozen=True)
class SavedProfile:
    """A profile as it is stored, and when it was last changed, UTC."""

    profile: Profile
    updated_at: datetime


class ProfileStore:
    """The profiles of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def save(self, profile: Profile) -> tuple[str, SavedProfile]:
        """Store a profile; return the token that opens it, which is not kept; or a LeaderboardError."""
        _check_size(profile)
        token = secrets.token_urlsafe(_TOKEN_BYTES)
        with self._database.session() as session:
            if profiles.count_profiles(session) >= MAX_PROFILES:
                profiles.delete_unused(session, datetime.now(UTC) - timedelta(days=UNUSED_DAYS))
                if profiles.count_profiles(session) >= MAX_PROFILES:
                    raise LeaderboardError(
                        "There is no room for more profiles here: download yours as a file."
                    )
            record = profiles.add_profile(session, _digest(token), profile.payload)
        return token, SavedProfile(profile, record.updated_at)

    def open(self, token: str) -> SavedProfile:
        """Return the profile that the token opens.

        Raises:
            LeaderboardError: It opens none.
            UploadError: The profile is of a later version.
        """
        with self._database.session() as session:
            record = profiles.use_profile(session, _digest(token))
        if record is None:
            raise LeaderboardError(_UNKNOWN)
        return SavedProfile(Profile.from_json(dict(record.payload)), record.updated_at)

    def update(self, token: str, profile: Profile, seen: SavedProfile) -> SavedProfile:
        """Replace a profile that is still as it was seen; a LeaderboardError if not, or if it is too big."""
        _check_size(profile)
        with self._database.session() as session:
            record = profiles.change_profile(session, _digest(token), profile.payload, seen.updated_at)
            if record is None and profiles.use_profile(session, _digest(token)) is None:
                raise LeaderboardError(_UNKNOWN)
        if record is None:
            raise LeaderboardError(_CHANGED)
        return SavedProfile(profile, record.updated_at)

    def delete(self, token: str) -> None:
        """Delete a profile; a LeaderboardError if the token opens none."""
        with self._database.session() as session:
            if not profiles.delete_profile(session, _digest(token)):
                raise LeaderboardError(_UNKNOWN)


def _digest(token: str) -> str:
    """Return SHA-256 of the token, in hex; a LeaderboardError if no token looks like this."""
    if not _TOKEN.fullmatch(token):
        raise LeaderboardError(_UNKNOWN)
    return hashlib.sha256(token.encode()).hexdigest()


def _check_size(profile: Profile) -> None:
    if profile.size > MAX_KILOBYTES * 1024:
        raise LeaderboardError(f"The profile is larger than {MAX_KILOBYTES} kB: remove some criteria.")
