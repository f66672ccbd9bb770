from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from crm.baselines import LongerCRM
from crm.criteria import CriteriaSet
from crm.errors import CRMError
from crm.protocol import Pair, Question, ScoreBlock, Verdict
from crm.scoring import query_order, score_texts
from tests.crm.samples import TextBenchmark


class CountingCRM(LongerCRM):
    """Notes how many pairs it is asked about at once."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    def judge(self, questions: Sequence[Question]) -> list[Verdict]:
        self.asked.append(len(questions))
        return super().judge(questions)


@dataclass(frozen=True)
class TopicBenchmark(TextBenchmark):
    """A benchmark whose queries have topics."""

    topic_index: NDArray[np.intp]


def benchmark(llms: int, queries: int) -> TextBenchmark:
    return TextBenchmark(
        {
            f"llm{row}": [
                Pair(f"q{column}", "a" * (row + 1), "a" * (column + 1)) for column in range(queries)
            ]
            for row in range(llms)
        }
    )


def matrix(blocks: Sequence[ScoreBlock], llms: int, queries: int) -> np.ndarray:
    filled = np.full((llms, queries), np.nan)
    for block in blocks:
        filled[np.ix_(block.llms, block.queries)] = block.prob
    return filled


def test_every_block_holds_all_llms_and_together_they_are_the_matrix() -> None:
    blocks = list(score_texts(LongerCRM(), CriteriaSet(), benchmark(3, 20), batch=12))

    assert all(block.llms.tolist() == [0, 1, 2] for block in blocks)
    assert sorted(np.concatenate([block.queries for block in blocks])) == list(range(20))
    lengths = np.arange(3)[:, None] + 2, np.arange(20)[None, :] + 2
    expected = lengths[0] / (lengths[0] + lengths[1])
    np.testing.assert_allclose(matrix(blocks, 3, 20), expected, rtol=1e-6)


def test_blocks_grow_from_one_query_to_the_judges_batch() -> None:
    judge = CountingCRM()
    list(score_texts(judge, CriteriaSet(), benchmark(3, 30), batch=24))

    assert judge.asked == [3, 6, 12, 24, 24, 21]


def test_a_block_has_a_query_even_if_that_is_more_than_a_batch() -> None:
    judge = CountingCRM()
    list(score_texts(judge, CriteriaSet(), benchmark(5, 3), batch=2))

    assert judge.asked == [5, 5, 5]


def test_missing_texts_are_no_numbers_and_the_judge_is_not_asked_about_them() -> None:
    same = Pair("q", "aa", "aa")
    gaps = TextBenchmark({"one": [None, same, Pair("q", "aaa", "a")], "none": [None] * 3})
    judge = CountingCRM()
    filled = matrix(list(score_texts(judge, CriteriaSet(), gaps)), 2, 3)

    np.testing.assert_allclose(filled, [[np.nan, 0.5, 2 / 3], [np.nan] * 3], rtol=1e-6)
    assert sum(judge.asked) == 2


def test_nothing_but_missing_texts_is_refused() -> None:
    with pytest.raises(CRMError, match="import the texts first"):
        next(score_texts(LongerCRM(), CriteriaSet(), TextBenchmark({"one": [None, None]})))


def test_the_order_is_fixed_by_its_seed() -> None:
    first, again, other = (query_order(benchmark(1, 50), seed) for seed in (1, 1, 2))

    assert sorted(first) == list(range(50))
    assert first.tolist() == again.tolist() != other.tolist()
    assert first.tolist() != list(range(50))


def test_every_prefix_has_its_share_of_every_topic() -> None:
    topics = np.repeat([0, 1, 2], [60, 30, 10])
    order = query_order(TopicBenchmark(benchmark(1, 100).given, topics), seed=3)

    for length in range(10, 100, 10):
        counts = np.bincount(topics[order[:length]], minlength=3)
        np.testing.assert_allclose(counts, length * np.array([0.6, 0.3, 0.1]), atol=1)
