"""Sentences on what a history tells, and on what of it was read."""

from __future__ import annotations

from collections.abc import Sequence

from crm.criteria import Polarity
from leaderboard.personal.checklist import ChecklistLine
from leaderboard.personal.choice import Answer
from leaderboard.personal.history import History
from leaderboard.personal.history_checklist import Learnt
from leaderboard.personal.wording import evidence_sentence

_NAMED = 3


def summary_sentence(learnt: Learnt) -> str:
    """The general preference: “Your choices speak for … and against ….”"""
    named = learnt.lines[:_NAMED]
    wanted, avoided = (
        [f"“{line.criterion.text}”" for line in named if line.criterion.polarity is polarity]
        for polarity in (Polarity.WANT, Polarity.AVOID)
    )
    parts = [f"{how} {_listed(texts)}" for how, texts in (("for", wanted), ("against", avoided)) if texts]
    if not parts:
        return "Your choices speak for no criterion of the library."
    hedge = "speak" if learnt.foretold.telling else "speak, if for anything,"
    return f"Your choices {hedge} {' and '.join(parts)}."


def explained_sentence(learnt: Learnt) -> str:
    """How far the checklist can be trusted: choices foretold by a checklist learnt from the others."""
    foretold = learnt.foretold
    if not foretold.decided:
        return "No choice in it prefers one answer, so nothing can be told yet."
    share = foretold.right / foretold.decided
    counts = f"{_number(foretold.right)} of {foretold.decided:,}"
    if not foretold.telling:
        choices = "This choice does" if learnt.n_choices == 1 else f"These {learnt.n_choices:,} choices do"
        return (
            f"{choices} not tell yet: a checklist learnt from the others foretells {counts} of them, "
            "and guessing may do as well. Take the lines below as a guess, or bring more choices."
        )
    return (
        f"A checklist learnt from the others foretells {counts} of your choices ({share:.0%}; "
        "guessing foretells half)."
    )


def reading_sentence(history: History) -> str:
    """What of a file was read: “Read as a table of choices: 40 choices, 2 of them ties.”"""
    n_choices = len(history.choices)
    ties = sum(choice.answer in (Answer.BOTH, Answer.NEITHER) for choice in history.choices)
    sentences = [f"Read as {history.form}: {_count(n_choices, 'choice')}" + (f", {ties:,} of them ties." if ties else ".")]
    if history.n_multi_turn:
        sentences.append(
            f"Of {_count(history.n_multi_turn, 'conversation')} of several turns only the last is looked at."
            if history.form != _CHATGPT
            else ""
        )
    if history.left_out:
        reasons = "; ".join(f"{count:,} because {reason}" for reason, count in history.left_out)
        sentences.append(f"Left out: {reasons}.")
    return " ".join(filter(None, sentences))


def line_sentences(lines: Sequence[ChecklistLine]) -> tuple[str, ...]:
    """The evidence for each line."""
    return tuple(map(evidence_sentence, lines))


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else f"{value:,.1f}"


def _listed(texts: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(texts[:-1]), texts[-1])))
