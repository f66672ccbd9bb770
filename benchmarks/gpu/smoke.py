"""Whether this machine is ready, in seconds: PyTorch sees the GPU, and SmolLM2 judges a pair.

    python -m benchmarks.gpu.smoke [--output FILE.md]

SmolLM2-135M is asked as it is, without any training, and its answer means little: that there is one shows
that weights, tokenizer and device work together.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Annotated

import torch
import typer

from benchmarks._report import Report, duration, size
from benchmarks.gpu.throughput import dense_limit
from crm.cli_runner import run_cli
from crm.criteria import CriteriaSet
from crm.errors import CRMError, UnavailableError
from crm.llm.loading import chosen_device, chosen_dtype
from crm.protocol import CRM, Pair, Question
from crm.registry import get_crm
from crm.report_table import describe_machine

app = typer.Typer(add_completion=False)

_QUESTION = Question(
    CriteriaSet.of(["Concise"]),
    Pair(
        "What is the capital of Iceland?",
        "Reykjavík.",
        "A lovely question! Let us look at its history first.",
    ),
)


def check_gpu(seen: int, driven: Sequence[Path]) -> None:
    """Compare the number of GPUs that PyTorch sees with the devices of the driver.

    Raises:
        UnavailableError: There are devices, and PyTorch sees none.
    """
    if driven and not seen:
        raise UnavailableError(
            f"The driver shows {driven[0]}, and PyTorch {torch.__version__} sees no GPU: install a build of "
            "PyTorch for the driver's version of CUDA."
        )


def answer(judge: CRM) -> tuple[float, float]:
    """Return how probable a judge finds it that the first response is preferred, and the seconds that took.

    Raises:
        CRMError: It cannot judge, or its answer is no probability.
    """
    started = perf_counter()
    [verdict] = judge.judge([_QUESTION])
    seconds = perf_counter() - started
    if not (math.isfinite(verdict.prob_a) and 0 <= verdict.prob_a <= 1):
        raise CRMError(f"{judge.name} answers {verdict.prob_a:g}, which is no probability.")
    return verdict.prob_a, seconds


@app.command()
def measure(
    output: Annotated[Path | None, typer.Option(help="Markdown file for the table.")] = None,
) -> None:
    """Look for the GPU, and ask the judge."""
    check_gpu(torch.cuda.device_count(), sorted(Path("/dev").glob("nvidia[0-9]*")))
    device = chosen_device("auto")
    dtype = chosen_dtype("auto", device)
    limit = dense_limit(device, dtype)
    judge = get_crm("smollm2")
    prob, seconds = answer(judge)
    Report(
        "Is this machine ready?",
        ("what", "found"),
        (
            ("PyTorch", f"{torch.__version__}, CUDA {torch.version.cuda or 'none'}"),
            ("device", _device(device)),
            ("product of matrices", f"{limit / 1e12:,.2f} TFLOP/s in {str(dtype).removeprefix('torch.')}"),
            (f"{judge.name} prefers the concise answer", f"{prob:.2f}, after {duration(seconds)}"),
        ),
        f"Time with the loading of the weights. {describe_machine()}.",
    ).finish(output)


def _device(device: torch.device) -> str:
    if device.type != "cuda":
        return f"{device}, no GPU"
    whole = torch.cuda.get_device_properties(0).total_memory
    return f"{torch.cuda.device_count()} × {torch.cuda.get_device_name(0)}, {size(whole)} each"


if __name__ == "__main__":
    run_cli(app, CRMError)
