"""Many things asked of one LLM whose replies are read and checked, and kept so that none is asked twice."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar

from crm.errors import CRMError
from crm.llm import make_chat_models
from crm.llm.chat_model import LLMFailure, LLMReply, Outcome, Prompt, ReplyStatus
from crm.llm.running import run_to_end
from crm.llm.settings import ConfiguredLLM, llms_file, read_llms
from crm.llm.structured import CUT, StructuredChatModel, UnusableReplyError, Usable

Key = TypeVar("Key")

_FORMAT = "1"


@dataclass(frozen=True)
class Task(Generic[Usable]):
    """Something that an LLM is asked for.

    Attributes:
        prompt: The question; given what was wrong with the last reply, empty at first.
        read: Returns what is in a reply, or raises ``UnusableReplyError``.
    """

    prompt: Callable[[str], str]
    read: Callable[[str], Usable]


@dataclass(frozen=True)
class Answers(Generic[Key, Usable]):
    """What came of several tasks.

    Attributes:
        found: What was answered.
        failed: Why the others were not, in one sentence each.
        asked: How many went to the LLM; the others were known.
    """

    found: dict[Key, Usable] = field(default_factory=dict)
    failed: dict[Key, str] = field(default_factory=dict)
    asked: int = 0


@dataclass(frozen=True)
class KeptReplies:
    """A folder of usable replies, each in a file that only this user may read.

    A reply is found by all that it depends on: the LLM, its settings, and the whole prompt.
    """

    folder: Path

    def find(self, llm: ConfiguredLLM, prompt: str) -> str | None:
        """Return the reply to a prompt; None if it is not there."""
        try:
            return self._file(llm, prompt).read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            raise self._problem("read", error) from error

    def keep(self, llm: ConfiguredLLM, prompt: str, reply: str) -> None:
        """Store a reply, whole or not at all."""
        file = self._file(llm, prompt)
        try:
            file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle, half = tempfile.mkstemp(dir=file.parent)
            with os.fdopen(handle, "w", encoding="utf-8") as stream:
                stream.write(reply)
            Path(half).replace(file)
        except OSError as error:
            raise self._problem("written", error) from error

    def _file(self, llm: ConfiguredLLM, prompt: str) -> Path:
        found_by = "\0".join((_FORMAT, llm.digest, prompt))
        return self.folder / f"{hashlib.sha256(found_by.encode()).hexdigest()}.txt"

    def _problem(self, what: str, error: OSError | UnicodeDecodeError) -> CRMError:
        said = error.strerror if isinstance(error, OSError) else "it is no text"
        return CRMError(f"The replies kept in {self.folder} cannot be {what} ({said}): name another folder.")


class AskedLLM:
    """An LLM that tasks are given to."""

    def __init__(self, llm: ConfiguredLLM, kept: KeptReplies | None = None) -> None:
        """Describe it.

        Args:
            kept: Where usable replies are; by default they are not kept.
        """
        self.name = llm.name
        self._llm = llm
        self._kept = kept

    @classmethod
    def configured(cls, name: str, kept: Path) -> AskedLLM:
        """Return the LLM of this name in ``llms.toml``, with the folder of its replies.

        Raises ConfigError: There is none.
        """
        [llm] = read_llms(llms_file(), [name])
        return cls(llm, KeptReplies(kept))

    def answers(
        self, tasks: Mapping[Key, Task[Usable]], on_progress: Callable[[int, int], None] = lambda *_: None
    ) -> Answers[Key, Usable]:
        """Return what the LLM answers; what is of no use is asked for again, with what was wrong.

        Args:
            on_progress: Told how many of those that have to be asked are answered, or have failed, from 0 on.

        Raises:
            UnavailableError: The LLM cannot be asked, or does not understand; what it answered is kept.
            CRMError: Its model cannot be loaded, its API key is not there, or replies cannot be kept.
        """
        answers: Answers[Key, Usable] = Answers()
        open_tasks: dict[str, tuple[Key, Task[Usable]]] = {}
        for place, (key, task) in enumerate(tasks.items()):
            if (known := self._known(task)) is not None:
                answers.found[key] = known
            else:
                open_tasks[str(place)] = (key, task)
        if not open_tasks:
            return answers
        done = 0

        def take(outcome: Outcome) -> None:
            nonlocal done
            key, task = open_tasks[outcome.prompt.external_id]
            self._take(key, task, outcome.result, answers)
            done += 1
            on_progress(done, len(open_tasks))

        model = StructuredChatModel(
            make_chat_models([self._llm])[self.name],
            check=lambda prompt, reply: _problem_of(reply, open_tasks[prompt.external_id][1]),
            rephrase=lambda prompt, why: Prompt(
                prompt.external_id, open_tasks[prompt.external_id][1].prompt(why)
            ),
        )
        on_progress(0, len(open_tasks))
        prompts = [Prompt(name, task.prompt("")) for name, (_, task) in open_tasks.items()]
        run_to_end(model.ask(prompts, take))
        return Answers(answers.found, answers.failed, len(open_tasks))

    def _known(self, task: Task[Usable]) -> Usable | None:
        reply = self._kept.find(self._llm, task.prompt("")) if self._kept else None
        if reply is None:
            return None
        try:
            return task.read(reply)
        except UnusableReplyError:  # another version of the program could use it
            return None

    def _take(
        self, key: Key, task: Task[Usable], result: LLMReply | LLMFailure, answers: Answers[Key, Usable]
    ) -> None:
        if isinstance(result, LLMFailure):
            answers.failed[key] = result.message
        elif result.status is ReplyStatus.REFUSED:
            answers.failed[key] = f"{self.name} refuses."
        else:
            reply = result.text or ""
            answers.found[key] = task.read(reply)
            if self._kept:
                self._kept.keep(self._llm, task.prompt(""), reply)


def _problem_of(reply: LLMReply, task: Task[Usable]) -> str | None:
    """What is wrong with a reply; None where it can be used, or where the LLM refuses."""
    if reply.status is ReplyStatus.REFUSED:
        return None
    try:
        task.read(reply.text or "")
    except UnusableReplyError as error:
        return CUT if reply.status is ReplyStatus.TRUNCATED else str(error)
    return None
