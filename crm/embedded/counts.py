"""Counts: what can be counted exactly in a response, structure as a Markdown parser sees it.

``counts.toml`` lists them in their stored order. Headings, lists, tables, code, bold and italics are what
CommonMark (with tables) makes of the text; emojis are those of the Unicode standard; words, sentences and the
rest are defined here and there. Code blocks are left out where prose is measured.

A reading grade is Flesch and Kincaid's (1975), with syllables as groups of vowels.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

import emoji
import numpy as np
from markdown_it import MarkdownIt
from markdown_it.token import Token
from numpy.typing import NDArray

from crm.embedded.style import (
    WAYS_OF_COUNTING,
    Count,
    expression_pattern,
    rhyming_lines,
    short_lines,
    words,
)
from parsing.documents import read_toml

COUNTS_FILE = Path(__file__).with_name("counts.toml")
_MARKDOWN = MarkdownIt("commonmark").enable("table")
_SHORTEST, _HUNDRED = np.float32(25.0), np.float32(100.0)
_MOST_CHARACTERS = 60_000
"""Of a longer text only so much is parsed: a parser's work must stay bounded."""


@dataclass(frozen=True)
class Countable:
    """One property of a response that is counted exactly.

    Attributes:
        name: Identifier, by which wishes and stored columns name it.
        count: Its value, from the response's text.
        unit: What is counted, as a plural noun that follows a number.
        is_measure: Whether it is a measure of the whole answer, such as its words a sentence.
        per_root: Whether people feel it as something between an amount and a density: it is then held
            against the square root of the length.
        is_soft: Whether it can also be there in words that are not counted.
        pattern: What stands in a text wherever it is counted once; None where it is not counted by a pattern.
    """

    name: str
    count: Count
    unit: str
    is_measure: bool = False
    per_root: bool = False
    is_soft: bool = False
    pattern: re.Pattern[str] | None = None

    @property
    def unit_of_mean(self) -> str:
        """What follows a mean over answers: “emojis an answer”, “words a sentence”."""
        return self.unit if self.is_measure else f"{self.unit} an answer"

    @property
    def takes_limits(self) -> bool:
        """Whether people name amounts of it: sentences, or words a sentence, but no reading grade."""
        return not self.is_measure or self.unit.startswith("words")

    def unit_of(self, amount: float) -> str:
        """What follows an amount in one answer: “1 emoji”, “2 emojis”."""
        return self.unit.removesuffix("s") if amount == 1 else self.unit


@cache
def countables() -> tuple[Countable, ...]:
    """Return what is counted, in the stored order."""
    return tuple(map(_countable, read_toml(COUNTS_FILE.read_bytes())["count"]))


def _countable(table: Mapping[str, str]) -> Countable:
    if "function" in table:
        count = _FUNCTIONS[table["function"]]
    else:
        [(way, value)] = [(key, table[key]) for key in table.keys() & WAYS_OF_COUNTING.keys()]
        count = WAYS_OF_COUNTING[way](value)
    return Countable(
        table["name"],
        count,
        table["unit"],
        is_measure=table.get("amount") == "measure",
        per_root=table.get("per") == "root",
        is_soft=table.get("kind") == "soft",
        pattern=_pattern(table),
    )


def _pattern(table: Mapping[str, str]) -> re.Pattern[str] | None:
    if "pattern" in table:
        return re.compile(table["pattern"], re.IGNORECASE)
    if "exact_pattern" in table:
        return re.compile(table["exact_pattern"])
    if "words" in table:
        return re.compile(expression_pattern(table["words"]), re.IGNORECASE)
    return _PATTERNS.get(table["name"])


@cache
def count_names() -> tuple[str, ...]:
    """Return the identifiers of what is counted, in the stored order."""
    return tuple(countable.name for countable in countables())


@cache
def limited_columns() -> tuple[int, ...]:
    """Return the places of what people name amounts of."""
    return tuple(place for place, countable in enumerate(countables()) if countable.takes_limits)


def exact_counts(texts: Sequence[str]) -> NDArray[np.float32]:
    """Return what is counted in N texts ``[N, len(countables())]``."""
    of = {text: [countable.count(text) for countable in countables()] for text in dict.fromkeys(texts)}
    return np.array([of[text] for text in texts], dtype=np.float32).reshape(len(texts), len(countables()))


def amounts(counts: NDArray[np.floating]) -> NDArray[np.float32]:
    """Return counts ``[..., C]`` as people feel them: some held against the root of the length."""
    values = np.asarray(counts, dtype=np.float32).copy()
    rooted = np.array([countable.per_root for countable in countables()])
    values[..., rooted] /= root_of_length(counts)[..., None]
    return values


def root_of_length(counts: NDArray[np.floating]) -> NDArray[np.float32]:
    """Return the square root of the length in 100 words of counts ``[..., C]``, as ``[...]``."""
    words = np.asarray(counts[..., 0], dtype=np.float32)
    root: NDArray[np.float32] = np.sqrt(np.maximum(words, _SHORTEST) / _HUNDRED)
    return root


@lru_cache(maxsize=1)
def _tokens(text: str) -> tuple[Token, ...]:
    parsed = _MARKDOWN.parse(text[:_MOST_CHARACTERS])
    return tuple(inner for token in parsed for inner in (token, *(token.children or ())))


def _structure(*types: str) -> Count:
    return lambda text: float(sum(token.type in types for token in _tokens(text)))


def _items(*kinds: str) -> Count:
    def count(text: str) -> float:
        found = 0
        lists: list[str] = []
        for token in _tokens(text):
            if token.type.endswith("_list_open"):
                lists.append(token.type.removesuffix("_list_open"))
            elif token.type.endswith("_list_close"):
                lists.pop()
            elif token.type == "list_item_open":
                found += lists[-1] in kinds
        return float(found)

    return count


_ODD_BULLET = re.compile(r"^[ \t]*[•‣◦▪●–][ \t]+\S", re.MULTILINE)
_WORD = re.compile(r"[^\W_]+(?:['’.-][^\W_]+)*")
_ENDS = re.compile(r"(?<=[^\W_])[^\w\n.!?…]*[.!?…]+(?=[\s\"'”’)*_\]]|$)|(?<=\w)[^\w\n]*\n|(?<=\w)[^\w\n]*\Z")
_FENCED = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_ABBREVIATED = re.compile(r"\b(e\.\s?g|i\.\s?e|etc|vs|Dr|Mr|Mrs|Ms|Prof|St|No|approx|Fig)\.", re.IGNORECASE)
_NUMBERING = re.compile(r"^[ \t]*\d{1,3}[.)](?=\s)", re.MULTILINE)


@lru_cache(maxsize=1)
def _prose(text: str) -> str:
    """Return the text without code blocks, the numbers of list items and the dots of abbreviations."""
    plain = _NUMBERING.sub("", _FENCED.sub("\n", text))
    return _ABBREVIATED.sub(lambda found: found.group(1).replace(".", ""), plain)


@lru_cache(maxsize=1)
def _prose_words(text: str) -> tuple[str, ...]:
    return tuple(_WORD.findall(_prose(text)))


def _words(text: str) -> float:
    return float(len(_WORD.findall(text)))


@lru_cache(maxsize=1)
def _sentences(text: str) -> float:
    return float(len(_ENDS.findall(_prose(text))))


def _sentence_length(text: str) -> float:
    return len(_prose_words(text)) / max(1.0, _sentences(text))


def _word_length(text: str) -> float:
    found = _prose_words(text)
    return sum(map(len, found)) / len(found) if found else 0.0


_VOWELS = re.compile(r"[aeiouyäöüéèàâêîôû]+")


@lru_cache(maxsize=65536)
def _syllables(word: str) -> int:
    """Groups of vowels, a silent final e left aside."""
    lowered = word.casefold()
    if lowered.endswith("e") and not lowered.endswith(("le", "ee")):
        lowered = lowered[:-1]
    return max(1, len(_VOWELS.findall(lowered)))


def _readability(text: str) -> float:
    found = _prose_words(text)
    if not found:
        return 0.0
    syllables = sum(map(_syllables, found)) / len(found)
    return max(0.0, 0.39 * _sentence_length(text) + 11.8 * syllables - 15.59)


@cache
def _common() -> frozenset[str]:
    """Return the words that the sentence encoder's vocabulary holds whole: its 30,000 most frequent."""
    from crm.embedded.encoder import vocabulary  # noqa: PLC0415

    return vocabulary()


_INFLECTED = re.compile(r"(?:'s|’s|s|es|ed|d|ing|ly|er|est)$")


def _rare_words(text: str) -> float:
    """Share of words in lower case that are not common, inflected ones forgiven, in 100."""
    found = [word for word in _prose_words(text) if word.isalpha() and word.islower()]
    if not found:
        return 0.0
    common = _common()
    rare = sum(word not in common and _INFLECTED.sub("", word) not in common for word in found)
    return 100.0 * rare / len(found)


def _paragraph_texts(text: str) -> list[str]:
    return [part for part in re.split(r"\n\s*\n", text) if part.strip()]


def _paragraph_length(text: str) -> float:
    """Words of the paragraphs of prose, on average over the words: how long the paragraph one reads is."""
    lengths = [len(_WORD.findall(part)) for part in _paragraph_texts(_FENCED.sub("\n", text))]
    total = sum(lengths)
    return sum(length * length for length in lengths) / total if total else 0.0


def _bullets(text: str) -> float:
    return _items("bullet")(text) + len(_ODD_BULLET.findall(text))


def _numbered(text: str) -> float:
    return _items("ordered")(text)


def _code_blocks(text: str) -> float:
    return _structure("fence")(text)


_PLAIN = re.compile(r"[\x00-\x7f’‘“”–—…•é]*")


def _emojis(text: str) -> float:
    if _PLAIN.fullmatch(text):
        return 0.0
    return float(emoji.emoji_count(text))


def _exclamations(text: str) -> float:
    return float(re.sub(r"!\[|!=|!+(?=\w)", "", _FENCED.sub("\n", text)).count("!"))


_QUESTION = re.compile(r"\?+")


def _questions(text: str) -> float:
    return float(len(_QUESTION.findall(_FENCED.sub("\n", re.sub(r"https?://\S+", "", text)))))


_CLOSING_MARKS = " \t\n*_\"'”’)]}>`~"


def _asks_back(text: str) -> float:
    """1 where the text ends with a question, emojis and closing marks left aside."""
    end = text[-200:].rstrip(_CLOSING_MARKS)
    if not _PLAIN.fullmatch(end):
        end = emoji.replace_emoji(end, "").rstrip(_CLOSING_MARKS + "\ufe0f")
    return float(end.endswith("?"))


_NUMBER = re.compile(r"(?<![\w.,])[$€£]?\d[\d,.]*(?:st|nd|rd|th|%|[a-z]{0,3}\b)?")


def _numbers(text: str) -> float:
    return float(len(_NUMBER.findall(_prose(text))))


_REFUSAL = re.compile(
    r"\b(?:i(?:['’]m| am)(?: truly| very| really| so)? (?:sorry|afraid)\b[^.!?]{0,60}"
    r"\b(?:can(?:['’]t|not)|unable|not able|won['’]t|don['’]t|do not)"
    r"|i(?:['’]m| am)(?: \w+)? (?:unable|not able|not programmed|not comfortable|not going)\b"
    r"|i (?:can(?:['’]t|not| not)|won['’]t|will not|must decline|(?:have to|must) (?:refuse|decline)"
    r"|decline|refuse)\b"
    r"(?! (?:stress|emphasi|help but|wait|imagine|believe|say for|guarantee|think of|remember|tell you how))"
    r"|(?:is|are|would be) (?:against|contrary to) (?:my|our) (?:guidelines|policy|policies|programming)"
    r"|it(?:['’]s| is) not (?:appropriate|possible for me|within my)"
    r"|i do(?:n['’]t| not) (?:feel comfortable|have the ability))",
    re.IGNORECASE,
)


_OPENING = 300
_LONGEST_REFUSAL = 200
"""Words. A longer answer that begins so gives something else: another story, or a guide with a caution."""


def declines(text: str) -> bool:
    """Return whether a whole answer is a refusal by its wording: short, and it declines as it begins."""
    return _refusals(text[:_OPENING]) > 0 and len(words(text)) <= _LONGEST_REFUSAL


def _refusals(text: str) -> float:
    """Sentences that decline, outside quotation and code."""
    spoken = re.sub(r"“[^”\n]*”|\"[^\"\n]*\"|^\s*>.*$", " ", _FENCED.sub("\n", text), flags=re.MULTILINE)
    return float(len(_REFUSAL.findall(spoken)))


_SUMMING = re.compile(
    r"\b(?:in (?:summary|conclusion|short|essence|a nutshell)|to (?:sum up|summari[sz]e|conclude)|"
    r"overall,|ultimately,|all in all|the bottom line|bottom line|(?:key )?takeaways?|tl;?dr|summary|"
    r"conclusion|in the end,|remember,|so,)",
    re.IGNORECASE,
)


def _summaries(text: str) -> float:
    """1 where the last part of a text of several parts sums up."""
    parts = _paragraph_texts(text)
    if len(parts) < 2:  # noqa: PLR2004
        return float(
            re.match(r"[\s\S]*\b(?:in (?:summary|conclusion|short)|overall,)", text, re.IGNORECASE)
            is not None
        )
    last = "\n".join(parts[-2:]) if len(parts) > 2 else parts[-1]  # noqa: PLR2004
    return float(_SUMMING.search(last) is not None)


_PHRASE = 4


def _repetition(text: str) -> float:
    """Phrases of four words that were there before."""
    found = [word.casefold() for word in _prose_words(text)]
    phrases = Counter(zip(*(found[start:] for start in range(_PHRASE)), strict=False))
    return float(sum(times - 1 for times in phrases.values()))


_IMPERATIVE = re.compile(
    r"(?:^|[.!?:*]\s+|\n\s*(?:[-*•]|\d+[.)])\s*(?:\*\*)?)"
    r"(?:please |then |now |first,? |next,? |finally,? |always |never |do(?:n['’]t| not) )*"
    r"(?:add|adjust|allow|apply|arrange|ask|avoid|bake|be|begin|break|bring|build|call|change|check|"
    r"choose|click|combine|connect|consider|cook|create|cut|define|describe|determine|develop|discuss|"
    r"download|enjoy|ensure|explain|explore|find|focus|follow|get|give|go|heat|help|hold|identify|"
    r"imagine|include|increase|install|invest|join|keep|leave|let|limit|list|listen|look|maintain|make|"
    r"measure|mix|monitor|offer|open|organi[sz]e|pick|place|plan|play|pour|practi[cs]e|prepare|press|"
    r"provide|pull|put|read|reduce|remember|remove|repeat|replace|research|review|run|save|say|"
    r"schedule|seek|select|send|serve|set|share|show|sit|slice|speak|spend|spread|sprinkle|stand|start|"
    r"stay|stir|stop|store|take|talk|tell|test|think|track|transfer|try|turn|understand|use|visit|wait|"
    r"walk|wash|watch|wear|work|write)\b(?! (?:is|are|was|of)\b)",
    re.IGNORECASE,
)


def _imperatives(text: str) -> float:
    return float(len(_IMPERATIVE.findall(text)))


_ENGLISH = frozenset(
    [
        "the", "of", "and", "to", "a", "in", "is", "it", "you", "that", "he", "was", "for", "on", "are",
        "with", "as", "i", "his", "they", "be", "at", "one", "have", "this", "from", "or", "had", "by",
        "but", "not", "what", "all", "were", "we", "when", "your", "can", "said", "there", "an", "each",
        "which", "she", "do", "how", "their", "if", "will", "up", "about", "out", "many", "then", "them",
        "these", "so", "some", "her", "would", "make", "like", "him", "into", "has", "look", "more", "go",
        "see", "no", "way", "could", "my", "than", "first", "been", "who", "its", "now",
    ]
)  # fmt: skip
_FOREIGN_WORD = frozenset(
    [
        "der", "die", "das", "und", "ist", "nicht", "ein", "eine", "zu", "mit", "sich", "auf", "für", "dem",
        "den", "von", "sie", "ich", "wir", "le", "la", "les", "des", "et", "est", "une", "un", "dans", "que",
        "qui", "pour", "pas", "vous", "nous", "avec", "sur", "el", "los", "las", "una", "por", "con", "para",
        "es", "del", "se", "lo", "como", "más", "il", "di", "che", "per", "non", "sono", "della", "é", "da",
        "em", "um", "uma", "não", "os",
    ]
)  # fmt: skip
_ENOUGH = 8
_LAST_LATIN = 0x24F
"""Code point of the last letter of Latin Extended-B; those beyond are of other scripts."""


def _foreign(text: str) -> float:
    """How much of the text is in another language than English, in 100: by letters and by common words."""
    found = [word.casefold() for word in _prose_words(text)]
    letters = [character for character in _prose(text) if character.isalpha()]
    if not letters:
        return 0.0
    other = 100.0 * sum(ord(character) > _LAST_LATIN for character in letters) / len(letters)
    english = sum(word in _ENGLISH for word in found)
    foreign = sum(word in _FOREIGN_WORD and word not in _ENGLISH for word in found)
    if english + foreign < _ENOUGH:
        return other
    return max(other, 100.0 * foreign / (english + foreign))


_FUNCTIONS: Mapping[str, Callable[[str], float]] = {
    "words": _words,
    "sentences": _sentences,
    "sentence_length": _sentence_length,
    "word_length": _word_length,
    "rare_words": _rare_words,
    "readability": _readability,
    "paragraphs": lambda text: float(len(_paragraph_texts(text))),
    "paragraph_length": _paragraph_length,
    "bullets": _bullets,
    "numbered": _numbered,
    "list_items": lambda text: _bullets(text) + _numbered(text),
    "headings": _structure("heading_open"),
    "bold": _structure("strong_open"),
    "italics": _structure("em_open"),
    "tables": _structure("table_open"),
    "code_blocks": _code_blocks,
    "inline_code": _structure("code_inline"),
    "emojis": _emojis,
    "exclamations": _exclamations,
    "questions": _questions,
    "asks_back": _asks_back,
    "block_quotes": _structure("blockquote_open"),
    "numbers": _numbers,
    "refusals": _refusals,
    "summaries": _summaries,
    "rhymes": rhyming_lines,
    "short_lines": short_lines,
    "repetition": _repetition,
    "imperatives": _imperatives,
    "foreign": _foreign,
}
_PATTERNS: Mapping[str, re.Pattern[str]] = {
    "exclamations": re.compile(r"!(?![\[=!\w])"),
    "questions": _QUESTION,
    "numbers": _NUMBER,
    "refusals": _REFUSAL,
}
"""What stands in a text wherever these functions count one."""
