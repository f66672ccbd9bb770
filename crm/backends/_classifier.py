"""Sequence classification models as judges, whatever runs them: prompts, checkpoints and verdicts."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from crm.backends._text_judge import PromptSettings, TextJudge, TextJudgeSettings
from crm.config import Settings
from crm.errors import CRMError, UnavailableError, one_line
from crm.llm.conversation import (
    prompt_tokenizer,
    shown_prompt,
    special_tokens,
    template_doubts,
    without_marks,
)
from crm.llm.prompt import FittedTemplate, KnownWords, PromptTemplate, Tokenizer
from crm.protocol import Floats, Question, Workings, probabilities
from crm.version import version_of
from parsing.documents import read_json
from parsing.files import read_bytes


class SequenceClassifier(Protocol):
    """Runs a sequence classification model.

    Attributes:
        window: Tokens that it can read.
        labels: 2 where it compares two responses, 1 where it scores one.
        label_names: What the model calls them; empty where that is not known here.
        weights: Bytes that it takes in this process; None where it runs elsewhere.
    """

    tokenizer: Any
    window: int
    labels: int
    label_names: tuple[str, ...]
    weights: int | None

    def margins(self, prompts: Sequence[list[int]]) -> Floats:
        """Return the model's output for prompts given as tokens ``[N]``.

        Of a model with two labels the log-odds of the first, “A is preferred”; with one, its score.
        """

    def pooling(self, prompt: list[int]) -> str:
        """Return in words at which tokens of a prompt the labels are read."""


_ALL_WORDS = KnownWords()


@dataclass(frozen=True, eq=False)
class PromptedClassifier:
    """A loaded model and the prompts that it is shown.

    Attributes:
        tokenizer: Turns prompts into tokens: the model's own, or a conversation in it.
        max_length: Tokens that a prompt may have, where that is less than the model reads.
        origin: Where the template comes from, in words.
        trained_on: Whether it is known to be the template of the model's training.
        words: What the model can read in criteria.

    Raises:
        CRMError: The template shows another number of responses than the model reads.
    """

    engine: SequenceClassifier
    template: PromptTemplate
    tokenizer: Tokenizer
    max_length: int | None = None
    origin: str = ""
    trained_on: bool = False
    words: KnownWords = _ALL_WORDS

    def __post_init__(self) -> None:
        if self.template.compares != (self.engine.labels > 1):
            shown, read = ("two", "one") if self.template.compares else ("one", "two")
            raise CRMError(
                f"The prompt shows {shown} of the responses, but the model reads {read}: "
                "name the template of its training as 'prompt'."
            )

    def log_odds(self, questions: Sequence[Question]) -> Floats:
        """Log-odds that A is preferred ``[N]``.

        Raises CriterionError: The criteria of a question do not fit into the model's window, or it was not
        trained to read them.
        """
        fitted = self.template.fit(self.tokenizer, self._window)
        shown = [self._texts(fitted, question) for question in questions]
        # One response occurs in many pairs, the baseline's in all of a query: each is scored once.
        prompts: dict[str, int] = {}
        places = [prompts.setdefault(text, len(prompts)) for texts in shown for text in texts]
        margins = self._margins(list(prompts))[places]
        if self.template.compares:
            return margins
        scores = margins.reshape(-1, 2)
        return scores[:, 0] - scores[:, 1]

    def workings(self, question: Question) -> Workings:
        """Return what the model is shown of a question; raises as ``log_odds``."""
        texts = self._texts(self.template.fit(self.tokenizer, self._window), question)
        wholes = self._texts(self.template, question)
        ids = self._tokens(texts[0])
        prompts = tuple(map(partial(shown_prompt, self.tokenizer), texts, wholes))
        return Workings(
            prompts=prompts,
            template=self.origin,
            labels=_labels_in_words(self.engine),
            pooling=self.engine.pooling(ids),
            window=self._window,
            weights=self.engine.weights,
            doubts=(
                *template_doubts(self.tokenizer, prompts[0].text, trained_on=self.trained_on),
                *_token_doubts(self.engine.tokenizer, ids),
                *_label_doubts(self.engine.label_names),
            ),
        )

    @property
    def _window(self) -> int:
        return min(self.engine.window, self.max_length or self.engine.window)

    def _texts(self, template: PromptTemplate | FittedTemplate, question: Question) -> list[str]:
        """Return the prompt that shows both responses, or the two that show one each."""
        known = replace(question, criteria=self.words.asked(question.criteria))
        asked = without_marks(known, self._marks)
        if self.template.compares:
            return [template.pair(asked)]
        return [
            template.single(asked.criteria, asked.pair.query, turns) for turns in asked.pair.conversations
        ]

    def _margins(self, prompts: Sequence[str]) -> Floats:
        if not prompts:
            return np.empty(0, dtype=np.float32)
        return self.engine.margins(list(map(self._tokens, prompts)))

    def _tokens(self, prompt: str) -> list[int]:
        ids: list[int] = self.tokenizer(prompt, verbose=False)["input_ids"]
        return ids

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
        return probabilities(self._ready().log_odds(questions))

    def workings(self, question: Question) -> Workings:
        """Return what the model is shown of a question, and how it is read."""
        return self._ready().workings(question)

    def _ready(self) -> PromptedClassifier:
        with self._lock:
            if self._loaded is None:
                self._loaded = self._load()
            return self._loaded


def _labels_in_words(engine: SequenceClassifier) -> str:
    named = [f" (“{name}”)" for name in engine.label_names] or [""] * engine.labels
    if engine.labels == 1:
        return f"one{named[0]}: the score of a single response; the difference of two scores decides"
    return f"two: the first{named[0]} says that A is preferred, the second{named[1]} that B is"


_NAMES_OF_B = frozenset(("b", "answer_b", "model_b", "response_b", "b is preferred"))


def _label_doubts(names: Sequence[str]) -> tuple[str, ...]:
    """Return that the first label is called as the second should be."""
    if not names or names[0].casefold() not in _NAMES_OF_B:
        return ()
    return (
        f"The checkpoint calls its first label “{names[0]}”, but the first label must say that A is "
        "preferred: exchange the two rows of its classification head.",
    )


def _token_doubts(tokenizer: Any, ids: Sequence[int]) -> tuple[str, ...]:
    """Return that a prompt begins twice."""
    first = getattr(tokenizer, "bos_token_id", None)
    if first is None or list(ids[:2]) != [first, first]:
        return ()
    return (
        f"The prompt begins with “{tokenizer.bos_token}” twice, once from the template and once from the "
        "tokenizer: take it out of the template.",
    )


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
        chat: Whether the prompt is in the model's chat template.
        generation_prompt: Whether the model's answer is opened after it then.
        truncate: Whether prompts longer than those of training are shortened; if not, only what the model
            cannot read is.
        avoid_in_words: Whether criteria of its training read “Avoid: …”; None where it does not say so.
        weights_in_words: Whether they ended with their weights; likewise.
    """

    labels: int | None = None
    max_length: int | None = None
    template: PromptTemplate | None = None
    chat: bool = False
    generation_prompt: bool = True
    truncate: bool = True
    avoid_in_words: bool | None = None
    weights_in_words: bool | None = None

    def words(self, template: PromptTemplate) -> KnownWords:
        """Return what the model can read in criteria; where it does not say so, that of our own layouts."""
        avoid, weights = (
            template.is_ours if known is None else known
            for known in (self.avoid_in_words, self.weights_in_words)
        )
        return KnownWords(avoid, weights)


def read_checkpoint_info(model: str, revision: str | None = None) -> CheckpointInfo:
    """Read ``crm.json`` and ``prompt.txt`` of a folder or of a model on a hub; either may be absent.

    ``crm.json`` may name another file beside it, or a bundled template, as ``prompt``.

    Raises:
        UnavailableError: ``crm.json`` is damaged, of another format, or names a template that is not there.
        CRMError: The template is none.
    """
    described, prompt = _located(model, "crm.json", revision), _located(model, "prompt.txt", revision)
    template = PromptTemplate.load(prompt) if prompt else None
    if described is None:
        return CheckpointInfo(template=template)
    try:
        content = read_json(read_bytes(described))
        if content["format"] != FORMAT:
            raise ValueError(f"format {content['format']!r} instead of {FORMAT}")
        if "prompt" in content:
            template = _named_template(model, content["prompt"], revision)
        switches = {name: content[name] for name in _SWITCHES if name in content}
        if any(not isinstance(value, bool) for value in switches.values()):
            raise ValueError(f"{', '.join(switches)} must be true or false")
        if content.keys() >= _TRAINED_HERE and "prompt" not in content:
            switches = dict.fromkeys(_WORDS, True) | switches
        length = content.get("max_length")
        labels = LABELS[content["loss"]]
        return CheckpointInfo(labels, None if length is None else int(length), template, **switches)
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
        template, origin = PromptTemplate.load(Path(settings.prompt)), f"the configured {settings.prompt}"
    elif info.template is not None:
        template, origin = info.template, "the checkpoint's own"
    else:
        raise UnavailableError(
            f"The checkpoint {model} has no prompt.txt: name the template of its training as 'prompt'."
        )
    tokenizer = prompt_tokenizer(
        template,
        engine.tokenizer,
        model,
        chat=settings.chat or info.chat,
        opens_answer=info.generation_prompt,
    )
    limits = [limit for limit in (max_length, info.max_length if info.truncate else None) if limit]
    return PromptedClassifier(
        engine,
        template,
        tokenizer,
        min(limits, default=None),
        origin,
        trained_on=template == info.template,
        words=info.words(template),
    )


_CRITERIA_FORMAT = 2
"""Raised when a classifier is shown criteria differently than before."""


def classifier_version(backend: str, settings: Settings) -> str:
    """Return the version of a judge that a classifier's table describes."""
    return version_of(backend, settings.identity(), _CRITERIA_FORMAT)


def label_names(config: Any) -> tuple[str, ...]:
    """Return what a model's configuration calls its labels, in their order."""
    named = getattr(config, "id2label", None) or {}
    return tuple(str(named[index]) for index in sorted(named))


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


_WORDS = ("avoid_in_words", "weights_in_words")
_SWITCHES = ("chat", "generation_prompt", "truncate", *_WORDS)
_TRAINED_HERE = frozenset(("name", "version"))
"""Keys that our own training writes, and wrote before it noted that criteria were in its words."""


def _named_template(model: str, name: Any, revision: str | None) -> PromptTemplate:
    """Return the template that ``crm.json`` names: a file beside it, else a bundled one."""
    if not isinstance(name, str) or not re.fullmatch(r"[\w-][\w.-]*", name):
        raise ValueError(f"the prompt {name!r} is no name of a file beside it")
    found = _located(model, name, revision)
    return PromptTemplate.bundled(name) if found is None else PromptTemplate.load(found)


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
