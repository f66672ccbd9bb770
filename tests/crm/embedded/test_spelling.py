import pytest

from crm.embedded.spelling import Spelling

ENGLISH = [*6 * ["fewer headings", "no tables", "short answers", "use emojis", "lengthy paragraphs"]]
SPELLING = Spelling.of(ENGLISH, ["kurze Antworten", "réponses courtes"])


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("fewer heddings", "fewer headings"),
        ("No Tabels!", "No tables!"),
        ("shorter anwsers, not lenghty", "shorter answers, not lengthy"),
    ],
)
def test_a_slip_is_mended_to_a_word_of_the_wishes(typed: str, meant: str) -> None:
    assert SPELLING.corrected(typed) == meant


@pytest.mark.parametrize(
    "typed",
    [
        "short answers",
        "fewer readings",  # a word, however near to another
        "use emojis",  # in no dictionary, but often wished
        "kurze Antworden",  # not English
        "no taelbs",  # two slips
        "no flurbles",
        "",
        "123 ☃",
    ],
)
def test_other_words_are_left_as_they_are(typed: str) -> None:
    assert SPELLING.corrected(typed) == typed


def test_what_is_stored_mends_the_same() -> None:
    arrays = SPELLING.arrays()
    stored = Spelling(arrays["words"].tolist(), arrays["foreign"].tolist())

    assert stored.words == SPELLING.words
    assert stored.foreign == SPELLING.foreign == {"kurze", "antworten", "réponses", "courtes"}
    assert stored.corrected("heddings") == "headings"
