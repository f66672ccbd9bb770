"""Small classifier checkpoints, made in a second: for tests with transformers and with a real vLLM server."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    LlamaConfig,
    LlamaForCausalLM,
    LlamaForSequenceClassification,
    PreTrainedTokenizerFast,
)

PAIR = """{% for criterion in criteria %}
- {{ criterion }}
{% endfor %}
Query: {{ query }}
A: {{ response_a }}
B: {{ response_b }}
Better:"""
SINGLE = """{% for criterion in criteria %}
- {{ criterion }}
{% endfor %}
Query: {{ query }}
Answer: {{ response_a }}
Good:"""
CHAT_TEMPLATE = (
    "{% for message in messages %}<|turn|>{{ message['role'] }}\n{{ message['content'] }}<|end|>\n"
    "{% endfor %}"
    "{% if add_generation_prompt %}<|turn|>assistant\n{% endif %}"
)
WINDOW = 1024
_WORDS = "Query: Answer A: B: Better: Avoid: long short the and of to in is a user assistant concise"


def make_checkpoint(
    folder: Path,
    *,
    labels: int = 2,
    pad_token: bool = True,
    encoder: bool = False,
    described: bool = True,
    seed: int = 0,
    tokenizer: PreTrainedTokenizerFast | None = None,
    initializer_range: float = 0.1,
) -> Path:
    """A trained-looking classifier: random weights from a seed, spread enough that verdicts differ.

    Args:
        folder: Where to write it.
        labels: Number of labels.
        pad_token: Whether the tokenizer has one.
        encoder: A BERT instead of a Llama.
        described: Whether ``crm.json`` and ``prompt.txt`` are written.
        seed: Of the weights.
        tokenizer: Another than the one that knows only a few words.
        initializer_range: Standard deviation of the weights; 0.02 where they are to be trained.
    """
    tokenizer = tokenizer or make_tokenizer(pad_token=pad_token)
    torch.manual_seed(seed)
    sizes = {
        "vocab_size": len(tokenizer),
        "hidden_size": 128,
        "intermediate_size": 256,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "max_position_embeddings": WINDOW,
        "num_labels": labels,
        "pad_token_id": tokenizer.pad_token_id,
        "initializer_range": initializer_range,
    }
    model: Any = (
        BertForSequenceClassification(BertConfig(**sizes))
        if encoder
        else LlamaForSequenceClassification(LlamaConfig(**sizes, bos_token_id=None, eos_token_id=None))
    )
    with torch.no_grad():
        head = model.classifier.weight if encoder else model.score.weight
        head.copy_(torch.randn_like(head) * 3 * initializer_range)
    save(folder, model, tokenizer)
    if described:
        loss, prompt = ("classification", PAIR) if labels == 2 else ("ranking", SINGLE)
        describe(folder, loss=loss, max_length=WINDOW)
        (folder / "prompt.txt").write_text(prompt)
    return folder


def make_causal(folder: Path, *, seed: int = 0, tokenizer: PreTrainedTokenizerFast | None = None) -> Path:
    """A chat model with random weights."""
    tokenizer = tokenizer or make_tokenizer()
    tokenizer.chat_template = CHAT_TEMPLATE
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=128,
        intermediate_size=256,
        num_hidden_layers=2,
        num_attention_heads=2,
        max_position_embeddings=WINDOW,
        initializer_range=0.1,
    )
    return save(folder, LlamaForCausalLM(config), tokenizer)


def save(folder: Path, model: Any, tokenizer: Any) -> Path:
    """Write a model and its tokenizer."""
    model.save_pretrained(str(folder))
    tokenizer.save_pretrained(str(folder))
    return folder


def describe(folder: Path, **changed: Any) -> None:
    """Write ``crm.json``, as training does."""
    known = {"format": 1, "loss": "classification", "max_length": WINDOW, "name": "tiny", "version": "1"}
    (folder / "crm.json").write_text(json.dumps(known | changed))


def make_tokenizer(
    texts: Sequence[str] = (_WORDS,) * 8, *, size: int = 400, pad_token: bool = True
) -> PreTrainedTokenizerFast:
    """A byte-level tokenizer of at most ``size`` tokens that has learnt its words from texts."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=["<|pad|>", "<|turn|>", "<|end|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    marks = {"pad_token": "<|pad|>"} if pad_token else {}
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token="<|end|>", model_max_length=WINDOW, **marks
    )
