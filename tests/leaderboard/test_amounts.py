from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pytest

from crm.criteria import CriteriaSet
from crm.embedded.counts import exact_counts
from crm.protocol import Amounts, JudgedBenchmark, Pair
from leaderboard.amounts import MeanAmount, mean_amounts
from leaderboard.sentences import amounts_in_words, percent
from leaderboard.service import Service
from leaderboard.view import View, read_topic_weights
from tests.crm.samples import KnownVerdicts, TextBenchmark
from tests.judges import SlowCRM

NAN = np.nan
TWO = TextBenchmark({"ann": [None] * 3, "bob": [None] * 3})
EVERYWHERE = np.ones(3, dtype=np.bool_)
NOTHING = ((CriteriaSet(), EVERYWHERE),)
EMOJIS = MeanAmount("emojis an answer", {"ann": 1.6666, "bob": NAN}, 0.125)


@dataclass(frozen=True)
class CountingCRM(KnownVerdicts):
    """Counts one property more than there are criteria."""

    def amounts(self, criteria: CriteriaSet, benchmark: JudgedBenchmark) -> tuple[Amounts, ...]:
        amount = np.array([[1, 2, 6], [NAN, NAN, 4], [0, 0, 3]], dtype=np.float32)
        return tuple(Amounts(f"things {place}", amount + place) for place in range(len(criteria) + 1))


def found(weights: Sequence[float], n_criteria: int = 0) -> Mapping[str, MeanAmount]:
    criteria = CriteriaSet.of([f"wish {place}" for place in range(n_criteria)])
    lists = ((criteria, EVERYWHERE),)
    return {each.unit: each for each in mean_amounts(CountingCRM(), lists, TWO, np.array(weights), TWO.llms)}


def test_means_are_over_the_queries_that_count_as_they_are_weighed() -> None:
    mean = found([1.0, 3.0, 0.0])["things 0"]

    assert mean.by_llm == pytest.approx({"ann": 1.75, "bob": NAN}, nan_ok=True)
    assert mean.baseline == 0
    assert found([1.0, 1.0, 1.0])["things 0"].by_llm == {"ann": 3, "bob": 4}


def test_at_most_three_are_given_the_first() -> None:
    assert list(found([1.0, 1.0, 1.0], n_criteria=5)) == ["things 0", "things 1", "things 2"]


def test_the_share_of_answers_that_keep_to_a_limit_is_weighed_alike() -> None:
    class LimitingCRM(CountingCRM):
        def amounts(self, criteria: CriteriaSet, benchmark: JudgedBenchmark) -> tuple[Amounts, ...]:
            [found] = super().amounts(criteria, benchmark)
            return (replace(found, limit="at most 2 things", kept=found.amount <= 2),)

    [mean] = mean_amounts(LimitingCRM(), NOTHING, TWO, np.array([1.0, 2.0, 1.0]), TWO.llms)

    assert mean.limit == "at most 2 things"
    assert mean.kept == {"ann": 0.75, "bob": 0.0}
    assert amounts_in_words([mean], "ann").endswith(", with at most 2 things in 75 % of its answers")


@pytest.mark.parametrize(
    ("share", "text"), [(0.0, "none"), (0.001, "under 1 %"), (0.374, "37 %"), (0.999, "99 %"), (1.0, "all")]
)
def test_a_share_is_none_or_all_only_where_it_is(share: float, text: str) -> None:
    assert percent(share) == text


def test_a_judge_that_does_not_count_gives_none() -> None:
    assert mean_amounts(SlowCRM(), CriteriaSet.of(["no emojis"]), TWO, np.ones(3), TWO.llms) == ()


@pytest.mark.parametrize(
    ("amounts", "written"),
    [((0.125, 0.0), ["0.12", "0.00"]), ((9.94, NAN), ["9.94", "–"]), ((312.4, 8.06), ["312", "8"])],
)
def test_amounts_of_a_property_are_written_alike(amounts: tuple[float, float], written: list[str]) -> None:
    mean = MeanAmount("things", dict(zip("ab", amounts, strict=True)), 1.0)

    assert [mean.written(amount) for amount in amounts] == written


def test_in_words() -> None:
    assert amounts_in_words([EMOJIS], "ann") == "On average 1.67 emojis an answer (baseline 0.12)"
    assert amounts_in_words([EMOJIS, EMOJIS], "bob") == (
        "On average – emojis an answer (baseline 0.12), – emojis an answer (baseline 0.12)"
    )
    assert amounts_in_words([], "ann") == ""


def words(pairs: Sequence[Pair | None], baseline: bool = False) -> list[float]:
    texts = [pair.response_b if baseline else pair.response_a for pair in pairs if pair is not None]
    return exact_counts(texts)[:, 0].tolist()


def test_of_a_leaderboard_are_counts_of_its_texts(service: Service) -> None:
    view = View("dailybench", criteria=CriteriaSet.of(["short answers", "Written in Finnish"]))
    [amount] = service.leaderboard(view).amounts
    pairs = service.benchmark("dailybench").pairs("brevia")

    assert amount.unit == "words an answer"
    assert amount.by_llm["brevia"] == pytest.approx(np.mean(words(pairs)), abs=0.1)
    assert amount.baseline == pytest.approx(np.mean(words(pairs, baseline=True)), abs=0.1)


def test_of_a_leaderboard_follow_topics_and_weights(service: Service) -> None:
    benchmark = service.benchmark("dailybench")
    view = View("dailybench", ("Poetry", "Short fiction"), CriteriaSet.of(["short answers"]))
    weighted = replace(view, topic_weights=read_topic_weights(["Poetry=3"]))
    pairs = benchmark.pairs("jester")
    poetry, fiction = (
        np.mean(
            words(
                [pairs[place] for place, query in enumerate(benchmark.record.queries) if query.topic == topic]
            )
        )
        for topic in view.topics
    )

    [plain], [tripled] = (service.leaderboard(each).amounts for each in (view, weighted))
    assert plain.by_llm["jester"] == pytest.approx((poetry + fiction) / 2, abs=0.1)
    assert tripled.by_llm["jester"] == pytest.approx((3 * poetry + fiction) / 4, abs=0.1)


def test_without_what_can_be_counted_there_are_none(service: Service) -> None:
    assert service.leaderboard(View("dailybench")).amounts == ()
    assert service.leaderboard(View("dailybench", criteria=CriteriaSet.of(["funny"]))).amounts == ()
