from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from crm.data.kinds import KINDS, KindClassifier, kind_shares, kinds_table, read_kinds
from crm.errors import CRMError
from precompute.__main__ import main
from tests.conftest import Run


@pytest.fixture(scope="module")
def learnt_from_some() -> KindClassifier:
    """A classifier that has seen three of four criteria that readers put into kinds."""
    rows = list(read_kinds().items())
    return KindClassifier(dict(row for number, row in enumerate(rows) if number % 4))


def test_readers_gave_each_of_five_kinds_to_many_criteria() -> None:
    counted = Counter(read_kinds().values())

    assert set(counted) == set(KINDS)
    assert min(counted.values()) > 500
    assert counted.most_common(1)[0][0] == "content"


def test_unseen_criteria_are_put_where_a_reader_puts_them(learnt_from_some: KindClassifier) -> None:
    unseen = [row for number, row in enumerate(read_kinds().items()) if number % 4 == 0]
    prob = learnt_from_some.prob([text for text, _ in unseen])
    right = np.array([KINDS[row.argmax()] == kind for row, (_, kind) in zip(prob, unseen, strict=True)])
    stated = prob.max(axis=1).mean()

    assert prob.sum(axis=1) == pytest.approx(1, abs=1e-5)
    assert right.mean() > 0.7
    assert abs(stated - right.mean()) < 0.08
    shares = Counter(kind for _, kind in unseen)
    for number, kind in enumerate(KINDS):
        assert abs(prob[:, number].mean() - shares[kind] / len(unseen)) < 0.03


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("use bullet points and headings", "structure"),
        ("a warm and friendly voice", "tone"),
        ("name three real cities", "content"),
        ("plain, short sentences without flourish", "style"),
        ("the arithmetic must be correct", "logic"),
    ],
)
def test_plain_cases(learnt_from_some: KindClassifier, text: str, kind: str) -> None:
    assert KINDS[learnt_from_some.prob([text])[0].argmax()] == kind


def test_what_a_reader_has_said_is_not_guessed(learnt_from_some: KindClassifier) -> None:
    text, kind = list(read_kinds().items())[1]

    assert learnt_from_some.prob([text])[0, KINDS.index(kind)] == 1


def test_shares_count_every_occurrence() -> None:
    (text, kind), (other, second) = (
        next(row for row in read_kinds().items() if row[1] == wanted) for wanted in ("tone", "structure")
    )
    shares = {one.kind: one.share for one in kind_shares([[text, other], [text], [text]])}

    assert shares == pytest.approx(dict.fromkeys(KINDS, 0.0) | {kind: 0.75, second: 0.25})


def test_adjectives_stand_in_one_kind_only() -> None:
    shares = kind_shares([[text] for text in list(read_kinds())[::10]])
    words = [word for one in shares for word, _ in one.adjectives]

    assert len(words) == len(set(words)) > 30
    assert [row[0] for row in kinds_table(shares, "some").rows] == list(KINDS)


def test_no_criteria_have_no_kinds() -> None:
    with pytest.raises(CRMError, match="no criteria"):
        kind_shares([[]])


def test_the_command_says_kinds_of_a_file(run_main: Run, tmp_path: Path) -> None:
    annotations = tmp_path / "mine.jsonl"
    annotations.write_text('{"criteria_a": ["use bullet points"], "criteria_b": ["a warm voice"]}\n', "utf-8")

    status, printed, _ = run_main(main, "cluster-criteria", "--kinds", annotations)

    assert status == 0
    assert "Kinds of criteria: mine.jsonl" in printed
    assert all(kind in printed for kind in KINDS)
