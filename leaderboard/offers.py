"""What the LLMs of a view cost for what they are worth to the person."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from leaderboard.llm_facts.catalogue import Catalogue
from leaderboard.llm_facts.choosing import Choice, choose
from leaderboard.result import Leaderboard
from leaderboard.robustness import without_a_chance
from leaderboard.service import Service
from leaderboard.statistics.significance import apart_from_first, distinguishable
from leaderboard.view import View


@dataclass(frozen=True, eq=False)
class Contenders:
    """The L LLMs of a view that can come first, best first, whatever is listed of them.

    Attributes:
        win_rate: [L], fractions.
        samples: [B, L], win rates in each resample.
        n_queries: [L], on how many queries each rests, or how many equal ones they are worth if weighted.
        in_log_odds: Whether they are compared in log-odds, as the judge errs.
    """

    llms: tuple[str, ...]
    win_rate: NDArray[np.float64]
    samples: NDArray[np.float32]
    n_queries: NDArray[np.int64]
    in_log_odds: bool

    @cached_property
    def pairs_apart(self) -> NDArray[np.bool_]:
        """[L, L], which pairs can be told apart, at 5 % for all pairs together; it takes long."""
        return distinguishable(self.win_rate, self.samples, self.n_queries, in_log_odds=self.in_log_odds)


def contenders(service: Service, view: View) -> Contenders | None:
    """Return the LLMs that can come first, None if nothing is judged; raises as ``Service.leaderboard``."""
    scored = service.scored(view.whole)
    if not scored.answered.any():
        return None
    found, llms = scored.rated(), scored.request.llms
    out = without_a_chance(scored, found)
    rows = [row for row in found.best_first(llms).tolist() if not out[row]]
    return Contenders(
        tuple(llms[row] for row in rows),
        found.win_rate[rows],
        found.samples()[:, rows],
        np.floor(found.columns["n_effective"][rows]).astype(np.int64),
        bool(np.any(found.judge_error)),
    )


def offers(
    leaderboard: Leaderboard,
    found: Contenders,
    catalogue: Catalogue,
    listed: Collection[str],
    pairs_apart: NDArray[np.bool_] | None = None,
) -> Choice | None:
    """Return what the listed LLMs cost for what they are worth, None if none of them can come first.

    Two LLMs are compared as they are without filters: only who is among them depends on what is listed.

    Args:
        leaderboard: The whole one, with the places of all LLMs.
        listed: The LLMs that pass the view's filters.
        pairs_apart: [L, L], of the contenders, if that is known.
    """
    rows = [row for row, llm in enumerate(found.llms) if llm in listed]
    if not rows:
        return None
    win_rate, samples, n_queries = found.win_rate[rows], found.samples[:, rows], found.n_queries[rows]
    return choose(
        [found.llms[row] for row in rows],
        win_rate,
        apart_from_first(win_rate, samples, n_queries, in_log_odds=found.in_log_odds),
        catalogue,
        apart=None if pairs_apart is None else pairs_apart[np.ix_(rows, rows)],
        benchmark=leaderboard.benchmark.info.slug,
        titles=leaderboard.titles,
        places=leaderboard.ranking.ranks,
        use=leaderboard.view.listing.costs_for,
    )
