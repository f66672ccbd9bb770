"""Sequence classification models as judges, whatever runs them: prompts, checkpoints and verdicts."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from crm.backends._text_judge import PromptSettings, TextJudge, TextJudgeSettings
from crm.errors import CRMError, UnavailableError, one_line
from crm.llm.prompt import PromptTemplate, Tokenizer
from crm.protocol import Floats, Question, probabilities
from parsing.documents import read_json
from parsing.files import read_bytes

TURN = "\ue000"
"""Stands between turns in a template's text; a private character, which no text should contain."""


@dataclass(frozen=True)
class ConversationTokenizer:
    """A tokenizer that reads a prompt as turns and puts the model's chat template around them.

    It is what ``PromptTemplate.fit`` needs to keep the whole conversation within a window.

    Attributes:
        roles: Roles of the turns, in their order.
        opens_answer: Whether the model's answer is opened after the last turn.
    """

    tokenizer: Any
    roles: tuple[str, ...] = ("user",)
    opens_answer: bool = True

    def __call__(self, text: str, *, add_special_tokens: bool = True, **options: Any) -> Any:
        """``input_ids`` of a prompt; without special tokens, of a bare piece of text."""
        if not add_special_tokens:
            return self.tokenizer(text, add_special_tokens=False, **options)
        parts = text.split(TURN, maxsplit=len(self.roles) - 1)
        turns = [
            {"role": role, "content": part.strip()} for role, part in zip(self.roles, parts, strict=True)
        ]
        rendered = self.tokenizer.apply_chat_template(
            turns, tokenize=False, add_generation_prompt=self.opens_answer
        )
        return self.tokenizer(rendered, add_special_tokens=False, **options)

    def decode(self, token_ids: Any, **options: Any) -> Any:
        """Return the text of some tokens."""
        return self.tokenizer.decode(token_ids, **options)


def conversation(
    tokenizer: Any, model: str, roles: Sequence[str] = ("user",), *, opens_answer: bool = True
) -> ConversationTokenizer:
    """Return a conversation in a model's own chat template.

    Raises:
        UnavailableError: Its tokenizer has none.
    """
    if not getattr(tokenizer, "chat_template", None):
        fix = "a chat model, or write chat = false" if opens_answer else "a model trained on conversations"
        raise UnavailableError(f"The tokenizer of {model} has no chat template: use {fix}.")
    return ConversationTokenizer(tokenizer, tuple(roles), opens_answer)


def special_tokens(tokenizer: Any) -> tuple[str, ...]:
    """Return the texts that a tokenizer reads as marks of its own, such as the end of a turn."""
    added = getattr(tokenizer, "added_tokens_decoder", {}).values()
    marks = {str(token) for token in added if token.special}
    marks.update(getattr(tokenizer, "all_special_tokens", ()))
    return tuple(sorted(mark for mark in marks if len(mark) > 1))


def without_marks(question: Question, marks: Sequence[str]) -> Question:
    """Return the question with such marks in its texts broken up: a response cannot end its own turn."""
    pair = question.pair
    texts = {
        field: _broken_up(text, marks)
        for field, text in vars(pair).items()
        if any(mark in text for mark in (TURN, *marks))
    }
    return replace(question, pair=replace(pair, **texts)) if texts else question


def _broken_up(text: str, marks: Sequence[str]) -> str:
    text = text.replace(TURN, " ")
    for mark in marks:
        text = text.replace(mark, f"{mark[0]} {mark[1:]}")
    return text


class SequenceClassifier(Protocol):
    """Runs a sequence classification model.

    Attributes:
        window: Tokens that it can read.
        labels: 2 where it compares two responses, 1 where it scores one.
    """

    tokenizer: Any
    window: int
    labels: int

    def margins(self, prompts: Sequence[list[int]]) -> Floats:
        """Return the model's output for prompts given as tokens ``[N]``.

        Of a model with two labels the log-odds of the first, “A is preferred”; with one, its score.
        """


@dataclass(frozen=True, eq=False)
class PromptedClassifier:
    """A loaded model and the prompts that it is shown.

    Attributes:
        tokenizer: Turns prompts into tokens: the model's own, or a conversation in it.
        max_length: Tokens that a prompt may have, where that is less than the model reads.

    Raises:
        CRMError: The template shows another number of responses than the model reads.
    """

    engine: SequenceClassifier
    template: PromptTemplate
    tokenizer: Tokenizer
    max_length: int | None = None

    def __post_init__(self) -> None:
        if self.template.compares != (self.engine.labels > 1):
            shown, read = ("two", "one") if self.template.compares else ("one", "two")
            raise CRMError(
                f"The prompt shows {shown} of the responses, but the model reads {read}: "
                "name the template of its training as 'prompt'."
            )

    def log_odds(self, questions: Sequence[Question]) -> Floats:
        """Log-odds that A is preferred ``[N]``.

        Raises CriterionError: The criteria of a question do not fit into the model's window.
        """
        cleaned = [without_marks(question, self._marks) for question in questions]
        window = min(self.engine.window, self.max_length or self.engine.window)
        fitted = self.template.fit(self.tokenizer, window)
        if self.template.compares:
            return self._margins([fitted.pair(question) for question in cleaned])
        # One response occurs in many pairs, the baseline's in all of a query: each is scored once.
        prompts: dict[str, int] = {}
        sides = []
        for question in cleaned:
            for response in (question.pair.response_a, question.pair.response_b):
                prompt = fitted.single(question.criteria, question.pair.query, response)
                sides.append(prompts.setdefault(prompt, len(prompts)))
        scores = self._margins(list(prompts))[sides].reshape(-1, 2)
        return scores[:, 0] - scores[:, 1]

    def _margins(self, prompts: Sequence[str]) -> Floats:
        if not prompts:
            return np.empty(0, dtype=np.float32)
        return self.engine.margins([self.tokenizer(text, verbose=False)["input_ids"] for text in prompts])

    @cached_property
    def _marks(self) -> tuple[str, ...]:
        return special_tokens(self.engine.tokenizer)


class ClassifierCRM(TextJudge):
    """A judge over a classifier that is loaded when it first judges; may be shared between threads."""

    def __init__(
        self, name: str, version: str, settings: TextJudgeSettings, load: Callable[[], PromptedClassifier]
    ) -> None:
        """Name a judge; ``load`` is called again if it failed."""
        super().__init__(name, version, settings)
        self._load = load
        self._lock = threading.Lock()
        self._loaded: PromptedClassifier | None = None

    def prob_a(self, questions: Sequence[Question]) -> Floats:
        """Probability that A is preferred ``[N]``."""
        with self._lock:
            if self._loaded is None:
                self._loaded = self._load()
        return probabilities(self._loaded.log_odds(questions))


FORMAT = 1
LABELS = {"classification": 2, "ranking": 1}
"""Labels of a model by the loss it was trained with."""


@dataclass(frozen=True)
class CheckpointInfo:
    """How a checkpoint was trained, as far as it says so.

    Attributes:
        labels: 2 for a model that compares two responses, 1 for one that scores a single response.
        max_length: Longest prompt in training, in tokens.
        template: The prompt of its training.
    """

    labels: int | None = None
    max_length: int | None = None
    template: PromptTemplate | None = None


def read_checkpoint_info(model: str, revision: str | None = None) -> CheckpointInfo:
    """Read ``crm.json`` and ``prompt.txt`` of a folder or of a model on a hub; either may be absent.

    Raises:
        UnavailableError: ``crm.json`` is damaged or of another format.
        CRMError: ``prompt.txt`` is no template.
    """
    described, prompt = _located(model, "crm.json", revision), _located(model, "prompt.txt", revision)
    template = PromptTemplate.load(prompt) if prompt else None
    if described is None:
        return CheckpointInfo(template=template)
    try:
        content = read_json(read_bytes(described))
        if content["format"] != FORMAT:
            raise ValueError(f"format {content['format']!r} instead of {FORMAT}")
        return CheckpointInfo(LABELS[content["loss"]], int(content["max_length"]), template)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UnavailableError(
            f"The file crm.json of the checkpoint {model} cannot be used ({one_line(error)}): train it again."
        ) from error


def prompted_classifier(
    engine: SequenceClassifier,
    info: CheckpointInfo,
    model: str,
    settings: PromptSettings,
    max_length: int | None,
) -> PromptedClassifier:
    """Return a running model with its prompt: the configured one, else the one it was trained with.

    Raises:
        UnavailableError: There is neither, or a chat template is wanted and there is none.
        CRMError: The prompt is no template, or not for this model.
    """
    if settings.prompt is not None:
        template = PromptTemplate.load(Path(settings.prompt))
    elif info.template is not None:
        template = info.template
    else:
        raise UnavailableError(
            f"The checkpoint {model} has no prompt.txt: name the template of its training as 'prompt'."
        )
    tokenizer = conversation(engine.tokenizer, model) if settings.chat else engine.tokenizer
    limits = [limit for limit in (max_length, info.max_length) if limit]
    return PromptedClassifier(engine, template, tokenizer, min(limits, default=None))


def checked_labels(found: int, expected: int | None, model: str) -> int:
    """Return the number of labels of a model, 1 or 2.

    Raises:
        UnavailableError: It has another number, or another than it was trained with.
    """
    if found not in LABELS.values():
        raise UnavailableError(
            f"The checkpoint {model} has {found} labels: a judge of pairs has two (A is preferred, B is "
            "preferred), a judge of single responses has one."
        )
    if expected is not None and found != expected:
        kind = "compares two responses" if expected > 1 else "scores single responses"
        raise UnavailableError(
            f"The checkpoint {model} has {found} label{'s' * (found > 1)}, but {expected} "
            f"{'are' if expected > 1 else 'is'} expected here: name a model that {kind}."
        )
    return found


def finite(margins: Floats, model: str) -> Floats:
    """Return the margins as they are, or raise an UnavailableError that some are no numbers."""
    if not np.isfinite(margins).all():
        raise UnavailableError(
            f"The checkpoint {model} answers with values that are no numbers: "
            'train it again, or write dtype = "float32".'
        )
    return margins


def _located(model: str, name: str, revision: str | None) -> Path | None:
    """Return a file of a checkpoint; None where it has none of that name."""
    folder = Path(model)
    if folder.is_dir():
        return folder / name if (folder / name).is_file() else None
    from transformers.utils import cached_file  # noqa: PLC0415  # not needed for folders

    options: Any = {"_raise_exceptions_for_missing_entries": False}
    try:
        found = cached_file(
            model, name, revision=revision, **options, _raise_exceptions_for_connection_errors=False
        )
    except OSError:
        return None  # loading the model itself will say what is wrong
    return Path(found) if found else None
