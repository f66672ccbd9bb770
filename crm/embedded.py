"""The embedded CRM: bilinear on stored representations, on the CPU, without texts.

The log-odds that response A is preferred under criterion c are ``z = u(c)ᵀ V (φ(A) − φ(B))``: swapping
A and B flips the sign, so position cannot matter. ``u`` is a small network on the sentence embedding
of the criterion; several are trained from different seeds and averaged. For a whole benchmark the
criteria fold into one direction in feature space, and scoring is one matrix product.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import erf

from crm.criteria import CriteriaSet
from crm.encoder import DIMENSIONS, sentence_encoder
from crm.errors import WeightsError
from crm.explanation import reasons
from crm.paths import EMBEDDED_FILE
from crm.protocol import Contest, Floats, Question, Reason, ScoreBlock, Verdict, probabilities
from crm.representation import MISSING, NAME, Representation, load_arrays, representation

CRITERION_SCALE = np.float32(DIMENSIONS**0.5)
"""Criterion embeddings enter ``u`` scaled to unit spread."""
_BLOCK_CELLS = 400_000
"""Features widened at a time. OpenBLAS computes a product of up to 460,800 cells in the calling thread;
above that its threads wait for each other, on busy cores for far longer than the product takes."""
_REMEMBERED = 2048


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

    def directions(self, embeddings: Floats) -> Floats:
        """Directions in feature space of K criteria, ``[K, 384]`` unit embeddings to ``[K, D]``."""
        scaled: Floats = embeddings * CRITERION_SCALE
        hidden = _gelu(scaled @ self.hidden_weight + self.hidden_bias)
        combined = (hidden @ self.output_weight + self.output_bias) @ self.feature_weight
        directions = np.asarray(combined, dtype=np.float32)
        directions[:, :DIMENSIONS] += self.cosine * embeddings
        return directions


class EmbeddedCRM:
    """A CRM that reads ``minilm-style-1`` representations; may be shared between threads."""

    representation: str | None = NAME

    def __init__(
        self,
        members: Sequence[Member],
        general: Floats,
        features: Representation,
        *,
        name: str = "embedded",
        version: str = "1",
    ) -> None:
        """Join trained members and the general-preference direction ``general`` ``[D]``."""
        self.name = name
        self.version = version
        self._members = tuple(members)
        self._general = general
        self._features = features
        self._directions: OrderedDict[str, Floats] = OrderedDict()
        self._lock = threading.Lock()

    def judge(self, questions: Sequence[Question]) -> list[Verdict]:
        """Judge pairs of texts; each distinct response and criterion is encoded once."""
        texts = list(
            dict.fromkeys(text for item in questions for text in (item.pair.response_a, item.pair.response_b))
        )
        row = {text: index for index, text in enumerate(texts)}
        features = self._features.encode(texts)["features"]
        self._learn([criterion.text for item in questions for criterion in item.criteria])
        verdicts = []
        for item in questions:
            difference = features[row[item.pair.response_a]].astype(np.float32)
            difference -= features[row[item.pair.response_b]]
            difference *= self._features.step
            alone = self._signed(item.criteria) @ difference if item.criteria else np.empty(0)
            together = probabilities(self.direction(item.criteria) @ difference)
            verdicts.append(Verdict(float(together), tuple(map(float, probabilities(alone)))))
        return verdicts

    def score(self, criteria: CriteriaSet, contest: Contest) -> Iterator[ScoreBlock]:
        """The whole score matrix in one block: there is nothing to wait for."""
        stored = contest.representation(NAME)
        margins = project(stored["features"], self.direction(criteria) * self._features.step)
        prob = probabilities(margins[:-1] - margins[-1])
        answered = stored["digest"] != MISSING
        prob[~(answered[:-1] & answered[-1])] = np.nan
        yield ScoreBlock(np.arange(len(prob)), np.arange(prob.shape[1]), prob)

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
        return float(probabilities(difference @ direction)), reasons(
            difference, direction, response_a["style"], response_b["style"], self._features
        )

    def _signed(self, criteria: CriteriaSet) -> Floats:
        """Directions of the single criteria, flipped for those to avoid, ``[K, D]``."""
        directions = self._learn([criterion.text for criterion in criteria])
        signs = np.array([criterion.polarity.sign for criterion in criteria], dtype=np.float32)
        signed: Floats = directions * signs[:, None]
        return signed

    def _learn(self, texts: Sequence[str]) -> Floats:
        """Directions of criteria ``[len(texts), D]``, remembered from earlier calls or computed now."""
        with self._lock:
            unknown = [text for text in dict.fromkeys(texts) if text not in self._directions]
            if unknown:
                embeddings = sentence_encoder().embed(unknown)
                each = [member.directions(embeddings) for member in self._members]
                self._directions.update(zip(unknown, np.mean(each, axis=0), strict=True))
            directions = [self._directions[text] for text in texts]
            while len(self._directions) > _REMEMBERED:
                self._directions.popitem(last=False)
        return np.stack(directions) if directions else np.empty((0, self._features.size), dtype=np.float32)

    @classmethod
    def load(cls, path: Path, features: Representation) -> EmbeddedCRM:
        """Read trained weights.

        Raises:
            WeightsError: The file is absent, damaged, or trained on another representation.
        """
        arrays = load_arrays(path, "representation_digest", "version", "members", "general")
        if str(arrays["representation_digest"]) != features.digest:
            raise WeightsError(
                f"{path.name} was trained on another version of the representation {NAME}: "
                "train it again with “python -m crm train embedded”."
            )
        members = [
            Member(
                cosine=float(arrays[f"cosine_{index}"]),
                **{field: arrays[f"{field}_{index}"].astype(np.float32) for field in MEMBER_ARRAYS},
            )
            for index in range(int(arrays["members"]))
        ]
        return cls(members, arrays["general"].astype(np.float32), features, version=str(arrays["version"]))


MEMBER_ARRAYS = ("hidden_weight", "hidden_bias", "output_weight", "output_bias", "feature_weight")


def save_weights(
    path: Path, members: Sequence[Member], general: Floats, features: Representation, version: str
) -> None:
    """Write the weights that ``EmbeddedCRM.load`` reads, in half precision."""
    arrays: dict[str, NDArray[Any]] = {
        "members": np.array(len(members)),
        "general": general,
        "version": np.array(version),
        "representation_digest": np.array(features.digest),
    }
    for index, member in enumerate(members):
        for field in MEMBER_ARRAYS:
            arrays[f"{field}_{index}"] = getattr(member, field).astype(np.float16)
        arrays[f"cosine_{index}"] = np.array(member.cosine)
    np.savez_compressed(path, **arrays)  # type: ignore[arg-type]


def project(features: NDArray[np.int8], direction: Floats) -> Floats:
    """Product of stored features ``[..., D]`` and a direction ``[D]``, ``[...]`` in float32.

    The bytes are widened block by block, so that no more than a block of them is ever in memory as
    floating-point numbers.
    """
    rows = features.reshape(-1, features.shape[-1])
    height = max(1, _BLOCK_CELLS // rows.shape[1])
    widened = np.empty((min(height, len(rows)), rows.shape[1]), dtype=np.float32)
    product = np.empty(len(rows), dtype=np.float32)
    for start in range(0, len(rows), height):
        block = rows[start : start + height]
        wide = widened[: len(block)]
        np.copyto(wide, block)
        np.dot(wide, direction, out=product[start : start + len(block)])
    return product.reshape(features.shape[:-1])


def _gelu(values: Floats) -> Floats:
    return np.asarray(values * (0.5 + 0.5 * erf(values * np.float32(0.5**0.5))), dtype=np.float32)


@lru_cache(maxsize=1)
def embedded_crm() -> EmbeddedCRM:
    """The bundled embedded CRM."""
    return EmbeddedCRM.load(EMBEDDED_FILE, representation())
