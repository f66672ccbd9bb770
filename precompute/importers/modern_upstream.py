"""Files of the benchmark `modern` as upstream has them, for the sources whose files hold prompts and LLMs.

A checkout of the repository stands in the place of the source's folder. Each reader yields rows of
{prompt_id, prompt, llm, response}, the LLM as upstream calls it; samples without an answer are passed over.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from precompute.errors import file_error
from precompute.importers.base import text_of
from precompute.importers.rows import read_json, read_json_lines

Located = tuple[Path, int, dict[str, Any]]
"""A file, the number of a row in it, and the row."""

_THOUGHT = re.compile(r"<think>.*?</think>|◁think▷.*?◁/think▷", re.DOTALL)
_REFUSED_BY_FILTER = "SAFETY"
_ENDING = re.compile(r"-(it|instruct|beta|preview|20\d{6}|20\d\d-\d\d-\d\d)$")


def without_reasoning(response: str) -> str:
    """Return a response without the reasoning that some LLMs write into it before they answer."""
    return _THOUGHT.sub("", response).strip()


def upstream_rows(folder: Path, source: str) -> Iterator[Located]:
    """Yield the rows of a checkout of the source's repository; there are none where it is no such checkout.

    Raises:
        PrecomputeError: a file is malformed.
    """
    if source in _LAYOUTS:
        patterns, read = _LAYOUTS[source]
        for path in sorted(path for pattern in patterns for path in folder.glob(pattern)):
            yield from read(path)


def short_name(llm: str, known: Container[str], aliases: Mapping[str, str]) -> str:
    """Return the name of an LLM without its vendor, nor what upstream writes behind it.

    Args:
        known: names that are cut no further.
        aliases: other names by those of upstream, without the vendor.
    """
    name = llm.rpartition("/")[2].lower()
    while name not in known and name not in aliases and _ENDING.search(name):
        name = _ENDING.sub("", name)
    return aliases.get(name, name)


def _slop_score(path: Path) -> Iterator[Located]:
    """`results/<llm>.json`: by LLM, the samples of {prompt_index, prompt, output}."""
    for llm, run in _object(path, read_json(path)).items():
        for number, sample in enumerate(_list(path, _object(path, run), "samples"), start=1):
            index = sample.get("prompt_index")
            if not isinstance(index, int):
                raise file_error(path, "'prompt_index' is no number.", number)
            answer = _answer([sample.get("output")])
            if answer is not None:
                prompt = text_of(path, number, sample, "prompt")
                yield path, number, _row(f"slop_{index:03d}", prompt, llm, answer)


def _misguided_attention(path: Path) -> Iterator[Located]:
    """`output_queries_<run>.json`: results of {prompt_id, prompt, llm, output}, several outputs each."""
    for number, result in enumerate(_list(path, _object(path, read_json(path)), "results"), start=1):
        output = result.get("output")
        answer = _answer(output if isinstance(output, list) else [output])
        if answer is not None:
            id_, prompt, llm = (text_of(path, number, result, key) for key in ("prompt_id", "prompt", "llm"))
            yield path, number, _row(f"ma_{id_}", prompt, llm, answer)


def _speechmap(path: Path) -> Iterator[Located]:
    """`<government>_criticism_<llm>.jsonl`: rows of {question_id, question, model, response}."""
    for number, record in read_json_lines(path):
        response = record.get("response")
        choices = response.get("choices") if isinstance(response, dict) else None
        messages = [choice.get("message") for choice in choices or [] if isinstance(choice, dict)]
        answer = _answer([message.get("content") for message in messages if isinstance(message, dict)])
        if answer is not None:
            id_, prompt, llm = (
                text_of(path, number, record, key) for key in ("question_id", "question", "model")
            )
            yield path, number, _row(f"sm_{id_}", prompt, llm, answer)


_GOVERNMENTS = ("china", "eu", "russia", "us")
_LAYOUTS: Final[Mapping[str, tuple[Sequence[str], Callable[[Path], Iterator[Located]]]]] = {
    "slop_score": (("results/*.json",), _slop_score),
    "misguided_attention": (("eval/results_long_eval/output_queries_*.json",), _misguided_attention),
    "speechmap_criticism": (
        tuple(f"responses/{government}_criticism_*.jsonl" for government in _GOVERNMENTS),
        _speechmap,
    ),
}
"""By source, where its files lie in a checkout, and what reads one."""


def _answer(samples: list[object]) -> str | None:
    """Return the first sample that is not empty, without what the LLM thought; None if there is none."""
    texts = (without_reasoning(sample) for sample in samples if isinstance(sample, str))
    return next((text for text in texts if text and text != _REFUSED_BY_FILTER), None)


def _row(prompt_id: str, prompt: str, llm: str, response: str) -> dict[str, Any]:
    return {"prompt_id": prompt_id, "prompt": prompt, "llm": llm, "response": response}


def _object(path: Path, value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise file_error(path, "this is no JSON object.")
    return value


def _list(path: Path, value: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    listed = value.get(key)
    if not isinstance(listed, list) or not all(isinstance(item, dict) for item in listed):
        raise file_error(path, f"{key!r} is no list of objects.")
    return listed
