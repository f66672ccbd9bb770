"""How soon a person's ranking is learnt from choices: simulated users on held-out wordings and queries.

Choices are made on half of the queries; win rates, rankings and NormAlign are taken on the other half.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray
from scipy.stats import kendalltau

from benchmarks._norm_align import COLUMNS, SMALLEST_ROOM, NormAlign, norm_align
from benchmarks._report import Report, duration
from benchmarks._simulated import (
    AS_STATED,
    Floats,
    Noise,
    SimulatedUser,
    draw_criteria,
    simulated_user,
    strengths,
    wordings,
)
from crm.cli_runner import run_cli
from crm.criteria import CriteriaSet
from crm.embedded.model import EmbeddedCRM, embedded_crm
from crm.errors import CRMError
from crm.report_table import describe_machine
from db import DatabaseError
from leaderboard.benchmark import LoadedBenchmark
from leaderboard.elicitation.acquisition import CandidatePairs, next_pair, random_pair
from leaderboard.elicitation.checklist import checklist, criteria_of
from leaderboard.elicitation.choice_model import Choice, chosen_and_rejected
from leaderboard.elicitation.interview import ObservedReply, interview_questions, next_question
from leaderboard.elicitation.library import criterion_library
from leaderboard.elicitation.margins import CriterionMargins, criterion_margins
from leaderboard.elicitation.posterior import ObservedChoices, PreferencePosterior
from leaderboard.errors import LeaderboardError
from leaderboard.service import Service, filled
from leaderboard.statistics.win_rate import outcomes, win_rates

app = typer.Typer(add_completion=False)

COUNTS = (0, 1, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20)
SLUGS = ("dailybench", "alpaca-eval")
GAIN, RANDOM, VOTES = "information gain", "random pairs", "votes only (Bradley-Terry)"
INTERVIEW = "interview"
_NORMAL = 1.96
_ENOUGH = COUNTS.index(12)
_LAST_QUESTION = 6
"""After at most five questions nothing changes; this row holds the end of all interviews."""


@dataclass(frozen=True, eq=False)
class HalvedBenchmark:
    """A benchmark with its queries halved: for choices, and for measuring."""

    benchmark: LoadedBenchmark
    crm: EmbeddedCRM
    candidates: CandidatePairs
    measured: NDArray[np.bool_]
    default: Floats

    @property
    def margins(self) -> CriterionMargins:
        """How its responses stand under the library."""
        return self.candidates.margins


@dataclass(frozen=True)
class Curve:
    """One way of learning on one benchmark.

    Attributes:
        tau: Kendall's τ between learnt and true ranking ``[U, len(COUNTS)]``.
        chosen: PrefAlign of the LLM that the learnt ranking puts first ``[U, len(COUNTS)]``.
        lowest: PrefAlign of the default ranking's first ``[U]``.
        highest: PrefAlign of the true ranking's first ``[U]``.
        seconds: From each choice to the next pair.
    """

    tau: Floats
    chosen: Floats
    lowest: Floats
    highest: Floats
    seconds: Floats

    def norm_align(self) -> list[NormAlign]:
        """Return NormAlign after each number of answers, over the users."""
        return [
            norm_align(chosen[:, None], self.lowest[:, None], self.highest[:, None])
            for chosen in self.chosen.T
        ]


def field_of(service: Service, slug: str, crm: EmbeddedCRM) -> HalvedBenchmark:
    """Return a benchmark ready to be learnt on; the halves are drawn once and for all."""
    benchmark = service.benchmark(slug)
    library = tuple(item.criterion for item in criterion_library())
    everything = criterion_margins(benchmark, crm, library)
    measured = np.random.default_rng(0).permutation(benchmark.n_queries) % 2 == 0
    [block] = crm.score(CriteriaSet(), benchmark)
    default = np.nanmean(np.where(np.isnan(block.prob), np.nan, block.prob > 0.5)[:, measured], axis=1)
    return HalvedBenchmark(benchmark, crm, CandidatePairs.of(everything, ~measured), measured, default)


def learn(
    field: HalvedBenchmark, user: SimulatedUser, how: str, seed: int, noise: Noise
) -> Iterator[tuple[Floats | None, float]]:
    """Yield after 0, 1, 2, … answers win rates on the measured queries, and the seconds of the last answer.

    Win rates are those of the leaderboard, and None where ``COUNTS`` does not ask for them.

    The interview ends by itself; what it has learnt stays.
    """
    random = np.random.default_rng([seed, 1])
    posterior = PreferencePosterior.prior(field.margins.n_criteria, seed=seed)
    choices: list[Choice] = []
    seconds = 0.0
    for count in range(max(COUNTS) + 1):
        rate = None
        if count in COUNTS:
            rate = _votes(field, choices) if how == VOTES else _learnt(field, posterior, choices)
        yield rate, seconds
        started = perf_counter()
        if how == INTERVIEW:
            question = next_question(posterior, field.candidates, interview_questions())
            if question is not None:
                option = user.option(question, field.margins, random)
                posterior = posterior.after(ObservedReply(question, option, field.margins.gram))
        else:
            seen = frozenset(choice.pair.query for choice in choices)
            pair = (
                next_pair(posterior, field.candidates, seen)
                if how == GAIN
                else random_pair(field.candidates, seen, seed)
            )
            choices.append(Choice(pair, user.answer(pair, random, noise)))
            if how != VOTES:
                posterior = posterior.after(ObservedChoices.of(choices[-1:], field.margins))
        seconds = perf_counter() - started


def _learnt(field: HalvedBenchmark, posterior: PreferencePosterior, choices: Sequence[Choice]) -> Floats:
    """Return win rates under the person's checklist, as the leaderboard would show them."""
    lines = checklist(
        posterior, field.margins, criterion_library(), chosen_and_rejected(choices, field.margins)
    )
    if not lines:
        return field.default
    prob = filled(field.benchmark, field.crm, criteria_of(lines))
    return win_rates(outcomes(prob[:, field.measured]))


def _votes(field: HalvedBenchmark, choices: Sequence[Choice]) -> Floats:
    return strengths(choices, len(field.benchmark.llms) + 1)[:-1] if choices else field.default


def curve(
    field: HalvedBenchmark, users: Sequence[SimulatedUser], how: str, noise: Noise = AS_STATED
) -> Curve:
    """Return the way of learning, followed with every user."""
    tau, chosen, ends, seconds = [], [], [], []
    for seed, user in enumerate(users):
        true = user.win_rates(field.measured)
        at = []
        for rate, took in learn(field, user, how, seed, noise):
            seconds.append(took)
            if rate is not None:
                at.append(rate)
        tau.append([_tau(rate, true) for rate in at])
        chosen.append([user.alignment(int(np.argmax(rate)), field.measured) for rate in at])
        ends.append([user.alignment(int(np.argmax(rate)), field.measured) for rate in (field.default, true)])
    lowest, highest = np.array(ends).T
    return Curve(np.array(tau), np.array(chosen), lowest, highest, np.array(seconds))


def _tau(learnt: Floats, true: Floats) -> float:
    """τ-b; 0 where nothing is told apart."""
    value = float(kendalltau(learnt, true).statistic)
    return 0.0 if np.isnan(value) else value


def report(slug: str, curves: Mapping[str, Curve], kind: str, noise: Noise) -> Report:
    """Return the table of one benchmark."""
    rows = []
    for how, found in curves.items():
        half = _NORMAL * found.tau.std(axis=0, ddof=1) / np.sqrt(len(found.tau))
        align = found.norm_align()
        for place, count in enumerate(COUNTS):
            if how == INTERVIEW and count > _LAST_QUESTION:
                break
            tau = f"{found.tau[:, place].mean():.2f} ± {half[place]:.2f}"
            rows.append((how, str(count), tau, *align[place].cells))
    gain = curves[GAIN].seconds
    left_out = curves[GAIN].norm_align()[0].left_out
    ahead = curves[GAIN].tau[:, _ENOUGH] - curves[RANDOM].tau[:, _ENOUGH]
    return Report(
        title=f"Learning a person's ranking from choices: {slug}",
        columns=("learnt from", "answers", "Kendall τ", *COLUMNS),
        rows=tuple(rows),
        note=f"{len(curves[GAIN].tau)} {kind} users, {noise}, means with 95 % intervals. "
        f"Mean of ratios and share below 0 without the {left_out} users for whom the true ranking's first "
        f"LLM is ahead of the default ranking's by less than {SMALLEST_ROOM:g} of 5. "
        f"After {COUNTS[_ENOUGH]} choices information gain is ahead of random pairs by {ahead.mean():.2f} ± "
        f"{_NORMAL * ahead.std(ddof=1) / np.sqrt(len(ahead)):.2f} of τ, user by user. "
        f"From a choice to the next pair: median {duration(float(np.median(gain)))}, 99th percentile "
        f"{duration(float(np.quantile(gain, 0.99)))}. {describe_machine()}.",
    )


@app.command()
def main(
    *,
    users: Annotated[int, typer.Option(min=2, help="Simulated users per benchmark.")] = 100,
    benchmark: Annotated[
        list[str] | None, typer.Option(help="Benchmarks; by default both bundled ones.")
    ] = None,
    scale: Annotated[float, typer.Option("--noise", min=0, help="Scale of the noise, in log-odds.")] = 1.0,
    slip: Annotated[float, typer.Option(min=0, max=1, help="Share of answers drawn at random.")] = 0.0,
    training: Annotated[
        bool, typer.Option(help="Users of the other half, on whom settings are chosen.")
    ] = False,
    output: Annotated[Path | None, typer.Option(help="Folder for a table a benchmark, as Markdown.")] = None,
) -> None:
    """Learn simulated users' rankings from 0 to 20 answers, in four ways."""
    noise = Noise(scale, slip)
    suffix = "" if noise == AS_STATED else f"_noise_{scale:g}_slip_{slip:g}"
    service, crm = Service.open(), embedded_crm()
    texts = wordings(crm, held_out=not training)
    for slug in benchmark or SLUGS:
        field = field_of(service, slug, crm)
        random = np.random.default_rng(11)
        drawn = [draw_criteria(texts, random) for _ in range(users)]
        people = [simulated_user(criteria, crm, field.benchmark) for criteria in drawn]
        curves = {how: curve(field, people, how, noise) for how in (GAIN, RANDOM, VOTES, INTERVIEW)}
        report(slug, curves, "training" if training else "held-out", noise).finish(
            output and output / f"simulated_users_{slug}{suffix}.md"
        )
    service.close()


if __name__ == "__main__":
    run_cli(app, CRMError, DatabaseError, LeaderboardError)
