"""In words: what a control for length or style took out of a ranking, and how much it mattered."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy.special import expit

from leaderboard.control import TERMS, Control
from leaderboard.statistics.interval import UNRANKED
from leaderboard.statistics.ranking import Ranking
from leaderboard.wording.interpretation import FEWEST_QUERIES
from leaderboard.wording.listing import listed

NAMES: Mapping[Control, str] = {
    Control.NONE: "Nothing",
    Control.LENGTH: "Length",
    Control.STYLE: "Length, lists, headings and bold",
}

# Win rates that move by less than this many points on average have not been moved, as far as anyone cares.
_NEGLIGIBLE = 0.5

# A preference between 48 and 52 % is called none.
_NO_PREFERENCE = 0.02


def removed_in_brief(control: Control) -> str:
    """A line for a table's head; empty without a control."""
    return "" if control is Control.NONE else f"{NAMES[control]} removed from the win rates"


def effect_sentences(ranking: Ranking, control: Control, titles: Mapping[str, str]) -> str:
    """What was removed and how much it mattered; empty if nothing was or nobody is ranked.

    Args:
        ranking: under the control.
        control: that it was made with.
        titles: the name each LLM is shown by.
    """
    removed = ranking.removed
    ranked = ranking.rank != UNRANKED
    if removed is None or not ranked.any():
        return ""
    moves = np.where(ranked, 100 * (ranking.win_rate - removed.plain_win_rate), 0.0)
    mean = float(np.abs(moves).sum() / ranked.sum())
    most = int(np.argmax(np.abs(moves)))
    n_moved = int(np.sum(ranking.rank != removed.plain_rank))
    verb = "is" if control is Control.LENGTH else "are"
    places = f"{n_moved or 'none'} of {ranked.sum()} LLMs {'changes' if n_moved <= 1 else 'change'} rank"
    effect = (
        f"Win rates hardly move, by {mean:.1f} points on average, and {places}."
        if mean < _NEGLIGIBLE
        else f"Win rates move by {mean:.1f} points on average, most for {titles[ranking.llms[most]]} "
        f"({_signed(moves[most])}), and {places}."
    )
    n_queries = int(ranking.n_queries.max())
    caution = (
        f" With only {n_queries} {'query' if n_queries == 1 else 'queries'} this is a rough guess."
        if n_queries < FEWEST_QUERIES
        else ""
    )
    return f"{NAMES[control]} {verb} removed. {effect}{caution}"


def preference_sentence(ranking: Ranking, control: Control) -> str:
    """Which of two responses the judge prefers that differ in one term alone, and how often; else empty."""
    if ranking.removed is None:
        return ""
    preferred, indifferent = [], []
    for term, effect in zip(TERMS[control], ranking.removed.effects.tolist(), strict=True):
        share = float(expit(abs(effect) * term.example))
        if share - 0.5 < _NO_PREFERENCE:
            indifferent.append(term.name)
        else:
            preferred.append(f"{term.more if effect > 0 else term.less} ({100 * share:.0f} % of the time)")
    if not preferred:
        return f"Of two otherwise equal responses, {listed(indifferent)} hardly matters to the judge."
    unmoved = f"; {listed(indifferent, 'or')} hardly matters" if indifferent else ""
    return f"Of two otherwise equal responses, the judge prefers {listed(preferred)}{unmoved}."


def _signed(points: float) -> str:
    """``+3.2`` or ``−3.2``."""
    return f"{points:+.1f}".replace("-", "−")
