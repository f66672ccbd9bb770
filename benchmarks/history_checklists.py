"""Does a checklist learnt from past choices predict other choices, and does it name a style that it should?

Each checklist is learnt from some choices and predicts others, on other queries. Beside it: the longer
response, the LLM that was taken more often (Bradley-Terry on the same choices; nothing but votes), and the
CRM without criteria. The choices are of people whose taste is known, and of real annotators:

- *always one assistant*: on DailyBench, somebody who takes one assistant's answer whatever the other is;
- *GPT-4 Turbo*: the judge of AlpacaEval's official preferences as a person. Of two LLMs' responses it takes
  the one that it prefers more to GPT-4 Turbo's own, where its probabilities differ by ``CLEAR`` or more;
  also with responses of similar length only, as it likes long ones;
- *annotated wish*: of the annotated pairs (shared/preferences) somebody takes the response under whose
  criteria one cluster of wishes is, where it is on one side only.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray

from benchmarks._report import Report
from benchmarks._simulated import strengths
from crm.cli_runner import run_cli
from crm.criteria import CriteriaSet, Polarity
from crm.data.taxonomy import criterion_clusters
from crm.embedded.model import EmbeddedCRM, embedded_crm
from crm.embedded.representation import NAME, representation
from crm.errors import CRMError
from crm.report_table import describe_machine
from db import DatabaseError
from leaderboard.benchmark import LoadedBenchmark
from leaderboard.elicitation.checklist import ChecklistLine, checklist
from leaderboard.elicitation.choice_model import Choice, ChoiceOutcome, ResponsePair
from leaderboard.elicitation.history.learn import HistoryMargins, n_predicted, weighted_lines
from leaderboard.elicitation.library import criterion_library
from leaderboard.elicitation.margins import CriterionMargins, benchmark_margins
from leaderboard.elicitation.posterior import posterior_given
from leaderboard.errors import LeaderboardError
from leaderboard.service import Service

app = typer.Typer(add_completion=False)

SHARED = Path(__file__).resolve().parents[2] / "shared"
ROOM = 100
"""Choices from which on those are predicted that nothing is learnt from."""
_PREDICTED = 200
_MIN_CHOICES = 12
_RESAMPLED = 2000
CLEAR = 0.5
SIMILAR = 1.2
"""How many times longer one of two responses of similar length may be."""
STYLES = {
    "brevia": {"Concise", "Short sentences"},
    "scholia": {"In depth", "Technical depth", "Formal", "History and culture", "Definitions"},
    "stepwise": {"Numbered steps", "Bullet points", "Headings", "Practical advice"},
    "lumen": {"Warm", "Feelings first", "Hopeful ending"},
    "fabula": {"Vivid imagery", "Metaphors", "Poetic", "Story"},
    "verity": {"Both sides", "Comparisons", "Admits uncertainty", "Asks back", "Clarifies"},
    "jester": {"Humour", "Casual"},
}
"""Labels of the library that say what an assistant of DailyBench was told to be."""
CONTRARIES = {"stepwise": {"Connected prose"}}
"""Labels that say what it was told not to be."""


@dataclass(frozen=True, eq=False)
class PredictionBenchmark:
    """A benchmark with all that its choices are predicted by."""

    benchmark: LoadedBenchmark
    margins: CriterionMargins
    words: NDArray[np.integer]
    general: NDArray[np.floating]

    @classmethod
    def of(cls, service: Service, slug: str, crm: EmbeddedCRM) -> PredictionBenchmark:
        """Return the benchmark; ``general`` is the CRM's margin without criteria ``[R, Q]``."""
        benchmark = service.benchmark(slug)
        stored = benchmark.representation(NAME)
        features = representation(NAME)
        general = stored["features"].astype(np.float32) @ (crm.direction(CriteriaSet()) * features.step)
        words = stored["style"][..., features.sheet.words]
        return cls(benchmark, benchmark_margins(benchmark, crm), words, general)


@dataclass(frozen=True)
class PersonHistory:
    """Pairs of which the first response was taken: some to learn from, others to predict."""

    learnt_from: Sequence[ResponsePair]
    predicted: Sequence[ResponsePair]
    assistant: str = ""


WAYS = ("checklist", "posterior's checklist", "longer", "more often taken", "no criteria")


def predicted_by(
    person: PersonHistory, field: PredictionBenchmark
) -> tuple[list[float], tuple[ChecklistLine, ...]]:
    """Return the choices predicted in each of the ``WAYS``, and the checklist."""
    before = margins_of_taken(person.learnt_from, field.margins)
    after = margins_of_taken(person.predicted, field.margins)
    known = posterior_given(before.choices, before.margins)
    lines = weighted_lines(known, before)
    votes = [Choice(pair, ChoiceOutcome.FIRST) for pair in person.learnt_from]
    strength = strengths(votes, len(field.benchmark.llms) + 1)
    general = [field.general[t.first, t.query] > field.general[t.second, t.query] for t in person.predicted]
    right = [
        n_predicted(lines, after),
        n_predicted(checklist(known, field.margins, criterion_library(), before.sides()), after),
        longer_taken(person.predicted, field.words).sum(),
        stronger_taken(person.predicted, strength).sum(),
        sum(general),
    ]
    return [float(count) for count in right], lines


def interval(right: NDArray[np.floating], size: NDArray[np.integer]) -> tuple[float, float, float]:
    """Return the share predicted with its 95 % interval, by bootstrap over people: percentages."""
    rows = np.random.default_rng(0).integers(len(size), size=(_RESAMPLED, len(size)))
    shares = 100 * right[rows].sum(axis=1) / size[rows].sum(axis=1)
    low, high = np.quantile(shares, [0.025, 0.975])
    return 100 * float(right.sum() / size.sum()), float(low), float(high)


def people(
    service: Service, crm: EmbeddedCRM, histories: int
) -> Iterator[tuple[str, PredictionBenchmark, list[PersonHistory]]]:
    """Yield each kind of people with the benchmark that they chose on."""
    daily = PredictionBenchmark.of(service, "dailybench", crm)
    for size in (12, 40):
        yield (
            f"always one assistant of seven, {size} choices",
            daily,
            [
                PersonHistory(taken[:size], taken[ROOM : ROOM + _PREDICTED], llm)
                for llm in STYLES
                for taken in (
                    always(daily.benchmark, llm, np.random.default_rng(k)) for k in range(histories)
                )
            ],
        )
    alpaca = PredictionBenchmark.of(service, "alpaca-eval", crm)
    preferences = SHARED / "corpora" / "alpaca_eval" / "preferences_gpt4_turbo.parquet"
    for words, what in ((None, ""), (alpaca.words, ", similar length")):
        taken_by = [
            gpt4_turbo(alpaca.benchmark, preferences, np.random.default_rng(k), words)
            for k in range(histories)
        ]
        for size in (12, 40, ROOM):
            yield (
                f"GPT-4 Turbo{what}, {size} choices",
                alpaca,
                [PersonHistory(taken[:size], taken[ROOM : ROOM + _PREDICTED]) for taken in taken_by],
            )
    wishes = annotated_wishes(alpaca.benchmark, SHARED / "preferences" / "criteria_annotations.jsonl")
    yield (
        f"annotated wish, {_MIN_CHOICES} choices or more",
        alpaca,
        [PersonHistory(*parts) for parts in wishes.values() if len(parts[0]) >= _MIN_CHOICES and parts[1]],
    )


def margins_of_taken(taken: Sequence[ResponsePair], benchmark: CriterionMargins) -> HistoryMargins:
    """Return the choices as a file of past choices would hold them: nothing but two responses each."""
    query, chosen, rejected = np.array([(t.query, t.first, t.second) for t in taken], dtype=np.intp).T
    margins = np.stack([benchmark.values[chosen, query], benchmark.values[rejected, query]])
    pairs = CriterionMargins(margins, np.ones(margins.shape[:2], dtype=np.bool_))
    choices = tuple(Choice(ResponsePair(place, 0, 1), ChoiceOutcome.FIRST) for place in range(len(taken)))
    return HistoryMargins(choices, pairs, benchmark, criterion_library())


def always(benchmark: LoadedBenchmark, assistant: str, random: np.random.Generator) -> list[ResponsePair]:
    """Return choices of somebody who always takes one assistant, once a query, against a random other."""
    rows = [*benchmark.llms, benchmark.baseline]
    own = rows.index(assistant)
    others = [row for row in range(len(rows)) if row != own]
    return [
        ResponsePair(int(query), own, int(random.choice(others)))
        for query in random.permutation(benchmark.n_queries)
    ]


def says_style(line: ChecklistLine, assistant: str) -> bool:
    """Return whether a line names the assistant's style as wanted, or its contrary as avoided."""
    labels = STYLES if line.criterion.polarity is Polarity.WANT else CONTRARIES
    return line.label in labels.get(assistant, ())


def gpt4_turbo(
    benchmark: LoadedBenchmark,
    preferences: Path,
    random: np.random.Generator,
    words: NDArray[np.integer] | None = None,
) -> list[ResponsePair]:
    """Return GPT-4 Turbo's choices, one on each query where it has a clear one.

    Args:
        random: Draws the pair of each query, and the order of queries.
        words: Lengths of all responses ``[R, Q]``; if given, only responses of similar length are compared.
    """
    from pyarrow import parquet  # noqa: PLC0415

    table = parquet.read_table(preferences).to_pydict()
    rows = {llm: row for row, llm in enumerate(benchmark.llms)}
    liked: dict[int, dict[int, float]] = defaultdict(dict)
    for index, llm, preference in zip(
        table["instruction_index"], table["model"], table["preference"], strict=True
    ):
        if llm in rows and preference is not None:
            liked[index][rows[llm]] = preference
    taken = []
    for query in random.permutation(sorted(liked)):
        pairs = [
            pair
            for pair in combinations(sorted(liked[query]), 2)
            if abs(liked[query][pair[0]] - liked[query][pair[1]]) >= CLEAR
            and (words is None or _similar(words[pair[0], query], words[pair[1], query]))
        ]
        if pairs:
            first, second = pairs[random.integers(len(pairs))]
            ahead = liked[query][first] > liked[query][second]
            taken.append(ResponsePair(int(query), *((first, second) if ahead else (second, first))))
    return taken


def annotated_wishes(
    benchmark: LoadedBenchmark, annotations: Path
) -> dict[int, tuple[list[ResponsePair], list[ResponsePair]]]:
    """Return for each cluster of wishes the choices of somebody with it, of train and dev split."""
    clusters = criterion_clusters().numbers
    rows = {llm: row for row, llm in enumerate((*benchmark.llms, benchmark.baseline))}
    place_of = {query.external_id: place for place, query in enumerate(benchmark.record.queries)}
    found: dict[int, tuple[list[ResponsePair], list[ResponsePair]]] = {}
    with annotations.open(encoding="utf-8") as lines:
        for line in lines:
            pair = json.loads(line)
            query = place_of.get(pair["instruction_sha256"])
            if query is None or not {pair["model_a"], pair["model_b"]} <= rows.keys():
                continue
            a, b = rows[pair["model_a"]], rows[pair["model_b"]]
            wishes = [
                {clusters[text] for text in pair[f"criteria_{side}"] if text in clusters} for side in "ab"
            ]
            for number in wishes[0] ^ wishes[1]:
                taken = ResponsePair(query, a, b) if number in wishes[0] else ResponsePair(query, b, a)
                found.setdefault(number, ([], []))[pair["split"] == "dev"].append(taken)
    return found


def longer_taken(taken: Sequence[ResponsePair], words: NDArray[np.integer]) -> NDArray[np.float64]:
    """Return whether the longer response was taken; a half where they are alike ``[C]``."""
    return np.array([_won(words[t.first, t.query], words[t.second, t.query]) for t in taken])


def stronger_taken(taken: Sequence[ResponsePair], strength: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return whether the response of the LLM that was taken more often before was taken ``[C]``."""
    return np.array([_won(strength[t.first], strength[t.second]) for t in taken])


def _similar(first: float, second: float) -> bool:
    return max(first, second) <= SIMILAR * min(first, second)


def _won(chosen: float, rejected: float) -> float:
    return float(chosen > rejected) + 0.5 * float(chosen == rejected)


@app.command()
def main(
    histories: Annotated[
        int, typer.Option(min=2, help="Histories of each assistant, and of GPT-4 Turbo.")
    ] = 20,
    output: Annotated[Path | None, typer.Option(help="Write the table here as Markdown.")] = None,
) -> None:
    """Learn checklists from part of each history, and predict the rest."""
    service, crm = Service.open(), embedded_crm()
    rows, named = [], {llm: [0, 0] for llm in STYLES}
    for kind, field, some in people(service, crm, histories):
        found = [predicted_by(person, field) for person in some]
        right = np.array([each for each, _ in found])
        size = np.array([len(person.predicted) for person in some])
        shares = [interval(way, size) for way in right.T]
        cells = [f"{share:.1f} ({low:.1f} to {high:.1f})" for share, low, high in shares]
        rows.append((kind, f"{len(some)}", f"{size.sum():,}", *cells))
        for person, (_, lines) in zip(some, found, strict=True):
            if person.assistant:
                named[person.assistant][0] += any(says_style(line, person.assistant) for line in lines[:3])
                named[person.assistant][1] += 1
    styles = ", ".join(f"{llm} {count} of {total}" for llm, (count, total) in named.items())
    Report(
        title="Checklists from past choices",
        columns=("choices of", "people", "predicted", *WAYS),
        rows=tuple(rows),
        note="Percentages of choices predicted, with 95 % intervals by bootstrap over people; guessing "
        "predicts 50. “More often taken” knows which LLM answered. One of the first three lines names the "
        f"assistant's style: {styles}. {describe_machine()}.",
    ).finish(output)
    service.close()


if __name__ == "__main__":
    run_cli(app, CRMError, DatabaseError, LeaderboardError)
