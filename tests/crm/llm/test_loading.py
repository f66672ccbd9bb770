from hypothesis import given
from hypothesis import strategies as st

from crm.llm.loading import by_length


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
