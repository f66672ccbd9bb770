"""How well it is foretold how often the embedded judge is right under a criterion.

    python -m benchmarks.reliability [--corpora DIR] [--output FILE.md]

On annotated pairs of instructions that the judge was not trained on; what is foretold of a verdict was fitted
to the verdicts on other instructions.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray

from benchmarks._report import Report
from crm.cli_runner import run_cli
from crm.data.pairs import MODERN_ANNOTATIONS, read_annotations
from crm.embedded.model import EmbeddedCRM
from crm.errors import CRMError
from crm.evaluation.metrics import accuracy
from crm.paths import CORPORA, EMBEDDED_FILE, PREFERENCES
from crm.progress import progress_bar
from crm.training.reliability import found_reliability, single_verdicts

app = typer.Typer(add_completion=False)


@app.command()
def measure(
    corpora: Annotated[Path, typer.Option(help="The corpora with the annotated responses.")] = CORPORA,
    weights: Annotated[Path, typer.Option(help="Weights of an embedded CRM.")] = EMBEDDED_FILE,
    output: Annotated[Path | None, typer.Option(help="Markdown file for the table.")] = None,
) -> None:
    """Print the table."""
    pairs = [
        pair for file in (PREFERENCES, MODERN_ANNOTATIONS) for pair in read_annotations(file, corpora, "dev")
    ]
    with progress_bar("verdicts on unseen instructions") as on_progress:
        verdicts = single_verdicts(EmbeddedCRM.load(weights), pairs, on_progress)
    found = found_reliability(verdicts)
    rows = [
        (f"{mean:.2f}", f"{len(part):,}", *_share(part)) for mean, part in found.by_parts(verdicts.right, 8)
    ]
    Report(
        title="How often verdicts under a criterion are right, as foretold",
        columns=("foretold", "verdicts", "right", "95 %"),
        rows=tuple(rows),
        note=f"{len(verdicts.right):,} verdicts under single criteria on {len(pairs):,} annotated pairs of "
        f"instructions that the judge was not trained on, {verdicts.right.mean():.3f} right; in eight parts "
        "by what is foretold from verdicts on other instructions. A right verdict is taken for surer than a "
        f"wrong one in {found.area:.3f} of the cases; cross-entropy {found.loss:.3f}, "
        f"{found.loss_of_mean:.3f} where all are taken for alike.",
    ).finish(output)


def _share(right: NDArray[np.bool_]) -> tuple[str, str]:
    found = accuracy("", right.astype(np.float64).tolist())
    return f"{found.value:.2f}", f"{found.low:.2f} to {found.high:.2f}"


if __name__ == "__main__":
    run_cli(app, CRMError)
