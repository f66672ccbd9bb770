"""The texts that annotations speak of: public, no part of the project, and in a folder of their own.

Responses of AlpacaEval and FLASK are single files of two GitHub repositories (``crm.data.fetching``). Those
of current LLMs are from six repositories, see ``bundled/modern/README.md``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from crm.errors import CRMError
from parsing.documents import read_json
from parsing.files import gunzipped, read_bytes
from parsing.limits import ParseError

INDEX_LLM = "gpt4_1106_preview"
"""The LLM in whose ``model_outputs.json`` an annotation's instruction index counts."""
ALPACA_EVAL, FLASK = "alpaca_eval", "flask"
_FLASK_QUESTIONS = "flask_evaluation.jsonl"


@dataclass(frozen=True)
class CorpusFile:
    """One file of the corpora.

    Attributes:
        path: Below the folder of the corpora.
        published: Where it is on GitHub: owner, repository, revision, path.
    """

    path: Path
    published: str


def alpaca_eval_file(llm: str) -> CorpusFile:
    """Responses of an LLM to AlpacaEval's instructions."""
    below = f"results/{llm}/model_outputs.json"
    return CorpusFile(Path(ALPACA_EVAL) / below, f"tatsu-lab/alpaca_eval/HEAD/{below}")


def flask_file(llm: str | None = None) -> CorpusFile:
    """Responses of an LLM to FLASK's questions; without an LLM the questions."""
    if llm is None:
        return CorpusFile(
            Path(FLASK) / _FLASK_QUESTIONS, f"kaistAI/FLASK/HEAD/evaluation_set/{_FLASK_QUESTIONS}"
        )
    return CorpusFile(
        Path(FLASK) / "outputs" / f"{llm}.jsonl", f"kaistAI/FLASK/HEAD/model_output/outputs/{llm}.jsonl"
    )


def modern_file(source: str) -> Path:
    """Responses of current LLMs to the prompts of a source, below the folder of the corpora."""
    return Path("modern_llms") / source / "responses.jsonl.gz"


def files_of(row: Mapping[str, Any]) -> tuple[CorpusFile, ...]:
    """Return the files that an annotation's two responses are in, as far as they are published singly."""
    llms = (row["model_a"], row["model_b"])
    if row["source"] == ALPACA_EVAL:
        return tuple(map(alpaca_eval_file, (INDEX_LLM, *llms)))
    if row["source"] == FLASK:
        return (flask_file(), *map(flask_file, llms))
    return ()


@dataclass(frozen=True)
class CorpusState:
    """What of a source's annotated pairs can be read.

    Attributes:
        pairs: Annotated pairs.
        readable: Those whose texts are there.
        lacking: Files that are not there and are published singly.
    """

    source: str
    pairs: int
    readable: int
    lacking: tuple[CorpusFile, ...]


def corpora_states(folder: Path, annotations: Sequence[Path]) -> tuple[CorpusState, ...]:
    """Return, by source in the order of the annotations, what of them can be read in a folder.

    Raises:
        CRMError: A file of annotations cannot be read.
    """
    pairs: Counter[str] = Counter()
    readable: Counter[str] = Counter()
    lacking: dict[str, dict[CorpusFile, None]] = {}
    for path in annotations:
        for _, row in read_json_lines(path):
            source, files = row["source"], files_of(row)
            pairs[source] += 1
            absent = [file for file in files if not (folder / file.path).is_file()]
            lacking.setdefault(source, {}).update(dict.fromkeys(absent))
            readable[source] += not absent if files else (folder / modern_file(source)).is_file()
    return tuple(CorpusState(each, pairs[each], readable[each], tuple(lacking[each])) for each in pairs)


def read_json_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Row numbers from 1 and objects of a JSON Lines file; blank lines are skipped.

    Raises:
        CRMError: There is no such file, or a line is not a JSON object.
    """
    if not path.is_file():
        raise CRMError(f"There is no file {path}: check the path.")
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                row = read_json(line.decode("utf-8"), keep_halves=True)
            except UnicodeDecodeError as error:
                raise CRMError(f"{path.name}, row {number}: not UTF-8 text.") from error
            except ParseError as error:
                raise CRMError(f"{path.name}, row {number}: not JSON ({error}).") from error
            if not isinstance(row, dict):
                raise CRMError(f"{path.name}, row {number}: not a JSON object.")
            yield number, row


class TextMissingError(ValueError):
    """A text that an annotation speaks of is not in the folder of the corpora, as its file is not."""


class CorporaTexts:
    """Looks responses up by source, instruction and LLM; each file is read once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._alpaca_eval = cache(self._read_alpaca_eval)
        self._modern = cache(self._read_modern)
        self._flask = cache(self._read_flask)
        self._flask_instructions = cache(self._read_flask_instructions)
        self._instructions = cache(lambda: list(self._alpaca_eval(INDEX_LLM)))

    def response(self, source: str, index: int | str, llm: str) -> tuple[str, str]:
        """Instruction and response.

        Raises:
            TextMissingError: The file that it should be in is not there.
            ValueError: That file has no such response, or there is no such source.
        """
        if isinstance(index, str):
            return self._modern_response(source, index, llm)
        if source == ALPACA_EVAL:
            instructions = self._instructions()
            if not 0 <= index < len(instructions):
                raise ValueError(f"there is no instruction {index}")
            instruction = instructions[index]
            responses = self._alpaca_eval(llm)
            if instruction not in responses:
                raise ValueError(f"{llm} has no response to instruction {index}")
            return instruction, responses[instruction]
        if source == FLASK:
            if index not in self._flask_instructions() or index not in self._flask(llm):
                raise ValueError(f"{llm} has no response to question {index}")
            return self._flask_instructions()[index], self._flask(llm)[index]
        raise ValueError(f"the source {source!r} is neither alpaca_eval nor flask")

    def modern(self, source: str) -> Mapping[tuple[str, str], tuple[str, str]]:
        """Prompt and response by the prompt's id and the LLM, of a source of current LLMs' responses.

        Raises:
            CRMError: There is no such file.
        """
        try:
            return self._modern(source)
        except ValueError as error:
            raise CRMError(f"{str(error).capitalize()}: check the path of the corpora.") from error

    def _modern_response(self, source: str, prompt: str, llm: str) -> tuple[str, str]:
        found = self._modern(source).get((prompt, llm))
        if found is None:
            raise ValueError(f"{llm} has no response to {prompt} of {source}")
        return found

    def _there(self, path: Path) -> Path:
        if not (self._folder / path).is_file():
            raise TextMissingError(f"There is no file {self._folder / path}")
        return self._folder / path

    def _read_alpaca_eval(self, llm: str) -> dict[str, str]:
        self._there(alpaca_eval_file(llm).path)
        return read_alpaca_eval(self._folder, llm)

    def _read_modern(self, source: str) -> dict[tuple[str, str], tuple[str, str]]:
        path = self._there(modern_file(source))
        rows = map(read_json, gunzipped(read_bytes(path)).splitlines())
        return {(row["prompt_id"], row["llm"]): (row["prompt"], row["response"]) for row in rows}

    def _read_flask(self, llm: str) -> dict[int, str]:
        path = self._there(flask_file(llm).path)
        return {row["question_id"]: row["text"] for _, row in read_json_lines(path)}

    def _read_flask_instructions(self) -> dict[int, str]:
        path = self._there(flask_file().path)
        return {row["idx"]: row["instruction"] for _, row in read_json_lines(path)}


def read_alpaca_eval(corpora: Path, llm: str) -> dict[str, str]:
    """Return an LLM's AlpacaEval responses by instruction, in the order of its file.

    Raises:
        CRMError: The corpora lack the LLM.
    """
    path = corpora / alpaca_eval_file(llm).path
    if not path.is_file():
        raise CRMError(f"There is no file {path}: the corpora must lie in their upstream layout.")
    rows: list[dict[str, str]] = read_json(read_bytes(path), keep_halves=True)
    return {row["instruction"]: row["output"] for row in rows}


class LeftOut:
    """Counts annotated pairs whose texts are not there, to say so once."""

    def __init__(self) -> None:
        """Nothing is left out yet."""
        self._by_source: Counter[str] = Counter()

    def count(self, source: str) -> None:
        """Leave out a pair of this source."""
        self._by_source[source] += 1

    def note(self, read: int, folder: Path) -> str | None:
        """Return a sentence on what was left out of a folder beside the pairs read; None if it was nothing.

        Raises:
            CRMError: Everything was.
        """
        missing = self._by_source.total()
        if missing and not read:
            raise CRMError(
                f"None of the texts that {missing:,} annotated pairs are about is in {folder}: “python -m "
                "crm corpora” fetches what was published file by file, --corpora names another folder, and "
                "pairs of your own need no corpora (docs/training.md)."
            )
        if not missing:
            return None
        by_source = ", ".join(f"{source} {count:,}" for source, count in self._by_source.items())
        return (
            f"{missing:,} of {missing + read:,} annotated pairs are left out, as their texts are not in "
            f"{folder} ({by_source}); “python -m crm corpora” says how they are had."
        )
