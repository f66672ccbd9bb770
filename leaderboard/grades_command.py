"""What ``python -m leaderboard rank --grades`` writes: the LLMs' grades under each criterion by itself."""

from __future__ import annotations

from pathlib import Path

import typer

from crm.registry import get_crm
from leaderboard.alignment import MAX_CRITERIA, alignment, grading
from leaderboard.errors import LeaderboardError
from leaderboard.request import check_criteria
from leaderboard.scoring_jobs.progress import judging_line
from leaderboard.service import Service
from leaderboard.view import View
from parsing.messages import quantity


def check_grades(view: View, grades: Path | None, output: Path | None) -> None:
    """Raise LeaderboardError, before a slow judge begins, where grades cannot be given or written.

    Args:
        grades: The file that they are to be written to; None if none are wanted.
        output: That of the ranking.
    """
    if grades is None:
        return
    if not check_criteria(get_crm(view.crm), view).ranked:
        why = "the judge can judge none of your criteria" if view.criteria else "there are no criteria"
        raise LeaderboardError(f"Nothing can be graded, as {why}: give another --criterion.")
    if grades.is_dir() or not grades.absolute().parent.is_dir():
        raise LeaderboardError(f"Cannot write {grades}: name a file in a folder that exists with --grades.")
    if output is not None and output.absolute() == grades.absolute():
        raise LeaderboardError("--output and --grades name the same file: choose another for one of them.")


def grades_file(service: Service, view: View) -> bytes:
    """Return the grades as CSV; a slow judge gives them here and now.

    Raises:
        LeaderboardError: No criterion is for a topic of the view; as ``Service.judge``.
        CRMError: As ``Service.judge``.
    """
    if (live := grading(service, view)) is not None:
        what = f"Grading by {quantity(len(live.queries), 'criterion', 'criteria')} with {view.crm}"
        with judging_line(lambda now: f"{what}: {now.percentage}, {now}") as on_progress:
            live.judge_now(on_progress)
    found = alignment(service, view)
    if found is None:
        raise LeaderboardError("None of your criteria is for a topic that you chose: there are no grades.")
    if (n_criteria := len(view.criteria)) > MAX_CRITERIA:
        typer.echo(f"note: Only the first {MAX_CRITERIA} of {n_criteria} criteria are graded.", err=True)
    return found.to_csv().encode()
