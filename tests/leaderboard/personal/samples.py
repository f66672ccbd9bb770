"""A small made-up benchmark that persons choose on: six responders, 30 queries, seven criteria."""

import numpy as np

from crm.criteria import Criterion
from leaderboard.personal.choice import Answer, Choice, Pair
from leaderboard.personal.library import LibraryCriterion
from leaderboard.personal.material import Material
from leaderboard.personal.pairs import Shown

RESPONDERS, QUERIES, CRITERIA = 6, 30, 7
LIBRARY = tuple(
    LibraryCriterion(label, Criterion(f"The answer is {label}"), "Style")
    for label in ("short", "warm", "funny", "formal", "vivid", "careful", "numbered")
)


def small_material(seed: int = 0) -> Material:
    """Each criterion is met by chance, and each responder has a style of its own."""
    random = np.random.default_rng(seed)
    margins = 1.5 * random.normal(size=(RESPONDERS, QUERIES, CRITERIA + 1))
    margins += random.normal(size=(RESPONDERS, 1, CRITERIA + 1))
    margins[..., -1] = 0
    return Material(margins.astype(np.float32), np.ones((RESPONDERS, QUERIES), dtype=bool))


def small_shown(seed: int = 0) -> Shown:
    """All of it may be shown."""
    return Shown.of(small_material(seed), np.ones(QUERIES, dtype=bool))


def choice_by(material: Material, pair: Pair, criterion: int) -> Choice:
    """What somebody answers who looks at one criterion only."""
    margins = material.relative[:, pair.query, criterion]
    ahead = margins[pair.first] > margins[pair.second]
    return Choice(pair, Answer.FIRST if ahead else Answer.SECOND)
