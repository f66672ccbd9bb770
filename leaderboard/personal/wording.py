"""Sentences on what was learnt: the evidence of a line, and how sure the ranking is."""

from __future__ import annotations

from crm.criteria import Polarity
from leaderboard.personal.checklist import ChecklistLine
from leaderboard.personal.standing import Standing

ENOUGH = 12
"""Choices after which a ranking is usually good (docs/personal.md)."""


def evidence_sentence(line: ChecklistLine) -> str:
    """What of the choices speaks for a line: “You chose the answer that meets this better 8 of 9 times.”"""
    clear, with_it = line.evidence.clear, line.evidence.with_it
    avoided = line.criterion.polarity is Polarity.AVOID
    which = "with less of this" if avoided else "that meets this better"
    if clear == 0:
        return "No two answers differed clearly in this; it follows from your other choices."
    if clear == 1:
        taken = "took" if with_it else "did not take"
        return f"The one time that two answers differed clearly in this, you {taken} the one {which}."
    return f"You chose the answer {which} {with_it} of {clear} times."


def progress_sentence(n_choices: int) -> str:
    """How far a person is: “3 of about 12”."""
    if n_choices < ENOUGH:
        return f"{n_choices} of about {ENOUGH}"
    return f"{n_choices} choices: enough for a ranking. More make it surer."


def certainty_sentence(standing: Standing) -> str:
    """How sure the ranking is by now."""
    return (
        f"Of two LLMs, your ranking so far has the right one ahead in about {100 * standing.agreement:.0f} % "
        f"of cases (50 % is guessing)."
    )
