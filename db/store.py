"""The database as one object: opened, brought up to date and filled; sessions come from it."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Engine
from sqlalchemy.orm import Session, sessionmaker

from db.bundle import bundle_digest, bundle_slug, read_bundle
from db.engine import create_database_engine
from db.lock import exclusive
from db.migrate import upgrade
from db.repositories.bundles import fill_from_bundle, wants_bundle


@dataclass(frozen=True, slots=True)
class Database:
    """An open database, to be shared by the threads of a process."""

    engine: Engine

    @classmethod
    def open(cls, url: str | None = None, bundles: Iterable[Path] = ()) -> "Database":
        """Opens the database at the URL (default: `db.engine.database_url()`) with its tables up to date.

        Benchmarks of the bundle files are created, or replaced where the file is another than the one that
        filled them; see `fill_from_bundle`. Processes that start at the same moment wait for each other. Each
        bundle is filled whole or not at all.

        Raises:
            DatabaseUnavailableError: the database cannot be opened or brought up to date.
            DatabaseBusyError: another process has been setting it up for too long.
            BundleError: a bundle file is missing or malformed; nothing of it is stored.
        """
        database = cls(create_database_engine(url))
        try:
            with exclusive(database.engine):
                upgrade(database.engine)
                for path in bundles:
                    database._fill(path)
        except BaseException:
            database.close()
            raise
        return database

    @contextmanager
    def session(self) -> Iterator[Session]:
        """Yields a session for one piece of work: committed at the end, rolled back if it fails."""
        with sessionmaker(self.engine).begin() as session:
            yield session

    def close(self) -> None:
        """Closes the idle connections; the database may be used again afterwards."""
        self.engine.dispose()

    def _fill(self, path: Path) -> None:
        digest, slug = bundle_digest(path), bundle_slug(path)
        with self.session() as session:
            if wants_bundle(session, slug, digest):
                fill_from_bundle(session, read_bundle(path), digest)
