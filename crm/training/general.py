"""Preferences without criteria, for the default ranking ∅: what people in general prefer.

The votes of people are known for LLMs, not for single responses: LMArena's ratings say how often one LLM
should be preferred to another (Chiang et al. 2024, https://arxiv.org/abs/2403.04132). The direction is
fitted so that the LLMs' mean probabilities come out so: on AlpacaEval against one baseline, where the target
of an LLM without a rating is foretold from AlpacaEval's official win rates, which follow the ratings where
both are known; and between current LLMs, of whom any two are compared on the prompts that both answered.
Which of two responses is preferred is learnt from annotators' verdicts and, as weak evidence, from GPT-4's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from scipy.special import expit, logit
from torch.nn import functional

from crm.criteria import CriteriaSet
from crm.data.corpora import (
    CorporaTexts,
    LeftOut,
    alpaca_eval_file,
    modern_file,
    read_alpaca_eval,
)
from crm.data.judge_benchmarks import read_rows
from crm.data.pairs import LabelledPair
from crm.embedded.model import QueryResponse
from crm.errors import CRMError
from crm.paths import EMBEDDED_FILE
from crm.protocol import Floats, Pair, probabilities
from crm.training.comparisons import ALL_TYPICAL, read_pairs
from crm.training.duels import ELO, Duels
from parsing.documents import read_json, read_toml
from parsing.files import read_bytes

PREFERENCES_FILE = Path("alpaca_eval") / "preferences_gpt4_turbo.parquet"
LEADERBOARD_FILE = Path("alpaca_eval") / "leaderboard_alpaca_eval_2.csv"
RATINGS_FILE = Path("lmarena_ratings") / "text.json"
NAMES_FILE = Path(__file__).with_name("arena_names.toml")
BASELINE = "gpt4_1106_preview"
_COLUMNS = ("baseline", "instruction_index", "model", "preference")
_FORETOLD = 0.4
"""Weight of an LLM whose target is foretold, against one that people have rated."""
_RIDGE = 0.05
_OVERALL, _CREATIVE = KINDS = ("full", "creative_writing")
"""LMArena's categories of which ratings are targets."""
_SOURCES = {
    "slop_score": _CREATIVE,
    "story_bench": _CREATIVE,
    "longform_plan": _CREATIVE,
    "misguided_attention": _OVERALL,
    "speechmap_criticism": _OVERALL,
    "syco_bench": _OVERALL,
}
"""Sources of current LLMs' responses, and by which ratings their authors are compared."""
_SURENESS = {1: 0.7, 2: 0.85, 3: 0.97}
"""How often people would choose as an annotator who was so sure."""
_SURE = 0.85
"""The same of readers who did not say how sure they were."""
_TIE = 0.5


@dataclass(frozen=True)
class GeneralOptions:
    """Weights of the parts of the loss, chosen by leaving LLMs out and by annotated pairs kept apart.

    Attributes:
        penalty: Of the squared direction.
        llms: Of the LLMs' mean probabilities.
        duels: Of current LLMs' mean probabilities against each other.
        annotated: Of annotators' verdicts.
        verdicts: Of GPT-4's verdicts.
    """

    penalty: float = 3e-3
    llms: float = 100.0
    duels: float = 10.0
    annotated: float = 15.0
    verdicts: float = 0.3


@dataclass(frozen=True)
class Verdicts:
    """M pairs of responses with the probability that the first is preferred.

    Attributes:
        difference: φ(A) − φ(B) ``[M, D]``.
        prob: ``[M]``.
    """

    difference: Floats
    prob: Floats

    @property
    def decided(self) -> int:
        """How many are no ties."""
        return int(np.count_nonzero(self.prob != _TIE))

    def right(self, direction: Floats) -> float:
        """Return the share of those on which a direction ``[D]`` agrees."""
        decided = self.prob != _TIE
        ahead = self.difference[decided] @ direction
        return float(((ahead > 0) == (self.prob[decided] > _TIE)).mean())


@dataclass(frozen=True)
class GeneralData:
    """N pairs of L LLMs against one baseline, without criteria.

    Attributes:
        difference: φ(LLM) − φ(baseline) ``[N, D]``.
        llm: Which LLM ``[N]``.
        prob: Probability by GPT-4 that the LLM's response is preferred ``[N]``, NaN where unknown.
        target: How often people should prefer each LLM ``[L]``, NaN where unknown.
        weight: How much each target counts ``[L]``.
        annotated: Pairs of other responses with annotators' verdicts.
        duels: Other LLMs, rated and compared with each other.
    """

    llms: tuple[str, ...]
    difference: Floats
    llm: NDArray[np.intp]
    prob: Floats
    target: Floats
    weight: Floats
    annotated: Verdicts | None = None
    duels: Duels | None = None

    def predicted(self, direction: Floats) -> NDArray[np.float64]:
        """Mean probability of every LLM to be preferred ``[L]``, NaN for one without pairs."""
        prob = probabilities(self.difference @ direction)
        counts = np.bincount(self.llm, minlength=len(self.llms))
        with np.errstate(invalid="ignore"):
            return np.bincount(self.llm, prob, minlength=len(self.llms)) / counts


@dataclass(frozen=True)
class HumanRatings:
    """How people rate L LLMs, and what AlpacaEval says of them.

    Attributes:
        rating: LMArena's rating in Elo points ``[L]``, NaN where there is none.
        official: Length-controlled and plain win rate against the baseline, from 0 to 1 ``[L, 2]``.
        baseline: The baseline's rating.
    """

    rating: NDArray[np.float64]
    official: NDArray[np.float64]
    baseline: float

    def targets(self, hidden: int | None = None) -> tuple[Floats, Floats]:
        """Return how often people should prefer each LLM to the baseline ``[L]``,
        and how much that counts ``[L]``.

        Args:
            hidden: An LLM whose rating is to be taken for unknown.
        """
        rating = self.rating.copy()
        if hidden is not None:
            rating[hidden] = np.nan
        rated = np.isfinite(rating)
        log_odds = ELO * (rating - self.baseline)
        given = np.column_stack([logit(np.clip(self.official, 1e-4, 1 - 1e-4)), np.ones(len(rating))])
        known = rated & np.isfinite(given).all(axis=1)
        foretold = np.full(len(rating), np.nan)
        if known.any():
            inner = given[known].T @ given[known] + np.diag([_RIDGE, _RIDGE, 0.0])
            foretold = given @ np.linalg.solve(inner, given[known].T @ log_odds[known])
        target = expit(np.where(rated, log_odds, foretold))
        weight = np.where(rated, 1.0, np.where(np.isfinite(foretold), _FORETOLD, 0.0))
        return target.astype(np.float32), weight.astype(np.float32)


def read_human_ratings(corpora: Path, llms: Sequence[str]) -> HumanRatings:
    """Read the ratings of LLMs by their names in AlpacaEval.

    Raises:
        CRMError: A file is missing.
    """
    ratings = _arena_ratings(corpora)[_OVERALL]
    names = arena_names()
    official = _official(corpora)

    def rating(llm: str) -> float:
        return float(ratings[names[llm]]["rating"]) if names.get(llm) in ratings else float("nan")

    return HumanRatings(
        rating=np.array([rating(llm) for llm in llms]),
        official=official.reindex(list(llms)).to_numpy(dtype=np.float64),
        baseline=rating(BASELINE),
    )


@cache
def arena_names(corpus: str = "alpaca_eval") -> Mapping[str, str]:
    """Return LMArena's names of a corpus' LLMs; empty where it does not rate one."""
    names: Mapping[str, str] = read_toml(NAMES_FILE.read_bytes())[corpus]
    return names


@dataclass(frozen=True)
class RatedResponses:
    """N responses of rated current LLMs to prompts of several sources.

    Attributes:
        llms: The L LLMs.
        answers: Text and prompt of each response.
        llm: Whose each is ``[N]``.
        query: Which of Q prompts it answers ``[N]``.
        kind: Of each prompt ``[Q]``, an index of ``KINDS``.
        rating: Of each LLM by kind, in Elo points ``[L, K]``.
    """

    llms: tuple[str, ...]
    answers: tuple[QueryResponse, ...]
    llm: NDArray[np.int64]
    query: NDArray[np.int64]
    kind: NDArray[np.int64]
    rating: NDArray[np.float64]

    def duels(self, features: Floats) -> Duels:
        """Return the duels of the responses with these features ``[N, D]``."""
        return Duels.between(features, self.llm, self.query, self.kind, self.rating)


def read_rated_responses(corpora: Path, prompts: int, seed: int) -> RatedResponses:
    """Read the responses of rated current LLMs to some prompts of each source.

    Args:
        prompts: How many to draw of a source.

    Raises:
        CRMError: A file is missing.
    """
    rated = [(llm, name) for llm, name in arena_names("modern_llms").items() if name]
    number = {llm: index for index, (llm, _) in enumerate(rated)}
    texts, rng = CorporaTexts(corpora), np.random.default_rng(seed)
    kinds: list[int] = []
    answers, llm, query = [], [], []
    for source, kind in _SOURCES.items():
        given = texts.modern(source)
        for prompt in rng.permutation(sorted({prompt for prompt, _ in given}))[:prompts].tolist():
            for name, index in number.items():
                if (prompt, name) in given:
                    question, text = given[prompt, name]
                    answers.append((text, question))
                    llm.append(index)
                    query.append(len(kinds))
            kinds.append(KINDS.index(kind))
    ratings = _arena_ratings(corpora)
    rating = [
        [ratings[kind][name]["rating"] if name in ratings[kind] else np.nan for kind in KINDS]
        for _, name in rated
    ]
    return RatedResponses(
        tuple(number), tuple(answers), np.array(llm), np.array(query), np.array(kinds), np.array(rating)
    )


def _arena_ratings(corpora: Path) -> Mapping[str, Mapping[str, Mapping[str, float]]]:
    path = corpora / RATINGS_FILE
    if not path.is_file():
        raise CRMError(f"There is no file {path}: check the path of the corpora.")
    found: Mapping[str, Mapping[str, Mapping[str, float]]] = read_json(read_bytes(path))
    return found


def read_typical_verdicts(
    path: Path,
    corpora: Path,
    split: Literal["train", "dev"],
    left_out: LeftOut | None = None,
    *,
    compared: Sequence[Path] = ALL_TYPICAL,
) -> tuple[list[Pair], Floats]:
    """Read pairs of which annotators and readers said what a typical person would prefer.

    Args:
        path: Annotations of current LLMs, with how sure the annotator was.
        compared: Comparisons, whose readers were not asked for that.
        left_out: Where pairs are counted whose texts are not there; without it there must be none.

    Returns:
        P pairs, and how probably a person prefers A ``[P]``, a half where it was a tie.

    Raises:
        CRMError: A row that is not as described, or a response that the corpora lack.
    """

    def prefers_a(row: dict[str, Any]) -> float:
        sure = _SURENESS[row["sure"]] if "sure" in row else _SURE
        return {"a": sure, "b": 1.0 - sure, "tie": _TIE}[row["typical"]]

    found = [
        each for file in (path, *compared) for each in read_pairs(file, corpora, split, left_out, prefers_a)
    ]
    return [pair for _, pair, _ in found], np.array([prob for *_, prob in found], dtype=np.float32)


def check_general_data(corpora: Path) -> None:
    """See that all is there that the default ranking is fitted on. Raises CRMError: Something is missing."""
    sources = (modern_file(source) for source in _SOURCES)
    needed = (PREFERENCES_FILE, LEADERBOARD_FILE, RATINGS_FILE, alpaca_eval_file(BASELINE).path, *sources)
    if missing := [str(file) for file in needed if not (corpora / file).is_file()]:
        raise CRMError(
            f"The default ranking ∅ is fitted on people's votes, of which {corpora} lacks {missing[0]}"
            f"{f' and {len(missing) - 1} more files' if len(missing) > 1 else ''}: “train embedded” takes it "
            f"over from the bundled weights with --general-of bundled/crm/{EMBEDDED_FILE.name}."
        )


def read_general_pairs(corpora: Path, samples: int, seed: int) -> list[LabelledPair]:
    """Read pairs of some instructions: of the LLMs that ``arena_names.toml`` lists.

    A is an LLM's response and B the baseline's; ``id`` names the LLM, and the label is the judge's
    probability that A is preferred, from 0 to 1, put on the scale from −1 to 1.

    Args:
        samples: How many instructions to draw, each with all the LLMs' responses to it.

    Raises:
        CRMError: A file is missing or lacks a column.
    """
    judged = _judged(corpora)
    baseline = BASELINE
    llms = [llm for llm in arena_names() if llm != baseline]
    answers = read_alpaca_eval(corpora, baseline)
    instructions = list(answers)
    drawn = sorted(np.random.default_rng(seed).permutation(len(instructions))[:samples].tolist())
    prob = {(row["model"], row["instruction_index"]): row["preference"] for row in judged}
    return [
        LabelledPair(
            Pair(instructions[index], responses[instructions[index]], answers[instructions[index]]),
            CriteriaSet(),
            2 * prob.get((llm, index), float("nan")) - 1,
            id=llm,
        )
        for llm in llms
        for responses in [read_alpaca_eval(corpora, llm)]
        for index in drawn
        if instructions[index] in responses
    ]


def _official(corpora: Path) -> pd.DataFrame:
    """Return length-controlled and plain win rates, from 0 to 1, of AlpacaEval 2's official leaderboard."""
    path = corpora / LEADERBOARD_FILE
    if not path.is_file():
        raise CRMError(f"There is no file {path}: check the path of the corpora.")
    return pd.read_csv(path, index_col=0)[["length_controlled_winrate", "win_rate"]] / 100.0


def general_data(
    pairs: Sequence[LabelledPair],
    difference: Floats,
    ratings: HumanRatings,
    annotated: Verdicts | None = None,
    duels: Duels | None = None,
) -> GeneralData:
    """Join pairs, their differences ``[N, D]`` and the ratings of the LLMs of ``general_llms(pairs)``."""
    llms = general_llms(pairs)
    number = {llm: index for index, llm in enumerate(llms)}
    target, weight = ratings.targets()
    return GeneralData(
        llms=llms,
        difference=difference,
        llm=np.array([number[item.id] for item in pairs], dtype=np.intp),
        prob=np.array([(item.label + 1) / 2 for item in pairs], dtype=np.float32),
        target=target,
        weight=weight,
        annotated=annotated,
        duels=duels,
    )


def general_llms(pairs: Sequence[LabelledPair]) -> tuple[str, ...]:
    """Return the LLMs of pairs in the order in which they appear."""
    return tuple(dict.fromkeys(str(item.id) for item in pairs))


def fit_general(data: GeneralData, options: GeneralOptions | None = None) -> Floats:
    """Return a direction ``[D]``
    under which the LLMs' mean probabilities and single verdicts come out as given.

    Ridge-penalised logistic regression without intercept, by cross-entropy.
    """
    chosen = options or GeneralOptions()
    direction = torch.zeros(data.difference.shape[1], requires_grad=True)
    judged = np.isfinite(data.prob)
    inputs, targets = torch.from_numpy(data.difference), torch.from_numpy(data.prob[judged])
    is_judged, llm = torch.from_numpy(judged), torch.from_numpy(data.llm.astype(np.int64))
    rates = torch.from_numpy(np.nan_to_num(data.target, nan=0.5))
    weight = torch.from_numpy(data.weight / max(float(data.weight.sum()), 1e-9))
    counts = torch.bincount(llm, minlength=len(data.llms)).clamp(min=1)
    annotated = data.annotated
    duel_loss = None if data.duels is None else data.duels.loss()
    optimizer = torch.optim.LBFGS([direction], max_iter=200, line_search_fn="strong_wolfe")

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        margins = inputs @ direction
        means = torch.zeros(len(data.llms)).index_add(0, llm, torch.sigmoid(margins)) / counts
        apart = functional.binary_cross_entropy(means.clamp(1e-4, 1 - 1e-4), rates, reduction="none")
        loss = chosen.penalty * direction.square().sum() + chosen.llms * (weight * apart).sum()
        if len(targets):
            verdicts = functional.binary_cross_entropy_with_logits(margins[is_judged], targets)
            loss = loss + chosen.verdicts * verdicts
        if annotated is not None:
            compared = torch.from_numpy(annotated.difference) @ direction
            verdicts = functional.binary_cross_entropy_with_logits(compared, torch.from_numpy(annotated.prob))
            loss = loss + chosen.annotated * verdicts
        if duel_loss is not None:
            loss = loss + chosen.duels * duel_loss(direction)
        torch.autograd.backward(loss)
        return loss

    optimizer.step(closure)  # type: ignore[no-untyped-call]
    fitted: Floats = direction.detach().numpy().astype(np.float32)
    return fitted


def leave_duels_out(
    data: GeneralData, rating: NDArray[np.float64], options: GeneralOptions | None = None
) -> NDArray[np.float64]:
    """Return the rating of every LLM of the duels, in Elo points, as foretold by a direction fitted without
    it ``[L]``, NaN for one without duels.

    Args:
        rating: Of each LLM ``[L]``.
    """
    found = np.full(len(rating), np.nan)
    duels = data.duels
    if duels is not None:
        for llm in np.unique(duels.llms).tolist():
            direction = fit_general(replace(data, duels=duels.without(llm)), options)
            found[llm] = duels.foretold(direction, llm, rating)
    return found


def leave_ratings_out(
    data: GeneralData, ratings: HumanRatings, options: GeneralOptions | None = None
) -> NDArray[np.float64]:
    """Win rate of every rated LLM as foretold by a direction fitted without its rating ``[L]``,
    NaN for others."""
    predicted = np.full(len(data.llms), np.nan)
    for llm in np.flatnonzero(np.isfinite(ratings.rating)).tolist():
        target, weight = ratings.targets(hidden=llm)
        direction = fit_general(replace(data, target=target, weight=weight), options)
        predicted[llm] = data.predicted(direction)[llm]
    return predicted


def _judged(corpora: Path) -> list[dict[str, Any]]:
    path = corpora / PREFERENCES_FILE
    rows = [row for _, row in read_rows(path, _COLUMNS)]
    if rows and (missing := [column for column in _COLUMNS if column not in rows[0]]):
        raise CRMError(f"{path.name} lacks the column {missing[0]!r}.")
    return rows
