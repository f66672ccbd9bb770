import struct
from pathlib import Path

import numpy as np
import pytest
from gguf import GGUFReader, GGUFWriter
from gguf.quants import dequantize

from crm.embedded.smollm2 import smollm2_file
from parsing.gguf import read_gguf
from parsing.limits import ParseError


@pytest.fixture
def written(tmp_path: Path) -> Path:
    path = tmp_path / "small.gguf"
    writer = GGUFWriter(path, "llama")
    writer.add_uint32("llama.block_count", 2)
    writer.add_array("tokenizer.ggml.tokens", ["a", "ä", ""])
    writer.add_tensor("norm", np.arange(64, dtype=np.float32))
    writer.add_tensor("linear", np.arange(128, dtype=np.float32).reshape(2, 64))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_a_small_file_is_read_whole(written: Path) -> None:
    file = read_gguf(written)

    assert file.metadata["llama.block_count"] == 2
    assert file.metadata["tokenizer.ggml.tokens"] == ["a", "ä", ""]
    assert set(file.weights) == {"norm", "linear"}
    np.testing.assert_array_equal(file.weights["norm"].rows(), np.arange(64))
    np.testing.assert_array_equal(file.weights["linear"].rows(), np.arange(128).reshape(2, 64))
    np.testing.assert_array_equal(file.weights["linear"].rows([1]), np.arange(64, 128)[None])
    file.forget()
    np.testing.assert_array_equal(file.weights["linear"].rows([0]), np.arange(64)[None])


def test_weights_of_a_language_model_are_what_its_own_library_reads() -> None:
    path = smollm2_file()
    assert path is not None
    ours = read_gguf(path)
    theirs = {tensor.name: tensor for tensor in GGUFReader(path).tensors}

    assert set(ours.weights) == set(theirs)
    for name in ("token_embd.weight", "blk.3.attn_q.weight", "blk.29.ffn_down.weight", "output_norm.weight"):
        tensor, weights = theirs[name], ours.weights[name]
        few = 7 if len(weights.shape) > 1 else None
        expected = dequantize(tensor.data[:few], tensor.tensor_type)
        np.testing.assert_array_equal(weights.rows(slice(few)), expected, err_msg=name)

    stored = ours.weights["blk.3.attn_q.weight"]
    packed = stored.quantised()
    scale, least = (each.repeat(32, axis=1) for each in (packed.scale, packed.least))
    np.testing.assert_array_equal(packed.numbers * scale + least, stored.rows())
    with pytest.raises(ParseError, match="not in the format Q4_1"):
        ours.weights["token_embd.weight"].quantised()


@pytest.mark.parametrize("kept", [0, 3, 20, 60, 200, -1])
def test_a_file_that_breaks_off_is_refused(written: Path, kept: int) -> None:
    content = written.read_bytes()
    written.write_bytes(content[:kept])
    with pytest.raises(ParseError, match=r"no GGUF file|damaged, or breaks off"):
        read_gguf(written)


def test_what_is_no_such_file_or_says_impossible_things_is_refused(written: Path) -> None:
    content = written.read_bytes()
    for changed, said in (
        (b"PK\x03\x04" + content[4:], "no GGUF file"),
        (content[:4] + struct.pack("<I", 2) + content[8:], "version 2"),
        (content[:16] + struct.pack("<Q", 2**60) + content[24:], "damaged|unknown kind"),
    ):
        written.write_bytes(changed)
        with pytest.raises(ParseError, match=said):
            read_gguf(written)


def test_weights_in_another_format_are_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "half.gguf"
    writer = GGUFWriter(path, "llama")
    writer.add_tensor("linear", np.zeros((2, 64), dtype=np.float16))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    with pytest.raises(ParseError, match="in the format 1, and F32, Q4_1 and Q8_0 are read"):
        read_gguf(path)
