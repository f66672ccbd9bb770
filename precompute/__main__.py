"""``python -m precompute``: offline jobs on the database."""

import typer

from crm.cli_runner import run_cli
from crm.errors import CRMError
from db import DatabaseError
from leaderboard.errors import LeaderboardError
from precompute.commands.criteria import criteria_app
from precompute.commands.facts import facts_app
from precompute.commands.importing import import_app
from precompute.commands.jobs import jobs_app
from precompute.commands.lifecycle import lifecycle_app
from precompute.commands.pools import pools_app
from precompute.commands.topics import topics_app
from precompute.errors import PrecomputeError

app = typer.Typer(add_completion=False, no_args_is_help=True, help="Prepare benchmarks for ranking.")
app.add_typer(import_app, name="import")
app.add_typer(pools_app)
app.add_typer(topics_app, name="topics")
app.add_typer(jobs_app)
app.add_typer(criteria_app)
app.add_typer(facts_app)
app.add_typer(lifecycle_app)


def main() -> None:
    """Run the command line."""
    run_cli(app, PrecomputeError, DatabaseError, CRMError, LeaderboardError)


if __name__ == "__main__":
    main()
