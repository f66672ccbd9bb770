from pathlib import Path

import pytest

from crm.criteria import CriteriaSet, Weight
from crm.embedded.model import embedded_crm
from crm.errors import CriterionError
from leaderboard.elicitation.interview import read_questions
from leaderboard.elicitation.library import criterion_library, read_library
from tests.leaderboard.elicitation.samples import LIBRARY

ENTRY = '[[criterion]]\nlabel = "Short"\ntext = "Short and direct"\ntheme = "Length"\n'
OPTION = '[[question.option]]\ntext = "Short"\ncriteria = ["+short"]\n'
ASKED = '[[question]]\ntext = "How long?"\n'


def test_the_bundled_library_holds_distinct_criteria_that_the_judge_can_judge() -> None:
    library = criterion_library()
    judge = embedded_crm()

    assert len({item.label for item in library}) == len(library) > 50
    for item in library:
        assert item.criterion.weight is Weight.ESSENTIAL
        assert not judge.warnings(CriteriaSet((item.criterion,))), item.label


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[[criterion]\n", "cannot be read"),
        ("", r"lists no criteria: write \[\[criterion\]\] above each"),
        ("criterion = 3\n", "lists no criteria"),
        ("criterion = [3]\n", "criterion 1: give it a label, a text and a theme"),
        (
            ENTRY.replace("theme", "thema"),
            "criterion 1: give it a label, a text and a theme, and nothing else",
        ),
        (ENTRY.replace('"Short"', "3"), "label, text and theme are texts and not empty"),
        (ENTRY.replace('"Short"', '" "'), "label, text and theme are texts and not empty"),
        (ENTRY.replace("Short and direct", "x" * 5000), "criterion 1: "),
        (ENTRY + ENTRY, "the label 'Short' occurs twice; change one"),
        (ENTRY + ENTRY.replace('"Short"', '"Brief"'), "the text 'Short and direct' occurs twice"),
    ],
)
def test_a_bad_library_is_refused(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "library.toml"
    path.write_text(text)

    with pytest.raises(CriterionError, match=sentence):
        read_library(path)


def test_a_missing_library_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CriterionError, match="cannot be read"):
        read_library(tmp_path / "none.toml")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[[question]\n", "cannot be read"),
        ("", r"has no questions: write \[\[question\]\] above each"),
        ("question = [3]\n", "question 1: give it a text and at least one"),
        (ASKED, "question 1: give it a text and at least one"),
        ("[[question]]\n" + OPTION, "question 1: give it a text"),
        (ASKED + "option = 3\n", "question 1: give it a text and at least one"),
        (ASKED + "option = [3]\n", "question 1: each option has a text and criteria"),
        (ASKED + OPTION.replace('["+short"]', "[]"), "each option has a text and criteria"),
        (ASKED + OPTION.replace('["+short"]', "[3]"), "3 is no label of the library"),
        (ASKED + OPTION.replace("+short", "short"), "'short' is no label of the library after"),
        (ASKED + OPTION.replace("+short", "+tall"), "'\\+tall' is no label of the library"),
    ],
)
def test_bad_questions_are_refused(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "interview.toml"
    path.write_text(text)

    with pytest.raises(CriterionError, match=sentence):
        read_questions(path, LIBRARY)


def test_questions_are_read_in_their_order(tmp_path: Path) -> None:
    path = tmp_path / "interview.toml"
    path.write_text(
        ASKED + OPTION + OPTION.replace("+short", "-warm") + ASKED.replace("long", "short") + OPTION
    )

    first, second = read_questions(path, LIBRARY)

    assert (first.text, second.text) == ("How long?", "How short?")
    assert first.options == ("Short", "Short", "No preference")
    assert first.weights[:, :2].tolist() == [[1, 0], [0, -1], [0, 0]]
