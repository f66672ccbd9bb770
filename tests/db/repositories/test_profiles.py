from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError

from db.repositories import profiles

TOKEN = "a" * 64
ODD = {"criteria": [{"text": "naïve – “quoted” 🙂"}], "unknown": {"nul": "\x00", "n": [1, 2.5, None, True]}}


def test_a_profile_comes_back_as_it_was_stored(database):
    with database.session() as session:
        added = profiles.add_profile(session, TOKEN, ODD)
    with database.session() as session:
        assert profiles.use_profile(session, TOKEN) == added
        assert profiles.use_profile(session, "b" * 64) is None


def test_a_token_opens_one_profile(database):
    with database.session() as session:
        profiles.add_profile(session, TOKEN, ODD)
    with pytest.raises(IntegrityError), database.session() as session:
        profiles.add_profile(session, TOKEN, {})


def test_only_what_was_seen_is_changed(database):
    with database.session() as session:
        added = profiles.add_profile(session, TOKEN, ODD)
    with database.session() as session:
        changed = profiles.change_profile(session, TOKEN, {"n": 1}, added.updated_at)
    assert changed is not None
    with database.session() as session:
        assert profiles.change_profile(session, TOKEN, {"n": 2}, added.updated_at) is None
        assert profiles.change_profile(session, "b" * 64, {"n": 2}, changed.updated_at) is None
        assert profiles.use_profile(session, TOKEN) == changed


def test_a_deleted_profile_is_gone(database):
    with database.session() as session:
        profiles.add_profile(session, TOKEN, ODD)
        assert profiles.delete_profile(session, TOKEN)
        assert not profiles.delete_profile(session, TOKEN)
        assert profiles.use_profile(session, TOKEN) is None


def test_what_was_not_used_for_long_makes_room(database):
    with database.session() as session:
        profiles.add_profile(session, TOKEN, ODD)
        profiles.add_profile(session, "b" * 64, ODD)
    with database.session() as session:
        session.execute(
            text("UPDATE profile SET last_used_at = :moment"),
            {"moment": datetime.now(UTC).replace(tzinfo=None) - timedelta(days=3)},
        )
        profiles.use_profile(session, TOKEN)
        profiles.delete_unused(session, datetime.now(UTC) - timedelta(days=2))
        assert profiles.count_profiles(session) == 1
        assert profiles.use_profile(session, TOKEN) is not None
