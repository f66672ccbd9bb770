"""Forms of criteria that say several things, by their words alone, in four languages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import combinations

from crm.embedded.surface import asks_for_less, turn_of_less, turns

_CONTRAST = re.compile(
    r"\b(?:instead of|in place of|rather than|as opposed to|statt|anstatt|au lieu de|plutôt que"
    r"|en lugar de|en vez de|but (?:not|never)|aber (?:nicht|keine?)|mais (?:pas|jamais)|pero (?:no|nunca))\b"
    r"(?!\s+(?:just|only|merely|simply|nur|seulement|solo)\b)"
    r"|[,;] (?:and )?(?:not|never)\b(?!\s+(?:just|only|merely|simply|even)\b)",
    re.IGNORECASE,
)
_BARE_CONTRAST = re.compile(
    r"(?P<wished>[\w-]+(?: [\w-]+)?),? not (?P<unwished>[\w-]+(?: [\w-]+)?)", re.IGNORECASE
)
"""“Grams not cups”."""
_BARE_MEASURE = re.compile(
    r"(?:(?:a bit|that|so|all|over|way|far|gar|ganz) )*"
    r"(?:(?:too|trop|zu|demasiad[oa]s?|over|so)(?: (?:much|many|often|viele?|oft|souvent|very))*"
    r"|excessively|overly|constantly|always|everywhere|all the time|partout|überall|immer|in excess|to excess"
    r"|over the top|overdone|übertrieben|exagérée?s?|a lot|lots)"
    r"(?: (?:of (?:it|them|that)|please|pls|bitte|svp))*",
    re.IGNORECASE,
)
_SENTENCE = re.compile(
    r"(?<=[^\W\d_]{2}[.!…])\s+|(?<=[^\W\d_]{2}\)[.!])\s+|\s*;\s+|:\s+(?=\S+[ ,])"
    r"|,\s+(?=(?:because|'?cause|cuz|(?:as|since) (?:I|we|my)|weil|denn|parce que|car|porque)\s+"
    r"|(?:I'm|I am|ich bin|je suis|soy|English is(?:n't| not))\b)",
    re.IGNORECASE,
)
_CONTEXT = re.compile(
    r"(?:because|'?cause|cuz|weil|denn|parce que|porque)\b"
    r"|(?:(?:as|since|and|but|car)\s+)*(?:I'm|I am|I've"
    r"|I (?!want|like|love|hate|need|prefer|enjoy|wish|can|do|won.t|would|could|dislike|expect"
    r"|appreciate|value|miss|demand|ask|insist)\w+|we're|we are|we have|my|it's for"
    r"|this is|(?:that|it|he|she|they)(?:'s| is| was| are|'re)"
    r"|ich bin|ich habe|mein|je suis|j'ai|mon|ma|soy|tengo|mi)\b",
    re.IGNORECASE,
)
"""How a sentence begins that says why something is wished."""
_NO_TIME = re.compile(
    r"(?:I (?:haven't|have not|don't have|have no)(?: got)? (?:all day|(?:much |the |any )?time)"
    r"|English is(?:n't| not) my)\b",
    re.IGNORECASE,
)
"""The same with a turn of less."""
_NOT_ONLY = re.compile(r"(?P<wished>.+?),? (?:and )?not (?:just|only|merely|simply) .+", re.IGNORECASE)
_BUTS = frozenset({"but", "aber", "mais", "pero"})
_BUT = re.compile(rf"\b(?:{'|'.join(sorted(_BUTS))}|though|just not)\b", re.IGNORECASE)
_ANAPHOR = re.compile(
    r"\b(?:it|them|that|those|these|any|this|so|ones?|either|das|davon|ça|eso)\b", re.IGNORECASE
)
"""What a clause means by it stands in the clause before: “they tire me, so drop them”."""
_CONCESSION = re.compile(
    r"(?:\b(?:is|are|r|sind|sont)\s+)?"
    r"\b(?:fine|ok|okay|alright|allowed|acceptable|tolerable|in ordnung|d'accord)\W*$",
    re.IGNORECASE,
)
_POINTS_BACK = re.compile(
    r"(?:is|was|does|do|can|could|why|how|really|and) (?:it|that|this|so)\b|just answer(?: me)?$",
    re.IGNORECASE,
)
_STEM = 5
"""Words that begin with the same so many letters name one thing."""
_MOST_SENTENCES, _MOST_WORDS_OF_SENTENCES = 4, 45
_COMPARED = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        # “I prefer tables to lists”, not “I prefer answers to be short”
        r"\b(?:prefer|favou?r|choose)s?\s+(?!not\b|to\b)(?P<wished>.+?)\s+to\s+(?!(?:be|have|use|sound|see|get|read|give"
        r"|keep|look|feel|come|go|start|end|include|contain|stay|avoid|make|show|tell|write|not|ask|explain)\b)"
        r"(?P<unwished>.+)$",
        # “depth over brevity”, not “goes over the details”
        r"^(?:(?:I|please)\s+)?(?:(?:prefer|favou?r|choose|value|pick|want|put|take)s?\s+)?"
        r"(?P<wished>(?!(?:go|explain|think|talk|look|spread|run|carry|repeat|read|hand|turn|come|get|all)\w*\b)"
        r"\w[\w-]*(?:\s+[\w-]+){0,3}?)\s+over\s+"
        r"(?!(?:the|several|each|every|many|all|both|two|three|my|your|its|time|and|again|it|them|more)\b|\d)"
        r"(?P<unwished>\w[\w-]*(?:\s+[\w-]+){0,3})$",
        # “more tables than lists”, “I'd rather have tables than lists”, “I like tables more than lists”
        r"\b(?P<wished>more\s+(?!like\b).+?)\s+than\s+(?P<unwished>.+)$",
        r"\brather\s+(?:have\s+|read\s+|see\s+|get\s+)?(?!not\b)(?P<wished>.+?)\s+than\s+(?P<unwished>.+)$",
        r"\b(?:like|love|want|enjoy|prefer)s?\s+(?P<wished>.+?)\s+(?:more|better)\s+than\s+(?P<unwished>.+)$",
        # “more like a chat than like an article”
        r"\b(?:more|rather|closer)\s+(?P<wished>like\s+.+?|to\s+.+?)\s+than\s+(?:to\s+)?(?P<unwished>[^,;]+)$",
        # “warmer than a manual”
        r"^(?:(?:I want|should be|be|sounds?|a bit|much|something)\s+)?(?P<wished>(?!(?:other|rather|better"
        r"|later|earlier|longer|shorter|bigger|larger|smaller)\b)\w{3,}er)\s+than\s+"
        r"(?P<unwished>(?:an?|the|my|your)\s+.+)$",
        # “lieber Tabellen als Listen”, “plutôt des tableaux que des listes”
        r"\b(?:lieber|eher)\s+(?P<wished>.+?)\s+als\s+(?P<unwished>.+)$",
        r"\bplutôt\s+(?!que\b)(?P<wished>.+?)\s+qu(?:e\s+|')(?P<unwished>.+)$",
    )
)
_MEASURED = re.compile(
    r"(?:(?:I'd like|I'd love|I want|give me|with|use|please)\s+)*"
    r"(?P<wished>(?:(?:many|much|a bit|a lot|a little|way)\s+)?(?:more|less|fewer)\s+"
    r"(?!(?:like|an?|of|the|than)\b)[\w-]+(?:\s+[\w-]+){0,3}?)\s+than\s+"
    r"(?:(?:an?|my|your|the average|the usual)\s+[\w-]+(?:\s+[\w-]+){0,3}"
    r"|(?:chat ?gpt|gpt\S*|claude|gemini|copilot|alexa|siri|wikipedia|usual|normal|now|before|default))$",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"[\"“„«]|(?<!\w)'\w")
_LESS_OF_IT = re.compile(
    r"\b(?:no|not|never|without|less|fewer|avoid|weniger|moins|menos)\b|n't\b", re.IGNORECASE
)
_SOLE = re.compile(
    r"^(?:please )?(?:use |write )?(?:only|just)\s+(?P<after>(?!the\b).+)$"
    r"|^(?!the\b)(?P<before>.+?),?\s+only$",
    re.IGNORECASE,
)
_ON_CONDITION = re.compile(r"\b(?:when|if|where|unless|needed|necessary|a few|once)\b", re.IGNORECASE)

_LINK = re.compile(
    r"([,;&+]\s*(?:and|or|but|und|et|y|aber|mais|pero)?\b|\b(?:and|or|nor|but|plus|und|oder|et|ou|y|o|aber|mais|pero)\b)",
    re.IGNORECASE,
)
_OR = re.compile(r"\W*(?:or|nor|oder|ou|o)\b", re.IGNORECASE)
_ORDER = re.compile(
    r"(?:(?:please|pls|plz|just|then|instead|rather|bitte|sondern|s'il te plaît|por favor)\s+)*"
    r"(?:be|give|use|tell|show|add|include|explain|write|start|begin|end|finish|keep|put|make|ask|say|speak|talk"
    r"|go|get|let|answer|stay|offer|provide|take|come|stick|cite|compare|walk|pick|choose|recommend|describe"
    r"|reply|respond|suggest|teach|i want|i'd like|i'd love|i like|i love|i need"
    r"|gib|nenn\w*|erklär\w*|schreib\w*|nutz\w*|benutz\w*|verwend\w*|sei|mach\w*|zeig\w*|fang\w*|beginn\w*"
    r"|frag\w*|sag\w*|bleib\w*|antwort\w*|ich (?:will|möchte|mag)"
    r"|donne\w*|sois|soyez|écri\w*|utilise\w*|explique\w*|commence\w*|dis|dites|mets|pose\w*|montre\w*|fais|reste\w*"
    r"|répond\w*|ajoute\w*|je veux|j'aime"
    r"|da|dame|sé|escribe|usa|explica|explícame|empieza|di|dime|pon|haz|muestra|responde|añade|quiero)\s+\S",
    re.IGNORECASE,
)
"""How a clause of its own begins, to which no turn of less before it extends: “no jokes, be warm”."""
_MARKS = " .,;!?"
_MOST_PARTS, _MOST_WORDS_OF_A_LIST = 3, 10
_MOST_WORDS_OF_CLAUSES = 24
"""Of a criterion with such a clause after a turn of less."""


def contrasted(criterion: str) -> tuple[str, str] | None:
    """Return what a criterion wishes and what it does not: “prose” and “lists” of “prose instead of lists”.

    None where nothing is contrasted, or the first part is not wished either: “no lists, not even short ones”.
    """
    if bare := _BARE_CONTRAST.fullmatch(criterion.strip(_MARKS)):
        parts = [bare["wished"], bare["unwished"]]
    else:
        parts = [part.strip(_MARKS) for part in _CONTRAST.split(criterion, maxsplit=1)]
    if len(parts) == 1 or not all(parts) or asks_for_less(parts[0]):
        return None
    return parts[0], parts[1]


def limited(criterion: str) -> tuple[str] | None:
    """Return what is wished where the rest only limits it: “humour” of “humour, but not too much”.

    So does “not only”, and what names the same thing with a turn of less: “hedge where it is open, but don't
    hedge all”.
    Of what is only put up with the limit is wished: “no emojis in every line” of “emojis are fine, but not in
    every line”.
    """
    if sides := contrasted(criterion):
        wished, unwished = sides
        if conceded := _CONCESSION.search(wished):
            return (f"no {wished[: conceded.start()].strip()} {unwished}",)
        return (wished,) if _BARE_MEASURE.fullmatch(unwished) else None
    if (only := _NOT_ONLY.fullmatch(criterion)) and not asks_for_less(only["wished"]):
        return (only["wished"].strip(_MARKS),)
    clauses = own_clauses(criterion)
    if len(clauses) == 2 and asks_for_less(clauses[1]) and _stems(clauses[0]) & _stems(clauses[1]):  # noqa: PLR2004
        return clauses[:1]
    return None


def measured(criterion: str) -> str | None:
    """Return what a criterion wishes more of than somebody has: “more tables” of “more tables than a shop”.

    That says nothing of shops. None where it measures by nobody: “more a story than a list” and “more tables
    than lists” compare two wishes.
    """
    found = _MEASURED.match(criterion.replace("’", "'").strip(_MARKS))
    return found["wished"] if found is not None and not _QUOTED.search(criterion) else None


def compared(criterion: str) -> tuple[str, str] | None:
    """Return what a criterion likes better and than what: “tables” and “lists” of “tables over lists”.

    None where nothing is compared, something is only measured (`measured`), less of something is wished,
    “less formal than a textbook”, or something said is quoted, which is no wish by itself.
    """
    plain = criterion.replace("’", "'").strip(_MARKS)
    if measured(criterion) is not None or _LESS_OF_IT.search(plain) or _QUOTED.search(plain):
        return None
    for pattern in _COMPARED:
        if found := pattern.search(plain):
            return found["wished"].strip(_MARKS), found["unwished"].strip(_MARKS)
    return None


def sentences(criterion: str) -> tuple[str, ...]:
    """Return the sentences of a criterion, and what stands after a colon or a semicolon, by themselves.

    Why something is wished is one, too: “short answers, because I read on the bus”. Empty where there is one
    only; what is quoted is never parted.
    """
    if len(criterion.split()) > _MOST_WORDS_OF_SENTENCES:
        return ()
    plain = criterion.replace("’", "'").strip()
    ends = [found for found in _SENTENCE.finditer(plain) if not _in_quotes(plain[: found.start()])]
    starts = [0, *(found.end() for found in ends)]
    stops = [*(found.start() for found in ends), len(plain)]
    parts = [plain[start:stop].strip(_MARKS) for start, stop in zip(starts, stops, strict=True)]
    parts = [part for part in parts if part]
    return tuple(parts) if 1 < len(parts) <= _MOST_SENTENCES else ()


def _in_quotes(before: str) -> bool:
    return before.count('"') % 2 == 1 or before.count("“") > before.count("”")


def is_context(sentence: str) -> bool:
    """Return whether a sentence begins as one that says why something is wished: “I read on the bus”.

    So it is with one that only points back at what was said: “is that so hard”.
    """
    plain = sentence.replace("’", "'")
    if _POINTS_BACK.match(plain) or _NO_TIME.match(plain):
        return True
    return _CONTEXT.match(plain) is not None and not turns([plain]).any()


def limits(criterion: str, parts: Sequence[str]) -> bool:
    """Return whether a later part of a criterion may only limit an earlier one: “slang, but no cringe slang”.

    So it is after a “but”, and where both name one thing.
    """
    if _BUT.search(criterion):
        return True
    return any(_stems(one) & _stems(other) for one, other in combinations(parts, 2))


def _stems(text: str) -> set[str]:
    return {word[:_STEM].casefold() for word in re.findall(rf"[^\W\d_]{{{_STEM},}}", text)}


def sole(criterion: str) -> str | None:
    """Return what alone a criterion wishes: “prose” of “only prose”; None where it names nothing so.

    “Only emojis when needed” is a condition, “only not rude” a turn of less, and “only the facts” a manner of
    speaking, which asks for less of all the rest.
    """
    found = _SOLE.match(criterion.strip(_MARKS))
    if found is None or _ON_CONDITION.search(criterion) or asks_for_less(criterion):
        return None
    return found["after"] or found["before"]


def enumerated(criterion: str) -> tuple[str, ...]:
    """Return the wishes in a short list: “warm” and “funny”; of “no tables or emojis” “no emojis”, too.

    Empty where a criterion lists nothing.
    """
    first, others = _linked(criterion)
    most_words = _MOST_WORDS_OF_CLAUSES if turns_round(criterion) else _MOST_WORDS_OF_A_LIST
    if not others or len(others) > _MOST_PARTS or len(criterion.split()) > most_words:
        return ()
    parts, less = [first.strip(_MARKS)], turn_of_less(first)
    for link, part in others:
        is_own = link.strip().lower() == "but" or _begins(link, part) or part.startswith("with ")
        if is_own or turns([part]).any():
            parts, less = [*parts, part.strip(_MARKS)], turn_of_less(part)
        elif part:
            parts.append(f"{less} {part.strip(_MARKS)}".strip())
    return tuple(sole(part) or part for part in parts) if len(parts) > 1 and all(parts) else ()


def own_clauses(criterion: str) -> tuple[str, ...]:
    """Return the clauses of a criterion where each says something by itself: “be brief but name risks”.

    Empty where it has one only, or a list in which a turn of less may be meant of what follows, too.
    """
    first, others = _linked(criterion)
    if any(_OR.match(link) for link, _ in others):
        return ()
    if not 0 < len(others) <= _MOST_PARTS + 1 or len(criterion.split()) > _MOST_WORDS_OF_SENTENCES:
        return ()
    begins = [
        link.strip(_MARKS).lower() in _BUTS or _begins(link, part) or asks_for_less(part)
        for link, part in others
    ]
    parts = tuple(part.strip(_MARKS) for part in (first, *(part for _, part in others)))
    if not all(begins) or not all(parts) or _ON_CONDITION.match(first) or any(map(is_context, parts)):
        return ()
    return () if any(_ANAPHOR.search(part) for part in parts[1:]) else parts


def turns_round(criterion: str) -> bool:
    """Return whether a turn of less is followed by a clause that it says nothing of: “no jokes, be warm”."""
    first, others = _linked(criterion)
    return bool(turn_of_less(first)) and any(_begins(link, part) for link, part in others)


def _linked(criterion: str) -> tuple[str, list[tuple[str, str]]]:
    """Return the first part of a criterion, and the others, each after what links it."""
    first, *rest = _LINK.split(criterion.replace("’", "'"))
    return first, [*zip(rest[::2], map(str.strip, rest[1::2]), strict=True)]


def _begins(link: str, part: str) -> bool:
    """Return whether a clause of its own begins after a link."""
    return _ORDER.match(part) is not None and not _OR.match(link)
