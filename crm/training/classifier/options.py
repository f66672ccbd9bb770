"""What can be chosen about a training run."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Annotated, Any

from typer import Option

from crm.data.noise import Noise, Strength
from crm.data.pairs import Direction
from crm.errors import CRMError


class Loss(StrEnum):
    """The training objectives of section 4.2 of the USL paper."""

    CLASSIFICATION = "classification"
    """Cross-entropy over “A is preferred” and “B is preferred”; one prompt shows both responses."""
    RANKING = "ranking"
    """−log σ(r(chosen) − r(rejected)); each prompt shows one response, which is scored alone."""

    @property
    def labels(self) -> int:
        """Outputs of the model."""
        return 2 if self is Loss.CLASSIFICATION else 1

    @property
    def template(self) -> str:
        """Name of the bundled prompt."""
        return "pair" if self is Loss.CLASSIFICATION else "single"


class TrainingText(StrEnum):
    """What is held against the criteria."""

    RESPONSES = "responses"
    STATEMENTS = "statements"
    """Other criteria of the same pair: a short, cheap first lesson for small encoders."""


class Precision(StrEnum):
    """In what the forward pass computes."""

    FP32 = "fp32"
    BF16 = "bf16"
    FP16 = "fp16"


class Weights(StrEnum):
    """In what weights, their gradients and the optimizer's moments are kept."""

    FP32 = "fp32"
    BF16 = "bf16"


class Optimizer(StrEnum):
    """What moves the weights."""

    ADAMW = "adamw"
    PAGED_8BIT = "paged-8bit"
    """AdamW with moments in 8 bits, of bitsandbytes, which on a GPU lets them go to the computer's memory."""


class Schedule(StrEnum):
    """How the learning rate falls after it has risen."""

    LINEAR = "linear"
    COSINE = "cosine"


@dataclass(frozen=True)
class Options:
    """A training run's hyperparameters, which ``python -m crm train classifier`` takes as options."""

    loss: Annotated[
        Loss, Option(help="Score one response, which small models learn too, or compare two.")
    ] = Loss.RANKING
    material: Annotated[
        TrainingText, Option(help="Train on responses, or first on short statements instead of them.")
    ] = TrainingText.RESPONSES
    direction: Annotated[
        Direction, Option(help="Criteria of the side that people chose (plus), or of the other (minus).")
    ] = Direction.BOTH
    noise: Annotated[Noise, Option(help="Of criteria lists, anew every epoch.")] = Noise.RANDOM
    noise_strength: Annotated[
        Strength, Option(help="How much noise takes away: a minority by weight, or as many as in the paper.")
    ] = Strength.STRICT_MAJORITY
    single_share: Annotated[
        float, Option(min=0, max=1, help="Share of pairs judged by one criterion alone.")
    ] = 0.3
    lora: Annotated[
        int | None, Option(min=1, help="Rank of low-rank adapters; without it all weights are trained.")
    ] = None
    freeze: Annotated[int, Option(min=0, help="How many of the lowest layers stay as they are.")] = 0
    """The word embeddings stay with them."""
    new_head: Annotated[bool, Option(help="Replace a head that the backbone has from the other loss.")] = (
        False
    )
    dropout: Annotated[float, Option(min=0, max=0.9, help="Of hidden states, in backbones that have it.")] = (
        0.0
    )
    """By default none: training is short, stops early, and at its beginning the noise hides the little that
    criteria and responses share."""
    precision: Annotated[Precision, Option(help="Number format of the forward pass.")] = Precision.FP32
    weights: Annotated[Weights, Option(help="Number format of weights, gradients and optimizer.")] = (
        Weights.FP32
    )
    """In bfloat16 steps smaller than a 256th of a weight are lost: for --lora, or where memory is short."""
    optimizer: Annotated[Optimizer, Option(help="AdamW, or with its moments in 8 bits.")] = Optimizer.ADAMW
    gradient_checkpointing: Annotated[
        bool, Option(help="Compute each layer twice instead of keeping it: less memory, a third slower.")
    ] = False
    shard: Annotated[
        bool, Option(help="Divide weights, gradients and moments among the GPUs of torchrun's processes.")
    ] = False
    epochs: Annotated[float, Option(min=0.001, help="Passes over the pairs.")] = 3.0
    batch: Annotated[int, Option(min=1, help="Pairs in one step, both directions.")] = 8
    accumulate: Annotated[
        int, Option(min=1, help="Parts in which a batch is computed, where memory is short.")
    ] = 1
    lr: Annotated[float, Option(min=0, help="Highest learning rate.")] = 5e-5
    """It rises over the first steps and falls to zero."""
    schedule: Annotated[Schedule, Option(help="How the learning rate falls.")] = Schedule.LINEAR
    head_lr_factor: Annotated[float, Option(min=0, help="How much higher it is for the new head.")] = 10.0
    warmup: Annotated[float, Option(min=0, max=0.9, help="Share of the steps over which it rises.")] = 0.06
    weight_decay: Annotated[float, Option(min=0, help="Of AdamW.")] = 0.01
    max_length: Annotated[int, Option(min=32, help="Tokens in one prompt.")] = 512
    evaluations: Annotated[int, Option(min=1, help="How often the held-out part is judged.")] = 10
    patience: Annotated[
        int, Option(min=0, help="Stop after so many evaluations without improvement; 0: never.")
    ] = 3
    held_out: Annotated[
        float, Option(min=0.001, max=0.5, help="Share of the queries that choose the best checkpoint.")
    ] = 0.1
    skip_held_out_criteria: Annotated[
        bool, Option(help="Leave out the criteria that generalization to new criteria is measured by.")
    ] = False
    skip_criteria: Annotated[
        bool, Option(help="Leave out all criteria, and learn from preferences alone.")
    ] = False
    limit: Annotated[int | None, Option(min=1, help="Use so many pairs to train on.")] = None
    eval_limit: Annotated[int | None, Option(min=1, help="Judge so many held-out and so many dev pairs.")] = (
        None
    )
    chat: Annotated[
        bool, Option(help="Show the prompt as a user's turn in the tokenizer's chat template.")
    ] = False
    generation_prompt: Annotated[
        bool, Option(help="In a chat template: open the model's answer after the prompt.")
    ] = True
    group_by_length: Annotated[
        bool, Option(help="Put pairs of similar length into a step: less padding, faster on a GPU.")
    ] = False
    pack: Annotated[
        int | None, Option(min=32, help="Lay prompts one after another in rows of so many tokens, unpadded.")
    ] = None
    """What is learnt stays the same; how much is gained depends on how far lengths differ."""
    workers: Annotated[int, Option(min=0, help="Processes that prepare prompts.")] = 0
    seed: Annotated[int, Option(min=0, help="Of every random choice.")] = 0

    def __post_init__(self) -> None:
        if self.batch % self.accumulate:
            raise CRMError(
                f"A batch of {self.batch} cannot be computed in {self.accumulate} equal parts: "
                "choose a batch that is a multiple of them."
            )

    def to_json(self) -> dict[str, Any]:
        """Return the options as JSON values."""
        return asdict(self)


def taking_fields(
    settings: type[Any], parameter: str
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Let a Typer command take the fields of a dataclass as options, instead of a parameter that holds it.

    The fields are declared once: as in Typer, ``Annotated`` says help and limits.

    Args:
        settings: The dataclass; its errors are those of the command.
        parameter: The command's parameter, in whose place the options stand.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        options = inspect.signature(settings, eval_str=True).parameters
        taken: list[inspect.Parameter] = []
        for name, one in inspect.signature(command, eval_str=True).parameters.items():
            taken += options.values() if name == parameter else [one]

        def run(**given: Any) -> None:
            chosen = settings(**{name: given.pop(name) for name in options})
            command(**given, **{parameter: chosen})

        run.__doc__ = command.__doc__
        run.__annotations__ = {one.name: one.annotation for one in taken}
        named = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in taken]
        vars(run)["__signature__"] = inspect.Signature(named)
        return run

    return decorate
