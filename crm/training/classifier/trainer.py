"""The training objectives, the trainer that uses them, its optimizer and its lines of progress."""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import Parameter, functional
from torch.optim import AdamW, Optimizer
from torch.utils.data import Sampler
from transformers import Trainer, TrainerCallback

from crm.errors import UnavailableError
from crm.training.classifier import options as choices
from crm.training.classifier.backbone import embeddings, layer_stack
from crm.training.classifier.options import Loss, Options
from crm.training.classifier.questions import DrawnQuestions, kind_accuracy


def margins(logits: Tensor, loss: Loss) -> Tensor:
    """Log-odds that A is preferred ``[N]``.

    Args:
        logits: The model's outputs: two labels a question ``[N, 2]``, or one a response, A's before B's
            of the same question ``[2N, 1]``.
        loss: Which of the two.
    """
    if loss is Loss.CLASSIFICATION:
        return logits[:, 0] - logits[:, 1]
    scores = logits.reshape(-1, 2)
    return scores[:, 0] - scores[:, 1]


def preference_loss(margin: Tensor, sign: Tensor) -> Tensor:
    """Mean of −log σ(sign · margin), where ``margin`` and ``sign`` are ``[N]``.

    With the difference of two labels' logits this is their cross-entropy (equation 7 of the USL paper),
    with the difference of two responses' scores the Bradley-Terry loss (equation 6).
    """
    return -functional.logsigmoid(sign * margin).mean()


class PreferenceTrainer(Trainer):  # type: ignore[misc]  # transformers has no types
    """A trainer whose loss is that of preferences, and that logs accuracy beside it."""

    def __init__(
        self,
        *,
        preference: Loss,
        optimizer: Callable[[Any], Optimizer],
        lengths: Sequence[int] | None = None,
        **options: Any,
    ) -> None:
        """Take the loss, what makes an optimizer for the model, and what every trainer takes.

        Items of similar ``lengths``, if these are given, go together.
        """
        super().__init__(**options, compute_metrics=_metrics)
        self.optimizer: Optimizer | None
        self._preference = preference
        self._make_optimizer = optimizer
        self._lengths = lengths
        self._right, self._seen = 0.0, 0
        # The loss is a mean over its batch, whatever arguments the model's forward pass accepts.
        self.loss_is_scaled_for_ga = False

    def create_optimizer(self, model: Any = None) -> Optimizer:
        """Make the optimizer, once: a divided model has it made later than a whole one."""
        made: Optimizer | None = self.optimizer
        if made is None:
            self.optimizer = made = self._make_optimizer(self.model if model is None else model)
        return made

    def _get_train_sampler(self, train_dataset: Any = None) -> Any:
        if self._lengths is None:
            return super()._get_train_sampler(train_dataset)
        step = self.args.train_batch_size * self.args.gradient_accumulation_steps * self.args.world_size
        return SimilarLengths(self._lengths, step, self.args.data_seed or 0)

    def compute_loss(
        self,
        model: Any,
        inputs: dict[str, Tensor],
        return_outputs: bool = False,
        num_items_in_batch: Any = None,  # part of the trainer's interface
    ) -> Any:
        """Mean loss over a batch of the collator, and with it, if asked for, the margins."""
        read = {name: inputs[name] for name in ("input_ids", "attention_mask")}
        margin = margins(model(**read).logits.float(), self._preference)
        loss = preference_loss(margin, inputs["labels"])
        if model.training:
            self._right += float((margin.detach() * inputs["labels"] > 0).sum())
            self._seen += len(margin)
        return (loss, {"loss": loss, "margin": margin}) if return_outputs else loss

    def evaluation_loop(self, *given: Any, **named: Any) -> Any:
        """Judge all questions; the loss is their mean, whatever part each of several processes has judged."""
        found = super().evaluation_loop(*given, **named)
        margin, sign = found.predictions, found.label_ids[0]
        [name] = [key for key in found.metrics if key.endswith("_loss")]
        found.metrics[name] = float(np.logaddexp(0.0, -sign * margin).mean())
        return found

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        """Log, with the accuracy on what was trained on since the last time."""
        if "loss" in logs and self._seen:
            logs = {**logs, "accuracy": self._right / self._seen}
            self._right, self._seen = 0.0, 0
        super().log(logs, start_time)


class TellsEpochs(TrainerCallback):  # type: ignore[misc]  # transformers has no types
    """Tells the data which epoch begins: of several processes nothing else does."""

    _ROUNDED = 1e-6

    def __init__(self, data: DrawnQuestions) -> None:
        """Take what is to be told."""
        self._data = data

    def on_epoch_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Tell it; a resumed run may begin in the midst of one."""
        self._data.set_epoch(int(state.epoch + self._ROUNDED))


class SimilarLengths(Sampler[int]):
    """Draws items in random order, except that those of one batch are of similar length.

    Within blocks of some batches, drawn at random, items are sorted by length; then the batches are shuffled.
    What is drawn depends on seed and epoch alone.
    """

    _BATCHES_IN_A_BLOCK = 32

    def __init__(self, lengths: Sequence[int], batch: int, seed: int) -> None:
        """Take the items' lengths and how many make a batch."""
        self._lengths, self._batch, self._seed = np.asarray(lengths), batch, seed
        self._epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """Begin an epoch."""
        self._epoch = epoch

    def __len__(self) -> int:
        return len(self._lengths)

    def __iter__(self) -> Iterator[int]:
        rng = np.random.default_rng((self._seed, self._epoch))
        drawn = rng.permutation(len(self._lengths))
        block = self._batch * self._BATCHES_IN_A_BLOCK
        batches: list[Any] = []
        for start in range(0, len(drawn), block):
            some = drawn[start : start + block]
            some = some[self._lengths[some].argsort(kind="stable")]
            batches += [some[place : place + self._batch] for place in range(0, len(some), self._batch)]
        # A batch that is not full stays last: in the midst it would shift those that follow.
        full = [batch for batch in batches if len(batch) == self._batch]
        rest = [batch for batch in batches if len(batch) < self._batch]
        for place in (*rng.permutation(len(full)), *range(len(full), len(batches))):
            yield from map(int, (full + rest)[place])


def _metrics(prediction: Any) -> dict[str, float]:
    signs, kinds = prediction.label_ids
    right = (prediction.predictions * signs > 0).mean()
    return {"accuracy": float(right), **kind_accuracy(prediction.predictions, signs, kinds)}


def supports(precision: str) -> bool:
    """Return whether the device computes in a number format faster than in single precision, or at all."""
    if precision == "fp32":
        return True
    if torch.cuda.is_available():
        return precision == "fp16" or torch.cuda.is_bf16_supported()
    capabilities = torch.cpu.get_capabilities()
    return precision == "bf16" and bool(capabilities.get("avx512_bf16") or capabilities.get("amx_bf16"))


def make_optimizer(model: Any, options: Options) -> Optimizer:
    """AdamW (Loshchilov & Hutter 2019) over all weights that are trained.

    The head, which is all behind the stack of layers, learns ``head_lr_factor`` times as fast. Biases and
    norms, which are vectors, do not decay. With ``paged-8bit`` its moments are kept in 8 bits (Dettmers et
    al. 2022), except those of weights with fewer than 4,096 numbers.

    Raises:
        UnavailableError: bitsandbytes is not installed.
    """
    body = {id(weight) for part in (embeddings(model), layer_stack(model)) for weight in part.parameters()}
    trained = [weight for weight in model.parameters() if weight.requires_grad]
    head_lr = options.lr * options.head_lr_factor
    groups = [
        *_groups((weight for weight in trained if id(weight) in body), options.lr, options),
        *_groups((weight for weight in trained if id(weight) not in body), head_lr, options),
    ]
    made: Optimizer = _optimizer_class(options)(groups, lr=options.lr)
    return made


def _optimizer_class(options: Options) -> Any:
    if options.optimizer is choices.Optimizer.ADAMW:
        return AdamW
    # It complains of what only layers in four bits lack.
    logging.getLogger("bitsandbytes.backends.cpu.ops").setLevel(logging.ERROR)
    try:
        from bitsandbytes import optim  # noqa: PLC0415
    except ImportError as error:
        raise UnavailableError(
            "The optimizer paged-8bit needs a package: pip install -r requirements-8bit.txt installs it."
        ) from error
    # Where moments lie in the computer's memory already there is nothing to page.
    warnings.filterwarnings("ignore", message="Paged optimizers are not supported on CPU")
    return optim.PagedAdamW8bit


def _groups(weights: Iterable[Parameter], lr: float, options: Options) -> list[dict[str, Any]]:
    listed = list(weights)
    return [
        {"params": [one for one in listed if one.ndim > 1], "lr": lr, "weight_decay": options.weight_decay},
        {"params": [one for one in listed if one.ndim <= 1], "lr": lr, "weight_decay": 0.0},
    ]


_SHOWN = {"loss": "loss", "accuracy": "accuracy", "accuracy_list": "lists", "accuracy_criterion": "criteria"}


class ProgressLines(TrainerCallback):  # type: ignore[misc]  # transformers has no types
    """Tells steps done, minutes left, loss and accuracy."""

    def __init__(self, on_progress: Callable[[str], None]) -> None:
        """Take where the lines go."""
        self._on_progress = on_progress
        self._started, self._first = time.monotonic(), 0

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Start the clock; a resumed run does not begin at step 0."""
        self._started, self._first = time.monotonic(), state.global_step

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, Any], **_: Any) -> None:
        """One line, if there is a loss to tell, by the first of several processes."""
        if not state.is_world_process_zero:
            return
        for prefix, part in (("", "trained on"), ("eval_", "held out")):
            if f"{prefix}loss" in logs:
                told = [
                    f"{name} {logs[prefix + key]:.3f}" for key, name in _SHOWN.items() if prefix + key in logs
                ]
                self._on_progress(
                    f"step {state.global_step}/{state.max_steps}, {self._left(state)}, {part}: "
                    + ", ".join(told)
                )

    def _left(self, state: Any) -> str:
        done = state.global_step - self._first
        if not done:
            return "starting"
        seconds = (time.monotonic() - self._started) / done * (state.max_steps - state.global_step)
        return f"{seconds / 60:.0f} min left"
