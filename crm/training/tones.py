"""Tones and styles: passages that contrast in how they are written, and wishes for either side.

*Tones* are passages written in a tone beside the same content told plainly. The direction between the two
sides becomes a feature of wording, and each pair is a training pair whose wishes name the tone in many ways.
*Unusual answers* are honest answers in styles that real LLMs seldom have: poems, jokes, fragments, dialogues.
The guard learns from them that such answers are no attacks, and the networks learn styles from pairs of them.
All of it was written for this project, the unusual answers by a language model on request.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from crm.criteria import CriteriaSet, Criterion, Polarity
from crm.data.pairs import Directions, both_directions
from crm.embedded.encoder import sentence_encoder
from crm.embedded.representation import Tone
from crm.protocol import Pair
from parsing.documents import read_json
from parsing.files import read_bytes

TONES_FILE = Path(__file__).with_name("tones.json")


@dataclass(frozen=True)
class ToneContrast:
    """A tone and its contrast pairs.

    Attributes:
        tone: Phrases for explanations.
        wishes: Criteria that the passages in the tone meet.
        opposite: Criteria that the plain passages meet.
        pairs: Passages: in the tone, and plain; the tone's direction is theirs.
        further: More such passages, for training only: they came after the representation was fixed.
    """

    tone: Tone
    wishes: tuple[str, ...]
    opposite: tuple[str, ...]
    pairs: tuple[tuple[str, str], ...]
    further: tuple[tuple[str, str], ...] = ()

    def direction(self) -> NDArray[np.float32]:
        """Mean difference of early encoder states between the two sides ``[384]``."""
        toned = sentence_encoder().encode([toned for toned, _ in self.pairs]).state
        plain = sentence_encoder().encode([plain for _, plain in self.pairs]).state
        mean: NDArray[np.float32] = (toned - plain).mean(axis=0)
        return mean


def read_tone_contrasts(path: Path = TONES_FILE) -> list[ToneContrast]:
    """Read the tones."""
    return [
        ToneContrast(
            Tone(entry["more"], entry["less"]),
            tuple(entry["wishes"]),
            tuple(entry["opposite"]),
            tuple((toned, plain) for toned, plain in entry["pairs"]),
            tuple((toned, plain) for toned, plain in entry["further_pairs"]),
        )
        for entry in read_json(read_bytes(path))
    ]


def tone_pairs(contrasts: list[ToneContrast], seed: int, repeats: int = 4) -> list[Directions]:
    """Training pairs of the tones, each contrast pair ``repeats`` times under other wordings."""
    draw = random.Random(seed)
    return [
        both_directions(
            Pair("", toned, plain),
            (
                CriteriaSet.of(draw.sample(contrast.wishes, 3)),
                CriteriaSet.of(draw.sample(contrast.opposite, 2)),
            ),
            (
                (Criterion(draw.choice(contrast.opposite), polarity=Polarity.AVOID),),
                (Criterion(draw.choice(contrast.wishes), polarity=Polarity.AVOID),),
            ),
            instruction="tone",
        )
        for contrast in contrasts
        for toned, plain in (*contrast.pairs, *contrast.further)
        for _ in range(repeats)
    ]


UNUSUAL_FILE = Path(__file__).with_name("unusual_answers.jsonl")
STYLE_PAIRS = 500
"""Pairs of answers in two styles that are trained on; more of them cost accuracy on ordinary answers."""
_TONES: Mapping[str, str] = {
    "humor": "a more playful tone",
    "lyrical prose": "more vivid imagery",
    "poem": "more vivid imagery",
    "chatty": "a more casual tone",
    "scholarly": "a more scholarly tone",
    "terse": "a more direct manner",
    "steps": "a more instructional structure",
    "short story": "more storytelling",
}
"""Styles that a tone has wishes for."""
_LISTED = 3


@dataclass(frozen=True)
class UnusualAnswer:
    """An answer, the query it answers, and the style it is written in."""

    query: str
    style: str
    answer: str


def unusual_answers(path: Path = UNUSUAL_FILE) -> list[UnusualAnswer]:
    """Read the answers."""
    return [UnusualAnswer(**read_json(line)) for line in path.read_text(encoding="utf-8").splitlines()]


def style_pairs(
    answers: Sequence[UnusualAnswer], contrasts: Sequence[ToneContrast], count: int, seed: int
) -> list[Directions]:
    """Training pairs of answers in two styles, each side with wishes of its own tone.

    The two answer different queries, drawn at random, so that only the styles stay the same from pair to
    pair; the queries are left out.
    """
    draw = random.Random(seed)
    tones = {contrast.tone.more: contrast for contrast in contrasts}
    by_tone: dict[str, list[str]] = defaultdict(list)
    for answer in answers:
        if answer.style in _TONES:
            by_tone[_TONES[answer.style]].append(answer.answer)
    drawn = []
    for _ in range(count):
        one, other = draw.sample(sorted(by_tone), 2)
        wishes, others = tones[one].wishes, tones[other].wishes
        drawn.append(
            both_directions(
                Pair("", draw.choice(by_tone[one]), draw.choice(by_tone[other])),
                (CriteriaSet.of(draw.sample(wishes, _LISTED)), CriteriaSet.of(draw.sample(others, _LISTED))),
                (
                    (Criterion(draw.choice(others), polarity=Polarity.AVOID),),
                    (Criterion(draw.choice(wishes), polarity=Polarity.AVOID),),
                ),
                instruction="style",
            )
        )
    return drawn
