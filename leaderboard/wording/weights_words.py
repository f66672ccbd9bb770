"""In words: what a person's weights make of the selected queries, and whether they are enough to rank on."""

from __future__ import annotations

from collections.abc import Sequence

from leaderboard.statistics.weights import NARROWEST
from leaderboard.topic_weight import TopicWeight
from leaderboard.view import View
from leaderboard.wording.listing import listed

_NAMED = 4


def weights_in_brief(view: View, n_queries: int, n_effective: float) -> str:
    """A line for a table's head; empty where all queries count alike."""
    what = _weighted_by(view)
    return f"Weighted by {what}: {n_queries} queries are worth {n_effective:.0f}" if what else ""


def weights_sentences(view: View, n_queries: int, n_effective: float, distant: Sequence[str]) -> str:
    """What counts more than other things, and what that costs; empty where all queries count alike.

    Args:
        view: What the person chose.
        n_queries: How many queries count.
        n_effective: What they are worth, ``leaderboard.statistics.weights.effective_number``.
        distant: Interests that no query fits.
    """
    sentences = []
    if view.topic_weights:
        sentences.append(f"Topics are weighted: {_some_weights(view.topic_weights)}.")
    if view.interests:
        uses = listed([_quoted(interest) for interest in view.interests])
        sentences.append(f"Queries count by how close they are to {uses}.")
    if not sentences:
        return ""
    sentences.append(f"As weighted, the {n_queries} queries are worth {n_effective:.0f} that count alike.")
    if distant:
        unmet = listed([_quoted(interest) for interest in distant], "or")
        sentences.append(f"No query here fits {unmet}: do not rely on that part.")
    return " ".join(sentences)


def too_narrow(view: View, n_queries: int, n_effective: float) -> str:
    """That the selection is too narrow to rank, and what to do; empty where it is not."""
    if n_effective >= NARROWEST:
        return ""
    if _weighted_by(view):
        worth = f"as weighted, its {n_queries} queries are worth {n_effective:.1f} that count alike"
        mend = "Choose more topics, or even the weights out"
    else:
        worth = f"it has {n_queries} {'query' if n_queries == 1 else 'queries'}"
        mend = "Choose more topics"
    return (
        f"This selection is too narrow to rank: {worth}. With fewer than {NARROWEST:.0f}, even winning 80 % "
        f"of them can be chance. {mend}."
    )


def _weighted_by(view: View) -> str:
    return " and ".join(
        name for name, given in (("topic", view.topic_weights), ("interest", view.interests)) if given
    )


def _some_weights(weights: Sequence[TopicWeight]) -> str:
    """``Arts & Culture × 2, Puzzles & Logic × 0 and 3 others``."""
    named = [f"{item.name} × {item.number}" for item in weights[:_NAMED]]
    more = len(weights) - len(named)
    return listed([*named, f"{more} more"] if more else named)


def _quoted(text: str) -> str:
    return f"“{text}”"
