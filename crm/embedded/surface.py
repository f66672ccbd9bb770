"""The surface of a criterion: turns of less and more, and its words and their pieces.

A sentence encoder's embedding is the mean over words, which blurs a “no” and knows little of words that are
rare, misspelt or foreign. Both are kept beside it: turns as indicators, words and pieces of words hashed
(Weinberger et al. 2009), as in fastText (Joulin et al. 2017).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from itertools import pairwise
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

_TURNS = (
    r"\b(?:no|not|never|none|without|n't|cannot|nothing|zero|nor|neither|free of|-free)\b|n't\b",
    (
        r"\b(?:avoid|skip|stop|drop|cut|omit|ban|remove|leav(?:e|es|ing) out|refrain|spare me|ditch|lose"
        r"|minus|exclude|forget|steer clear|ke(?:ep|eps|pt) away|do without)\w*"
    ),
    r"\b(?:hate|dislike|can't stand|allergic|tired of|sick of|annoy|fed up|put off|bother)\w*",
    (
        r"\b(?:less|fewer|little|few|hardly|barely|minimal|minimum|rarely|seldom|reduce|limit|sparing"
        r"|light on|low)\w*"
    ),
    r"\b(?:more|lots|many|plenty|full|much|always|every|often|love|want|heavy|rich|tons|loads)\b",
    r"\b(?:instead of|rather than|over|than|but not|and not|anything but)\b",
)
N_TURNS_OF_LESS = 4
"""The first so many of the turns ask for less."""
_COMPILED_TURNS = tuple(re.compile(turn, re.IGNORECASE) for turn in _TURNS)
_TURN_SIZE = np.float32(3.0)
N_TURNS = len(_TURNS)

_CONTRAST = re.compile(
    r"\b(?:instead of|in place of|rather than|as opposed to|statt|anstatt|au lieu de|plutôt que"
    r"|en lugar de|en vez de|but (?:not|never))\b|[,;] (?:and )?(?:not|never)\b",
    re.IGNORECASE,
)
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
    r"(?P<wished>(?:many\s+|much\s+)?more\s+(?!(?:like|an?|of|the|than)\b)[\w-]+(?:\s+[\w-]+){0,3}?)\s+than\s+"
    r"(?:an?|my|your|the average|the usual)\s+[\w-]+(?:\s+[\w-]+){0,3}$",
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
    r"([,;&+]\s*(?:and|or|but)?\b|\b(?:and|or|nor|but|plus|und|oder|et|ou|y|o)\b)", re.IGNORECASE
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

N_BUCKETS = 1 << 14
"""So many different hashes of words and pieces are told apart."""
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*|[^\w\s]|_")
_PIECE = 4
"""Characters of a piece of a word, whose ends are marked."""


def turns(criteria: Sequence[str]) -> NDArray[np.float32]:
    """Return which turns of less and more N criteria have ``[N, N_TURNS]``."""
    plain = [criterion.replace("’", "'") for criterion in criteria]
    found = [[turn.search(criterion) is not None for turn in _COMPILED_TURNS] for criterion in plain]
    return np.array(found, dtype=np.float32).reshape(len(plain), N_TURNS) * _TURN_SIZE


def contrasted(criterion: str) -> tuple[str, str] | None:
    """Return what a criterion wishes and what it does not: “prose” and “lists” of “prose instead of lists”.

    None where nothing is contrasted, or the first part is not wished either: “no lists, not even short ones”.
    """
    parts = [part.strip(_MARKS) for part in _CONTRAST.split(criterion, maxsplit=1)]
    if len(parts) == 1 or not all(parts) or turns(parts[:1])[0, :N_TURNS_OF_LESS].any():
        return None
    return parts[0], parts[1]


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


def sole(criterion: str) -> str | None:
    """Return what alone a criterion wishes: “prose” of “only prose”; None where it names nothing so.

    “Only emojis when needed” is a condition, “only not rude” a turn of less, and “only the facts” a manner of
    speaking, which asks for less of all the rest.
    """
    found = _SOLE.match(criterion.strip(_MARKS))
    if found is None or _ON_CONDITION.search(criterion) or turns([criterion])[0, :N_TURNS_OF_LESS].any():
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
    parts, less = [first.strip(_MARKS)], _turn_of_less(first)
    for link, part in others:
        is_own = link.strip().lower() == "but" or _begins(link, part) or part.startswith("with ")
        if is_own or turns([part]).any():
            parts, less = [*parts, part.strip(_MARKS)], _turn_of_less(part)
        elif part:
            parts.append(f"{less} {part.strip(_MARKS)}".strip())
    return tuple(sole(part) or part for part in parts) if len(parts) > 1 and all(parts) else ()


def turns_round(criterion: str) -> bool:
    """Return whether a turn of less is followed by a clause that it says nothing of: “no jokes, be warm”."""
    first, others = _linked(criterion)
    return bool(_turn_of_less(first)) and any(_begins(link, part) for link, part in others)


def _linked(criterion: str) -> tuple[str, list[tuple[str, str]]]:
    """Return the first part of a criterion, and the others, each after what links it."""
    first, *rest = _LINK.split(criterion.replace("’", "'"))
    return first, [*zip(rest[::2], map(str.strip, rest[1::2]), strict=True)]


def _begins(link: str, part: str) -> bool:
    """Return whether a clause of its own begins after a link."""
    return _ORDER.match(part) is not None and not _OR.match(link)


def _turn_of_less(part: str) -> str:
    """Return what stands up to the end of a turn of less: “no” of “no tables”; empty without one."""
    found = [match for turn in _COMPILED_TURNS[:N_TURNS_OF_LESS] if (match := turn.search(part))]
    return part[: max(match.end() for match in found)].strip() if found else ""


def word_hashes(criterion: str) -> list[int]:
    """Return the buckets of a criterion's words, pairs and triples of words, and pieces of words.

    Case and accents make no difference. Each bucket stands once; a criterion without a word has none.
    """
    decomposed = unicodedata.normalize("NFKD", criterion.replace("’", "'").lower())
    words = _WORD.findall("".join(char for char in decomposed if not unicodedata.combining(char)))
    if not words:
        return []
    bounded = ["^", *words, "$"]
    grams = [
        *(f"1 {word}" for word in words),
        *(f"2 {one} {two}" for one, two in pairwise(bounded)),
        *(f"3 {' '.join(three)}" for three in zip(bounded, bounded[1:], bounded[2:], strict=False)),
        *(f"4 {piece}" for word in words for piece in _pieces(f"<{word}>")),
    ]
    return sorted({crc32(gram.encode()) % N_BUCKETS for gram in grams})


def _pieces(word: str) -> list[str]:
    return [word[start : start + _PIECE] for start in range(max(1, len(word) - _PIECE + 1))]
