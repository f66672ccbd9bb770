"""Which language a query is in, by its letters and its commonest words; made for groups of queries.

A name such as “Questions in Chinese” needs most of a group to be in one language, so a query whose language
is not plain has none here rather than a wrong one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

ENGLISH = "English"
OTHER_LANGUAGES = "other languages"
_MOST = 0.5
"""Share of a text's letters that are of one script, or of a group's queries that are in one language."""
_ENOUGH_WORDS = 2
"""Common words of a language that a text in Latin letters needs: one alone is often a name or a quotation."""
_KANA = re.compile("[\u3040-\u30ff]")
_SCRIPTS: Mapping[str, re.Pattern[str]] = {
    language: re.compile(f"[{letters}]")
    for language, letters in {
        "Chinese": "\u3400-\u9fff\u3040-\u30ff",  # Japanese where some of them are kana
        "Korean": "\uac00-\ud7af\u1100-\u11ff",
        "Russian": "\u0400-\u04ff",  # Ukrainian where its own letters are among them
        "Greek": "\u0370-\u03ff",
        "Arabic": "\u0600-\u06ff",  # Persian where its own letters are among them
        "Hebrew": "\u0590-\u05ff",
        "Hindi": "\u0900-\u097f",
        "Bengali": "\u0980-\u09ff",
        "Tamil": "\u0b80-\u0bff",
        "Thai": "\u0e00-\u0e7f",
        "Georgian": "\u10a0-\u10ff",
        "Armenian": "\u0530-\u058f",
    }.items()
}
_OWN_LETTERS: Mapping[str, tuple[str, re.Pattern[str]]] = {
    "Chinese": ("Japanese", _KANA),
    "Russian": ("Ukrainian", re.compile("[іїєґ]")),
    "Arabic": ("Persian", re.compile("[پچژگی]")),
}
_COMMON_WORDS: Mapping[str, frozenset[str]] = {
    language: frozenset(words.split())
    for language, words in {
        ENGLISH: (
            "the of and to in is it you that he was for on are with as his they be this have from or had "
            "by not what all were we when your can said there an each which she do how their if will "
            "about out then them these so some her would make like him into has my me i a write please "
            "give does why should could"
        ),
        "German": (
            "der die das und ist nicht ein eine zu mit sich auf für dem den von ich wir wie kann bitte "
            "mir einen auch oder im wenn sind über schreibe warum"
        ),
        "French": (
            "le la les des et est une un dans que qui pour pas vous nous avec sur du au ce comment je il "
            "elle en pourquoi sont cette écris moi"
        ),
        "Spanish": (
            "el la los las una un por con para es del se lo como más que en de y qué cómo cuál mi me "
            "sobre escribe puedes entre hay son"
        ),
        "Portuguese": (
            "o os as um uma que de do da em para com não por como é mais dos das na no se você meu "
            "escreva são sobre qual"
        ),
        "Italian": (
            "il di che per non sono della è un una le gli con del come si nel alla scrivi più questo "
            "anche mi cosa"
        ),
        "Dutch": "de het een en van ik te dat niet op met voor zijn wat hoe kan ook maar schrijf deze naar",
        "Polish": "i w na nie się z do że jest jak to co dla po czy napisz od jako przez",
        "Czech": "a je se na že to v jak co do pro s jsem jako by nebo napiš",
        "Swedish": "och att det i en som är på för med av jag inte om ett hur kan skriv",
        "Turkish": "ve bir bu için ne ile de da mi nasıl çok daha olan bana gibi yaz",
        "Indonesian": "yang dan di untuk dengan ini itu apa dari ke tidak adalah saya bagaimana buatkan",
        "Vietnamese": "của và là một cho không với các được trong tôi có những này viết bạn hãy người khi",
        "Hungarian": "a az és hogy nem egy is ez van mi meg mint írj hogyan kell",
        "Romanian": "și în de la un o cu pe nu este care să ce cum pentru din scrie",
        "Finnish": "ja on ei se että mitä miten kun olen tai kuin ovat minun kirjoita",
    }.items()
}
_WORD = re.compile(r"[^\W\d_]{2,}")
"""A single letter is more often a variable than a word."""


def language_of(text: str) -> str | None:
    """Return the English name of the language that most of a text is in, None where that is not plain."""
    letters = sum(character.isalpha() for character in text)
    if not letters:
        return None
    for language, pattern in _SCRIPTS.items():
        if len(pattern.findall(text)) > _MOST * letters:
            other, own = _OWN_LETTERS.get(language, (language, None))
            return other if own is not None and own.search(text.casefold()) else language
    return _by_common_words(text)


def _by_common_words(text: str) -> str | None:
    words = Counter(_WORD.findall(text.casefold()))
    found = {
        language: sum(words[word] for word in common & words.keys())
        for language, common in _COMMON_WORDS.items()
    }
    first, second = sorted(found, key=lambda language: -found[language])[:2]
    plain = found[first] >= _ENOUGH_WORDS and found[first] > found[second]
    return first if plain else None


def group_language(texts: Sequence[str]) -> str | None:
    """Return what most texts of a group are in if that is not English: one language, or “other languages”.

    None where it is English, or no language is plain.
    """
    counted = Counter(language_of(text) for text in texts)
    others = {language: count for language, count in counted.items() if language not in (None, ENGLISH)}
    half = _MOST * len(texts)
    language = next((language for language, count in others.items() if count > half), None)
    if language is not None:
        return language
    return OTHER_LANGUAGES if sum(others.values()) > half else None
