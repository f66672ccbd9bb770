from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from crm.embedded.encoder import DIMENSIONS, Encoded, sentence_encoder
from crm.embedded.representation import (
    MISSING,
    NAME,
    Representation,
    Tone,
    load_arrays,
    relevance_features,
    representation,
    text_digest,
)
from crm.embedded.style import style_sheet
from crm.errors import UnavailableError
from crm.paths import REPRESENTATION_FILE
from leaderboard.service import Service

NAMES = style_sheet().names
QUERY = "How do I boil an egg?"


def test_queries_in_several_blocks_are_embedded_once_for_all_llms(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    encoder = sentence_encoder()

    class Recording:
        def encode(self, texts: Sequence[str], *, bulk: bool) -> Encoded:
            asked.extend(texts)
            return encoder.encode(texts, bulk=bulk)

    monkeypatch.setattr("crm.embedded.representation.sentence_encoder", Recording)
    blocks = [[f"Is {number} a prime number?"] for number in range(5)]
    for llm in ("brevia", "atlas"):
        for block in blocks:
            relevance_features([llm], block, np.zeros((1, DIMENSIONS), dtype=np.float32))

    assert asked == [query for block in blocks for query in block]


def test_responses_become_one_byte_a_feature() -> None:
    stored = representation().encode(["1. Boil the egg.\n2. Eat it.", None, ""], [QUERY] * 3)

    assert stored["features"].shape == (3, representation().size)
    assert stored["features"].dtype == np.int8
    assert stored["style"][0, NAMES.index("numbered_steps")] == 2
    np.testing.assert_array_equal(
        stored["digest"], [text_digest("1. Boil the egg.\n2. Eat it."), MISSING, text_digest("")]
    )


def test_an_empty_response_is_not_a_missing_one() -> None:
    assert text_digest("") != MISSING


def test_what_is_bundled_is_what_the_texts_give_today(service: Service) -> None:
    benchmark = service.benchmark("dailybench")
    stored = benchmark.representation(NAME)
    pairs = [pair for pair in benchmark.pairs("jester")[:6] if pair]
    encoded = representation().encode([pair.response_a for pair in pairs], [pair.query for pair in pairs])

    row = benchmark.llms.index("jester")
    np.testing.assert_array_equal(encoded["digest"], stored["digest"][row, :6])
    np.testing.assert_array_equal(encoded["style"], stored["style"][row, :6])
    # bfloat16 rounds otherwise on another processor.
    difference = encoded["features"].astype(int) - stored["features"][row, :6]
    assert np.abs(difference).mean() < 0.5


def test_features_are_counted_in_steps_and_clipped() -> None:
    fitted = representation()
    encoded = Encoded(
        np.full((1, DIMENSIONS), DIMENSIONS**-0.5, np.float32),
        fitted.state_mean[None] + 1000,
        np.zeros((1, fitted.token_axes.hidden_size), np.float32),
    )
    [quantised] = fitted.quantise(encoded, fitted.sheet.count([""]), fitted.relate([""], [QUERY], encoded))

    assert set((quantised[fitted.content] * fitted.step).round(2)) == {0.98}
    assert set(np.abs(quantised[fitted.wording])) <= set(range(128))
    assert np.abs(quantised[fitted.wording]).max() == 127


def test_the_parts_follow_each_other() -> None:
    fitted = representation()

    assert fitted.content.start == 0
    assert fitted.content.stop == fitted.wording.start
    assert fitted.wording.stop == fitted.style.start
    assert fitted.style.stop == fitted.relevance.start
    assert fitted.relevance.stop == fitted.manner.start
    assert fitted.manner.stop == fitted.size
    assert len(fitted.projection.T) >= len(fitted.tones)


def test_it_survives_being_saved(tmp_path: Path) -> None:
    fitted = replace(representation(), tones=(Tone("warmer", "colder"),))
    fitted.save(tmp_path / "saved.npz")
    loaded = Representation.load(tmp_path / "saved.npz")

    assert loaded.digest == fitted.digest == representation().digest
    assert loaded.tones == fitted.tones


@pytest.mark.parametrize("most", [2, None])
def test_how_much_of_a_response_is_read_is_saved_and_part_of_the_digest(
    tmp_path: Path, most: int | None
) -> None:
    longer = replace(representation(), max_windows=most)
    longer.save(tmp_path / "saved.npz")
    loaded = Representation.load(tmp_path / "saved.npz")

    assert loaded.max_windows == most
    assert loaded.digest == longer.digest != representation().digest


def test_a_representation_of_more_windows_reads_on() -> None:
    text = " ".join(["sea"] * 600 + ["law"] * 200)
    short, whole = (replace(representation(), max_windows=most).encode([text], [QUERY]) for most in (2, None))

    content = representation().content
    assert (short["features"][:, content] != whole["features"][:, content]).any()
    np.testing.assert_array_equal(short["counts"], whole["counts"])


def test_other_arrays_have_another_digest() -> None:
    assert (
        replace(representation(), state_mean=representation().state_mean + 1).digest
        != representation().digest
    )


class TestAFileThatCannotBeUsed:
    def test_is_absent(self, tmp_path: Path) -> None:
        with pytest.raises(UnavailableError, match=r"There is no file .*absent\.npz"):
            Representation.load(tmp_path / "absent.npz")
        with pytest.raises(UnavailableError, match="There is no file"):
            load_arrays(tmp_path)

    @pytest.mark.parametrize("damage", [b"", b"not an archive", b"PK\x03\x04"])
    def test_is_damaged(self, tmp_path: Path, damage: bytes) -> None:
        path = tmp_path / "damaged.npz"
        path.write_bytes(damage)
        with pytest.raises(UnavailableError, match="is damaged"):
            Representation.load(path)

    def test_is_cut_short(self, tmp_path: Path) -> None:
        whole = REPRESENTATION_FILE.read_bytes()
        path = tmp_path / "short.npz"
        path.write_bytes(whole[: len(whole) // 2])
        with pytest.raises(UnavailableError, match="is damaged"):
            Representation.load(path)

    def test_runs_code_when_it_is_unpickled(self, tmp_path: Path) -> None:
        path = tmp_path / "pickled.npz"
        np.savez(path, state_mean=np.array([Tone("a", "b")], dtype=object))
        with pytest.raises(UnavailableError, match="is damaged"):
            Representation.load(path)

    def test_lacks_an_array(self, tmp_path: Path) -> None:
        path = tmp_path / "lacking.npz"
        arrays = dict(load_arrays(REPRESENTATION_FILE))
        del arrays["style_spread"]
        np.savez(path, **arrays)
        with pytest.raises(UnavailableError, match="style_spread"):
            Representation.load(path)

    def test_was_fitted_for_other_style_features(self, tmp_path: Path) -> None:
        path = tmp_path / "other.npz"
        np.savez(path, **{**load_arrays(REPRESENTATION_FILE), "style_names": np.array(NAMES[::-1])})
        with pytest.raises(UnavailableError, match="other style features"):
            Representation.load(path)


def test_one_that_does_not_exist_is_refused() -> None:
    with pytest.raises(
        UnavailableError, match="There is no representation named 'minilm-style-9': choose one of"
    ):
        representation("minilm-style-9")


def test_a_response_is_related_to_its_query() -> None:
    fitted = representation()
    answer = "Put the egg into boiling water for seven minutes."
    stored = fitted.encode([answer, answer], [QUERY, "Who wrote Hamlet?"])["features"]

    close, far = stored[:, fitted.relevance].astype(int)
    assert close[0] > far[0]
    np.testing.assert_array_equal(stored[0, : fitted.style.stop], stored[1, : fitted.style.stop])


def test_an_unknown_query_leaves_relevance_at_its_average() -> None:
    fitted = representation()
    [stored] = fitted.encode(["Put the egg into boiling water."], [" "])["features"]

    assert not stored[fitted.relevance].any()
