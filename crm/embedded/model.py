"""The embedded CRM: bilinear on stored representations, on the CPU, without texts.

The log-odds that response A is preferred under criterion c are ``z = d(c)ᵀ (φ(A) − φ(B)) + n(A) − n(B)``:
swapping A and B flips the sign, so position cannot matter. What c asks for is read first
(``crm.embedded.concepts``): what can be counted enters ``n`` as it was counted; a style that is known by name
gives ``d`` the direction that all wordings of that style share; and as far as c is neither, ``d`` is
``u(c)ᵀ V`` with a small network ``u`` on its sentence embedding, and ``n`` says how near the passages of a
response come to it (``crm.embedded.passages``). Several networks are trained from different
seeds and averaged. For a whole benchmark the criteria fold into one direction in feature space, a few
counts and nearest passages, and scoring is a matrix product or two. A guard, which no criterion can move,
holds responses back that are written for the judge.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crm.criteria import CriteriaSet, Criterion, Wording
from crm.embedded.absence import HARDLY, absence_in_words, share_with
from crm.embedded.concepts import lacks_decoder
from crm.embedded.counts import countables
from crm.embedded.encoder import DIMENSIONS, RowCache, sentence_encoder
from crm.embedded.functions import gelu
from crm.embedded.guard import Guard
from crm.embedded.known import KnownConcepts
from crm.embedded.limits import Limit
from crm.embedded.passages import passages
from crm.embedded.projection import project
from crm.embedded.reasons import MOST_REASONS, UNNAMED, reasons
from crm.embedded.reliability import GENERAL, SIGNS, WORDING, KindsOfReliability, kind_of, signs
from crm.embedded.representation import (
    MISSING,
    Representation,
    load_arrays,
    representation,
)
from crm.embedded.validity import ValidityCheck
from crm.errors import UnavailableError
from crm.paths import EMBEDDED_FILE
from crm.protocol import (
    Amounts,
    CriterionWarning,
    Floats,
    JointMargins,
    JudgedBenchmark,
    Pair,
    Question,
    ReadByLLM,
    Reason,
    Reliability,
    ResponseMargins,
    ScoreBlock,
    Verdict,
    probabilities,
)

CRITERION_SCALE = np.float32(DIMENSIONS**0.5)
"""Criterion embeddings enter ``u`` scaled to unit spread."""
_MAX_CACHED = 2048
_ON_ORDINARY_CACHED = 256
_SINGLY_CACHED, _SINGLY_BYTES = 8, 6_000_000
"""So many single criteria, of those used last, are remembered of a benchmark; of a large one, as many as have
room, one at least."""
_SURELY = 25.0
"""Log-odds that the guard takes off what is surely gaming: one in 1,000 ordinary responses."""
_A_HABIT = np.float32(0.02)
"""Share of an LLM's responses that are surely gaming from which it is no chance."""
_ALIKE = 0.04
"""Log-odds under which responses are alike in what is asked, and tie in a ranking."""
_GAMING_MORE = "more like a text that is written to please a judge, or answers something else"
_GAMING_LESS = "less like a text that is written to please a judge, or answers something else"
_READ_WHOLE = 0.01
"""Of a criterion of which less is left unread, no passage is looked for."""
_SEVERAL = 2
"""Passages among which one can be the nearest."""


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

    def scaled(self, factor: float, echo: float = 1.0) -> Member:
        """Return the same network with all its margins multiplied, the cosine term by ``echo`` besides."""
        cosine = self.cosine * factor * echo
        return replace(self, feature_weight=self.feature_weight * np.float32(factor), cosine=cosine)

    def directions(self, embeddings: Floats) -> Floats:
        """Directions in feature space of K criteria, ``[K, 384]`` unit embeddings to ``[K, D]``."""
        scaled: Floats = embeddings * CRITERION_SCALE
        hidden = gelu(scaled @ self.hidden_weight + self.hidden_bias)
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
        validity: ValidityCheck | None = None,
        concepts: KnownConcepts | None = None,
        passage_weights: Floats | None = None,
        measured: KindsOfReliability | None = None,
    ) -> None:
        """Join trained members, the general-preference direction ``general`` ``[D]``, guard and validity.

        Networks favour a little what is generally preferred, whatever the criteria; ``counterweight``
        times the general direction is taken off every criterion's, so that both sides of a pair are
        judged alike. Without ``concepts`` every criterion is left to the networks and to passages,
        whose likenesses count by ``passage_weights`` ``[3]``.
        """
        self.name = name
        self.version = version
        self.representation: str | None = features.name
        self._members = tuple(members)
        self._general = general
        self._offset: Floats = -np.float32(counterweight) * general
        self._guard = guard
        self._features = features
        self._validity = validity
        self._concepts = concepts
        self._passage_weights = passage_weights
        self._measured = measured
        self._directions: RowCache[Wording] = RowCache(_MAX_CACHED)
        self._under_none: dict[int, tuple[Floats, Floats]] = {}
        self._singly: dict[int, RowCache[Wording]] = {}
        self._on_ordinary: RowCache[Wording] = RowCache(_ON_ORDINARY_CACHED)

    def reading_by(self, features: Representation) -> EmbeddedCRM:
        """Return the same judge with another representation of the same features, such as of more windows."""
        other = copy(self)
        other._features, other.representation = features, features.name
        return other

    def judge(self, questions: Sequence[Question]) -> list[Verdict]:
        """Judge pairs of texts; each distinct response and criterion is encoded once."""
        answers, rows = distinct_answers([item.pair for item in questions])
        encoded = self._features.encode([text for text, _ in answers], [query for _, query in answers])
        features = encoded["features"]
        penalty = self._penalty(features)
        self._learn([criterion for item in questions for criterion in item.criteria])
        verdicts = []
        for item, pair in zip(questions, rows, strict=True):
            difference = features[pair[0]].astype(np.float32) - features[pair[1]]
            difference *= self._features.step
            ahead = penalty[pair[1]] - penalty[pair[0]]
            together = self.direction(item.criteria) @ difference
            alone = np.empty(0, dtype=np.float32)
            if item.criteria:
                both = {name: array[pair] for name, array in encoded.items()}
                counted = self._counted_each(item.criteria, both["counts"])
                one, other = counted + self._found_each(item.criteria, both)
                alone = self._signed(item.criteria) @ difference + one - other
                together += (one - other) @ _shares(item.criteria)
            prob, prob_each = (probabilities(margin + ahead) for margin in (together, alone))
            verdicts.append(Verdict(float(prob), tuple(map(float, prob_each))))
        return verdicts

    def score(self, criteria: CriteriaSet, benchmark: JudgedBenchmark) -> Iterator[ScoreBlock]:
        """Yield the whole score matrix in one block: there is nothing to wait for."""
        found = self.margins(criteria, benchmark)
        margins, penalty, present = found.margins, found.penalty, found.present
        ahead = held_back(margins[:-1] - margins[-1], penalty[-1] - penalty[:-1])
        prob = probabilities(np.where(_is_tie(ahead), np.float32(0.0), ahead))
        prob[~(present[:-1] & present[-1])] = np.nan
        yield ScoreBlock(np.arange(len(prob)), np.arange(prob.shape[1]), prob)

    def measure(self, criteria: Sequence[Criterion], benchmark: JudgedBenchmark) -> ResponseMargins:
        """Return how all responses of a benchmark stand under single criteria, polarity included."""
        stored = benchmark.representation(self._features.name)
        margins = self._each(CriteriaSet(tuple(criteria)), stored)
        return ResponseMargins(margins, self._penalties(stored), stored["digest"] != MISSING)

    def margins(self, criteria: CriteriaSet, benchmark: JudgedBenchmark) -> JointMargins:
        """Return how all responses of a benchmark stand under all criteria together."""
        stored = benchmark.representation(self._features.name)
        if isinstance(stored, ReadByLLM):
            margins, penalty = self._margins_by_llm(criteria, self.direction(criteria), stored)
        elif criteria:
            margins, penalty = self._together(criteria, stored), self._penalties(stored)
        else:
            margins, penalty = self._joint(criteria, self._general, stored), self._penalties(stored)
        return JointMargins(margins, penalty, stored["digest"] != MISSING, _ALIKE, _SURELY)

    def _each(self, criteria: CriteriaSet, stored: Mapping[str, NDArray[Any]]) -> Floats:
        """Return what responses, given as stored, have under single criteria, polarity included
        ``[..., K]``."""
        directions = self._signed(criteria) * self._features.step
        margins = project(stored["features"], directions.T) + self._counted_each(criteria, stored["counts"])
        margins += self._found_each(criteria, stored)
        return margins

    def _together(self, criteria: CriteriaSet, stored: Mapping[str, NDArray[Any]]) -> Floats:
        """Return what responses, given as stored, have under all criteria together ``[...]``.

        That of single criteria is remembered: a page also ranks by each of them, and without each.
        """
        shape = stored["digest"].shape

        def computed(wordings: list[Wording]) -> Floats:
            return np.moveaxis(self._each(_of_wordings(wordings), stored), -1, 0).reshape(len(wordings), -1)

        wordings = [criterion.wording for criterion in criteria]
        each = self._singly_of(stored).rows(wordings, math.prod(shape), computed)
        margins: Floats = (_shares(criteria) @ each).reshape(shape)
        return margins

    def _singly_of(self, stored: Mapping[str, NDArray[Any]]) -> RowCache[Wording]:
        """Return what is remembered of single criteria for what is stored of a benchmark."""
        known = self._singly.get(id(stored))
        if known is None:
            of_one = max(1, stored["digest"].size) * np.dtype(np.float32).itemsize
            known = RowCache(max(1, min(_SINGLY_CACHED, _SINGLY_BYTES // of_one)))
            with suppress(TypeError):  # of a plain dict nobody says when it is gone
                weakref.finalize(stored, self._singly.pop, id(stored), None)
                self._singly[id(stored)] = known
        return known

    def _margins_by_llm(
        self, criteria: CriteriaSet, direction: Floats, stored: ReadByLLM
    ) -> tuple[Floats, Floats]:
        """Return margins and penalties ``[R, Q]`` of a benchmark whose arrays are read an LLM at a time.

        Margins under ∅ are found as well when they are read first, and remembered with the penalties.
        """
        known = self._under_none.get(id(stored))
        if known is not None and not criteria:
            return known
        margins, general, penalty = (np.zeros(stored.shape, dtype=np.float32) for _ in range(3))

        def judge(row: int, arrays: Mapping[str, NDArray[Any]]) -> None:
            if criteria:
                margins[row] = self._joint(criteria, direction, arrays)
            if known is None:
                general[row] = self._joint(CriteriaSet(), self._general, arrays)
                penalty[row] = unless_by_chance(self._penalty(arrays["features"]))

        stored.each(self._read_under(criteria), judge)
        if known is None:
            known = general, penalty
            weakref.finalize(stored, self._under_none.pop, id(stored), None)
            self._under_none[id(stored)] = known
        return (margins, known[1]) if criteria else known

    def _read_under(self, criteria: CriteriaSet) -> list[str]:
        """Return the names of the arrays by which responses are judged under the criteria."""
        names = ["features"]
        if criteria and self._concepts is not None:
            names.append("counts")
        if self._unread(criteria).any():
            names.append("passages")
        return names

    def _joint(self, criteria: CriteriaSet, direction: Floats, stored: Mapping[str, NDArray[Any]]) -> Floats:
        """What responses, given as stored, have under all criteria together, of which ``direction`` ``[D]``
        is what is neither counted nor found in passages ``[...]``."""
        margins = project(stored["features"], direction * self._features.step)
        if criteria and self._concepts is not None:
            self._concepts.add_margins(criteria, _shares(criteria), stored["counts"], margins)
        if criteria:
            margins += self._found_each(criteria, stored) @ _shares(criteria)
        return margins

    def direction(self, criteria: CriteriaSet) -> Floats:
        """What of the criteria is not counted, folded into one direction ``[D]``;
        without criteria the general one.

        Margins of single criteria are summed with their signed weights and divided by the root of the
        sum of squared weights: agreeing criteria make a verdict surer, contradictory ones cancel.
        """
        if not criteria:
            return self._general
        folded: Floats = _shares(criteria) @ self._signed(criteria)
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
        counted = []
        if criteria and self._concepts is not None:
            counted = self._concepts.reasons(
                criteria, _shares(criteria), response_a["counts"], response_b["counts"]
            )
        counted += self._passages_reasons(criteria, response_a, response_b)
        found = sorted([*counted, *found], key=lambda reason: -abs(reason.contribution))[:MOST_REASONS]
        penalty_a, penalty_b = self._penalty(np.stack([response_a["features"], response_b["features"]]))
        asked = difference @ direction + np.float32(sum(reason.contribution for reason in counted))
        total = held_back(asked, penalty_b - penalty_a)
        if (ahead := float(total - asked)) != 0.0:
            found.insert(0, Reason(_GAMING_LESS if ahead > 0 else _GAMING_MORE, ahead))
        return float(probabilities(total)), found

    def _penalties(self, stored: Mapping[str, NDArray[Any]]) -> Floats:
        """Return what responses of a benchmark, given as stored, lose for looking like gaming ``[R, Q]``."""
        if self._guard is None:
            return np.zeros(stored["digest"].shape, dtype=np.float32)
        return unless_by_chance(self._guard.penalty_once(stored["features"], self._features.step))

    def _penalty(self, features: NDArray[np.int8]) -> Floats:
        """Return what N responses with stored features ``[N, D]`` lose for looking like gaming ``[N]``."""
        if self._guard is None or not len(features):
            return np.zeros(len(features), dtype=np.float32)
        return self._guard.penalty(features, self._features.step)

    def warnings(self, criteria: CriteriaSet) -> tuple[CriterionWarning, ...]:
        """Criteria that style and content do not tell, and criteria that pull in opposite directions."""
        if self._validity is None or not criteria:
            return ()
        return self._validity.warnings(
            criteria, self._ordinary_margins(criteria, self._validity), self._plainness(criteria)
        )

    def _ordinary_margins(self, criteria: CriteriaSet, ordinary: ValidityCheck) -> Floats:
        """Return margins of single criteria on ordinary pairs, polarity included ``[P, K]``; remembered, as
        lists of them are looked at as well."""

        def computed(wordings: list[Wording]) -> Floats:
            unknown = _of_wordings(wordings)
            one, other = (self._counted_each(unknown, counts) for counts in ordinary.counts)
            margins: Floats = self._signed(unknown) @ ordinary.differences.T + (one - other).T
            return margins

        wordings = [criterion.wording for criterion in criteria]
        return self._on_ordinary.rows(wordings, len(ordinary.differences), computed).T

    def signs(self, criteria: CriteriaSet) -> Floats | None:
        """Return what can be seen of K criteria and foretells how often verdicts are right ``[K, S]``; None
        where a part is missing."""
        if self._validity is None or self._concepts is None:
            return None
        if not criteria:
            return np.empty((0, len(SIGNS)), dtype=np.float32)
        embeddings = sentence_encoder().embed([criterion.text for criterion in criteria])
        by_member = [self._validity.differences @ member.directions(embeddings).T for member in self._members]
        avoided = np.array([criterion.polarity.sign < 0 for criterion in criteria], dtype=np.bool_)
        margins = self._ordinary_margins(criteria, self._validity)
        return signs(self._concepts.read(criteria.criteria), avoided, margins, np.stack(by_member))

    def reliability(self, criterion: Criterion) -> Reliability:
        """Return how a criterion is read, polarity included, and how far verdicts under it can be trusted."""
        kind = self.kind(criterion)
        reading = ""
        if self._concepts is not None:
            in_words = self._concepts.likely_in_words if kind == WORDING else self._concepts.in_words
            reading = in_words(criterion)
        measured = self._measured or _UNMEASURED
        seen = None if measured.foretold is None else self.signs(CriteriaSet((criterion,)))
        return measured.of(kind, reading, None if seen is None else seen[0])

    def amounts(self, criteria: CriteriaSet, benchmark: JudgedBenchmark) -> tuple[Amounts, ...]:
        """Return what the criteria surely ask to be counted, weightiest first, each property once."""
        counted = self._counted(criteria)
        if self._concepts is None or not counted:
            return ()
        columns = list(counted)
        stored = benchmark.representation(self._features.name)
        amounts = np.where(
            stored["digest"] == MISSING,
            np.float32(np.nan),
            np.moveaxis(stored["counts"][..., columns], -1, 0).astype(np.float32),
        )
        limited = self._concepts.limited(criteria)
        found = []
        for (column, wished), amount in zip(counted.items(), amounts, strict=True):
            wish = limited.get(column)
            named = (wish.in_words(1), wish.kept(amount)) if wish is not None else ("", None)
            found.append(Amounts(countables()[column].unit_of_mean, amount, wished, *named))
        return tuple(found)

    def absent(
        self, criteria: CriteriaSet, benchmark: JudgedBenchmark, weights: NDArray[np.floating]
    ) -> tuple[CriterionWarning, ...]:
        """Return the criteria for something that hardly any response has, and that this is so."""
        if self._concepts is None or not criteria:
            return ()
        found = []
        for criterion, column, what in self._concepts.things_asked_for(criteria):
            stored = benchmark.representation(self._features.name)
            share = share_with(column, stored["counts"], stored["digest"] != MISSING, weights)
            if share < HARDLY:
                found.append(CriterionWarning(criterion, absence_in_words(what, share)))
        return tuple(found)

    def units(self, criteria: CriteriaSet) -> tuple[str, ...]:
        """Return the units of what ``amounts`` counts, in its order."""
        return tuple(countables()[column].unit_of_mean for column in self._counted(criteria))

    def _counted(self, criteria: CriteriaSet) -> dict[int, int]:
        return self._concepts.counted(criteria) if criteria and self._concepts is not None else {}

    def win_rate_error(self, criteria: CriteriaSet) -> float:
        """Return the standard deviation, in log-odds, by which win rates miss those of a careful reader."""
        if self._measured is None:
            return 0.0
        if not criteria:
            return float(self._measured.error[GENERAL])
        each = self._measured.error[[self.kind(criterion) for criterion in criteria]]
        return float(np.linalg.norm(_shares(criteria) * each))

    def kind(self, criterion: Criterion) -> int:
        """Return of which kind a criterion is, as in ``crm.embedded.reliability``."""
        if self._concepts is None:
            return WORDING
        wanted = self._concepts.read([criterion]).wanted[0]
        [certainty] = self._concepts.certainty([criterion]).tolist()
        return kind_of(wanted, certainty, self._concepts.classifier.countable)

    def _plainness(self, criteria: CriteriaSet) -> Floats:
        """How plainly each criterion names a concept that can be judged ``[K]``."""
        if self._concepts is None:
            return np.zeros(len(criteria), dtype=np.float32)
        return self._concepts.plainness(criteria.criteria)

    def _counted_each(self, criteria: CriteriaSet, counts: NDArray[Any]) -> Floats:
        """What responses with counts ``[..., C]`` gain under single criteria,
        polarity included ``[..., K]``."""
        if self._concepts is None:
            return np.zeros((*counts.shape[:-1], len(criteria)), dtype=np.float32)
        return self._concepts.margins_each(criteria, counts)

    def _unread(self, criteria: CriteriaSet) -> Floats:
        """How much of each criterion passages are to be looked for, negative for those to avoid ``[K]``."""
        if self._passage_weights is None or not criteria:
            return np.zeros(len(criteria), dtype=np.float32)
        signs = np.array([criterion.polarity.sign for criterion in criteria], dtype=np.float32)
        unread = signs if self._concepts is None else signs * self._concepts.unread(criteria.criteria)
        return np.where(np.abs(unread) < _READ_WHOLE, np.float32(0.0), unread)

    def _found_each(self, criteria: CriteriaSet, stored: Mapping[str, NDArray[Any]]) -> Floats:
        """What responses, given as stored, gain by the nearest of their passages under single criteria,
        polarity included ``[..., K]``; passages are looked up only where a criterion asks for them."""
        margins = np.zeros((*stored["digest"].shape, len(criteria)), dtype=np.float32)
        unread = self._unread(criteria)
        if (used := np.flatnonzero(unread)).size and self._passage_weights is not None:
            texts = [criterion.text for criterion in criteria]
            space = self._features.passages
            asked = space.asked(sentence_encoder().embed([texts[number] for number in used]))
            margins[..., used] = (
                space.margins(stored["passages"], asked, self._passage_weights) * unread[used]
            )
        return margins

    def nearest_passage(self, criterion: Criterion, text: str) -> str | None:
        """Return the passage nearest to a criterion of which something is left unread.

        The whole embeddings of the passages say which: what is stored of them is too coarse to quote by.
        """
        cut = passages(text)
        if len(cut) < _SEVERAL or not self._unread(CriteriaSet((criterion,))).any():
            return None
        asked, *each = sentence_encoder().embed([criterion.text, *cut])
        return cut[int((np.stack(each) @ asked).argmax())]

    def _passages_reasons(
        self,
        criteria: CriteriaSet,
        response_a: Mapping[str, NDArray[Any]],
        response_b: Mapping[str, NDArray[Any]],
    ) -> list[Reason]:
        if not criteria:
            return []
        one, other = (self._found_each(criteria, response) for response in (response_a, response_b))
        ahead = float((one - other) @ _shares(criteria))
        return [Reason(UNNAMED[4 + (ahead <= 0)], ahead)] if ahead else []

    def _signed(self, criteria: CriteriaSet) -> Floats:
        """Directions of the single criteria, flipped for those to avoid, ``[K, D]``."""
        directions = self._learn(criteria.criteria)
        signs = np.array([criterion.polarity.sign for criterion in criteria], dtype=np.float32)
        signed: Floats = directions * signs[:, None]
        return signed

    def _learn(self, criteria: Sequence[Criterion]) -> Floats:
        """Directions of the texts of K criteria ``[K, D]``, remembered from earlier calls or computed now."""
        wordings = [criterion.wording for criterion in criteria]
        return self._directions.rows(wordings, self._features.size, self._computed_directions)

    def _computed_directions(self, wordings: list[Wording]) -> Floats:
        embeddings = sentence_encoder().embed([text for text, _ in wordings])
        each = [member.directions(embeddings) for member in self._members]
        directions: Floats = np.mean(each, axis=0) + self._offset
        if self._concepts is not None:
            criteria = _criteria_of(wordings)
            if (ordinary := self._validity) is not None:
                stays = self._concepts.not_opposed(
                    criteria, directions, ordinary.differences, ordinary.counts
                )
                directions *= stays[:, None]
            directions = self._concepts.mixed_in(criteria, directions)
        return directions

    @classmethod
    def load(cls, path: Path, *, name: str = "embedded") -> EmbeddedCRM:
        """Read trained weights, and the bundled representation that they were trained on.

        Raises:
            UnavailableError: A file is absent or damaged, or the representation is another one.
        """
        arrays = load_arrays(path, "representation", "representation_digest", "version", "members", "general")
        features = representation(str(arrays["representation"]))
        if str(arrays["representation_digest"]) != features.digest:
            raise UnavailableError(
                f"{path.name} was trained on another version of the representation {features.name}: "
                "train it again with “python -m crm train embedded”."
            )
        validity = ValidityCheck.from_arrays(arrays)
        concepts = KnownConcepts.from_arrays(arrays, None if validity is None else validity.scope)
        return cls(
            members_of(arrays),
            arrays["general"].astype(np.float32),
            features,
            name=name,
            version=str(arrays["version"]) + _lacking(concepts),
            counterweight=float(arrays.get("counterweight", 0.0)),
            guard=Guard.from_arrays(arrays),
            validity=validity,
            concepts=concepts,
            passage_weights=arrays.get("passage_weights"),
            measured=KindsOfReliability.from_arrays(arrays),
        )

    def concept_margins(self) -> Floats:
        """Return what more of each concept prefers of the ordinary pairs that it knows, in log-odds
        ``[P, K]``.

        Raises:
            UnavailableError: It was trained without concepts or ordinary pairs.
        """
        if self._concepts is None or self._validity is None:
            raise UnavailableError(f"The weights {self.version} know no concepts: train them with concepts.")
        return self._concepts.margins_of_concepts(self._validity.differences, self._validity.counts)

    def ordinary_margins(self, criteria: CriteriaSet) -> Floats:
        """Return margins of K single criteria on the ordinary pairs that it knows, polarity included
        ``[P, K]``; raises as ``concept_margins``."""
        if self._concepts is None or self._validity is None:
            raise UnavailableError(f"The weights {self.version} know no concepts: train them with concepts.")
        return self._ordinary_margins(criteria, self._validity)

    def limits(self, criteria: CriteriaSet) -> dict[int, Limit]:
        """Return the amounts that the criteria name, by count, as they were read."""
        limited = {} if self._concepts is None else self._concepts.limited(criteria)
        return {column: wish.limit for column, wish in limited.items() if wish.limit is not None}

    @property
    def lacking(self) -> str:
        """What of the judge is not installed, as a part of its version; empty where all is."""
        return _lacking(self._concepts)


def _lacking(concepts: KnownConcepts | None) -> str:
    return "-without-smollm2" if concepts is not None and lacks_decoder() else ""


def held_back(margin: Floats | np.float32, ahead: Floats | np.float32) -> Floats:
    """Return margins with what the guard takes off, ``ahead`` being what it takes off B less that of A.

    In a ranking, responses that are alike in what is asked stay alike unless one is surely gaming: without a
    table in either, “uses tables” is not decided by which of two ordinary answers looks more like it.
    """
    stays = _is_tie(margin) & (np.abs(ahead) < _SURELY)
    return np.asarray(np.where(stays, margin, margin + ahead), dtype=np.float32)


def unless_by_chance(penalty: Floats) -> Floats:
    """Return what responses of LLMs lose ``[..., Q]``, too little to decide a tie where an LLM hardly has any
    that is surely gaming.

    Of a thousand ordinary responses one is taken for gaming: where hardly any has what is asked, such as a
    table, so few decided who stands before whom.
    """
    is_habit = (penalty >= _SURELY).mean(axis=-1, keepdims=True) >= _A_HABIT
    return np.where(is_habit, penalty, np.minimum(penalty, np.nextafter(_SURELY, 0.0, dtype=np.float32)))


def _is_tie(margin: Floats | np.float32) -> NDArray[np.bool_]:
    return np.asarray(np.abs(margin) < _ALIKE)


def members_of(arrays: Mapping[str, NDArray[Any]]) -> list[Member]:
    """Return the networks of a weights file."""
    return [
        Member(
            cosine=float(arrays[f"cosine_{index}"]),
            **{field: arrays[f"{field}_{index}"].astype(np.float32) for field in MEMBER_ARRAYS},
        )
        for index in range(int(arrays["members"]))
    ]


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
    validity: ValidityCheck | None = None,
    concepts: KnownConcepts | None = None,
    passage_weights: Floats | None = None,
    measured: KindsOfReliability | None = None,
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
    if validity is not None:
        arrays |= validity.arrays()
    if concepts is not None:
        arrays |= concepts.arrays()
    if passage_weights is not None:
        arrays["passage_weights"] = passage_weights
    if measured is not None:
        arrays |= measured.arrays()
    np.savez_compressed(path, **arrays)  # type: ignore[arg-type]


_UNMEASURED = KindsOfReliability(np.full(3, np.nan, dtype=np.float32), np.zeros(4, dtype=np.float32))


def _of_wordings(wordings: Sequence[Wording]) -> CriteriaSet:
    return CriteriaSet(tuple(_criteria_of(wordings)))


def _criteria_of(wordings: Sequence[Wording]) -> list[Criterion]:
    """Return criteria with these wordings: of all questions at once, so more than one person may have."""
    return [Criterion(text, polarity=polarity) for text, polarity in wordings]


def _shares(criteria: CriteriaSet) -> Floats:
    """Return what the margins of K criteria are multiplied with before they are summed ``[K]``."""
    weights = np.array([criterion.weight.value_in_sum for criterion in criteria], dtype=np.float32)
    shares: Floats = weights / np.linalg.norm(weights)
    return shares


QueryResponse = tuple[str, str]
"""A response and the query it answers: what a representation is made of."""


def query_responses(pair: Pair) -> tuple[QueryResponse, QueryResponse]:
    """Return both responses, each with the query."""
    return (pair.response_a, pair.query), (pair.response_b, pair.query)


def distinct_answers(pairs: Sequence[Pair]) -> tuple[list[QueryResponse], NDArray[np.intp]]:
    """Return the distinct responses of P pairs, each with its query, and which two are in each ``[P, 2]``."""
    answers = list(dict.fromkeys(answer for pair in pairs for answer in query_responses(pair)))
    place = {answer: number for number, answer in enumerate(answers)}
    rows = [[place[answer] for answer in query_responses(pair)] for pair in pairs]
    return answers, np.array(rows, dtype=np.intp).reshape(len(pairs), 2)


@cache
def embedded_crm() -> EmbeddedCRM:
    """Return the bundled embedded CRM."""
    return EmbeddedCRM.load(EMBEDDED_FILE)
