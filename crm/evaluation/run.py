"""Evaluate a judge, on any labelled pairs or on the evaluation sets."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from crm.data.pairs import SINGLE_KINDS, LabelledPair
from crm.embedded.encoder import ProgressCallback
from crm.errors import CRMError
from crm.evaluation.metrics import (
    Accuracy,
    Numbers,
    accuracy,
    calibration_error,
    length_bias,
    position_bias,
    reliability,
    right,
)
from crm.evaluation.report import JudgeReport, JudgingSpeed
from crm.evaluation.sets import TABLE, EvaluationSets, Subset
from crm.llm.chat_model import Metered
from crm.protocol import CRM, reads_criteria
from crm.report_table import describe_machine


@dataclass(frozen=True)
class Evaluation:
    """A judge's results on any labelled pairs.

    Attributes:
        accuracies: Per criteria list, per single criterion of a list, and per kind of extra criterion.
        calibration_error: Expected calibration error over lists, ten bins of equal width.
    """

    crm: str
    accuracies: tuple[Accuracy, ...]
    calibration_error: float


def asked_name(crm: CRM, *, without_criteria: bool) -> str:
    """Return how results name a judge: with ∅ where it was asked without criteria."""
    return f"{crm.name} ∅" if without_criteria else crm.name


def evaluate(crm: CRM, judged: Sequence[LabelledPair], *, without_criteria: bool = False) -> Evaluation:
    """Judge labelled pairs; ties are left out.

    A judge of general preference, which reads no criteria, is always asked without them.
    """
    decided = [item for item in judged if item.label]
    without_criteria |= not reads_criteria(crm)
    verdicts = crm.judge([(item.unguided() if without_criteria else item).question for item in decided])
    scores: dict[str, list[float]] = {}
    lists = []
    for item, verdict in zip(decided, verdicts, strict=True):
        whole = item.kind == "list"
        subset = "criteria list" if whole else item.kind
        scores.setdefault(subset, []).append(right(verdict.prob_a, item.label))
        if whole:
            lists.append((verdict.prob_a, item.label > 0))
            for alone in verdict.per_criterion:
                scores.setdefault("criterion", []).append(right(alone, item.label))
    return Evaluation(
        crm=asked_name(crm, without_criteria=without_criteria),
        accuracies=tuple(accuracy(subset, values) for subset, values in scores.items()),
        calibration_error=calibration_error(
            np.array([prob for prob, _ in lists]), np.array([won for _, won in lists], dtype=np.bool_)
        ),
    )


_AT_ONCE = 256
"""Questions given to a judge at a time: enough for its batches, few enough to see it move."""
_HELD_OUT = (*TABLE["criterion"], "keyword", "avoid")
"""What is about criteria of held-out clusters."""
_EXCHANGED = "exchanged"
"""“T+” and “T−” once more, A and B in each other's place."""


def evaluate_judge(
    crm: CRM,
    data: EvaluationSets,
    *,
    held_out_judge: CRM | None = None,
    limit: int | None = None,
    seed: int = 0,
    price_per_hour: float | None = None,
    without_criteria: bool = False,
    progress: ProgressCallback = lambda done, total: None,
) -> JudgeReport:
    """Ask a judge every question of the sets, and those of “T+” and “T−” in the other order, too.

    Calibration and biases are measured on “T+” and “T−”: lists as they were written, in both directions, on
    new topics. Speed and cost are those of “T+”, where no pair occurs twice.

    Args:
        held_out_judge: Answers what is about held-out criteria in the judge's place: trained without them.
        limit: Draw at most so many questions from every set and kind of single criterion.
        seed: Of that draw.
        price_per_hour: Price of the machine, where the judge does not report its own cost.
        without_criteria: Ask for general preference, as a judge that reads no criteria is always asked.

    Raises:
        CRMError: The judge cannot answer.
        CRMError: There is no question on new topics.
    """
    # Ties have no right answer and are left out.
    asked = {
        name: _drawn([item for item in items if item.label], limit, seed) for name, items in _parts(data)
    }
    without_criteria |= not reads_criteria(crm)
    if without_criteria:
        asked = {name: [item.unguided() for item in items] for name, items in asked.items()}
    plus, minus = Subset.TOPIC_PLUS.value, Subset.TOPIC_MINUS.value
    if not asked[plus]:
        raise CRMError("The evaluation sets hold no question on new topics: make them from annotations.")
    plain = [*asked[plus], *asked[minus]]
    asked[_EXCHANGED] = [item.swapped() for item in plain]
    done, total = 0, sum(map(len, asked.values()))

    def count(answered: int) -> None:
        nonlocal done
        done += answered
        progress(done, total)

    prob = {}
    prob[plus], speed = _timed_answers(crm, asked[plus], price_per_hour, count)
    held_out = {name: asked[name] for name in asked if name in _HELD_OUT}
    own = {name: asked[name] for name in asked if name not in (*held_out, plus)}
    if held_out_judge is None:
        prob |= _answers(crm, {**own, **held_out}, count)
    else:
        prob |= _answers(crm, own, count) | _answers(held_out_judge, held_out, count)
    together = np.concatenate([prob[plus], prob[minus]])
    label = np.array([item.label for item in plain], dtype=np.float64)
    length_a, length_b = np.array(
        [[len(item.pair.response_a), len(item.pair.response_b)] for item in plain], dtype=np.float64
    ).T
    return JudgeReport(
        judge=asked_name(crm, without_criteria=without_criteria),
        version=crm.version,
        data=data.manifest.digest,
        limit=limit,
        seed=seed,
        accuracies={
            name: _accuracy(name, items, prob[name])
            for name, items in asked.items()
            if items and name != _EXCHANGED
        },
        reliability=reliability(together, label > 0),
        position=position_bias(together, prob[_EXCHANGED]),
        length=length_bias(together, label, length_a, length_b),
        speed=speed,
        held_out_judge=f"{held_out_judge.name} {held_out_judge.version}" if held_out_judge else None,
    )


def _timed_answers(
    crm: CRM, items: Sequence[LabelledPair], price_per_hour: float | None, count: Callable[[int], None]
) -> tuple[Numbers, JudgingSpeed]:
    """Return probabilities that A is preferred ``[N]``, and what they took."""
    crm.judge([items[0].question])  # loads what has to be loaded, which is not the speed of judging
    spent, began = _cost(crm), perf_counter()
    prob = _answers(crm, {"": items}, count)[""]
    seconds = 1000 * (perf_counter() - began) / len(items)
    cost = 1000 * (_cost(crm) - spent) / len(items)
    if not cost and price_per_hour is not None:
        cost = seconds * price_per_hour / 3600
    return prob, JudgingSpeed(len(items), seconds, cost or None, describe_machine())


def _answers(
    crm: CRM, asked: Mapping[str, Sequence[LabelledPair]], count: Callable[[int], None]
) -> dict[str, Numbers]:
    """Return probabilities that A is preferred, by set; each response is encoded once, with its pair."""
    prob = {name: np.full(len(items), np.nan) for name, items in asked.items()}
    rank: dict[object, int] = {}
    for items in asked.values():
        for item in items:
            rank.setdefault(item.id, len(rank))
    places = sorted(
        ((name, place) for name, items in asked.items() for place in range(len(items))),
        key=lambda where: rank[asked[where[0]][where[1]].id],
    )
    for start in range(0, len(places), _AT_ONCE):
        group = places[start : start + _AT_ONCE]
        verdicts = crm.judge([asked[name][place].question for name, place in group])
        for (name, place), verdict in zip(group, verdicts, strict=True):
            prob[name][place] = verdict.prob_a
        count(len(group))
    return prob


def _cost(crm: CRM) -> float:
    return crm.usage().cost if isinstance(crm, Metered) else 0.0


def _accuracy(name: str, items: Sequence[LabelledPair], prob: Numbers) -> Accuracy:
    return accuracy(name, [right(p, item.label) for p, item in zip(prob, items, strict=True)])


def _parts(data: EvaluationSets) -> Iterator[tuple[str, Sequence[LabelledPair]]]:
    """Yield what is asked, by set and by kind of single criterion."""
    for subset in Subset:
        if subset is not Subset.SINGLE:
            yield subset.value, data.sets[subset]
    for kind in SINGLE_KINDS:
        yield kind, [item for item in data.sets[Subset.SINGLE] if item.kind == kind]


def _drawn(items: list[LabelledPair], limit: int | None, seed: int) -> list[LabelledPair]:
    """At most ``limit`` of the questions, in their order; other sets give the same pairs where they can."""

    def lot(place: int) -> bytes:
        item = items[place]
        alone = "" if item.kind == "list" else item.criteria.key
        return hashlib.sha256(f"{seed} {item.id} {alone}".encode()).digest()

    return [items[place] for place in sorted(sorted(range(len(items)), key=lot)[:limit])]
