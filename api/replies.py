"""What programs are told, as values with a schema; every number is that of the page and the command line."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from api.limits import MAX_CRITERIA, MAX_NAME, MAX_NAMES, MAX_PAIRS, MAX_TEXT
from crm.criteria import MAX_LENGTH, Polarity, Weight
from crm.data.pairs import pair_from_json
from crm.protocol import CRM
from leaderboard.file_formats import describe, rows_of
from leaderboard.llm_facts.columns import sourced_facts
from leaderboard.llm_facts.files import load_catalogue
from leaderboard.ranked import Ranked
from leaderboard.scoring_jobs.progress import State
from leaderboard.service import Service

_FROM_RECORDS = ConfigDict(from_attributes=True)
"""Made of what the project has, with the same names."""


class Problem(BaseModel):
    """Why a request got no answer."""

    error: str = Field(description="One sentence that says what to change.")


class Benchmark(BaseModel):
    """A stored benchmark; ``n_llms`` leaves the baseline out."""

    slug: str
    title: str
    version: str
    n_queries: int
    n_llms: int
    has_texts: bool
    updated_at: datetime
    first: bool = Field(description="Whether it is the one that requests mean that name none.")


class Benchmarks(BaseModel):
    """All stored benchmarks."""

    benchmarks: list[Benchmark]


class Topic(BaseModel):
    """A topic and how many queries it has."""

    model_config = _FROM_RECORDS

    name: str
    n_queries: int


class Category(Topic):
    """A category with its topics."""

    topics: list[Topic]


class Topics(BaseModel):
    """What a benchmark's queries are about; the names are those that rankings are asked for by."""

    benchmark: str
    categories: list[Category]


class LLM(BaseModel):
    """An LLM of a benchmark, with what is known of it: each fact with its source and date."""

    name: str
    title: str
    note: str
    is_baseline: bool
    facts: dict[str, Any]


class LLMs(BaseModel):
    """The LLMs of a benchmark."""

    benchmark: str
    llms: list[LLM]


class RankedLLM(BaseModel):
    """One LLM of a ranking; the numbers are fractions, None where unknown.

    What comes after ``title`` is there only where the view makes it: see ``docs/exports.md``.
    """

    model_config = ConfigDict(extra="forbid")

    rank: int | None
    llm: str
    win_rate: float | None
    ci_low: float | None
    ci_high: float | None
    n_queries: int
    n_effective: float | None
    rank_low: int | None
    rank_high: int | None
    categories: dict[str, float | None] = Field(description="Win rate by category.")
    facts: dict[str, Any] = Field(description="What is known of it, with source and date.")
    title: str = Field(description="The name it is shown by.")
    plain_win_rate: float | None = Field(default=None, description="Without the control.")
    under_floor: bool = False
    rank_without_floor: int | None = None
    misses: list[str] = Field(default=[], description="The criteria that are a must and that it misses.")
    answered: float | None = Field(default=None, description="Share of the queries that it answered.")
    not_compared: str | None = Field(default=None, description="Why it is not ranked.")
    amounts: dict[str, dict[str, float | str | None]] = Field(
        default={}, description="By unit, how much its answers have of what the criteria count."
    )


class AnswerInWords(BaseModel):
    """Who suits the person, why, and whether to believe it."""

    model_config = _FROM_RECORDS

    headline: str
    llm: str | None = Field(description="The first LLM; none where nobody is first.")
    sure: bool = Field(description="Whether nobody is tied with it and nothing speaks against relying on it.")
    why: str
    against: list[str] = Field(description="What speaks against relying on it.")
    limits: list[str] = Field(description="What else one should know.")
    by_default: str = Field(description="Where the first stands without the criteria.")
    cheapest: str = Field(description="The cheapest of those that cannot be told apart from the first.")


class Progress(BaseModel):
    """How far a judge is that needs time."""

    model_config = _FROM_RECORDS

    state: State
    pairs_done: int
    pairs_all: int
    seconds_left: float | None


class Ranking(BaseModel):
    """The LLMs of a view, best first, and what the ranking is one of."""

    about: dict[str, str] = Field(
        description="Benchmark, judge, criteria, topics, date, and the view's link."
    )
    notes: list[str] = Field(description="What one should know before one relies on it.")
    answer: AnswerInWords | None = Field(description="None while the judge works.")
    ranking: list[RankedLLM]
    progress: Progress | None = Field(default=None, description="While the judge works.")
    ask: str | None = Field(default=None, description="While the judge works, the address to ask again.")


class CriterionGiven(BaseModel):
    """A criterion with its weight and polarity."""

    model_config = ConfigDict(extra="forbid")

    text: str = Field(min_length=1, max_length=MAX_LENGTH)
    weight: Weight = Weight.ESSENTIAL
    polarity: Polarity = Polarity.WANT


class CriterionForCategories(CriterionGiven):
    """A criterion that may stand in the list of some categories alone."""

    only_for: list[Annotated[str, Field(min_length=1, max_length=MAX_NAME)]] = Field(
        [],
        alias="for",
        max_length=MAX_NAMES,
        description="Topics or categories whose own list it stands in, instead of those for everything.",
    )


class PairGiven(BaseModel):
    """Two responses to a query, and what to judge them by, as a line of ``crm score``."""

    model_config = ConfigDict(extra="forbid", strict=True)

    id: str | int = Field(description="Any; it comes back.")
    query: str = Field(max_length=MAX_TEXT)
    response_a: str = Field(max_length=MAX_TEXT)
    response_b: str = Field(max_length=MAX_TEXT)
    criteria: list[str | CriterionGiven] = Field(
        max_length=MAX_CRITERIA, description="Texts, or objects with weight and polarity; none is ∅."
    )


class PairsGiven(BaseModel):
    """What is to be scored."""

    model_config = ConfigDict(extra="forbid")

    crm: str = Field("embedded", max_length=MAX_NAME, description="Name of the judge.")
    pairs: list[PairGiven] = Field(min_length=1, max_length=MAX_PAIRS)


class VerdictOnPair(BaseModel):
    """Probabilities that A is preferred, under all criteria and under each alone."""

    id: str | int
    prob_a: float
    per_criterion: list[float]


class Verdicts(BaseModel):
    """The verdicts in the order of the pairs."""

    crm: str
    crm_version: str
    verdicts: list[VerdictOnPair]


def benchmarks(service: Service) -> Benchmarks:
    """Return all benchmarks, that which comes first with no name given among them."""
    first = service.first_benchmark()
    return Benchmarks(
        benchmarks=[Benchmark(**asdict(found), first=found.slug == first) for found in service.benchmarks()]
    )


def topics(service: Service, slug: str) -> Topics:
    """Return the categories and topics of a benchmark; a NotFoundError where there is none."""
    return Topics(
        benchmark=slug,
        categories=[
            Category.model_validate(category) for category in service.benchmark(slug).record.categories
        ],
    )


def llms(service: Service, slug: str) -> LLMs:
    """Return the LLMs of a benchmark with what is known of them; a NotFoundError where there is none."""
    record, catalogue = service.benchmark(slug).record, load_catalogue()
    return LLMs(
        benchmark=slug,
        llms=[
            LLM(
                name=llm.name,
                title=llm.title,
                note=llm.note,
                is_baseline=llm.name == record.baseline,
                facts=sourced_facts(catalogue.facts(llm.name, slug)),
            )
            for llm in record.llms
        ],
    )


def ranking(ranked: Ranked) -> Ranking:
    """Return a ranking with its answer; while a judge works, without the answer and with its progress."""
    board = ranked.leaderboard
    judging = board.judging
    at_work = judging is not None and judging.current.state is not State.FINISHED
    return Ranking(
        about=describe(ranked.listed.leaderboard, datetime.now(UTC)),
        notes=list(ranked.notes),
        answer=None if at_work else AnswerInWords.model_validate(ranked.answer),
        ranking=ranked_llms(ranked),
        progress=Progress.model_validate(judging.current) if judging is not None and at_work else None,
    )


def ranked_llms(ranked: Ranked) -> list[RankedLLM]:
    """Return the listed LLMs of a ranking."""
    rows, titles = rows_of(ranked.listed.leaderboard, ranked.listed.facts), ranked.leaderboard.titles
    return [RankedLLM(**row, title=titles[row["llm"]]) for row in rows]


def verdicts(judge: CRM, given: PairsGiven) -> Verdicts:
    """Return what a judge says of pairs; a CRMError where it cannot judge them."""
    pairs = [pair_from_json(pair.model_dump(mode="json")) for pair in given.pairs]
    found = judge.judge([pair.question for pair in pairs])
    return Verdicts(
        crm=judge.name,
        crm_version=judge.version,
        verdicts=[
            VerdictOnPair(id=pair.id, prob_a=verdict.prob_a, per_criterion=list(verdict.per_criterion))
            for pair, verdict in zip(given.pairs, found, strict=True)
        ],
    )
