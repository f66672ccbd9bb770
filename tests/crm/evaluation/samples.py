"""Annotated pairs, clusters and a report that the tests of evaluation share."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from crm.baselines import LongerCRM
from crm.criteria import CriteriaSet, Criterion, Polarity
from crm.data.pairs import Directions, both_directions
from crm.data.taxonomy import CriterionCluster, CriterionClusters
from crm.evaluation.metrics import Accuracy, LengthBias, PositionBias, ReliabilityBin
from crm.evaluation.report import JudgeReport, JudgingSpeed
from crm.evaluation.sets import TABLE, EvaluationSets, build_sets, read_sets, write_sets
from crm.protocol import Pair

CLUSTERS = CriterionClusters(
    (
        CriterionCluster(
            ("brevity",), held_out=False, criteria=("concise", "brief", "short", "to the point")
        ),
        CriterionCluster(("depth",), held_out=False, criteria=("detailed", "thorough", "deep", "in depth")),
        CriterionCluster(("rhyme",), held_out=True, criteria=("rhyming", "in verse", "poetic", "lyrical")),
        CriterionCluster(("facts",), held_out=True, criteria=("dates", "sources", "numbers", "names")),
    ),
    np.eye(4, 384, dtype=np.float32),
)
BRIEF, DEEP, RHYME, FACTS = (cluster.criteria for cluster in CLUSTERS.clusters)


def annotated(number: int, split: str) -> Directions:
    """A short poem against a long report, in two wordings; every third pair is the other way round."""
    brief, rhyme = (words[:2] if number % 2 else words[2:] for words in (BRIEF, RHYME))
    short, long = f"Short verse {number}.", f"A report of many words on {number}. " * (number + 2)
    pair = Pair(f"Query {number}", short, long)
    sides = (CriteriaSet.of((*brief, rhyme[0])), CriteriaSet.of((*DEEP[:3], FACTS[0])))
    extras = (
        (Criterion(rhyme[1]), Criterion(FACTS[2], polarity=Polarity.AVOID)),
        (Criterion(FACTS[1]), Criterion(brief[1], polarity=Polarity.AVOID)),
    )
    if number % 3 == 0:
        pair = Pair(pair.query, pair.response_b, pair.response_a)
        sides, extras = sides[::-1], extras[::-1]
    return both_directions(pair, sides, extras, split=split, instruction=f"i{number}")


PAIRS = [annotated(number, "dev" if number < 8 else "train") for number in range(20)]


def small_sets(folder: Path, pairs: Sequence[Directions] = PAIRS) -> EvaluationSets:
    """Evaluation sets on disk, of twenty pairs unless others are given."""
    write_sets(folder, build_sets(pairs, LongerCRM(), CLUSTERS), seed=0, general="longer 1")
    return read_sets(folder)


def report(judge: str = "embedded", **changes: object) -> JudgeReport:
    """A report with round numbers."""
    names = [str(subset) for subsets in TABLE.values() for subset in subsets] + ["criterion"]
    made = JudgeReport(
        judge=judge,
        version="2",
        data="d" * 64,
        limit=None,
        seed=0,
        accuracies={
            name: Accuracy(name, 100, 0.90 - place / 100, 0.85 - place / 100, 0.93 - place / 100)
            for place, name in enumerate(names)
        },
        reliability=(ReliabilityBin(40, 0.2, 0.3), ReliabilityBin(60, 0.8, 0.75)),
        position=PositionBias(100, 0.04, 0.02, 0.53),
        length=LengthBias(100, -0.12, -0.31, 0.08),
        speed=JudgingSpeed(500, 12.5, None, "a machine"),
    )
    return replace(made, **changes)  # type: ignore[arg-type]
