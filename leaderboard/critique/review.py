"""A critique of a response, and what the view's judge says of the edit; nothing of it is stored."""

from __future__ import annotations

from dataclasses import dataclass

from crm import registry
from crm.criteria import CriteriaSet
from crm.errors import CRMError
from crm.protocol import Pair, Question, Verdict
from leaderboard.critique.answer import Critique
from leaderboard.critique.critic import Critic
from leaderboard.critique.question import Critiqued
from leaderboard.drilldown import PairReport
from leaderboard.errors import CritiqueError
from leaderboard.view import View


@dataclass(frozen=True)
class Review:
    """A critique with the judge's verdict.

    Attributes:
        critic: Name of the LLM that wrote it.
        criteria: What it is about.
        critique: Its scores, suggestions and edit.
        verdict: The judge's on the edit (A) against the original (B); None where it could not be had.
        problem: Why it could not, in one sentence.
    """

    critic: str
    criteria: CriteriaSet
    critique: Critique
    verdict: Verdict | None
    problem: str = ""


def review(critic: Critic, view: View, report: PairReport) -> Review:
    """Critique the LLM's response of a report, and judge the edit by the view's judge.

    Raises:
        CritiqueError: There are no criteria or no texts, or no reply can be used.
        EndpointError, ConfigError: As ``Critic.critique``.
    """
    if not view.criteria:
        raise CritiqueError("A critique needs criteria: say what you like in an answer first.")
    if report.query_text is None or report.response is None:
        raise CritiqueError("The texts are not stored here, so there is nothing to critique.")
    critique = critic.critique(Critiqued(report.query_text, report.response, view.criteria))
    pair = Pair(report.query_text, critique.edited, report.response)
    try:
        [verdict] = registry.get_crm(view.crm).judge([Question(view.criteria, pair)])
    except CRMError as error:
        return Review(critic.name, view.criteria, critique, None, str(error))
    return Review(critic.name, view.criteria, critique, verdict)
