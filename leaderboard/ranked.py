"""A view's ranking as it is handed out: the LLMs that are listed, what one should know, and the answer."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from leaderboard.alignment import won_alone
from leaderboard.answer import Answer, Evidence, looked_at_alone, make_answer, read_criteria
from leaderboard.listed import Listed, list_llms
from leaderboard.llm_facts.catalogue import Catalogue
from leaderboard.llm_facts.files import load_catalogue
from leaderboard.offers import contenders, offers
from leaderboard.result import Leaderboard
from leaderboard.sentences import left_out_sentence, warning_sentence
from leaderboard.service import Service
from leaderboard.view import View


@dataclass(frozen=True, eq=False)
class Ranked:
    """What a command line or a program is given of a view.

    Attributes:
        leaderboard: The whole one.
        listed: What the view's filters leave of it, in the order that the view asks for.
        catalogue: What is known of LLMs.
    """

    service: Service
    leaderboard: Leaderboard
    listed: Listed
    catalogue: Catalogue

    @property
    def notes(self) -> tuple[str, ...]:
        """What one should know before one relies on it, one or a few sentences each."""
        board = self.leaderboard
        doubts = *map(left_out_sentence, board.left_out), *map(warning_sentence, board.doubts)
        about_criteria = *doubts, board.nothing_left, board.no_musts
        others = board.weighted, board.narrow, " ".join(board.removed)
        hidden = self.listed.leaderboard.caveats[-1] if self.listed.hidden else ""
        return tuple(filter(None, (*about_criteria, *others, hidden)))

    @cached_property
    def evidence(self) -> Evidence:
        """What the answer rests on; raises as ``Service.leaderboard``."""
        board = self.leaderboard
        found = contenders(self.service, board.view)
        choice = offers(board, found, self.catalogue, self.listed.leaderboard.llms) if found else None
        readings = read_criteria(board)
        won = won_alone(self.service, board.view, looked_at_alone(board, readings))
        return Evidence(choice, readings, won)

    @property
    def answer(self) -> Answer:
        """Who suits the person, why, and whether to believe it; raises as ``Service.leaderboard``."""
        return make_answer(self.leaderboard, self.listed, self.evidence)


def rank_view(
    service: Service, view: View, *, subscriber: str | None = None, patience: float = 0.0
) -> Ranked:
    """Rank the LLMs of a view and list those that pass its filters.

    Args:
        subscriber: Who waits for a slow judge, as of ``Service.leaderboard``; by default nobody, so that
            this is what there is.
        patience: Seconds to wait for a slow judge.

    Raises:
        DatabaseError, LeaderboardError, CRMError: As ``Service.leaderboard`` and ``list_llms``.
    """
    catalogue = load_catalogue()
    leaderboard = service.leaderboard(view, subscriber=subscriber, patience=patience)
    return Ranked(service, leaderboard, list_llms(leaderboard, catalogue), catalogue)
