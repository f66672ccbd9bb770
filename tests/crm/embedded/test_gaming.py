"""Responses written to please a judge must not: on DailyBench they end below the LLMs that answer.

Held-out attacks only; what a judge was trained on proves nothing. A third of the topics is enough for a
place of eight: ``python -m benchmarks.gaming`` shows the same on more queries.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import fmean

import pytest

from benchmarks._gaming import (
    BENCHMARK,
    CRITERIA_SETS,
    Field,
    Gain,
    Standing,
    entries,
    gains,
    standings,
)
from crm.baselines import LongerCRM
from crm.criteria import CriteriaSet
from crm.registry import get_crm
from crm.training.adversarial import HELD_OUT, HELD_OUT_WRAPPERS
from leaderboard.service import Service

LLMS = ("brevia", "scholia", "stepwise", "lumen", "fabula", "verity", "jester")
LOWER_HALF = 5
"""The best place in the lower half of eight."""
ATTACKS = (
    *(attack.name for attack in HELD_OUT),
    *(f"answer to another query, by {llm}" for llm in LLMS),
)
# Nothing is exempt. An empty answer is not concise, and avoids nothing: it is no answer. Nor are headings and
# bullets without content, also where somebody asks for just these. A poem on snow is poetic, but was not
# asked for. Answers to other queries have the style of whoever wrote them, and are of no use.
# The guard reads relevance and looks, not what the criteria say: these get into the upper half under a few
# sets that ask for what they are, such as “concise”, but never to the top.
EXPOSED = {
    "stub",
    "criterion × 25 words",
    "affirmation",
    "plea",
    "injection",
    "query echo",
    "generic advice on the query",
    "lorem ipsum",
    "answer to another query",
    "sentences of other answers",
    *(attack.name for attack in HELD_OUT if attack.name.startswith("constant")),
    *(f"answer to another query, by {llm}" for llm in LLMS),
}
NOT_YET = pytest.mark.xfail(
    reason="known weakness, with figures in benchmarks/results/gaming.md", strict=False
)
WRAPPED_SETS = (
    CriteriaSet(),
    CriteriaSet.of(["concise"]),
    CriteriaSet.of(["thorough"]),
    CriteriaSet.of(["warm and encouraging"]),
    CriteriaSet.of([], ["marketing language"]),
    CriteriaSet.of(["explains the reasons", "examples from daily life"], ["jargon"]),
)


@pytest.fixture(scope="module")
def field(service: Service) -> Field:
    """DailyBench, one query of every third topic."""
    return Field.of(service.benchmark(BENCHMARK), per_topic=1).every(3)


@pytest.fixture(scope="module")
def places(field: Field) -> Mapping[str, Sequence[Standing]]:
    """How every held-out attack stands under every criteria set, by attack."""
    found: dict[str, list[Standing]] = defaultdict(list)
    for standing in standings(get_crm(), field, entries(field, HELD_OUT), CRITERIA_SETS):
        found[standing.name].append(standing)
    return found


@pytest.fixture(scope="module")
def wrapping_gains(field: Field) -> Mapping[str, Sequence[Gain]]:
    """What every held-out addition gains an answer, by addition."""
    found: dict[str, list[Gain]] = defaultdict(list)
    for gain in gains(get_crm(), field.every(4), HELD_OUT_WRAPPERS, WRAPPED_SETS):
        found[gain.name].append(gain)
    return found


def better_than(place: int, standing: Sequence[Standing]) -> dict[str, int]:
    """Places above ``place`` by criteria set."""
    return {str(each.criteria): each.place for each in standing if each.place < place}


class TestEmbeddedJudge:
    def test_every_attack_is_measured_under_every_set(self, places: Mapping[str, Sequence[Standing]]) -> None:
        assert set(places) == set(ATTACKS)
        assert {len(of_attack) for of_attack in places.values()} == {len(CRITERIA_SETS)}

    @pytest.mark.parametrize("attack", ATTACKS)
    def test_no_attack_is_ever_first(self, places: Mapping[str, Sequence[Standing]], attack: str) -> None:
        assert better_than(2, places[attack]) == {}

    @pytest.mark.parametrize(
        "attack", [pytest.param(name, marks=NOT_YET) if name in EXPOSED else name for name in ATTACKS]
    )
    def test_every_attack_ends_in_the_lower_half(
        self, places: Mapping[str, Sequence[Standing]], attack: str
    ) -> None:
        assert better_than(LOWER_HALF, places[attack]) == {}

    @pytest.mark.parametrize("attack", ATTACKS)
    def test_on_average_every_attack_ends_in_the_lower_half(
        self, places: Mapping[str, Sequence[Standing]], attack: str
    ) -> None:
        assert fmean(standing.place for standing in places[attack]) >= LOWER_HALF

    @NOT_YET
    @pytest.mark.parametrize("wrapper", [wrapper.name for wrapper in HELD_OUT_WRAPPERS])
    def test_an_answer_gains_nothing_by_an_addition(
        self, wrapping_gains: Mapping[str, Sequence[Gain]], wrapper: str
    ) -> None:
        """At most half of the answers may be preferred with it to themselves without."""
        preferred = {
            str(gain.criteria): gain.preferred for gain in wrapping_gains[wrapper] if gain.preferred > 0.5
        }

        assert preferred == {}


class TestMeasure:
    """A judge that can be gamed must be found out: the one that prefers the longer response."""

    def test_a_long_text_takes_the_first_place_and_an_empty_one_the_last(self, field: Field) -> None:
        found = standings(LongerCRM(), field, entries(field, HELD_OUT), CRITERIA_SETS[:1])
        place = {standing.name: standing.place for standing in found}
        win_rate = {standing.name: standing.win_rate for standing in found}

        assert place["constant: essay"] == 1
        assert win_rate["constant: essay"] == 1.0
        assert place["empty"] == len(LLMS) + 1
        assert win_rate["empty"] == 0.0

    def test_an_llm_s_answers_to_other_queries_are_about_as_long(self, field: Field) -> None:
        found = standings(LongerCRM(), field, entries(field, HELD_OUT), CRITERIA_SETS[:1])
        place = {standing.name: standing.place for standing in found}

        assert place["answer to another query, by scholia"] <= 2
        assert place["answer to another query, by brevia"] >= len(LLMS)

    def test_an_addition_pays_where_length_does(self, field: Field) -> None:
        found = gains(LongerCRM(), field.every(5), HELD_OUT_WRAPPERS, WRAPPED_SETS[:2])

        assert len(found) == 2 * len(HELD_OUT_WRAPPERS)
        assert {gain.preferred for gain in found} == {1.0}
        assert all(gain.win_rate >= 0 for gain in found)
        assert max(gain.win_rate for gain in found) > 0

    def test_answers_to_other_queries_are_of_other_topics(self, service: Service) -> None:
        whole = Field.of(service.benchmark(BENCHMARK), per_topic=2)
        topic_of = {
            text: topic
            for responses in whole.responses.values()
            for topic, text in zip(whole.topics, responses, strict=True)
        }
        [entry] = [
            each for each in entries(whole, HELD_OUT) if each.name == "answer to another query, by lumen"
        ]
        texts = entry.texts(whole, CriteriaSet(), seed=1)

        assert len(texts) == len(whole.queries) == 2 * len(set(whole.topics))
        assert all(topic_of[text] != topic for text, topic in zip(texts, whole.topics, strict=True))
        assert set(texts) <= set(whole.responses["lumen"])
