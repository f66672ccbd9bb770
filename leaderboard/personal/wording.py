"""Sentences on what was learnt: the evidence of a line, and how sure the ranking is."""

from __future__ import annotations

from collections.abc import Sequence

from crm.criteria import Polarity
from leaderboard.personal.checklist import ChecklistLine
from leaderboard.personal.interview import MOST_QUESTIONS
from leaderboard.personal.replies import Support
from leaderboard.personal.standing import Standing

ENOUGH = 12
"""Choices after which a ranking is usually good (docs/personal.md)."""
SETTLED_SENTENCE = "Further questions would not change your top three."
"""Why an interview ends before the last of its questions."""


def evidence_sentence(line: ChecklistLine, support: Sequence[Support] = ()) -> str:
    """What speaks for a line: “You answered “Numbered steps”. You chose … 8 of 9 times.”

    Args:
        line: The line.
        support: Options taken in the interview that go with it, closest first.
    """
    sentences = []
    if named := [item.text for item in support if item.named]:
        sentences.append(f"You answered {_quoted(named)}.")
    elif support:
        sentences.append(f"It goes with your answer {_quoted([item.text for item in support[:1]])}.")
    if line.evidence.clear:
        sentences.append(_choices_sentence(line))
    return " ".join(sentences) or "Nothing speaks of this directly; it follows from the rest."


def _quoted(texts: Sequence[str]) -> str:
    return " and ".join(f"“{text}”" for text in texts)


def learnt_from_sentence(n_choices: int, n_replies: int) -> str:
    """What a checklist rests on: “Learnt from 12 choices and 3 answers.”"""
    counted = [
        f"{count} {word}{'' if count == 1 else 's'}"
        for count, word in ((n_choices, "choice"), (n_replies, "answer"))
        if count
    ]
    return f"Learnt from {' and '.join(counted)}."


def _choices_sentence(line: ChecklistLine) -> str:
    clear, with_it = line.evidence.clear, line.evidence.with_it
    avoided = line.criterion.polarity is Polarity.AVOID
    which = "with less of this" if avoided else "that meets this better"
    if clear == 1:
        taken = "took" if with_it else "did not take"
        return f"The one time that two answers differed clearly in this, you {taken} the one {which}."
    return f"You chose the answer {which} {with_it} of {clear} times."


def progress_sentence(n_choices: int) -> str:
    """How far a person is: “3 of about 12”."""
    if n_choices < ENOUGH:
        return f"{n_choices} of about {ENOUGH}"
    return f"{n_choices} choices: enough for a first ranking. More make it surer."


def certainty_sentence(standing: Standing) -> str:
    """How sure the ranking is by now."""
    return (
        f"So far your ranking puts about {100 * standing.agreement:.0f} % of all pairs of LLMs in the right "
        "order; guessing puts 50 %."
    )


def interview_over_sentence(n_replies: int) -> str:
    """Why no further question is asked."""
    if n_replies >= MOST_QUESTIONS:
        return f"All {MOST_QUESTIONS} questions are answered."
    return SETTLED_SENTENCE
