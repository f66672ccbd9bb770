"""The embedded CRM: bilinear on stored representations, on the CPU, without texts.

The log-odds that response A is preferred under criterion c are ``z = u(c)ᵀ V (φ(A) − φ(B))``: swapping
A and B flips the sign, so position cannot matter. ``u`` is a small network on the sentence embedding
of the criterion; several are trained from different seeds and averaged. For a whole benchmark the
criteria fold into one direction in feature space, and scoring is one matrix product. A guard, which no
criterion can move, holds responses back that are written for the judge.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import erf

from crm.criteria import CriteriaSet, Criterion
from crm.encoder import DIMENSIONS, sentence_encoder
from crm.errors import WeightsError
from crm.explanation import reasons
from crm.guard import Guard
from crm.memory import RowMemory
from crm.paths import BUNDLED
from crm.products import project
from crm.protocol import (
    Contest,
    Doubt,
    Floats,
    Measurement,
    Pair,
    Question,
    Reason,
    ScoreBlock,
    Verdict,
    probabilities,
)
from crm.representation import MISSING, NAMES, Representation, load_arrays, representation
from crm.scruples import Scruples

CRITERION_SCALE = np.float32(DIMENSIONS**0.5)
"""Criterion embeddings enter ``u`` scaled to unit spread."""
_REMEMBERED = 2048
_GAMING_MORE = "more like a text that is written to please a judge, or answers something else"
_GAMING_LESS = "less like a text that is written to please a judge, or answers something else"


@dataclass(frozen=True)
class Member:
    """One trained network of the ensemble: ``u(c) = gelu(c W₁ + b₁) W₂ + b₂``, ``V``, and a cosine term.

    Attributes:
        hidden_weight: W₁ ``[384, H]``.
        hidden_bias: b₁ ``[H]``.
        output_weight: W₂ ``[H, R]``.
        output_bias: b₂ ``[R]``.
        feature_weight: V ``[R, D]``.
        cosine: Weight of the plain similarity between criterion and response content.
    """

    hidden_weight: Floats
    hidden_bias: Floats
    output_weight: Floats
    output_bias: Floats
    feature_weight: Floats
    cosine: float

    def scaled(self, factor: float) -> Member:
        """The same network with all its margins multiplied."""
        return replace(
            self,
            feature_weight=self.feature_weight * np.float32(factor),
            cosine=self.cosine * factor,
        )

    def directions(self, embeddings: Floats) -> Floats:
        """Directions in feature space of K criteria, ``[K, 384]`` unit embeddings to ``[K, D]``."""
        scaled: Floats = embeddings * CRITERION_SCALE
        hidden = _gelu(scaled @ self.hidden_weight + self.hidden_bias)
        combined = (hidden @ self.output_weight + self.output_bias) @ self.feature_weight
        directions = np.asarray(combined, dtype=np.float32)
        directions[:, :DIMENSIONS] += self.cosine * embeddings
        return directions


class EmbeddedCRM:
    """A CRM that reads stored representations; may be shared between threads."""

    def __init__(
        self,
        members: Sequence[Member],
        general: Floats,
        features: Representation,
        *,
        name: str = "embedded",
        version: str = "1",
        counterweight: float = 0.0,
        guard: Guard | None = None,
        scruples: Scruples | None = None,
    ) -> None:
        """Join trained members, the general-preference direction ``general`` ``[D]``, guard and scruples.

        Networks favour a little what is generally preferred, whatever the criteria; ``counterweight``
        times the general direction is taken off every criterion's, so that both sides of a pair are
        judged alike.
        """
        self.name = name
        self.version = version
        self.representation: str | None = features.name
        self._members = tuple(members)
        self._general = general
        self._offset: Floats = -np.float32(counterweight) * general
        self._guard = guard
        self._features = features
        self._scruples = scruples
        self._directions = RowMemory(_REMEMBERED)

    def judge(self, questions: Sequence[Question]) -> list[Verdict]:
        """Judge pairs of texts; each distinct response and criterion is encoded once."""
        answers = list(dict.fromkeys(answer for item in questions for answer in answers_of(item.pair)))
        row = {answer: index for index, answer in enumerate(answers)}
        features = self._features.encode([text for text, _ in answers], [query for _, query in answers])[
            "features"
        ]
        penalty = self._penalty(features)
        self._learn([criterion.text for item in questions for criterion in item.criteria])
        verdicts = []
        for item in questions:
            first, second = (row[answer] for answer in answers_of(item.pair))
            difference = features[first].astype(np.float32) - features[second]
            difference *= self._features.step
            ahead = penalty[second] - penalty[first]
            alone = self._signed(item.criteria) @ difference if item.criteria else np.empty(0)
            together = probabilities(self.direction(item.criteria) @ difference + ahead)
            verdicts.append(Verdict(float(together), tuple(map(float, probabilities(alone + ahead)))))
        return verdicts

    def score(self, criteria: CriteriaSet, contest: Contest) -> Iterator[ScoreBlock]:
        """The whole score matrix in one block: there is nothing to wait for."""
        stored = contest.representation(self._features.name)
        margins = project(stored["features"], self.direction(criteria) * self._features.step)
        if self._guard is not None:
            margins -= self._guard.penalty_once(stored["features"], self._features.step)
        prob = probabilities(margins[:-1] - margins[-1])
        answered = stored["digest"] != MISSING
        prob[~(answered[:-1] & answered[-1])] = np.nan
        yield ScoreBlock(np.arange(len(prob)), np.arange(prob.shape[1]), prob)

    def measure(self, criteria: Sequence[Criterion], contest: Contest) -> Measurement:
        """How all responses of a contest stand under single criteria, polarity included."""
        stored = contest.representation(self._features.name)
        directions = self._signed(CriteriaSet(tuple(criteria))) * self._features.step
        penalty = np.zeros(stored["digest"].shape, dtype=np.float32)
        if self._guard is not None:
            penalty = self._guard.penalty_once(stored["features"], self._features.step)
        return Measurement(project(stored["features"], directions.T), penalty, stored["digest"] != MISSING)

    def direction(self, criteria: CriteriaSet) -> Floats:
        """The criteria folded into one direction ``[D]`` in units of φ; without criteria the general one.

        Margins of single criteria are summed with their signed weights and divided by the root of the
        sum of squared weights: agreeing criteria make a verdict surer, contradictory ones cancel.
        """
        if not criteria:
            return self._general
        weights = np.array([criterion.weight.value_in_sum for criterion in criteria], dtype=np.float32)
        folded: Floats = weights @ self._signed(criteria) / np.linalg.norm(weights)
        return folded

    def explain(
        self,
        criteria: CriteriaSet,
        response_a: Mapping[str, NDArray[Any]],
        response_b: Mapping[str, NDArray[Any]],
    ) -> tuple[float, list[Reason]]:
        """Probability that A is preferred under the criteria, and what moved it, weightiest first."""
        direction = self.direction(criteria)
        difference = response_a["features"].astype(np.float32) - response_b["features"]
        difference *= self._features.step
        found = reasons(difference, direction, response_a["style"], response_b["style"], self._features)
        penalty_a, penalty_b = self._penalty(np.stack([response_a["features"], response_b["features"]]))
        if ahead := float(penalty_b - penalty_a):
            found.insert(0, Reason(_GAMING_LESS if ahead > 0 else _GAMING_MORE, ahead))
        return float(probabilities(difference @ direction + ahead)), found

    def _penalty(self, features: NDArray[np.int8]) -> Floats:
        """What N responses with stored features ``[N, D]`` lose for looking like gaming ``[N]``."""
        if self._guard is None or not len(features):
            return np.zeros(len(features), dtype=np.float32)
        return self._guard.penalty(features, self._features.step)

    def doubts(self, criteria: CriteriaSet) -> tuple[Doubt, ...]:
        """Criteria that style and content do not tell, and criteria that pull in opposite directions."""
        if self._scruples is None or not criteria:
            return ()
        return self._scruples.doubts(criteria, self._signed(criteria))

    def _signed(self, criteria: CriteriaSet) -> Floats:
        """Directions of the single criteria, flipped for those to avoid, ``[K, D]``."""
        directions = self._learn([criterion.text for criterion in criteria])
        signs = np.array([criterion.polarity.sign for criterion in criteria], dtype=np.float32)
        signed: Floats = directions * signs[:, None]
        return signed

    def _learn(self, texts: Sequence[str]) -> Floats:
        """Directions of criteria ``[len(texts), D]``, remembered from earlier calls or computed now."""
        return self._directions.rows(texts, self._features.size, self._computed_directions)

    def _computed_directions(self, texts: list[str]) -> Floats:
        embeddings = sentence_encoder().embed(texts)
        each = [member.directions(embeddings) for member in self._members]
        directions: Floats = np.mean(each, axis=0) + self._offset
        return directions

    @classmethod
    def load(cls, path: Path, *, name: str = "embedded") -> EmbeddedCRM:
        """Read trained weights, and the bundled representation that they were trained on.

        Raises:
            WeightsError: A file is absent or damaged, or the representation is another one.
        """
        arrays = load_arrays(path, "representation_digest", "version", "members", "general")
        features = representation(str(arrays.get("representation", NAMES[0])))
        if str(arrays["representation_digest"]) != features.digest:
            raise WeightsError(
                f"{path.name} was trained on another version of the representation {features.name}: "
                "train it again with “python -m crm train embedded”."
            )
        members = [
            Member(
                cosine=float(arrays[f"cosine_{index}"]),
                **{field: arrays[f"{field}_{index}"].astype(np.float32) for field in MEMBER_ARRAYS},
            )
            for index in range(int(arrays["members"]))
        ]
        return cls(
            members,
            arrays["general"].astype(np.float32),
            features,
            name=name,
            version=str(arrays["version"]),
            counterweight=float(arrays.get("counterweight", 0.0)),
            guard=Guard.from_arrays(arrays),
            scruples=Scruples.from_arrays(arrays),
        )


MEMBER_ARRAYS = ("hidden_weight", "hidden_bias", "output_weight", "output_bias", "feature_weight")


def save_weights(
    path: Path,
    members: Sequence[Member],
    general: Floats,
    features: Representation,
    version: str,
    *,
    counterweight: float = 0.0,
    guard: Guard | None = None,
    scruples: Scruples | None = None,
) -> None:
    """Write the weights that ``EmbeddedCRM.load`` reads, in half precision."""
    arrays: dict[str, NDArray[Any]] = {
        "members": np.array(len(members)),
        "general": general,
        "version": np.array(version),
        "counterweight": np.array(counterweight),
        "representation": np.array(features.name),
        "representation_digest": np.array(features.digest),
    }
    for index, member in enumerate(members):
        for field in MEMBER_ARRAYS:
            arrays[f"{field}_{index}"] = getattr(member, field).astype(np.float16)
        arrays[f"cosine_{index}"] = np.array(member.cosine)
    if guard is not None:
        arrays |= guard.arrays()
    if scruples is not None:
        arrays |= scruples.arrays()
    np.savez_compressed(path, **arrays)  # type: ignore[arg-type]


def _gelu(values: Floats) -> Floats:
    return np.asarray(values * (0.5 + 0.5 * erf(values * np.float32(0.5**0.5))), dtype=np.float32)


Answer = tuple[str, str]
"""A response and the query it answers: what a representation is made of."""


def answers_of(pair: Pair) -> tuple[Answer, Answer]:
    """Both responses, each with the query."""
    return (pair.response_a, pair.query), (pair.response_b, pair.query)


VERSIONS = ("1", "2")
"""Versions of the bundled weights, oldest first."""


@cache
def embedded_crm(version: str = VERSIONS[-1]) -> EmbeddedCRM:
    """The bundled embedded CRM: the newest under the name ``embedded``, an older one with its version."""
    name = "embedded" if version == VERSIONS[-1] else f"embedded-{version}"
    return EmbeddedCRM.load(BUNDLED / f"embedded-{version}.npz", name=name)
