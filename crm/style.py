"""Style features: what can be counted in a response, as raw counts that an explanation can quote.

Two kinds of feature are counted. *Structure* (words, numbered steps, headings, …) enters the model
as log(1 + count); *wording* (warm, hedging, playful, … expressions) as log(1 + occurrences per 100
words), so that a long answer does not seem warm only because it is long.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class StyleFeature:
    """One countable property of a response.

    Attributes:
        name: Identifier stored with the weights.
        count: Raw value from the response's text.
        more: How a response with more of it is described in an explanation.
        less: How a response with less of it is described.
        unit: Plural noun where the count itself is worth quoting (“words”), else empty.
        wording: True if it enters the model per 100 words.
    """

    name: str
    count: Callable[[str], float]
    more: str
    less: str
    unit: str = ""
    wording: bool = False


def _matches(pattern: str, flags: int = re.IGNORECASE) -> Callable[[str], float]:
    compiled = re.compile(pattern, flags)
    return lambda text: float(sum(1 for _ in compiled.finditer(text)))


def _lines(pattern: str) -> Callable[[str], float]:
    return _matches(pattern, re.MULTILINE)


def _expressions(expressions: str) -> Callable[[str], float]:
    """Count whole expressions, listed with ``|``; a trailing ``*`` stands for any ending."""
    alternatives = "|".join(
        re.escape(expression.strip()).replace(r"\*", r"\w*").replace(r"\ ", r"\s+").replace("'", "['’]")
        for expression in expressions.split("|")
    )
    return _matches(rf"\b(?:{alternatives})\b")


_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_SENTENCE_END = re.compile(r"[.!?…]+(?=[\s\"'”’)*]|$)")
_LATINATE = re.compile(r"(?:tion|sion|ment|ence|ance|ity|ical|ism|ology|ous|ive)s?$", re.IGNORECASE)


def _words(text: str) -> list[str]:
    return _WORD.findall(text)


def _mean_word_length(text: str) -> float:
    words = _words(text)
    return sum(map(len, words)) / len(words) if words else 0.0


def _mean_sentence_length(text: str) -> float:
    return len(_words(text)) / max(1, len(_SENTENCE_END.findall(text)))


def _distinct_share(text: str) -> float:
    """Distinct words per square root of words (Guiraud's index), which hardly depends on length."""
    words = [word.casefold() for word in _words(text)]
    return len(set(words)) / len(words) ** 0.5 if words else 0.0


def _short_lines(text: str) -> float:
    """Lines of verse: at most 60 characters, neither list item nor heading."""
    return float(
        sum(
            1
            for line in text.split("\n")
            if 0 < len(line.strip()) <= 60 and not re.match(r"\s*(?:[-*•#]|\d+[.)])", line)  # noqa: PLR2004
        )
    )


def _opening(pattern: str) -> Callable[[str], float]:
    compiled = re.compile(pattern, re.IGNORECASE)
    return lambda text: float(compiled.match(text.lstrip(" *#\n\"'“")) is not None)


def _closing(pattern: str) -> Callable[[str], float]:
    compiled = re.compile(pattern, re.IGNORECASE)
    return lambda text: float(compiled.search(text.rstrip()[-160:]) is not None)


def _structure(
    name: str, count: Callable[[str], float], more: str, less: str, unit: str = ""
) -> StyleFeature:
    return StyleFeature(name, count, more, less, unit)


def _wording(name: str, expressions: str, more: str, less: str) -> StyleFeature:
    return StyleFeature(name, _expressions(expressions), more, less, wording=True)


STYLE_FEATURES: tuple[StyleFeature, ...] = (
    _structure("words", lambda text: float(len(_words(text))), "longer", "shorter", "words"),
    _structure("sentence_length", _mean_sentence_length, "longer sentences", "shorter sentences"),
    _structure("word_length", _mean_word_length, "longer words", "simpler, shorter words"),
    _structure("distinct_words", _distinct_share, "a richer vocabulary", "a plainer vocabulary"),
    _structure(
        "paragraphs",
        lambda text: float(len([part for part in re.split(r"\n\s*\n", text) if part.strip()])),
        "more paragraphs",
        "fewer paragraphs",
        "paragraphs",
    ),
    _structure(
        "numbered",
        _lines(r"^\s*(?:\*\*)?(?:step\s+)?\d{1,3}[.):]\s"),
        "more numbered steps",
        "fewer numbered steps",
        "numbered steps",
    ),
    _structure(
        "bullets", _lines(r"^\s*[-*•–]\s+\S"), "more bullet points", "fewer bullet points", "bullet points"
    ),
    _structure(
        "headings",
        _lines(r"^\s*(?:#{1,6}\s+\S.*|\*\*[^*\n]{2,80}\*\*:?\s*)$"),
        "more headings",
        "fewer headings",
        "headings",
    ),
    _structure(
        "labels",
        _lines(r"^\s*(?:[-*•]\s+|\d+[.)]\s+)?(?:\*\*)?[A-Z][\w ,'’/&-]{1,40}(?:\*\*)?:(?:\*\*)?\s"),
        "more labelled items",
        "fewer labelled items",
        "labelled items",
    ),
    _structure("bold", _matches(r"\*\*[^*\n]+\*\*"), "more bold text", "less bold text", "bold passages"),
    _structure("code", _matches(r"```|`[^`\n]+`"), "more code", "less code", "code passages"),
    _structure("tables", _lines(r"^\s*\|.*\|\s*$"), "more table rows", "fewer table rows", "table rows"),
    _structure("verse_lines", _short_lines, "more short lines", "fewer short lines", "short lines"),
    _structure("numbers", _matches(r"\b\d[\d,.]*\b"), "more numbers", "fewer numbers", "numbers"),
    _structure("names", _matches(r"(?<=[a-z,;] )[A-Z][a-z]+", 0), "more names", "fewer names", "names"),
    _structure("links", _matches(r"https?://\S+"), "more links", "fewer links", "links"),
    _structure(
        "emojis", _matches("[\U0001f300-\U0001faff\u2600-\u27bf]"), "more emojis", "fewer emojis", "emojis"
    ),
    StyleFeature(
        "exclamations",
        _matches(r"!"),
        "more exclamation marks",
        "fewer exclamation marks",
        "exclamation marks",
        wording=True,
    ),
    StyleFeature(
        "questions", _matches(r"\?"), "more questions", "fewer questions", "questions", wording=True
    ),
    StyleFeature(
        "quotations",
        _matches(r"[“\"][^”\"\n]{2,}[”\"]"),
        "more quoted words",
        "fewer quoted words",
        "quoted passages",
        wording=True,
    ),
    StyleFeature(
        "parentheses",
        _matches(r"\("),
        "more asides in brackets",
        "fewer asides in brackets",
        "bracketed asides",
        wording=True,
    ),
    StyleFeature(
        "dashes", _matches(r"[—–;:]| - "), "more dashes and colons", "fewer dashes and colons", wording=True
    ),
    StyleFeature("commas", _matches(r","), "more winding sentences", "plainer sentences", wording=True),
    StyleFeature(
        "capitals",
        _matches(r"\b[A-Z]{3,}\b", 0),
        "more words in capitals",
        "fewer words in capitals",
        wording=True,
    ),
    StyleFeature(
        "emphasis",
        _matches(r"(?<!\*)\*[^*\n]+\*(?!\*)"),
        "more words in italics",
        "fewer words in italics",
        wording=True,
    ),
    StyleFeature(
        "latinate",
        lambda text: float(sum(1 for word in _words(text) if _LATINATE.search(word))),
        "a more formal vocabulary",
        "a less formal vocabulary",
        wording=True,
    ),
    _structure(
        "preamble",
        _opening(
            r"(?:sure|certainly|of course|absolutely|great question|okay|ok|here(?:'s|’s| is| are)|"
            r"i(?:'d|’d)? (?:would )?(?:love|be happy)|thank)"
        ),
        "it opens with a preamble",
        "it starts without a preamble",
    ),
    _structure(
        "offer",
        _closing(
            r"let me know|hope (?:this|that|it)|feel free|happy to help|good luck|enjoy|would you like|"
            r"if you (?:want|like|need|have|tell)"
        ),
        "it closes with an offer or a wish",
        "it ends without an offer or a wish",
    ),
    _structure(
        "asks_back",
        _closing(r"\?[\"”')*\s]*$"),
        "it ends with a question to you",
        "it does not end with a question",
    ),
    _structure(
        "refusal",
        _opening(
            r"(?:i(?:'m|’m| am) sorry|sorry|as an ai|i cannot|i can(?:'t|’t)|i(?:'m|’m| am) unable|"
            r"unfortunately)"
        ),
        "it begins with an apology or refusal",
        "it does not begin with an apology",
    ),
    _wording(
        "first_person",
        "i|i'm|i've|i'd|i'll|me|my|mine|myself",
        "more in the first person",
        "less in the first person",
    ),
    _wording("we", "we|we're|we've|us|our|ours|let's|together", "more “we” wording", "less “we” wording"),
    _wording(
        "second_person",
        "you|you're|you've|you'll|you'd|your|yours|yourself",
        "more addressed to you",
        "less addressed to you",
    ),
    StyleFeature(
        "contractions",
        _matches(r"\b\w+['’](?:s|t|re|ve|ll|d|m)\b"),
        "a more casual wording",
        "a more formal wording",
        wording=True,
    ),
    _wording(
        "hedges",
        "may|might|could|perhaps|possibly|probably|likely|unlikely|seem*|appear*|often|usually|"
        "generally|typically|tend*|sometimes|in some cases|it depends|depends|roughly|arguably|not sure|"
        "uncertain*|i think|i'd guess|in many cases",
        "more hedged wording",
        "less hedged wording",
    ),
    _wording(
        "contrasts",
        "however|but|although|though|while|whereas|on the other hand|on one hand|on the one hand|"
        "that said|yet|still|nevertheless|nonetheless|conversely|either way|both sides|downside*|drawback*|"
        "trade-off*|tradeoff*|risk*|caveat*|limitation*|caution*|unless|pros|cons|exception*",
        "more weighing of both sides",
        "less weighing of both sides",
    ),
    _wording(
        "certainty",
        "always|never|definitely|certainly|clearly|obviously|must|undoubtedly|without doubt|"
        "of course|absolutely|simply|exactly|no question|period",
        "more certain wording",
        "less certain wording",
    ),
    _wording(
        "causes",
        "because|therefore|thus|hence|since|so that|as a result|consequently|due to|leads to|"
        "means that|which means|reason*|cause*|why|explain*",
        "more reasons given",
        "fewer reasons given",
    ),
    _wording(
        "examples",
        "for example|for instance|such as|e.g.|like this|say,|including|imagine|consider|suppose|"
        "picture this|case in point",
        "more examples",
        "fewer examples",
    ),
    _wording(
        "background",
        "history|historical*|historically|origin*|tradition*|century|centuries|context|theory|"
        "theories|research*|studies|scholar*|according to|evidence|framework*|concept*|principle*|mechanism*|"
        "underlying|known as|term|literature|psycholog*|philosoph*|cultural*|society|social",
        "more background",
        "less background",
    ),
    _wording(
        "sequence",
        "first|second|third|firstly|secondly|next|then|finally|lastly|step*|begin|start|after that|"
        "once|before you|stage*|phase*",
        "a more step-by-step wording",
        "a less step-by-step wording",
    ),
    _wording(
        "instructions",
        "try|make sure|ensure|use|add|keep|take|write|choose|pick|set|check|consider|avoid|"
        "remember|put|list|plan|give|ask|tell|practice|practise|schedule|track|review",
        "more direct instructions",
        "fewer direct instructions",
    ),
    _wording(
        "warmth",
        "glad|happy|love*|lovely|wonderful|proud|care|caring|gentle|gently|kind|kindness|warm*|hug*|"
        "heart*|dear|friend*|welcome|thank*|sweet|comfort*|cozy|cosy|treasure*|cherish*|beautiful*|joy*|rooting",
        "warmer wording",
        "cooler wording",
    ),
    _wording(
        "empathy",
        "sorry|understand*|feel|feeling*|felt|tough|hard|difficult|struggl*|pain*|hurt*|grief|"
        "overwhelm*|anxious|nervous|scared|worried|worry|lonely|it's okay|that's okay|makes sense|not alone|"
        "completely normal|valid|forgive|patient|patience|be kind",
        "more empathetic wording",
        "less empathetic wording",
    ),
    _wording(
        "encouragement",
        "you can|you've got|you got this|great|good job|well done|amazing|awesome|fantastic|"
        "excellent|excit*|confident|confidence|courage|brave*|believe|hope*|inspir*|keep going|celebrate*|"
        "already|progress|worth|deserve*|strength*|bright*|possible",
        "more encouraging wording",
        "less encouraging wording",
    ),
    _wording(
        "humour",
        "joke*|joking*|funny|laugh*|hilarious|silly|silliness|ridiculous*|absurd*|pun|puns|witty|wit|haha|lol|"
        "prank*|comic|comedy|comedian*|humor*|humour*|sarcas*|banter|quip*|suspicious*|allegedly|apparently|"
        "frankly|congratulations|smug|dignity|mischie*|chaos|chaotic|nonsense|whims*|goofy|cheeky|tease*|"
        "snort*|giggl*|grin*|wink*|rumor has it|rumour has it|spoiler|plot twist|pro tip|trust me",
        "more playful wording",
        "less playful wording",
    ),
    _wording(
        "imagery",
        "like a|like an|as if|as though|as a|light|shadow*|glow*|gold*|silver|sky|sea|wind|river*|"
        "moon*|sun*|star|stars|storm*|whisper*|breath*|bloom*|dust*|velvet|ember*|flame*|lantern*|smoke|"
        "stone*|bird*|wing*|garden*|root*|tide*|wave*|rain*|fog|mist*|salt*|amber|hum*|sing*|song*|dance*|"
        "drift*|bones|thread*|window*|candle*|autumn|dusk|dawn|night",
        "more imagery",
        "less imagery",
    ),
    _wording(
        "narrative",
        "once|was|were|had|said|asked|looked|walked|came|went|told|thought|knew|turned|stood|"
        "whispered|smiled|he|she|his|her|him|they",
        "more storytelling",
        "less storytelling",
    ),
    _wording(
        "drama",
        "suddenly|secret*|danger*|dark*|death|blood|fear*|mystery|mysterious|fate|shock*|scream*|"
        "desperate*|trembl*|doom*|twist*",
        "more drama",
        "less drama",
    ),
    _wording(
        "politeness",
        "please|kindly|thank you|thanks|appreciate*|respect*|sincerely|regards|pleasure|apolog*|excuse me",
        "politer wording",
        "less polite wording",
    ),
    _wording(
        "safety",
        "important to note|please note|note that|safe*|careful*|consult*|professional*|doctor|expert*|"
        "legal|ethic*|responsib*|inappropriate|harm*|as an ai|disclaimer|warning",
        "more warnings",
        "fewer warnings",
    ),
    _wording(
        "precision",
        "specifically|precisely|in particular|approximately|percent|exact*|per|ratio|measure*|"
        "data|detail*|technical*|method*|analysis|analy*",
        "more precise detail",
        "less precise detail",
    ),
    _wording(
        "summary",
        "in summary|in conclusion|overall|to sum up|in short|to conclude|ultimately|the bottom line|"
        "bottom line|key takeaway*|in essence|all in all|short version",
        "a clearer summing up",
        "less summing up",
    ),
    _wording(
        "slang",
        "yeah|yep|nope|hey|wow|cool|kinda|gonna|wanna|gotta|stuff|guys|dude|super|pretty much|"
        "no big deal|awesome|yay|oh|well,|okay",
        "more casual expressions",
        "fewer casual expressions",
    ),
)

NAMES: tuple[str, ...] = tuple(feature.name for feature in STYLE_FEATURES)
_IS_WORDING = np.array([feature.wording for feature in STYLE_FEATURES])
_WORDS = NAMES.index("words")


def count_style(texts: Sequence[str]) -> NDArray[np.float32]:
    """Raw counts ``[len(texts), len(STYLE_FEATURES)]``."""
    counts = [[feature.count(text) for feature in STYLE_FEATURES] for text in texts]
    return np.array(counts, dtype=np.float32).reshape(len(texts), len(STYLE_FEATURES))


def transform_style(counts: NDArray[Any]) -> NDArray[np.float32]:
    """What the model reads of raw counts ``[..., S]``: log(1 + count), wording per 100 words."""
    values = np.asarray(counts, dtype=np.float32)
    words = np.maximum(values[..., _WORDS : _WORDS + 1], 1.0)
    rates = np.where(_IS_WORDING, values * 100.0 / words, values)
    transformed: NDArray[np.float32] = np.log1p(rates)
    return transformed
