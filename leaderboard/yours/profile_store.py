"""Profiles under private links: who knows the token of one may read, change and delete it.

Only the token's SHA-256 is stored. It is made of 256 random bits, so that it needs neither salt nor slowness,
and cannot be guessed however often one tries.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from db import Database
from db.repositories import profiles
from leaderboard.errors import ProfileChangedError, ProfileError, UnknownProfileError
from leaderboard.yours.profile import MOST_KILOBYTES, Profile

MOST_PROFILES = 100_000
UNUSED_DAYS = 730
"""Profiles that were not opened for so long make room for new ones, once there is no room left."""
_TOKEN_BYTES = 32
_TOKEN = re.compile(r"[A-Za-z0-9_-]{43}")


@dataclass(frozen=True)
class SavedProfile:
    """A profile as it is stored.

    Attributes:
        profile: The profile.
        updated_at: When it was last changed, UTC.
    """

    profile: Profile
    updated_at: datetime


class ProfileStore:
    """The profiles of one database."""

    def __init__(self, database: Database) -> None:
        """Keep profiles there."""
        self._database = database

    def save(self, profile: Profile) -> tuple[str, SavedProfile]:
        """Store a new profile; returns the token that opens it, which is not kept.

        Raises:
            ProfileError: It is too large, or there is no room for more.
        """
        _check_size(profile)
        token = secrets.token_urlsafe(_TOKEN_BYTES)
        with self._database.session() as session:
            if profiles.count_profiles(session) >= MOST_PROFILES:
                profiles.delete_unused(session, datetime.now(UTC) - timedelta(days=UNUSED_DAYS))
                if profiles.count_profiles(session) >= MOST_PROFILES:
                    raise ProfileError("There is no room for more profiles here: download yours as a file.")
            record = profiles.add_profile(session, _digest(token), profile.payload)
        return token, SavedProfile(profile, record.updated_at)

    def open(self, token: str) -> SavedProfile:
        """The profile that the token opens.

        Raises:
            UnknownProfileError: It opens none.
            ProfileFileError: The profile is of a later version.
        """
        with self._database.session() as session:
            record = profiles.use_profile(session, _digest(token))
        if record is None:
            raise UnknownProfileError
        return SavedProfile(Profile.from_json(dict(record.payload)), record.updated_at)

    def update(self, token: str, profile: Profile, seen: SavedProfile) -> SavedProfile:
        """Replace a profile that is still as it was seen.

        Raises:
            UnknownProfileError: The token opens none.
            ProfileChangedError: It was changed since.
            ProfileError: It is too large.
        """
        _check_size(profile)
        with self._database.session() as session:
            record = profiles.change_profile(session, _digest(token), profile.payload, seen.updated_at)
            if record is None and profiles.use_profile(session, _digest(token)) is None:
                raise UnknownProfileError
        if record is None:
            raise ProfileChangedError
        return SavedProfile(profile, record.updated_at)

    def delete(self, token: str) -> None:
        """Delete a profile.

        Raises:
            UnknownProfileError: The token opens none.
        """
        with self._database.session() as session:
            if not profiles.delete_profile(session, _digest(token)):
                raise UnknownProfileError


def _digest(token: str) -> str:
    """SHA-256 of the token, in hex.

    Raises:
        UnknownProfileError: No token looks like this.
    """
    if not _TOKEN.fullmatch(token):
        raise UnknownProfileError
    return hashlib.sha256(token.encode()).hexdigest()


def _check_size(profile: Profile) -> None:
    if profile.size > MOST_KILOBYTES * 1024:
        raise ProfileError(f"The profile is larger than {MOST_KILOBYTES} kB: remove some criteria.")
