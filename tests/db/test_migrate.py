import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import inspect, text

from db import Database, DatabaseUnavailableError
from db.engine import create_database_engine
from db.migrate import upgrade
from db.models import Base


def constraint_names(bind):
    """The names of all constraints but primary keys, and of indexes; `compare_metadata` ignores some."""
    inspector = inspect(bind)
    return {
        entry["name"]
        for table in Base.metadata.tables
        for entry in (
            *inspector.get_foreign_keys(table),
            *inspector.get_unique_constraints(table),
            *inspector.get_indexes(table),
        )
    }


def test_migrations_agree_with_models(database):
    with database.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, Base.metadata) == []


def test_migrations_make_the_same_constraints_as_models(database, tmp_path):
    reference = create_database_engine(f"sqlite:///{tmp_path / 'reference.sqlite3'}")
    Base.metadata.create_all(reference)
    expected = constraint_names(reference)
    assert expected <= constraint_names(database.engine)


def test_foreign_keys_of_migrations_act_on_deletion_like_those_of_models(database):
    inspector = inspect(database.engine)
    for table in Base.metadata.tables.values():
        actual = {
            foreign_key["name"]: foreign_key["options"].get("ondelete")
            for foreign_key in inspector.get_foreign_keys(table.name)
        }
        assert actual == {str(key.name): key.ondelete for key in table.foreign_key_constraints}


def test_upgrading_twice_changes_nothing(empty_url):
    engine = create_database_engine(empty_url)
    upgrade(engine)
    tables = inspect(engine).get_table_names()
    upgrade(engine)
    assert inspect(engine).get_table_names() == tables
    assert set(tables) == {*Base.metadata.tables, "alembic_version"}
    engine.dispose()


def test_a_failing_revision_leaves_no_table_behind(empty_url):
    engine = create_database_engine(empty_url)
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE score_matrix (id INTEGER)"))
    with pytest.raises(DatabaseUnavailableError, match=r"Cannot bring the tables of .* up to date"):
        upgrade(engine)
    assert inspect(engine).get_table_names() == ["score_matrix"]
    engine.dispose()


def test_a_database_of_newer_code_is_refused(database):
    with database.session() as session:
        session.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(DatabaseUnavailableError, match="unknown revision '9999', made by newer code"):
        Database.open(database.engine.url.render_as_string(hide_password=False))
