"""Preferences without criteria, for the default ranking ∅: a judge's probabilities against one baseline."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import torch
from torch.nn import functional

from crm.encoder import Progress
from crm.errors import DatasetError
from crm.protocol import Floats
from crm.representation import Representation
from crm.training.preferences import read_alpaca_eval

PREFERENCES_FILE = Path("alpaca_eval") / "preferences_gpt4_turbo.parquet"
_COLUMNS = {"instruction_index", "model", "baseline", "preference"}


def general_pairs(
    corpora: Path, features: Representation, samples: int, seed: int, progress: Progress | None = None
) -> tuple[Floats, Floats]:
    """Differences φ(LLM) − φ(baseline) ``[N, D]`` and the probabilities that the LLM is preferred ``[N]``.

    Args:
        corpora: Folder with ``alpaca_eval/``.
        features: The representation.
        samples: How many instructions to draw, each with all the LLMs' responses to it.
        seed: Of the draw.
        progress: Told how many responses are encoded.

    Raises:
        DatasetError: The file is missing or lacks a column.
    """
    path = corpora / PREFERENCES_FILE
    if not path.is_file():
        raise DatasetError(f"There is no file {path}: check the path of the corpora.")
    table = pd.read_parquet(path)
    if missing := _COLUMNS - set(table.columns):
        raise DatasetError(f"{path.name} lacks the column {sorted(missing)[0]!r}.")
    [baseline] = table["baseline"].unique()
    responses = {llm: read_alpaca_eval(corpora, llm) for llm in (*table["model"].unique(), baseline)}
    instructions = list(responses[baseline])
    drawn = np.random.default_rng(seed).permutation(len(instructions))[:samples]
    table = table[table["instruction_index"].isin(drawn)]
    rows = zip(table["model"], table["instruction_index"].tolist(), table["preference"].tolist(), strict=True)
    pairs = [
        (responses[llm][instruction], responses[baseline][instruction], prob)
        for llm, index, prob in rows
        if (instruction := instructions[index]) in responses[llm]
    ]
    texts = list(dict.fromkeys(text for first, second, _ in pairs for text in (first, second)))
    encoded = features.encode(texts, progress)["features"]
    index = {text: position for position, text in enumerate(texts)}
    difference = encoded[[index[first] for first, _, _ in pairs]].astype(np.float32)
    difference -= encoded[[index[second] for _, second, _ in pairs]]
    return difference * np.float32(features.step), np.array([prob for *_, prob in pairs], dtype=np.float32)


def fit_general(difference: Floats, prob: Floats, penalty: float = 1e-3) -> Floats:
    """Ridge-penalised logistic regression without intercept on soft labels, as a direction ``[D]``."""
    direction = torch.zeros(difference.shape[1], requires_grad=True)
    inputs, targets = torch.from_numpy(difference), torch.from_numpy(prob)
    optimizer = torch.optim.LBFGS([direction], max_iter=200, line_search_fn="strong_wolfe")

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        loss = functional.binary_cross_entropy_with_logits(inputs @ direction, targets)
        loss = loss + penalty * direction.square().sum()
        torch.autograd.backward(loss)
        return loss

    optimizer.step(closure)  # type: ignore[no-untyped-call]
    fitted: Floats = direction.detach().numpy().astype(np.float32)
    return fitted
