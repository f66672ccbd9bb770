"""AlpacaEval: a folder of `<llm>/model_outputs.json` files."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from db.records import BenchmarkInfo, LLMRecord
from precompute.errors import file_error
from precompute.importers import base
from precompute.importers.base import ImportedBenchmark, ImportedQuery, read_of_llms
from precompute.importers.rows import read_json

DEFAULT_BASELINE = "gpt4_1106_preview"
OUTPUTS = "model_outputs.json"


def read_alpaca_eval(
    folder: Path,
    slug: str,
    llms: Sequence[str] | None = None,
    *,
    baseline: str | None = None,
    stored_baseline: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> ImportedBenchmark:
    """Read the responses of some or all LLMs, joined on the instruction.

    Queries are the baseline's instructions in its order; what other LLMs answered beyond them is left out,
    as it could not be compared. An empty output is a response like any other.

    Args:
        folder: holds one folder an LLM.
        llms: names of the LLMs to read beside the baseline; default all.
        baseline: default that of upstream, gpt4_1106_preview.
        stored_baseline: the baseline of the benchmark that is imported onto; if that is not in the folder,
            the LLMs are read without it, the first one giving the order of queries.

    Raises:
        PrecomputeError: a file or folder is missing or malformed; an LLM, or the baseline, has no file there.
    """
    known = _llms_in(folder)
    outputs, chosen = read_of_llms(
        folder,
        known,
        lambda name: _read_outputs(folder / name / OUTPUTS),
        llms,
        baseline=baseline,
        stored_baseline=stored_baseline,
        default=DEFAULT_BASELINE,
        progress=progress,
    )
    names = list(outputs)
    instructions = tuple(outputs[names[0]])
    return ImportedBenchmark(
        info=_info(slug),
        queries=tuple(map(ImportedQuery, instructions)),
        llms=tuple(LLMRecord(name, name) for name in names),
        responses=_joined(folder, instructions, outputs),
        baseline=chosen,
        notices=_left_out(instructions, outputs),
    )


def _llms_in(folder: Path) -> list[str]:
    names = sorted(path.parent.name for path in base.checked_folder(folder).glob(f"*/{OUTPUTS}"))
    if not names:
        raise file_error(folder, f"none of its folders holds a {OUTPUTS}.")
    return names


def _read_outputs(path: Path) -> dict[str, str]:
    rows = read_json(path)
    if not isinstance(rows, list) or not rows:
        raise file_error(path, "this is not a list of outputs.")
    outputs: dict[str, str] = {}
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, dict):
            raise file_error(path, "this is no JSON object.", number)
        instruction = base.text_of(path, number, row, "instruction")
        if instruction in outputs:
            raise file_error(path, "the same instruction occurs before.", number)
        outputs[instruction] = base.text_of(path, number, row, "output", empty=True)
    return outputs


def _joined(
    folder: Path, instructions: Sequence[str], outputs: Mapping[str, Mapping[str, str]]
) -> dict[str, dict[int, str]]:
    responses = {
        name: {index: given[text] for index, text in enumerate(instructions) if text in given}
        for name, given in outputs.items()
    }
    stranger = next((name for name, given in responses.items() if not given), None)
    if stranger is not None:
        reason = f"none of its instructions is among those of {next(iter(outputs))!r}."
        raise file_error(folder / stranger / OUTPUTS, reason)
    return responses


def _left_out(instructions: Sequence[str], outputs: Mapping[str, Mapping[str, str]]) -> tuple[str, ...]:
    extra = {text for given in outputs.values() for text in given}.difference(instructions)
    if not extra:
        return ()
    return (f"instructions left out because {next(iter(outputs))!r} has no response to them: {len(extra)}.",)


def _info(slug: str) -> BenchmarkInfo:
    return BenchmarkInfo(
        slug=slug,
        title="AlpacaEval",
        description="Public instructions from everyday to technical, with the responses of public LLMs.",
        version="2",
        licence="CC BY-NC 4.0",
        attribution="tatsu-lab/alpaca_eval",
        source_url="https://github.com/tatsu-lab/alpaca_eval",
        text_import_command=f"python -m precompute import alpaca-eval DIR --benchmark {slug}",
    )
