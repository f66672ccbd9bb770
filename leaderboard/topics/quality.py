"""The figures that judge the topics of a pool, each with one plain line on what it means."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

from leaderboard.topics.curation import CuratedTopics
from parsing.messages import quantity

UNKNOWN = "–"


@dataclass(frozen=True)
class Figure:
    """A figure as it is shown: what it is called, its value, and what it means."""

    label: str
    value: str
    note: str


def figures(topics: CuratedTopics) -> tuple[Figure, ...]:
    """Sizes as curated; outliers, coherence and stability as the clustering measured them.

    What was not measured is a dash.
    """
    tree, quality = topics.tree, topics.record.quality
    n, share = len(tree.categories), _number(quality, "outlier_share_clustered")
    sizes = [size for topic in tree.topics if (size := tree.own_size(topic.key))]
    return (
        Figure("Queries", f"{tree.n_kept:,}", _dropped(len(tree.dropped), topics.n_new)),
        Figure("Topics", f"{len(sizes)}", f"in {quantity(n, 'category')}"),
        Figure(
            "Queries a topic",
            f"{median(sizes):.0f}" if sizes else UNKNOWN,
            f"the median; from {min(sizes):,} to {max(sizes):,}" if sizes else "no topic has a query",
        ),
        Figure(
            "Without a topic",
            f"{tree.n_outliers / tree.n_kept:.1%}".replace("%", " %"),
            "near no topic"
            if share is None
            else f"{100 * share:.1f} % before each was given its nearest topic",
        ),
        _coherence(_number(quality, "coherence")),
        _stability(quality.get("stability")),
    )


def coherence_of(topics: CuratedTopics, key: str) -> float | None:
    """Return the coherence of a topic as it was found, None where that was not measured."""
    by_topic = topics.record.quality.get("coherence_by_topic")
    return _number(by_topic, key) if isinstance(by_topic, Mapping) else None


def _dropped(n_dropped: int, n_new: int) -> str:
    parts = [f"{n_dropped:,} dropped" if n_dropped else "none dropped"]
    parts += [f"{n_new:,} added since, not yet in a topic"] if n_new else []
    return "; ".join(parts)


def _coherence(value: float | None) -> Figure:
    note = "how far a topic’s keywords occur together, −1 to 1 (NPMI)"
    return Figure("Coherence", _two_digits(value), note if value is not None else "not measured")


def _stability(measured: Any) -> Figure:
    mean = _number(measured, "ari_mean") if isinstance(measured, Mapping) else None
    if mean is None:
        return Figure("Stability", UNKNOWN, "not measured")
    n_seeds = len(measured.get("seeds", ()))
    lowest = _number(measured, "ari_min")
    return Figure(
        "Stability",
        _two_digits(mean),
        f"agreement over {n_seeds} seeds, at least {_two_digits(lowest)}; 1 is the same, 0 chance (ARI)",
    )


def _number(figures_of: Mapping[str, Any], name: str) -> float | None:
    value = figures_of.get(name)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _two_digits(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:.2f}".replace("-", "−")
