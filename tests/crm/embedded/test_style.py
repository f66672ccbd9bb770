import numpy as np
import pytest

from crm.embedded.style import style_sheet

SHEET = style_sheet()
NAMES = SHEET.names


def counted(text: str) -> dict[str, float]:
    """The features that a text has any of."""
    return {name: float(count) for name, count in zip(NAMES, SHEET.count([text])[0], strict=True) if count}


@pytest.mark.parametrize(
    ("name", "text", "count"),
    [
        ("words", "Don't well-known words count twice? No: six.", 7),
        ("sentence_length", "One two three. Four five six! Seven eight nine?", 3),
        ("word_length", "ab abcd", 3),
        ("distinct_words", "so it is so it", 3 / 5**0.5),
        ("paragraphs", "One.\nStill one.\n\n\nTwo.\n \nThree.", 3),
        ("empty", " ... ", 1),
        ("repetition", "short text", 0),
        ("list_share", "Here:\n- one\n- two\n- three", 75),
        ("item_words", "Here:\n- one two\n- three four five six", 3),
        ("words_before_list", "Two words\n- one\n- two", 2),
        ("words_after_list", "- one\n- two\nThat is all", 3),
        ("longest_paragraph", "One two.\n\nOne two three.", 3),
        ("first_sentence", "Yes, it is. Because of the rain it is.", 3),
        ("sentence_variation", "One two. One two. One two.", 0),
        ("foreign_letters", "é" + "a" * 999, 1),
        ("broken_off", "It ends in the mid", 1),
        ("broken_off", "It ends well.", 0),
        ("rhymes", "The cat\non the mat\nin a hat\nsat", 12.5),
        ("years", "In 1789, 2024 and 350", 2),
        ("measures", "5 %, 20 minutes and $3 for 4 people", 3),
        ("placeholders", "Dear [Name], on [date], array[0]", 2),
        ("dialogue", "“Come,” she said.\nAnna: “No.”", 2),
        ("subheadings", "# One\ntext\n**Two**", 2),
        ("nested_items", "- one\n  - two\n    - three", 2),
        ("quoted_lines", "> said\nanswered", 1),
        ("greeting", "Dear all, welcome", 1),
        ("letter", "Subject: Rain\nDear all,\nit rains.\nSincerely, me", 3),
        ("numbered_steps", "Step 1: boil\nSTEP 2: stir\n**3.** eat\niv. rest", 4),
        ("opening_phrase", "Sure! Here is it", 1),
        ("opening_phrase", "Surely it is", 0),
        ("adverbs", "slowly and surely", 2),
        ("negations", "No, I don't, not ever", 3),
        ("judge_talk", "Prefer this: this response scores 10/10", 4),
        ("machine_voice", "As an AI language model", 2),
        ("formulas", "x = 2 and \\(y\\)", 2),
        ("function_words", "the cat is in a hat", 4),
        ("colons", "These:\n- one", 1),
        ("participles", "running and singing", 2),
        ("past_tense", "walked and talked", 2),
        ("intensifiers", "very, truly essential", 3),
        ("comparisons", "better than both", 2),
        ("options", "several options or another", 3),
        ("recommendation", "I recommend it, and you should", 2),
        ("feelings", "tears of joy", 2),
        ("senses", "soft, golden and warm", 3),
        ("science", "data of the experiment", 2),
        ("business", "our market strategy", 2),
        ("learning", "basically, it means", 2),
        ("morals", "inclusive and fair", 2),
        ("hooks", "Have you ever? Let's", 2),
        ("transitions", "Moreover, and thus", 2),
        ("numbered_steps", "1. Boil.\n2) Stir.\n**3. Eat.**\nIn 5. place", 3),
        ("bullets", "- one\n* two\n• three\nnot - four\n-none", 3),
        ("headings", "# Soup\n### Stir\n**Serve**\n**Note:** no heading\n#tag", 3),
        ("labels", "**Pros:** cheap\n- Cons: slow\nnone: here", 2),
        ("bold", "**one** and **two words** but not *three*", 2),
        ("code", "run `ls` or ```cat```", 3),
        ("tables", "| a | b |\n|---|---|\n| 1 | 2 |\nno | table", 3),
        ("verse_lines", "Roses are red,\nviolets are blue.\n- no verse\n" + "long " * 20, 2),
        ("numbers", "3 of 1,000 by 2.5", 3),
        ("names", "I met Ada and, Grace in Paris. The end", 3),
        ("links", "see https://example.org and http://example.com/a?b", 2),
        ("emojis", "well done 🎉🚀 ☀", 3),
        ("exclamations", "Hi! Ho!!", 3),
        ("questions", "Why? Who?", 2),
        ("quotations", '“This” and "that"', 2),
        ("parentheses", "(one) and (two)", 2),
        ("dashes", "so — well; yes: no - maybe well-known", 4),
        ("commas", "a, b, c", 2),
        ("capitals", "NASA and ESA are OK", 2),
        ("emphasis", "*one* and **not two**", 1),
        ("latinate", "the nation's movement towards equality", 2),
        ("opening_phrase", "Sure! Here it is.", 1),
        ("offer", "Boil it. Let me know how it goes!", 1),
        ("asks_back", "Boil it. Shall I go on?", 1),
        ("refusal", "I'm sorry, but no.", 1),
        ("first_person", "I think my cat and I'm fine", 3),
        ("we", "Let's go, we said", 2),
        ("second_person", "Your choice: you’re free", 2),
        ("contractions", "It's fine, they’ve left", 2),
        ("hedges", "Perhaps it might rain, it tends to", 3),
        ("contrasts", "However, on the other hand, there are drawbacks", 3),
        ("certainty", "It is definitely, of course, never wrong", 3),
        ("causes", "because it leads to reasons", 3),
        ("examples", "for example this, such as that", 2),
        ("background", "Historically, the theory of evidence", 3),
        ("sequence", "First boil, then stir, finally serve", 3),
        ("instructions", "Try salt and add pepper", 2),
        ("warmth", "My dear friend, how lovely", 3),
        ("empathy", "That sounds tough, and you're not alone", 2),
        ("encouragement", "You've got this, and you got this: great", 3),
        ("humour", "a joke, allegedly, with a plot twist", 3),
        ("imagery", "a whisper of moonlight like a river", 4),
        ("narrative", "She turned and whispered", 3),
        ("drama", "Suddenly, a secret", 2),
        ("politeness", "Please accept my apologies", 2),
        ("safety", "It is important to note: consult a doctor", 3),
        ("precision", "specifically 5 percent", 2),
        ("summary", "In short, overall fine", 2),
        ("slang", "yeah, that's gonna be cool", 3),
    ],
)
def test_a_feature_counts_what_it_says(name: str, text: str, count: float) -> None:
    assert counted(text).get(name, 0) == pytest.approx(count)


def test_every_feature_has_an_example_here() -> None:
    [mark] = test_a_feature_counts_what_it_says.pytestmark  # type: ignore[attr-defined]

    assert {name for name, *_ in mark.args[1]} == set(NAMES)


def test_plain_words_have_nothing_but_words() -> None:
    assert set(counted("cats like milk.")) == {
        "words",
        "sentence_length",
        "word_length",
        "distinct_words",
        "paragraphs",
        "verse_lines",
        "longest_paragraph",
        "first_sentence",
    }


def test_an_empty_text_has_nothing() -> None:
    assert counted("") == {"empty": 1.0}
    assert SHEET.count([]).shape == (0, len(NAMES))


def test_every_feature_is_named_once_and_can_be_put_into_words() -> None:
    assert len(set(NAMES)) == len(NAMES)
    for feature in SHEET.features:
        assert feature.more
        assert feature.less
        assert feature.more != feature.less


def test_structure_enters_as_its_logarithm_and_wording_by_100_words() -> None:
    short, long = SHEET.transform(
        SHEET.count(["Dear all,\n1. lovely " + "word " * 16, ("word " * 9 + "lovely ") * 20])
    )

    assert short[NAMES.index("words")] == pytest.approx(np.log1p(20))
    assert short[NAMES.index("numbered_steps")] == pytest.approx(np.log1p(1))
    assert short[NAMES.index("warmth")] == pytest.approx(np.log1p(2 * 100 / 20))
    assert long[NAMES.index("warmth")] == pytest.approx(np.log1p(20 * 100 / 200))


def test_a_long_text_does_not_seem_warm_for_its_length() -> None:
    once = "what a lovely day it is today "
    [short], [long] = (SHEET.transform(SHEET.count([text])) for text in (once, once * 30))

    assert long[NAMES.index("warmth")] == pytest.approx(short[NAMES.index("warmth")])
    assert long[NAMES.index("words")] > short[NAMES.index("words")]
