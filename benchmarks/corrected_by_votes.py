"""What a person's votes do to the judge's ranking: error, bias and coverage, with simulated people.

    python -m benchmarks.corrected_by_votes [--people N] [--output FILE.md]

People go by criteria in annotators' words, with noise, as ``benchmarks._simulated`` has them; the others
besides favour some LLMs and dislike others for what no criterion says, by a standard deviation of 1 in
log-odds. They choose as on “Find my criteria”, where some pairs are votes, and their share of duels with each
LLM is known. Then the ranking of their checklist after a dozen choices is tested blind, six pairs at a time.
Compared are the judge as it is, votes alone, and both together; a person may stop when the interval has
convinced them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from scipy.special import expit
from scipy.stats import kendalltau

from benchmarks._report import Report
from benchmarks._simulated import AS_STATED, TIE, SimulatedUser, draw_criteria, simulated_user, wordings
from crm.cli_runner import run_cli
from crm.embedded.model import embedded_crm
from crm.errors import CRMError
from crm.report_table import describe_machine
from db import DatabaseError
from leaderboard.elicitation.acquisition import CandidatePairs
from leaderboard.elicitation.checking import corrected_ranking
from leaderboard.elicitation.checklist import criteria_of
from leaderboard.elicitation.library import criterion_library
from leaderboard.elicitation.session import ElicitationSession, candidate_pairs, session_checklist
from leaderboard.elicitation.taste_test import Taste, TasteTest, make_taste_test
from leaderboard.errors import LeaderboardError
from leaderboard.result import Leaderboard
from leaderboard.service import Service
from leaderboard.statistics.prediction_powered import Floats, corrected_mean, trust_before_votes
from leaderboard.view import Against, View

app = typer.Typer(add_completion=False)

COUNTS = (12, 25, 50)
STOPPED = "when convinced"
JUDGE, VOTES, BOTH, NAIVE = "the judge", "votes alone", "corrected", "votes alone, ± 1.96 standard errors"
_TESTS = 60
"""Blind tests a person could take; the truth is the mean over their pairs."""
_REPEATS = 10
_FAVOUR = 1.0
_FEWEST_TO_STOP = 6


@dataclass(frozen=True)
class Estimate:
    """An estimate of a rate with its interval, and the truth; ``first`` where the judge has the LLM first."""

    value: float
    low: float
    high: float
    truth: float
    first: bool = True


def favouring(user: SimulatedUser, random: np.random.Generator) -> SimulatedUser:
    """Return somebody with the same criteria who favours some LLMs for what no criterion says."""
    favour = _FAVOUR * random.normal(size=(len(user.utility), 1))
    return replace(user, utility=user.utility + favour)


def prefers(user: SimulatedUser, first: int, second: int) -> Floats:
    """Return what a choice of the user gives the first of two LLMs on average, a tie as a half ``[Q]``."""
    ahead = (user.utility[first] - user.utility[second]) / AS_STATED.scale
    tie = TIE / AS_STATED.scale
    return np.asarray((1 + expit(ahead - tie) - expit(-ahead - tie)) / 2, dtype=np.float64)


def true_shares(user: SimulatedUser, candidates: CandidatePairs) -> Floats:
    """Return the share of duels that each LLM would win if the user chose between all pairs ``[R]``."""
    among = candidates.of_any_length & candidates.ranked
    n_others = np.maximum(among.sum(axis=0) - 1, 1)
    shares = []
    for row in range(len(among)):
        here = among[row] & (among.sum(axis=0) > 1)
        won = [
            np.where(among[other], prefers(user, row, other), 0.0)
            for other in range(len(among))
            if other != row
        ]
        shares.append(float((np.sum(won, axis=0) / n_others)[here].mean()))
    return np.array(shares)


def chosen(
    service: Service, user: SimulatedUser, candidates: CandidatePairs, seed: int
) -> Iterator[tuple[int, View, ElicitationSession]]:
    """Yield the session and the view of its checklist after each of ``COUNTS`` choices."""
    random = np.random.default_rng([seed, 1])
    session = ElicitationSession.start(candidates, draw_seed=seed)
    for count in range(1, max(COUNTS) + 1):
        session = session.chosen(user.answer(session.pair, random))
        if count in COUNTS:
            lines = session_checklist(session, criterion_library())
            yield count, View("dailybench", criteria=criteria_of(lines)), session


def on_the_way(
    service: Service, view: View, session: ElicitationSession, truth: Floats
) -> dict[str, list[Estimate]]:
    """Return the estimates of all LLMs' shares after some choices."""
    found = corrected_ranking(service, view, session.checks, session.candidates)
    if found is None:
        return {}
    ranking = service.leaderboard(replace(view, against=Against.ALL), subscriber=None).ranking
    place = [ranking.llms.index(llm) for llm in found.llms]
    alone, both = found.by_votes, found.corrected
    columns = {
        JUDGE: (found.judged, ranking.ci_low[place], ranking.ci_high[place]),
        VOTES: (alone.win_rate, alone.low, alone.high),
        BOTH: (both.win_rate, both.low, both.high),
    }
    best = int(np.argmax(found.judged))
    return {
        how: [
            Estimate(float(value), float(low), float(high), float(true), row == best)
            for row, (value, low, high, true) in enumerate(zip(*each, truth, strict=True))
        ]
        for how, each in columns.items()
    }


def answered(test: TasteTest, user: SimulatedUser, random: np.random.Generator) -> TasteTest:
    """Return the test as the user answers it."""
    for _ in test.pairs:
        outcome = user.answer(test.current.pair, random)
        tastes = {"first": Taste.FIRST, "second": Taste.SECOND}
        test = test.said(tastes.get(outcome.value, Taste.ALIKE))
    return test


def blind_tests(
    service: Service, leaderboard: Leaderboard, user: SimulatedUser, random: np.random.Generator
) -> tuple[Floats, float]:
    """Return votes (outcome, forecast, usually) of many tests ``[T, 3]``, and the truth about their pairs."""
    rows, truth = [], []
    for seed in range(_TESTS):
        test = answered(make_taste_test(service, leaderboard, leaderboard.llms, seed=seed), user, random)
        for blind, taste in zip(test.pairs, test.tastes, strict=True):
            if blind.usually is not None:
                pair = blind.pair
                sides = (pair.first, pair.second) if blind.tested_first else (pair.second, pair.first)
                won = 0.5 if taste is Taste.ALIKE else float((taste is Taste.FIRST) == blind.tested_first)
                rows.append((won, blind.expected, blind.usually))
                truth.append(prefers(user, *sides)[pair.query])
    return np.array(rows).reshape(-1, 3), float(np.mean(truth)) if truth else np.nan


def of_tests(votes: Floats, truth: float) -> dict[str, Estimate]:
    """Return the estimates of one rate from some votes ``[T, 3]``."""
    outcome, forecast, usually = votes.T
    trust = trust_before_votes(outcome, forecast)[:-1]
    found = {
        VOTES: corrected_mean(outcome, forecast, usually, np.zeros_like(trust)),
        BOTH: corrected_mean(outcome, forecast, usually, trust),
    }
    half = 1.96 * float(outcome.std(ddof=1)) / np.sqrt(len(outcome))
    mean = float(outcome.mean())
    return {
        JUDGE: Estimate(float(usually.mean()), np.nan, np.nan, truth),
        NAIVE: Estimate(mean, mean - half, mean + half, truth),
        **{
            how: Estimate(float(np.clip(each.estimate, each.low, each.high)), each.low, each.high, truth)
            for how, each in found.items()
        },
    }


def convinced(votes: Floats, truth: float) -> dict[str, Estimate]:
    """Return the estimates of somebody who stops as soon as the interval is on one side of a half."""
    stopped: dict[str, Estimate] = {}
    for count in range(_FEWEST_TO_STOP, len(votes) + 1):
        for how, found in of_tests(votes[:count], truth).items():
            if how not in stopped and (found.low > 0.5 or found.high < 0.5 or count == len(votes)):
                stopped[how] = found
        if len(stopped) == len((JUDGE, NAIVE, VOTES, BOTH)):
            break
    return {how: found for how, found in stopped.items() if how != JUDGE}


def rows_of(
    kind: str, way: str, count: int | str, estimates: Mapping[str, Sequence[Estimate]]
) -> list[tuple[str, ...]]:
    """Return the rows of the table for one number of votes."""
    rows: list[tuple[str, ...]] = []
    for how, each in estimates.items():
        value, low, high, truth, first = np.array(
            [(item.value, item.low, item.high, item.truth, item.first) for item in each]
        ).T
        known = not np.isnan(low).any()
        inside = np.mean((low <= truth) & (truth <= high))
        rows.append(
            (
                *(kind, way, str(count), how),
                f"{100 * float(np.mean((value - truth)[first > 0])):+.0f}",
                f"{100 * float(np.sqrt(np.mean((value - truth) ** 2))):.0f}",
                f"{100 * float(inside):.0f} %" if known else "–",
                f"{100 * float(np.mean(high - low)):.0f}" if known else "–",
            )
        )
    return rows


def simulate(service: Service, people: Sequence[SimulatedUser], kind: str) -> list[tuple[str, ...]]:
    """Return the rows for people of one kind."""
    candidates = candidate_pairs(service, "dailybench", ())
    on_find: dict[int, dict[str, list[Estimate]]] = {count: {} for count in COUNTS}
    blind: dict[int | str, dict[str, list[Estimate]]] = {count: {} for count in (*COUNTS, STOPPED)}
    n_votes = dict.fromkeys(COUNTS, 0)
    taus: dict[tuple[int, str], list[float]] = {}
    for seed, user in enumerate(people):
        truth = true_shares(user, candidates)
        for count, view, session in chosen(service, user, candidates, seed):
            n_votes[count] = len(session.checks)
            for how, each in on_the_way(service, view, session, truth).items():
                on_find[count].setdefault(how, []).extend(each)
                tau = float(kendalltau([item.value for item in each], truth).statistic)
                taus.setdefault((count, how), []).append(0.0 if np.isnan(tau) else tau)
            if count == COUNTS[0]:
                leaderboard = service.leaderboard(view, subscriber=None)
                votes, rate = blind_tests(service, leaderboard, user, np.random.default_rng([seed, 2]))
                _take_tests(blind, votes, rate, np.random.default_rng([seed, 3]))
    rows = []
    for count in COUNTS:
        found = rows_of(kind, f"{count} choices", n_votes[count], on_find[count])
        rows += [(*row, f"{np.mean(taus[count, row[3]]):.2f}") for row in found]
    for stop, estimates in blind.items():
        rows += [(*row, "–") for row in rows_of(kind, "blind tests", stop, estimates)]
    return rows


def _take_tests(
    found: dict[int | str, dict[str, list[Estimate]]],
    votes: Floats,
    truth: float,
    random: np.random.Generator,
) -> None:
    """Add what several takings of tests give, each of other pairs; nothing where too few could be drawn."""
    if len(votes) < 2 * max(COUNTS):
        return
    for _ in range(_REPEATS):
        drawn = votes[random.permutation(len(votes))[: max(COUNTS)]]
        for count in COUNTS:
            for how, one in of_tests(drawn[:count], truth).items():
                found[count].setdefault(how, []).append(one)
        for how, one in convinced(drawn, truth).items():
            found[STOPPED].setdefault(how, []).append(one)


def save_curves(rows: Sequence[tuple[str, ...]], path: Path) -> None:
    """Draw error and coverage by the number of choices, and of votes in blind tests, as a PNG.

    Args:
        rows: Of the table, in its columns; those of several kinds of people are averaged.
    """
    from matplotlib.figure import Figure  # noqa: PLC0415  # only this draws with it

    figure = Figure(figsize=(9, 5.6), layout="constrained")
    panels = figure.subplots(2, 2, sharex="col")
    for column, (where, x_label) in enumerate(
        (("choices", "choices"), ("blind tests", "votes in blind tests"))
    ):
        for line, (name, place) in enumerate((("error, points", 5), ("coverage, %", 6))):
            panel = panels[line, column]
            for how, colour in COLOURS.items():
                points = _means(rows, where, how, place)
                if points:
                    panel.plot(*zip(*points, strict=True), marker="o", label=how, color=colour)
            if place == 6:
                panel.axhline(95, color="grey", linewidth=0.8, linestyle=":")
                panel.set(ylim=(0, 104), xlabel=x_label)
            else:
                panel.set(ylim=(0, None))
            panel.set(ylabel=name)
            panel.grid(alpha=0.3)
    panels[0, 0].legend(frameon=False, fontsize=8)
    panels[0, 1].legend(frameon=False, fontsize=8)
    figure.savefig(path, dpi=120)


COLOURS = {
    "the judge": "#b45309",
    "votes alone": "#6b7280",
    "votes alone, ± 1.96 standard errors": "#9ca3af",
    "corrected": "#1f6f5c",
}


def _means(rows: Sequence[tuple[str, ...]], where: str, how: str, place: int) -> list[tuple[int, float]]:
    """Return a column's mean over kinds of people by the number of choices or votes, where it is known."""
    found: dict[int, list[float]] = {}
    for row in rows:
        on_page = row[1].endswith("choices")
        count = row[1].split()[0] if on_page else row[2]
        if on_page == (where == "choices") and row[3] == how and count.isdigit() and row[place] != "–":
            found.setdefault(int(count), []).append(float(row[place].split()[0]))
    return [(count, float(np.mean(values))) for count, values in sorted(found.items())]


@app.command()
def measure(
    people: Annotated[int, typer.Option(min=1, help="Simulated people of each kind.")] = 16,
    output: Annotated[Path | None, typer.Option(help="Markdown file for the table.")] = None,
    picture: Annotated[Path | None, typer.Option(help="PNG file for curves of error and coverage.")] = None,
) -> None:
    """Print the table."""
    service, crm = Service.open(), embedded_crm()
    benchmark, random = service.benchmark("dailybench"), np.random.default_rng(17)
    texts = wordings(crm, held_out=True, most=400)
    by_criteria = [simulated_user(draw_criteria(texts, random), crm, benchmark) for _ in range(people)]
    with_favourites = [favouring(user, random) for user in by_criteria]
    rows = [
        *simulate(service, by_criteria, "criteria"),
        *simulate(service, with_favourites, "criteria and favourites"),
    ]
    Report(
        "A ranking corrected by votes: DailyBench",
        ("people go by", "after", "votes", "estimate", "bias", "error", "coverage", "width", "Kendall τ"),
        tuple(rows),
        f"{people} people of each kind. Shares in points. Bias: of the LLM that the judge has first. Error: "
        "root mean square, of all LLMs, in blind tests of the first against its rivals. Coverage of 95 % "
        f"intervals, and their mean width. {STOPPED.capitalize()}: after {_FEWEST_TO_STOP} votes or more, as "
        f"soon as the interval is on one side of a half, at the latest after {max(COUNTS)}. "
        f"{describe_machine()}.",
    ).finish(output)
    if picture is not None:
        save_curves(rows, picture)


if __name__ == "__main__":
    run_cli(app, CRMError, DatabaseError, LeaderboardError)
