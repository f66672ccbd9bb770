"""Adapt a language model's lower layers to wishes: what ``crm.embedded.wish_decoder`` reads with.

The adaptation is low-rank (Hu et al. 2021), the weights beneath are SmolLM2's as its package has them. The
wishes are those of the classifier's networks, in turns of phrase and joined as they are there.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from crm.embedded.decoder_graph import WIDTH
from crm.embedded.functions import LowRank
from crm.embedded.smollm2 import FILE, read_smollm2, tokenizer_of
from crm.embedded.wish_decoder import BEGINNING, ENDING, MAX_TOKENS, WishDecoder
from crm.llm.loading import smollm2_folder
from crm.training.concepts import (
    Batch,
    ConceptName,
    ConceptOptions,
    TurnsOfPhrase,
    Wish,
    concept_names,
    epoch_batches,
    label_of,
)

_SCALE = 2.0
"""On what the low-rank matrices add."""
_DROPPED = 0.1
_LONGEST_STEP = 1.0
"""Norm that the gradient of the matrices is cut to."""


@dataclass(frozen=True)
class DecoderOptions:
    """Hyperparameters.

    Attributes:
        layers: How many of the lower layers are used.
        rank: Of the adaptation.
        head_learning_rate: Of what reads the classes off the last states.
        named: Wishes made of names, for every written one.
        paired: Wishes made of two names, for every written one.
        joined: Share of wishes that are joined with another.
    """

    layers: int = 16
    rank: int = 32
    epochs: int = 3
    batch: int = 256
    learning_rate: float = 1e-3
    head_learning_rate: float = 2e-3
    weight_decay: float = 0.02
    named: float = 0.3
    paired: float = 0.1
    joined: float = 0.15
    smoothing: float = 0.04
    limit: int | None = None
    seed: int = 0

    def of_wishes(self) -> ConceptOptions:
        """How wishes are varied, put in turns and joined."""
        return ConceptOptions(
            named=self.named, paired=self.paired, joined=self.joined, batch=self.batch, epochs=self.epochs
        )


def fit_decoder(
    wishes: Sequence[Wish],
    named: Sequence[ConceptName],
    turns: TurnsOfPhrase,
    options: DecoderOptions | None = None,
    *,
    device: str = "cpu",
    report: Callable[[int, int], None] = lambda done, total: None,
) -> WishDecoder:
    """Fit the decoder: two minutes an epoch on a GPU, an hour on two cores that multiply in bfloat16.

    Args:
        device: Of PyTorch, ``cuda`` or ``cpu``.
        report: Called with the number of steps done and of all.

    Raises:
        UnavailableError: The model's weights are not installed.
    """
    chosen = options or DecoderOptions()
    torch.manual_seed(chosen.seed)
    draw = random.Random(chosen.seed)
    names = concept_names(wishes)
    varied = chosen.of_wishes()
    batches = list(
        chain.from_iterable(epoch_batches(wishes, named, turns, varied, draw) for _ in range(chosen.epochs))
    )[: chosen.limit]
    network = _Decoder(1 + 2 * len(names), chosen).to(device)
    matrices = [matrix for each in network.adapted.values() for matrix in (each.left, each.right)]
    groups: list[dict[str, Any]] = [{"params": matrices}, {"params": network.head.parameters()}]
    optimizer = torch.optim.AdamW(groups, weight_decay=chosen.weight_decay)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer,
        [chosen.learning_rate, chosen.head_learning_rate],
        total_steps=max(2, len(batches)),
        pct_start=0.1,
    )
    network.train()
    for step, batch in enumerate(batches):
        target = _targets(batch, names, chosen.smoothing).to(device)
        with torch.autocast(device, torch.bfloat16):
            logits = network([text for text, _ in batch])
        loss = -(target * functional.log_softmax(logits.float(), dim=1)).sum(dim=1).mean()
        optimizer.zero_grad()
        torch.autograd.backward(loss)
        nn.utils.clip_grad_norm_(matrices, _LONGEST_STEP)
        optimizer.step()
        schedule.step()
        report(step + 1, len(batches))
    return network.fitted()


def _targets(batch: Batch, names: Sequence[str], smoothing: float) -> Tensor:
    """Return the shares of the classes that each text asks for ``[N, C]``."""
    target = torch.full((len(batch), 1 + 2 * len(names)), smoothing / (1 + 2 * len(names)))
    for row, (_, asked) in enumerate(batch):
        for wish in asked:
            target[row, label_of(wish, names)] += (1 - smoothing) / len(asked)
    return target


class _Adapted(nn.Module):
    """A frozen linear layer in half precision plus a trained product of two thin matrices."""

    def __init__(self, layer: nn.Linear, rank: int) -> None:
        super().__init__()
        self.layer = layer.to(torch.bfloat16)
        self.right = nn.Parameter(torch.randn(rank, layer.in_features) / layer.in_features**0.5)
        self.left = nn.Parameter(torch.zeros(layer.out_features, rank))

    def forward(self, inputs: Tensor) -> Tensor:
        added = functional.linear(functional.linear(inputs, self.right), self.left)
        result: Tensor = self.layer(inputs) + added * _SCALE
        return result


class _Head(nn.Module):
    """Logits of more and less of a concept share their direction, as in the networks on the encoder."""

    def __init__(self, classes: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(2 * WIDTH)
        self.classes, self.direction = nn.Linear(2 * WIDTH, classes), nn.Linear(2 * WIDTH, 1)
        sides = torch.zeros(1, classes)
        sides[:, 1::2], sides[:, 2::2] = 1, -1
        self.register_buffer("sides", sides)

    def forward(self, pooled: Tensor) -> Tensor:
        inputs = functional.dropout(self.norm(pooled), _DROPPED, self.training)
        logits: Tensor = self.classes(inputs) + self.direction(inputs) * self.sides
        return logits

    @torch.no_grad()
    def joined(self) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """Weight ``[1152, C]`` and bias ``[C]`` on vectors that are normalised without weights."""
        sides = self.sides[0]  # type: ignore[index]
        weight = self.classes.weight + torch.outer(sides, self.direction.weight[0])
        bias = self.classes.bias + sides * self.direction.bias + weight @ self.norm.bias
        weight = weight * self.norm.weight
        return np.ascontiguousarray(weight.T.cpu().numpy()), bias.cpu().numpy()


class _Decoder(nn.Module):
    """The lower layers with what adapts them, and the head."""

    def __init__(self, classes: int, options: DecoderOptions) -> None:
        super().__init__()
        from transformers import AutoModelForCausalLM, LlamaModel  # noqa: PLC0415

        self.tokenizer = tokenizer_of(read_smollm2())
        stored = AutoModelForCausalLM.from_pretrained(
            str(smollm2_folder()), gguf_file=FILE, dtype=torch.float32
        )
        self.base: Any = LlamaModel(stored.config)
        self.base.load_state_dict(stored.model.state_dict())
        self.base.requires_grad_(requires_grad=False)
        self.base.layers = self.base.layers[: options.layers]
        self.base.norm = nn.Identity()
        self.adapted: dict[str, _Adapted] = {}
        for name, module in list(self.base.named_modules()):
            if isinstance(module, nn.Linear):
                parent, _, own = name.rpartition(".")
                self.adapted[name] = _Adapted(module, options.rank)
                setattr(self.base.get_submodule(parent), own, self.adapted[name])
        self.head = _Head(classes)
        self.n_layers = options.layers

    def forward(self, texts: Sequence[str]) -> Tensor:
        """Logits ``[N, classes]``."""
        beginning, ending, *wishes = (
            each.ids for each in self.tokenizer.encode_batch([BEGINNING, ENDING, *texts])
        )
        cut = [wish[:MAX_TOKENS] for wish in wishes]
        lengths = torch.tensor([len(wish) for wish in cut])
        # What fills a row up comes last, where a decoder does not see it before.
        tokens = torch.zeros(len(cut), len(beginning) + int(lengths.max()) + len(ending), dtype=torch.long)
        for row, wish in enumerate(cut):
            whole = beginning + wish + ending
            tokens[row, : len(whole)] = torch.tensor(whole)
        device = next(self.head.parameters()).device
        tokens, lengths = tokens.to(device), lengths.to(device)
        states = self.base(input_ids=tokens, use_cache=False).last_hidden_state.float()
        normalised = functional.layer_norm(states, (WIDTH,))
        place = torch.arange(tokens.shape[1], device=device)[None] - len(beginning)
        of_wish = ((place >= 0) & (place < lengths[:, None])).float()
        mean = (normalised * of_wish[..., None]).sum(dim=1) / lengths.clamp(min=1)[:, None]
        last = normalised[torch.arange(len(cut)), len(beginning) + lengths + len(ending) - 1]
        logits: Tensor = self.head(torch.cat([last, mean], dim=1))
        return logits

    def fitted(self) -> WishDecoder:
        """Return what was fitted."""
        adapters: dict[str, LowRank] = {
            name: (
                (_SCALE * adapted.left).detach().cpu().numpy(),
                adapted.right.detach().cpu().numpy(),
            )
            for name, adapted in self.adapted.items()
        }
        return WishDecoder(*self.head.joined(), adapters, n_layers=self.n_layers)
