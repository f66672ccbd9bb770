"""One table of what ``python -m crm evaluate --save`` has stored of several judges on the same sets.

python -m benchmarks.gpu.evaluation REPORT.json … [--output FILE.md]
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from crm.cli_runner import run_cli
from crm.errors import CRMError
from crm.evaluation.commands import write_tables
from crm.evaluation.report import read_report, results_tables

app = typer.Typer(add_completion=False)


@app.command()
def measure(
    reports: Annotated[list[Path], typer.Argument(metavar="REPORT.json …", help="One report a judge.")],
    output: Annotated[Path | None, typer.Option(help="Markdown file for the tables.")] = None,
) -> None:
    """Show the judges beside each other, in the order of their reports."""
    read = [read_report(path) for path in reports]
    if len({(one.data, one.limit, one.seed) for one in read}) > 1:
        raise CRMError("The reports are of different sets or draws: evaluate all judges on the same.")
    tables = results_tables(read)
    for table in tables:
        table.print()
    if output is not None:
        write_tables(output, "Judges trained here", tables)


if __name__ == "__main__":
    run_cli(app, CRMError)
