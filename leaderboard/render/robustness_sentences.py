"""How sure a ranking is, in words for people without statistics."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from leaderboard.robustness import TOP, WithoutOne
from leaderboard.sentences import MIN_QUERIES, listed
from leaderboard.statistics.ranking import Ranking
from leaderboard.statistics.significance import PairComparison, PairwiseSignificance
from parsing.messages import quantity

_NAMED = 4
_SURELY = 0.995
_COUNTLESS = 100_000


def headline(certainty: PairwiseSignificance, titles: Mapping[str, str]) -> str:
    """Say who comes first, how often that would hold, and who is as good as far as one can tell."""
    if len(certainty.llms) == 1:
        return "Only one LLM is ranked, so there is nothing to compare it with."
    best, *rest = (titles[llm] for llm in certainty.like_first())
    share = float(certainty.first[0])
    often = "practically always" if share >= _SURELY else f"{100 * share:.0f} times in 100"
    sentence = f"With other questions like these, {best} would come first {often}."
    if rest:
        sentence += f" It cannot be told apart from {_some(rest)}."
    else:
        sentence += " It is clearly ahead of every other LLM."
    n_queries = int(certainty.n_queries.max())
    if n_queries < MIN_QUERIES:
        sentence += f" This rests on only {quantity(n_queries, 'question')}: do not rely on it."
    return sentence


def against_the_favourite(
    certainty: PairwiseSignificance, default: Ranking, titles: Mapping[str, str]
) -> str:
    """Say how the first of the default ranking does here, against who is first here."""
    favourite = next(iter(default.ranks), None)
    if favourite is None or favourite not in certainty.llms or len(certainty.llms) == 1:
        return ""
    best = certainty.llms[0]
    if favourite == best:
        return f"The favourite without criteria, {titles[best]}, is yours as well."
    found = certainty.compare(best, favourite)
    certain = "more than chance" if found.apart else "within what chance does"
    return (
        f"The favourite without criteria, {titles[favourite]}, is {_points(found.difference)} behind "
        f"your first, {titles[best]}: {certain}."
    )


def comparison_sentences(
    certainty: PairwiseSignificance, first: str, second: str, titles: Mapping[str, str]
) -> str:
    """Say of two LLMs by themselves who is ahead, whether that is chance, and what would settle it.

    Raises as ``PairwiseSignificance.compare``.
    """
    if first == second:
        return "Choose two different LLMs."
    found = certainty.compare(first, second)
    if found.difference < 0:
        first, second, found = second, first, certainty.compare(second, first)
    if found.more_queries is None:
        return f"{titles[first]} and {titles[second]} are equal here, or compared on a single question."
    interval = f"likely {_signed(found.low)} to {_signed(found.high)}"
    ahead = f"{titles[first]} is ahead of {titles[second]} by {_points(found.difference)} ({interval})."
    pair = certainty.llms.index(first), certainty.llms.index(second)
    return f"{ahead} {_verdict(found, among_all=bool(certainty.apart[pair]))}"


def sensitivity_sentences(
    without_one: Sequence[WithoutOne], titles: Mapping[str, str], *, criteria_tried: bool
) -> list[str]:
    """Return a line for each criterion or category without which the top would change, and for the others."""
    if not without_one:
        return []
    changing = [item for item in without_one if item.changes]
    n_same = len(without_one) - len(changing)
    alike = dict.fromkeys((item.is_criterion, item.after) for item in changing)
    lines = [
        _without([item for item in changing if (item.is_criterion, item.after) == key], titles)
        for key in alike
    ]
    kind = "criterion or category" if criteria_tried else "category"
    if not lines:
        lines.append(f"The top {TOP} stays as it is whichever {kind} is left out.")
    elif n_same:
        lines.append(f"Leaving out any other {kind} leaves the top {TOP} as it is.")
    return lines


def _without(items: Sequence[WithoutOne], titles: Mapping[str, str]) -> str:
    item = items[0]
    names = [f"“{each.left_out}”" if each.is_criterion else each.left_out for each in items]
    kinds = ("criterion", "criteria") if item.is_criterion else ("category", "categories")
    what = f"the {kinds[0]} {names[0]}" if len(names) == 1 else f"one of the {kinds[1]} {listed(names, 'or')}"
    if not item.entered:
        return f"Without {what}, the order of the top {TOP} is {listed([titles[llm] for llm in item.after])}."
    entered, left = (listed([titles[llm] for llm in llms]) for llms in (item.entered, item.left))
    verb = "replaces" if len(item.entered) == 1 else "replace"
    return f"Without {what}, {entered} {verb} {left} in the top {TOP}."


def _verdict(found: PairComparison, *, among_all: bool) -> str:
    if found.apart and among_all:
        return "That is more than chance."
    if found.apart:
        return (
            "Looked at by themselves that is more than chance; among all the pairs here, "
            "one so far apart may well be found by chance."
        )
    if found.more_queries == math.inf:
        return (
            "That may be chance. More questions would not settle it: what remains is the judge's own error."
        )
    return (
        f"That may be chance. {_rounded(found.more_queries or 0)} more questions like these would settle it "
        "four times in five, if the difference is what it seems."
    )


def _some(names: Sequence[str]) -> str:
    """Return the names, or the first few and how many more."""
    if len(names) <= _NAMED:
        return listed(names)
    return f"{', '.join(names[: _NAMED - 1])} and {len(names) - _NAMED + 1} more"


def _points(fraction: float) -> str:
    points = f"{100 * fraction:.1f}"
    return f"{points} point{'' if points == '1.0' else 's'}"


def _signed(fraction: float) -> str:
    return f"{100 * fraction:.1f}".replace("-", "−")


def _rounded(count: float) -> str:
    """Return two significant digits, as the estimate has no more: 1463 is about 1,500."""
    if count > _COUNTLESS:
        return f"More than {_COUNTLESS:,}"
    return f"About {int(float(f'{count:.2g}')):,}"
