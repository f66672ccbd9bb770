"""Criteria for something that no response of a benchmark has."""

from __future__ import annotations

import numpy as np
import pytest

from crm.criteria import CriteriaSet, Criterion, Polarity
from crm.embedded.absence import share_with
from crm.embedded.counts import count_names, exact_counts
from crm.embedded.model import embedded_crm
from crm.embedded.representation import representation
from crm.protocol import KnowsWhatIsAbsent
from tests.crm.samples import ArrayBenchmark

PLAIN = "Boil the eggs. Cool them. Peel them."
CODE = "Run this:\n\n```python\nprint(1)\n```\n"


def reasons(criterion: Criterion, *answers: str, weights: tuple[float, ...] | None = None) -> list[str]:
    """What is said of a criterion where one LLM has given these answers, and another an empty one."""
    counts = exact_counts(answers)
    features = np.zeros((1, len(answers), representation().size), dtype=np.int8)
    features[..., : counts.shape[-1]] = counts
    judge = embedded_crm()
    assert isinstance(judge, KnowsWhatIsAbsent)
    weighed = np.ones(len(answers)) if weights is None else np.array(weights)
    found = judge.absent(CriteriaSet((criterion,)), ArrayBenchmark(features), weighed)
    assert {warning.criterion for warning in found} <= {criterion}
    return [warning.reason for warning in found]


@pytest.mark.parametrize(
    ("wish", "what"),
    [
        ("uses code blocks", "code blocks"),
        ("code with comments", "code"),
        ("explains the Python line by line", "code"),
        ("lots of emojis", "emojis"),
        ("exactly three bullet points", "bullet points"),
    ],
)
def test_what_no_answer_has_cannot_be_judged(wish: str, what: str) -> None:
    assert reasons(Criterion(wish), PLAIN, PLAIN) == [
        f"No answer to these questions has {what} to judge it by."
    ]


@pytest.mark.parametrize(
    "criterion",
    [
        Criterion("no code blocks"),
        Criterion("never writes code"),
        Criterion("at most two emojis"),
        Criterion("uses tables", polarity=Polarity.AVOID),
        Criterion("follows a dress code"),
        Criterion("friendly"),
        Criterion("short sentences"),
    ],
)
def test_what_is_met_by_having_none_can(criterion: Criterion) -> None:
    assert reasons(criterion, PLAIN, PLAIN) == []


def test_one_answer_in_a_hundred_is_enough_and_only_those_that_count_do() -> None:
    wish = Criterion("code with comments")

    assert reasons(wish, CODE, *[PLAIN] * 99) == []
    assert reasons(wish, CODE, *[PLAIN] * 100) == [
        "Hardly any answer to these questions has code to judge it by."
    ]
    assert reasons(wish, CODE, PLAIN, weights=(0.0, 1.0)) == [
        "No answer to these questions has code to judge it by."
    ]


def test_where_nothing_counts_nothing_is_known() -> None:
    counts = exact_counts([CODE])[np.newaxis]
    column = count_names().index("code_blocks")

    assert share_with(column, counts, np.ones((1, 1), dtype=np.bool_), np.ones(1)) == 1.0
    assert np.isnan(share_with(column, counts, np.zeros((1, 1), dtype=np.bool_), np.ones(1)))
