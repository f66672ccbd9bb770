"""Profiles, by the SHA-256 of the token that opens them."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import delete, func, select, update
from sqlalchemy.orm import Session

from db.models import Profile, now
from db.records import ProfileRecord
from db.repositories import _rows


def add_profile(session: Session, token_sha256: str, payload: Mapping[str, Any]) -> ProfileRecord:
    """Store a new profile."""
    moment = now()
    session.add(
        Profile(
            token_sha256=token_sha256,
            payload=dict(payload),
            created_at=moment,
            updated_at=moment,
            last_used_at=moment,
        )
    )
    session.flush()
    return ProfileRecord(payload, moment)


def use_profile(session: Session, token_sha256: str) -> ProfileRecord | None:
    """Return the profile and note that it was used; None if there is none."""
    row = session.execute(
        update(Profile)
        .where(Profile.token_sha256 == token_sha256)
        .values(last_used_at=now())
        .returning(Profile.payload, Profile.updated_at)
    ).one_or_none()
    return None if row is None else ProfileRecord(row.payload, row.updated_at)


def change_profile(
    session: Session, token_sha256: str, payload: Mapping[str, Any], seen: datetime
) -> ProfileRecord | None:
    """Replace the payload of a profile that was not changed since; None if it was, or is gone.

    `seen` is when the profile had been changed last as the caller read it.
    """
    moment = _rows.after(seen)
    changed = session.execute(
        update(Profile)
        .where(Profile.token_sha256 == token_sha256, Profile.updated_at == seen)
        .values(payload=dict(payload), updated_at=moment, last_used_at=moment)
        .returning(Profile.id)
    ).one_or_none()
    return None if changed is None else ProfileRecord(payload, moment)


def delete_profile(session: Session, token_sha256: str) -> bool:
    """Delete a profile; return whether there was one."""
    gone = session.execute(
        delete(Profile).where(Profile.token_sha256 == token_sha256).returning(Profile.id)
    ).one_or_none()
    return gone is not None


def delete_unused(session: Session, before: datetime) -> None:
    """Delete the profiles that were last used before a moment."""
    session.execute(delete(Profile).where(Profile.last_used_at < before))


def count_profiles(session: Session) -> int:
    """Return how many profiles are stored."""
    return session.scalars(select(func.count()).select_from(Profile)).one()
