"""How good a judge is on a benchmark from outside: accuracy by domain, and as a chooser of the best response.

A judge compares pairs, where a reward model scores single responses. Of a reward model the log-odds of a
verdict are the difference of two scores, so everything here comes to what the benchmarks define by scores:

- *best of N*: a right response wins against every wrong one; where it ties with k of them and loses to none,
  that is right to 1 / (1 + k). RewardBench 2 scores all subsets but Ties so.
- *pairs*: share of right verdicts on right against wrong responses, a tie half.
- *Ties* of RewardBench 2: see ``ties_score``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations, product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from crm.data.judge_benchmarks import TIES, JudgeBenchmark, JudgedPrompt
from crm.embedded.encoder import ProgressCallback
from crm.evaluation.metrics import Accuracy, Numbers, accuracy
from crm.evaluation.report import UNKNOWN, percent
from crm.evaluation.run import asked_name
from crm.protocol import CRM, Pair, Question, reads_criteria
from crm.report_table import ReportTable

_SUREST = 1e-7
"""A verdict is at most so close to 0 and 1 in log-odds: what single precision tells apart."""
_PROMPTS_AT_ONCE = 64


@dataclass(frozen=True)
class DomainResult:
    """A judge's results on one domain.

    Attributes:
        best: Best-of-N accuracy; n counts prompts.
        pairs: Accuracy on right against wrong responses, each prompt counting the same.
        chance: Best-of-N accuracy of a judge that draws lots.
        ties: Score of the subset Ties, which stands in the place of ``best``; None of other domains, and
            where no prompt of it has both its forms.
    """

    domain: str
    best: Accuracy
    pairs: float
    chance: float
    ties: float | None = None

    @property
    def score(self) -> float | None:
        """What the benchmark goes by; None where it is undefined."""
        return self.ties if self.domain == TIES else self.best.value


@dataclass(frozen=True)
class BenchmarkReport:
    """A judge's results on a benchmark.

    Attributes:
        rubrics: Whether the judge was given the rubrics as criteria.
        domains: In the order of the benchmark.
    """

    judge: str
    version: str
    benchmark: str
    rubrics: bool
    domains: tuple[DomainResult, ...]

    @property
    def average(self) -> float | None:
        """Mean score of the domains, as the benchmarks' leaderboards have it; None where one is undefined."""
        scores = [score for domain in self.domains if (score := domain.score) is not None]
        return sum(scores) / len(scores) if len(scores) == len(self.domains) else None

    def to_json(self) -> dict[str, Any]:
        """Return everything as JSON, with the average."""
        return {**asdict(self), "average": self.average}


def evaluate_on(
    crm: CRM,
    benchmark: JudgeBenchmark,
    *,
    without_criteria: bool = False,
    limit: int | None = None,
    seed: int = 0,
    progress: ProgressCallback = lambda done, total: None,
) -> BenchmarkReport:
    """Ask a judge about every prompt of a benchmark.

    Either response is shown first in about half of the pairs, drawn by the pair, so that a preference for the
    first place gains nothing.

    Args:
        without_criteria: Keep the rubrics from the judge, as the benchmarks do with reward models; one that
            reads no criteria never gets them.
        limit: Draw at most so many prompts of every domain; both forms of one of Ties count once.
        seed: Of that draw.

    Raises:
        CRMError: The judge cannot answer.
    """
    without_criteria |= not reads_criteria(crm)
    prompts = drawn(benchmark.prompts, limit, seed)
    found: dict[str, list[tuple[JudgedPrompt, _Margins]]] = {}
    for start in range(0, len(prompts), _PROMPTS_AT_ONCE):
        some = prompts[start : start + _PROMPTS_AT_ONCE]
        for prompt, margins in zip(some, _asked(crm, some, without_criteria=without_criteria), strict=True):
            found.setdefault(prompt.domain, []).append((prompt, margins))
        progress(start + len(some), len(prompts))
    return BenchmarkReport(
        judge=asked_name(crm, without_criteria=without_criteria),
        version=crm.version,
        benchmark=benchmark.name,
        rubrics=benchmark.has_rubrics and not without_criteria,
        domains=tuple(_domain_result(domain, results) for domain, results in found.items()),
    )


@dataclass(frozen=True)
class _Margins:
    """Log-odds on one prompt with C right and R wrong responses.

    Attributes:
        right_wrong: That a right response is preferred to a wrong one ``[C, R]``.
        spread: Largest between two right ones, whichever is preferred; None of a single one, and where nobody
            asked.
    """

    right_wrong: Numbers
    spread: float | None

    @property
    def least(self) -> float:
        """By how much the worst right response is ahead of the best wrong one."""
        return float(self.right_wrong.min())


def log_odds(
    crm: CRM, asked: Sequence[tuple[JudgedPrompt, str, str]], *, without_criteria: bool
) -> NDArray[np.float64]:
    """Log-odds that the first of two responses to a prompt is preferred ``[N]``, at most ±16.

    Raises:
        CRMError: The judge cannot answer.
    """
    turned = np.array([_is_turned(*item) for item in asked], dtype=np.bool_)
    questions = []
    for (prompt, first, second), is_turned in zip(asked, turned, strict=True):
        pair = Pair(prompt.query, first, second)
        question = Question(prompt.criteria, pair.swapped() if is_turned else pair)
        questions.append(Question(type(prompt.criteria)(), question.pair) if without_criteria else question)
    prob = np.array([verdict.prob_a for verdict in crm.judge(questions)], dtype=np.float64)
    margins = logit(np.clip(prob, _SUREST, 1 - _SUREST))
    return np.where(turned, -margins, margins)


def _is_turned(prompt: JudgedPrompt, first: str, second: str) -> bool:
    """Draw whether the second response is shown first: the same for the same texts, whoever is asked."""
    drawn = hashlib.sha256("\0".join((prompt.query, *sorted((first, second)))).encode("utf-8", "replace"))
    return (drawn.digest()[0] % 2 == 1) == (first <= second)


def _asked(crm: CRM, prompts: Sequence[JudgedPrompt], *, without_criteria: bool) -> list[_Margins]:
    pairs: list[tuple[JudgedPrompt, str, str]] = []
    for prompt in prompts:
        pairs += [(prompt, *pair) for pair in product(prompt.chosen, prompt.rejected)]
        if prompt.domain == TIES:
            pairs += [(prompt, *pair) for pair in combinations(prompt.chosen, 2)]
    margins = log_odds(crm, pairs, without_criteria=without_criteria)
    found, start = [], 0
    for prompt in prompts:
        shape = len(prompt.chosen), len(prompt.rejected)
        stop = start + shape[0] * shape[1]
        among = shape[0] * (shape[0] - 1) // 2 if prompt.domain == TIES else 0
        spread = float(np.abs(margins[stop : stop + among]).max()) if among else None
        found.append(_Margins(margins[start:stop].reshape(shape), spread))
        start = stop + among
    return found


def _domain_result(domain: str, results: Sequence[tuple[JudgedPrompt, _Margins]]) -> DomainResult:
    margins = [one for _, one in results]
    return DomainResult(
        domain=domain,
        best=accuracy(domain, [_best_of_n(one.right_wrong) for one in margins]),
        pairs=float(np.mean([_right_pairs(one.right_wrong) for one in margins])),
        chance=float(
            np.mean([len(one.chosen) / (len(one.chosen) + len(one.rejected)) for one, _ in results])
        ),
        ties=ties_score(
            {prompt.id: (one.least, one.spread) for prompt, one in results} if domain == TIES else {}
        ),
    )


def _best_of_n(right_wrong: Numbers) -> float:
    """How surely a right response is the best of all, of log-odds ``[C, R]``."""
    unbeaten = (right_wrong >= 0).all(axis=1)
    return float(np.max(unbeaten / (1 + (right_wrong == 0).sum(axis=1))))


def _right_pairs(right_wrong: Numbers) -> float:
    return float(np.mean((right_wrong > 0) + (right_wrong == 0) / 2))


def ties_score(margins: Mapping[str, tuple[float, float | None]]) -> float | None:
    """Return the score of RewardBench 2's subset Ties (Malik et al. 2025), None where it is undefined.

    A prompt has two forms: “ref:N” with one right response and “tied:N” with several. 30 % each are for all
    right responses ahead of all wrong ones in either form; 20 % each for a gap between right and wrong that
    is larger than the spread of the right ones, in the tied form and in both; 1 % for by how much.

    Args:
        margins: By id, by how much the worst right response is ahead of the best wrong one, and the spread of
            the right ones, None of a single one.
    """
    forms: dict[str, dict[str, tuple[float, float | None]]] = {"ref": {}, "tied": {}}
    for name, found in margins.items():
        form, _, number = name.partition(":")
        forms["ref" if form == "ref" else "tied"][number] = found
    both = [number for number in forms["tied"] if number in forms["ref"]]
    pairs = [(forms["tied"][number], forms["ref"][number][0]) for number in both]
    spreads = np.array([spread if spread is not None else np.nan for (_, spread), _ in pairs])
    if not pairs or np.isnan(spreads).any():
        return None
    tied, ref = np.array([(least, other) for (least, _), other in pairs]).T
    with np.errstate(divide="ignore", invalid="ignore"):
        by_how_much = np.nan_to_num(np.tanh(np.minimum(tied, ref) / spreads - 1), nan=0.0)
    ahead = [np.mean([least > 0 for least, _ in forms[form].values()]) for form in ("tied", "ref")]
    preferred = np.mean(tied > spreads), np.mean(np.minimum(tied, ref) > spreads)
    return float(0.3 * sum(ahead) + 0.2 * sum(preferred) + 0.01 * by_how_much.mean())


def drawn(prompts: Sequence[JudgedPrompt], limit: int | None, seed: int) -> list[JudgedPrompt]:
    """At most ``limit`` prompts of every domain, in their order."""

    def group(prompt: JudgedPrompt) -> str:
        return prompt.id.partition(":")[2] if prompt.domain == TIES else prompt.id

    def lot(name: str) -> bytes:
        return hashlib.sha256(f"{seed} {name}".encode("utf-8", "replace")).digest()

    groups: dict[str, dict[str, None]] = {}
    for prompt in prompts:
        groups.setdefault(prompt.domain, {})[group(prompt)] = None
    kept = {domain: set(sorted(names, key=lot)[:limit]) for domain, names in groups.items()}
    return [prompt for prompt in prompts if group(prompt) in kept[prompt.domain]]


def benchmark_tables(reports: Sequence[BenchmarkReport]) -> tuple[ReportTable, ...]:
    """Scores by domain; where prompts have more than two responses, accuracy on pairs, too."""
    first = reports[0]
    names = [domain.domain for domain in first.domains]
    counts = ", ".join(f"{one.domain} {one.best.n:,}" for one in first.domains)
    given = "Judges without ∅ were given the rubrics as criteria." if _any_rubrics(reports) else ""
    chance = ", ".join(percent(one.chance) for one in first.domains if one.domain != TIES)
    ties = " Ties is scored by accuracy and margins." if TIES in names else ""
    scores = ReportTable(
        first.benchmark,
        ("judge", *names, "average"),
        tuple(
            (_row_name(one), *(percent(domain.score) for domain in one.domains), percent(one.average))
            for one in reports
        ),
        f"Share of prompts in % of which a right response is preferred to every wrong one; by lot "
        f"{chance or UNKNOWN}.{ties} Average: of the domains. Prompts: {counts}. {given}".rstrip(),
    )
    if all(one.chance == 0.5 for one in first.domains):  # noqa: PLR2004
        return (scores,)
    pairs = ReportTable(
        f"{first.benchmark}, pairs",
        ("judge", *names),
        tuple((_row_name(one), *(percent(domain.pairs) for domain in one.domains)) for one in reports),
        "Right verdicts in % on a right against a wrong response; by lot 50.",
    )
    return (scores, pairs)


def _row_name(report: BenchmarkReport) -> str:
    return f"{report.judge} {report.version}"


def _any_rubrics(reports: Sequence[BenchmarkReport]) -> bool:
    return any(report.rubrics for report in reports)
