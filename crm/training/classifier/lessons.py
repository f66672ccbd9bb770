"""How MiniLM learns by default: a lesson on statements first, then one on responses in a short window.

The encoder does not know at first that a text can be held against a wish. The options are those with which
docs/training.md reports that it learns; what a person chooses stays as chosen.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from crm.criteria import CriteriaSet
from crm.data.corpora import read_json_lines
from crm.data.noise import Noise
from crm.data.pairs import Direction, LabelledPair, both_directions
from crm.llm.prompt import PromptTemplate
from crm.paths import PREFERENCES
from crm.protocol import Pair
from crm.training.classifier.examples import prepare
from crm.training.classifier.options import Loss, Options, Precision, TrainingText
from crm.training.classifier.run import train
from crm.training.classifier.trainer import supports

BACKBONE = "minilm"
STATEMENTS_PROMPT, RESPONSES_PROMPT = "statement", "short"
"""Bundled templates; a short window has no room for the query."""
_OTHER_WAYS = frozenset(("loss", "material", "prompt", "chat", "new_head", "lora", "skip_criteria"))
"""Options of people who know another way: with one of them the backbone is trained as any other."""
_BOTH: Final[dict[str, Any]] = {
    "loss": Loss.RANKING,
    "noise": Noise.NONE,
    "epochs": 1.0,
    "freeze": 1,
    "lr": 2e-4,
    "head_lr_factor": 5.0,
}
_STATEMENTS: Final[dict[str, Any]] = _BOTH | {
    "material": TrainingText.STATEMENTS,
    "direction": Direction.BOTH,
    "single_share": 0.0,
    "batch": 16,
    "max_length": 64,
}
_RESPONSES: Final[dict[str, Any]] = _BOTH | {"single_share": 0.3, "batch": 8, "max_length": 112}
_OF_THE_RUN = frozenset(("seed", "precision", "workers", "evaluations", "patience", "limit", "eval_limit"))
"""Options that hold for the first lesson, too."""


def has_lessons(backbone: str, chosen: Container[str]) -> bool:
    """Return whether a backbone is trained in two lessons, unless a person has chosen another way."""
    return backbone == BACKBONE and not any(option in chosen for option in _OTHER_WAYS)


def lessons(options: Options, chosen: Container[str]) -> tuple[Options, Options]:
    """Return the options of both lessons.

    Args:
        options: As given.
        chosen: Names of those that a person has chosen; the others are as the lessons need them.
    """
    fast = {"precision": Precision.BF16 if supports("bf16") else Precision.FP32}
    first, second = (
        replace(options, **{name: value for name, value in (fast | recipe).items() if name not in kept})
        for recipe, kept in (
            (_STATEMENTS, {name for name in _OF_THE_RUN if name in chosen}),
            (_RESPONSES, chosen),
        )
    )
    return first, second


def teach_statements(out: Path, options: Options, *, resume: bool, callbacks: Sequence[Any] = ()) -> None:
    """Give the first lesson, on the criteria that are shipped; its result is the second's backbone.

    Raises:
        CRMError: As ``train``.
    """
    data = prepare(read_statements(PREFERENCES), [], options)
    template = PromptTemplate.bundled(STATEMENTS_PROMPT)
    train(BACKBONE, data, out, options, template=template, resume=resume, callbacks=callbacks)


def read_statements(path: Path) -> list[LabelledPair]:
    """Read the train split's criteria from annotations, both sides of every pair, without their responses.

    Raises:
        CRMError: The file cannot be read.
    """
    found: list[LabelledPair] = []
    for number, row in read_json_lines(path):
        if row["split"] != "train":
            continue
        place = f"{path.name} {number}"
        found += both_directions(
            Pair(place, f"{place} a", f"{place} b"),
            (CriteriaSet.from_json(row["criteria_a"]), CriteriaSet.from_json(row["criteria_b"])),
            instruction=row["instruction_sha256"],
        )
    return found
