"""What is counted in a response, on responses whose counts are plain to see."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crm.embedded.counts import amounts, count_names, countables, declines, exact_counts

ANSWER = """# Eggs

Great question! You **boil** them for *seven* minutes (not more).

| size | minutes |
| --- | --- |
| small | 6 |
| large | 8 |

- Fill a pot.
- Add the eggs 🥚🥚.

1. Boil.
2. Cool.

```python
print("ready!")  # 1 - 2 - 3
```

As an AI, I can't taste them. Don't you agree?"""


def counted(text: str) -> dict[str, float]:
    return dict(zip(count_names(), exact_counts([text])[0].tolist(), strict=True))


@pytest.mark.parametrize(
    ("name", "count"),
    [
        *(
            ("headings", 1),
            ("bold", 1),
            ("italics", 1),
            ("tables", 1),
            ("bullets", 2),
            ("numbered", 2),
            ("list_items", 4),
        ),
        *(
            ("code_blocks", 1),
            ("emojis", 2),
            ("exclamations", 1),
            ("questions", 1),
            ("asks_back", 1),
            ("parentheses", 2),
        ),
        *(
            ("ai_mentions", 1),
            ("refusals", 1),
            ("contractions", 2),
            ("paragraphs", 7),
            ("links", 0),
            ("formulas", 0),
        ),
    ],
)
def test_a_property_is_counted(name: str, count: float) -> None:
    assert counted(ANSWER)[name] == count


@pytest.mark.parametrize(
    ("text", "name", "count"),
    [
        ("Would you like more? 😊", "asks_back", 1),
        ("Why? Because.", "asks_back", 0),
        ("“I can't help you,” said the king.", "refusals", 0),
        ("I'm sorry, but I cannot help with that.", "refusals", 1),
        ("Use ➜ or ✓ or ½: none is a smiley.", "emojis", 0),
        ("**Overview**\n\nText.", "headings", 0),
        ("e.g. Dr. Smith, i.e. the doctor.", "sentences", 1),
        ("One. Two! Three? Four", "sentences", 4),
        ("This is the answer that you were looking for, and it is in English.", "language", 0),
        ("In summary, boil it.", "summaries", 1),
        ("a | b", "tables", 0),
        ("Dear Anna,\nsee you.", "greetings", 1),
        ("Let me know if it works!", "sign_offs", 1),
        ("Sure! Here is a list.", "preambles", 1),
        ("the cat sat on the cat sat on the mat", "repetition", 2),
    ],
)
def test_odd_cases(text: str, name: str, count: float) -> None:
    assert counted(text)[name] == count


@pytest.mark.parametrize(
    ("text", "declined"),
    [
        ("I’m sorry, but I can’t help with that.", True),
        ("As an AI assistant, I cannot provide commentary on this. Ask me something else!", True),
        ("I can't wait to tell you: yes.", False),
        ("“I can't help you,” said the king.", False),
        ("Boil it. " * 50 + "I cannot say more.", False),
        ("I can’t write in his voice. Here is a story of mine. " + "The sea was calm. " * 60, False),
        ("", False),
    ],
)
def test_an_answer_declines_if_it_is_short_and_begins_so(text: str, declined: bool) -> None:
    assert declines(text) is declined


def test_easy_texts_need_fewer_school_years() -> None:
    easy = counted("The cat sat. It ran. We saw it go.")
    hard = counted(
        "Notwithstanding considerable methodological heterogeneity, "
        "epidemiological investigations demonstrate association."
    )

    for name in ("readability", "word_length", "sentence_length"):
        assert easy[name] < hard[name]
    assert counted("The cat sat on a chair.")["rare_words"] == 0
    assert counted("the sesquipedalian cat obfuscates")["rare_words"] > 20


@given(st.lists(st.text(max_size=80), max_size=4))
def test_any_texts_have_finite_counts_that_do_not_fall_below_zero(texts: list[str]) -> None:
    counts = exact_counts(texts)

    assert counts.shape == (len(texts), len(countables()))
    assert np.isfinite(counts).all()
    assert (counts >= 0).all()
    assert np.isfinite(amounts(counts)).all()


def test_what_is_felt_as_a_density_is_held_against_the_length() -> None:
    counts = np.zeros((2, len(count_names())), dtype=np.float32)
    counts[:, count_names().index("words")] = (100, 400)
    for name in ("hedges", "bullets"):
        counts[:, count_names().index(name)] = 6

    felt = amounts(counts)
    assert felt[:, count_names().index("hedges")].tolist() == [6, 3]
    assert felt[:, count_names().index("bullets")].tolist() == [6, 6]


def test_a_text_in_another_language_is_known_by_its_words_or_letters() -> None:
    german = "Ich bin nicht da und das ist gut, denn der Tag ist lang und das Boot ist auf dem See."

    assert counted(german)["language"] > 80
    assert counted("これは日本語の答えです。")["language"] > 80
