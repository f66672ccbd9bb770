"""How well people are learnt who go by something else than the judge, and whether what is stated comes out.

    python -m benchmarks.people_by_others [--shared FOLDER] [--output FILE.md]

People in `benchmarks.simulated_users` answer by the judge that learns from them. These go by what it does not
know: by what is counted in the texts (``benchmarks._counts`` shares no code with it), by who wrote the
answer (always one assistant of DailyBench, or all of them in an order of theirs), by a careful reader's gold
verdicts under a criterion, by GPT-4 Turbo's preferences on AlpacaEval; and by the judge, with noise, for
comparison. They choose on one half of the queries, between the pairs that teach most; shares of duels are
taken on the other half. What is stated is what the posterior expects: of pairs of LLMs, how many are in the
right order, as the page says, and of choices on the other half, how many are foretold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
import typer
from numpy.typing import NDArray
from scipy.stats import kendalltau

from benchmarks._report import Report
from benchmarks._simulated import draw_criteria, simulated_user, wordings
from benchmarks.plain_habits import Habit, asked_which, counted_habits
from crm.cli_runner import run_cli
from crm.criteria import CriteriaSet, Criterion
from crm.embedded.model import EmbeddedCRM, embedded_crm
from crm.errors import CRMError
from crm.paths import CORPORA
from crm.report_table import describe_machine
from db import DatabaseError
from leaderboard.benchmark import LoadedBenchmark
from leaderboard.elicitation.acquisition import CandidatePairs, expected_agreement, next_pair
from leaderboard.elicitation.checking import DuelTarget
from leaderboard.elicitation.checklist import checklist, criteria_of
from leaderboard.elicitation.choice_model import (
    Choice,
    ChoiceOutcome,
    ResponsePair,
    chosen_and_rejected,
    outcome_probabilities,
)
from leaderboard.elicitation.clarifying import clarified_in, with_stated
from leaderboard.elicitation.library import criterion_library
from leaderboard.elicitation.margins import CriterionMargins, benchmark_margins
from leaderboard.elicitation.posterior import ObservedChoices, PreferencePosterior
from leaderboard.errors import LeaderboardError
from leaderboard.service import Service, measured
from leaderboard.statistics.duels import Margins

app = typer.Typer(add_completion=False)

COUNTS = (12, 24)
Floats = NDArray[np.floating]
Answer = Callable[[ResponsePair], ChoiceOutcome]
Names = Callable[[Criterion], bool]
_FORETOLD = 200
_DRAWS = 400
_CLEAR = 1
"""Decimals of GPT-4's preferences that count: less of a difference is a tie."""


@dataclass(frozen=True, eq=False)
class Field:
    """Where people choose: R of a benchmark's LLMs.

    Attributes:
        judged: How their responses stand under criteria, with what the judge calls ties, as on the page.
    """

    title: str
    rows: NDArray[np.intp]
    margins: CriterionMargins
    judged: Callable[[CriteriaSet], Margins]

    @classmethod
    def of(cls, benchmark: LoadedBenchmark, crm: EmbeddedCRM, rows: Sequence[int]) -> Field:
        """Return the field of some respondents, in the order of their rows."""
        kept = np.array(rows, dtype=np.intp)
        known = benchmark_margins(benchmark, crm)
        margins = CriterionMargins(np.take(known.values, kept, axis=0), known.present[kept])

        def judged(criteria: CriteriaSet) -> Margins:
            found = measured(benchmark, crm, criteria)
            return replace(found, asked=found.asked[kept], penalty=found.taken_off[kept])

        return cls(benchmark.record.info.title, kept, margins, judged)


@dataclass(frozen=True, eq=False)
class Person:
    """Somebody for whom each response is worth an amount ``[R, Q]``, NaN where it is not known.

    ``names`` says whether a criterion is what they go by, where criteria can say it.
    """

    field: Field
    amount: Floats
    answer: Answer
    names: Names | None = None


@dataclass(frozen=True)
class Learnt:
    """What came out for one person after some choices; shares are of 0 to 1.

    Attributes:
        asked: τ after the page's question which of these it was, too; NaN of who has no words for it.
    """

    tau: float
    asked: float
    by_default: float
    ceiling: float
    first: bool
    stated_pairs: float
    right_pairs: float
    stated_choices: float
    right_choices: float


def by_amount(field: Field, amount: Floats, names: Names | None = None) -> Person:
    """Return somebody who takes the response that is worth more."""
    return Person(field, amount, Habit("", amount, lambda _: False).answer, names)


def learn(person: Person, seed: int) -> Iterator[Learnt]:
    """Yield what is known of a person after each of ``COUNTS`` choices."""
    margins = person.field.margins
    known = margins.present & ~np.isnan(person.amount)
    queries = np.flatnonzero(known.sum(axis=0) > 1)
    measured = np.zeros(known.shape[1], dtype=np.bool_)
    measured[np.random.default_rng([seed, 5]).permutation(queries)[::2]] = True
    candidates = CandidatePairs(margins, known & ~margins.gaming & ~measured, measured, with_baseline=False)
    posterior = PreferencePosterior.prior(margins.n_criteria, seed=seed)
    choices: list[Choice] = []
    for count in range(1, max(COUNTS) + 1):
        pair = next_pair(posterior, candidates, frozenset(choice.pair.query for choice in choices))
        choices.append(Choice(pair, person.answer(pair)))
        posterior = posterior.after(ObservedChoices.of(choices[-1:], margins))
        if count in COUNTS:
            yield _measured(person, posterior, choices, (known & measured, known & ~measured))


def _measured(
    person: Person,
    posterior: PreferencePosterior,
    choices: Sequence[Choice],
    halves: tuple[NDArray[np.bool_], NDArray[np.bool_]],
) -> Learnt:
    """Return what came out; ``halves`` are the responses measured, and those chosen from."""
    field = person.field
    here, elsewhere = (DuelTarget(half, np.ones(half.shape[1])) for half in halves)
    margins, amounts = field.margins, Margins(person.amount, alike=1e-9)
    true, learnt = here.shares(amounts), here.shares(_judged(field, posterior, choices))
    asked = np.nan
    if person.names is not None:
        sides = chosen_and_rejected(choices, margins)
        known = asked_which(posterior, sides, margins.spread, person.names)
        asked = _tau(here.shares(_judged(field, known, choices)), true)
    ranked = CandidatePairs(margins, halves[0], np.asarray(halves[0].any(axis=0)), with_baseline=False)
    stated, right = _foretold(posterior, margins, person, halves[0])
    return Learnt(
        tau=_tau(learnt, true),
        asked=asked,
        by_default=_tau(here.shares(field.judged(CriteriaSet())), true),
        ceiling=_tau(elsewhere.shares(amounts), true),
        first=bool(true[np.nanargmax(learnt)] >= np.nanmax(true) - 1e-9),
        stated_pairs=expected_agreement(posterior, ranked),
        right_pairs=_right_pairs(learnt, true),
        stated_choices=stated,
        right_choices=right,
    )


def _judged(field: Field, posterior: PreferencePosterior, choices: Sequence[Choice]) -> Margins:
    """Return how responses stand by the checklist; without one, by default."""
    margins, library = field.margins, criterion_library()
    sides = chosen_and_rejected(choices, margins)
    lines = with_stated(
        checklist(posterior, margins, library, sides),
        *(posterior, margins, library, sides),
        clarified=clarified_in(posterior),
    )
    return field.judged(criteria_of(lines))


def _foretold(
    posterior: PreferencePosterior, margins: CriterionMargins, person: Person, among: NDArray[np.bool_]
) -> tuple[float, float]:
    """Return the share of random pairs of different worth that is expected right, and that which is."""
    drawn = CandidatePairs(margins, among, np.asarray(among.any(axis=0))).draw(
        _FORETOLD, frozenset(), np.random.default_rng(9)
    )
    query, first, second = drawn.T
    ahead = person.amount[first, query] - person.amount[second, query]
    query, first, second, ahead = (values[ahead != 0] for values in (query, first, second, ahead))
    draws, relative = posterior.sample(_DRAWS), margins.relative
    prob = outcome_probabilities(
        draws.coefficients @ relative[first, query].T,
        draws.coefficients @ relative[second, query].T,
        draws.noise,
        draws.tie,
    ).mean(axis=1)
    share = prob[0] / (prob[0] + prob[1])
    return float(np.maximum(share, 1 - share).mean()), float(((share > 0.5) == (ahead > 0)).mean())


def _tau(one: Floats, other: Floats) -> float:
    """τ-b; 0 where nothing is told apart."""
    value = float(kendalltau(one, other, nan_policy="omit").statistic)
    return 0.0 if np.isnan(value) else value


def _right_pairs(learnt: Floats, true: Floats) -> float:
    """Return the share of pairs of LLMs that differ in truth and are the right way round."""
    one, other = np.triu_indices(len(true), 1)
    product = np.sign(learnt[one] - learnt[other]) * np.sign(true[one] - true[other])
    differ = true[one] != true[other]
    return float(((product[differ] + 1) / 2).mean())


def people_on_dailybench(service: Service, crm: EmbeddedCRM, most: int) -> dict[str, list[Person]]:
    """Return those who go by counts, by who wrote the answer, and by the judge."""
    benchmark = service.benchmark("dailybench")
    field = Field.of(benchmark, crm, range(len(benchmark.respondents)))
    texts = [
        [benchmark.text_at(llm, query) for query in range(benchmark.n_queries)]
        for llm in benchmark.respondents
    ]
    random, shape = np.random.default_rng(3), field.margins.present.shape
    counted = [by_amount(field, habit.amount, habit.names) for habit in counted_habits(texts)]
    one = [by_amount(field, np.eye(shape[0])[[row]].T * np.ones(shape)) for row in range(shape[0] - 1)]
    orders = [by_amount(field, random.permutation(shape[0])[:, None] * np.ones(shape)) for _ in range(most)]
    wishes = wordings(crm, held_out=True, most=400)
    users = [simulated_user(draw_criteria(wishes, random), crm, benchmark) for _ in range(most)]
    noisy = np.random.default_rng(4)
    judged = [Person(field, user.utility, partial(user.answer, random=noisy)) for user in users]
    return {
        "what can be counted": counted,
        "one assistant": one,
        "an order of the assistants": orders,
        "criteria, by the judge, with noise": judged,
    }


def gpt4(service: Service, crm: EmbeddedCRM, corpora: Path, most: int) -> list[Person]:
    """Return GPT-4 Turbo, which judged against the baseline, once for each halving of the queries."""
    benchmark = service.benchmark("alpaca-eval")
    table = pd.read_parquet(corpora / "alpaca_eval" / "preferences_gpt4_turbo.parquet")
    return [_by_verdicts(benchmark, crm, table, ("model", "instruction_index", "preference"), _CLEAR)] * most


def readers(service: Service, crm: EmbeddedCRM, preferences: Path, most: int) -> list[Person]:
    """Return the careful reader under each criterion, several times over."""
    benchmark = service.benchmark("alpaca-eval")
    table = pd.read_csv(preferences / "ranking_gold.csv", keep_default_na=False)
    people = [
        _by_verdicts(benchmark, crm, part, ("llm", "instruction_index", "verdict"), _CLEAR)
        for criterion, part in table.groupby("criterion")
        if criterion
    ]
    return people * most


def _by_verdicts(
    benchmark: LoadedBenchmark,
    crm: EmbeddedCRM,
    table: pd.DataFrame,
    columns: tuple[str, str, str],
    decimals: int,
) -> Person:
    """Return somebody by verdicts on LLMs against the baseline: its own responses are worth a half."""
    llm, query, verdict = columns
    table = table[table[llm].isin(benchmark.llms)]
    rows = sorted({benchmark.respondents.index(name) for name in table[llm]})
    baseline = benchmark.respondents.index(benchmark.baseline)
    field = Field.of(benchmark, crm, [*rows, baseline])
    amount = np.full(field.margins.present.shape, np.nan)
    place = {benchmark.respondents[row]: number for number, row in enumerate(rows)}
    amount[table[llm].map(place).to_numpy(), table[query].to_numpy()] = table[verdict].to_numpy()
    amount[-1, (~np.isnan(amount[:-1])).any(axis=0)] = 0.5
    return by_amount(field, np.round(amount, decimals))


def rows_of(kind: str, people: Sequence[Person]) -> Iterator[tuple[str, ...]]:
    """Yield the table's rows for people of one kind."""
    found = [list(learn(person, seed)) for seed, person in enumerate(people)]
    for place, count in enumerate(COUNTS):
        each = [of_person[place] for of_person in found]

        def mean(name: str, each: Sequence[Learnt] = each) -> float:
            return float(np.mean([getattr(one, name) for one in each]))

        def interval(name: str, each: Sequence[Learnt] = each) -> str:
            values = [getattr(one, name) for one in each]
            if np.isnan(values).any():
                return "–"
            half = 1.96 * np.std(values, ddof=1) / np.sqrt(len(values))
            return f"{np.mean(values):.2f} ± {half:.2f}"

        yield (
            *(kind, people[0].field.title.split(",")[0], f"{len(people)}", f"{count}"),
            *(interval("tau"), interval("asked")),
            *(f"{mean(name):.2f}" for name in ("by_default", "ceiling")),
            f"{100 * mean('first'):.0f} %",
            *(
                f"{100 * mean(f'stated_{what}'):.0f} / {100 * mean(f'right_{what}'):.0f} %"
                for what in ("pairs", "choices")
            ),
        )


@app.command()
def measure(
    shared: Annotated[Path, typer.Option(help="Folder with corpora/ and preferences/.")] = CORPORA.parent,
    most: Annotated[int, typer.Option(min=2, help="People of a kind that is drawn at random.")] = 14,
    output: Annotated[Path | None, typer.Option(help="Markdown file for the table.")] = None,
) -> None:
    """Print the table."""
    service, crm = Service.open(), embedded_crm()
    people: Mapping[str, list[Person]] = {
        **people_on_dailybench(service, crm, most),
        "a careful reader's verdicts": readers(service, crm, shared / "preferences", 2),
        "GPT-4 Turbo's preferences": gpt4(service, crm, shared / "corpora", most // 2),
    }
    Report(
        "People who go by something else than the judge",
        (
            *(
                "people go by",
                "benchmark",
                "people",
                "choices",
                "Kendall τ",
                "and asked",
                "∅'s τ",
                "ceiling",
                "first right",
            ),
            *("pairs of LLMs right: stated / so", "choices foretold: stated / so"),
        ),
        tuple(row for kind, each in people.items() for row in rows_of(kind, each)),
        "Means over people; ± is the 95 % interval. Asked: which of these it was, as the page asks. Ceiling: "
        "τ of their own rankings on both halves of the queries. First right: how often the ranking's first "
        f"LLM is theirs. {describe_machine()}.",
    ).finish(output)


if __name__ == "__main__":
    run_cli(app, CRMError, DatabaseError, LeaderboardError)
