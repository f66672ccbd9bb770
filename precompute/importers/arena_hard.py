"""Arena-Hard v2: `question.jsonl` and one `model_answer/<llm>.jsonl` an LLM."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from db.records import BenchmarkInfo, LLMRecord
from precompute.errors import file_error
from precompute.importers import base
from precompute.importers.base import ImportedBenchmark, ImportedQuery, read_of_llms
from precompute.importers.rows import read_json_lines

DEFAULT_BASELINE = "gemini-2.0-flash-001"
QUESTIONS = "question.jsonl"
ANSWERS = "model_answer"


def read_arena_hard(
    folder: Path,
    slug: str,
    llms: Sequence[str] | None = None,
    *,
    baseline: str | None = None,
    stored_baseline: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> ImportedBenchmark:
    """Read the questions, with upstream's categories, and the responses of some or all LLMs, joined on uid.

    Answers to questions that are not in `question.jsonl` are left out. An empty answer is a response like any
    other; of reasoning that upstream keeps apart nothing is read.

    Args:
        folder: holds the questions and the folder of answers.
        llms: names of the LLMs to read beside the baseline; default all.
        baseline: default gemini-2.0-flash-001, upstream's for creative writing and that of Jia et al. 2025.
        stored_baseline: the baseline of the benchmark that is imported onto, which need not be in the folder.

    Raises:
        PrecomputeError: a file or folder is missing or malformed; an LLM, or the baseline, has no file there.
    """
    queries = _read_questions(base.checked_folder(folder) / QUESTIONS)
    known = _llms_in(folder / ANSWERS)
    index = {str(query.external_id): place for place, query in enumerate(queries)}
    strangers: set[str] = set()
    responses, chosen = read_of_llms(
        folder / ANSWERS,
        known,
        lambda name: _read_answers(folder / ANSWERS / f"{name}.jsonl", index, strangers),
        llms,
        baseline=baseline,
        stored_baseline=stored_baseline,
        default=DEFAULT_BASELINE,
        progress=progress,
    )
    notice = f"answers left out because {QUESTIONS} has no such question: to {len(strangers)} uids."
    return ImportedBenchmark(
        info=_info(slug),
        queries=queries,
        llms=tuple(LLMRecord(name, name) for name in responses),
        responses=responses,
        baseline=chosen,
        notices=(notice,) if strangers else (),
    )


def _read_questions(path: Path) -> tuple[ImportedQuery, ...]:
    queries: dict[str, ImportedQuery] = {}
    for row, record in read_json_lines(path):
        uid = base.name_of(path, row, record, "uid")
        if uid in queries:
            raise file_error(path, f"the uid {uid!r} occurs before.", row)
        category, topic = (
            _title(base.optional_name_of(path, row, record, column)) for column in ("category", "subcategory")
        )
        prompt = base.text_of(path, row, record, "prompt")
        queries[uid] = ImportedQuery(prompt, uid, category, topic or category)
    if not queries:
        raise file_error(path, "there are no questions in it.")
    return tuple(queries.values())


def _title(name: str | None) -> str | None:
    """Return a name of upstream's, such as creative_writing, as people write it."""
    return None if name is None else name.replace("_", " ").capitalize()


def _llms_in(folder: Path) -> list[str]:
    names = sorted(path.stem for path in base.checked_folder(folder).glob("*.jsonl"))
    if not names:
        raise file_error(folder, "it holds no <llm>.jsonl.")
    return names


def _read_answers(path: Path, index: Mapping[str, int], strangers: set[str]) -> dict[int, str]:
    """Return the answers by index of the query; uids that are no query's are added to the strangers."""
    answers: dict[str, str] = {}
    for row, record in read_json_lines(path):
        uid = base.name_of(path, row, record, "uid")
        if uid in answers:
            raise file_error(path, f"the uid {uid!r} occurs before.", row)
        answers[uid] = _answer(path, row, record)
    known = {index[uid]: text for uid, text in answers.items() if uid in index}
    if not known:
        raise file_error(path, f"none of its uids is in {QUESTIONS}.")
    strangers.update(answers.keys() - index.keys())
    return known


def _answer(path: Path, row: int, record: Mapping[str, Any]) -> str:
    """Return the last turn: its content is a text, or an object of the answer and perhaps the thought."""
    messages = record.get("messages")
    last = messages[-1] if isinstance(messages, list) and messages else None
    if not isinstance(last, dict) or last.get("role") != "assistant":
        raise file_error(path, "'messages' does not end with a turn of the assistant.", row)
    content = last.get("content")
    answer = content.get("answer") if isinstance(content, dict) else content
    if not isinstance(answer, str):
        raise file_error(path, "the last turn of 'messages' has no answer that is a text.", row)
    return answer


def _info(slug: str) -> BenchmarkInfo:
    return BenchmarkInfo(
        slug=slug,
        title="Arena-Hard v2",
        description="Hard prompts and creative writing of real users, with the responses of public LLMs.",
        version="2.0",
        licence="Apache-2.0",
        attribution="lmarena/arena-hard-auto",
        source_url="https://github.com/lmarena/arena-hard-auto",
        text_import_command=f"python -m precompute import arena-hard DIR --benchmark {slug}",
    )
