"""What the bundled weights must show: on DailyBench, on AlpacaEval, and on annotations they have not seen."""

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr

from benchmarks._counts import COUNTERS
from benchmarks.style_wishes import WISHES
from crm.criteria import CriteriaSet, Criterion
from crm.data.pairs import read_labelled_pairs
from crm.embedded.model import embedded_crm
from crm.evaluation.run import evaluate
from crm.registry import get_crm
from leaderboard.request import check_criteria
from leaderboard.service import Service
from leaderboard.statistics.correlation import correlate
from leaderboard.statistics.ranking import Ranking
from leaderboard.view import View

# Written once, before the weights were tried on them, and not chosen since.
OTHER_WORDS = {
    "brevia": (
        "Get to the point in as few words as possible.",
        "Short answers I can take in at a glance",
        "no fluff, just the answer",
    ),
    "scholia": (
        "I want thorough, scholarly explanations with historical context",
        "Go deep: theory, evidence and origins",
        "a comprehensive, well-researched treatment of the subject",
    ),
    "stepwise": (
        "Walk me through it step by step",
        "a clear ordered list of actions to follow",
        "Break everything down into a checklist of stages",
    ),
    "lumen": (
        "kind, supportive and caring",
        "Make me feel understood and cheer me on",
        "a gentle, empathetic friend who believes in me",
    ),
    "fabula": (
        "poetic language full of metaphors",
        "Paint a picture with sensory details",
        "lyrical, evocative storytelling",
    ),
    "verity": (
        "balanced view with pros and cons",
        "honest about uncertainty and limitations",
        "Consider several perspectives and point out the exceptions",
    ),
    "jester": (
        "Make me laugh",
        "witty jokes and light-hearted banter",
        "be silly and entertaining",
    ),
}
DETAILED = "Prefer in-depth exploration and detailed analysis."
CONCISE = "Preference for concise responses that are easy to read."


def ranking(service: Service, benchmark: str, wanted: str = "", avoided: str = "") -> Ranking:
    criteria = CriteriaSet.of(filter(None, [wanted]), filter(None, [avoided]))
    return service.leaderboard(View(benchmark, criteria=criteria)).ranking


class TestDailyBench:
    @pytest.mark.parametrize(("llm", "wish"), WISHES.items())
    def test_a_wish_puts_the_assistant_of_that_style_first(
        self, service: Service, llm: str, wish: str
    ) -> None:
        ranks = ranking(service, "dailybench", wish).ranks

        assert [name for name, rank in ranks.items() if rank == 1] == [llm]

    @pytest.mark.parametrize(("llm", "wish"), WISHES.items())
    def test_avoiding_it_puts_the_assistant_last_or_next_to_last(
        self, service: Service, llm: str, wish: str
    ) -> None:
        assert llm in ranking(service, "dailybench", avoided=wish).llms[-2:]

    def test_other_words_for_it_mostly_do_the_same(self, service: Service) -> None:
        first = {
            wish: ranking(service, "dailybench", wish).llms[0] == llm
            for llm, wishes in OTHER_WORDS.items()
            for wish in wishes
        }

        assert len(first) == 21
        assert sum(first.values()) >= 15, [wish for wish, won in first.items() if not won]

    @pytest.mark.parametrize(
        ("wish", "count", "more"),
        [
            ("uses tables", "tables", True),
            ("lots of emojis", "emojis", True),
            ("no emojis", "emojis", False),
            ("ends with a question", "asks_back", True),
            ("asks questions", "questions", True),
        ],
    )
    def test_what_is_counted_ranks_by_how_much_of_it_there_is(
        self, service: Service, wish: str, count: str, more: bool
    ) -> None:
        benchmark, found = service.benchmark("dailybench"), ranking(service, "dailybench", wish)
        amount = [
            np.mean(
                [COUNTERS[count](benchmark.text_at(llm, query) or "") for query in range(benchmark.n_queries)]
            )
            for llm in found.llms
        ]

        assert spearmanr(found.win_rate, amount).statistic * (1 if more else -1) > 0.9

    @pytest.mark.parametrize(
        ("wish", "reading"),
        [
            ("uses tables", "more tables"),
            ("lots of emojis", "more emojis"),
            ("funny", "funny"),
            ("never refuses", "fewer refusals"),
            ("ends with a question", "more closing questions"),
            ("in German", None),
            ("up to date", None),
            ("at most two sentences", "at most 2 sentences"),
            ("code with comments", "code comments"),
            ("no emojis", "fewer emojis"),
        ],
    )
    def test_an_odd_wish_is_read_right_or_openly_left_out(
        self, service: Service, wish: str, reading: str | None
    ) -> None:
        view = View("dailybench", criteria=CriteriaSet.of([wish]))
        checked = check_criteria(embedded_crm(), view)

        assert bool(checked.left_out) == (reading is None)
        if reading is not None:
            assert embedded_crm().reliability(Criterion(wish)).reading == reading


class TestAlpacaEval:
    def test_depth_and_brevity_nearly_reverse_each_other(self, service: Service) -> None:
        detailed, concise = (ranking(service, "alpaca-eval", wish).ranks for wish in (DETAILED, CONCISE))

        assert correlate(detailed, concise).tau <= -0.8

    def test_an_llm_asked_to_be_concise_or_verbose_is_ranked_accordingly(self, service: Service) -> None:
        detailed, concise = (
            dict(zip(found.llms, found.win_rate.tolist(), strict=True))
            for found in (ranking(service, "alpaca-eval", wish) for wish in (DETAILED, CONCISE))
        )

        # The baseline is GPT-4 Turbo (1106) asked for nothing: its own win rate is one half.
        gpt_4, gpt_35 = "gpt4_1106_preview", "gpt-3.5-turbo-1106"
        assert concise[f"{gpt_4}_concise"] > 0.5 > concise[f"{gpt_4}_verbose"]
        assert detailed[f"{gpt_4}_concise"] < 0.5 < detailed[f"{gpt_4}_verbose"]
        assert concise[gpt_35] > concise[f"{gpt_35}_verbose"]
        assert detailed[gpt_35] < detailed[f"{gpt_35}_verbose"]


@pytest.mark.corpora
def test_unseen_annotations_are_judged_right_as_often_as_the_model_card_says(corpora: Path) -> None:
    judged = read_labelled_pairs(
        corpora.parent / "preferences" / "criteria_annotations.jsonl", corpora, "dev"
    )
    # All of them are measured by `crm evaluate`; here a third of the queries, spread over the file.
    third = set(list(dict.fromkeys(item.question.pair.query for item in judged))[::3])
    result = evaluate(get_crm(), [item for item in judged if item.question.pair.query in third])
    accuracy = {item.subset: item for item in result.accuracies}

    assert accuracy["criteria list"].n >= 100
    assert accuracy["criteria list"].value >= 0.80
    assert accuracy["criterion"].value >= 0.68
    assert result.calibration_error <= 0.1
