"""Turns of phrase, put as the rest of the judge reads them.

A judge that has learnt “longer” as a wish for more easily takes “no longer than a screen” for one, and “two
pages at most” names nothing that is counted. “A few sentences” are few, “won't turn me down” refuses nothing,
and “quality over quantity” is a saying. Such phrases are put in other words before a criterion is read.
"""

from __future__ import annotations

import re
from functools import lru_cache

_WORDS_OF = {"page": 500, "tweet": 50, "sms": 30, "text message": 30}
"""Single-spaced pages, as is usual; of a tweet's 280 characters and a text message's 160, with spaces."""

_UNIT = r"(?:(?:single|short|long) )?(?:word|sentence|paragraph|line|bullet|example|question|emoji)s?\b"
_NOT = r"\b(?:no|not|never|nothing|\w+n't)(?: (?:be|go|get|run|much|any|a bit|ever))*"
_NUMBERS = {
    "half a": 0.5,
    "a": 1.0,
    "an": 1.0,
    "one": 1.0,
    "two": 2.0,
    "three": 3.0,
    "four": 4.0,
    "five": 5.0,
}
_ABOUT_SIZE = re.compile(
    r"(?P<before>\b(?:than|most|least|under|below|over|above|exceed(?:ing)?|within|about|around|max(?:imum)?"
    r"|maximum of|(?:limit|keep|kept|cut|cap|trim|stick|hold|down|up)\w*(?: \w+)? to"
    r"|fits? (?:on|in|into|onto)) )?"
    rf"\b(?P<number>{'|'.join(_NUMBERS)}|\d{{1,2}})(?: (?:single|full|whole))?"
    rf" (?P<size>{'|'.join(_WORDS_OF)})s?\b(?! thread)"
    r"(?P<after> (?:at (?:the )?(?:very )?most|max(?:imum)?|tops|or less|or shorter|long|in length)\b)?",
    re.IGNORECASE,
)
_LONGER_THAN = re.compile(
    rf"(?:(?P<not>{_NOT})|\b\w+)? ?(?<!\w)(?:longer|more|bigger|larger|lengthier|wordier) $", re.IGNORECASE
)
_ELSE_ABOUT = re.compile(rf"\d|\b{_UNIT}", re.IGNORECASE)
_A_UNIT = re.compile(rf"\bthan an? (?={_UNIT})", re.IGNORECASE)
_WITHIN_ONE = re.compile(rf"\b(?:shorter|less|fewer) than one (?={_UNIT})", re.IGNORECASE)
_LONGER = re.compile(rf"\b(?:longer|bigger|lengthier) than (?=\S+ {_UNIT})", re.IGNORECASE)
_SHORTER = re.compile(rf"\b(?:shorter|smaller) than (?=\S+ {_UNIT})", re.IGNORECASE)
_NO_LONGER = re.compile(
    r"\bfits? (?:on|in|into) (?=(?:a|one) (?:single )?(?:screen|tweet|text message|postcard)\b)"
    rf"|{_NOT} (?:(?:longer|bigger|larger|lengthier|wordier) than "
    r"|more than (?=(?:a|an|one) (?:few (?:short )?lines|screen|tweet|text|glance|minute|breath)\b))(?!\d)",
    re.IGNORECASE,
)
_JUST = re.compile(r"\b(?P<than>(?:more|less|fewer) than) (?:just|only|merely|a mere) ", re.IGNORECASE)
_OF_SIZE = r"(?:(?:short|brief|quick|simple) )?(?:words?|sentences?|paragraphs?)\b"
_A_FEW = re.compile(
    rf"{_NOT} more than (?:just )?a (?:few|handful of|couple of) (?={_UNIT})"
    rf"|\b(?:(?:only|just|in) )?a (?:few|handful of) (?={_OF_SIZE}(?! (?:more|longer|extra)\b))",
    re.IGNORECASE,
)
_OATH = re.compile(
    r"(?<!\bsay )(?<![\"“'‘])\b(?:bloody|damn|goddamn|effing|freaking|fucking) (?=\w)", re.IGNORECASE
)
_REFUSES = re.compile(
    rf"{_NOT} (?:says?|tells? me|claims?|answers?|replies) (?:that )?(?:it|they|you) "
    r"(?:can't|cannot|can not|won't)"
    r"(?: (?:help|answer|do)(?: (?:me|that|this|it|with (?:that|this|it)))?)?\s*$"
    rf"|{_NOT} turn(?:s|ing)? (?:me|my questions?|questions?|requests?) (?:down|away)\b",
    re.IGNORECASE,
)
_RATHER = r"(?: over| before| above| rather than| instead of|,? not)"
_DONT = r"\b(?:don't|doesn't|do not|does not|never|not)"
_READER = r"(?:me|us|people|the reader)"
_FEELING = rf"{_DONT} makes? {_READER} feel(?: like)?(?: an?)?"
_SORT = (
    r"(?:gripping|good|short|bedtime|fairy|love|news|newspaper|magazine|scientific|research|academic|legal"
    r"|encyclop(?:a|ae|æ)dia|wikipedia|stand-up)"
)
_GENRE = (
    r"novel|thriller|story|tale|letter|poetry|script|article|entry|encyclop(?:a|ae|æ)dia|wikipedia|paper"
    r"|document|routine|conversation|chat"
)
"""One wishes that an answer reads like one of these; of others it is a complaint: “reads like a tax form”."""
_WALL = r"(?:(?:giant|huge|big|long|endless|dense|solid) )?walls? of text"
_EASED = r"eyes?|ears?|readers?|beginners?|mind|brain|feet|me|us|cpu|memory"
_SIGNS = {"≤": "at most", "<=": "at most", "≥": "at least", ">=": "at least", "<": "under", ">": "over"}
_BEFORE_NUMBER = re.compile(rf"(?P<sign>{'|'.join(_SIGNS)})\s*(?=\d)")
_NOR_MORE = re.compile(
    r"(?P<no>\b(?:no|without|avoid|never)\b[^.;:]{1,40}?),? or (?:more than|over|above|longer than) (?=\d)",
    re.IGNORECASE,
)
_SAYINGS = {
    r"^(?P<yes>[\w-]+(?: [\w-]+)?):? yes(?! or\b)\W+(?:but )?(?P<no>[\w-]+(?: [\w-]+)?):? no(?=$|[,.;])": (
        r"\g<yes>, no \g<no>"
    ),
    r"\byes to (?P<yes>[\w-]+(?: [\w-]+)?)\W+no to (?=\w)": r"\g<yes>, no ",
    rf"(?:{_DONT}|\bstop) call(?:s|ing)? me .+$": "not like a friend",
    rf"{_FEELING} (?:bad|guilty|ashamed|terrible|awful|judged|horrible)\b.*$": "nonjudgmental",
    rf"{_FEELING} (?:stupid|dumb|small|ignorant|idiot|fool|child)\b.*$": "not condescending",
    rf"^(?:it )?(?:should )?reads? like (?=(?:an? |the )?(?:{_SORT} )*(?:{_GENRE})$)": "like ",
    r"\b(?:respect|value|save|mind|don't waste|never waste|not waste|not wasting|without wasting"
    r"|be mindful of|be respectful of)s? my time\b": "concise, no filler",
    r"\b(?:high[- ]signal(?:[ ,-]*low[- ]noise)?|signal over noise)\b": "no filler",
    r"\b(?P<no>(?:no|stop|less|without|quit|enough)(?: with)?) (?:the |that |your )?yapp?(?:ing)?\b": (
        r"\g<no> rambling"
    ),
    rf"^(?:light|easy) on (?!(?:the |your )?(?:{_EASED})\b|its? )(?:the |your )?(?=\w)": "less ",
    rf"{_DONT} (?:treat|talk to) {_READER} (?:like|as if) "
    r"(?:an? (?:idiot|moron|fool|child|kid|baby|toddler)|(?:I'm|I am|we're) (?:stupid|dumb|five|an idiot))\b"
    rf"|(?:{_DONT}|\bno) (?:talk(?:s|ing)? down(?: to {_READER})?(?: like an? \w+)?"
    rf"|patroni[sz](?:e|es|ing)(?: {_READER})?)\b": "not condescending",
    rf"(?:\bI (?:really )?)?\b(?:no|not(?: an?)?|zero|avoid(?:s|ing)?|without(?: an?)?|hates?|can't stand"
    rf"|{_DONT} (?:want|like|need|give me|write|use)(?: an?| any)?|spare me(?: the| your)?) {_WALL}\b": (
        "short answers, short paragraphs"
    ),
    rf"^(?:an? |any )?{_WALL}$": "long answers, long paragraphs",
    r"\b(?:just|only|give me) (?:give me )?the bottom line\b(?! (?:first|up front|upfront))": (
        "short answers, only the conclusion"
    ),
    r"^(?:I(?:'ve| have)(?: got)? )?(?:zero|absolutely no|no) (?:tolerance|patience|time|use|need) for ": (
        "no "
    ),
    rf"\b(?:substance|content){_RATHER} (?:style|form|looks|show)\b": "solid content, no filler",
    rf"\bquality{_RATHER} quantity\b": "concise, no filler",
    r"\bas long as (?:it takes|it needs(?: to be)?|needed|necessary|the (?:question|topic) needs)\b": (
        "comprehensive"
    ),
    r"\bfits? (?:on|in|into|onto) (?:a|my|one|the) (?:(?:smart)?phone|mobile|watch)(?:'s)?"
    r"(?: screen| display)?\b": "short enough for a phone screen",
    r"\b(?:(?:only|just|in) )?a (?:few|handful of|couple of) (?:short )?lines\b(?! of)": "few sentences",
    r"\b(?:(?:only|just) (?:in )?(?:plain |normal |flowing |ordinary )?paragraphs"
    r"|(?:plain|flowing|ordinary) paragraphs(?: only)?)\b": "flowing prose",
    r"\b(?:chooses?|picks?|commits? to|settles? on) (?:just )?(?:one|a single) (?:answer|option|side|thing)"
    r"(?: (?:over|instead of|rather than) .+)?": "commits to one option",
}
_HOW = r"(?:(?:sehr|ganz|recht|eher|möglichst|gern|très|plus|assez|plutôt|muy|más|bastante) )?"
_SHORT_OR_LONG = (
    r"(?:(?P<short>kurze?[rn]?|knappe?[rn]?|courte?s?|brèves?|bref|cort[ao]s?|breves?)"
    r"|lange?[rn]?|ausführliche?[rn]?|longu?e?s?|détaillée?s?|larg[ao]s?|extens[ao]s?|detallad[ao]s?)"
)
_PLEASE = r"(?:,? (?:bitte|s'il (?:te|vous) plaît|por favor))?"
_ABROAD = tuple(
    re.compile(wish + _PLEASE, re.IGNORECASE)
    for wish in (
        r"(?:(?:bitte|gib mir|nur|lieber|ich (?:will|möchte|mag|hätte gern|bevorzuge)) )*(?P<no>keine? )?"
        rf"{_HOW}{_SHORT_OR_LONG} antwort(?:en)?",
        r"(?:(?:die|deine|eine|jede|alle) )?antwort(?:en)? (?:soll(?:t?en|te)?|muss|müssen|darf|dürfen) "
        rf"(?P<no>nicht )?(?:zu )?{_HOW}{_SHORT_OR_LONG} (?:sein|ausfallen)",
        r"(?:(?:s'il (?:te|vous) plaît|j'aime|je (?:veux|voudrais|préfère)|donne-moi|des|les|de|por favor"
        r"|quiero|prefiero|me gustan|dame|las|unas|solo)[ ,]+)*"
        r"(?P<no>(?:pas|jamais) de |(?:nada de|sin|no) )?"
        rf"(?:réponse|respuesta)s? (?:trop |demasiado )?{_HOW}{_SHORT_OR_LONG}",
        r"(?P<no>que (?:ce ne soit pas|no sean?) )(?:trop |demasiado |muy )?" + _SHORT_OR_LONG,
        r"(?:que ce soit|que sean?|fais|faites|sois|soyez|reste|restez|seas?|sean|sé|hazlo) "
        rf"{_HOW}{_SHORT_OR_LONG}",
        rf"{_HOW}{_SHORT_OR_LONG}",
    )
)
"""Wishes for length in German, French and Spanish, the commonest of all, where they are nothing else: the
judge was taught little of them, and took “réponses courtes” for a wish for longer ones."""
_SAID_ABROAD = tuple(
    (re.compile(f"(?:{wish}){_PLEASE}", re.IGNORECASE), plain)
    for wish, plain in (
        (
            r"(?:bitte )?(?:(?:komm\w*|bring\w*(?: es)?|direkt|gleich|schnell|bitte) )*"
            r"(?:auf den punkt|zum punkt|zur sache)(?: kommen)?"
            r"|(?:bitte )?ohne (?:große |lange )?(?:umschweife|drumherum|schnörkel|vorrede)"
            r"|(?:(?:va|vas|aller|allez|droit|directement) )+au but"
            r"|sans (?:détours?|tourner autour du pot|chichis)"
            r"|(?:(?:ve|vaya|ir|directo|directamente) )+al grano|sin (?:rodeos|andarte por las ramas)",
            "gets straight to the point",
        ),
        (
            r"(?:bitte )?(?:mich )?(?:duzen|duze mich|duzen sie mich|per du|mit du)"
            r"|tutoies?[- ]moi|tutoyez-moi|tutoiement|tut[ée]ame|h[aá]blame de tú|trátame de tú|tuteo",
            "casual",
        ),
        (
            r"(?:bitte )?(?:mich )?(?:siezen|sieze mich|per sie|mit sie)|vouvoies?-moi|vouvoyez-moi"
            r"|vouvoiement|h[aá]blame de usted|trátame de usted",
            "formal",
        ),
    )
)
"""Turns of phrase in other languages, where they are the whole of a wish."""
_COMPILED_SAYINGS = tuple((re.compile(saying, re.IGNORECASE), plain) for saying, plain in _SAYINGS.items())


@lru_cache(maxsize=4096)
def plainly(criterion: str) -> str:
    """Return a criterion with its turns of phrase put in other words.

    “No longer than a screen” becomes “shorter than a screen”, “longer than two sentences” “more than two
    sentences”, as it does not ask for longer ones, “two pages at most” “1000 words at most”, and “no longer
    than a tweet” “no more than 50 words”. “Réponses courtes” are “short answers”.
    """
    plain = criterion.replace("’", "'")
    if abroad := _from_abroad(plain.strip(" .!")):
        return abroad
    plain = _BEFORE_NUMBER.sub(lambda found: f"{_SIGNS[found['sign']]} ", _OATH.sub("", plain))
    for saying, meant in _COMPILED_SAYINGS:
        plain = saying.sub(meant, plain)
    plain = _NOR_MORE.sub(r"\g<no>, at most ", plain)
    plain = _REFUSES.sub("never refuses", plain)
    plain = _JUST.sub(r"\g<than> ", plain)
    plain = _A_FEW.sub("few ", plain)
    plain = _ABOUT_SIZE.sub(_in_words, plain)
    plain = _A_UNIT.sub("than one ", plain)
    plain = _LONGER.sub("more than ", plain)
    plain = _WITHIN_ONE.sub("at most one ", plain)
    plain = _SHORTER.sub("fewer than ", plain)
    return _NO_LONGER.sub("shorter than ", plain)


def _from_abroad(wish: str) -> str | None:
    for of_length in _ABROAD:
        if found := of_length.fullmatch(wish):
            is_short = (found["short"] is None) == (found.groupdict().get("no") is not None)
            return "short answers" if is_short else "long answers"
    return next((plain for said, plain in _SAID_ABROAD if said.fullmatch(wish)), None)


def _in_words(found: re.Match[str]) -> str:
    before, after = found["before"] or "", found["after"] or ""
    number, size = found["number"].lower(), found["size"].lower()
    if not (before or after) or (size != "page" and not _limits_length(found)):
        return found.group()
    amount = _NUMBERS[number] if number in _NUMBERS else float(number)
    if before.lower().startswith("fit"):
        before = "at most "
    return f"{before}{round(amount * _WORDS_OF[size])} words{after}"


def _limits_length(found: re.Match[str]) -> bool:
    """Return whether a tweet or the like is the limit of an answer: not where an amount stands beside it, or
    it is about paragraphs; and who wishes for more than a tweet may as well have ten."""
    before, after = found.string[: found.start()], found.string[found.end() :]
    longer = _LONGER_THAN.search(before)
    if longer is not None and longer["not"] is None:
        return False
    return not _ELSE_ABOUT.search(f"{before} {after}")
