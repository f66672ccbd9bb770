"""What a reason quotes is what moved the verdict."""

import gc
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.special import logit

from crm.criteria import MAX_CRITERIA, CriteriaSet, Criterion, Polarity, Weight
from crm.embedded.model import (
    EmbeddedCRM,
    Member,
    embedded_crm,
    held_back,
    save_weights,
    unless_by_chance,
)
from crm.embedded.projection import project
from crm.embedded.reasons import reasons
from crm.embedded.representation import NAME, load_arrays, representation
from crm.embedded.style import style_sheet
from crm.errors import UnavailableError
from crm.paths import EMBEDDED_FILE
from crm.protocol import CRM, Explains, MeasuresResponses, Pair, Question, UseOfLLM
from leaderboard.service import Service
from leaderboard.statistics.duels import Margins, duels
from leaderboard.statistics.win_rate import TIE_TOLERANCE, outcomes
from leaderboard.view import View
from tests.crm.samples import ArrayBenchmark, random_features

WISHES = ["concise and direct", "in-depth analysis", "numbered steps", "playful humor", "warm"]
criteria_sets = st.lists(
    st.builds(Criterion, st.sampled_from(WISHES), st.sampled_from(Weight), st.sampled_from(Polarity)),
    min_size=1,
    max_size=4,
).map(lambda listed: CriteriaSet(tuple(listed)))
seeds = st.integers(0, 2**32 - 1)

SHORT = "Boil it for seven minutes."
LONG = (
    "Boiling an egg looks simple, yet the result depends on its size, its age and the height above the sea. "
    "Historically, cooks judged by eye. Proteins in the white set at 62 degrees, those in the yolk at 68, "
    "which explains why the white is firm first. For a medium egg, seven minutes are a good start."
)


def scored(criteria: CriteriaSet, features: np.ndarray, **options: object) -> np.ndarray:
    [block] = embedded_crm().score(criteria, ArrayBenchmark(features, **options))  # type: ignore[arg-type]
    assert block.llms.tolist() == list(range(len(features) - 1))
    assert block.queries.tolist() == list(range(features.shape[1]))
    return block.prob


def judged(criteria: CriteriaSet, response_a: str = SHORT, response_b: str = LONG) -> float:
    [verdict] = embedded_crm().judge(
        [Question(criteria, Pair("How do I boil an egg?", response_a, response_b))]
    )
    return verdict.prob_a


class ArraysByLLM(dict[str, NDArray[Any]]):
    """A benchmark's arrays that are passed on an LLM at a time, and only the digest whole."""

    def __init__(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        super().__init__({"digest": arrays["digest"]})
        self.arrays = arrays
        self.shape: tuple[int, int] = arrays["digest"].shape
        self.asked: list[list[str]] = []

    def each(self, names: Collection[str], use: UseOfLLM) -> None:
        self.asked.append([*names])
        for row in reversed(range(self.shape[0])):
            use(row, {name: self.arrays[name][row] for name in {*names, "digest"}})


@dataclass(frozen=True)
class BenchmarkByLLM(ArrayBenchmark):
    @cached_property
    def by_llm(self) -> ArraysByLLM:
        return ArraysByLLM(super().representation("any"))

    def representation(self, name: str) -> Mapping[str, NDArray[Any]]:
        return self.by_llm


class TestByLLM:
    @given(criteria_sets | st.just(CriteriaSet()), seeds, st.integers(1, 4), st.integers(1, 5))
    def test_margins_are_the_same_whether_arrays_are_held_or_read_an_llm_at_a_time(
        self, criteria: CriteriaSet, seed: int, n_llms: int, n_queries: int
    ) -> None:
        features, missing = random_features(n_llms + 1, n_queries, seed=seed), [(0, n_queries - 1)]
        held = embedded_crm().margins(criteria, ArrayBenchmark(features, missing))
        read = embedded_crm().margins(criteria, BenchmarkByLLM(features, missing))

        np.testing.assert_array_equal(read.present, held.present)
        np.testing.assert_allclose(read.margins, held.margins, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(read.penalty, held.penalty, rtol=1e-5, atol=1e-5)

    def test_scores_of_gaming_responses_are_the_same_at_the_second_time(self) -> None:
        # Some random features are so unlike responses that the guard holds them back.
        features = random_features(4, 120)
        held, read = ArrayBenchmark(features), BenchmarkByLLM(features)
        assert (embedded_crm().margins(CriteriaSet(), held).penalty > 1).any()
        for criteria in (CriteriaSet(), CriteriaSet.of(["warm"]), CriteriaSet.of(["concise and direct"])):
            [expected], [found] = (embedded_crm().score(criteria, one) for one in (held, read))
            np.testing.assert_allclose(found.prob, expected.prob, atol=1e-6)

    def test_one_answer_that_is_taken_for_gaming_decides_no_tie(self) -> None:
        penalty = np.zeros((3, 100), dtype=np.float32)
        penalty[1, :1], penalty[2, :5] = 30.0, 30.0
        lost = unless_by_chance(penalty)

        tie = np.zeros(100, dtype=np.float32)
        np.testing.assert_array_equal(held_back(tie, lost[0] - lost[1]), tie)
        assert (held_back(tie, lost[0] - lost[2])[:5] < 0).all()
        assert held_back(np.float32(1.0), lost[0, 0] - lost[1, 0]) < 0

    def test_only_what_the_criteria_need_is_read(self) -> None:
        benchmark = BenchmarkByLLM(random_features(2, 3))
        for wishes in ([], ["no emojis"], ["concise and direct"]):
            embedded_crm().margins(CriteriaSet.of(wishes), benchmark)

        assert benchmark.by_llm.asked == [
            ["features"],
            ["features", "counts"],
            ["features", "counts", "passages"],
        ]


class KeptArrays(dict[str, NDArray[Any]]):
    """A benchmark's arrays as a server holds them: it is told when they are gone."""


@dataclass(frozen=True)
class KeptBenchmark(ArrayBenchmark):
    @cached_property
    def arrays(self) -> KeptArrays:
        return KeptArrays(super().representation("any"))

    def representation(self, name: str) -> Mapping[str, NDArray[Any]]:
        return self.arrays


class TestRemembering:
    def test_responses_are_held_against_each_criterion_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        asked: list[int] = []

        def counting(features: NDArray[np.int8], direction: NDArray[np.float32]) -> NDArray[np.float32]:
            asked.append(np.atleast_2d(direction.T).shape[0])
            return project(features, direction)

        monkeypatch.setattr("crm.embedded.model.project", counting)
        features = random_features(4, 20)
        kept, unkept = KeptBenchmark(features), ArrayBenchmark(features)
        wishes = CriteriaSet(tuple(Criterion(wish) for wish in WISHES[:3]))
        embedded_crm().margins(wishes, kept)
        assert asked == [3]

        for criteria in (*map(CriteriaSet.of, (["warm", WISHES[0]], [WISHES[1]])), wishes):
            found, expected = (embedded_crm().margins(criteria, one).margins for one in (kept, unkept))
            np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
        assert asked == [3, 1, 2, 1, 3], "of what is kept only the new criterion, of the other one all"

    def test_nothing_is_remembered_of_a_benchmark_that_is_gone(self) -> None:
        judge = embedded_crm()
        benchmark = KeptBenchmark(random_features(2, 3))
        arrays = id(benchmark.arrays)
        judge.margins(CriteriaSet.of(["warm"]), benchmark)
        assert arrays in judge._singly
        del benchmark
        gc.collect()
        assert arrays not in judge._singly


def test_it_is_a_judge_that_explains() -> None:
    assert isinstance(embedded_crm(), CRM)
    assert isinstance(embedded_crm(), Explains)
    assert isinstance(embedded_crm(), MeasuresResponses)


def test_questions_of_many_people_have_more_criteria_than_one_of_them_may() -> None:
    pair = Pair("How do I boil an egg?", SHORT, LONG)
    wanted = [
        CriteriaSet((Criterion(f"Mentions the number {number}"),)) for number in range(MAX_CRITERIA + 1)
    ]

    verdicts = embedded_crm().judge([Question(criteria, pair) for criteria in wanted])

    assert len(verdicts) == len(wanted)


READ_APART = 0.1
"""What is to be avoided is read with “avoid” before it: its verdicts are not to a hair the contrary."""


class TestLaws:
    @given(criteria_sets | st.just(CriteriaSet()), seeds)
    def test_swapping_the_responses_mirrors_the_probability(self, criteria: CriteriaSet, seed: int) -> None:
        features = random_features(2, 3, seed=seed)

        np.testing.assert_allclose(
            scored(criteria, features), 1 - scored(criteria, features[::-1]), atol=1e-5
        )

    @given(criteria_sets, seeds)
    def test_equal_responses_tie(self, criteria: CriteriaSet, seed: int) -> None:
        features = random_features(1, 3, seed=seed).repeat(2, axis=0)

        np.testing.assert_allclose(scored(criteria, features), 0.5, atol=TIE_TOLERANCE)

    @given(st.sampled_from(WISHES), st.sampled_from(Weight), seeds)
    def test_to_avoid_a_style_is_to_want_the_contrary(self, text: str, weight: Weight, seed: int) -> None:
        # Small features, like those of ordinary responses: the guard holds others back under either wish.
        features = random_features(2, 3, seed=seed) // 16
        want, avoid = (CriteriaSet((Criterion(text, weight, polarity),)) for polarity in Polarity)

        np.testing.assert_allclose(scored(want, features), 1 - scored(avoid, features), atol=READ_APART)

    @given(st.sampled_from(("no emojis", "at most two sentences", "never formal")), seeds)
    def test_to_avoid_what_is_not_a_bare_name_is_the_mirror_of_to_want(self, text: str, seed: int) -> None:
        features = random_features(2, 3, seed=seed) // 16
        want, avoid = (CriteriaSet((Criterion(text, polarity=polarity),)) for polarity in Polarity)

        np.testing.assert_allclose(scored(want, features), 1 - scored(avoid, features), atol=1e-6)

    @given(criteria_sets, seeds)
    def test_the_order_of_criteria_does_not_matter(self, criteria: CriteriaSet, seed: int) -> None:
        features = random_features(2, 3, seed=seed)

        np.testing.assert_allclose(
            scored(criteria, features), scored(CriteriaSet(tuple(criteria)[::-1]), features), atol=1e-5
        )

    @given(st.sampled_from(WISHES), seeds)
    def test_the_weight_of_an_only_criterion_does_not_matter(self, text: str, seed: int) -> None:
        features = random_features(2, 3, seed=seed)
        essential, optional = (
            CriteriaSet((Criterion(text, weight),)) for weight in (Weight.ESSENTIAL, Weight.OPTIONAL)
        )

        np.testing.assert_allclose(scored(essential, features), scored(optional, features), atol=1e-6)

    @settings(max_examples=10)
    @given(st.sampled_from([(1,), (5,), (3, 700), (2500,)]), seeds)
    def test_projecting_block_by_block_is_the_plain_product(self, shape: tuple[int, ...], seed: int) -> None:
        features = random_features(*shape, seed=seed)
        direction = np.random.default_rng(seed).normal(size=features.shape[-1]).astype(np.float32)

        product = project(features, direction)
        assert product.shape == shape
        np.testing.assert_allclose(product, features.astype(np.float64) @ direction, rtol=1e-3, atol=0.05)


class TestJudging:
    def test_the_concise_answer_is_preferred_by_whom_wishes_so(self) -> None:
        assert judged(CriteriaSet.of(["concise and direct"])) > 0.8
        assert judged(CriteriaSet.of(["in-depth analysis"])) < 0.2
        assert judged(CriteriaSet.of([], ["concise and direct"])) < 0.2

    def test_a_contradictory_pair_of_wishes_leaves_it_nearer_to_undecided(self) -> None:
        both = judged(CriteriaSet.of(["concise and direct", "in-depth analysis"]))

        assert (
            judged(CriteriaSet.of(["in-depth analysis"]))
            < both
            < judged(CriteriaSet.of(["concise and direct"]))
        )
        want_and_avoid = judged(CriteriaSet.of(["concise and direct"], ["concise and direct"]))
        assert want_and_avoid == pytest.approx(0.5, abs=1e-6)

    def test_an_optional_wish_counts_less(self) -> None:
        concise = Criterion("concise and direct")
        by_weight = [
            judged(CriteriaSet((concise, Criterion("in-depth analysis", weight))))
            for weight in (Weight.ESSENTIAL, Weight.IMPORTANT, Weight.OPTIONAL)
        ]

        assert by_weight == sorted(by_weight)
        assert by_weight[0] < by_weight[2] - 0.05

    def test_margins_are_summed_by_weight_over_the_root_of_squares(self) -> None:
        features = random_features(2, 40)
        one, two = Criterion("warm"), Criterion("slang", Weight.OPTIONAL, Polarity.AVOID)
        margin_one, margin_two = (
            logit(scored(CriteriaSet((item,)), features).astype(float)) for item in (one, two)
        )

        together = logit(scored(CriteriaSet((one, two)), features).astype(float))
        size = np.abs(np.stack([margin_one, margin_two, together]))
        told = ((size > 0) & (size < 6)).all(axis=0)  # No ties, nor what is all but certain.
        assert told.sum() > 20
        np.testing.assert_allclose(
            together[told], (margin_one + 0.3 * margin_two)[told] / np.hypot(1, 0.3), rtol=1e-3, atol=1e-3
        )

    def test_agreeing_wishes_make_it_surer(self) -> None:
        one, other = CriteriaSet.of(["short answers"]), CriteriaSet.of(["fewer sentences please"])

        shorter = LONG.rsplit(". ", 1)[0]
        assert judged(CriteriaSet((*one, *other)), shorter) > max(
            judged(one, shorter), judged(other, shorter)
        )

    def test_a_verdict_names_every_criterion_alone_in_their_order(self) -> None:
        criteria = CriteriaSet.of(["in-depth analysis", "concise and direct"], ["warm"])
        [verdict] = embedded_crm().judge([Question(criteria, Pair("How do I boil an egg?", SHORT, LONG))])

        alone = [judged(CriteriaSet((criterion,))) for criterion in criteria]
        np.testing.assert_allclose(verdict.per_criterion, alone, atol=1e-5)
        assert verdict.prob_a == pytest.approx(judged(criteria), abs=1e-5)

    def test_without_criteria_there_is_one_verdict_and_it_is_another(self) -> None:
        [verdict] = embedded_crm().judge([Question(CriteriaSet(), Pair("", SHORT, LONG))])

        assert verdict.per_criterion == ()
        assert verdict.prob_a < 0.5

    def test_many_questions_are_answered_in_their_order(self) -> None:
        pairs = [Pair("", SHORT, LONG), Pair("", LONG, SHORT), Pair("", SHORT, SHORT)]
        criteria = CriteriaSet.of(["concise and direct"])
        probs = [item.prob_a for item in embedded_crm().judge([Question(criteria, pair) for pair in pairs])]

        assert probs[0] > 0.8
        assert probs[1] == pytest.approx(1 - probs[0], abs=1e-6)
        assert probs[2] == 0.5
        assert embedded_crm().judge([]) == []

    @pytest.mark.parametrize("response", ["", " ", "簡潔 🎉", "<script>alert(1)</script>", "x" * 20_000])
    def test_any_text_gets_a_probability(self, response: str) -> None:
        assert 0 <= judged(CriteriaSet.of(["warm"]), response) <= 1


class TestScoring:
    @pytest.mark.parametrize("criteria", [CriteriaSet.of(["concise", "warm"], ["slang"]), CriteriaSet()])
    def test_stored_representations_give_what_the_texts_give(
        self, service: Service, criteria: CriteriaSet
    ) -> None:
        benchmark = service.benchmark("dailybench")
        [block] = embedded_crm().score(criteria, benchmark)
        queries = [0, 260, 521]
        for llm in ("brevia", "jester"):
            pairs = benchmark.pairs(llm)
            verdicts = embedded_crm().judge(
                [Question(criteria, pair) for query in queries if (pair := pairs[query])]
            )
            from_texts = [verdict.prob_a for verdict in verdicts]
            np.testing.assert_allclose(block.prob[benchmark.llms.index(llm), queries], from_texts, atol=0.03)

    def test_the_matrix_has_a_row_an_llm_and_a_column_a_query(self) -> None:
        features = random_features(4, 6)
        matrix = scored(CriteriaSet.of(["warm"]), features)

        assert matrix.shape == (3, 6)
        np.testing.assert_allclose(
            matrix[1:2, 2:3], scored(CriteriaSet.of(["warm"]), features[[1, 3], 2:3]), atol=1e-6
        )

    @pytest.mark.parametrize("wishes", [[], ["concise and direct"], ["at most 3 emojis", "formal"]])
    def test_verdicts_follow_from_the_margins_of_single_responses(
        self, service: Service, wishes: list[str]
    ) -> None:
        benchmark, criteria = service.benchmark("dailybench"), CriteriaSet.of(wishes)
        [block] = embedded_crm().score(criteria, benchmark)
        found = embedded_crm().margins(criteria, benchmark)
        margins = Margins(found.margins[[0, -1]], found.penalty[[0, -1]], found.alike, found.surely)

        [first, _] = duels(margins, np.zeros(522, dtype=int), used=np.ones(522, dtype=np.bool_)).outcome

        assert found.present.all()
        np.testing.assert_array_equal(first, outcomes(block.prob)[0])
        if wishes[0:1] == ["at most 3 emojis"]:
            assert (first == 0.5).sum() > 5

    def test_a_missing_response_is_not_a_number(self) -> None:
        matrix = scored(CriteriaSet.of(["warm"]), random_features(4, 6), missing=[(0, 1), (3, 4)])

        unknown = np.zeros((3, 6), dtype=bool)
        unknown[0, 1] = unknown[:, 4] = True
        np.testing.assert_array_equal(np.isnan(matrix), unknown)


class TestExplaining:
    def explained(
        self, criteria: CriteriaSet, response_a: str, response_b: str
    ) -> tuple[float, dict[str, float]]:
        stored = representation().encode([response_a, response_b], ["How do I boil an egg?"] * 2)
        first, second = ({name: array[row] for name, array in stored.items()} for row in (0, 1))
        prob, found = embedded_crm().explain(criteria, first, second)
        assert [abs(reason.contribution) for reason in found] == sorted(
            (abs(reason.contribution) for reason in found), reverse=True
        )
        return prob, {reason.text: reason.contribution for reason in found}

    def test_it_explains_the_verdict_it_gives(self) -> None:
        criteria = CriteriaSet.of(["concise and direct"])
        prob, found = self.explained(criteria, SHORT, LONG)

        assert prob == pytest.approx(judged(criteria), abs=1e-5)
        difference = style_sheet().count([LONG])[0, 0] - style_sheet().count([SHORT])[0, 0]
        assert found[f"shorter by {difference:.0f} words"] > 0
        assert 1 <= len(found) <= 6

    def test_seen_from_the_other_side_every_contribution_changes_sign(self) -> None:
        criteria = CriteriaSet.of(["concise and direct"])
        prob, found = self.explained(criteria, SHORT, LONG)
        prob_other, other = self.explained(criteria, LONG, SHORT)

        assert prob_other == pytest.approx(1 - prob, abs=1e-5)
        np.testing.assert_allclose(list(other.values()), [-value for value in found.values()], rtol=1e-4)
        assert any(text.startswith("longer by ") for text in other)

    def test_contributions_add_up_to_the_margin(self) -> None:
        features = representation()
        stored = features.encode([SHORT], [""])
        changed = stored["features"][0].astype(np.int16)
        for name in ("words", "numbered_steps", "warmth"):
            changed[features.style.start + style_sheet().names.index(name)] -= 40
        changed[:10] += 30
        counts = stored["style"][0]
        direction = embedded_crm().direction(CriteriaSet.of(["playful humor"]))
        difference = (stored["features"][0].astype(np.float32) - changed) * features.step
        found = reasons(difference, direction, counts, counts, features, most=100)

        margin = float(difference @ direction)
        assert sum(reason.contribution for reason in found) == pytest.approx(margin, rel=0.05)

    def test_counts_are_quoted(self) -> None:
        steps = "\n".join(f"{number}. Boil the egg once more." for number in range(1, 8))
        _, found = self.explained(CriteriaSet.of(["numbered steps"]), steps, LONG)
        assert found["7 numbered items against none"] > 0

        _, found = self.explained(CriteriaSet.of(["numbered steps"]), LONG, steps)
        assert found["no numbered items against 7"] < 0

        _, found = self.explained(CriteriaSet.of(["numbered steps"]), "1. Boil the egg.", steps)
        assert found["1 numbered item against 7"] < 0

    def test_equal_responses_have_no_reasons(self) -> None:
        assert self.explained(CriteriaSet.of(["warm"]), SHORT, SHORT) == (0.5, {})

    def test_real_answers_are_told_apart_in_words(self, service: Service) -> None:
        view = View("dailybench", criteria=CriteriaSet.of(["concise and direct"]))
        queries = [query.external_id for query in service.benchmark("dailybench").record.queries[:20]]
        shorter = [
            report
            for query in queries
            if "shorter by" in _said(report := service.pair_report(view, "brevia", query))
        ]
        assert len(shorter) >= 15
        words_a, words_b = style_sheet().count(
            [shorter[0].response or "", shorter[0].opponent_response or ""]
        )[:, 0]
        assert f"shorter by {words_b - words_a:.0f} words" in _said(shorter[0])

        view = View("dailybench", criteria=CriteriaSet.of(["numbered steps"]))
        said = [_said(service.pair_report(view, "stepwise", query)) for query in queries]
        assert sum(bool(re.search(r"\b\d+ numbered items against none", text)) for text in said) >= 10


def _said(report: object) -> str:
    [verdict] = report.verdicts  # type: ignore[attr-defined]
    return "; ".join(reason.text for reason in verdict.reasons)


class TestWeights:
    def test_they_survive_being_saved(self, tmp_path: Path) -> None:
        generator = np.random.default_rng(0)
        size = representation().size
        shapes = {
            "hidden_weight": (384, 8),
            "hidden_bias": (8,),
            "output_weight": (8, 4),
            "output_bias": (4,),
        }
        member = Member(
            **{name: generator.normal(0, 0.1, shape).astype(np.float32) for name, shape in shapes.items()},
            feature_weight=generator.normal(0, 0.1, (4, size)).astype(np.float32),
            cosine=0.25,
        )
        general = generator.normal(size=size).astype(np.float32)
        save_weights(tmp_path / "weights.npz", [member, member], general, representation(), "7")
        loaded = EmbeddedCRM.load(tmp_path / "weights.npz")
        original = EmbeddedCRM([member], general, representation())

        assert loaded.version == "7"
        np.testing.assert_array_equal(loaded.direction(CriteriaSet()), general)
        warm = CriteriaSet.of(["warm"])
        np.testing.assert_allclose(loaded.direction(warm), original.direction(warm), atol=0.01)

    def test_the_bundled_ones_are_those_of_the_bundled_representation(self) -> None:
        assert EmbeddedCRM.load(EMBEDDED_FILE).version == embedded_crm().version == "18"

    def test_those_of_another_representation_are_refused(self, tmp_path: Path) -> None:
        arrays = load_arrays(EMBEDDED_FILE)
        np.savez(tmp_path / "other.npz", **{**arrays, "representation_digest": np.array("0" * 64)})
        with pytest.raises(
            UnavailableError, match=f"another version of the representation {NAME}: train it again"
        ):
            EmbeddedCRM.load(tmp_path / "other.npz")

    def test_an_absent_or_damaged_file_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(UnavailableError, match="There is no file"):
            EmbeddedCRM.load(tmp_path / "absent.npz")
        damaged = tmp_path / "damaged.npz"
        damaged.write_bytes(EMBEDDED_FILE.read_bytes()[:-100])
        with pytest.raises(UnavailableError, match="is damaged"):
            EmbeddedCRM.load(damaged)

    def test_a_file_of_something_else_is_refused(self, tmp_path: Path) -> None:
        np.savez(tmp_path / "other.npz", numbers=np.arange(3))
        with pytest.raises(UnavailableError, match="lacks"):
            EmbeddedCRM.load(tmp_path / "other.npz")


NAMES, count_style = style_sheet().names, style_sheet().count


def said(text_a: str, text_b: str, feature: str) -> str:
    """What is said of A for a criterion that goes by this one feature."""
    features = representation()
    encoded = features.encode([text_a, text_b], ["", ""])
    first, second = encoded["features"].astype(np.float32) * features.step
    direction = np.zeros(features.size, dtype=np.float32)
    direction[features.style.start + NAMES.index(feature)] = 1
    [reason] = reasons(first - second, direction, *encoded["style"], features)
    return reason.text


SHORT_ANSWER = "Is it done? Yes. " + "It is. " * 3
LONG_ANSWER = "Is it done? Is it? Yes. " + "It is done now. " * 60


@pytest.mark.parametrize(
    ("text_a", "text_b", "phrase"),
    [
        (SHORT_ANSWER, LONG_ANSWER, "10 questions per 100 words against 0.8"),
        (LONG_ANSWER, SHORT_ANSWER, "0.8 questions per 100 words against 10"),
        (SHORT_ANSWER, "It is done now. " * 9, "10 questions per 100 words against none"),
        ("It is done now. " * 9, LONG_ANSWER, "no questions against 0.8 per 100 words"),
    ],
)
def test_wording_is_quoted_per_hundred_words_as_it_is_weighed(text_a: str, text_b: str, phrase: str) -> None:
    assert (
        count_style([SHORT_ANSWER])[0, NAMES.index("questions")]
        < count_style([LONG_ANSWER])[0, NAMES.index("questions")]
    )
    assert said(text_a, text_b, "questions") == phrase


def test_structure_is_quoted_by_its_count() -> None:
    steps = "\n".join(f"{number}. Boil the egg." for number in range(1, 4))

    assert said(steps, "Boil the egg.", "numbered_steps") == "3 numbered steps against none"
    assert said("Boil the egg.", steps, "numbered_steps") == "no numbered steps against 3"
    assert said("1. Boil the egg.", steps, "numbered_steps") == "1 numbered step against 3"


def test_numbers_that_look_equal_are_not_quoted() -> None:
    more, less = ("Is it? " + "It is done now. " * words for words in (105, 155))

    assert said(more, less, "questions") == "more questions"
