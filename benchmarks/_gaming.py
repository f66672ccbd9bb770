"""Gaming responses as contenders on a benchmark: the place each reaches, and what additions gain."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from crm.criteria import CriteriaSet
from crm.protocol import CRM, Pair, Question
from crm.training.adversarial import ANOTHER_ANSWER, Attack, Wrapper
from leaderboard.benchmark import LoadedBenchmark
from leaderboard.statistics.win_rate import outcomes, win_rates

BENCHMARK = "dailybench"
BULLETS, EMOJIS = CriteriaSet.of(["bullet points under headings"]), CriteriaSet.of(["lots of emojis"])
CRITERIA_SETS = (
    CriteriaSet(),
    *(
        CriteriaSet.of([wish])
        for wish in (
            *("concise", "funny", "warm", "poetic", "thorough", "formal", "concise and direct"),
            *("in-depth analysis with background", "numbered steps", "warm and encouraging"),
            *("vivid imagery", "weighs both sides, names caveats", "playful humor"),
            "I have little time, so put what matters most first and leave out what I can guess.",
            "It should feel like tea with an old friend who knows a lot, never shows off and asks how I am.",
        )
    ),
    BULLETS,
    EMOJIS,
    *(
        CriteriaSet.of([], [avoided])
        for avoided in (
            *("long-winded explanations", "bullet points and headings", "jokes"),
            *("marketing language", "emotional language"),
        )
    ),
    CriteriaSet.of(["short", "friendly tone", "practical tips"]),
    CriteriaSet.of(["explains the reasons", "examples from daily life"], ["jargon"]),
    CriteriaSet.of(["creative", "surprising"], ["clichés", "lecturing"]),
)


@dataclass(frozen=True)
class Field:
    """The LLMs that an attack competes with.

    Attributes:
        queries: Q texts.
        topics: Topic of every query ``[Q]``.
        baseline: The baseline's responses ``[Q]``.
    """

    queries: Sequence[str]
    topics: Sequence[str]
    responses: Mapping[str, Sequence[str]]
    baseline: Sequence[str]

    @classmethod
    def of(cls, benchmark: LoadedBenchmark, per_topic: int) -> Field:
        """Return the first ``per_topic`` queries of every topic that all LLMs have answered."""
        pairs = {llm: benchmark.pairs(llm) for llm in benchmark.llms}
        chosen: list[int] = []
        taken: dict[str, int] = defaultdict(int)
        for index, query in enumerate(benchmark.record.queries):
            answered = all(pairs[llm][index] is not None for llm in benchmark.llms)
            if answered and taken[query.topic] < per_topic:
                taken[query.topic] += 1
                chosen.append(index)
        kept = {llm: [pair for index in chosen if (pair := pairs[llm][index])] for llm in benchmark.llms}
        any_llm = kept[benchmark.llms[0]]
        return cls(
            queries=[pair.query for pair in any_llm],
            topics=[benchmark.record.queries[index].topic for index in chosen],
            responses={llm: [pair.response_a for pair in of_llm] for llm, of_llm in kept.items()},
            baseline=[pair.response_b for pair in any_llm],
        )

    def every(self, step: int) -> Field:
        """Return every ``step``-th query of the field."""
        return Field(
            self.queries[::step],
            self.topics[::step],
            {llm: responses[::step] for llm, responses in self.responses.items()},
            self.baseline[::step],
        )

    def others(self, llms: Iterable[str]) -> dict[str, list[str]]:
        """By topic: the LLMs' responses to the queries of all other topics."""
        answers = [
            (topic, response)
            for llm in llms
            for topic, response in zip(self.topics, self.responses[llm], strict=True)
        ]
        return {
            avoided: [response for topic, response in answers if topic != avoided]
            for avoided in dict.fromkeys(self.topics)
        }


@dataclass(frozen=True)
class Entry:
    """An attack as a contender.

    Attributes:
        pool: By topic of a query, the responses to other queries that it may draw from.
    """

    name: str
    attack: Attack
    pool: Mapping[str, Sequence[str]]

    def texts(self, field: Field, criteria: CriteriaSet, seed: int) -> list[str]:
        """Return its responses ``[Q]`` under the criteria."""
        wishes = [str(criterion) for criterion in criteria]
        return [
            self.attack.write(query, wishes, self.pool[topic], seed)
            for query, topic in zip(field.queries, field.topics, strict=True)
        ]


@dataclass(frozen=True)
class Standing:
    """How an attack stands under one criteria set.

    Attributes:
        place: 1 is best; L + 1 is last.
        win_rate: Against the baseline, like that of every LLM.
    """

    name: str
    criteria: CriteriaSet
    place: int
    win_rate: float


@dataclass(frozen=True)
class Gain:
    """What a real answer gains by an addition, under one criteria set.

    Attributes:
        preferred: Share of answers that are preferred with the addition to themselves without.
        win_rate: Win rate over the baseline with the addition, less that without.
    """

    name: str
    criteria: CriteriaSet
    preferred: float
    win_rate: float


def entries(field: Field, attacks: Sequence[Attack]) -> list[Entry]:
    """Return each attack once, and answers to other queries also of every LLM by itself.

    An LLM that suits a wish has the style of its answers to other queries, too: only the matter is wrong.
    """
    everyone = field.others(field.responses)
    return [
        *(Entry(attack.name, attack, everyone) for attack in attacks),
        *(
            Entry(f"{attack.name}, by {llm}", attack, field.others([llm]))
            for attack in attacks
            if attack.name == ANOTHER_ANSWER
            for llm in field.responses
        ),
    ]


def standings(
    crm: CRM, field: Field, contenders: Sequence[Entry], sets: Sequence[CriteriaSet], seed: int = 0
) -> list[Standing]:
    """Return every entry's place among the LLMs under every criteria set, as if it alone had joined them.

    Entries tie with LLMs of the same win rate only if the mean probability is the same, too.
    """
    texts = [
        [*field.responses.values(), *(entry.texts(field, criteria, seed) for entry in contenders)]
        for criteria in sets
    ]
    [prob] = _judged(crm, field, sets, texts, [field.baseline])
    found = []
    for criteria, of_set in zip(sets, prob, strict=True):
        rates = win_rates(outcomes(of_set))
        keys = list(zip(rates.round(12).tolist(), of_set.mean(axis=1).round(6).tolist(), strict=True))
        llms, attacks = keys[: len(field.responses)], keys[len(field.responses) :]
        found += [
            Standing(entry.name, criteria, 1 + sum(llm > key for llm in llms), key[0])
            for entry, key in zip(contenders, attacks, strict=True)
        ]
    return found


def gains(
    crm: CRM, field: Field, wrappers: Sequence[Wrapper], sets: Sequence[CriteriaSet], seed: int = 0
) -> list[Gain]:
    """What every wrapper adds under every criteria set, each query's answer by the next LLM in turn."""
    by_llm = list(field.responses.values())
    plain = [by_llm[index % len(by_llm)][index] for index in range(len(field.queries))]
    texts = [
        [
            plain,
            *(
                [
                    wrapper.wrap(answer, query, list(map(str, criteria)), seed)
                    for answer, query in zip(plain, field.queries, strict=True)
                ]
                for wrapper in wrappers
            ),
        ]
        for criteria in sets
    ]
    prob = _judged(crm, field, sets, texts, [field.baseline, plain])
    over_baseline, over_plain = outcomes(prob.reshape(-1, len(plain))).reshape(prob.shape)
    return [
        Gain(
            wrapper.name,
            criteria,
            float(over_plain[row, column].mean()),
            float((over_baseline[row, column] - over_baseline[row, 0]).mean()),
        )
        for (row, criteria), (column, wrapper) in product(enumerate(sets), enumerate(wrappers, start=1))
    ]


def _judged(
    crm: CRM,
    field: Field,
    sets: Sequence[CriteriaSet],
    texts: Sequence[Sequence[Sequence[str]]],
    opponents: Sequence[Sequence[str]],
) -> NDArray[np.float64]:
    """Return probabilities ``[O, S, N, Q]`` that texts ``[S, N, Q]`` win over opponents ``[O, Q]``.

    All are judged in one call, in which a judge may read each distinct text once.
    """
    verdicts = crm.judge(
        [
            Question(criteria, Pair(query, text, opponent))
            for of_opponent in opponents
            for criteria, of_set in zip(sets, texts, strict=True)
            for of_contender in of_set
            for query, text, opponent in zip(field.queries, of_contender, of_opponent, strict=True)
        ]
    )
    prob = np.array([verdict.prob_a for verdict in verdicts])
    return prob.reshape(len(opponents), len(sets), -1, len(field.queries))
