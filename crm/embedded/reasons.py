"""From contributions of features to words: “shorter by 96 words”, “7 numbered steps against none”.

A property is quoted as the model reads it: structure by its count, wording by its number per 100 words.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from numpy.typing import NDArray

from crm.embedded.representation import RELEVANCE, Representation
from crm.embedded.style import StyleFeature, StyleSheet
from crm.protocol import Floats, Reason

UNNAMED = (
    "content closer to this wish",
    "content further from this wish",
    "wording closer to this wish",
    "wording further from this wish",
    "a passage that comes closer to this wish",
    "no passage that comes as close to this wish",
)
"""Reasons that say on which side something is without a name for what it is."""
MOST_REASONS = 6
_NEGLIGIBLE = 0.02
"""Share of the total movement below which a contribution is not worth a word."""


def reasons(
    difference: Floats,
    direction: Floats,
    style_a: NDArray[Any],
    style_b: NDArray[Any],
    features: Representation,
    *,
    most: int = MOST_REASONS,
) -> list[Reason]:
    """Return the weightiest reasons, as said of response A.

    Args:
        difference: φ(A) − φ(B) ``[D]``.
        direction: The criterion's direction in feature space ``[D]``.
        style_a: Raw style counts of A ``[S]``.
        style_b: Raw style counts of B ``[S]``.
    """
    contributions = difference * direction
    found = [
        *_content(contributions[features.content]),
        *_wording(contributions, difference[features.wording], features),
        *_style(contributions[features.style], difference[features.style], style_a, style_b, features.sheet),
        *_relevance(contributions[features.relevance], difference[features.relevance]),
    ]
    total = sum(abs(reason.contribution) for reason in found)
    found = [reason for reason in found if abs(reason.contribution) > _NEGLIGIBLE * total]
    return sorted(found, key=lambda reason: -abs(reason.contribution))[:most]


def _content(contributions: Floats) -> Iterator[Reason]:
    total = float(contributions.sum())
    yield Reason(UNNAMED[total <= 0], total)


def _wording(contributions: Floats, difference: Floats, features: Representation) -> Iterator[Reason]:
    of_wording, first_tone = contributions[features.wording], len(difference) - len(features.tones)
    for index, tone in enumerate(features.tones, start=first_tone):
        yield Reason(tone.more if difference[index] > 0 else tone.less, float(of_wording[index]))
    rest = float(of_wording[:first_tone].sum() + contributions[features.manner].sum())
    yield Reason(UNNAMED[2 + (rest <= 0)], rest)


def _style(
    contributions: Floats, difference: Floats, style_a: NDArray[Any], style_b: NDArray[Any], sheet: StyleSheet
) -> Iterator[Reason]:
    for index, feature in enumerate(sheet.features):
        if difference[index] != 0:
            amounts = [_amount(feature, style, index, sheet.words) for style in (style_a, style_b)]
            phrase = _style_phrase(feature, *amounts, more=bool(difference[index] > 0))
            yield Reason(phrase, float(contributions[index]))


def _relevance(contributions: Floats, difference: Floats) -> Iterator[Reason]:
    for feature, contribution, more in zip(RELEVANCE, contributions, difference, strict=False):
        yield Reason(feature.more if more > 0 else feature.less, float(contribution))


def _amount(feature: StyleFeature, style: NDArray[Any], index: int, words: int) -> float:
    """Return what is quoted of one response: a whole number, or one per 100 words to a tenth."""
    if not feature.per_100_words:
        return float(style[index])
    return round(100 * float(style[index]) / max(1.0, float(style[words])), 1)


def _style_phrase(feature: StyleFeature, amount_a: float, amount_b: float, *, more: bool) -> str:
    if feature.name == "words":
        return f"{feature.more if more else feature.less} by {abs(amount_a - amount_b):.0f} words"
    # Stored values are rounded: numbers that are equal, or say the contrary, would puzzle.
    if feature.unit and (amount_a > amount_b if more else amount_a < amount_b):
        return _quoted(feature, amount_a, amount_b)
    return feature.more if more else feature.less


def _quoted(feature: StyleFeature, amount_a: float, amount_b: float) -> str:
    per = " per 100 words" if feature.per_100_words else ""
    if amount_a == 0:
        return f"no {feature.unit} against {amount_b:g}{per}"
    unit = feature.unit.removesuffix("s") if amount_a == 1 else feature.unit
    return f"{amount_a:g} {unit}{per} against {f'{amount_b:g}' if amount_b else 'none'}"
