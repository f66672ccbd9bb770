"""Preferences without criteria, for the default ranking ∅: a judge's verdicts and official win rates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch.nn import functional

from crm.criteria import CriteriaSet
from crm.data.pairs import LabelledPair, read_alpaca_eval
from crm.errors import CRMError
from crm.protocol import Floats, Pair, probabilities

PREFERENCES_FILE = Path("alpaca_eval") / "preferences_gpt4_turbo.parquet"
LEADERBOARD_FILE = Path("alpaca_eval") / "leaderboard_alpaca_eval_2.csv"
_COLUMNS = {"instruction_index", "model", "baseline", "preference"}


@dataclass(frozen=True)
class GeneralOptions:
    """Weights of the parts of the loss, chosen by leaving LLMs out.

    Attributes:
        penalty: Of the squared direction.
        win_rates: Of the official win rates, against the single verdicts.
    """

    penalty: float = 1e-3
    win_rates: float = 10.0


@dataclass(frozen=True)
class GeneralData:
    """N pairs of L LLMs against one baseline, without criteria.

    Attributes:
        difference: φ(LLM) − φ(baseline) ``[N, D]``.
        llm: Which LLM ``[N]``.
        prob: Probability that the LLM's response is preferred ``[N]``, NaN where unknown.
        win_rate: Official win rates ``[L]`` from 0 to 1, NaN where unknown.
    """

    llms: tuple[str, ...]
    difference: Floats
    llm: NDArray[np.intp]
    prob: Floats
    win_rate: Floats

    def of(self, chosen: NDArray[np.bool_]) -> GeneralData:
        """Return the part of some LLMs ``[L]``, under the same numbers."""
        rows = chosen[self.llm]
        rates = np.where(chosen, self.win_rate, np.nan).astype(np.float32)
        return GeneralData(self.llms, self.difference[rows], self.llm[rows], self.prob[rows], rates)

    def predicted(self, direction: Floats) -> NDArray[np.float64]:
        """Mean probability of every LLM to be preferred ``[L]``, NaN for one without pairs."""
        prob = probabilities(self.difference @ direction)
        counts = np.bincount(self.llm, minlength=len(self.llms))
        with np.errstate(invalid="ignore"):
            return np.bincount(self.llm, prob, minlength=len(self.llms)) / counts


def read_general_pairs(corpora: Path, samples: int, seed: int) -> list[LabelledPair]:
    """Read pairs of some instructions: of LLMs that were judged, and of those with an official win rate.

    A is an LLM's response and B the baseline's; ``id`` names the LLM, and the label is the judge's
    probability that A is preferred, from 0 to 1, put on the scale from −1 to 1.

    Args:
        samples: How many instructions to draw, each with all the LLMs' responses to it.

    Raises:
        CRMError: A file is missing or lacks a column.
    """
    table = _judged(corpora)
    [baseline] = table["baseline"].unique()
    present = {folder.name for folder in (corpora / "alpaca_eval" / "results").iterdir()}
    llms = sorted({*table["model"].unique(), *(present & official_win_rates(corpora).keys())} - {baseline})
    answers = read_alpaca_eval(corpora, baseline)
    instructions = list(answers)
    drawn = sorted(np.random.default_rng(seed).permutation(len(instructions))[:samples].tolist())
    prob = {
        (llm, index): preference
        for llm, index, preference in zip(
            table["model"], table["instruction_index"].tolist(), table["preference"].tolist(), strict=True
        )
    }
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


def official_win_rates(corpora: Path) -> dict[str, float]:
    """Return win rates, from 0 to 1, of AlpacaEval 2's official leaderboard.

    Raises:
        CRMError: The file is missing.
    """
    path = corpora / LEADERBOARD_FILE
    if not path.is_file():
        raise CRMError(f"There is no file {path}: check the path of the corpora.")
    rates = pd.read_csv(path, index_col=0)["win_rate"] / 100.0
    return {str(llm): float(rate) for llm, rate in rates.items()}


def general_data(
    pairs: Sequence[LabelledPair], difference: Floats, win_rates: Mapping[str, float]
) -> GeneralData:
    """Join pairs, their differences ``[N, D]`` and official win rates."""
    llms = tuple(dict.fromkeys(item.id for item in pairs))
    number = {llm: index for index, llm in enumerate(llms)}
    return GeneralData(
        llms=llms,
        difference=difference,
        llm=np.array([number[item.id] for item in pairs], dtype=np.intp),
        prob=np.array([(item.label + 1) / 2 for item in pairs], dtype=np.float32),
        win_rate=np.array([win_rates.get(llm, float("nan")) for llm in llms], dtype=np.float32),
    )


def fit_general(data: GeneralData, options: GeneralOptions | None = None) -> Floats:
    """Return a direction ``[D]`` under which single verdicts and the LLMs' win rates come out as they were.

    Ridge-penalised logistic regression without intercept: cross-entropy of the judged pairs, and of every
    LLM's mean probability with its official win rate.
    """
    chosen = options or GeneralOptions()
    direction = torch.zeros(data.difference.shape[1], requires_grad=True)
    judged, rated = np.isfinite(data.prob), np.isfinite(data.win_rate)
    inputs, targets = torch.from_numpy(data.difference), torch.from_numpy(data.prob[judged])
    is_judged, llm = torch.from_numpy(judged), torch.from_numpy(data.llm.astype(np.int64))
    is_rated, rates = torch.from_numpy(rated), torch.from_numpy(data.win_rate[rated])
    counts = torch.bincount(llm, minlength=len(data.llms)).clamp(min=1)
    optimizer = torch.optim.LBFGS([direction], max_iter=200, line_search_fn="strong_wolfe")

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        margins = inputs @ direction
        loss = chosen.penalty * direction.square().sum()
        if len(targets):
            loss = loss + functional.binary_cross_entropy_with_logits(margins[is_judged], targets)
        if len(rates):
            means = torch.zeros(len(data.llms)).index_add(0, llm, torch.sigmoid(margins)) / counts
            means = means[is_rated].clamp(1e-4, 1 - 1e-4)
            loss = loss + chosen.win_rates * functional.binary_cross_entropy(means, rates)
        torch.autograd.backward(loss)
        return loss

    optimizer.step(closure)  # type: ignore[no-untyped-call]
    fitted: Floats = direction.detach().numpy().astype(np.float32)
    return fitted


def leave_llms_out(
    data: GeneralData, folds: int = 8, seed: int = 0, options: GeneralOptions | None = None
) -> NDArray[np.float64]:
    """Win rate of every LLM as predicted by a direction fitted without it ``[L]``."""
    fold = np.random.default_rng(seed).permutation(len(data.llms)) % folds
    predicted = np.full(len(data.llms), np.nan)
    for number in range(folds):
        direction = fit_general(data.of(fold != number), options=options)
        predicted[fold == number] = data.predicted(direction)[fold == number]
    return predicted


def _judged(corpora: Path) -> pd.DataFrame:
    path = corpora / PREFERENCES_FILE
    if not path.is_file():
        raise CRMError(f"There is no file {path}: check the path of the corpora.")
    table = pd.read_parquet(path)
    if missing := _COLUMNS - set(table.columns):
        raise CRMError(f"{path.name} lacks the column {sorted(missing)[0]!r}.")
    return table
