"""Prompts packed into rows, one after another, instead of each padded to the longest.

Outside of the backbone's body, all of it before the head, a batch stays what it is: padded prompts, with
states for each. The body is given rows: positions begin anew with every prompt, and no token attends to
another prompt's, so that states, and with them losses and gradients, are those of prompts read alone.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heapreplace
from typing import Any

import torch
from torch import Tensor, nn

from crm.errors import CRMError

_ALIKE = {torch.float32: 1e-3, torch.bfloat16: 0.1, torch.float16: 0.02}
"""By how much of its length a state may differ between row and alone: rounding, but no other text."""
_TRIED = (7, 11, 5)
"""Tokens of the prompts on which a backbone is tried."""


def packed_rows(lengths: Sequence[int], tokens: int) -> list[list[int]]:
    """Return the prompts of each row, as indices: as few rows as fit, filled as evenly as can be.

    The longest prompt that is left goes into the emptiest row (LPT, Graham 1969), as all rows are computed in
    the width of the fullest.

    Args:
        lengths: Tokens of each prompt ``[N]``.
        tokens: In a row at most; a longer prompt is alone, and makes the others' rows as long.
    """
    most = max(tokens, *lengths)
    n_rows = -(-sum(lengths) // most)
    while True:
        rows, filled = _levelled(lengths, n_rows)
        if max(filled) <= most:
            return rows
        n_rows += 1


def _levelled(lengths: Sequence[int], n_rows: int) -> tuple[list[list[int]], list[int]]:
    """Return the prompts of each of so many rows, and the tokens in each."""
    rows: list[list[int]] = [[] for _ in range(n_rows)]
    filled = [(0, row) for row in range(n_rows)]
    heapify(filled)
    for index in sorted(range(len(lengths)), key=lambda index: -lengths[index]):
        held, row = filled[0]
        rows[row].append(index)
        heapreplace(filled, (held + lengths[index], row))
    return rows, [held for held, _ in filled]


@dataclass(frozen=True)
class RowLayout:
    """Where the tokens of a batch of N prompts, padded to L, lie in R rows of width T.

    Attributes:
        taken: Place in the padded batch of every token in the rows ``[R, T]``.
        positions: Of every token in its prompt ``[R, T]``; 0 in what fills a row up.
        prompts: Which of its row's prompts a token belongs to ``[R, T]``.
        returned: Place in the rows of every token of the padded batch ``[N, L]``; 0 where it is padding.
    """

    taken: Tensor
    positions: Tensor
    prompts: Tensor
    returned: Tensor

    @classmethod
    def of(cls, mask: Tensor, tokens: int) -> RowLayout:
        """Lay a batch out.

        Args:
            mask: 1 where the batch has a token, which is at the left, and 0 where it has padding ``[N, L]``.
            tokens: In a row at most.
        """
        lengths = mask.sum(dim=1).tolist()
        rows = packed_rows(lengths, tokens)
        width = max(sum(lengths[index] for index in row) for row in rows)
        taken, positions = torch.zeros(2, len(rows), width, dtype=torch.long)
        # What fills a row up belongs to no prompt, but must attend to something.
        prompts = torch.full((len(rows), width), -1)
        returned = torch.zeros(mask.shape, dtype=torch.long)
        for number, row in enumerate(rows):
            start = 0
            for place, index in enumerate(row):
                steps = torch.arange(lengths[index])
                inside = slice(start, start + lengths[index])
                taken[number, inside] = index * mask.shape[1] + steps
                positions[number, inside] = steps
                prompts[number, inside] = place
                returned[index, : len(steps)] = number * width + start + steps
                start = inside.stop
        layout = (each.to(mask.device) for each in (taken, positions, prompts, returned))
        return cls(*layout)


class RowPacking:
    """Hooks by which a backbone's body reads a padded batch of prompts in rows."""

    def __init__(self, body: nn.Module, tokens: int, *, causal: bool) -> None:
        """Put hooks on a body whose tokens attend to those before them alone, or else to all."""
        self._tokens = tokens
        self._causal = causal
        self._parameters = list(inspect.signature(body.forward).parameters)
        self._first_position = _first_position(body)
        self._layout: RowLayout | None = None
        body.register_forward_pre_hook(self._before, with_kwargs=True)
        body.register_forward_hook(self._after)

    def _before(
        self, body: Any, given: tuple[Any, ...], named: Mapping[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Put rows in the place of padded prompts."""
        asked = dict(zip(self._parameters, given, strict=False)) | dict(named)
        ids, mask = asked["input_ids"], asked["attention_mask"]
        self._layout = layout = RowLayout.of(mask, self._tokens)
        asked["input_ids"] = ids.flatten()[layout.taken]
        asked["position_ids"] = layout.positions + self._first_position
        asked["attention_mask"] = None if self._causal else _mask_of_prompts(body, layout.prompts)
        if "use_cache" in self._parameters:
            # With a cache transformers takes a row for one prompt, however often positions begin anew.
            asked["use_cache"] = False
        return (), asked

    def _after(self, body: Any, given: tuple[Any, ...], found: Any) -> Any:
        """Put states of padded prompts in the place of those of rows."""
        del given
        assert self._layout is not None
        states = found["last_hidden_state"].flatten(0, 1)[self._layout.returned]
        found["last_hidden_state"] = states
        if found.get("pooler_output") is not None:
            found["pooler_output"] = body.pooler(states)
        return found


def _first_position(body: Any) -> int:
    """Return at which position a prompt begins: some families begin behind their padding token's number."""
    embeddings: Any = getattr(body, "embeddings", None)
    numbered_from_padding = hasattr(embeddings, "create_position_ids_from_input_ids")
    return int(embeddings.padding_idx) + 1 if numbered_from_padding else 0


def _mask_of_prompts(body: Any, prompts: Tensor) -> Tensor:
    """Return by which tokens attend to their own prompt alone, for the body's kind of attention."""
    from transformers import masking_utils  # noqa: PLC0415  # takes seconds

    shape_alone = torch.empty((*prompts.shape, 0), dtype=body.dtype, device=prompts.device)
    same_prompt = masking_utils.packed_sequence_mask_function(prompts)
    made: Tensor = masking_utils.create_bidirectional_mask(
        body.config, shape_alone, None, and_mask_function=same_prompt
    )
    return made


def pack_rows(model: Any, layers: nn.ModuleList, tokens: int) -> None:
    """Let a classifier's body read its prompts in rows of so many tokens, and see that nothing else changes.

    Args:
        model: Of transformers, before adapters are put into it.
        layers: Its stack of layers.

    Raises:
        CRMError: The backbone reads a row as one text, or cannot be given rows.
    """
    body = model.base_model
    kinds = frozenset(getattr(body.config, "layer_types", None) or ())
    causal = any(getattr(module, "is_causal", False) for layer in layers for module in layer.modules())
    if not causal and kinds - {"full_attention"}:
        raise CRMError("The backbone is an encoder that reads in windows: leave out --pack.")
    was_training = model.training
    model.eval()
    try:
        alone = _states_of_tried(body)
        RowPacking(body, tokens, causal=causal)
        together = _states_of_tried(body)
    except Exception as error:  # every family has errors of its own
        raise CRMError("The backbone cannot read prompts in rows: leave out --pack.") from error
    model.train(was_training)
    furthest = ((alone - together).norm(dim=-1) / alone.norm(dim=-1)).max()
    if not furthest < _ALIKE[model.dtype]:
        raise CRMError(
            "The backbone does not keep the prompts of a row apart, however their positions begin anew: "
            "leave out --pack."
        )


@torch.no_grad()
def _states_of_tried(body: Any) -> Tensor:
    """Return the states of all tokens of some short prompts, and what is pooled of each ``[T, H]``."""
    lengths = torch.tensor(_TRIED, device=body.device)
    mask = (torch.arange(max(_TRIED), device=body.device) < lengths[:, None]).long()
    # The first tokens of a vocabulary are marks, some of which models pass over.
    ids = (torch.arange(mask.numel(), device=body.device) + 10) % body.config.vocab_size
    found = body(ids.reshape(mask.shape), attention_mask=mask)
    states, pooled = found["last_hidden_state"][mask.bool()], found.get("pooler_output")
    return (states if pooled is None else torch.cat((states, pooled))).float()
