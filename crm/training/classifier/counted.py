"""Examples whose labels are free: which of two responses has more of what can be counted?

A first lesson for judges that see both responses at once. Such a judge must learn which text stands in which
place, and to hold either against a wish; annotated wishes teach that only where their meaning is known.
What a wish for emojis, tables or few words means shows in the text, and every pair of responses has several.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.random import Generator

from crm.criteria import CriteriaSet, Criterion
from crm.data.pairs import LabelledPair, both_directions
from crm.embedded.counts import count_names, exact_counts
from crm.errors import CRMError
from crm.training.classifier.examples import by_pair
from crm.training.concepts import Wish, read_concept_wishes

_PER_PAIR = 1
_CLEARLY_MORE = 1.5
"""How many times as much is more to every reader."""
_EXCLUDED = frozenset({"language", "word_length"})
"""What has no less and more, or hardly differs."""


def counted_examples(examples: Sequence[LabelledPair], seed: int) -> list[LabelledPair]:
    """Return pairs under a wish for more, and under one for less, of what one of the responses has more of.

    Wordings are those of the wishes that the embedded CRM's reader learns from, English and in plain words.

    Raises:
        CRMError: No two responses differ in anything that is counted.
    """
    rng = np.random.default_rng(seed)
    wordings = _wordings()
    pairs = [group[0] for group in by_pair(examples)]
    texts = [text for item in pairs for text in (item.pair.response_a, item.pair.response_b)]
    counts = exact_counts(texts).reshape(len(pairs), 2, -1)
    found: list[LabelledPair] = []
    for item, (of_a, of_b) in zip(pairs, counts, strict=True):
        less, more = np.minimum(of_a, of_b), np.maximum(of_a, of_b)
        clear = [
            column
            for column, name in enumerate(count_names())
            if name in wordings and more[column] >= max(1.0, _CLEARLY_MORE * less[column])
        ]
        for column in rng.permutation(clear)[:_PER_PAIR]:
            wished = wordings[count_names()[column]]
            for_more, for_less = (CriteriaSet((_drawn(wished[more], rng),)) for more in (True, False))
            a_first = of_a[column] > of_b[column]
            found += both_directions(
                item.pair,
                (for_more, for_less) if a_first else (for_less, for_more),
                instruction=item.instruction,
            )
    if not found:
        raise CRMError("No two responses differ in what is counted: give other pairs.")
    return found


def _wordings() -> dict[str, dict[bool, list[str]]]:
    """Return wordings by what is counted, for more and for less of it."""
    names = frozenset(count_names()) - _EXCLUDED
    found: dict[str, dict[bool, list[str]]] = {}
    for wish in filter(_is_plain, read_concept_wishes()):
        if wish.concept in names:
            found.setdefault(wish.concept, {True: [], False: []})[wish.more].append(wish.text)
    return {name: texts for name, texts in found.items() if all(texts.values())}


def _is_plain(wish: Wish) -> bool:
    return wish.source == "countable" and wish.limit is None


def _drawn(texts: Sequence[str], rng: Generator) -> Criterion:
    return Criterion(texts[int(rng.integers(len(texts)))])
