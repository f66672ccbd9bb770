"""Sentences on what a history tells, and on what of it was read."""

from __future__ import annotations

from collections.abc import Sequence

from crm.criteria import Polarity
from leaderboard.personal.choice import Answer
from leaderboard.personal.history import History
from leaderboard.personal.history_checklist import Learnt

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
    counts = f"{_number(foretold.right)} of {foretold.decided:,}"
    if foretold.telling:
        share = 100 * foretold.right / foretold.decided
        return (
            f"For {counts} choices a checklist learnt from the others says what you took ({share:.0f} %; "
            "guessing would for half)."
        )
    choices = "This choice does" if learnt.n_choices == 1 else f"These {learnt.n_choices:,} choices do"
    return (
        f"{choices} not tell yet: a checklist learnt from the others says what you took for {counts}, and "
        "guessing may do as well. Take the lines below as a guess, or bring more choices."
    )


def reading_sentence(history: History) -> str:
    """What of a file was read: “Read as a table of choices: 40 choices, 2 of them ties.”"""
    ties = sum(choice.answer in (Answer.BOTH, Answer.NEITHER) for choice in history.choices)
    with_ties = f", {ties:,} of them ties" if ties else ""
    sentences = [f"Read as {history.form}: {_count(len(history.choices), 'choice')}{with_ties}."]
    if longer := history.n_multi_turn:
        stand = "stands" if longer == 1 else "stand"
        sentences.append(
            f"{longer:,} {stand} in longer conversations, of which only the query and its answers count."
        )
    if history.left_out:
        reasons = "; ".join(f"{count:,} ({reason})" for reason, count in history.left_out)
        sentences.append(f"Left out: {reasons}.")
    return " ".join(sentences)


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else f"{value:,.1f}"


def _listed(texts: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(texts[:-1]), texts[-1])))
