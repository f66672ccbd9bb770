"""Comparisons: which of two responses has more of a known concept, as a reader says.

``comparisons.jsonl`` names, for pairs of similar length, the concepts of which one response clearly has more
than the other. A training takes them as criteria in the words of ``wishes/``, so that one reading of a pair
teaches what twenty annotated wishes would.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from crm.criteria import CriteriaSet, Criterion
from crm.data.corpora import CorporaTexts, LeftOut, TextMissingError, read_json_lines
from crm.data.pairs import Directions, both_directions
from crm.errors import CRMError
from crm.protocol import Pair
from crm.training.concepts import Wish

COMPARISONS = Path(__file__).with_name("comparisons.jsonl")
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
    texts = CorporaTexts(corpora)
    worded: dict[tuple[str, bool], list[str]] = defaultdict(list)
    for wish in wishes:
        if wish.concept is not None and wish.limit is None and not wish.foreign:
            worded[wish.concept, wish.more].append(wish.text)
    draw = random.Random(seed)
    pairs = []
    for number, row in read_json_lines(path):
        try:
            if row["split"] != split:
                continue
            index = row["prompt_id"] if "prompt_id" in row else row["instruction_index"]
            query, response_a = texts.response(row["source"], index, row["model_a"])
            _, response_b = texts.response(row["source"], index, row["model_b"])
            met = _met(row["more_a"], row["more_b"], worded, draw)
        except (LookupError, TypeError, ValueError) as error:
            if left_out is not None and isinstance(error, TextMissingError):
                left_out.count(row["source"])
                continue
            raise CRMError(f"{path.name}, row {number}: {error}.") from error
        pairs.append(
            both_directions(
                Pair(query, response_a, response_b),
                (CriteriaSet(), CriteriaSet()),
                met,
                split=split,
                instruction=row["instruction_sha256"],
            )
        )
    return pairs


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
