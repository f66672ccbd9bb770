"""A ranking as a person's votes correct it, beside the judge's, as an HTML table."""

from __future__ import annotations

from collections.abc import Mapping

from leaderboard.elicitation.checking import CorrectedRanking
from leaderboard.render.html import render


def corrected_table(ranking: CorrectedRanking, titles: Mapping[str, str], accent: str) -> str:
    """Return both rankings, the best as corrected first; ``titles`` are what LLMs are shown by."""
    corrected = ranking.corrected
    rows = [
        {
            "llm": ranking.llms[row],
            "title": titles[ranking.llms[row]],
            "rank": int(ranking.ranks[row]),
            "judged_rank": int(ranking.judged_ranks[row]),
            "judged": float(ranking.judged[row]),
            "win_rate": float(corrected.win_rate[row]),
            "low": float(corrected.low[row]),
            "high": float(corrected.high[row]),
            "n_votes": int(corrected.n_votes[row]),
        }
        for row in ranking.best_first
    ]
    return render("corrected", rows=rows, accent=accent)
