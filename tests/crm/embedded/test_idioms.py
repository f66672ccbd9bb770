import pytest

from crm.criteria import Criterion
from crm.embedded.idioms import plainly
from crm.embedded.model import embedded_crm
from crm.protocol import ReadAs


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        ("never more than a tweet", "never more than 50 words"),
        ("no longer than a tweet", "no more than 50 words"),
        ("two tweets at most", "100 words at most"),
        ("should fit in an SMS", "should at most 30 words"),
        ("please longer than a tweet", "please longer than a tweet"),
        ("paragraphs longer than a tweet", "paragraphs longer than a tweet"),
        ("paragraphs no shorter than a tweet", "paragraphs no shorter than a tweet"),
        ("under a tweet, so 20 words", "under a tweet, so 20 words"),
        ("like a tweet", "like a tweet"),
        ("Please be nothing longer than a postcard", "Please be shorter than a postcard"),
        ("don’t be longer than necessary", "shorter than necessary"),
        ("fits on one screen", "shorter than one screen"),
        ("longer than two sentences", "more than two sentences"),
        ("not longer than a paragraph", "not more than one paragraph"),
        ("shorter than a paragraph", "at most one paragraph"),
        ("shorter than three sentences", "fewer than three sentences"),
        ("two pages max", "1000 words max"),
        ("fits on one page", "at most 500 words"),
        ("about half a page", "about 250 words"),
        ("keep it to one page", "keep it to 500 words"),
        ("not more than a few sentences", "few sentences"),
        ("zero tolerance for tables", "no tables"),
        ("kurze Antworten", "short answers"),
        ("Bitte möglichst knappe Antworten!", "short answers"),
        ("Deine Antworten sollen gern ausführlich sein", "long answers"),
        ("je préfère des réponses plus courtes, s’il te plaît", "short answers"),
        ("réponses longues", "long answers"),
        ("quiero respuestas muy cortas, por favor", "short answers"),
        ("Que sea breve.", "short answers"),
        ("sé muy breve", "short answers"),
        ("keine kurzen Antworten", "long answers"),
        ("pas de réponses courtes", "long answers"),
        ("no quiero respuestas largas", "no quiero respuestas largas"),
        ("no respuestas largas", "short answers"),
        ("Que no sea demasiado largo.", "short answers"),
        ("Antworten sollten nicht zu lang sein", "short answers"),
        ("ausführlich, bitte", "long answers"),
        ("corto", "short answers"),
        ("sin rodeos, por favor", "gets straight to the point"),
        ("va droit au but", "gets straight to the point"),
        ("Bitte direkt auf den Punkt kommen", "gets straight to the point"),
        ("bitte duzen", "casual"),
        ("Sieze mich bitte.", "formal"),
        ("respects my time", "concise, no filler"),
        ("please don’t waste my time", "please concise, no filler"),
        ("high signal, low noise", "no filler"),
        ("no yapping, just code", "no rambling, just code"),
        ("no walls of text please", "short answers, short paragraphs please"),
        ("I really hate huge walls of text", "short answers, short paragraphs"),
        ("don’t give me a wall of text", "short answers, short paragraphs"),
        ("walls of text", "long answers, long paragraphs"),
        ("more paragraphs, not one wall of text", "more paragraphs, not one wall of text"),
        ("a list instead of a wall of text", "a list instead of a wall of text"),
        ("light on emojis", "less emojis"),
        ("easy on the metaphors", "less metaphors"),
        ("easy on the eyes", "easy on the eyes"),
        ("shed light on the details", "shed light on the details"),
        ("don't treat me like an idiot", "not condescending"),
        ("never talks down to the reader", "not condescending"),
        ("reads like a thriller", "like a thriller"),
        ("should read like a newspaper article", "like a newspaper article"),
        ("reads like a tax form", "reads like a tax form"),
        ("reads like a novel, I only wanted the data", "reads like a novel, I only wanted the data"),
        ("just the bottom line", "short answers, only the conclusion"),
        ("the bottom line first", "the bottom line first"),
        ("kurze Sätze", "kurze Sätze"),
        ("I've no patience for preambles", "no preambles"),
        ("no more than a handful of examples", "few examples"),
        ("in a few words", "few words"),
        ("just a few short lines", "few sentences"),
        ("more than just one sentence", "more than one sentence"),
        ("gets to the bloody point", "gets to the point"),
        ("never says it can't help", "never refuses"),
        ("won’t turn me down", "never refuses"),
        ("quality over quantity", "concise, no filler"),
        ("substance, not style", "solid content, no filler"),
        ("as long as it takes", "comprehensive"),
        ("fits on my phone screen", "short enough for a phone screen"),
        ("plain paragraphs only", "flowing prose"),
        ("a few more words on history", "a few more words on history"),
        ("a few examples", "a few examples"),
        ("a few lines of code", "a few lines of code"),
        ("doesn't say bloody", "doesn't say bloody"),
        ("admits that it can't help", "admits that it can't help"),
        ("only three paragraphs", "only three paragraphs"),
        # What says no length stays as it is.
        ("no longer than 50 words", "no more than 50 words"),
        ("no longer use emojis", "no longer use emojis"),
        ("like a page from a novel", "like a page from a novel"),
        ("links to a page", "links to a page"),
        ("longer answers than usual", "longer answers than usual"),
        ("no more bullet points", "no more bullet points"),
    ],
)
def test_turns_of_phrase_about_length_are_put_in_other_words(written: str, plain: str) -> None:
    assert plainly(written) == plain


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("no longer than a tweet", "at most 50 words"),
        ("Never more than a tweet!", "at most 50 words"),
        ("must be shorter than a text message", "at most 30 words"),
        ("fits in a tweet", "at most 50 words"),
        ("longer than a tweet, please", "more words"),
        ("should be no longer than needed", "fewer words"),
        ("no longer than a paragraph", "at most 1 paragraph"),
        ("No more than a sentence, please", "at most 1 sentence"),
        ("no longer than two sentences", "at most 2 sentences"),
        ("longer than a paragraph", "at least 2 paragraphs"),
        ("one page at most", "at most 500 words"),
        ("shouldn't have more than two paragraphs", "at most 2 paragraphs"),
        ("fits on one screen", "fewer words"),
        ("a handful of sentences", "fewer sentences"),
        ("not more than a few sentences", "fewer sentences"),
        ("more than just one sentence", "at least 2 sentences"),
        ("never says it can't help", "fewer refusals"),
    ],
)
def test_they_are_read_as_they_are_meant(written: str, read: str) -> None:
    assert embedded_crm().reliability(Criterion(written)).reading == read


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("I prefer full stops to exclamation marks", {"fewer exclamation marks"}),
        ("I like lists more than tables", {"more list items", "fewer tables"}),
        ("I'd rather have tables than lists", {"more tables", "fewer list items"}),
        ("favours honesty over politeness", {"blunt", "less polite"}),
        ("humour over seriousness", {"funny", "less serious"}),
        ("lieber Stichpunkte als Fließtext", {"more bullet points", "less prose"}),
        ("accuracy over speed", {""}),
        # Where only one side is a wish that is known, or neither, a comparison says nothing else.
        ("more detailed than Wikipedia", {"detailed"}),
        ("more jokes than a comedian", {"funny"}),
        # What something is measured by is no wish either way: the judge knows teenagers and materials.
        ("more tables than a furniture shop", {"more tables"}),
        ("more emojis than a teenager", {"more emojis"}),
        ("prefer British over American spelling", {""}),
    ],
)
def test_what_is_liked_better_than_another_thing_is_what_is_wished(written: str, read: set[str]) -> None:
    found = embedded_crm().reliability(Criterion(written))
    assert set("" if found.read_as is ReadAs.WORDING else found.reading.split(" and ")) == read - {""}
