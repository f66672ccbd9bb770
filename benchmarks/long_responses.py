"""How much of a long response the embedded CRM should read: accuracy by the windows that are embedded.

python -m benchmarks.long_responses [--windows N]… [--limit N] [--output FILE.md]

Counts are always of the whole response; what differs is how many windows of 256 tokens, spread over it, the
sentence embedding and the wording are the token-weighted mean of. The weights stay the same.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray

from benchmarks._report import Report, duration, with_interval
from crm.cli_runner import run_cli
from crm.data.pairs import MODERN_ANNOTATIONS, LabelledPair, read_annotations
from crm.embedded.encoder import WINDOW, sentence_encoder
from crm.embedded.model import EmbeddedCRM
from crm.embedded.representation import representation
from crm.errors import CRMError
from crm.evaluation.metrics import accuracy, right
from crm.paths import CORPORA, EMBEDDED_FILE
from crm.protocol import Verdict

app = typer.Typer(add_completion=False)
_LONGER, _LONG = 2, 4
"""Windows of the longer response: a pair that has more of them is a longer one, a long one."""
_COMPARED = (1, 2, 4, 0)
"""Numbers of windows to read, 0 for all."""


@dataclass(frozen=True, eq=False)
class LongPairs:
    """Labelled pairs with the length of their responses.

    Attributes:
        items: P pairs, each for both directions.
        windows: Windows of the longer response ``[P]``.
    """

    items: Sequence[LabelledPair]
    windows: NDArray[np.int64]

    @classmethod
    def read(cls, annotations: Path, corpora: Path, limit: int | None, seed: int) -> LongPairs:
        """Read the split dev, or so many annotated pairs of it, drawn at random.

        Raises:
            CRMError: The annotations cannot be read, or the corpora lack a response.
        """
        annotated = read_annotations(annotations, corpora, split="dev")
        drawn = np.random.default_rng(seed).permutation(len(annotated))[:limit]
        items = [item for index in sorted(drawn.tolist()) for item in annotated[index]]
        texts = [text for item in items for text in (item.pair.response_a, item.pair.response_b)]
        windows = sentence_encoder().count_windows(texts).reshape(-1, 2)
        return cls(items, windows.max(axis=1))

    @property
    def groups(self) -> dict[str, NDArray[np.bool_]]:
        """By name, which pairs are short, longer and long."""
        return {
            "all": np.ones(len(self.items), dtype=np.bool_),
            f"up to {_LONGER} windows": self.windows <= _LONGER,
            f"{_LONGER + 1} to {_LONG}": (self.windows > _LONGER) & (self.windows <= _LONG),
            f"more than {_LONG}": self.windows > _LONG,
        }


def accuracies(pairs: LongPairs, verdicts: Sequence[Verdict]) -> list[str]:
    """Return accuracy with its 95 % interval, as text, of lists in each group and of single criteria."""
    found = zip(pairs.items, verdicts, strict=True)
    correct = np.array([right(verdict.prob_a, item.label) for item, verdict in found])
    single = [
        right(prob, item.label)
        for item, verdict in zip(pairs.items, verdicts, strict=True)
        for prob in verdict.per_criterion
    ]
    return [_cell(correct[inside].tolist()) for inside in pairs.groups.values()] + [_cell(single)]


def _cell(correct: list[float]) -> str:
    if not correct:
        return "–"
    found = accuracy("", correct)
    return with_interval(found)


@app.command()
def measure(  # noqa: PLR0917
    windows: Annotated[
        list[int] | None,
        typer.Option(min=0, help="Windows to read, 0 for all; repeatable. Default 1, 2, 4, all."),
    ] = None,
    annotations: Annotated[Path, typer.Option(help="Criteria annotations.")] = MODERN_ANNOTATIONS,
    corpora: Annotated[Path, typer.Option(help="The annotated responses.")] = CORPORA,
    weights: Annotated[Path, typer.Option(help="The judge's weights.")] = EMBEDDED_FILE,
    limit: Annotated[int | None, typer.Option(min=1, help="Annotated pairs to draw; default all.")] = None,
    seed: Annotated[int, typer.Option(help="Of that draw.")] = 0,
    output: Annotated[Path | None, typer.Option(help="Markdown file for the table.")] = None,
) -> None:
    """Print the table."""
    pairs = LongPairs.read(annotations, corpora, limit, seed)
    judge = EmbeddedCRM.load(weights)
    questions = [item.question for item in pairs.items]
    judge.judge(questions[:2])  # criteria and weights are loaded once
    rows = []
    for most in windows or _COMPARED:
        reading = judge.reading_by(replace(representation(), max_windows=most or None))
        started = time.perf_counter()
        verdicts = reading.judge(questions)
        seconds = time.perf_counter() - started
        rows.append((f"{most or 'all'}", *accuracies(pairs, verdicts), duration(seconds)))
    sizes = ", ".join(f"{name}: {int(inside.sum()) // 2}" for name, inside in pairs.groups.items())
    Report(
        title="Accuracy of the embedded CRM on current LLMs by how much of a response is embedded",
        columns=("windows read", *(f"lists, {name}" for name in pairs.groups), "single criteria", "time"),
        rows=tuple(rows),
        note=(
            f"Split dev of {annotations.name}; windows of {WINDOW} tokens; pairs by the windows of the "
            f"longer response ({sizes}), each judged in both directions; Wilson's 95 % intervals. "
            f"Weights of version {judge.version}, whose representation reads {representation().max_windows}."
        ),
    ).finish(output)


if __name__ == "__main__":
    run_cli(app, CRMError)
