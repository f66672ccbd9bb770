import pytest

from crm.embedded.surface import (
    N_BUCKETS,
    N_TURNS,
    N_TURNS_OF_LESS,
    compared,
    contrasted,
    enumerated,
    measured,
    sole,
    turns,
    word_hashes,
)


def test_turns_of_less_and_more_are_told() -> None:
    found = turns(["no tables", "tables", "I can’t stand tables", "lots of tables"]) > 0

    assert found.shape == (4, N_TURNS)
    assert found[:, :N_TURNS_OF_LESS].any(axis=1).tolist() == [True, False, True, False]
    assert found.any(axis=1).tolist() == [True, False, True, True]
    assert turns([]).shape == (0, N_TURNS)


def test_case_accents_and_repetition_make_no_difference() -> None:
    assert word_hashes("Réponses Brèves") == word_hashes("reponses breves")
    assert word_hashes("don’t") == word_hashes("don't")
    assert len(set(word_hashes("tables tables tables"))) == len(word_hashes("tables tables tables"))


def test_the_order_of_words_matters_and_their_pieces_are_shared() -> None:
    one, other = (set(word_hashes(text)) for text in ("lists not tables", "tables not lists"))
    assert one != other
    assert one & other

    assert set(word_hashes("emojis")) & set(word_hashes("emojies"))
    assert not set(word_hashes("emojis")) & set(word_hashes("kurz"))


def test_punctuation_is_a_word_and_nothing_has_none() -> None:
    assert set(word_hashes("!")) & set(word_hashes("no !"))
    assert word_hashes(" \n") == []
    assert all(0 <= bucket < N_BUCKETS for bucket in word_hashes("as many “quotes” as possible – 😀"))


@pytest.mark.parametrize(
    ("criterion", "parts"),
    [
        ("prose instead of lists, please", ("prose", "lists, please")),
        ("Funny, not silly!", ("Funny", "silly")),
        ("friendly but never flattering", ("friendly", "flattering")),
        ("Fließtext statt Listen", ("Fließtext", "Listen")),
        ("no lists, not even short ones", None),
        ("don't use lists instead of prose", None),
        ("instead of prose", None),
        ("not too long", None),
        ("", None),
    ],
)
def test_what_is_wished_and_what_is_not_are_told_apart(criterion: str, parts: tuple[str, str] | None) -> None:
    assert contrasted(criterion) == parts


@pytest.mark.parametrize(
    ("criterion", "sides"),
    [
        ("I prefer full stops to exclamation marks", ("full stops", "exclamation marks")),
        ("Depth over brevity.", ("Depth", "brevity")),
        ("values evidence over intuition", ("evidence", "intuition")),
        ("more tables than lists", ("more tables", "lists")),
        ("I’d rather have tables than lists", ("tables", "lists")),
        ("I like stories better than statistics", ("stories", "statistics")),
        ("lieber Stichpunkte als Fließtext", ("Stichpunkte", "Fließtext")),
        ("I prefer answers to be short", None),
        ("I prefer to read short answers", None),
        ("goes over the details", None),
        ("explain it over several paragraphs", None),
        ("over 500 words", None),
        ("warmer than a manual", ("warmer", "a manual")),
        ("more tables than a furniture shop", None),
        ("more a story than a list", ("more a story", "a list")),
        ("longer than an email", None),
        ("less formal than a textbook", None),
        ("I would rather not see emojis", None),
        ("", None),
    ],
)
def test_what_is_liked_better_is_told_from_what_it_is_compared_with(
    criterion: str, sides: tuple[str, str] | None
) -> None:
    assert compared(criterion) == sides


@pytest.mark.parametrize(
    ("criterion", "what"),
    [
        ("more tables than a furniture shop", "more tables"),
        ("I want many more bullet points than a slide deck.", "many more bullet points"),
        ("more formal than your lawyer", "more formal"),
        ("more tables than lists", None),
        ("more like an essay than a text message", None),
        ("more of a story than a list", None),
        ("no more than a sentence", None),
        ("not more formal than a letter", None),
        ("say “more than a feeling”", None),
        ("", None),
    ],
)
def test_what_is_measured_by_somebody_is_told(criterion: str, what: str | None) -> None:
    assert measured(criterion) == what


@pytest.mark.parametrize(
    ("criterion", "what"),
    [
        ("only prose", "prose"),
        ("Just bullet points.", "bullet points"),
        ("plain paragraphs only", "plain paragraphs"),
        ("please use only tables", "tables"),
        ("only use emojis when needed", None),
        ("only no lists", None),
        ("just the answer", None),
        ("not only prose", None),
        ("only", None),
        ("prose", None),
    ],
)
def test_what_alone_is_wished_is_told(criterion: str, what: str | None) -> None:
    assert sole(criterion) == what


@pytest.mark.parametrize(
    ("criterion", "wishes"),
    [
        ("warm and funny", ("warm", "funny")),
        ("short, friendly, and with emojis", ("short", "friendly", "with emojis")),
        ("no tables or emojis", ("no tables", "no emojis")),
        ("please avoid bold & italics", ("please avoid bold", "please avoid italics")),
        ("no fluff but examples", ("no fluff", "examples")),
        ("long answers, no emojis", ("long answers", "no emojis")),
        ("casual, without emojis or slang", ("casual", "without emojis", "without slang")),
        ("tables", ()),
        ("a, b, c, d and e", ()),
        ("tables, ", ()),
        ("", ()),
    ],
)
def test_the_wishes_in_a_short_list_are_told(criterion: str, wishes: tuple[str, ...]) -> None:
    assert enumerated(criterion) == wishes
