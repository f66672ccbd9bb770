"""Scores a benchmark under many criteria sets ahead of time: score matrices, and the win rates they come to.

The page then has slow judges' rankings at once, and bundles and readers of SQL have every win rate.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from time import monotonic

import numpy as np

from crm.criteria import CriteriaSet
from crm.protocol import CRM
from db import Database
from db.lock import job_locks
from db.repositories.benchmarks import get_benchmark
from db.repositories.scores import list_scores
from db.repositories.win_rates import put_win_rates, win_rate_coverage
from leaderboard.contest import StoredContest
from leaderboard.judging.filling import Filling
from leaderboard.selection import queries_with
from leaderboard.statistics.matrix import Mask
from leaderboard.stored_win_rates import win_rate_records
from precompute.score_progress import ScoringProgress, ScoringTally


@dataclass(frozen=True, slots=True)
class ScoreSummary:
    """What scoring with one judge did, and what of it is stored now.

    Attributes:
        judge: Its name.
        judged: Pairs judged now.
        stored: Pairs that were judged before.
        seconds: What it took.
        sets_stored: Criteria sets of which scores by this judge are stored, also those not asked for.
        sets_complete: Those of them that have win rates, because every pair is judged.
    """

    judge: str
    judged: int
    stored: int
    seconds: float
    sets_stored: int
    sets_complete: int

    @property
    def pairs_per_second(self) -> float:
        """The judge's speed, loading included."""
        return self.judged / self.seconds if self.seconds else 0.0


def score_benchmark(
    database: Database,
    slug: str,
    crms: Sequence[CRM],
    criteria_sets: Sequence[CriteriaSet],
    *,
    topics: Sequence[str] = (),
    tell: Callable[[ScoringProgress], None] = lambda _: None,
) -> list[ScoreSummary]:
    """Judges what is not judged yet under each of the criteria sets, and stores win rates.

    Stored part by part, so an interrupted run continues where it was. Win rates of a criteria set are stored
    when all of its pairs are judged.

    Args:
        database: the open database.
        slug: the benchmark.
        crms: the judges, one after the other.
        criteria_sets: what to judge by; a set without criteria is the default ranking.
        topics: only queries of these categories or topics; none for all. A judge that reads representations
            judges all in any case.
        tell: told how far a judge is, at the start of every set and after every block.

    Returns:
        One summary a judge.

    Raises:
        JobRunningError: another process is scoring the benchmark with one of the judges.
        BenchmarkNotFoundError: no benchmark has this slug.
        UnknownTopicError: the benchmark lacks one of the topics.
        BenchmarkChangedError: it changed while it was scored; what is stored is of its earlier state.
        CRMError, LeaderboardError: a judge cannot judge the benchmark, or fails; what it did is stored.
    """
    distinct = list({criteria.key: criteria for criteria in criteria_sets}.values())
    with job_locks(database.engine, [f"scoring {slug!r} with {crm.name}" for crm in crms]):
        with database.session() as session:
            contest = StoredContest(database, get_benchmark(session, slug))
        selected = queries_with(contest.record, topics)
        return [_score(contest, crm, distinct, selected, tell) for crm in crms]


def _score(
    contest: StoredContest,
    crm: CRM,
    criteria_sets: Sequence[CriteriaSet],
    selected: Mask,
    tell: Callable[[ScoringProgress], None],
) -> ScoreSummary:
    start = monotonic()
    given = contest.judgeable(crm.representation)
    complete = {llm: int(n) for llm, n in zip(contest.llms, given.sum(axis=1), strict=True) if n}
    covered = _coverage(contest, crm)
    n_pairs = int(given[:, selected].sum())
    tally = ScoringTally(crm.name, len(criteria_sets), n_pairs, tell)
    judged = stored = 0
    scored = [criteria for criteria in criteria_sets if covered.get(criteria.key) == complete]
    for _ in scored:
        tally.skip()
        stored += n_pairs
    for criteria in criteria_sets:
        if criteria not in scored:
            filling = Filling(contest, crm, criteria)
            before = filling.matrix.n_judged
            _judge(filling, selected, tally)
            n_new = filling.matrix.n_judged - before
            judged += n_new
            stored += max(0, filling.matrix.count(selected)[0] - n_new)
            if not filling.matrix.todo.any():
                _store_win_rates(filling)
            tally.end()
    seconds = monotonic() - start
    return ScoreSummary(crm.name, judged, stored, seconds, *_counts(contest, crm))


def _judge(filling: Filling, selected: Mask, tally: ScoringTally) -> None:
    """Judge what is missing under one criteria set: the only place where pairs are judged."""
    tally.begin(filling.matrix.count(selected)[0])
    if np.any(filling.matrix.todo[:, selected]):
        filling.fill(lambda: selected, lambda: tally.reach(filling.matrix.count(selected)[0]))


def _store_win_rates(filling: Filling) -> None:
    record = filling.contest.record
    records = win_rate_records(filling.contest, filling.matrix.prob)
    with filling.contest.database.session() as session:
        put_win_rates(session, record.info.slug, filling.key, records, computed_from=record.updated_at)


def _coverage(contest: StoredContest, crm: CRM) -> Mapping[str, Mapping[str, int]]:
    with contest.database.session() as session:
        return win_rate_coverage(session, contest.record.info.slug, crm.name, crm.version)


def _counts(contest: StoredContest, crm: CRM) -> tuple[int, int]:
    """How many criteria sets have scores by the judge, and how many have win rates."""
    with contest.database.session() as session:
        keys = [scores.key for scores in list_scores(session, contest.record.info.slug)]
    n_stored = sum((key.crm, key.crm_version) == (crm.name, crm.version) for key in keys)
    return n_stored, len(_coverage(contest, crm))
