"""What an agent is told: less than other programs, as it reads every word, and more of it in words."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from api.replies import AnswerInWords, Benchmark, Category, RankedLLM
from leaderboard.alignment import alignment
from leaderboard.answer import ReadCriterion
from leaderboard.llm_facts.columns import fact_values
from leaderboard.ranked import Ranked
from leaderboard.service import Service
from leaderboard.statistics.significance import PairwiseSignificance
from leaderboard.view import View

_EVEN = 0.5


class ListedLLM(BaseModel):
    """One LLM of a ranking in brief; scores are fractions, prices US dollars for a million tokens."""

    rank: int | None
    llm: str
    title: str
    win_rate: float | None
    ci_low: float | None
    ci_high: float | None
    facts: dict[str, str | float | bool | None]


class RankedInBrief(BaseModel):
    """Who suits the person, and the first LLMs."""

    answer: AnswerInWords
    notes: list[str] = Field(description="What one should know before one relies on it.")
    about: dict[str, str] = Field(
        description="Benchmark, judge, criteria, topics, date, and the view's link."
    )
    n_llms: int = Field(description="How many LLMs are listed in all.")
    ranking: list[ListedLLM]


class Difference(BaseModel):
    """Two LLMs of a comparison, the better one first."""

    better: str
    worse: str
    difference: float = Field(description="Of their win rates, a fraction.")
    low: float = Field(description="Lower end of its 95 % interval.")
    high: float
    told_apart: bool = Field(description="Whether the difference is more than chance.")


class ComparedLLM(RankedLLM):
    """One LLM of a comparison, with its grade under each criterion."""

    grades: dict[str, float] = Field(description="From 0 to 5 by criterion; 2.5 is as good as its opponents.")


class Compared(BaseModel):
    """A few LLMs side by side, best first."""

    llms: list[ComparedLLM]
    differences: list[Difference]
    notes: list[str]


class OnTopic(BaseModel):
    """How an LLM does on the queries of one topic."""

    model_config = ConfigDict(from_attributes=True)

    category: str
    topic: str
    win_rate: float
    n_queries: int


class ReadAs(BaseModel):
    """How the judge reads a criterion, and how far that can be trusted."""

    criterion: str
    badge: str | None = Field(
        description="“counted”, “known style”, “by its wording”, “left out”, “doubtful”."
    )
    sentence: str


class Verdict(BaseModel):
    """One query, and why the LLM wins or loses it."""

    query: str = Field(description="Its id.")
    query_text: str | None
    topic: str
    opponent: str
    prob: float = Field(description="That the LLM's answer is preferred.")
    reasons: dict[str, list[str]] = Field(description="By criterion: what sets the better answer apart.")


class Why(BaseModel):
    """Why an LLM stands where it stands."""

    llm: RankedLLM
    n_llms: int
    grades: dict[str, float] = Field(description="From 0 to 5 by criterion; 2.5 is as good as its opponents.")
    criteria: list[ReadAs]
    best_topics: list[OnTopic]
    worst_topics: list[OnTopic]
    clearest_win: Verdict | None
    clearest_loss: Verdict | None
    notes: list[str]


class ListedTopics(BaseModel):
    """What can be ranked: the benchmarks, and what one of them is about."""

    benchmarks: list[Benchmark]
    benchmark: str
    categories: list[Category]


def in_brief(row: RankedLLM, ranked: Ranked) -> ListedLLM:
    """Return an LLM of a ranking without what fills pages."""
    facts = {
        name: value for name, value in fact_values(ranked.listed.facts[row.llm]).items() if value is not None
    }
    return ListedLLM.model_validate(row.model_dump() | {"facts": facts})


def grades(service: Service, view: View) -> dict[str, dict[str, float]]:
    """Return the grade of each LLM under each criterion; nothing until a slow judge has given them all."""
    found = alignment(service, view)
    if found is None or not found.is_whole:
        return {}
    criteria = [str(criterion) for criterion in found.criteria]
    return {
        llm: {
            criterion: round(float(grade), 2)
            for criterion, grade in zip(criteria, grades, strict=True)
            if not np.isnan(grade)
        }
        for llm, grades in zip(found.llms, found.grades, strict=True)
    }


def verdict(service: Service, view: View, llm: str, query: str) -> Verdict:
    """Return the verdict on one query, and why; raises as ``Service.pair_report``."""
    report = service.pair_report(view, llm, query)
    return Verdict(
        query=report.query,
        query_text=report.query_text,
        topic=report.topic,
        opponent=report.opponent,
        prob=report.prob,
        reasons={
            "on average" if one.criterion is None else str(one.criterion): [
                reason.text for reason in one.reasons if (reason.contribution > 0) == (one.prob > _EVEN)
            ]
            for one in report.verdicts
        },
    )


def differences(found: PairwiseSignificance | None) -> list[Difference]:
    """Return how every two LLMs differ, the better one of each first."""
    if found is None:
        return []
    compared = [(*pair, found.compare(*pair)) for pair in combinations(found.llms, 2)]
    return [
        Difference(
            better=better,
            worse=worse,
            difference=pair.difference,
            low=pair.low,
            high=pair.high,
            told_apart=pair.apart,
        )
        for better, worse, pair in compared
    ]


def readings(found: Sequence[ReadCriterion]) -> list[ReadAs]:
    """Return how each criterion is read."""
    return [
        ReadAs(
            criterion=str(item.criterion),
            badge=item.reading.badge.value if item.reading else None,
            sentence=item.reading.sentence if item.reading else "",
        )
        for item in found
    ]
