import pytest
from hypothesis import given
from hypothesis import strategies as st

from crm.errors import UnavailableError
from crm.llm.loading import by_length, load_tokenizer


@given(st.lists(st.integers(1, 50)), st.integers(1, 200))
def test_batches_hold_everything_once_and_stay_within_the_budget(lengths: list[int], budget: int) -> None:
    batches = list(by_length(lengths, budget))

    assert sorted(index for batch in batches for index in batch) == list(range(len(lengths)))
    for batch in batches:
        longest = max(lengths[index] for index in batch)
        assert len(batch) == 1 or len(batch) * longest <= budget


def test_similar_lengths_share_a_batch_and_the_longest_come_first() -> None:
    assert list(by_length([1, 9, 2, 8], 18)) == [[1, 3], [2, 0]]
    assert list(by_length([], 18)) == []


def test_the_package_that_reads_gguf_files_is_named_where_it_is_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("crm.llm.loading.find_spec", lambda name: None if name == "gguf" else object())
    with pytest.raises(UnavailableError, match=r"package gguf is missing.*requirements-weights\.txt"):
        load_tokenizer("somewhere", gguf_file="model.gguf")
