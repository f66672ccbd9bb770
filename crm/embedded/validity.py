"""Validity check: which criteria the embedded CRM cannot judge, and which ones contradict each other.

A judge that reads style and content in English sees neither who wrote an answer nor whether it is true. The
scope classifier, a multinomial logistic regression on the criterion's sentence embedding, its hashed words
and a few counts of its letters, says which kind of wish a criterion is; it was trained on wishes of each
kind, written for this project. Two criteria contradict each other where their margins on ordinary pairs are
opposed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from py3langid.langid import MODEL_FILE, LanguageIdentifier
from scipy.special import softmax

from crm.criteria import CriteriaSet
from crm.embedded.encoder import sentence_encoder
from crm.embedded.idioms import plainly
from crm.embedded.surface import N_BUCKETS, word_hashes
from crm.protocol import CriterionWarning, Floats

JUDGEABLE, OTHER_LANGUAGE = "judgeable", "other_language_text"
REASONS: Mapping[str, str] = {
    "origin": "It asks who or what wrote the answer, or when: the text does not tell.",
    "language": "It asks for a language: this judge was trained on English answers.",
    "truth": "It asks whether the answer is true: this judge does not check facts.",
    "process": "It asks how an answer is made, its speed, price or privacy: the text does not tell.",
    "perception": "It asks for something to be seen or heard: this judge reads plain text.",
    "identity": "It asks what a certain person would say of the answer: this judge does not know them.",
    "world": "It asks about the world outside the answer: this judge reads the answer only.",
    "unrelated": "It does not say what an answer should be like.",
    "gibberish": "It is not made of words that this judge knows.",
    OTHER_LANGUAGE: "It is in a language or in words that this judge does not read well enough.",
    "competence": "It asks what an LLM can do: this judge reads how it answers and sets it no tasks.",
    "vague": "It asks for a good answer and does not say what makes one good.",
    "hidden": "It asks for a property that this judge does not count.",
}
"""The kinds of wishes that cannot be judged, each with one sentence why."""

_KNOWN = 0.7
"""A criterion that names a known concept so plainly can be judged…"""
_SURELY_OUT = 0.2
"""…unless it is judgeable with less than this probability."""
_FOREIGN, _KNOWN_IN_FOREIGN_WORDS = 0.15, 0.55
"""So probably in another language, or with a word of one, a criterion in one of ``READ`` can be judged where
it names a known concept so plainly, and only there."""
_PERHAPS_FOREIGN = 0.01
"""Below this probability no word is taken for one of another language: “sans” is English, too."""
READ = frozenset({"de", "es", "fr"})
"""Languages, besides English, that wishes of the training are in."""
_TOLD_APART = (*sorted(READ), *("en", "it", "pt", "nl", "sv", "da", "pl", "cs", "tr", "ru", "zh", "ja"))
_SURELY = 0.7
"""So probable must a language be: “sem listas” is not Spanish, and was read as a wish for lists."""
_WORDS_OF = {
    "de": r"ohne|keine?[rmns]?|mit|bitte|nicht|und|oder|immer|viele|wenige|möglichst|lieber",
    "fr": r"sans|avec|pas|des|les|une|svp|plutôt|toujours|beaucoup",
    "es": r"sin|nada|muy|los|las|siempre|muchos|muchas|pocos|pocas",
    "it": r"senza|molto|sempre|per favore",
    "pt": r"sem|não|muito|sempre|por favor não",
    "nl": r"geen|zonder|altijd|graag",
    "sv": r"inga|utan|alltid|tack",
}
"""Words by which short wishes are told, for which a classifier of languages is not made: it takes “ohne
Emojis” for Czech."""
_BY_WORDS = {
    language: re.compile(rf"\b(?:{words})\b", re.IGNORECASE) for language, words in _WORDS_OF.items()
}
_SPREAD = 384**0.5
_MANY = 64
"""Texts that only a training has."""
_CONSONANTS = re.compile(r"[bcdfghjklmnpqrstvwxz]{5,}", re.IGNORECASE)
_VOWELS = re.compile(r"[aeiouy]", re.IGNORECASE)


@dataclass(frozen=True)
class ScopeClassifier:
    """The fitted classifier.

    Attributes:
        kinds: Its K classes; one of them is ``JUDGEABLE``.
        weight: Of embedding and letters ``[F, K]``.
        words: Of hashed words and pieces of words ``[N_BUCKETS, K]``.
        bias: ``[K]``.
        threshold: A criterion less probably judgeable than this is out of scope.
    """

    kinds: tuple[str, ...]
    weight: NDArray[np.float32]
    words: NDArray[np.float32]
    bias: NDArray[np.float32]
    threshold: float

    def reasons(self, texts: Sequence[str], plainness: Floats | None = None) -> list[str | None]:
        """Return why each criterion cannot be judged, in one sentence; None where it can.

        Args:
            plainness: How plainly each of K criteria names a known concept ``[K]``; one that does is out of
                scope only if that is sure, and never for being in German, French or Spanish.
        """
        if not texts:
            return []
        prob = self.probabilities(texts)
        judgeable = self.kinds.index(JUDGEABLE)
        known = np.zeros(len(texts)) if plainness is None else plainness
        needed = np.where(known < _KNOWN, self.threshold, _SURELY_OUT)
        if OTHER_LANGUAGE in self.kinds:
            foreign = prob[:, self.kinds.index(OTHER_LANGUAGE)]
            for row in np.flatnonzero(foreign >= _PERHAPS_FOREIGN).tolist():
                if (language := _by_words(texts[row])) is None and foreign[row] < _FOREIGN:
                    continue
                language, is_known = (
                    language or _language_of(texts[row]),
                    known[row] >= _KNOWN_IN_FOREIGN_WORDS,
                )
                if language != "en" and (is_known or language is not None):
                    needed[row] = 0.0 if is_known and language in READ else 1.0
        out_of_scope = prob[:, judgeable] < needed
        prob[:, judgeable] = 0.0
        return [
            REASONS[self.kinds[int(kind)]] if beyond else None
            for kind, beyond in zip(prob.argmax(axis=1), out_of_scope, strict=True)
        ]

    def probabilities(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return the probability of each kind, for N criteria ``[N, K]``."""
        logits = wish_features(texts) @ self.weight + self.bias
        for row, buckets in enumerate(map(word_hashes, texts)):
            if buckets:
                logits[row] += self.words[buckets].sum(axis=0) * np.float32(len(buckets) ** -0.5)
        prob: NDArray[np.float64] = softmax(logits, axis=1)
        return prob

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what a weights file stores."""
        return {
            "judgeability_kinds": np.array(self.kinds),
            "judgeability_weight": self.weight.astype(np.float16),
            "judgeability_words": self.words.astype(np.float16),
            "judgeability_bias": self.bias,
            "judgeability_threshold": np.array(self.threshold),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> ScopeClassifier | None:
        """Return the classifier of a weights file; None in one that was written without.

        One of before words were heard goes by the embedding alone.
        """
        if "judgeability_weight" not in arrays:
            return None
        weight = arrays["judgeability_weight"].astype(np.float32)
        words = arrays.get("judgeability_words", np.zeros((N_BUCKETS, weight.shape[1]), np.float16))
        return cls(
            tuple(arrays["judgeability_kinds"].tolist()),
            weight,
            words.astype(np.float32),
            arrays["judgeability_bias"],
            float(arrays["judgeability_threshold"]),
        )


def _by_words(text: str) -> str | None:
    """Return the only language of which a text has one of the words; None where there is none, or several."""
    named = [language for language, words in _BY_WORDS.items() if words.search(text)]
    return named[0] if len(named) == 1 else None


def _language_of(text: str) -> str | None:
    """Return the language of a text; None where that is not sure."""
    language, prob = _language_identifier().classify(text)
    return str(language) if float(prob) >= _SURELY else None


@cache
def _language_identifier() -> LanguageIdentifier:
    """Return langid's classifier (Lui & Baldwin 2012)."""
    identifier = LanguageIdentifier.from_pickled_model(MODEL_FILE, norm_probs=True)
    identifier.set_languages(list(_TOLD_APART))
    return identifier


def wish_features(texts: Sequence[str]) -> NDArray[np.float32]:
    """Return embedding and letter counts of N criteria ``[N, 390]``."""
    encoder = sentence_encoder()
    many = len(texts) > _MANY
    embedding = (encoder.encode(texts, bulk=True).embedding if many else encoder.embed(texts)) * _SPREAD
    counts = np.array([_letters(text) for text in texts], dtype=np.float32)
    return np.concatenate([embedding, counts], axis=1).astype(np.float32)


def _letters(text: str) -> tuple[float, ...]:
    characters = max(1, len(text))
    words = text.split()
    letters = sum(character.isalpha() for character in text)
    return (
        2.0 * sum(ord(character) > 127 and character.isalpha() for character in text) / characters,  # noqa: PLR2004
        2.0 * sum(character.isdigit() for character in text) / characters,
        2.0 * (characters - letters - text.count(" ")) / characters,
        3.0 * float(bool(_CONSONANTS.search(text))),
        3.0 * max(0.0, 0.25 - len(_VOWELS.findall(text)) / max(1, letters)),
        min(3.0, max(map(len, words), default=0) / 8.0),
    )


_AT_ODDS = -0.75
"""Two criteria contradict each other when their margins on ordinary pairs correlate below this."""


@dataclass(frozen=True)
class ValidityCheck:
    """What warnings about criteria are made of.

    Attributes:
        scope: Tells criteria that can be judged from those that cannot.
        differences: φ(A) − φ(B) of ordinary pairs of responses ``[P, D]``.
        counts: Exact counts of A and of B ``[2, P, C]``.
    """

    scope: ScopeClassifier
    differences: Floats
    counts: Floats

    def warnings(
        self, criteria: CriteriaSet, margins: Floats, plainness: Floats
    ) -> tuple[CriterionWarning, ...]:
        """Return warnings about single criteria in their order, then those about the whole list.

        Args:
            criteria: K criteria.
            margins: Their margins on the ordinary pairs, polarity included ``[P, K]``.
            plainness: How plainly each of them names a known concept ``[K]``.
        """
        reasons = self.scope.reasons([plainly(criterion.text) for criterion in criteria], plainness)
        single = [
            CriterionWarning(criterion, reason)
            for criterion, reason in zip(criteria, reasons, strict=True)
            if reason is not None
        ]
        return (*single, *self._contradictions(criteria, margins))

    def _contradictions(self, criteria: CriteriaSet, margins: Floats) -> list[CriterionWarning]:
        """Return a warning of the two criteria most at odds, if any are."""
        if len(criteria) < 2:  # noqa: PLR2004
            return []
        correlation = np.asarray(np.nan_to_num(np.corrcoef(margins, rowvar=False)))
        first, second = np.unravel_index(np.argmin(correlation), correlation.shape)
        if correlation[first, second] > _AT_ODDS:
            return []
        one, other = criteria.criteria[int(first)], criteria.criteria[int(second)]
        message = (
            f"“{one}” and “{other}” pull in opposite directions: "
            "where one answer meets the first, the other meets the second."
        )
        return [CriterionWarning(None, message)]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what a weights file stores."""
        return {
            **self.scope.arrays(),
            "ordinary_differences": self.differences.astype(np.float16),
            "ordinary_counts": self.counts.astype(np.float16),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> ValidityCheck | None:
        """Return the validity of a weights file; None in one that was written without."""
        scope = ScopeClassifier.from_arrays(arrays)
        if scope is None:
            return None
        differences, counts = (
            arrays[f"ordinary_{what}"].astype(np.float32) for what in ("differences", "counts")
        )
        return cls(scope, differences, counts)
