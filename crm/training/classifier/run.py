"""One training run, from files to a folder with a trained judge."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from transformers import EarlyStoppingCallback, PrinterCallback, TrainingArguments, set_seed
from transformers.utils import logging

from crm.data.noise import Noise, Noiser, NoiseReach
from crm.data.pairs import LabelledPair
from crm.data.taxonomy import criterion_clusters
from crm.errors import CRMError
from crm.llm.conversation import prompt_tokenizer, special_tokens
from crm.llm.prompt import PromptTemplate
from crm.protocol import Pair
from crm.training.classifier.backbone import Backbone, in_chat, load_backbone
from crm.training.classifier.examples import TrainingExamples, by_pair, criterion_texts
from crm.training.classifier.options import Options
from crm.training.classifier.output import (
    Description,
    TrainingReport,
    best_evaluation,
    check_folder,
    close_folder,
    last_state,
    open_folder,
    results,
    save_checkpoint,
    save_results,
    states,
)
from crm.training.classifier.processes import (
    check_processes,
    check_sharded,
    is_first,
    n_processes,
    sharding,
    whole_model,
)
from crm.training.classifier.questions import (
    Collator,
    DrawnQuestions,
    FixedQuestions,
    QuestionDrawer,
    QuestionEncoder,
    all_questions,
)
from crm.training.classifier.trainer import PreferenceTrainer, TellsEpochs, make_optimizer, supports

_LOGS_PER_EVALUATION = 4


def train(
    backbone: str,
    data: TrainingExamples,
    out: Path,
    options: Options,
    *,
    name: str | None = None,
    version: str = "1",
    template: PromptTemplate | None = None,
    resume: bool = False,
    callbacks: Sequence[Any] = (),
    on_noise: Callable[[NoiseReach], None] = lambda reach: None,
) -> TrainingReport:
    """Train a judge and save its best checkpoint, curves and results in ``out``.

    Where ``torchrun`` has started several processes, they do it together. The same data, options, machine and
    number of processes give the same weights, also if the run was stopped and resumed.

    Args:
        backbone: What ``load_backbone`` takes.
        data: What ``prepare`` made.
        out: Folder for the result; new, unless a run is resumed.
        template: The prompt; by default the bundled one of the loss.
        on_noise: Is told before training begins how many lists there are that noise cannot be applied to.

    Raises:
        CRMError: The backbone or an option does not fit, or ``out`` does not.
        UnavailableError: The template marks turns, and the backbone's tokenizer has no chat template.
        CriterionError: The window is too small for the criteria.
    """
    if not supports(options.precision.value):
        raise CRMError(
            f"This computer does not calculate in {options.precision.value}: choose --precision fp32."
        )
    check_processes(options)
    if is_first():
        check_folder(out, backbone, options, resume=resume)
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    set_seed(options.seed)
    loaded = load_backbone(backbone, options)
    prompt = template or PromptTemplate.bundled(options.loss.template)
    if options.chat:
        prompt = in_chat(prompt, loaded.tokenizer, backbone, opens_answer=options.generation_prompt)
    tokenizer = prompt_tokenizer(prompt, loaded.tokenizer, backbone, opens_answer=options.generation_prompt)
    fitted = prompt.fit(tokenizer, options.max_length)
    encoder = QuestionEncoder(fitted, options.loss, special_tokens(loaded.tokenizer))
    encoder.check_room((*data.train, *data.held_out, *data.dev), noise=options.noise)
    if is_first():
        open_folder(out, backbone, options)
    noiser = noiser_for(data.train, options)
    reach = noiser.reach(
        [(item.criteria, item.opposite) for item in data.train if item.criteria], options.noise
    )
    if reach.unchanged:
        on_noise(reach)
    trainer = _trainer(loaded, data, encoder, out, options, noiser=noiser)
    check_sharded(trainer, options)
    trainer.remove_callback(PrinterCallback)  # prints what the lines of progress say, as dictionaries
    for callback in callbacks:
        trainer.add_callback(callback)
    started = time.monotonic()
    trainer.train(resume_from_checkpoint=last_state(out) if resume else None)
    minutes = (time.monotonic() - started) / 60
    report = TrainingReport(
        backbone,
        len(by_pair(data.train)),
        trainer.state.global_step,
        round(minutes, 1),
        best_evaluation(trainer.state.log_history),
        _dev_results(trainer, data.dev, encoder, options.seed),
        {noise.value: count for noise, count in reach.unchanged.items()},
    )
    model = whole_model(trainer, lambda: load_backbone(backbone, options).model)
    if is_first():
        save_results(out, trainer.state.log_history, report, options)
        description = Description(
            options.loss.value,
            options.max_length,
            name or out.name,
            version,
            generation_prompt=options.generation_prompt,
        )
        save_checkpoint(out, model, loaded.tokenizer, prompt, description)
        close_folder(out)
    trainer.accelerator.wait_for_everyone()
    return report


def _trainer(
    loaded: Backbone,
    data: TrainingExamples,
    encoder: QuestionEncoder,
    out: Path,
    options: Options,
    *,
    noiser: Noiser,
) -> PreferenceTrainer:
    drawer = QuestionDrawer(noiser, options.noise, options.single_share)
    pairs = by_pair(data.train)
    drawn = DrawnQuestions(pairs, drawer, encoder, options.seed)
    stopping = [EarlyStoppingCallback(options.patience)] if options.patience else []
    return PreferenceTrainer(
        preference=options.loss,
        model=loaded.model,
        args=_arguments(loaded.model, out, options, len(pairs)),
        optimizer=lambda model: make_optimizer(model, options),
        data_collator=Collator(loaded.tokenizer.pad_token_id),
        train_dataset=drawn,
        eval_dataset=_fixed(data.held_out, encoder, options.seed),
        lengths=[_length(items[0].pair) for items in pairs] if options.group_by_length else None,
        callbacks=[TellsEpochs(drawn), *stopping],
    )


def _length(pair: Pair) -> int:
    """Return how long a pair is, as far as order goes: characters."""
    return len(pair.query) + sum(len(turn.content) for turns in pair.conversations for turn in turns)


def _arguments(model: Any, out: Path, options: Options, pairs: int) -> TrainingArguments:
    at_once = options.batch // (options.accumulate * n_processes())
    every = max(1, math.floor(options.epochs * math.ceil(pairs / options.batch)) // options.evaluations)
    return TrainingArguments(
        output_dir=str(states(out)),
        use_cpu=not torch.accelerator.is_available(),
        per_device_train_batch_size=at_once,
        per_device_eval_batch_size=4 * at_once,
        gradient_accumulation_steps=options.accumulate,
        num_train_epochs=options.epochs,
        lr_scheduler_type=options.schedule.value,
        warmup_steps=options.warmup,
        bf16=options.precision.value == "bf16",
        fp16=options.precision.value == "fp16",
        eval_strategy="steps",
        eval_steps=every,
        save_strategy="steps",
        save_steps=every,
        save_total_limit=1,
        logging_strategy="steps",
        logging_steps=max(1, every // _LOGS_PER_EVALUATION),
        load_best_model_at_end=True,
        metric_for_best_model="eval_loss",
        greater_is_better=False,
        restore_callback_states_from_checkpoint=True,
        remove_unused_columns=False,
        label_names=["labels", "kinds"],
        dataloader_num_workers=options.workers,
        dataloader_pin_memory=torch.cuda.is_available(),
        ddp_find_unused_parameters=False,
        report_to="none",
        disable_tqdm=True,
        seed=options.seed,
        data_seed=options.seed,
        **sharding(model, options),
    )


def noiser_for(examples: Sequence[LabelledPair], options: Options) -> Noiser:
    """Return what adds criteria of the training examples only: those of dev stay unseen."""
    if options.noise not in (Noise.ADD, Noise.RANDOM):
        return Noiser({}, strength=options.noise_strength)
    pool = list(dict.fromkeys(criterion for item in examples for criterion in item.criteria))
    # Of the other side, too: its examples are not there where only one direction is trained on.
    opposite = (criterion.text for item in examples for criterion in item.opposite)
    texts = list(dict.fromkeys((*criterion_texts(examples), *opposite)))
    clusters = dict(zip(texts, criterion_clusters().assigned(texts), strict=True))
    return Noiser(clusters, pool, options.noise_strength)


def _fixed(examples: Sequence[LabelledPair], encoder: QuestionEncoder, seed: int) -> FixedQuestions:
    return FixedQuestions(all_questions(examples, seed), encoder)


def _dev_results(
    trainer: PreferenceTrainer, dev: Sequence[LabelledPair], encoder: QuestionEncoder, seed: int
) -> dict[str, float]:
    if not dev:
        return {}
    questions = _fixed(dev, encoder, seed)
    metrics = trainer.predict(questions, metric_key_prefix="dev").metrics
    return {"questions": len(questions), **results(metrics, "dev_")}
