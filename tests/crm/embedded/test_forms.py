import pytest

from crm.embedded.forms import (
    compared,
    contrasted,
    enumerated,
    is_context,
    limited,
    measured,
    own_clauses,
    sentences,
    sole,
)


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


@pytest.mark.parametrize(
    ("criterion", "parts"),
    [
        ("Short. I have a toddler on my arm.", ("Short", "I have a toddler on my arm")),
        ("calm tone; no lists", ("calm tone", "no lists")),
        ("like a satnav: each turn as it comes", ("like a satnav", "each turn as it comes")),
        ("short answers, because I read on the bus", ("short answers", "because I read on the bus")),
        ("plain words, I'm a beginner", ("plain words", "I'm a beginner")),
        ('no "Certainly. Here you go." at the start', ()),
        ("use e.g. more often", ()),
        ("warm", ()),
        ("A one. B two. C three. D four. E five.", ()),
        ("", ()),
    ],
)
def test_sentences_are_parted_outside_of_what_is_quoted(criterion: str, parts: tuple[str, ...]) -> None:
    assert sentences(criterion) == parts


@pytest.mark.parametrize(
    ("criterion", "wished"),
    [
        ("humour, but not too much", ("humour",)),
        ("un peu d'humour, mais pas trop", ("un peu d'humour",)),
        ("hedge where it is open, but don't hedge everything", ("hedge where it is open",)),
        ("emojis are fine but not in every line", ("no emojis in every line",)),
        ("funny, not silly", None),
        ("get to the point but tell me the risks", None),
        ("short", None),
    ],
)
def test_what_only_limits_a_wish_is_no_wish(criterion: str, wished: tuple[str] | None) -> None:
    assert limited(criterion) == wished


@pytest.mark.parametrize(
    ("criterion", "clauses"),
    [
        ("get to the point but tell me the risks", ("get to the point", "tell me the risks")),
        (
            "no jargon, and no abbreviations I have to look up",
            ("no jargon", "no abbreviations I have to look up"),
        ),
        ("numerals tire me, so don't use any", ()),
        ("if the answer is long, use headings", ()),
        ("says yes or no", ()),
        ("warm and funny", ()),
        ("", ()),
    ],
)
def test_clauses_that_need_no_other_are_parted(criterion: str, clauses: tuple[str, ...]) -> None:
    assert own_clauses(criterion) == clauses


def test_grams_not_cups_is_a_contrast_and_not_only_is_none() -> None:
    assert contrasted("grams not cups") == ("grams", "cups")
    assert contrasted("say why it breaks, not just how to mend it") is None
    assert compared("more like a chat than like an article") == ("like a chat", "like an article")
    assert measured("less wordy than chatgpt") == "less wordy"


def test_a_sentence_that_says_why_is_told_from_a_wish() -> None:
    assert is_context("because I read on the bus")
    assert is_context("I’m a nurse")
    assert is_context("I read on the bus")
    assert not is_context("I like tables")
    assert is_context("is that so hard")
    assert not is_context("I am sick of tables")
    assert not is_context("give me tables")
