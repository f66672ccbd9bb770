"""Comparisons: which of two responses has more of a known concept, as a reader says.

``comparisons.jsonl``, ``later_comparisons.jsonl`` and ``further_comparisons.jsonl`` name, for pairs of
similar length, the concepts of which one response clearly has more than the other;
``unequal_comparisons.jsonl`` does so for pairs of which one response is half as long again or longer. A
training of the judge takes the first as criteria in the words of ``wishes/``, so that one reading of a pair
teaches what twenty annotated wishes would; to all the directions of styles are fitted
(``crm.training.styles``).
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from crm.criteria import CriteriaSet, Criterion
from crm.data.corpora import CorporaTexts, LeftOut, TextMissingError, read_json_lines
from crm.data.pairs import Directions, both_directions
from crm.errors import CRMError
from crm.protocol import Pair
from crm.training.concepts import Wish

COMPARISONS = Path(__file__).with_name("comparisons.jsonl")
LATER_COMPARISONS = Path(__file__).with_name("later_comparisons.jsonl")
FURTHER_COMPARISONS = Path(__file__).with_name("further_comparisons.jsonl")
UNEQUAL_COMPARISONS = Path(__file__).with_name("unequal_comparisons.jsonl")
ALL_TYPICAL = LATER_COMPARISONS, FURTHER_COMPARISONS, UNEQUAL_COMPARISONS
"""Comparisons whose readers also said which response a typical person would prefer."""
ALL_COMPARISONS = COMPARISONS, *ALL_TYPICAL
Read = TypeVar("Read")
_SAID_AS_LESS = 0.3
"""Share of the concepts that are put as a wish for less of them, which the other response then meets."""


def read_comparisons(
    corpora: Path,
    wishes: Sequence[Wish],
    *,
    split: str = "train",
    seed: int = 0,
    path: Path = COMPARISONS,
    left_out: LeftOut | None = None,
) -> list[Directions]:
    """Read compared pairs, each under wishes for the concepts of which either side has more.

    Args:
        wishes: Whose words are drawn.
        split: ``train`` or ``dev``, by instruction.
        left_out: Where pairs are counted whose texts are not there; without it there must be none.

    Raises:
        CRMError: A row that is not as described, a concept that no wish asks for, or a response that the
            corpora lack.
    """
    worded: dict[tuple[str, bool], list[str]] = defaultdict(list)
    for wish in wishes:
        if wish.concept is not None and wish.limit is None and not wish.foreign:
            worded[wish.concept, wish.more].append(wish.text)
    draw = random.Random(seed)

    def wishes_met(row: dict[str, Any]) -> tuple[tuple[Criterion, ...], tuple[Criterion, ...]]:
        return _met(row["more_a"], row["more_b"], worded, draw)

    return [
        both_directions(
            pair,
            (CriteriaSet(), CriteriaSet()),
            met,
            split=split,
            instruction=row["instruction_sha256"],
        )
        for row, pair, met in read_pairs(path, corpora, split, left_out, wishes_met)
    ]


def read_style_comparisons(
    corpora: Path,
    styles: Sequence[str],
    *,
    split: str = "train",
    paths: Sequence[Path] = ALL_COMPARISONS,
    left_out: LeftOut | None = None,
) -> tuple[list[Pair], NDArray[np.int8]]:
    """Read P compared pairs and what was said of S styles ``[P, S]``.

    Returns:
        The pairs, and 1 where A has more of a style, −1 where B has, 0 where nobody said so.

    Raises:
        CRMError: As ``read_comparisons``; a concept that is none of the styles.
    """
    place = {style: number for number, style in enumerate(styles)}

    def signs(row: dict[str, Any]) -> NDArray[np.int8]:
        said = np.zeros(len(place), dtype=np.int8)
        for sign, side in ((1, "more_a"), (-1, "more_b")):
            for style in row[side]:
                if style not in place:
                    raise ValueError(f"{style!r} is no known style")
                said[place[style]] = sign
        return said

    read = [each for path in paths for each in read_pairs(path, corpora, split, left_out, signs)]
    said = np.array([each for *_, each in read], dtype=np.int8).reshape(len(read), len(place))
    return [pair for _, pair, _ in read], said


def read_pairs(
    path: Path,
    corpora: Path,
    split: str,
    left_out: LeftOut | None,
    reads: Callable[[dict[str, Any]], Read],
) -> Iterator[tuple[dict[str, Any], Pair, Read]]:
    """Yield a split's rows of a file, the pair that each is about, and what ``reads`` makes of it.

    Raises:
        CRMError: A row that is not as described, or a response that the corpora lack; with ``left_out`` those
            whose file is not there are counted there instead.
    """
    texts = CorporaTexts(corpora)
    for number, row in read_json_lines(path):
        try:
            if row["split"] != split:
                continue
            index = row["prompt_id"] if "prompt_id" in row else row["instruction_index"]
            query, response_a = texts.response(row["source"], index, row["model_a"])
            _, response_b = texts.response(row["source"], index, row["model_b"])
            said = reads(row)
        except (LookupError, TypeError, ValueError) as error:
            if left_out is not None and isinstance(error, TextMissingError):
                left_out.count(row["source"])
                continue
            raise CRMError(f"{path.name}, row {number}: {error}.") from error
        yield row, Pair(query, response_a, response_b), said


def _met(
    more_a: Sequence[str],
    more_b: Sequence[str],
    worded: dict[tuple[str, bool], list[str]],
    draw: random.Random,
) -> tuple[tuple[Criterion, ...], tuple[Criterion, ...]]:
    """Return the wishes that A meets better, and those that B does."""
    met: tuple[list[Criterion], list[Criterion]] = ([], [])
    for side, concepts in enumerate((more_a, more_b)):
        for concept in concepts:
            more = draw.random() >= _SAID_AS_LESS
            if not worded[concept, more]:
                raise ValueError(f"no wish asks for {'more' if more else 'less'} of {concept!r}")
            text = draw.choice(worded[concept, more])
            met[side if more else 1 - side].append(Criterion(text))
    return tuple(met[0]), tuple(met[1])
