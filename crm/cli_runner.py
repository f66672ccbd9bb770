"""What the three command lines share: bad input ends with exit code 2 and one line, never a traceback."""

from __future__ import annotations

import sys

import typer

from parsing.messages import shown


def run_cli(app: typer.Typer, *fixable: type[Exception]) -> None:
    """Run a Typer application and exit; of ``fixable`` errors the message is shown as it stands."""
    try:
        code = app(standalone_mode=False)
    except (typer.Abort, KeyboardInterrupt):
        code = _complain("stopped")
    except Exception as error:
        if isinstance(error, fixable):
            code = _complain(str(error))
        elif hasattr(error, "format_message"):  # a usage error of the command-line parser
            code = _complain(error.format_message())
        else:
            raise
    sys.exit(code or 0)


def _complain(message: str) -> int:
    """Say what is wrong; without a message, help has already been printed in its place."""
    if message:
        typer.echo(f"error: {' '.join(shown(message).split())}", err=True)
    return 2
