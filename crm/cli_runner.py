"""What the three command lines share: bad input ends with exit code 2 and one line, never a traceback.

And commands whose code is loaded when they are called, so that the others need not wait for it.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

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


def late_commands(modules: Mapping[str, str]) -> type[TyperGroup]:
    """Return the class of a Typer application that has more commands than are loaded with it.

    Args:
        modules: Where each lies, by its name: a function that is called like it, with underscores.
    """

    class Group(TyperGroup):
        def __init__(self, **options: Any) -> None:
            super().__init__(**options)
            not_loaded: dict[str, Any] = dict.fromkeys(modules)
            self.commands.update(not_loaded)

        def get_command(self, ctx: Any, cmd_name: str) -> Any:
            if cmd_name in modules and self.commands[cmd_name] is None:
                alone = typer.Typer(add_completion=False)
                alone.command(cmd_name)(getattr(import_module(modules[cmd_name]), cmd_name.replace("-", "_")))
                self.commands[cmd_name] = typer.main.get_command(alone)
            return super().get_command(ctx, cmd_name)

    return Group


def _complain(message: str) -> int:
    """Say what is wrong; without a message, help has already been printed in its place."""
    if message:
        typer.echo(f"error: {' '.join(shown(message).split())}", err=True)
    return 2
