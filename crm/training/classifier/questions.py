"""What is asked about an example, drawn again every epoch, and questions as padded tokens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.random import Generator
from torch import Tensor
from torch.utils.data import Dataset

from crm.criteria import CriteriaSet, Criterion
from crm.data.noise import Noise, Noiser
from crm.data.pairs import KINDS, LabelledPair
from crm.errors import CriterionError
from crm.llm.conversation import without_marks
from crm.llm.prompt import FittedTemplate
from crm.protocol import Pair, Question
from crm.training.classifier.options import Loss


@dataclass(frozen=True)
class QuestionDrawer:
    """Draws a question about an example.

    Attributes:
        single_share: Share of questions about one criterion alone.
    """

    noiser: Noiser
    noise: Noise
    single_share: float

    def draw(self, directions: Sequence[LabelledPair], rng: Generator) -> list[LabelledPair]:
        """Return one question in each direction of a pair, by noised lists or by single criteria.

        A and B are in random order. Both directions are asked alike and together, so that nothing about the
        responses alone, nor about their order, can lower the loss: only what criteria and responses have to
        do with each other does.
        """
        alone, swap = rng.random() < self.single_share, rng.random() < 0.5  # noqa: PLR2004
        asked = [self._single(item, rng) if alone else self._list(item, rng) for item in directions]
        return [item.swapped() for item in asked] if swap else asked

    def _single(self, example: LabelledPair, rng: Generator) -> LabelledPair:
        every = (*example.criteria, *example.extra)
        return example.alone(every[rng.integers(len(every))]) if every else example

    def _list(self, example: LabelledPair, rng: Generator) -> LabelledPair:
        criteria = self.noiser.noised(example.criteria, example.opposite, self.noise, rng)
        return replace(example, criteria=criteria)


def all_questions(examples: Sequence[LabelledPair], seed: int) -> list[LabelledPair]:
    """Return every list as it is and every criterion alone; A and B change places at random, once for all."""
    asked = [
        question for item in examples for question in (item, *map(item.alone, (*item.criteria, *item.extra)))
    ]
    swap = np.random.default_rng(seed).random(len(asked)) < 0.5  # noqa: PLR2004
    return [item.swapped() if turned else item for item, turned in zip(asked, swap, strict=True)]


Encode = Callable[[LabelledPair], Any]


class DrawnQuestions(Dataset[list[Any]]):
    """An item a pair: a question in each direction, drawn again every epoch.

    What is drawn depends on seed, epoch and pair alone, so that a resumed run sees the same.
    """

    def __init__(
        self, pairs: Sequence[Sequence[LabelledPair]], drawer: QuestionDrawer, encode: Encode, seed: int
    ) -> None:
        """Draw from ``pairs``, the directions of each; ``encode`` makes something of a question."""
        self._pairs = pairs
        self._drawer = drawer
        self._encode = encode
        self._seed = seed
        self._epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """Begin an epoch."""
        self._epoch = epoch

    def __len__(self) -> int:
        return len(self._pairs)

    def __getitem__(self, index: int) -> list[Any]:
        rng = np.random.default_rng((self._seed, self._epoch, index))
        return list(map(self._encode, self._drawer.draw(self._pairs[index], rng)))


class FixedQuestions(Dataset[list[Any]]):
    """An item a question; they stay the same."""

    def __init__(self, questions: Sequence[LabelledPair], encode: Encode) -> None:
        """Take the questions; ``encode`` makes something of one."""
        self._questions = questions
        self._encode = encode

    def __len__(self) -> int:
        return len(self._questions)

    def __getitem__(self, index: int) -> list[Any]:
        return [self._encode(self._questions[index])]


_MIN_ROOM = 32
"""Tokens of responses below which a prompt is not worth reading."""


@dataclass(frozen=True)
class EncodedQuestion:
    """A question as tokens.

    Attributes:
        prompts: One prompt with both responses, or one a response, A's first.
        sign: +1 where A is preferred, else −1.
        kind: Index into ``KINDS``.
    """

    prompts: tuple[list[int], ...]
    sign: float
    kind: int


@dataclass(frozen=True)
class QuestionEncoder:
    """Turns questions into tokens: the same as the judge is shown once it is trained.

    Attributes:
        template: The prompt, kept within the window.
        loss: Whether a prompt shows both responses or one.
        marks: Special tokens as texts, which are broken up where responses or the query contain them.
    """

    template: FittedTemplate
    loss: Loss
    marks: tuple[str, ...] = ()

    def __call__(self, asked: LabelledPair) -> EncodedQuestion:
        """The tokens of one question."""
        prompts = tuple(
            self.template.tokenizer(text, verbose=False)["input_ids"] for text in self._texts(asked.question)
        )
        return EncodedQuestion(prompts, asked.label, KINDS.index(asked.kind))

    def _texts(self, question: Question) -> list[str]:
        question = without_marks(question, self.marks)
        if self.loss is Loss.CLASSIFICATION:
            return [self.template.pair(question)]
        pair = question.pair
        return [self.template.single(question.criteria, pair.query, turns) for turns in pair.conversations]

    def check_room(self, examples: Sequence[LabelledPair], noise: Noise = Noise.NONE) -> None:
        """See before the training, which takes long, that no criteria fill the window.

        Raises:
            CriterionError: Some do.
        """
        reserved = replace(self, template=replace(self.template, window=self.template.window - _MIN_ROOM))
        grows = noise in (Noise.ADD, Noise.RANDOM)
        longest = max(
            (item for example in examples for item in example.criteria),
            key=lambda item: len(item.text),
            default=None,
        )
        for criteria in dict.fromkeys(example.criteria for example in examples):
            most = _grown(criteria, longest) if grows and longest else criteria
            try:
                reserved._texts(Question(most, Pair("", "", "")))
            except CriterionError as error:
                raise CriterionError(
                    f"A prompt of {self.template.window} tokens has no room for responses beside the "
                    "longest criteria of the data: choose a greater max-length."
                ) from error


def _grown(criteria: CriteriaSet, longest: Criterion) -> CriteriaSet:
    """Return the most that addition makes of a list: half as many join."""
    added = [Criterion(f"{longest.text[:-1]}{index}") for index in range(len(criteria) // 2)]
    return CriteriaSet((*criteria, *added))


@dataclass(frozen=True)
class Collator:
    """Joins items, each a few encoded questions, and pads them to a batch."""

    pad: int

    def __call__(self, items: Sequence[Sequence[EncodedQuestion]]) -> dict[str, Tensor]:
        """The batch of N questions.

        ``input_ids`` and ``attention_mask`` have N rows, or 2N where each response is a row, A's before
        B's of the same question; ``labels`` are the signs ``[N]`` and ``kinds`` the kinds ``[N]``.
        """
        batch = [question for item in items for question in item]
        prompts = [prompt for item in batch for prompt in item.prompts]
        shape = (len(prompts), max(map(len, prompts)))
        ids = torch.full(shape, self.pad, dtype=torch.long)
        mask = torch.zeros(shape, dtype=torch.long)
        for row, prompt in enumerate(prompts):
            ids[row, : len(prompt)] = torch.tensor(prompt)
            mask[row, : len(prompt)] = 1
        return {
            "input_ids": ids,
            "attention_mask": mask,
            "labels": torch.tensor([item.sign for item in batch]),
            "kinds": torch.tensor([item.kind for item in batch]),
        }


def kind_accuracy(margins: Any, signs: Any, kinds: Any) -> dict[str, float]:
    """Return share of questions answered rightly, by kind; an undecided answer counts half.

    Margins ``[N]`` are log-odds of A, signs ``[N]`` +1 where A is preferred, else −1; kinds ``[N]`` are
    places in ``KINDS``.
    """
    right = (margins * signs > 0) + 0.5 * (margins == 0)
    return {
        f"accuracy_{kind}": float(right[kinds == index].mean())
        for index, kind in enumerate(KINDS)
        if (kinds == index).any()
    }
