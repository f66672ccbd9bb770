"""Which criteria tell a person's choice from answers that they would not have chosen, P-CHECK, section 3.3.

Beside the answer that was left, a choice is held against answers for other people: of those whose choices are
known, the most distant from the person where this query is concerned; where nobody else's are, against an
answer for anybody.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from crm.embedded.encoder import sentence_encoder
from crm.llm.prompt import read_prompt
from crm.llm.structured import UnusableReplyError
from crm.llm.tasks import Task
from leaderboard.elicitation.checklist import grade_shares
from leaderboard.elicitation.history.learn import saliency, saliency_weights
from leaderboard.query_checklists.checklist import QUERY_CHARACTERS, QueryChecklist
from leaderboard.query_checklists.general import shortened
from leaderboard.query_checklists.reward import reward

_template = read_prompt(Path(__file__).parent / "prompts" / "answer.txt")

Floats64 = NDArray[np.float64]


def answer_task(query: str, general: str = "") -> Task[str]:
    """Return how an answer is asked for; without a general preference, one for anybody."""

    def prompt(problem: str) -> str:
        return _template.render(
            query=shortened(query, QUERY_CHARACTERS), general=general, problem=problem
        ).strip()

    return Task(prompt, _read_answer)


def _read_answer(reply: str) -> str:
    if not (text := reply.strip()):
        raise UnusableReplyError("It is empty.")
    return text


def most_distant(general: str, others: Sequence[str], query: str, most: int) -> list[int]:
    """Return which of N other people are the most distant where a query is concerned.

    Distance is that of the embeddings of general preference and query together, Enc(GP, q).

    Args:
        others: Their general preferences ``[N]``.
    """
    if not others:
        return []
    own, *theirs = sentence_encoder().embed([f"{each}\n\n{query}" for each in (general, *others)])
    likeness = np.array(theirs) @ own
    return [int(place) for place in np.argsort(likeness, kind="stable")[:most]]


def weighed(checklist: QueryChecklist, chosen: Floats64, negatives: Floats64) -> QueryChecklist | None:
    """Return a checklist with its lines weighed by saliency, eq. 3 to 5; the most salient stands first.

    None where no line is salient, or where the chosen answer is worth no more than the one that was left.

    Args:
        chosen: Scores of the chosen answer ``[J]``.
        negatives: Of N answers that would not have been chosen, the one that was left first ``[N, J]``.
    """
    share = saliency_weights(saliency(chosen[np.newaxis], negatives.mean(axis=0)[np.newaxis]))
    if not share.any():
        return None
    order = np.argsort(-share, kind="stable")
    lines = tuple(
        replace(checklist.lines[place], criterion=replace(checklist.lines[place].criterion, weight=grade))
        for place, grade in zip(order, grade_shares(share[order]), strict=True)
    )
    found = replace(checklist, lines=lines)
    apart = reward(found, chosen[order]) > reward(found, negatives[0, order])
    return found if apart else None
