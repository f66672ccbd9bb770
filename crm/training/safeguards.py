"""Fit what keeps the embedded CRM from wrong verdicts: the guard and the scope classifier."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from torch import nn
from torch.nn import functional

from crm.embedded.guard import Guard
from crm.embedded.representation import Representation
from crm.embedded.surface import N_BUCKETS, word_hashes
from crm.embedded.validity import JUDGEABLE, ScopeClassifier, wish_features
from crm.protocol import Floats
from parsing.documents import read_json
from parsing.files import read_bytes

_SEEN = (
    *("words", "sentence_length", "distinct_words", "function_words", "empty", "repetition", "judge_talk"),
    *("list_share", "item_words", "headings", "bold", "emphasis", "emojis", "capitals", "exclamations"),
    *("names", "numbers", "placeholders"),
)
"""Style features that the guard may see, beside relevance: those that attacks exaggerate. Content, tone and
the other style features would let it take an unusual but honest style for an attack."""


@dataclass(frozen=True)
class GuardOptions:
    """Hyperparameters, chosen by attacks in other words and by false alarms on unseen instructions.

    Attributes:
        false_alarms: Share of the ordinary responses that may be held back.
        attacks: Weight of all attacks together, against that of all ordinary responses.
    """

    hidden: int = 32
    epochs: int = 100
    batch: int = 512
    dropout: float = 0.05
    learning_rate: float = 2e-3
    weight_decay: float = 0.1
    attacks: float = 0.5
    false_alarms: float = 0.015
    seed: int = 0


def seen_columns(features: Representation) -> NDArray[np.intp]:
    """Columns of φ that the guard reads."""
    names = features.sheet.names
    style = [features.style.start + names.index(name) for name in _SEEN]
    return np.array([*style, *range(features.relevance.start, features.relevance.stop)], dtype=np.intp)


def fit_guard(
    attacks: Floats, ordinary: Floats, columns: NDArray[np.intp], options: GuardOptions | None = None
) -> Guard:
    """Return a small network by cross-entropy, its threshold above nearly all ordinary responses.

    A tenth of the ordinary responses is kept from training, and the threshold is set on it.

    Args:
        attacks: φ of gaming responses ``[M, D]``.
        ordinary: φ of ordinary ones ``[N, D]``.
        columns: Which of the D features to read.
    """
    chosen = options or GuardOptions()
    torch.manual_seed(chosen.seed)
    order = torch.randperm(len(ordinary))
    kept, used = torch.from_numpy(ordinary[:, columns])[order].tensor_split([len(ordinary) // 10])
    hidden, output = nn.Linear(len(columns), chosen.hidden), nn.Linear(chosen.hidden, 1)
    network = nn.Sequential(nn.Dropout(chosen.dropout), hidden, nn.ReLU(), output)
    inputs = torch.cat([used, torch.from_numpy(attacks[:, columns])])
    labels = torch.cat([torch.zeros(len(used)), torch.ones(len(attacks))])
    weights = torch.where(labels > 0, chosen.attacks * len(used) / len(attacks), 1.0)
    optimizer = torch.optim.AdamW(
        network.parameters(), lr=chosen.learning_rate, weight_decay=chosen.weight_decay
    )
    for _ in range(chosen.epochs):
        for batch in torch.split(torch.randperm(len(inputs)), chosen.batch):
            loss = functional.binary_cross_entropy_with_logits(
                network(inputs[batch])[:, 0], labels[batch], weight=weights[batch]
            )
            optimizer.zero_grad()
            torch.autograd.backward(loss)
            optimizer.step()
    network.eval()
    with torch.inference_mode():
        suspicion = network(kept)[:, 0] - output.bias
    weight = np.zeros((attacks.shape[1], chosen.hidden), dtype=np.float32)
    weight[columns] = hidden.weight.detach().T.numpy()
    return Guard(
        hidden_weight=weight,
        hidden_bias=hidden.bias.detach().numpy().copy(),
        output_weight=output.weight.detach()[0].numpy().copy(),
        threshold=float(suspicion.quantile(1.0 - chosen.false_alarms)),
    )


SCOPE_FILE = Path(__file__).with_name("scope.json")
_SCOPE_STRENGTH = 5.0
_SCOPE_SPREAD, _SCOPE_WORDS = 1 / 20, 3.0
"""Factors on the embedding and on the words, by which the penalty on their weights differs."""
_SCOPE_DRAWN = 6000, 3000, 1400
"""So many fair criteria of each sort."""
_SCOPE_FALSE_ALARMS = 0.05
"""Share of fair criteria that may count as out of scope; the threshold is set by it in cross-validation."""


def read_wishes(path: Path = SCOPE_FILE) -> tuple[list[str], list[str]]:
    """Wishes and the kind of each."""
    given = read_json(read_bytes(path))
    wishes = [(text, kind) for kind, texts in given["unjudgeable"].items() for text in texts]
    wishes += [(text, JUDGEABLE) for text in given["judgeable"]]
    return [text for text, _ in wishes], [kind for _, kind in wishes]


def fit_scope_classifier(fair: Sequence[Sequence[str]], seed: int = 0, *, folds: int = 5) -> ScopeClassifier:
    """Fit the scope classifier; its threshold puts five fair criteria in a hundred out of scope at most.

    Args:
        fair: Annotated criteria, wishes for known concepts, and wishes for something particular.
        seed: Of the draw among them.
        folds: Of the cross-validation.
    """
    draw = np.random.default_rng(seed)
    texts, kinds = read_wishes()
    for judgeable, most in zip(fair, _SCOPE_DRAWN, strict=True):
        texts += [judgeable[index] for index in draw.permutation(len(judgeable))[:most]]
    labels = np.array([*kinds, *[JUDGEABLE] * (len(texts) - len(kinds))])
    features = _scope_features(texts)
    model = LogisticRegression(C=_SCOPE_STRENGTH, max_iter=1000)
    weights = {"sample_weight": _balanced(labels)}
    prob = cross_val_predict(model, features, labels, cv=folds, method="predict_proba", params=weights)
    model.fit(features, labels, **weights)
    judgeable_class = list(model.classes_).index(JUDGEABLE)
    of_fair = prob[labels == JUDGEABLE, judgeable_class]
    dense = features.shape[1] - N_BUCKETS
    return ScopeClassifier(
        kinds=tuple(map(str, model.classes_)),
        weight=(model.coef_[:, :dense].T * _SCOPE_SPREAD).astype(np.float32),
        words=(model.coef_[:, dense:].T * _SCOPE_WORDS).astype(np.float32),
        bias=model.intercept_.astype(np.float32),
        threshold=float(min(0.5, np.quantile(of_fair, _SCOPE_FALSE_ALARMS))),
    )


def _scope_features(texts: Sequence[str]) -> sparse.csr_matrix:
    """Return embeddings and letters, then words, of N wishes ``[N, F + N_BUCKETS]``."""
    buckets = [word_hashes(text) for text in texts]
    sizes = np.array([max(1, len(each)) for each in buckets])
    row = np.repeat(np.arange(len(texts)), [len(each) for each in buckets])
    column = np.array([bucket for each in buckets for bucket in each], dtype=np.int64)
    value = (_SCOPE_WORDS / np.sqrt(sizes))[row].astype(np.float32)
    words = sparse.csr_matrix((value, (row, column)), shape=(len(texts), N_BUCKETS))
    return sparse.hstack([sparse.csr_matrix(wish_features(texts) * _SCOPE_SPREAD), words]).tocsr()


def _balanced(labels: NDArray[np.str_]) -> NDArray[np.float64]:
    """Fair wishes together count as much as all others together."""
    fair = labels == JUDGEABLE
    return np.where(fair, (~fair).sum() / fair.sum(), 1.0)
