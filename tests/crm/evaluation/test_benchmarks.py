from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit

from crm.baselines import LongerCRM
from crm.criteria import CriteriaSet
from crm.data.judge_benchmarks import TIES, JudgeBenchmark, JudgedPrompt
from crm.errors import CriterionError
from crm.evaluation.benchmarks import BenchmarkReport, benchmark_tables, evaluate_on, ties_score
from crm.protocol import JudgedBenchmark, Question, ScoreBlock, Verdict
from crm.scoring import score_texts


@dataclass(frozen=True)
class Rewards:
    """A reward model: a response's reward is the number that it consists of."""

    name: str = "rewards"
    version: str = "1"
    representation: str | None = None
    reads_criteria: bool = False

    def judge(self, questions: Sequence[Question]) -> list[Verdict]:
        if any(question.criteria for question in questions):
            raise CriterionError("It reads no criteria.")
        return [
            Verdict(float(expit(float(one.pair.response_a) - float(one.pair.response_b))), ())
            for one in questions
        ]

    def score(self, criteria: CriteriaSet, benchmark: JudgedBenchmark) -> Iterator[ScoreBlock]:
        return score_texts(self, criteria, benchmark)


@dataclass(frozen=True)
class FirstPlace(Rewards):
    """A judge that always prefers the response that is named first."""

    name: str = "first"

    def judge(self, questions: Sequence[Question]) -> list[Verdict]:
        return [Verdict(0.9, ()) for _ in questions]


def prompt(
    name: str, chosen: Sequence[float], rejected: Sequence[float], domain: str = "Math", rubric: str = ""
) -> JudgedPrompt:
    return JudgedPrompt(
        name, f"Prompt {name}", tuple(map(str, chosen)), tuple(map(str, rejected)), domain,
        (rubric,) if rubric else (),
    )  # fmt: skip


def report_on(*prompts: JudgedPrompt, judge: Rewards | LongerCRM | None = None) -> BenchmarkReport:
    return evaluate_on(judge or Rewards(), JudgeBenchmark("RewardBench 2", prompts))


class TestBestOfN:
    def test_is_right_where_the_right_response_beats_all_wrong_ones(self) -> None:
        [math] = report_on(prompt("1", [3], [1, 2, 0]), prompt("2", [3], [1, 2, 4])).domains

        assert (math.best.n, math.best.value) == (2, 0.5)
        assert math.pairs == pytest.approx((1 + 2 / 3) / 2)
        assert math.chance == 0.25
        assert math.best.low < 0.5 < math.best.high

    @given(st.lists(st.integers(-3, 3), min_size=4, max_size=4))
    def test_of_a_reward_model_is_what_reward_bench_2_defines(self, rewards: list[int]) -> None:
        best = [reward == max(rewards) for reward in rewards]
        [math] = report_on(prompt("1", rewards[:1], rewards[1:])).domains

        assert math.best.value == pytest.approx(1 / sum(best) if best[0] else 0)

    def test_a_preference_for_the_first_place_gains_nothing(self) -> None:
        prompts = [prompt(str(number), [1], [2]) for number in range(400)]
        [math] = report_on(*prompts, judge=FirstPlace()).domains

        assert 0.42 < math.best.value < 0.58

    def test_the_average_is_that_of_the_domains(self) -> None:
        prompts = [prompt(str(number), [1], [0], "Focus") for number in range(3)]
        report = report_on(*prompts, prompt("9", [0], [1], "Math"))

        assert [domain.domain for domain in report.domains] == ["Focus", "Math"]
        assert report.average == 0.5


class TestTies:
    """The numbers are those of the benchmark's formula, worked out by hand."""

    def test_clearly_told_apart(self) -> None:
        report = report_on(prompt("ref:0", [4], [1], TIES), prompt("tied:0", [5, 4.5], [1], TIES))

        assert report.domains[0].ties == pytest.approx(1 + 0.01 * np.tanh(3 / 0.5 - 1), abs=1e-5)
        assert report.average == report.domains[0].ties

    def test_right_but_spread_wider_than_the_gap(self) -> None:
        report = report_on(prompt("ref:0", [4], [1], TIES), prompt("tied:0", [5, 1.5], [1], TIES))

        assert report.domains[0].ties == pytest.approx(0.6 + 0.01 * np.tanh(0.5 / 3.5 - 1), abs=1e-5)

    def test_wrong_in_one_form(self) -> None:
        report = report_on(prompt("ref:0", [0], [1], TIES), prompt("tied:0", [5, 4.5], [1], TIES))

        assert report.domains[0].ties == pytest.approx(0.3 + 0.2 + 0.01 * np.tanh(-1 / 0.5 - 1), abs=1e-5)

    def test_equal_right_responses_are_no_division_by_nothing(self) -> None:
        assert ties_score({"ref:0": (1.0, None), "tied:0": (1.0, 0.0)}) == pytest.approx(1.01)
        assert ties_score({"ref:0": (0.0, None), "tied:0": (0.0, 0.0)}) == pytest.approx(0.0)

    def test_without_both_forms_it_is_undefined(self) -> None:
        report = report_on(prompt("tied:0", [5, 4.5], [1], TIES), prompt("1", [1], [0]))

        assert report.domains[0].ties is None
        assert report.average is None
        assert benchmark_tables([report])[0].rows == (("rewards ∅ 1", "–", "100.0", "–"),)

    def test_a_draw_keeps_both_forms(self) -> None:
        prompts = [prompt(f"ref:{n}", [4], [1], TIES) for n in range(5)]
        prompts += [prompt(f"tied:{n}", [5, 4.5], [1], TIES) for n in range(5)]
        drawn = evaluate_on(Rewards(), JudgeBenchmark("RewardBench 2", tuple(prompts)), limit=2)

        assert drawn.domains[0].best.n == 4
        assert drawn.domains[0].ties == pytest.approx(1.01, abs=1e-4)


class TestRubrics:
    def test_a_judge_without_criteria_is_not_given_them(self) -> None:
        report = report_on(prompt("1", [1], [0], rubric="long"))

        assert (report.judge, report.rubrics) == ("rewards ∅", False)

    def test_other_judges_are(self) -> None:
        benchmark = JudgeBenchmark("RubricBench", (prompt("1", [1], [0], rubric="long"),))

        assert evaluate_on(LongerCRM(), benchmark).rubrics
        assert not evaluate_on(LongerCRM(), benchmark, without_criteria=True).rubrics


def test_tables_have_pairs_only_where_there_are_more_than_two_responses() -> None:
    two, four = report_on(prompt("1", [1], [0])), report_on(prompt("1", [1], [0, 2, 0]))

    assert [table.title for table in benchmark_tables([two])] == ["RewardBench 2"]
    scores, pairs = benchmark_tables([four])
    assert scores.columns == ("judge", "Math", "average")
    assert scores.rows == (("rewards ∅ 1", "0.0", "0.0"),)
    assert "by lot 25.0" in scores.note
    assert pairs.rows == (("rewards ∅ 1", "66.7"),)
