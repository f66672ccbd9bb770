"""From contributions of features to words: “shorter by 96 words”, “7 numbered steps against none”."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from numpy.typing import NDArray

from crm.protocol import Floats, Reason
from crm.representation import Representation
from crm.style import STYLE_FEATURES, StyleFeature

_NEGLIGIBLE = 0.02
"""Share of the total movement below which a contribution is not worth a word."""


def reasons(
    difference: Floats,
    direction: Floats,
    style_a: NDArray[Any],
    style_b: NDArray[Any],
    features: Representation,
    *,
    most: int = 6,
) -> list[Reason]:
    """The weightiest reasons, as said of response A.

    Args:
        difference: φ(A) − φ(B) ``[D]``.
        direction: The criterion's direction in feature space ``[D]``.
        style_a: Raw style counts of A ``[S]``.
        style_b: Raw style counts of B ``[S]``.
        features: The representation that φ was made with.
        most: How many reasons at most.
    """
    contributions = difference * direction
    found = [
        *_content(contributions[features.content]),
        *_wording(contributions[features.wording], difference[features.wording], features),
        *_style(contributions[features.style], difference[features.style], style_a, style_b),
    ]
    total = sum(abs(reason.contribution) for reason in found)
    found = [reason for reason in found if abs(reason.contribution) > _NEGLIGIBLE * total]
    return sorted(found, key=lambda reason: -abs(reason.contribution))[:most]


def _content(contributions: Floats) -> Iterator[Reason]:
    total = float(contributions.sum())
    yield Reason("content closer to this wish" if total > 0 else "content further from this wish", total)


def _wording(contributions: Floats, difference: Floats, features: Representation) -> Iterator[Reason]:
    first_tone = len(contributions) - len(features.tones)
    for index, tone in enumerate(features.tones, start=first_tone):
        yield Reason(tone.more if difference[index] > 0 else tone.less, float(contributions[index]))
    rest = float(contributions[:first_tone].sum())
    yield Reason("wording closer to this wish" if rest > 0 else "wording further from this wish", rest)


def _style(
    contributions: Floats, difference: Floats, style_a: NDArray[Any], style_b: NDArray[Any]
) -> Iterator[Reason]:
    for index, feature in enumerate(STYLE_FEATURES):
        if difference[index] != 0:
            phrase = _style_phrase(
                feature, float(style_a[index]), float(style_b[index]), more=bool(difference[index] > 0)
            )
            yield Reason(phrase, float(contributions[index]))


def _style_phrase(feature: StyleFeature, count_a: float, count_b: float, *, more: bool) -> str:
    if feature.name == "words":
        return f"{feature.more if more else feature.less} by {abs(count_a - count_b):.0f} words"
    if feature.unit and count_a != count_b:
        return f"{_amount(count_a, feature)} against {count_b:.0f}".replace("against 0", "against none")
    return feature.more if more else feature.less


def _amount(count: float, feature: StyleFeature) -> str:
    if count == 0:
        return f"no {feature.unit}"
    unit = feature.unit.removesuffix("s") if count == 1 else feature.unit
    return f"{count:.0f} {unit}"
