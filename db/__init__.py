"""Storage: SQLAlchemy models, Alembic migrations and the repositories, the only place with queries.

Open a `Database`, take a session from it, and hand that to the functions of `db.repositories`. Arrays go in
and come out as `dict[str, numpy.ndarray]`, criteria as JSON; what they mean is the business of `leaderboard`
and `crm`.

- `database`: `Database`, opened, migrated and filled; the engine and the locks on it
- `repositories`: every query, one subject a module
- `records`, `source_records`: the frozen dataclasses that go in and come out
- `models`: the tables, which no other package sees
- `bundle`: the one-file form of a benchmark
- `serialization`: the forms in which texts and arrays are stored
- `errors`: `DatabaseError` and the few errors of it that callers tell apart

Migrations, by which databases of earlier versions get the tables, are in `db/migrations`.
"""

from db.database import Database
from db.errors import DatabaseError

__all__ = ["Database", "DatabaseError"]
