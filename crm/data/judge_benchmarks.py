"""Benchmarks of judges from outside, read in the schemas that they are published in.

- *RewardBench 2* (Malik et al. 2025): ``id``, ``prompt``, ``chosen`` and ``rejected`` (lists), ``subset``.
- *Personalized RewardBench* (Ma et al. 2026): ``id``, ``question``, ``rubric_aspects``, ``chosen`` and
  ``rejected`` (texts), one folder a domain.
- *RubricBench* (Zhang et al. 2026) and sets like it: ``case_id``, ``instruction``, ``response_a``,
  ``response_b``, ``label`` (0 where A is preferred, 1 where B), ``rubrics``, ``domain``.

A benchmark is one Parquet or JSON Lines file, or a folder with such files, as a data set is cloned.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

from crm.criteria import MAX_LENGTH, CriteriaSet, Criterion, normalise
from crm.data.corpora import read_json_lines
from crm.errors import CRMError
from parsing.limits import ParseError
from parsing.parquet import open_parquet

TIES = "Ties"
"""The subset of RewardBench 2 in which several responses are right, which is scored in another way."""
_SUFFIXES = (".jsonl", ".parquet")
_BATCH = 256
_CUT = "…"


@dataclass(frozen=True)
class JudgedPrompt:
    """One prompt of a benchmark: which of its responses are right, and by what rubric if there is one.

    Attributes:
        chosen: The right responses, at least one.
        rejected: The wrong ones, at least one.
        domain: What accuracies are told apart by.
        rubric: What a right response covers, one text an aspect; empty where the benchmark has none.
    """

    id: str
    query: str
    chosen: tuple[str, ...]
    rejected: tuple[str, ...]
    domain: str
    rubric: tuple[str, ...] = ()

    @property
    def criteria(self) -> CriteriaSet:
        """The rubric as a judge is given it: an aspect that is too long for a criterion ends early."""
        return CriteriaSet(tuple(Criterion.parse(_within_limit(aspect)) for aspect in self.rubric))


@dataclass(frozen=True)
class JudgeBenchmark:
    """A benchmark of judges; ``name`` is the published one of its schema."""

    name: str
    prompts: tuple[JudgedPrompt, ...]

    @property
    def has_rubrics(self) -> bool:
        """Whether every prompt has a rubric."""
        return all(prompt.rubric for prompt in self.prompts)


@dataclass(frozen=True)
class _Schema:
    """How the rows of a benchmark are read.

    Attributes:
        fields: That tell the schema from others; every row has them.
        also: Fields that are read where there are any.
        read: Of a row and the folder of its file, the prompt.
    """

    name: str
    fields: frozenset[str]
    also: frozenset[str]
    read: Callable[[Mapping[str, Any], str], JudgedPrompt]


def is_judge_benchmark(path: Path) -> bool:
    """Return whether a file, or the first one of a folder, has the fields of a known benchmark.

    Raises:
        CRMError: A file of that kind cannot be read.
    """
    files = _files(path)
    return bool(files) and _schema(_fields(files[0])) is not None


def read_judge_benchmark(path: Path) -> JudgeBenchmark:
    """Read a benchmark.

    Raises:
        CRMError: There is nothing to read, its fields are of no known benchmark, files are of several ones, a
            row is not as described, or two prompts have the same id.
    """
    files = _files(path)
    if not files:
        raise CRMError(f"There is no benchmark in {path}: name a .parquet or .jsonl file, or their folder.")
    schema = _schema(_fields(files[0]))
    if schema is None:
        known = "; ".join(f"{one.name}: {', '.join(sorted(one.fields))}" for one in _SCHEMAS)
        raise CRMError(f"{files[0].name} has the fields of no known benchmark of judges ({known}).")
    prompts: dict[tuple[str, str], JudgedPrompt] = {}
    for file in files:
        for number, row in read_rows(file, (*schema.fields, *schema.also)):
            prompt = _checked(file, number, row, schema)
            if (prompt.domain, prompt.id) in prompts:
                raise CRMError(f"{file.name}, row {number}: the id {prompt.id!r} occurs twice: keep one.")
            prompts[prompt.domain, prompt.id] = prompt
    if not prompts:
        raise CRMError(f"{path.name} is empty: nothing can be evaluated on it.")
    return JudgeBenchmark(schema.name, tuple(prompts.values()))


def read_candidates(path: Path, benchmark: JudgeBenchmark) -> dict[str, tuple[str, ...]]:
    """Read rows {"id", "candidates"}: the responses among which a judge chooses, by prompt of a benchmark.

    Raises:
        CRMError: A row is not as described, there are none, or an id is none of the benchmark's, or one of
            several of its prompts.
    """
    known = Counter(prompt.id for prompt in benchmark.prompts)
    candidates: dict[str, tuple[str, ...]] = {}
    for number, row in read_rows(path, ("id", "candidates")):
        try:
            name, texts = str(row["id"]), _texts(row, "candidates")
        except (KeyError, TypeError, ValueError) as error:
            raise _row_error(path, number, error) from error
        if known[name] != 1 or name in candidates:
            what = "occurs twice" if known[name] else f"is none of {benchmark.name}"
            raise CRMError(f"{path.name}, row {number}: the id {name!r} {what}.")
        candidates[name] = texts
    if not candidates:
        raise CRMError(f"{path.name} is empty: there is nothing to choose from.")
    return candidates


def read_rows(path: Path, fields: Sequence[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Row numbers from 1 and, of a Parquet file only these, fields of a Parquet or JSON Lines file.

    Raises:
        CRMError: There is no such file, or it cannot be read.
    """
    if path.suffix != ".parquet":
        yield from read_json_lines(path)
        return
    if not path.is_file():
        raise CRMError(f"There is no file {path}: check the path.")
    number = 0
    try:
        with open_parquet(path) as table:
            columns = [name for name in table.names if name in fields]
            for batch in table.batches(columns, _BATCH):
                for row in batch.to_pylist():
                    number += 1
                    yield number, row
    except (ParseError, UnicodeDecodeError, OSError) as error:
        raise _unreadable(path, error) from error


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        return sorted(file for file in path.rglob("*") if file.suffix in _SUFFIXES and file.is_file())
    return [path] if path.suffix in _SUFFIXES and path.is_file() else []


def _fields(file: Path) -> frozenset[str]:
    """Return the names of a file's fields; of JSON Lines those of the first row."""
    if file.suffix != ".parquet":
        return frozenset(chain.from_iterable(row for _, row in islice(read_json_lines(file), 1)))
    try:
        with open_parquet(file) as table:
            return frozenset(table.names)
    except (ParseError, UnicodeDecodeError, OSError) as error:
        raise _unreadable(file, error) from error


def _unreadable(file: Path, error: Exception) -> CRMError:
    return CRMError(f"{file.name} is no readable Parquet file ({error}): load it again.")


def _schema(fields: frozenset[str]) -> _Schema | None:
    return next((schema for schema in _SCHEMAS if schema.fields <= fields), None)


def _checked(file: Path, number: int, row: Mapping[str, Any], schema: _Schema) -> JudgedPrompt:
    try:
        prompt = schema.read(row, file.parent.name)
        prompt.criteria  # noqa: B018  # a rubric that is no list of criteria is refused with its row
    except (KeyError, TypeError, ValueError) as error:
        raise _row_error(file, number, error) from error
    return prompt


def _row_error(file: Path, number: int, error: Exception) -> CRMError:
    reason = f"the field {error} is missing" if isinstance(error, KeyError) else str(error).rstrip(".")
    return CRMError(f"{file.name}, row {number}: {reason}.")


def _reward_bench_2(row: Mapping[str, Any], folder: str) -> JudgedPrompt:
    return JudgedPrompt(
        str(row["id"]), _text(row, "prompt"), _texts(row, "chosen"), _texts(row, "rejected"),
        _text(row, "subset"),
    )  # fmt: skip


def _personalized(row: Mapping[str, Any], folder: str) -> JudgedPrompt:
    domain = folder.replace("_", " ") if folder in _PERSONALIZED_DOMAINS else _text(row, "category")
    aspects = row["rubric_aspects"]
    if not isinstance(aspects, list) or not all(isinstance(one, Mapping) for one in aspects):
        raise TypeError("the field 'rubric_aspects' is no list of objects with an 'aspect'")
    return JudgedPrompt(
        str(row["id"]), _text(row, "question"), (_text(row, "chosen"),), (_text(row, "rejected"),), domain,
        _rubric([_text(one, "aspect") for one in aspects]),
    )  # fmt: skip


_PERSONALIZED_DOMAINS = (
    "Art_and_Entertainment",
    "Lifestyle_and_Personal_Development",
    "Society_and_Culture",
)


def _rubric_bench(row: Mapping[str, Any], folder: str) -> JudgedPrompt:
    responses = (_text(row, "response_a"), _text(row, "response_b"))
    if row["label"] not in (0, 1):
        raise ValueError(f"the label {row['label']!r} is neither 0, where A is preferred, nor 1")
    better = int(row["label"])
    rubrics = row["rubrics"]
    return JudgedPrompt(
        str(row["case_id"]), _text(row, "instruction"), (responses[better],), (responses[1 - better],),
        _text(row, "domain"),
        _rubric(rubrics.splitlines() if isinstance(rubrics, str) else _texts(row, "rubrics")),
    )  # fmt: skip


def _rubric(aspects: Sequence[str]) -> tuple[str, ...]:
    """Return the aspects that say something, each once."""
    told = tuple(dict.fromkeys(aspect.strip() for aspect in aspects if aspect.strip()))
    if not told:
        raise ValueError("the rubric is empty")
    return told


_SCHEMAS = (
    _Schema(
        "RewardBench 2",
        frozenset(("id", "prompt", "chosen", "rejected", "subset")),
        frozenset(),
        _reward_bench_2,
    ),
    _Schema(
        "Personalized RewardBench",
        frozenset(("id", "question", "rubric_aspects", "chosen", "rejected")),
        frozenset(("category",)),
        _personalized,
    ),
    _Schema(
        "RubricBench",
        frozenset(("case_id", "instruction", "response_a", "response_b", "label", "rubrics", "domain")),
        frozenset(),
        _rubric_bench,
    ),
)


def _text(row: Mapping[str, Any], field: str) -> str:
    if not isinstance(row[field], str):
        raise TypeError(f"the field {field!r} is not a text")
    return str(row[field])


def _texts(row: Mapping[str, Any], field: str) -> tuple[str, ...]:
    values = row[field]
    if not isinstance(values, list) or not values or not all(isinstance(value, str) for value in values):
        raise TypeError(f"the field {field!r} is no list of one or more texts")
    return tuple(values)


def _within_limit(aspect: str) -> str:
    text = normalise(aspect)
    return text if len(text) <= MAX_LENGTH else text[: MAX_LENGTH - len(_CUT)].rstrip() + _CUT
